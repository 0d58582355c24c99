/** When something last happened with a conversation, as lists sort and show it. */
import { compareTimestamps, conversationCreatedAt, type Timestamp } from "../conversation/index.ts";
import type { ConversationSummary } from "../storage/index.ts";

/** The time of its last element or of its last use, whichever is later; else its beginning. */
export function lastActivity({ id, lastEventAt, metadata }: ConversationSummary): Timestamp {
  const used = metadata?.lastActivatedAt;
  if (lastEventAt === undefined) return used ?? conversationCreatedAt(id);
  return used !== undefined && compareTimestamps(used, lastEventAt) > 0 ? used : lastEventAt;
}
