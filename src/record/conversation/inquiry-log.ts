/**
 * Collects every decision of a conversation with its outcome, in one pass over the record: questions, permissions,
 * deliveries and calls in doubt. Those of a turn are returned when the turn is complete.
 */
import type { InquiryQuestion, InquirySource } from "../tool/index.ts";
import type { JsonObject, ShapeError } from "../../util/index.ts";
import {
  ACTIONS,
  type AnswerEvent,
  askerAbout,
  type CallDecisionKind,
  type DecisionKind,
  isActing,
  questionAbout,
} from "./decision.ts";
import type { StreamEntry } from "./entry.ts";
import {
  type ConversationEvent,
  DECISION_TYPES,
  type DecisionVoid,
  type DecisionVote,
  type EventType,
  type InquiryEscalation,
  type InquiryId,
  type InquiryRequest,
  type PermissionDecision,
  type PermissionRequestEvent,
  type ToolCallRequest,
  type ToolStep,
} from "./event.ts";
import { deadlineOf } from "./open-question.ts";
import { eventsOf } from "./stream.ts";
import type { Timestamp } from "./timestamp.ts";
import { pendingOf, permissionId, readTurnProgress } from "./turn-progress.ts";
import {
  type InquiryPair,
  isInquiry,
  pairDecisions,
  type PermissionPair,
  TurnCounter,
} from "./turns.ts";

/** Something that was asked or decided, and its outcome, if it has one. */
export interface LoggedInquiry {
  readonly kind: DecisionKind;
  /** Counted from 0. */
  readonly turn: number;
  /** That of the request. If no one was asked, the one that a request would have had. */
  readonly id: InquiryId;
  /** Absent in older records of questions, as are the call and its arguments. */
  readonly tool?: string;
  readonly toolCallId?: string;
  /** The arguments that the call runs with, as edited if a person did. */
  readonly arguments?: JsonObject;
  /** Who asks: the assistant wants a call to run, and a tool its result to be seen. */
  readonly source: InquirySource;
  readonly question: InquiryQuestion;
  /** A yes makes a tool run or change something. */
  readonly acts: boolean;
  /** When it was decided, if no one was asked. */
  readonly askedAt: Timestamp;
  /** Until when an answer counts. */
  readonly deadline?: Timestamp;
  /** Absent if the config decided unasked. */
  readonly request?: InquiryRequest | PermissionRequestEvent;
  readonly response?: AnswerEvent;
  /** Set if it still waits for someone. Otherwise, without a response, its turn ended or went on without one. */
  readonly isPending?: true;
  /** Set if a model was asked first, and left it to a person. */
  readonly escalation?: InquiryEscalation;
  /** What people have said who decide together, in order. */
  readonly votes?: readonly DecisionVote[];
  /** Set if it no longer counts. */
  readonly madeVoid?: DecisionVoid;
  /** The parts that had changed since the earlier decision. */
  readonly changed?: readonly string[];
  /** Set if the user edited the arguments of the call that asked. */
  readonly edited?: PermissionDecision;
}

/** With these, and the calls that are open, a turn's progress is known. */
const PROGRESS_TYPES = new Set<EventType | undefined>([
  ...DECISION_TYPES,
  "attempt_start",
  "turn_end",
]);

/** Reads entries in pieces and returns the decisions among them with their outcomes. */
export class InquiryLog {
  readonly #counter = new TurnCounter();
  #turn = 0;
  #current = new TurnLog();
  /** Errors of events that could not be read. What they are about is not returned. */
  readonly unreadable: ShapeError[] = [];

  /** Reads the next entries and returns the decisions of the turns they complete. */
  read(entries: Iterable<StreamEntry>): LoggedInquiry[] {
    const completed: LoggedInquiry[] = [];
    for (const entry of entries) {
      const type = entry.eventType;
      if (type === undefined) continue;
      const turn = this.#counter.next(type);
      if (turn !== this.#turn) completed.push(...this.#complete(false));
      this.#turn = turn;
      if (type === "tool_call_request") this.#current.addCall(entry);
      if (type === "tool_call_response") this.#current.endCall(entry);
      if (type === "tool_step") this.#current.addStep(entry);
      if (PROGRESS_TYPES.has(type)) this.#current.addProgress(entry);
      // The rest of a record may be large, and is not decoded.
      if (!DECISION_TYPES.has(type)) continue;
      const { content } = entry;
      if (content.kind === "event") this.#current.add(content.event);
      if (content.kind === "malformed") this.unreadable.push(content.error);
    }
    return completed;
  }

  /** Call at the end of the record. Returns the decisions of the last turn. */
  end(): LoggedInquiry[] {
    return this.#complete(true);
  }

  #complete(isLast: boolean): LoggedInquiry[] {
    const logged = this.#current.result(this.#turn, isLast);
    this.#current = new TurnLog();
    return logged;
  }
}

