/** Makes and records compactions. Separate from `compaction.ts`, which also handles config. */
import {
  type CompactionContext,
  createJournal,
  makeCompaction,
  recordCompaction,
  withConversation,
} from "../core/agent/index.ts";
import type { Compaction } from "../record/conversation/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import { JpError, systemClock } from "../util/index.ts";
import { type CompactOptions, planCompaction, withModel } from "./compaction.ts";

/** See `compactConversation`. */
export async function compactNow(
  conversation: ConversationWriter,
  options: CompactOptions = {},
): Promise<readonly Compaction[]> {
  const { clock = systemClock, signal = new AbortController().signal } = options;
  const observer = options.observer && withConversation(options.observer, conversation.id);
  const { summarizer = withModel(options.summaryModel) ?? noSummarizer } = options;
  const context: CompactionContext = {
    conversation,
    journal: createJournal(conversation, observer),
    summarizer,
    clock,
    signal,
    observer,
  };
  const compactions: Compaction[] = [];
  for (const planned of planCompaction(conversation, options)) {
    compactions.push(await makeCompaction(context, planned, { isAutomatic: false }));
  }
  for (const compaction of compactions) await recordCompaction(context, compaction);
  return compactions;
}

async function noSummarizer(): Promise<never> {
  throw new JpError("no_summarizer", "A summary needs a model.", {
    hint: "Pass one as `summaryModel`.",
  });
}
