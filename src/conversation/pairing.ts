/**
 * Which response closes which request, within one turn: by id, and where several requests share an
 * id, in the order in which they were made. Ids are compared, never taken apart.
 */
import type {
  ConversationEvent,
  InquiryRequest,
  InquiryResponse,
  ToolCallRequest,
  ToolCallResponse,
} from "./event.ts";

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