/** Every decision of a record that is read in pieces, in order. Tells of those that cannot be read. */
export async function* inquiriesIn(
  pieces: AsyncIterable<Iterable<StreamEntry>>,
  onUnreadable?: (error: ShapeError) => void,
): AsyncGenerator<LoggedInquiry> {
  const log = new InquiryLog();
  for await (const entries of pieces) yield* log.read(entries);
  yield* log.end();
  for (const error of log.unreadable) onUnreadable?.(error);
}

/** The known state of a call when something about it is decided. */
interface CallSoFar {
  readonly name?: string;
  readonly arguments?: JsonObject;
  readonly edited?: PermissionDecision;
  readonly steps: readonly ToolStep[];
}

/** The decisions of one turn. */
class TurnLog {
  readonly #events: ConversationEvent[] = [];
  /** Decoded only if something is decided about the call. Some providers reuse ids, so the latest counts. */
  readonly #calls = new Map<string, StreamEntry>();
  /** The steps that each call has finished. Decoded under the same condition. */
  readonly #steps = new Map<string, StreamEntry[]>();
  /** The permission to run each call. */
  readonly #permitted = new Map<string, PermissionPair>();
  /** The call behind each request, and behind each decision about a call. */
  readonly #callOf = new Map<ConversationEvent | undefined, CallSoFar>();
  readonly #voids = new Map<string, DecisionVoid>();
  readonly #votes: DecisionVote[] = [];
  /** Calls that are not closed. Those that share an id are closed in order. */
  readonly #openCalls = new Map<string, StreamEntry[]>();
  /** These, and what happened to them, in order. */
  readonly #progress = new Set<StreamEntry>();

  addCall(entry: StreamEntry): void {
    const { id } = entry.raw;
    if (typeof id !== "string") return;
    this.#progress.add(entry);
    this.#openCalls.set(id, [...(this.#openCalls.get(id) ?? []), entry]);
    this.#calls.set(id, entry);
    this.#steps.delete(id);
    this.#permitted.delete(id);
  }

  addStep(entry: StreamEntry): void {
    const { tool_call_id: id } = entry.raw;
    if (typeof id === "string") this.#steps.set(id, [...(this.#steps.get(id) ?? []), entry]);
  }

  /** Nothing more is decided about it. */
  endCall({ raw: { id } }: StreamEntry): void {
    if (typeof id !== "string") return;
    this.#calls.delete(id);
    this.#steps.delete(id);
    this.#permitted.delete(id);
    const closed = this.#openCalls.get(id)?.shift();
    if (closed !== undefined) this.#progress.delete(closed);
  }

  addProgress(entry: StreamEntry): void {
    this.#progress.add(entry);
  }

  add(event: ConversationEvent): void {
    this.#events.push(event);
    if (event.type === "decision_void") this.#voids.set(event.id, event);
    if (event.type === "decision_vote") this.#votes.push(event);
    const isAboutCall = event.type === "permission_request" || event.type === "permission_decision";
    if (!isAboutCall && event.type !== "inquiry_request") return;
    this.#callOf.set(event, this.#findCall(event.toolCallId ?? ""));
    if (!isAboutCall || event.action !== "run") return;
    const { toolCallId: id } = event;
    const { request, response } = this.#permitted.get(id) ?? {};
    if (event.type === "permission_request") this.#permitted.set(id, { request: event });
    else if (request === undefined || response !== undefined) {
      this.#permitted.set(id, { response: event });
    } else this.#permitted.set(id, { request, response: event });
  }

