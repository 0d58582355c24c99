/**
 * Applies compactions and leaves out replaced turns: the events of each turn as a model should see them. For each
 * turn and policy, the latest compaction that covers the turn applies. A summary overrides the other policies.
 */
import { type Compaction, StreamEntry } from "./entry.ts";
import type { ChatRequest, ConversationEvent, ToolCallRequest, ToolCallResponse } from "./event.ts";
import type { ConversationStream } from "./stream.ts";
import { compareTimestamps } from "./timestamp.ts";
import { isReplaced, lastTurnStart, pairToolCalls, type RecordedTurn, turnsOf } from "./turns.ts";

const SUMMARY_REQUEST =
  "[The earlier part of this conversation was summarized. The summary follows.]";

/** The stream with its compactions applied and without replaced turns. The same stream if there are none. */
export function project(stream: ConversationStream): ConversationStream {
  if (compactionsOf(stream).length === 0 && !stream.entries.some(isReplacing)) return stream;
  const events = projectTurns(stream).flatMap((turn) => turn.events);
  return { ...stream, entries: events.map((event) => StreamEntry.fromEvent(event)) };
}

/** Decodes only requests, and what the user has undone. */
export function isReplacing(entry: StreamEntry): boolean {
  const { eventType } = entry;
  if (eventType !== "chat_request" && eventType !== "turn_undo") return false;
  const { event } = entry;
  if (event?.type === "turn_undo") return event.hidesTurn === true;
  return event?.type === "chat_request" && event.replacesTurn === true;
}

/** The events of these turns with the compactions applied. */
export function projectRange(
  stream: ConversationStream,
  range: Pick<Compaction, "fromTurn" | "toTurn">,
): readonly ConversationEvent[] {
  return projectTurns(stream, range).flatMap((turn) => turn.events);
}

/** All turns, or those in the range, with the compactions applied. They keep their numbers. */
export function projectTurns(
  stream: ConversationStream,
  { fromTurn, toTurn } = { fromTurn: 0, toTurn: Number.POSITIVE_INFINITY },
): readonly RecordedTurn[] {
  const compactions = compactionsOf(stream);
  const projected: RecordedTurn[] = [];
  let previous: Compaction | undefined;
  const turns = turnsOf(stream.entries);
  for (const [position, turn] of turns.entries()) {
    if (turn.index < fromTurn || turn.index > toTurn) continue;
    const summarized = latest(compactions, turn, "summary");
    const last = projected.at(-1);
    if (summarized !== undefined && summarized === previous && last !== undefined) {
      projected[projected.length - 1] = { ...last, lastIndex: turn.index };
    } else if (summarized !== undefined) {
      projected.push({ index: turn.index, events: summarize(turn, summarized) });
    } else if (!isReplaced(turns, position)) {
      // A replaced turn that is summarized is left out only with its summary.
      projected.push({ index: turn.index, events: trimTurn(turn, compactions) });
    }
    previous = summarized;
  }
  return projected;
}

/** Oldest first; those with equal timestamps in the order of the record. */
export function compactionsOf(stream: ConversationStream): readonly Compaction[] {
  const compactions: Compaction[] = [];
  for (const entry of stream.entries) {
    if (entry.eventType !== undefined) continue;
    const { content } = entry;
    if (content.kind === "compaction") compactions.push(content.compaction);
  }
  return compactions.toSorted((left, right) => compareTimestamps(left.timestamp, right.timestamp));
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
      case "chat_request":
        return [unmarked(event)];
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

/** How much of the last results stays if the turn alone fills the context window. */
const MAX_KEPT_RESULT = 16_000;

/**
 * The stream for a turn that fills the context window by itself: without the results that the model has reacted to,
 * and with long ones cut. Returns the same stream if there are none. Compactions are of whole turns, so nothing of
 * this is recorded.
 */
export function trimLastTurn(stream: ConversationStream): ConversationStream {
  const { entries } = stream;
  const start = lastTurnStart(entries);
  const lastCall = entries.findLastIndex(isCall);
  const calls = entries.slice(0, lastCall).findLastIndex((entry) => !isCall(entry)) + 1;
  const names = new Map<string, string>();
  let isChanged = false;
  const trimmed = entries.map((entry, index) => {
    const event = index < start ? undefined : entry.event;
    if (event?.type === "tool_call_request") names.set(event.id, event.name);
    if (event?.type !== "tool_call_response") return entry;
    const trimmedEvent =
      index < calls
        ? withStatus(event, names.get(event.id))
        : { ...event, content: cut(event.content) };
    if (!isShorter(trimmedEvent, event)) return entry;
    isChanged = true;
    return StreamEntry.fromEvent(trimmedEvent);
  });
  return isChanged ? { ...stream, entries: trimmed } : stream;
}

function isShorter(trimmed: ToolCallResponse, event: ToolCallResponse): boolean {
  const losesBlocks = trimmed.blocks === undefined && event.blocks !== undefined;
  return losesBlocks || trimmed.content.length < event.content.length;
}

function isCall({ eventType }: StreamEntry): boolean {
  return eventType === "tool_call_request";
}

function cut(content: string): string {
  if (content.length <= MAX_KEPT_RESULT) return content;
  const kept = content.slice(0, MAX_KEPT_RESULT).toWellFormed();
  const { length } = content;
  return `${kept}\n[compacted] The first ${MAX_KEPT_RESULT} of ${length} characters: the context window is full.`;
}

/** The turn that it replaces is gone from this view, which may be projected again. */
function unmarked(event: ChatRequest): ChatRequest {
  const { replacesTurn, ...rest } = event;
  return replacesTurn === true ? rest : event;
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
  return [withStatus(event, name)];
}

/** Without its content, and without the files that it may have. */
function withStatus(event: ToolCallResponse, name = "tool"): ToolCallResponse {
  const { blocks: _, ...rest } = event;
  return { ...rest, content: `[compacted] ${name}: ${event.isError ? "error" : "success"}` };
}
