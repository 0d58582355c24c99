/** Which turns a compaction rule covers. Turns are counted from 0 here, and from 1 where users see them. */
import type { JsonObject } from "../../util/index.ts";
import type { Compaction, ToolCallCompaction } from "./entry.ts";
import { compactionsOf } from "./projection.ts";
import type { ConversationStream } from "./stream.ts";
import { timestampToMilliseconds } from "./timestamp.ts";
import { isReplaced, type RecordedTurn, turnsOf } from "./turns.ts";

/** Where a range of turns starts or ends. */
export type TurnBound =
  /** This many turns are kept, at the start or at the end. */
  | { readonly type: "keep"; readonly count: number }
  /** This turn is the first or last one. */
  | { readonly type: "turn"; readonly index: number }
  /** This many turns before the last one. */
  | { readonly type: "from_end"; readonly count: number }
  /** Turns within this time after the start, or before now, are kept. */
  | { readonly type: "within"; readonly ms: number }
  /** The turn of this long ago. */
  | { readonly type: "ago"; readonly ms: number }
  /** After the turns that the compactions so far cover. */
  | { readonly type: "after_compaction" };

/** The treatment of a range of turns when the conversation is sent to a model. The record keeps all of it. */
export interface CompactionRule {
  /** Where the range starts. */
  readonly keepFirst: TurnBound;
  /** Where it ends. */
  readonly keepLast: TurnBound;
  /** Leaves out reasoning. */
  readonly reasoning?: "strip";
  /** Empties arguments or results of tool calls, or leaves the calls out. */
  readonly toolCalls?: ToolCallCompaction;
  /** Replaces all of the range with a summary that a model writes. Overrides the other two. */
  readonly summary?: SummaryRule;
}

/** How a summary is made. */
export interface SummaryRule {
  /** As a config names it. Used only by whoever resolves it. */
  readonly model?: {
    readonly id: { readonly alias: string } | { readonly provider: string; readonly name: string };
    readonly parameters?: JsonObject;
  };
  /** The system prompt of the request. */
  readonly instructions?: string;
  /** A further instruction to the model, such as what to focus on. */
  readonly context?: string;
}

/** Turns to compact, both ends included. */
export interface CompactionRange {
  readonly fromTurn: number;
  readonly toTurn: number;
}

/** A rule, and the turns that it covers now. */
export interface PlannedCompaction<
  Rule extends CompactionRule = CompactionRule,
> extends CompactionRange {
  readonly rule: Rule;
}

/** Everything that ranges depend on besides the record. */
export interface PlanOptions {
  readonly now: Date;
  /** Replace the bounds of every rule. */
  readonly from?: TurnBound | undefined;
  readonly to?: TurnBound | undefined;
}

/**
 * The turns that each rule covers; a rule that covers none is left out. A summary that touches others grows to cover all
 * of theirs: it cannot be split, and two of them would tell the same story.
 */
export function planCompactions<Rule extends CompactionRule>(
  stream: ConversationStream,
  rules: readonly Rule[],
  { now, from, to }: PlanOptions,
): readonly PlannedCompaction<Rule>[] {
  const turns = turnsOf(stream.entries);
  const existing = compactionsOf(stream);
  const summaries: CompactionRange[] = existing.filter(({ summary }) => summary !== undefined);
  const place = { turns, existing, now };
  return rules.flatMap((rule) => {
    const fromTurn = startOf(from ?? rule.keepFirst, place);
    const toTurn = endOf(to ?? rule.keepLast, place);
    if (fromTurn > toTurn) return [];
    if (rule.summary === undefined) return [{ fromTurn, toTurn, rule }];
    const range = extend({ fromTurn, toTurn }, summaries);
    if (isAllReplaced(range, turns)) return [];
    summaries.push(range);
    return [{ ...range, rule }];
  });
}

/** The compaction that a rule makes of a range, without its summary. */
export function toCompaction(
  { fromTurn, toTurn, rule }: PlannedCompaction,
  timestamp: Compaction["timestamp"],
): Compaction {
  const { reasoning, toolCalls } = rule;
  return {
    timestamp,
    fromTurn,
    toTurn,
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls !== undefined && { toolCalls }),
  };
}

