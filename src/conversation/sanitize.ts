/**
 * A view of a stream that every provider accepts: nothing before the first request, every call and
 * every inquiry closed within its own turn. The record itself is left as it is, always.
 */
import { StreamEntry } from "./entry.ts";
import type {
  ConversationEvent,
  InquiryRequest,
  InquiryResponse,
  ToolCallRequest,
} from "./event.ts";
import { pairInquiries, pairToolCalls } from "./pairing.ts";
import type { ConversationStream } from "./stream.ts";
import { turnsOf } from "./turns.ts";

export const INTERRUPTED_CALL = "Tool call was interrupted.";

/** Pure, and the identity on what it returned. */
export function sanitize(stream: ConversationStream): ConversationStream {
  const begun = withoutLeadingEvents(stream.entries);
  const ended = withoutTrailingTurnStarts(withPairsClosed(begun));
  return { ...stream, entries: withFirstTurnStarted(ended) };
}

/** Before the first request a provider can make no sense of anything. */
function withoutLeadingEvents(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const first = entries.findIndex(({ event }) => event?.type === "chat_request");
  if (first <= 0) return entries;
  return entries.filter(
    ({ event }, index) => index >= first || event === undefined || event.type === "turn_start",
  );
}

/** Drops responses that close nothing, and closes requests that nothing closed, turn by turn. */
function withPairsClosed(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const dropped = new Set<ConversationEvent>();
  const closing = new Map<ConversationEvent, ConversationEvent>();
  for (const { events } of turnsOf(entries)) {
    const calls = pairToolCalls(events);
    const inquiries = pairInquiries(events);
    for (const orphan of [...calls.orphans, ...inquiries.orphans]) dropped.add(orphan);
    for (const { request, response } of calls.pairs) {
      if (response === undefined) closing.set(request, interruptedCall(request));
    }
    for (const { request, response } of inquiries.pairs) {
      if (response === undefined) closing.set(request, interruptedInquiry(request));
    }
  }
  if (dropped.size === 0 && closing.size === 0) return entries;
  return entries.flatMap((entry) => {
    const { event } = entry;
    if (event === undefined) return [entry];
    if (dropped.has(event)) return [];
    const response = closing.get(event);
    return response === undefined ? [entry] : [entry, StreamEntry.fromEvent(response)];
  });
}

/** Only events count: what is none may stand behind them. */
function withoutTrailingTurnStarts(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const last = entries.findLastIndex(({ event }) => event !== undefined && !isTurnStart(event));
  return entries.filter(({ event }, index) => index <= last || !isTurnStart(event));
}

/** Exactly one `turn_start` stands before the first request. */
function withFirstTurnStarted(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const first = entries.findIndex(({ event }) => event?.type === "chat_request");
  const timestamp = entries[first]?.event?.timestamp;
  if (timestamp === undefined) return entries;
  const start = entries.slice(0, first).findLastIndex(({ event }) => isTurnStart(event));
  if (start === -1) {
    const opening = StreamEntry.fromEvent({ type: "turn_start", timestamp });
    return entries.toSpliced(first, 0, opening);
  }
  return entries.filter(({ event }, index) => index >= start || !isTurnStart(event));
}

function isTurnStart(event: ConversationEvent | undefined): boolean {
  return event?.type === "turn_start";
}

function interruptedCall(request: ToolCallRequest): ConversationEvent {
  const { id, timestamp } = request;
  return { type: "tool_call_response", id, timestamp, content: INTERRUPTED_CALL, isError: true };
}

/** The end that an inquiry gets when the process that asked it is gone. */
function interruptedInquiry(request: InquiryRequest): InquiryResponse {
  const { id, timestamp } = request;
  return { type: "inquiry_response", id, timestamp, outcome: "cancelled", reason: "interrupted" };
}
