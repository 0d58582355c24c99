/**
 * Applies compactions: the events of each turn as a model should see them. For each turn and policy,
 * the latest compaction that covers the turn applies. A summary overrides the other policies.
 */
import { type Compaction, StreamEntry } from "./entry.ts";
import type { ConversationEvent, ToolCallRequest, ToolCallResponse } from "./event.ts";
import type { ConversationStream } from "./stream.ts";
import { compareTimestamps } from "./timestamp.ts";
import { pairToolCalls, type RecordedTurn, turnsOf } from "./turns.ts";

const SUMMARY_REQUEST =
  "[The earlier part of this conversation was summarized. The summary follows.]";

/** The stream with its compactions applied. Returns the same stream if there are none. */
export function project(stream: ConversationStream): ConversationStream {
  const compactions = compactionsOf(stream);
  if (compactions.length === 0) return stream;
  const events = projectTurns(turnsOf(stream.entries), compactions);
  return { ...stream, entries: events.map((event) => StreamEntry.fromEvent(event)) };
}

function projectTurns(turns: readonly RecordedTurn[], compactions: readonly Compaction[]) {
  let previous: Compaction | undefined;
  return turns.flatMap((turn) => {
    const summarized = latest(compactions, turn, "summary");
    const isContinued = summarized !== undefined && summarized === previous;
    previous = summarized;
    if (isContinued) return [];
    return summarized === undefined ? trimTurn(turn, compactions) : summarize(turn, summarized);
  });
}

/** Oldest first; those with equal timestamps in the order of the record. */
function compactionsOf(stream: ConversationStream): readonly Compaction[] {
  return stream.entries
    .filter(({ eventType }) => eventType === undefined)
    .flatMap(({ content }) => (content.kind === "compaction" ? [content.compaction] : []))
    .toSorted((left, right) => compareTimestamps(left.timestamp, right.timestamp));
}

function latest(
  compactions: readonly Compaction[],
  turn: RecordedTurn,
  policy: "summary" | "reasoning" | "toolCalls",
): Compaction | undefined {
  return compactions.findLast(
    ({ fromTurn, toTurn, [policy]: wanted }) =>
      wanted !== undefined && fromTurn <= turn.index && turn.index <= toTurn,
  );
}

/** Replaces a run of turns with their summary; `turn` is the first of them. */
function summarize(turn: RecordedTurn, { summary = "" }: Compaction): readonly ConversationEvent[] {
  const timestamp = turn.events[0]?.timestamp;
  if (timestamp === undefined) return [];
  return [
    { type: "turn_start", timestamp },
    { type: "chat_request", timestamp, content: SUMMARY_REQUEST },
    { type: "chat_response", timestamp, content: { type: "message", text: summary } },
  ];
}

function trimTurn(
  turn: RecordedTurn,
  compactions: readonly Compaction[],
): readonly ConversationEvent[] {
  const isReasoningStripped = latest(compactions, turn, "reasoning") !== undefined;
  const toolCalls = latest(compactions, turn, "toolCalls")?.toolCalls;
  const names = new Map(
    pairToolCalls(turn.events).pairs.map(({ request, response }) => [response, request.name]),
  );
  return turn.events.flatMap((event) => {
    switch (event.type) {
      case "chat_response":
        return isReasoningStripped && event.content.type === "reasoning" ? [] : [event];
      case "tool_call_request":
        return trimCall(event, toolCalls);
      case "tool_call_response":
        return trimResult(event, toolCalls, names.get(event) ?? "tool");
      default:
        return [event];
    }
  });
}

function trimCall(
  event: ToolCallRequest,
  policy: Compaction["toolCalls"],
): readonly ConversationEvent[] {
  if (policy?.policy === "omit") return [];
  return policy?.request === true ? [{ ...event, arguments: {} }] : [event];
}

function trimResult(
  event: ToolCallResponse,
  policy: Compaction["toolCalls"],
  name: string,
): readonly ConversationEvent[] {
  if (policy?.policy === "omit") return [];
  if (policy?.response !== true) return [event];
  return [{ ...event, content: `[compacted] ${name}: ${event.isError ? "error" : "success"}` }];
}
