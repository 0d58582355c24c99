/** The database from the user's own config, and this machine's key. */
import { foldLayers, loadLayers } from "../settings/config/index.ts";
import { ensureMachineKey } from "../proof/index.ts";
import {
  type DatabaseOptions,
  headsFileIn,
  openTenant,
  type Tenant,
  userConfigFolder,
  userDataFolder,
  type UserEnvironment,
} from "../stores/index.ts";
import type { Host } from "./host.ts";

/** `named` overrides the address in the config. Undefined if there is neither. Throws config errors. */
export async function loadDatabase(
  environment: UserEnvironment,
  named: string | undefined,
): Promise<DatabaseOptions | undefined> {
  // Ignores the workspace, which must not choose where conversations go.
  const folder = userConfigFolder(environment);
  const places = { userFolder: folder, cwd: folder, variables: environment.variables };
  const { storage = {} } = foldLayers((await loadLayers({ places })).layers);
  const { url, tenant, workspace, accepts = [] } = storage;
  const address = named ?? url;
  if (address === undefined) return undefined;
  return {
    url: address,
    ...(tenant !== undefined && { tenant }),
    ...(workspace !== undefined && { workspace }),
    keys: async () => {
      const { privateKey } = await ensureMachineKey(environment);
      return { privateKey, accepted: accepts };
    },
  };
}

/** Connects on first use. */
export function loadTenant(
  database: DatabaseOptions,
  { environment, pid }: Pick<Host, "environment" | "pid">,
): Promise<Tenant> {
  const headsFile = headsFileIn(userDataFolder(environment));
  return openTenant({ ...database, pid, headsFile });
}