  result(turn: number, isLast: boolean): LoggedInquiry[] {
    const counts = new Map<string, number>();
    const logged = pairDecisions(this.#events).map((decision) => {
      const call = this.#callOf.get(decision.request ?? decision.response) ?? { steps: [] };
      const described = isInquiry(decision)
        ? this.#toQuestion(decision, call)
        : this.#toDecision(decision, call, counts);
      return this.#log(turn, described);
    });
    return isLast ? this.#markPending(logged) : logged;
  }

  #log(turn: number, decision: Omit<LoggedInquiry, "turn">): LoggedInquiry {
    const votes = this.#votes.filter(({ id }) => id === decision.id);
    return { turn, ...decision, ...(votes.length > 0 && { votes }) };
  }

  #markPending(logged: LoggedInquiry[]): LoggedInquiry[] {
    const isOpen = ({ response, madeVoid }: LoggedInquiry) =>
      response === undefined && madeVoid === undefined;
    if (!logged.some(isOpen)) return logged;
    const pending = pendingOf(readTurnProgress(eventsOf(this.#progress)));
    return logged.map((each) => {
      const isPending =
        isOpen(each) &&
        pending.some(({ id, askedAt }) => id === each.id && askedAt === each.askedAt);
      return isPending ? { ...each, isPending } : each;
    });
  }

  #findCall(id: string): CallSoFar {
    const event = this.#calls.get(id)?.event;
    const call: ToolCallRequest | undefined =
      event?.type === "tool_call_request" ? event : undefined;
    const { request, response } = this.#permitted.get(id) ?? {};
    const args = response?.arguments ?? request?.arguments ?? call?.arguments;
    const edited = response?.arguments === undefined ? undefined : response;
    const steps = (this.#steps.get(id) ?? []).flatMap((step) =>
      step.event?.type === "tool_step" ? [step.event] : [],
    );
    return {
      steps,
      ...(call !== undefined && { name: call.name }),
      ...(args !== undefined && { arguments: args }),
      ...(edited !== undefined && { edited }),
    };
  }

  #toQuestion(pair: InquiryPair, call: CallSoFar): Omit<LoggedInquiry, "turn"> {
    const { request, response, escalation, madeVoid } = pair;
    const { source, question, toolCallId, timestamp: askedAt } = request;
    const tool = call.name ?? (source.source === "tool" ? source.name : undefined);
    const deadline = deadlineOf(pair);
    const changed = this.#changedSince(request);
    return {
      kind: "question",
      id: request.id,
      ...(tool !== undefined && { tool }),
      ...(toolCallId !== undefined && { toolCallId }),
      ...(call.arguments !== undefined && { arguments: call.arguments }),
      source,
      question,
      acts: isActing(request),
      askedAt,
      ...(deadline !== undefined && { deadline }),
      request,
      ...(response !== undefined && { response }),
      ...(escalation !== undefined && { escalation }),
      ...(madeVoid !== undefined && { madeVoid }),
      ...(changed !== undefined && { changed }),
      ...(call.edited !== undefined && { edited: call.edited }),
    };
  }

  #toDecision(
    { request, response }: PermissionPair,
    call: CallSoFar,
    counts: Map<string, number>,
  ): Omit<LoggedInquiry, "turn"> {
    const decided = request ?? response;
    if (decided === undefined) throw new Error("nothing was asked or decided");
    const { action, tool, toolCallId, timestamp: askedAt } = decided;
    const kind = KINDS[action];
    const key = JSON.stringify([toolCallId, action]);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const id = decided.id ?? permissionId(toolCallId, action, count);
    const args = request?.arguments ?? call.arguments;
    const madeVoid = this.#voids.get(id);
    const changed = request && this.#changedSince(request);
    return {
      kind,
      id,
      tool,
      toolCallId,
      ...(args !== undefined && { arguments: args }),
      source: askerAbout(kind, tool),
      question: questionAbout(kind, tool, { steps: call.steps, check: request?.check }),
      acts: kind !== "delivery",
      askedAt,
      ...(request?.deadline !== undefined && { deadline: request.deadline }),
      ...(request !== undefined && { request }),
      ...(response !== undefined && { response }),
      ...(madeVoid !== undefined && { madeVoid }),
      ...(changed !== undefined && { changed }),
      ...(response?.arguments !== undefined && { edited: response }),
    };
  }

  #changedSince({ replaces }: InquiryRequest | PermissionRequestEvent) {
    return replaces && this.#voids.get(replaces)?.changed;
  }
}

/** As the record calls them, the other way round. */
const KINDS = Object.fromEntries(
  Object.entries(ACTIONS).map(([kind, action]) => [action, kind]),
) as Readonly<Record<PermissionDecision["action"], CallDecisionKind>>; // Each action has one.