/** Describes the compaction in a few words: `summary`, `left out`, or `reasoning, tool calls`. */
export function describeCompaction({
  summary,
  reasoning,
  toolCalls,
  isLeftOut,
}: Omit<Compaction, "timestamp">): string {
  if (isLeftOut === true) return "left out";
  if (summary !== undefined) return "summary";
  const calls =
    toolCalls === undefined
      ? []
      : toolCalls.policy === "omit"
        ? ["tool calls left out"]
        : toolCalls.request && toolCalls.response
          ? ["tool calls"]
          : [
              ...(toolCalls.request ? ["arguments"] : []),
              ...(toolCalls.response ? ["results"] : []),
            ];
  return [...(reasoning === undefined ? [] : ["reasoning"]), ...calls].join(", ");
}

/** As users see it: `turn 3`, or `turns 2..5`. */
export function describeTurns({ fromTurn, toTurn }: CompactionRange): string {
  return fromTurn === toTurn ? `turn ${fromTurn + 1}` : `turns ${fromTurn + 1}..${toTurn + 1}`;
}

/** Models see none of it, so that there is nothing to summarize. */
function isAllReplaced(range: CompactionRange, turns: readonly RecordedTurn[]): boolean {
  return turns.every(
    ({ index }, position) =>
      index < range.fromTurn || index > range.toTurn || isReplaced(turns, position),
  );
}

interface Place {
  readonly turns: readonly RecordedTurn[];
  readonly existing: readonly Compaction[];
  readonly now: Date;
}

/** Beyond the last turn if it keeps all of them. */
function startOf(bound: TurnBound, place: Place): number {
  const { turns, existing, now } = place;
  const last = turns.length - 1;
  switch (bound.type) {
    case "keep":
      return bound.count;
    case "turn":
      return bound.index;
    case "from_end":
      return Math.max(0, last - bound.count);
    case "within":
      return turnAt((timeOf(turns[0]) ?? 0) + bound.ms, turns) + 1;
    case "ago":
      return turnAt(now.getTime() - bound.ms, turns) + 1;
    case "after_compaction":
      return afterAll(existing);
    default:
      return bound satisfies never;
  }
}

/** Before the first turn if it keeps all of them. */
function endOf(bound: TurnBound, { turns, now }: Place): number {
  const last = turns.length - 1;
  switch (bound.type) {
    case "keep":
    case "from_end":
      return last - bound.count;
    case "turn":
      return Math.min(bound.index, last);
    case "within":
    case "ago":
      return turnAt(now.getTime() - bound.ms, turns);
    case "after_compaction":
      return last;
    default:
      return bound satisfies never;
  }
}

/** The turn that was the last one at this time; -1 if there was none yet. */
function turnAt(time: number, turns: readonly RecordedTurn[]): number {
  return turns.findLastIndex((turn) => (timeOf(turn) ?? Number.POSITIVE_INFINITY) <= time);
}

function timeOf(turn: RecordedTurn | undefined): number | undefined {
  const timestamp = turn?.events[0]?.timestamp;
  return timestamp && timestampToMilliseconds(timestamp);
}

/** The first turn after all of these. A record may have any number of them. */
export function afterAll(ranges: readonly CompactionRange[]): number {
  return ranges.reduce((after, { toTurn }) => Math.max(after, toTurn + 1), 0);
}

/** Down and then up, because the longer range may touch more of them. */
function extend(range: CompactionRange, others: readonly CompactionRange[]): CompactionRange {
  const downwards = others.toSorted((one, other) => other.toTurn - one.toTurn);
  const upwards = others.toSorted((one, other) => one.fromTurn - other.fromTurn);
  return [...downwards, ...upwards].reduce((whole, { fromTurn, toTurn }) => {
    if (fromTurn > whole.toTurn || whole.fromTurn > toTurn) return whole;
    return {
      fromTurn: Math.min(whole.fromTurn, fromTurn),
      toTurn: Math.max(whole.toTurn, toTurn),
    };
  }, range);
}
