/** Who has which roles, for everything that lets the person at this terminal decide. */
import type { Directory } from "../conversation/index.ts";
import { createSigner, openDirectory } from "../people/index.ts";
import { userDataFolder } from "../storage/index.ts";
import type { CommandContext } from "./context.ts";

/** The people are the same for all workspaces. Nothing is read before someone has to be known. */
export function directoryOf({ environment }: Pick<CommandContext, "environment">): Directory {
  const { SSH_AUTH_SOCK: agentSocket } = environment.variables;
  return openDirectory(userDataFolder(environment), {
    signerOf: (person) => createSigner({ person, agentSocket }),
  });
}
