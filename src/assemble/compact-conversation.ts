/** Compacts a conversation on request. The code for it is loaded on the first request. */
import type { Compaction } from "../record/conversation/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import { loadModule } from "../util/index.ts";
import type { CompactOptions } from "./compaction.ts";

/**
 * Shortens old turns for the model. The record keeps all of them. Returns what was recorded; nothing if no turn is
 * covered. If a summary fails, only its cost is recorded. Throws `write_failed`, and for a summary `ProviderError`,
 * `summary_failed`, `no_summarizer` and the signal's reason.
 */
export async function compactConversation(
  conversation: ConversationWriter,
  options: CompactOptions = {},
): Promise<readonly Compaction[]> {
  const { compactNow } = await loadModule(() => import("./compact-now.ts"));
  return compactNow(conversation, options);
}
