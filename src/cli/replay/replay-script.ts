/**
 * One process's part of a turn as a script: the next recorded events, compared with the replay's. The events of each
 * call are compared in order.
 */
import { isDeepStrictEqual } from "node:util";
import {
  type AnswerEvent,
  type ConversationEvent,
  type EventType,
  findAnswerTo,
  isAnswer,
  isDecisionRequest,
  type InquiryEscalation,
  type InquiryRequest,
  type InquiryResponse,
  type PendingItem,
  type PermissionDecision,
  type PermissionRequestEvent,
  timestampFromDate,
  type ToolCallResponse,
} from "../../record/conversation/index.ts";
import type { AnswerListener } from "../../stores/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { comparableEvent } from "./comparable-event.ts";
import { RecordedCalls } from "./recorded-calls.ts";
import { isByPerson, type RecordedProcess } from "./recorded-process.ts";
import { NEVER, type ReplayClock, ReplayOrder } from "./replay-order.ts";

/** The first difference from the record. A side is absent if nothing happens there. */
export interface Divergence {
  /** The first turn is 1. */
  readonly turn: number;
  /** The call concerned, by its recorded ID. */
  readonly toolCallId?: string;
  /** The recorded event, without the fields that are not compared. */
  readonly recorded?: JsonObject;
  readonly now?: JsonObject;
}

/** The lane of events that belong to no call. */
const MAIN: unique symbol = Symbol("main");

/** A call, by its recorded ID, or the turn itself. */
export type Lane = string | typeof MAIN;

interface Step {
  readonly event: ConversationEvent;
  readonly lane: Lane;
  readonly position: number;
  /** Its counterpart is recorded, or about to be. */
  isTaken: boolean;
  isRecorded: boolean;
  isOffered: boolean;
}

type WriteEvents = (events: readonly ConversationEvent[]) => Promise<void>;

interface Taken {
  readonly steps: readonly Step[];
  readonly length: number;
}

export interface ScriptOptions {
  /** The first turn is 1. */
  readonly number: number;
  /** The whole turn that the process belongs to. */
  readonly turn: readonly ConversationEvent[];
  readonly process: RecordedProcess;
  /** False with a live model, which chooses its own words. */
  readonly comparesWords: boolean;
  /** Recorded IDs of calls whose ID differs now. */
  readonly ids: ReadonlyMap<string, string>;
  readonly clock: ReplayClock;
  /** Called once nothing more can match the record. */
  readonly onEnd: () => void;
}

export class ReplayScript {
  readonly order: ReplayOrder;
  /** Recorded IDs of calls whose ID differs now. */
  readonly ids: Map<string, string>;
  /** Receives answers from outside the process. */
  listener: AnswerListener | undefined;
  readonly #options: ScriptOptions;
  readonly #ignored: ReadonlySet<EventType>;
  readonly #calls: RecordedCalls;
  readonly #unstable: ReadonlySet<string>;
  readonly #steps: readonly Step[];
  #divergence: Divergence | undefined;

