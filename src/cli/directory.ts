/** The people and their roles, for the desk and for everything the person at this terminal may decide. */
import type { PartialConfig } from "../settings/config/index.ts";
import {
  type Directory,
  findStranger,
  identify,
  peopleFor,
  type PendingItem,
  type RefusalCode,
  withOwnerAlone,
} from "../record/conversation/index.ts";
import { createSigner, openDirectory, openPeople, type People } from "../settings/people/index.ts";
import { userDataFolder } from "../stores/index.ts";
import type { CommandContext } from "./context.ts";

type PeopleContext = Pick<CommandContext, "environment" | "findTenant">;

/** People are shared by all workspaces: this user's, or the database tenant's. */
export async function peopleOf({
  environment,
  findTenant,
  clock,
}: PeopleContext & Pick<CommandContext, "clock">): Promise<People> {
  const tenant = await findTenant();
  const place = tenant?.people ?? userDataFolder(environment);
  return openPeople(place, { now: () => clock.now() });
}

/**
 * The directory of these people. A file is read when first needed; a database is read now, and reports later changes.
 * With `people.owner_alone`, the owner stands in while there are none. Throws `store_unreachable` and the like.
 */
export async function directoryOf(
  { environment, findTenant }: PeopleContext,
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

/** The person at this terminal, and the directory of people. */
export interface PersonHere {
  /** From their config. */
  readonly userName: string | undefined;
  readonly directory: Directory;
}

/** Why the person at this terminal may not decide this item. Undefined if they may. Throws `people_invalid`. */
export function whyNotHere(
  item: PendingItem,
  { userName: name, directory }: PersonHere,
): RefusalCode | undefined {
  const people = peopleFor(item, directory);
  const claimant = { channel: "cli", name, auth: "os_user" } as const;
  return findStranger(item, identify(item, claimant, people), people);
}
