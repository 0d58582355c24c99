/**
 * Every question of a conversation with what became of it, read from a stream that passes by once.
 * A turn's inquiries are complete when the turn is, so they come out then.
 */
import type { ShapeError } from "../util/index.ts";
import type { StreamEntry } from "./entry.ts";
import type {
  ConversationEvent,
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
} from "./event.ts";
import { pairInquiries, TurnCounter } from "./turns.ts";

/** A question, and what became of it. */
export interface LoggedInquiry {
  /** From 0. */
  readonly turn: number;
  readonly request: InquiryRequest;
  /** Absent if nothing closed it: it waits, or the process that asked is gone. */
  readonly response?: InquiryResponse;
  /** What the call that asked ran with, if a person had changed its arguments. */
  readonly edited?: PermissionDecision;
}

/** Reads entries, piece by piece, and gives the questions among them with what became of each. */
export class InquiryLog {
  readonly #counter = new TurnCounter();
  #turn = 0;
  /** The inquiry events of the current turn. */
  #events: ConversationEvent[] = [];
  /** Of the current turn, by call. */
  readonly #edits = new Map<string, PermissionDecision>();
  readonly #editOf = new Map<InquiryRequest, PermissionDecision>();
  /** What is wrong with inquiry events that could not be read. They are in no list. */
  readonly unreadable: ShapeError[] = [];

  /** Takes the next entries, and returns the inquiries of the turns they completed. */
  read(entries: Iterable<StreamEntry>): LoggedInquiry[] {
    const completed: LoggedInquiry[] = [];
    for (const entry of entries) {
      const type = entry.eventType;
      if (type === undefined) continue;
      const turn = this.#counter.next(type);
      if (turn !== this.#turn) completed.push(...this.end());
      this.#turn = turn;
      // Only these are decoded: the rest of a record may be large.
      const isInquiry = type === "inquiry_request" || type === "inquiry_response";
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

  /** At the end of the record: the inquiries of the last turn. */
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
