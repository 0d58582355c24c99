/** Compacts conversations: on request, and before the context window of a turn's model is full. */
import type { CompactionSetup, Observer, Summarizer } from "../core/agent/index.ts";
import {
  mergeConfig,
  type PartialConfig,
  resolveAssistant,
  resolveCompaction,
} from "../settings/config/index.ts";
import {
  type CompactionRule,
  planCompactions,
  type PlannedCompaction,
  type TurnBound,
} from "../record/conversation/index.ts";
import type { LanguageModel, Model, Providers } from "../reach/provider/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import { type Clock, systemClock } from "../util/index.ts";
import { toModel } from "./model.ts";

/** When and how a turn automatically compacts old turns. All options are optional. */
export interface CompactionOptions {
  /** The share of the context window that may be full before a request; 0.75 by default. */
  readonly triggerRatio?: number;
  /**
   * In tokens. Defaults to what is known about the model; if nothing is, the provider's error signals that the window
   * is full.
   */
  readonly contextWindow?: number;
  /** The first step. By default, strips reasoning and tool calls, except in the first and the last three turns. */
  readonly rule?: CompactionRule;
  /** Writes summaries; the turn's own model by default. */
  readonly summaryModel?: Model | LanguageModel;
  /** Chooses a model for each rule, instead of `summaryModel`. */
  readonly summarizer?: ChooseSummarizer;
}

/** The model for a rule, and its request settings. May throw `JpError`. */
export type ChooseSummarizer = (rule: CompactionRule) => Promise<Summarizer>;

export function toCompactionSetup(options: CompactionOptions | false = {}): CompactionSetup {
  if (options === false) return { isAutomatic: false };
  const { summaryModel, summarizer = withModel(summaryModel), ...rest } = options;
  return { ...rest, ...(summarizer !== undefined && { summarizer }) };
}

export function withModel(given: Model | LanguageModel | undefined): ChooseSummarizer | undefined {
  if (given === undefined) return undefined;
  const { parameters, request } = resolveAssistant({
    assistant: { model: { id: { provider: "own", name: "own" } } },
  });
  return async () => ({ model: toModel(given), parameters, request });
}

/** The turns to compact, and how. */
export interface CompactOptions {
  /** One compaction each. By default, strips reasoning and tool calls, except in the first and the last turn. */
  readonly rules?: readonly CompactionRule[];
  /** Overrides the bounds of every rule. */
  readonly from?: TurnBound | undefined;
  readonly to?: TurnBound | undefined;
  /** Writes summaries. Required if a rule has one. */
  readonly summaryModel?: Model | LanguageModel;
  /** Chooses a model for each rule, instead of `summaryModel`. */
  readonly summarizer?: ChooseSummarizer;
  /** For tests: a clock other than the machine's. */
  readonly clock?: Clock;
  readonly observer?: Observer;
  readonly signal?: AbortSignal;
}

/** The default rule. */
const BUILTIN_RULES: readonly CompactionRule[] = resolveCompaction({}).rules;

/** The compactions that `compactConversation` would record. */
export function planCompaction(
  { stream }: Pick<ConversationWriter, "stream">,
  { rules = BUILTIN_RULES, from, to, clock = systemClock }: CompactOptions = {},
): readonly PlannedCompaction[] {
  return planCompactions(stream, rules, { now: clock.now(), from, to });
}

/** `conversation.compaction.auto`, for the command's turns. */
export function configuredCompaction(
  config: PartialConfig,
  providers: Providers,
): CompactionOptions | false {
  const { rules: _rules, isAutomatic, ...auto } = resolveCompaction(config);
  return isAutomatic && { ...auto, summarizer: configuredSummarizer(config, providers) };
}

/** The model that a config rule names, or the main one. Throws `no_model` and what the provider throws. */
export function configuredSummarizer(
  config: PartialConfig,
  providers: Providers,
): ChooseSummarizer {
  return async ({ summary: { model } = {} }) => {
    const merged = model === undefined ? config : mergeConfig(config, { assistant: { model } });
    const { model: wanted, parameters, request } = resolveAssistant(merged);
    return { model: await providers.model(wanted.provider, wanted.name), parameters, request };
  };
}
