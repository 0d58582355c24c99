/** Finds the files that a model has sent in a conversation, by the start of their digests. */
import type { ConversationId, ReplyFile } from "../record/conversation/index.ts";
import type { ConversationStore } from "../stores/index.ts";

/** Each file once. */
export async function findModelFiles(
  store: Pick<ConversationStore, "scan">,
  id: ConversationId,
  digits: string,
): Promise<readonly ReplyFile[]> {
  const found = new Map<string, ReplyFile>();
  for await (const { entries } of store.scan(id)) {
    for (const entry of entries) {
      const event = entry.eventType === "reply_file" ? entry.event : undefined;
      if (event?.type !== "reply_file" || !event.digest.startsWith(digits)) continue;
      found.set(event.digest, event);
    }
  }
  return [...found.values()];
}
