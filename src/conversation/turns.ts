/**
 * Turns: what stands between one `turn_start` and the next. Records from before there was such an
 * event are one turn; so are events before the first one. A turn has no id, only its position.
 */
import type { StreamEntry } from "./entry.ts";
import type {
  ConversationEvent,
  InquiryRequest,
  InquiryResponse,
  ToolCallRequest,
  ToolCallResponse,
} from "./event.ts";

/** The events of one turn. */
export interface Turn {
  /** From 0. People count from 1. */
  readonly index: number;
  readonly events: readonly ConversationEvent[];
}

/** The record, turn by turn. Events that cannot be read are left out. */
export function turnsOf(entries: Iterable<StreamEntry>): Turn[] {
  const turns: Turn[] = [];
  let events: ConversationEvent[] = [];
  const counter = new TurnCounter();
  for (const { eventType, event } of entries) {
    if (eventType === undefined) continue;
    const index = counter.next(eventType);
    if (turns.length === 0 || index > turns.length - 1) {
      events = [];
      turns.push({ index, events });
    }
    if (event !== undefined) events.push(event);
  }
  return turns;
}

/**
 * Tells the turn of each event of a stream, for readers that do not hold the whole of it. Events that
 * cannot be read count too: all readers number the turns alike.
 */
export class TurnCounter {
  #index = 0;
  #isEmpty = true;

  /** The index of the turn that the next event belongs to. */
  next(type: ConversationEvent["type"]): number {
    if (type === "turn_start" && !this.#isEmpty) this.#index += 1;
    this.#isEmpty = false;
    return this.#index;
  }
}

interface Identified {
  readonly id: string;
}

/** A request, and the response that closed it. */
export interface Pair<Request, Response> {
  readonly request: Request;
  /** Absent while, or because, nothing closed the request. */
  readonly response?: Response;
}

/** All requests of a turn with their responses. */
export interface Pairing<Request, Response> {
  /** One for each request, in their order. */
  readonly pairs: readonly Pair<Request, Response>[];
  /** Responses that no open request of the turn asked for. */
  readonly orphans: readonly Response[];
}

/** `events` are those of one turn. */
export function pairInquiries(
  events: Iterable<ConversationEvent>,
): Pairing<InquiryRequest, InquiryResponse> {
  const matcher = new Matcher<InquiryRequest, InquiryResponse>();
  for (const event of events) {
    if (event.type === "inquiry_request") matcher.open(event);
    if (event.type === "inquiry_response") matcher.close(event);
  }
  return matcher.result();
}

/** `events` are those of one turn. */
export function pairToolCalls(
  events: Iterable<ConversationEvent>,
): Pairing<ToolCallRequest, ToolCallResponse> {
  const matcher = new Matcher<ToolCallRequest, ToolCallResponse>();
  for (const event of events) {
    if (event.type === "tool_call_request") matcher.open(event);
    if (event.type === "tool_call_response") matcher.close(event);
  }
  return matcher.result();
}

export class Matcher<Request extends Identified, Response extends Identified> {
  readonly #pairs: { request: Request; response?: Response }[] = [];
  readonly #orphans: Response[] = [];
  /** Positions of the open requests of each id, oldest first. */
  readonly #open = new Map<string, number[]>();

  open(request: Request): void {
    const position = this.#pairs.push({ request }) - 1;
    const positions = this.#open.get(request.id);
    if (positions === undefined) this.#open.set(request.id, [position]);
    else positions.push(position);
  }

  close(response: Response): void {
    const position = this.#open.get(response.id)?.shift();
    const pair = position === undefined ? undefined : this.#pairs[position];
    if (pair === undefined) this.#orphans.push(response);
    else pair.response = response;
  }

  result(): Pairing<Request, Response> {
    return { pairs: this.#pairs, orphans: this.#orphans };
  }
}
