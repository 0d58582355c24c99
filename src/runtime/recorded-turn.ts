/**
 * A recorded turn that happens again: what comes next on its record, and whether the same comes now. The
 * events of each call are compared in their order. Calls that run side by side keep the order they had,
 * because one may have used what a person decided about another.
 */
import { isDeepStrictEqual } from "node:util";
import {
  type ChatRequest,
  type ConversationEvent,
  type EventType,
  type InquiryEscalation,
  type InquiryRequest,
  type InquiryResponse,
  type PermissionDecision,
  type PermissionRequestEvent,
} from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";
import { comparableEvent } from "./comparable-event.ts";

/** Where a conversation takes another way than recorded. Either side is absent if nothing happens there. */
export interface Divergence {
  /** The first turn is 1. */
  readonly turn: number;
  /** The call that it is about, by its recorded id. */
  readonly toolCallId?: string;
  /** As in the record, without what is not compared. */
  readonly recorded?: JsonObject;
  readonly now?: JsonObject;
}

/** The events that belong to no call. */
const MAIN: unique symbol = Symbol("main");

/** A call, by its recorded id, or the turn itself. */
export type Lane = string | typeof MAIN;

interface Step {
  readonly event: ConversationEvent;
  readonly index: number;
  readonly lane: Lane;
  /** It has come, or is about to be recorded. */
  isTaken: boolean;
}

const REPLY_ENDS: ReadonlySet<EventType> = new Set(["tool_call_response", "chat_request"]);

/** What no one has to wait for any longer: only the order would be another. */
const IDLE_MS = 50;

export interface RecordedTurnOptions {
  /** The first turn is 1. */
  readonly number: number;
  readonly events: readonly ConversationEvent[];
  /** A live model chooses its own words. */
  readonly comparesWords: boolean;
  /** Called when this event is the next one to be recorded. */
  readonly onNext: (event: ConversationEvent) => void;
  readonly onDivergence: () => void;
}

export class RecordedTurn {
  readonly #options: RecordedTurnOptions;
  readonly #ignored: ReadonlySet<EventType>;
  readonly #steps: readonly Step[];
  readonly #recorded = new Set<number>();
  /** The id on record of each call that is made now. */
  readonly #idOnRecord = new Map<string, string>();
  readonly #laneOfInquiry = new Map<string, Lane>();
  readonly #waiting = new Set<{ readonly index: number; readonly release: () => void }>();
  #idle: NodeJS.Timeout | undefined;
  #divergence: Divergence | undefined;

  constructor(options: RecordedTurnOptions) {
    this.#options = options;
    const { events } = options;
    this.#ignored = notOnRecord(events);
    const calls = events.flatMap((event) => (event.type === "tool_call_request" ? event.id : []));
    for (const event of events) {
      if (event.type !== "inquiry_request") continue;
      // Older records do not say which call has asked. Servers also ask outside of calls.
      const call = event.toolCallId ?? calls.find((id) => event.id.startsWith(`${id}.`));
      if (call !== undefined) this.#laneOfInquiry.set(event.id, call);
    }
    this.#steps = events
      .flatMap((event): readonly Pick<Step, "event" | "lane">[] => {
        const lane = this.#isCompared(event) ? this.#laneOf(event) : undefined;
        return lane === undefined ? [] : [{ event, lane }];
      })
      .map((step, index) => ({ ...step, index, isTaken: false }));
  }

  get divergence(): Divergence | undefined {
    return this.#divergence;
  }

  /** The message that starts the turn; undefined if there is none. */
  get request(): ChatRequest | undefined {
    return this.#options.events.find((event) => event.type === "chat_request");
  }

  /** What is still to come. */
  upcoming(lane?: Lane): readonly ConversationEvent[] {
    return this.#left(lane).map(({ event }) => event);
  }

  /** The model's next reply: results are recorded after the whole of it. */
  nextReply(): readonly ConversationEvent[] {
    const left = this.#left();
    const end = left.findIndex(({ event }) => REPLY_ENDS.has(event.type));
    const reply = end === -1 ? left : left.slice(0, end);
    return reply.flatMap(({ event, lane }) => (lane === MAIN ? [event] : []));
  }

