/**
 * A view of a stream that every provider accepts: nothing before the first request, and every call
 * and inquiry closed within its turn. The record itself never changes.
 */
import { StreamEntry } from "./entry.ts";
import type {
  ConversationEvent,
  InquiryRequest,
  InquiryResponse,
  ToolCallRequest,
} from "./event.ts";
import type { ConversationStream } from "./stream.ts";
import { Matcher, type Pairing, TurnCounter } from "./turns.ts";

/** What a model gets for a call that has no recorded result. */
export const INTERRUPTED_CALL = "Tool call was interrupted.";

/** Pure and idempotent. */
export function sanitize(stream: ConversationStream): ConversationStream {
  const begun = withoutLeadingEvents(stream.entries);
  const ended = withoutTrailingTurnStarts(withPairsClosed(begun));
  return { ...stream, entries: withFirstTurnStarted(ended) };
}

/** Providers reject anything before the first request. */
function withoutLeadingEvents(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const first = entries.findIndex(({ event }) => event?.type === "chat_request");
  if (first <= 0) return entries;
  return entries.filter(
    ({ event }, index) => index >= first || event === undefined || event.type === "turn_start",
  );
}

/** Turn by turn, drops responses without a request, and closes requests without a response. */
function withPairsClosed(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const repairs = new Map<number, Repair>();
  for (const turn of placesByTurn(entries)) repairTurn(turn, repairs);
  if (repairs.size === 0) return entries;
  return entries.flatMap((entry, position) => {
    const { isDropped = false, added = [] } = repairs.get(position) ?? {};
    return [...(isDropped ? [] : [entry]), ...added.map((event) => StreamEntry.fromEvent(event))];
  });
}

/** How to change the entry at a position. */
interface Repair {
  isDropped?: boolean;
  /** Events that follow it. */
  added?: ConversationEvent[];
}

/** An event and its position. The same event object may occur at several positions. */
interface Place<Event extends ConversationEvent = ConversationEvent> {
  readonly position: number;
  readonly id: string;
  readonly event: Event;
}

function repairTurn(places: readonly Place[], repairs: Map<number, Repair>): void {
  const calls = pair(places, "tool_call_request", "tool_call_response");
  const inquiries = pair(places, "inquiry_request", "inquiry_response");
  for (const { position } of [...calls.orphans, ...inquiries.orphans]) {
    repairs.set(position, { isDropped: true });
  }
  // Inquiries first: where both are closed at one position, the question ends before its call does.
  for (const { request } of inquiries.pairs.filter(isOpen)) {
    add(repairs, lastRelatedPosition(request, places), interruptedInquiry(request.event));
  }
  for (const { request } of calls.pairs.filter(isOpen)) {
    add(repairs, lastRelatedPosition(request, places), interruptedCall(request.event));
  }
}

type Of<Type> = Extract<ConversationEvent, { readonly type: Type }>;

function pair<
  Request extends ConversationEvent["type"],
  Response extends ConversationEvent["type"],
>(
  places: readonly Place[],
  requestType: Request,
  responseType: Response,
): Pairing<Place<Of<Request>>, Place<Of<Response>>> {
  const matcher = new Matcher<Place<Of<Request>>, Place<Of<Response>>>();
  for (const place of places) {
    if (isOf(place, requestType)) matcher.open(place);
    if (isOf(place, responseType)) matcher.close(place);
  }
  return matcher.result();
}

function isOf<Type extends ConversationEvent["type"]>(
  place: Place,
  type: Type,
): place is Place<Of<Type>> {
  return place.event.type === type;
}

function isOpen({ response }: { readonly response?: unknown }): boolean {
  return response === undefined;
}

/**
 * The position of the last event with the request's id: a response between two requests of the same
 * id would be paired with the first. A call also ends after the questions it asked.
 */
function lastRelatedPosition(request: Place, places: readonly Place[]): number {
  const related = places.filter(
    ({ id, event }) =>
      id === request.id || ("toolCallId" in event && event.toolCallId === request.id),
  );
  return Math.max(request.position, ...related.map(({ position }) => position));
}

function add(repairs: Map<number, Repair>, position: number, event: ConversationEvent): void {
  const repair = repairs.get(position) ?? {};
  repairs.set(position, { ...repair, added: [...(repair.added ?? []), event] });
}

/** The events that have an id, grouped by turn. */
function placesByTurn(entries: readonly StreamEntry[]): Iterable<readonly Place[]> {
  const counter = new TurnCounter();
  const turns = new Map<number, Place[]>();
  for (const [position, { eventType, event }] of entries.entries()) {
    if (eventType === undefined) continue;
    const turn = counter.next(eventType);
    if (event === undefined || !("id" in event)) continue;
    const places = turns.get(turn) ?? [];
    places.push({ position, id: event.id, event });
    turns.set(turn, places);
  }
  return turns.values();
}

/** Other entries may follow the last event. */
function withoutTrailingTurnStarts(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const last = entries.findLastIndex(({ event }) => event !== undefined && !isTurnStart(event));
  return entries.filter(({ event }, index) => index <= last || !isTurnStart(event));
}

/** Leaves exactly one `turn_start` before the first request. */
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

/** Closes an inquiry whose process has died. */
function interruptedInquiry(request: InquiryRequest): InquiryResponse {
  const { id, timestamp } = request;
  return { type: "inquiry_response", id, timestamp, outcome: "cancelled", reason: "interrupted" };
}
