/** Who there is, and who has which roles: for the desk, and for everything that lets the person at this terminal decide. */
import type { Directory } from "../conversation/index.ts";
import { createSigner, openDirectory, openPeople, type People } from "../people/index.ts";
import { userDataFolder } from "../storage/index.ts";
import type { CommandContext } from "./context.ts";

type PeopleContext = Pick<CommandContext, "environment" | "findTenant">;

/** The people are the same for all workspaces: those of this user, or those of the tenant in a database. */
export async function peopleOf({ environment, findTenant }: PeopleContext): Promise<People> {
  const tenant = await findTenant();
  return openPeople(tenant?.people ?? userDataFolder(environment));
}

/**
 * The same people. A file is not read before someone has to be known; a database is read now, and tells what changes later.
 * Throws `store_unreachable` and the like.
 */
export async function directoryOf({ environment, findTenant }: PeopleContext): Promise<Directory> {
  const { SSH_AUTH_SOCK: agentSocket } = environment.variables;
  const tenant = await findTenant();
  await tenant?.people.load();
  return openDirectory(tenant?.people ?? userDataFolder(environment), {
    signerOf: (person) => createSigner({ person, agentSocket }),
  });
}
