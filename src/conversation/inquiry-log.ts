/**
 * Collects every question of a conversation with its outcome, in one pass over the record. The
 * inquiries of a turn are returned when the turn is complete.
 */
import type { ShapeError } from "../util/index.ts";
import type { StreamEntry } from "./entry.ts";
import type { ConversationEvent, EventType, InquiryRequest, PermissionDecision } from "./event.ts";
import { type InquiryPair, pairInquiries, TurnCounter } from "./turns.ts";

/** A question and its outcome, if it has one. */
export interface LoggedInquiry extends InquiryPair {
  /** Counted from 0. */
  readonly turn: number;
  /** Set if the user edited the arguments of the call that asked. */
  readonly edited?: PermissionDecision;
}

const INQUIRY_TYPES = new Set<EventType>([
  "inquiry_request",
  "inquiry_escalation",
  "inquiry_response",
  "decision_void",
]);

/** Reads entries in pieces and returns the questions among them with their outcomes. */
export class InquiryLog {
  readonly #counter = new TurnCounter();
  #turn = 0;
  /** The inquiry events of the current turn. */
  #events: ConversationEvent[] = [];
  /** Edited calls of the current turn, by call id. */
  readonly #edits = new Map<string, PermissionDecision>();
  readonly #editOf = new Map<InquiryRequest, PermissionDecision>();
  /** Errors of inquiry events that could not be read. They are not returned. */
  readonly unreadable: ShapeError[] = [];

  /** Reads the next entries and returns the inquiries of the turns they complete. */
  read(entries: Iterable<StreamEntry>): LoggedInquiry[] {
    const completed: LoggedInquiry[] = [];
    for (const entry of entries) {
      const type = entry.eventType;
      if (type === undefined) continue;
      const turn = this.#counter.next(type);
      if (turn !== this.#turn) completed.push(...this.end());
      this.#turn = turn;
      // Decode only these: the rest of a record may be large.
      const isInquiry = INQUIRY_TYPES.has(type);
      if (!isInquiry && type !== "permission_decision") continue;
      const { content } = entry;
      if (content.kind === "event") this.#take(content.event);
      if (content.kind === "malformed" && isInquiry) this.unreadable.push(content.error);
    }
    return completed;
  }

  #take(event: ConversationEvent): void {
    if (event.type === "permission_decision") {
      if (event.arguments !== undefined) this.#edits.set(event.toolCallId, event);
      return;
    }
    this.#events.push(event);
    if (event.type !== "inquiry_request") return;
    const edited = this.#edits.get(event.toolCallId ?? "");
    if (edited !== undefined) this.#editOf.set(event, edited);
  }

  /** Call at the end of the record. Returns the inquiries of the last turn. */
  end(): LoggedInquiry[] {
    const { pairs } = pairInquiries(this.#events);
    const inquiries = pairs.map((pair) => {
      const edited = this.#editOf.get(pair.request);
      return { turn: this.#turn, ...pair, ...(edited !== undefined && { edited }) };
    });
    this.#events = [];
    this.#edits.clear();
    this.#editOf.clear();
    return inquiries;
  }
}

/** Every question of a record that is read in pieces, in order. Tells of those that cannot be read. */
export async function* inquiriesIn(
  pieces: AsyncIterable<Iterable<StreamEntry>>,
  onUnreadable?: (error: ShapeError) => void,
): AsyncGenerator<LoggedInquiry> {
  const log = new InquiryLog();
  for await (const entries of pieces) yield* log.read(entries);
  yield* log.end();
  for (const error of log.unreadable) onUnreadable?.(error);
}