  constructor(options: ScriptOptions) {
    const { turn, process, onEnd } = options;
    this.#options = options;
    this.ids = new Map(options.ids);
    this.#ignored = notOnRecord(turn);
    this.#calls = new RecordedCalls(turn, (id) => this.idOnRecord(id));
    this.#unstable = new Set(turn.flatMap((event) => (isUnstable(event) ? event.toolCallId : [])));
    this.#steps = process.events.flatMap((event, position): readonly Step[] => {
      const lane = this.#laneOf(event);
      if (lane === undefined || this.#ignored.has(event.type)) return [];
      return [{ event, lane, position, isTaken: false, isRecorded: false, isOffered: false }];
    });
    const onQuiet = (position: number) => this.#prepareNext(position);
    this.order = new ReplayOrder({ onQuiet, onEnd });
  }

  get divergence(): Divergence | undefined {
    return this.#divergence;
  }

  /** How many recorded events have happened again. */
  get progress(): number {
    return this.#steps.filter(({ isRecorded }) => isRecorded).length;
  }

  /** The events still to come. */
  upcoming(lane?: Lane): readonly ConversationEvent[] {
    return this.#left(lane).map(({ event }) => event);
  }

  /** The model's next reply, up to the first result: results are recorded after the whole reply. */
  nextReply(): readonly ConversationEvent[] {
    const left = this.#left();
    const end = left.findIndex(({ event }) => REPLY_ENDS.has(event.type));
    const reply = end === -1 ? left : left.slice(0, end);
    return reply.flatMap(({ event, lane }) => (lane === MAIN ? [event] : []));
  }

  /** What follows the model's next reply. */
  afterReply(): ConversationEvent | undefined {
    return this.upcoming().find(({ type }) => !REPLY_PARTS.has(type));
  }

  /** The question's next outcome: a model escalates it to a person, or it ends. */
  outcomeOf(inquiryId: string): InquiryEscalation | InquiryResponse | undefined {
    const id = this.idOnRecord(inquiryId);
    return this.upcoming()
      .filter(isOutcome)
      .find((event) => event.id === id);
  }

  /** The answer that arrived while the process ran. */
  answerTo(item: PendingItem): AnswerEvent | undefined {
    const id = this.idOnRecord(item.id) as PendingItem["id"]; // As on record.
    const toolCallId = this.idOnRecord(item.toolCallId);
    return findAnswerTo(this.upcoming(toolCallId), { ...item, id, toolCallId });
  }

  /** No one answered in time, and the question was escalated. */
  isPassedOn({ id, toolCallId }: Pick<PendingItem, "id" | "toolCallId">): boolean {
    const replaced = this.idOnRecord(id);
    return this.upcoming(this.idOnRecord(toolCallId)).some(
      (event) => isDecisionRequest(event) && event.replaces === replaced && (event.rung ?? 0) > 0,
    );
  }

  /** All requests about the call in the whole turn. */
  requestsOf(lane: Lane): readonly (InquiryRequest | PermissionRequestEvent)[] {
    return this.#options.turn
      .filter(isDecisionRequest)
      .filter((event) => this.#calls.of(event) === lane);
  }

  /** The call failed because its subject kept changing. Only its result is replayed. */
  isUnstable(lane: Lane): boolean {
    return typeof lane === "string" && this.#unstable.has(lane);
  }

  /** Whether an answer to another question of the same call comes first. */
  isBehindAnswer(answer: AnswerEvent): boolean {
    const lane = this.#laneOf(answer);
    const [first] = lane === undefined ? [] : this.upcoming(lane);
    return first !== undefined && first !== answer && isAnswer(first);
  }

  /**
   * Whether the question was first deferred, and then answered elsewhere: then the call asked again for a secret that
   * it had already been given.
   */
  isLeftFirst(answer: AnswerEvent): boolean {
    const lane = this.#laneOf(answer);
    if (lane === undefined || answer.type !== "inquiry_response") return false;
    const upcoming = this.upcoming(lane);
    const end = upcoming.findIndex((event) => !isAnswer(event));
    const next = upcoming[end];
    const hasSecret = upcoming
      .slice(0, end)
      .some((event) => event.type === "inquiry_response" && event.outcome === "redacted");
    const isSecret = next?.type === "inquiry_request" && next.question.answerType.type === "secret";
    // Earlier versions recorded no attempts, so any question directly follows the answers before it.
    return isSecret && !hasSecret && !this.#ignored.has("attempt_start");
  }

  /** The result of the call, if it is still to come. */
  responseOf(toolCallId: string): ToolCallResponse | undefined {
    return this.upcoming(this.idOnRecord(toolCallId)).find(
      (event) => event.type === "tool_call_response",
    );
  }

  /** The arguments of the call, defaults included, if someone was asked about it. */
  argumentsOf(lane: Lane): JsonObject {
    const asked = this.requestsOf(lane).find(({ type }) => type === "permission_request");
    return asked?.type === "permission_request" ? (asked.arguments ?? {}) : {};
  }

  /** The recorded ID of an inquiry or a call. */
  idOnRecord(id: string): string {
    return replaceId(id, this.ids);
  }

  /** Adapts a recorded answer to the question as asked now. */
  toNow<Event extends AnswerEvent>(event: Event): Event {
    const back = new Map([...this.ids].map(([now, recorded]) => [recorded, now]));
    const timestamp = timestampFromDate(this.#options.clock.now());
    return {
      ...event,
      timestamp,
      ...(event.id !== undefined && { id: replaceId(event.id, back) }),
      ...("toolCallId" in event && { toolCallId: replaceId(event.toolCallId, back) }),
    };
  }

  /** Waits until it is this event's turn; without one, until the process ends. */
  async until(event: ConversationEvent | undefined): Promise<void> {
    await this.order.until(this.#steps.find((step) => step.event === event)?.position ?? NEVER);
  }

  /**
   * Waits until this call's first event is next, however long that takes. If the call already waits for a person,
   * that event is how it continues. It may have none and be deferred again: the prompts of later calls wait for that.
   */
  async untilBegun(lane: Lane, isAsked: boolean): Promise<void> {
    if (isAsked) return;
    const [first] = this.#left(lane);
    await this.order.until((first?.position ?? NEVER) - 0.5);
  }

  /** Waits for an event of which only the outcome is on record, such as a deadline. */
  async untilClosed(signal: AbortSignal): Promise<void> {
    await this.order.until(NEVER, signal);
  }

  /** Compares events that are recorded together, and writes them when it is their turn. */
  async record(events: readonly ConversationEvent[], write: WriteEvents): Promise<void> {
    const { steps, length } = this.#take(events);
    const [first] = steps;
    if (first !== undefined) await this.order.until(first.position);
    if (this.order.isOver) return;
    await write(events.slice(0, length));
    for (const step of steps) {
      step.isRecorded = true;
      this.#options.clock.note(step.event);
    }
    // An answer from elsewhere is recorded on its own. The process ended before the rest was recorded.
    if (length < events.length) await this.order.until(NEVER);
  }

  /** Called when the process has ended. */
  end(): void {
    this.order.end();
    const missing = this.#steps.find(({ isRecorded }) => !isRecorded);
    if (missing !== undefined) this.#diverge(missing);
  }

  /** Advances to the next event. If nothing here is about to answer it, the answer came from elsewhere. */
  #prepareNext(position: number): boolean {
    const next = this.#steps.find(({ isRecorded }) => !isRecorded);
    if (next === undefined || next.position > position) return false;
    if (this.#options.clock.skipTo(next.event)) return true;
    if (next.position === position || next.isOffered || !isByPerson(next.event)) return false;
    next.isOffered = true;
    void this.listener?.({ event: next.event });
    return true;
  }

  #left(lane?: Lane): readonly Step[] {
    return this.#steps.filter((step) => !step.isTaken && (lane ?? step.lane) === step.lane);
  }

  /** Matches the events with recorded ones, up to where the process ended. */
  #take(events: readonly ConversationEvent[]): Taken {
    const steps: Step[] = [];
    for (const [length, event] of events.entries()) {
      const lane = this.#laneNow(event);
      if (lane === undefined) continue;
      const step = this.#candidate(event, lane);
      if (step === undefined && !this.#options.process.isComplete) return { steps, length };
      if (this.#ignored.has(event.type)) continue;
      const isSame =
        step && isDeepStrictEqual(this.#comparable(step.event), this.#comparable(event, this.ids));
      if (step === undefined || isSame !== true) {
        this.#diverge({ lane, ...step }, event);
        return { steps, length };
      }
      step.isTaken = true;
      steps.push(step);
    }
    return { steps, length: events.length };
  }

  /** The recorded event to compare with. */
  #candidate(event: ConversationEvent, lane: Lane): Step | undefined {
    const left = this.#left(lane);
    const [first] = left;
    if (event.type === "tool_call_request" && first?.event.type === "tool_call_request") {
      if (event.id !== first.event.id) this.ids.set(event.id, first.event.id);
    }
    if (!isOutcome(event)) return first;
    // Questions asked together may end in any order.
    const id = this.idOnRecord(event.id);
    const own = left.find(({ event: other }) => isOutcome(other) && other.id === id);
    return own ?? (this.#options.process.isComplete ? first : undefined);
  }

  #diverge(
    { lane, event: recorded }: Pick<Step, "lane"> & Partial<Step>,
    now?: ConversationEvent,
  ): void {
    this.#divergence ??= {
      turn: this.#options.number,
      ...(typeof lane === "string" && { toolCallId: lane }),
      ...(recorded && { recorded: this.#comparable(recorded) }),
      ...(now && { now: this.#comparable(now, this.ids) }),
    };
    this.order.end();
  }

  #comparable(event: ConversationEvent, ids: ReadonlyMap<string, string> = new Map()): JsonObject {
    const { comparesWords } = this.#options;
    return comparableEvent(event, { comparesWords, toRecordedId: (id) => replaceId(id, ids) });
  }

  #laneNow(event: ConversationEvent): Lane | undefined {
    this.#calls.add(event);
    return this.#laneOf(event);
  }

  /** Undefined for events that are not compared, such as questions outside of calls: servers may ask at any time. */
  #laneOf(event: ConversationEvent): Lane | undefined {
    if (isOnMain(event)) return MAIN;
    if (event.type === "chat_response") return this.#options.comparesWords ? MAIN : undefined;
    const call = this.#calls.of(event);
    const isLeftOut = call !== undefined && this.#unstable.has(call);
    return isLeftOut && event.type !== "tool_call_response" ? undefined : call;
  }
}

/** Whether the event belongs to the turn itself, and is compared whatever the model says. */
function isOnMain(event: ConversationEvent): boolean {
  if (event.type === "chat_response") return event.content.type === "structured";
  return MAIN_TYPES.has(event.type);
}

const MAIN_TYPES: ReadonlySet<EventType> = new Set([
  "turn_end",
  "chat_request",
  "tool_call_request",
]);

function isUnstable(event: ConversationEvent): event is PermissionDecision {
  return event.type === "permission_decision" && event.cause === "subject_unstable";
}

function isOutcome(event: ConversationEvent): event is InquiryEscalation | InquiryResponse {
  return event.type === "inquiry_escalation" || event.type === "inquiry_response";
}

const REPLY_ENDS: ReadonlySet<EventType> = new Set(["tool_call_response", "chat_request"]);

const REPLY_PARTS: ReadonlySet<EventType> = new Set([
  "chat_response",
  "reply_file",
  "reply_sources",
  "token_usage",
  "tool_call_request",
]);

/** The ID is a call's, or starts with one. */
function replaceId(id: string, ids: ReadonlyMap<string, string>): string {
  const call = [...ids].find(
    ([from]) => id === from || id.startsWith(`${from}.`) || id.startsWith(`${from}:`),
  );
  return call === undefined ? id : `${call[1]}${id.slice(call[0].length)}`;
}

/** Event types that this version records, but the record's version did not. */
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
