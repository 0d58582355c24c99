/**
 * A view of a stream that every provider accepts: nothing before the first request, and every call
 * and inquiry closed within its turn. The record itself never changes.
 */
import { StreamEntry } from "./entry.ts";
import type {
  ConversationEvent,
  EventType,
  InquiryRequest,
  InquiryResponse,
  ToolCallRequest,
} from "./event.ts";
import type { ConversationStream } from "./stream.ts";
import { Matcher, type Pairing, TurnCounter } from "./turns.ts";

/** The result that a model gets for a call without a recorded one. */
export const INTERRUPTED_CALL = "Tool call was interrupted.";

/** The pairs to close: a model sees calls, but no inquiries. */
export type SanitizedPairs = "calls" | "calls and inquiries";

/** Pure and idempotent. Decodes no more than it needs. */
export function sanitize(
  stream: ConversationStream,
  pairs: SanitizedPairs = "calls and inquiries",
): ConversationStream {
  const begun = withoutLeadingEvents(stream.entries);
  const ended = withoutTrailingTurnStarts(withPairsClosed(begun, pairs));
  return { ...stream, entries: withFirstTurnStarted(ended) };
}

/** Providers reject anything before the first request. */
function withoutLeadingEvents(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const first = entries.findIndex((entry) => isReadable(entry, "chat_request"));
  if (first <= 0) return entries;
  const leading = entries
    .slice(0, first)
    .filter((entry) => entry.event === undefined || isReadable(entry, "turn_start"));
  return [...leading, ...entries.slice(first)];
}

/** Turn by turn, drops responses without a request, and closes requests without a response. */
function withPairsClosed(
  entries: readonly StreamEntry[],
  pairs: SanitizedPairs,
): readonly StreamEntry[] {
  const repairs = new Map<number, Repair>();
  for (const range of turnRanges(entries)) repairTurn({ entries, ...range }, pairs, repairs);
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

/** The entries of a turn: all from one position to another, which is not included. */
interface TurnEntries {
  readonly entries: readonly StreamEntry[];
  readonly from: number;
  readonly to: number;
}

function repairTurn(turn: TurnEntries, which: SanitizedPairs, repairs: Map<number, Repair>): void {
  if (which === "calls" && isPaired(turn)) return;
  const calls = pair(turn, "tool_call_request", "tool_call_response");
  const inquiries =
    which === "calls"
      ? { pairs: [], orphans: [] }
      : pair(turn, "inquiry_request", "inquiry_response");
  for (const { position } of [...calls.orphans, ...inquiries.orphans]) {
    repairs.set(position, { isDropped: true });
  }
  // Inquiries first: where both are closed at one position, the question ends before its call does.
  for (const { request } of inquiries.pairs.filter(isOpen)) {
    add(repairs, lastRelatedPosition(request, turn), interruptedInquiry(request.event));
  }
  for (const { request } of calls.pairs.filter(isOpen)) {
    add(repairs, lastRelatedPosition(request, turn), interruptedCall(request.event));
  }
}

/** Whether every call has its result, and every result its call: as in most turns, of which there may be thousands. */
function isPaired({ entries, from, to }: TurnEntries): boolean {
  let open: Set<string> | undefined;
  for (let position = from; position < to; position += 1) {
    const entry = entries[position];
    const type = entry?.eventType;
    if (type !== "tool_call_request" && type !== "tool_call_response") continue;
    const event = entry?.event;
    if (event?.type === "tool_call_request") {
      open ??= new Set();
      if (open.has(event.id)) return false;
      open.add(event.id);
    } else if (event?.type === "tool_call_response" && open?.delete(event.id) !== true) {
      return false;
    }
  }
  return open === undefined || open.size === 0;
}

type Of<Type> = Extract<ConversationEvent, { readonly type: Type }>;

function pair<
  Request extends ConversationEvent["type"],
  Response extends ConversationEvent["type"],
>(
  turn: TurnEntries,
  requestType: Request,
  responseType: Response,
): Pairing<Place<Of<Request>>, Place<Of<Response>>> {
  const matcher = new Matcher<Place<Of<Request>>, Place<Of<Response>>>();
  for (const place of placesOf(turn, [requestType, responseType])) {
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
function lastRelatedPosition(request: Place, turn: TurnEntries): number {
  const related = [...placesOf(turn)].filter(
    ({ id, event }) =>
      id === request.id || ("toolCallId" in event && event.toolCallId === request.id),
  );
  return Math.max(request.position, ...related.map(({ position }) => position));
}

function add(repairs: Map<number, Repair>, position: number, event: ConversationEvent): void {
  const repair = repairs.get(position) ?? {};
  repairs.set(position, { ...repair, added: [...(repair.added ?? []), event] });
}

/** The readable events that have an id, of these types or of all. */
function* placesOf(
  { entries, from, to }: TurnEntries,
  types?: readonly EventType[],
): Generator<Place> {
  for (let position = from; position < to; position += 1) {
    const entry = entries[position];
    const type = entry?.eventType;
    if (type === undefined || types?.includes(type) === false) continue;
    const event = entry?.event;
    if (event !== undefined && "id" in event) yield { position, id: event.id, event };
  }
}

function* turnRanges(entries: readonly StreamEntry[]): Generator<Pick<TurnEntries, "from" | "to">> {
  const counter = new TurnCounter();
  let [turn, from] = [0, 0];
  for (let position = 0; position < entries.length; position += 1) {
    const type = entries[position]?.eventType;
    const next = type === undefined ? turn : counter.next(type);
    if (next === turn) continue;
    yield { from, to: position };
    [turn, from] = [next, position];
  }
  yield { from, to: entries.length };
}

/** Other entries may follow the last event. */
function withoutTrailingTurnStarts(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const last = entries.findLastIndex(
    (entry) => entry.event !== undefined && entry.eventType !== "turn_start",
  );
  const trailing = entries.slice(last + 1).filter((entry) => !isReadable(entry, "turn_start"));
  return [...entries.slice(0, last + 1), ...trailing];
}

/** Leaves exactly one `turn_start` before the first request. */
function withFirstTurnStarted(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const first = entries.findIndex((entry) => isReadable(entry, "chat_request"));
  const timestamp = entries[first]?.event?.timestamp;
  if (timestamp === undefined) return entries;
  const start = entries.slice(0, first).findLastIndex((entry) => isReadable(entry, "turn_start"));
  if (start === -1) {
    const opening = StreamEntry.fromEvent({ type: "turn_start", timestamp });
    return entries.toSpliced(first, 0, opening);
  }
  const leading = entries.slice(0, start).filter((entry) => !isReadable(entry, "turn_start"));
  return [...leading, ...entries.slice(start)];
}

function isReadable(entry: StreamEntry, type: EventType): boolean {
  return entry.eventType === type && entry.event !== undefined;
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
