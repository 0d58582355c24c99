/** The people whom jp knows, and their roles. */
import type { PartialConfig } from "../settings/config/index.ts";
import { type Directory, withOwnerAlone } from "../record/conversation/index.ts";
import { createSigner, openDirectory, openPeople, type People } from "../settings/people/index.ts";
import { userDataFolder } from "../stores/index.ts";
import type { Place } from "./place.ts";

/** People are shared by all workspaces: this user's, or the database tenant's. */
export async function peopleOf({
  environment,
  findTenant,
  clock,
}: Pick<Place, "environment" | "findTenant" | "clock">): Promise<People> {
  const tenant = await findTenant();
  const place = tenant?.people ?? userDataFolder(environment);
  return openPeople(place, { now: () => clock.now() });
}

/**
 * The directory of these people. A file is read when first needed; a database is read now, and reports later changes.
 * With `people.owner_alone`, the owner stands in while there are none. Throws `store_unreachable` and the like.
 */
export async function directoryOf(
  { environment, findTenant }: Pick<Place, "environment" | "findTenant">,
  config: Pick<PartialConfig, "people">,
): Promise<Directory> {
  const { SSH_AUTH_SOCK: agentSocket } = environment.variables;
  const tenant = await findTenant();
  await tenant?.people.load();
  const directory = openDirectory(tenant?.people ?? userDataFolder(environment), {
    signerOf: (person) => createSigner({ person, agentSocket }),
  });
  return config.people?.owner_alone === true ? withOwnerAlone(directory) : directory;
}
