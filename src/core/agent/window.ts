/**
 * Keeps a turn within the model's context window. Before each request it compacts old turns if the window is nearly
 * full, and if the provider says that it is full, it compacts more and tries again. Each step costs more than the one
 * before, and what each does is on record, except the last:
 *
 *   the configured rule ─► a summary of old turns ─► a summary of all turns before this one
 *     ─► without tool calls in them ─► without the oldest turns ─► only the latest results of this turn
 */
import {
  afterAll,
  type Compaction,
  type CompactionRange,
  type CompactionRule,
  compactionsOf,
  type ConversationStream,
  eventsOf,
  loadVisible,
  planCompactions,
  type PlannedCompaction,
  project,
  projectRange,
  StreamEntry,
  timestampFromDate,
  toCompaction,
  trimLastTurn,
  turnsOf,
  visibleOf,
  eventTokens,
  type RequestPart,
  requestShares,
  requestTokens,
} from "../../record/conversation/index.ts";
import { type EndReason, type Model, ProviderError } from "../../reach/provider/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import { type CompactionSettings, resolveCompaction } from "../../settings/config/index.ts";
import { type Clock, isJpError, loaderOf, messageOf } from "../../util/index.ts";
import type { CompactionContext } from "./compact.ts";
import type { ContextUse, Journal, Observer } from "./ports.ts";
import {
  type Assistant,
  createParts,
  type PartsRequest,
  type ReplyRequest,
  streamReply,
} from "./reply.ts";
import type { Summarizer } from "./summary.ts";

/** In tokens; estimates err on the high side. It fits into any window, so the model's limits need not be looked up. */
const SMALL_REQUEST = 2000;
/** In tokens. Summarizing less would save nothing. */
const MIN_SUMMARIZED = 1000;
/** Covers every turn before the current one. */
const ALL_EARLIER = {
  keepFirst: { type: "keep", count: 0 },
  keepLast: { type: "keep", count: 1 },
} as const;

/** Shown to the model in place of a summary. */
const LEFT_OUT =
  "Turns that no longer fit into the context window were left out here, without a summary. Ask the user if you need " +
  "something from them.";

/** When and how a turn compacts by itself. What is absent is as in an empty config. */
export interface CompactionSetup extends Partial<Omit<CompactionSettings, "rules">> {
  /** The model that writes a summary for this rule; the turn's own by default. May throw `JpError`. */
  readonly summarizer?: (rule: CompactionRule) => Promise<Summarizer>;
}

interface WindowOptions {
  readonly conversation: ConversationWriter;
  readonly journal: Journal;
  readonly model: Model;
  readonly assistant: Assistant;
  readonly compaction?: CompactionSetup;
  readonly clock: Clock;
  readonly observer?: Observer;
}

/** The context window of a turn's model. */
export class ContextWindow {
  readonly #options: WindowOptions;
  readonly #setup: CompactionSettings & CompactionSetup;
  #size: Promise<number | undefined> | undefined;
  /** The model could not write a summary. It is not asked again in this turn. */
  #cannotSummarize = false;
  #isTrimmed = false;

  constructor(options: WindowOptions) {
    this.#options = options;
    this.#setup = { ...resolveCompaction({}), ...options.compaction };
  }

  /** The part of the conversation that models see in this turn, apart from compactions. */
  readonly view = (stream: ConversationStream): ConversationStream =>
    this.#isTrimmed ? trimLastTurn(stream) : stream;

  /** `streamReply` with enough room for the request. Throws the same errors, after recording them. */
  async stream(given: Omit<ReplyRequest, "view">): Promise<EndReason | "aborted"> {
    try {
      return await this.#stream(given);
    } catch (error) {
      if (error instanceof ProviderError) {
        const timestamp = timestampFromDate(given.clock.now());
        await given.journal.record({ type: "reply_failure", timestamp, code: error.code });
      }
      throw error;
    }
  }

  async #stream(given: Omit<ReplyRequest, "view">): Promise<EndReason | "aborted"> {
    const request = { ...given, view: this.view };
    await loadVisible(given.journal.stream);
    let measured = this.#setup.isAutomatic ? await this.#prepare(request) : undefined;
    for (;;) {
      await this.#report(request, measured);
      measured = undefined; // If the request is sent again, it is another one.
      try {
        return await streamReply(request);
      } catch (error) {
        const isFull = error instanceof ProviderError && error.kind === "context_too_long";
        if (!isFull || !this.#setup.isAutomatic || !(await this.#makeRoom(request))) throw error;
      }
    }
  }

  /** Returns the measure of a request that has room. */
  async #prepare(request: ReplyRequest): Promise<Measured | undefined> {
    const measured = measureRequest(request);
    let { tokens } = measured;
    if (tokens < SMALL_REQUEST) return measured;
    const size = await this.#findSize(request.signal);
    if (size === undefined) return measured;
    const most = size * this.#setup.triggerRatio;
    if (tokens <= most) return measured;
    const scale = tokens / estimateRequest(request); // The provider's count beats an estimate.
    while (tokens > most) {
      const isShorter =
        (await this.#compact(request, tokens)) || (await this.#leaveOut(request, MIN_SUMMARIZED));
      if (!isShorter) break;
      tokens = estimateRequest(request) * scale;
    }
    return undefined;
  }

