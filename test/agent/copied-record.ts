/** A record that a test has made elsewhere, as the files of a workspace for the command. */
import type { ConversationId } from "../../src/record/conversation/index.ts";
import {
  type ConversationStore,
  openWorkspace,
  type PortableStore,
} from "../../src/stores/index.ts";
import { systemClock } from "../../src/util/index.ts";
import type { Project } from "../cli/support.ts";

export function conversationsOf({ root, home, variables }: Project): ConversationStore {
  const environment = { variables, home, platform: process.platform };
  const options = { from: root, environment, clock: systemClock, pid: process.pid };
  return openWorkspace(options).conversations;
}

/** Byte for byte between files; else as a new conversation. Returns the id of the copy. */
export async function copyRecord(
  from: Pick<ConversationStore, "load">,
  to: Pick<ConversationStore, "create">,
  conversation: ConversationId,
): Promise<ConversationId> {
  if (isPortable(from) && isPortable(to)) {
    await to.importRecord(await from.exportRecord(conversation));
    return conversation;
  }
  const { stream } = await from.load(conversation);
  await using copy = await to.create({ entries: stream.entries, isOwnTurn: true });
  return copy.id;
}

export function isPortable(store: object): store is PortableStore {
  return "exportRecord" in store;
}
