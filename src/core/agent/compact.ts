/** Makes compactions and records them: overlays that shorten old turns for the model. The turns themselves stay. */
import {
  type Compaction,
  type CompactionRule,
  describeTurns,
  type PlannedCompaction,
  StreamEntry,
  timestampFromDate,
  toCompaction,
  visibleOf,
  withEarlier,
} from "../../record/conversation/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import type { Clock } from "../../util/index.ts";
import { SpentTokens } from "./ask-model.ts";
import type { Journal, Observer } from "./ports.ts";
import { SUMMARY_SHARE, type Summarizer, writeSummary } from "./summary.ts";

/** The parts that a compaction is made with. */
export interface CompactionContext {
  readonly conversation: ConversationWriter;
  readonly journal: Journal;
  /** The model that writes a summary for this rule. May throw `JpError`. */
  readonly summarizer: (rule: CompactionRule) => Promise<Summarizer>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly observer?: Observer | undefined;
}

/** The cause of a compaction. */
export interface CompactionCause {
  /** jp started it, and summarizes what the model would see. */
  readonly isAutomatic: boolean;
  /** In tokens. By default, that of the model that writes the summary. */
  readonly contextWindow?: number | undefined;
}

/** Throws `write_failed`; for a summary also `ProviderError`, `summary_failed` and the signal's reason. */
export async function makeCompaction(
  context: CompactionContext,
  planned: PlannedCompaction,
  { isAutomatic, contextWindow }: CompactionCause,
): Promise<Compaction> {
  const { clock, observer } = context;
  const timestamp = timestampFromDate(clock.now());
  const base = { ...toCompaction(planned, timestamp), ...(isAutomatic && { isAutomatic }) };
  if (planned.rule.summary === undefined) return base;
  const { fromTurn, toTurn } = planned;
  const summarizer = await context.summarizer(planned.rule);
  observer?.observe({
    type: "summary_start",
    turns: describeTurns(planned),
    model: summarizer.model.id,
  });
  const spent = new SpentTokens();
  const room = contextWindow ?? (await roomOf(summarizer, context.signal));
  try {
    const { reasoning: _reasoning, toolCalls: _toolCalls, ...rest } = base;
    const summary = await writeSummary({
      stream: isAutomatic ? visibleOf(context.journal.stream) : context.journal.stream,
      range: { fromTurn, toTurn },
      rule: planned.rule.summary,
      summarizer,
      isRaw: !isAutomatic,
      maxTokens: room && room * SUMMARY_SHARE,
      spent,
      clock,
      signal: context.signal,
    });
    return { ...rest, timestamp: timestampFromDate(clock.now()), summary };
  } finally {
    const events = spent.toEvents({ timestamp, purpose: "summary" });
    if (events.length > 0) await context.journal.record(...events);
  }
}

/** Throws `write_failed`. */
export async function recordCompaction(
  { conversation, observer }: Pick<CompactionContext, "conversation" | "observer">,
  compaction: Compaction,
): Promise<void> {
  const recorded = withEarlier(compaction, visibleOf(conversation.stream));
  await conversation.appendEntries([StreamEntry.fromCompaction(recorded)]);
  observer?.observe({ type: "compaction", compaction });
}

async function roomOf(
  { model, parameters }: Summarizer,
  signal: AbortSignal,
): Promise<number | undefined> {
  return (await model.properties?.(parameters, signal))?.contextWindow;
}
