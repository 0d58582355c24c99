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
import type { ConversationStream } from "./stream.ts";
import { Matcher, type Pairing, TurnCounter } from "./turns.ts";

/** What a model is told of a call that has no result on record. */
export const INTERRUPTED_CALL = "Tool call was interrupted.";

/** A view that every provider accepts. Pure, and the identity on what it returned. */
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
  const repairs = new Map<number, Repair>();
  for (const turn of placesByTurn(entries)) repairTurn(turn, repairs);
  if (repairs.size === 0) return entries;
  return entries.flatMap((entry, position) => {
    const { isDropped = false, added = [] } = repairs.get(position) ?? {};
    return [...(isDropped ? [] : [entry]), ...added.map((event) => StreamEntry.fromEvent(event))];
  });
}

/** What to do about the entry at a position. */
interface Repair {
  isDropped?: boolean;
  /** Events that follow it. */
  added?: ConversationEvent[];
}

/** An event where it stands. The same event may stand in several places. */
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
  // Inquiries first: where both are closed in one place, the question ends within its call.
  for (const { request } of inquiries.pairs.filter(isOpen)) {
    add(repairs, lastOf(request, places), interruptedInquiry(request.event));
  }
  for (const { request } of calls.pairs.filter(isOpen)) {
    add(repairs, lastOf(request, places), interruptedCall(request.event));
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
 * Behind the request and everything of its id: a response put between two requests of one id would
 * be taken for the first one's. A call also ends behind the questions it asked.
 */
function lastOf(request: Place, places: readonly Place[]): number {
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