  async #report(request: ReplyRequest, measured: Measured | undefined): Promise<void> {
    const { observer, model } = this.#options;
    if (observer === undefined) return;
    // A local server is not asked only for this.
    const isFree = model.isLocal !== true || this.#setup.contextWindow !== undefined;
    const contextWindow = await (isFree ? this.#findSize(request.signal) : this.#size);
    const size = contextWindow !== undefined && { contextWindow };
    const use = measured ?? measureRequest(request);
    observer.observe({ type: "context_use", ...use, ...size });
  }

  /** Called when the provider reports a full window. Returns false if nothing is left to drop. */
  async #makeRoom(request: ReplyRequest): Promise<boolean> {
    const { observer } = this.#options;
    if (await this.#compact(request, estimateRequest(request))) return true;
    if (await this.#leaveOut(request, 0)) return true;
    if (request.signal.aborted || this.#isTrimmed) return false;
    if (trimLastTurn(this.#visible) === this.#visible) return false;
    this.#isTrimmed = true;
    const message =
      "This turn fills the context window: the model sees only the latest tool results.";
    observer?.observe({ type: "notice", message });
    return true;
  }

  get #visible(): ConversationStream {
    return visibleOf(this.#options.journal.stream);
  }

  #findSize(signal: AbortSignal): Promise<number | undefined> {
    const { model, assistant } = this.#options;
    this.#size ??= (async () => {
      if (this.#setup.contextWindow !== undefined) return this.#setup.contextWindow;
      return (await model.properties?.(assistant.parameters, signal))?.contextWindow;
    })().catch(() => undefined); // The signal was aborted.
    return this.#size;
  }

  /** Takes the first step that has an effect. Returns false if none does. */
  async #compact({ signal }: ReplyRequest, tokens: number): Promise<boolean> {
    const context = this.#context(signal);
    for (const rule of this.#steps()) {
      if (signal.aborted) return false;
      const planned = this.#plan(rule);
      if (planned === undefined) continue;
      const compaction = await this.#make(context, planned, tokens);
      if (compaction === undefined) continue;
      // A rule may cover nothing that it could drop.
      if (savedBy(compaction, this.#visible) <= 0) continue;
      await (await loadCompact()).recordCompaction(context, compaction);
      return true;
    }
    return false;
  }

  /**
   * Drops half of the earlier turns, or half of the rest. Returns false if that would not save more than this many
   * tokens.
   */
  async #leaveOut({ signal }: ReplyRequest, minTokens: number): Promise<boolean> {
    const { clock, observer } = this.#options;
    const stream = this.#visible;
    if (signal.aborted) return false;
    const { keepFirst } = ALL_EARLIER;
    for (let left = turnsOf(stream.entries).length; left > 1;) {
      left = Math.floor(left / 2);
      const rule = { keepFirst, keepLast: { type: "keep", count: left }, summary: {} } as const;
      const [planned] = planCompactions(stream, [rule], { now: clock.now() });
      if (planned === undefined) continue;
      const base = toCompaction(planned, timestampFromDate(clock.now()));
      const summary = [...summariesIn(planned, stream), LEFT_OUT].join("\n\n");
      const compaction = { ...base, summary, isAutomatic: true, isLeftOut: true };
      if (savedBy(compaction, stream) <= minTokens) continue;
      await (await loadCompact()).recordCompaction(this.#context(signal), compaction);
      const count = planned.toTurn + 1;
      const turns = count === 1 ? "turn. It stays" : `${count} turns. They stay`;
      const message = `The context window is full: the model no longer sees the oldest ${turns} on record.`;
      observer?.observe({ type: "notice", message });
      return true;
    }
    return false;
  }

  #steps(): readonly CompactionRule[] {
    const { rule } = this.#setup;
    const { keepFirst, keepLast, summary = {} } = rule;
    return [
      rule,
      ...(rule.summary === undefined ? [{ keepFirst, keepLast, summary }] : []),
      { ...ALL_EARLIER, summary },
      { ...ALL_EARLIER, reasoning: "strip", toolCalls: { policy: "omit" } },
    ];
  }

  /** A new summary starts after the one before, so that nothing is summarized twice, unless it covers all turns. */
  #plan(rule: CompactionRule): PlannedCompaction | undefined {
    const stream = this.#visible;
    const now = this.#options.clock.now();
    const { keepFirst, keepLast } = rule;
    const [planned] = planCompactions(stream, [{ keepFirst, keepLast }], { now });
    if (planned === undefined || rule.summary === undefined) return planned && { ...planned, rule };
    if (this.#cannotSummarize) return undefined;
    const summaries = compactionsOf(stream).filter(({ summary }) => summary !== undefined);
    if (rule.keepFirst === ALL_EARLIER.keepFirst) {
      return isWorthwhile(planned, stream) && !isSummarized(planned, summaries)
        ? { ...planned, rule }
        : undefined;
    }
    const fromTurn = Math.max(planned.fromTurn, afterAll(summaries));
    const range = { fromTurn, toTurn: planned.toTurn };
    return isWorthwhile(range, stream) ? { ...range, rule } : undefined;
  }

  /** Undefined if there is no summary; the reason is reported. Throws `write_failed`. */
  async #make(
    context: CompactionContext,
    planned: PlannedCompaction,
    tokens: number,
  ): Promise<Compaction | undefined> {
    const contextWindow = (await this.#findSize(context.signal)) ?? tokens;
    const { makeCompaction } = await loadCompact();
    try {
      return await makeCompaction(context, planned, { isAutomatic: true, contextWindow });
    } catch (error) {
      if (context.signal.aborted) return undefined;
      if (!isJpError(error) || error.code === "write_failed") throw error;
      this.#cannotSummarize = true;
      const message = `Cannot summarize the conversation: ${messageOf(error)}`;
      context.observer?.observe({ type: "notice", message });
      return undefined;
    }
  }

  #context(signal: AbortSignal): CompactionContext {
    const { conversation, journal, model, assistant, clock, observer } = this.#options;
    const { parameters, request } = assistant;
    const { summarizer = async () => ({ model, parameters, request }) } = this.#setup;
    return { conversation, journal, summarizer, clock, signal, observer };
  }
}

/** Most turns have room. Throws `module_not_loaded`. */
const loadCompact = loaderOf(() => import("./compact.ts"));

function isWorthwhile(range: CompactionRange, stream: ConversationStream): boolean {
  if (range.fromTurn > range.toTurn) return false;
  return eventTokens(projectRange(stream, range)) >= MIN_SUMMARIZED;
}

/** Earlier summaries of these turns. */
function summariesIn(range: CompactionRange, stream: ConversationStream): readonly string[] {
  const inside = compactionsOf(stream).filter(
    (each) => each.isLeftOut !== true && isSummarized(each, [range]),
  );
  const summaries = inside.filter(({ summary }) => summary !== undefined);
  const current = summaries.filter(
    (each, index) => !isSummarized(each, summaries.slice(index + 1)),
  );
  return current.map(({ summary = "" }) => summary);
}

/** One summary already covers all of it. */
function isSummarized(range: CompactionRange, summaries: readonly CompactionRange[]): boolean {
  return summaries.some(
    ({ fromTurn, toTurn }) => fromTurn <= range.fromTurn && range.toTurn <= toTurn,
  );
}

/** In tokens. */
function savedBy(compaction: Compaction, stream: ConversationStream): number {
  const entries = [...stream.entries, StreamEntry.fromCompaction(compaction)];
  const [before = 0, after = 0] = [stream, { ...stream, entries }].map((one) =>
    eventTokens(eventsOf(project(one).entries)),
  );
  return before - after;
}

/** A request that may be sent later. */
type MeasuredRequest = PartsRequest & Pick<ReplyRequest, "tools">;

type Measured = Omit<ContextUse, "contextWindow">;

/** How many tokens a request has. */
function measureRequest(request: MeasuredRequest): Measured {
  const counted = measure(visibleOf(request.journal.stream), request);
  const isEstimated = counted === undefined;
  return { tokens: counted ?? estimateRequest(request), isEstimated };
}

/** How many tokens a request has, and how they are divided among its parts. */
export function measureParts(
  request: MeasuredRequest,
): Measured & { readonly parts: Readonly<Record<RequestPart, number>> } {
  const measured = measureRequest(request);
  const made = createParts(request);
  const parts = { ...requestShares(made, request.tools) };
  const scale = measured.tokens / requestTokens(made, request.tools);
  for (const part of Object.keys(parts) as RequestPart[]) parts[part] *= scale;
  return { ...measured, parts };
}

function estimateRequest(request: MeasuredRequest): number {
  return requestTokens(createParts(request), request.tools);
}

/**
 * The tokens that the provider counted for the last request and its reply, plus an estimate of what came after.
 * Undefined if it reported none, or if the conversation was compacted or its turn replaced since.
 */
function measure({ entries }: ConversationStream, { view }: PartsRequest): number | undefined {
  for (let index = entries.length - 1; index >= 0; index -= 1) {
    const entry = entries[index];
    if (entry === undefined || !isMeasure(entry)) continue;
    const { event } = entry;
    if (event?.type !== "token_usage") return undefined;
    const { input, output = 0 } = event.usage;
    if (event.purpose !== "reply" || input === undefined) continue;
    const since = { createdAt: event.timestamp, baseConfig: {}, entries: entries.slice(index) };
    const events = [...eventsOf((view?.(since) ?? since).entries)];
    const isReplaced = events.some(
      (one) =>
        (one.type === "chat_request" && one.replacesTurn === true) ||
        (one.type === "turn_undo" && one.hidesTurn === true),
    );
    return isReplaced ? undefined : input + output + eventTokens(events);
  }
  return undefined;
}

/** Whether the entry states the length of the conversation, or shortens it. Decodes no event. */
function isMeasure(entry: StreamEntry): boolean {
  const { eventType } = entry;
  return eventType === undefined
    ? entry.content.kind === "compaction"
    : eventType === "token_usage";
}
