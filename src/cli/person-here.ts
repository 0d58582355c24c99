/** What the person at this terminal may decide. */
import {
  type Directory,
  findStranger,
  identify,
  peopleFor,
  type PendingItem,
  type RefusalCode,
} from "../record/conversation/index.ts";

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