  /** By the id on record. */
  questionOf(inquiryId: string): InquiryRequest | undefined {
    return this.#options.events.find(
      (event): event is InquiryRequest =>
        event.type === "inquiry_request" && event.id === inquiryId,
    );
  }

  /** What a model made of the question, before a person was asked. By the id on record. */
  escalationOf(inquiryId: string): InquiryEscalation | undefined {
    return this.#options.events.find(
      (event): event is InquiryEscalation =>
        event.type === "inquiry_escalation" && event.id === inquiryId,
    );
  }

  /** The end of the question, if it is still to come. */
  responseTo(inquiryId: string): InquiryResponse | undefined {
    return this.#outcomesOf(inquiryId).find((event) => event.type === "inquiry_response");
  }

  /** What comes of the question next: a model leaves it to a person, or it ends. */
  outcomeOf(inquiryId: string): InquiryEscalation | InquiryResponse | undefined {
    return this.#outcomesOf(inquiryId)[0];
  }

  #outcomesOf(inquiryId: string) {
    const id = this.idOnRecord(inquiryId);
    return this.upcoming().filter(
      (event): event is InquiryEscalation | InquiryResponse =>
        (event.type === "inquiry_escalation" || event.type === "inquiry_response") &&
        event.id === id,
    );
  }

  /** What the person was asked. Older versions did not record it. */
  requestOf({ toolCallId, action }: PermissionDecision): PermissionRequestEvent | undefined {
    return this.#options.events.findLast(
      (event): event is PermissionRequestEvent =>
        event.type === "permission_request" &&
        event.toolCallId === toolCallId &&
        event.action === action,
    );
  }

  /** Everything on record, taken or not. */
  eventsOf(lane: Lane): readonly ConversationEvent[] {
    return this.#steps.flatMap((step) => (step.lane === lane ? [step.event] : []));
  }

  /** By the id on record. */
  laneOf(toolCallId: string): Lane {
    return this.#idOnRecord.get(toolCallId) ?? toolCallId;
  }

  laneOfInquiry(id: string): Lane | undefined {
    return this.#laneOfInquiry.get(id);
  }

  /** The id on record of an inquiry or a call. */
  idOnRecord(id: string): string {
    const exact = this.#idOnRecord.get(id);
    if (exact !== undefined) return exact;
    const call = [...this.#idOnRecord].find(([now]) => id.startsWith(`${now}.`));
    return call === undefined ? id : `${call[1]}${id.slice(call[0].length)}`;
  }

  /** What is still to come before this event, except what belongs to the same call. */
  othersBefore(event: ConversationEvent): readonly ConversationEvent[] {
    const left = this.#left();
    const step = left.find((each) => each.event === event);
    if (step === undefined) return [];
    const others = left.filter(({ index, lane }) => index < step.index && lane !== step.lane);
    return others.map((each) => each.event);
  }

  /** Whether the prompt for the first of these answers opened before the other, or would have. */
  wasAskedBefore(answer: ConversationEvent, other: ConversationEvent): boolean {
    const [first, second] = [answer, other].map((each) => this.#before(each).at(-1)?.index ?? -1);
    return first !== undefined && second !== undefined && first < second;
  }

  /** What comes before this event on the record, taken or not, of the same call. */
  eventsBefore(event: ConversationEvent): readonly ConversationEvent[] {
    return this.#before(event).map((step) => step.event);
  }

  /** Waits until everything is recorded that comes before this event on record, and it is the time for it. */
  async untilNext(event: ConversationEvent | undefined): Promise<void> {
    const step = this.#steps.find((each) => each.event === event);
    if (step === undefined) return;
    await this.#untilReached(step.index);
    this.#options.onNext(step.event);
  }

  /** Compares events that are to be recorded together, and waits for their turn. */
  async take(events: readonly ConversationEvent[]): Promise<() => void> {
    if (this.#divergence !== undefined) return () => undefined;
    const steps: Step[] = [];
    for (const event of events) {
      if (!this.#isCompared(event)) continue;
      const lane = this.#laneNow(event);
      if (lane === undefined) continue;
      const step = this.#find(event, lane);
      if (step === undefined) return () => undefined;
      step.isTaken = true;
      steps.push(step);
    }
    const [first] = steps;
    if (first !== undefined) await this.#untilReached(first.index);
    return () => this.#noteRecorded(steps);
  }

  /** The turn has ended, so that nothing else comes. */
  end(): void {
    const [missing] = this.#left();
    if (missing !== undefined && this.#divergence === undefined) {
      this.#diverge({ lane: missing.lane, recorded: missing.event });
    }
  }

  #left(lane?: Lane): readonly Step[] {
    return this.#steps.filter((step) => !step.isTaken && (lane ?? step.lane) === step.lane);
  }

  #before(event: ConversationEvent): readonly Step[] {
    const step = this.#steps.find((each) => each.event === event);
    return this.#steps.slice(0, step?.index).filter(({ lane }) => lane === step?.lane);
  }

  #find(event: ConversationEvent, lane: Lane): Step | undefined {
    const left = this.#left(lane);
    if (event.type === "tool_call_request") this.#noteCall(event.id, left[0]?.event);
    // The answers of a form may come in any order.
    const step =
      event.type === "inquiry_response"
        ? (left.find((each) => this.#isResponseTo(event.id, each)) ?? left[0])
        : left[0];
    const now = this.#comparable(event, true);
    if (step !== undefined && isDeepStrictEqual(this.#comparable(step.event, false), now)) {
      return step;
    }
    this.#diverge({ lane, ...(step && { recorded: step.event }), now: event });
    return undefined;
  }

  #isResponseTo(id: string, { event }: Step): boolean {
    return event.type === "inquiry_response" && event.id === this.idOnRecord(id);
  }

  #noteCall(id: string, recorded: ConversationEvent | undefined): void {
    if (recorded?.type === "tool_call_request" && recorded.id !== id) {
      this.#idOnRecord.set(id, recorded.id);
    }
  }

  #diverge(at: {
    readonly lane: Lane;
    readonly recorded?: ConversationEvent;
    readonly now?: ConversationEvent;
  }): void {
    const { lane, recorded, now } = at;
    this.#divergence = {
      turn: this.#options.number,
      ...(typeof lane === "string" && { toolCallId: lane }),
      ...(recorded && { recorded: this.#comparable(recorded, false) }),
      ...(now && { now: this.#comparable(now, true) }),
    };
    for (const { release } of this.#waiting) release();
    this.#options.onDivergence();
  }

  #noteRecorded(steps: readonly Step[]): void {
    for (const { index } of steps) this.#recorded.add(index);
    clearTimeout(this.#idle);
    this.#idle = undefined;
    // Whoever has recorded something goes on first, as it did then: the next write took longer than that.
    setImmediate(() => {
      const next = this.#steps.find((step) => !this.#recorded.has(step.index));
      if (next !== undefined) this.#options.onNext(next.event);
      for (const waiting of this.#waiting) if (this.#isReached(waiting.index)) waiting.release();
      this.#watch();
    });
  }

  #isReached(index: number): boolean {
    return this.#steps.slice(0, index).every((step) => this.#recorded.has(step.index));
  }

  async #untilReached(index: number): Promise<void> {
    if (this.#divergence !== undefined || this.#isReached(index)) return;
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const waiting = { index, release };
    this.#waiting.add(waiting);
    this.#watch();
    await promise;
    this.#waiting.delete(waiting);
  }

  /** What waits for something that does not come goes on, the first of it first. */
  #watch(): void {
    if (this.#waiting.size === 0 || this.#idle !== undefined) return;
    this.#idle = setTimeout(() => {
      this.#idle = undefined;
      const [first] = [...this.#waiting].toSorted((left, right) => left.index - right.index);
      first?.release();
      this.#watch();
    }, IDLE_MS);
  }

  #isCompared(event: ConversationEvent): boolean {
    if (event.type === "turn_resume") return false;
    if (event.type !== "chat_response") return !this.#ignored.has(event.type);
    return this.#options.comparesWords || event.content.type === "structured";
  }

  #laneNow(event: ConversationEvent): Lane | undefined {
    if (event.type === "inquiry_request" && event.toolCallId !== undefined) {
      this.#laneOfInquiry.set(event.id, this.laneOf(event.toolCallId));
    }
    return this.#laneOf(event);
  }

  /** Undefined for a question outside of a call, which a server may ask at any time. */
  #laneOf(event: ConversationEvent): Lane | undefined {
    switch (event.type) {
      case "inquiry_request":
      case "inquiry_escalation":
      case "inquiry_response":
        return this.#laneOfInquiry.get(event.id);
      case "tool_call_response":
        return this.laneOf(event.id);
      case "permission_request":
      case "permission_decision":
      case "attempt_start":
        return this.laneOf(event.toolCallId);
      case "turn_start":
      case "turn_resume":
      case "turn_end":
      case "chat_request":
      case "chat_response":
      case "tool_call_request":
        return MAIN;
      default:
        return event satisfies never;
    }
  }

  #comparable(event: ConversationEvent, isNow: boolean): JsonObject {
    const { comparesWords } = this.#options;
    const toRecordedId = (id: string) => (isNow ? this.idOnRecord(id) : id);
    return comparableEvent(event, { comparesWords, toRecordedId });
  }
}

/** What this version of jp records, and the one that made this record did not. */
function notOnRecord(events: readonly ConversationEvent[]): ReadonlySet<EventType> {
  const types = new Set(events.map(({ type }) => type));
  if (!types.has("tool_call_request")) return new Set();
  const isOlder = !types.has("attempt_start") && !types.has("permission_request");
  const hasResult = types.has("tool_call_response");
  return new Set<EventType>([
    ...(isOlder && hasResult ? (["attempt_start", "permission_request", "turn_end"] as const) : []),
    ...(isOlder && !types.has("permission_decision") ? (["permission_decision"] as const) : []),
  ]);
}
