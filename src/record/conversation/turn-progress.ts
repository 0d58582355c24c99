/**
 * The progress of a turn, read from its events alone. A running turn and one that is resumed after its process has died
 * use the same reading.
 */
import type { Addressee } from "../tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { type CallDecisionKind, type DecisionKind, isActing, whomOf } from "./decision.ts";
import type {
  AttemptStart,
  ConversationEvent,
  DecisionSubject,
  DecisionVoid,
  DecisionVote,
  EventType,
  InquiryEscalation,
  InquiryId,
  InquiryRequest,
  PermissionAction,
  PermissionDecision,
  PermissionRequestEvent,
  Takes,
  Terms,
  ToolCallRequest,
  ToolStep,
} from "./event.ts";
import { deadlineOf } from "./open-question.ts";
import { type ConversationStream, endOf } from "./stream.ts";
import {
  CallReader,
  type InquiryPair,
  isInquiry,
  lastTurnOf,
  pairDecisions,
  type RecordedCall,
} from "./turns.ts";
import { type Timestamp, timestampToMilliseconds } from "./timestamp.ts";
import { isForSome } from "./whom.ts";

/** The missing parts of a turn. */
export interface TurnProgress {
  /**
   * `request`: the model has to be asked. `calls`: calls are open. `check`: its answer has to be checked
   * against the schema. `done`: nothing.
   */
  readonly next: "request" | "calls" | "check" | "done";
  /** The calls that have no response yet, in the order in which the model made them. */
  readonly calls: readonly CallProgress[];
  /** Whether the model has made a call at all. */
  readonly hasCalls: boolean;
  /** Whether the missing request carries results that the model has not seen yet. */
  readonly hasResults: boolean;
  /** Whether the last request to the model has failed, and nothing has happened since. */
  readonly hasFailed: boolean;
  /** Whether an MCP server has asked a question, and no call. */
  readonly hasServerQuestions: boolean;
}

/** The progress of a call without a response. */
export interface CallProgress {
  readonly request: ToolCallRequest;
  /** Its index among the turn's calls with the same id, counted from 0. */
  readonly callIndex: number;
  /** The latest request to a person about each action, with the decision. Neither if the decision was voided. */
  readonly permissions: Readonly<Partial<Record<PermissionAction, PermissionProgress>>>;
  /** Every question of the call, with its end, except those that were asked again because their answer was voided. */
  readonly questions: readonly InquiryPair[];
  /**
   * The questions that the next attempt needs answers to: those of the last attempt, and those whose answer was voided
   * and that have not been asked again yet. Once someone has been asked about a doubt, only those asked since.
   */
  readonly asked: readonly InquiryPair[];
  readonly attempts: number;
  /** The tool was started, but has no outcome: it may have done its work or not. */
  readonly isInDoubt: boolean;
  /**
   * It is in doubt, and runs again without asking when the turn is resumed, unless the config has changed: the tool was
   * declared safe to run twice, and permitted.
   */
  readonly isRerunUnasked: boolean;
  /** How many decisions there were on running it again, including open ones. */
  readonly doubts: number;
  /** The decision that let the last attempt run. */
  readonly permitted?: PermissionDecision;
  /** Who had to decide about it when the last attempt started. */
  readonly startedFor?: Pick<AttemptStart, "for" | "forAny" | "terms" | "personIds">;
  /** Every voided decision about the call, in order. */
  readonly voids: readonly DecisionVoid[];
  /** The votes on decisions about it, in order. */
  readonly votes: readonly DecisionVote[];
  /** The steps finished in any attempt. They are not run again. */
  readonly steps: readonly ToolStep[];
}

/** A request to a person about a call, and the decision. */
export interface PermissionProgress {
  readonly request?: PermissionRequestEvent;
  readonly decision?: PermissionDecision;
  /** Set if a decision no longer counts, and it has not been asked again yet. */
  readonly madeVoid?: DecisionVoid;
  /** The request that it was about. */
  readonly voided?: PermissionRequestEvent;
  /** A person's decision was voided, so no policy may make it now. */
  readonly isForPerson?: boolean;
}

/** A call that has not started. */
export function newCall(request: ToolCallRequest, callIndex: number): CallProgress {
  const nothing = { permissions: {}, questions: [], asked: [], voids: [], votes: [], steps: [] };
  const state = { attempts: 0, doubts: 0, isInDoubt: false, isRerunUnasked: false };
  return { request, callIndex, ...nothing, ...state };
}

/** Something that waits for a person. */
export interface PendingItem {
  readonly kind: DecisionKind;
  /** Unique among the pending items of the turn. */
  readonly id: InquiryId;
  readonly tool: string;
  readonly toolCallId: string;
  readonly askedAt: Timestamp;
  /** An answer does not count after this time. */
  readonly deadline?: Timestamp;
  /** The name of the only person who may decide. Any person may if this and `forAny` are absent. */
  readonly for?: string;
  /** People and roles, any of whom may decide. */
  readonly forAny?: readonly Addressee[];
  readonly terms?: Terms;
  /** See `DecisionSubject`. */
  readonly personIds?: Readonly<Record<string, string>>;
  readonly takes?: Takes;
  /** The call's arguments, for a doubt. */
  readonly arguments?: JsonObject;
  /** The digest of the subject, which an answer has to repeat. Absent in older records, whose answers do not count. */
  readonly digest?: string;
  /** A yes makes a tool run or change something: it needs the right to approve. */
  readonly acts: boolean;
  /** The parts that have changed since it was asked before. */
  readonly changed?: readonly string[];
  /** The votes so far, if it takes several people. */
  readonly votes?: readonly DecisionVote[];
  /** Absent for a doubt that no one has been asked about yet. */
  readonly request?: InquiryRequest | PermissionRequestEvent;
  /** Set if a model was asked first. `withEscalation` adds its reply to the question. */
  readonly escalation?: InquiryEscalation;
}

/** The state of an incomplete turn, for lists. */
export type OpenTurnState =
  /** A person has been asked, about a call of this tool. */
  | { readonly type: "waiting_for_input"; readonly tool: string }
  /** A process works on it. */
  | { readonly type: "running" }
  /** Calls, a request with their results, the first request of the turn, or a check of the answer are missing. */
  | { readonly type: "pending_calls" | "pending_follow_up" | "pending_reply" | "pending_check" };

/** Undefined if the turn is complete, or there is none. */
export function describeOpenTurn(
  turn: readonly ConversationEvent[],
  isLive: boolean,
): OpenTurnState | undefined {
  if (turn.length === 0) return undefined;
  const progress = readTurnProgress(turn);
  if (progress.next === "done") return undefined;
  // A doubt without a request has not been asked yet.
  const asked = pendingOf(progress, isLive).find(({ request }) => request !== undefined);
  if (asked !== undefined) return { type: "waiting_for_input", tool: asked.tool };
  if (isLive) return { type: "running" };
  if (progress.next === "calls") return { type: "pending_calls" };
  if (progress.next === "check") return { type: "pending_check" };
  return { type: progress.hasCalls ? "pending_follow_up" : "pending_reply" };
}

/**
 * Lists the pending items of an incomplete turn, in the order of its calls. While the process that runs the turn is
 * alive, only calls that it has asked about are in doubt, and questions of its connections can be answered. A call in
 * doubt that runs again without asking is not pending.
 */
export function pendingOf(
  { calls }: Pick<TurnProgress, "calls">,
  isLive = false,
): readonly PendingItem[] {
  return calls.flatMap((call) => {
    const { request, asked, permissions, isInDoubt } = call;
    const of = { tool: request.name, toolCallId: request.id };
    const { request: doubt, decision } = permissions.rerun ?? {};
    if (isInDoubt && decision === undefined && (!isLive || doubt !== undefined)) {
      return call.isRerunUnasked ? [] : pendingDoubt(call);
    }
    const questions = asked.flatMap((pair): PendingItem[] => {
      if (pair.response !== undefined || pair.madeVoid !== undefined) return [];
      const { request: own, escalation } = pair;
      const { id, timestamp: askedAt, subject } = own;
      const deadline = deadlineOf(pair);
      const changed = changedSince(call, own);
      return [
        {
          kind: "question",
          ...of,
          id,
          askedAt,
          request: own,
          ...(escalation !== undefined && { escalation }),
          acts: isActing(own),
          ...(subject !== undefined && { digest: subject.digest }),
          ...(deadline !== undefined && { deadline }),
          ...whomOf(own),
          ...(own.takes !== undefined && { takes: own.takes }),
          ...(changed !== undefined && { changed }),
          ...votesFor(call, id),
        },
      ];
    });
    return [
      ...pendingPermission("permission", call, permissions.run),
      ...questions,
      ...pendingPermission("delivery", call, permissions.deliver),
    ];
  });
}

/**
 * When an open turn can continue, in milliseconds since the epoch: 0 for now, or the next deadline. Undefined while all
 * of it waits for people without one.
 */
export function readyAt({ next, calls }: TurnProgress): number | undefined {
  if (next !== "calls") return 0;
  const times = calls.flatMap((call) => {
    const pending = pendingOf({ calls: [call] });
    if (pending.length === 0) return [0];
    return pending.flatMap(({ deadline }) =>
      deadline === undefined ? [] : [timestampToMilliseconds(deadline)],
    );
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Whether a call that its process left open can continue, because someone has decided meanwhile. */
export function canGoOn(call: CallProgress): boolean {
  return !call.isRerunUnasked && pendingOf({ calls: [call] }).length === 0;
}

function votesFor({ votes }: CallProgress, id: InquiryId): Pick<PendingItem, "votes"> {
  const own = votes.filter((vote) => vote.id === id);
  return own.length === 0 ? {} : { votes: own };
}

/** Undefined if it is asked for the first time. */
function changedSince(
  { voids }: Pick<CallProgress, "voids">,
  { replaces }: DecisionSubject,
): readonly string[] | undefined {
  return voids.findLast(({ id }) => id === replaces)?.changed;
}

function pendingPermission(
  kind: CallDecisionKind,
  call: CallProgress,
  { request, decision }: PermissionProgress = {},
): readonly PendingItem[] {
  if (request === undefined || decision !== undefined) return [];
  const { id, tool, toolCallId, timestamp: askedAt, subject, deadline } = request;
  const changed = changedSince(call, request);
  return [
    {
      kind,
      tool,
      toolCallId,
      id,
      askedAt,
      acts: kind !== "delivery",
      ...(subject !== undefined && { digest: subject.digest }),
      ...(deadline !== undefined && { deadline }),
      ...whomOf(request),
      ...(request.takes !== undefined && { takes: request.takes }),
      ...(changed !== undefined && { changed }),
      ...votesFor(call, id),
      request,
    },
  ];
}

/** A doubt that no one has been asked about yet is about the call as permitted. */
function pendingDoubt(call: CallProgress): readonly PendingItem[] {
  const { request, permissions, doubts, permitted, startedFor = {} } = call;
  const { run, rerun } = permissions;
  if (rerun?.request !== undefined) return pendingPermission("in_doubt", call, rerun);
  const id = permissionId(request.id, "rerun", doubts + 1); // As it would be asked.
  const { name: tool, id: toolCallId, timestamp: askedAt } = request;
  return [
    {
      kind: "in_doubt",
      tool,
      toolCallId,
      id,
      askedAt,
      acts: true,
      arguments: argumentsOf(call),
      ...(permitted?.digest !== undefined && { digest: permitted.digest }),
      // The people who had to let it run, or could have been asked, also decide whether it may run again.
      ...whomOf(run?.request ?? startedFor),
      ...votesFor(call, id),
    },
  ];
}

/** The arguments that the call runs with, as far as is known: a person may have edited the model's. */
export function argumentsOf({ request, permissions: { run } }: CallProgress): JsonObject {
  return run?.decision?.arguments ?? run?.request?.arguments ?? request.arguments;
}

/** The id of a request about a call itself. Never equal to that of a tool's question: see `questionId`. */
export function permissionId(
  toolCallId: string,
  action: PermissionAction,
  count: number,
): InquiryId {
  return `${toolCallId}:${action}:${count}` as InquiryId; // Branded where it is created.
}

/** Whether the last turn can go on. */
export function isIncomplete(stream: ConversationStream): boolean {
  const events = lastTurnOf(endOf(stream));
  return events.length > 0 && readTurnProgress(events).next !== "done";
}

/** The open calls of the last turn. */
export function openCalls(stream: ConversationStream): readonly CallProgress[] {
  return readTurnProgress(lastTurnOf(endOf(stream))).calls;
}

/** `events` must belong to one turn. */
export function readTurnProgress(events: Iterable<ConversationEvent>): TurnProgress {
  const reader = new ProgressReader();
  for (const event of events) reader.read(event);
  return reader.result();
}

/** The latest of these shows whether the last request to the model failed. */
const MODEL_STEPS: ReadonlySet<EventType> = new Set([
  "chat_request",
  "tool_call_response",
  "turn_resume",
  "reply_failure",
]);

class ProgressReader {
  readonly #reader = new CallReader();
  /** The latest of a request to the model and its response. */
  #last: "request" | "response" | undefined;
  #hasResults = false;
  #isChat = false;
  #isChecked = false;
  #hasFailed = false;
  #hasServerQuestions = false;
  #hasEnded = false;

  read(event: ConversationEvent): void {
    if (MODEL_STEPS.has(event.type)) this.#hasFailed = event.type === "reply_failure";
    this.#reader.read(event);
    switch (event.type) {
      case "tool_call_response":
        this.#last = "request";
        this.#hasResults = true;
        break;
      case "chat_request":
        this.#isChat = true;
        this.#isChecked ||= event.isChecked === true;
        this.#last = "request";
        break;
      case "chat_response":
        // Reasoning alone is not a reply.
        if (event.content.type === "reasoning") break;
        this.#last = "response";
        this.#hasResults = false;
        break;
      case "inquiry_request":
        this.#hasServerQuestions ||= event.toolCallId === undefined;
        break;
      case "turn_end":
        this.#hasEnded = true;
        break;
      default: // The others say nothing about what is missing, or belong to a call.
    }
  }

  result(): TurnProgress {
    const { calls: all } = this.#reader;
    const open = all.filter(({ response }) => response === undefined);
    const calls = open.map(toCallProgress);
    const model = {
      hasCalls: all.length > 0,
      hasResults: this.#hasResults,
      hasFailed: this.#hasFailed,
      hasServerQuestions: this.#hasServerQuestions,
    };
    if (this.#hasEnded) return { next: "done", calls: [], ...model };
    if (calls.length > 0) return { next: "calls", calls, ...model };
    // Calls that no model made need no reply.
    if (this.#isChat && this.#last === "request") return { next: "request", calls, ...model };
    return { next: this.#isChecked ? "check" : "done", calls, ...model };
  }
}

function toCallProgress({ request, callIndex, events }: RecordedCall): CallProgress {
  const questions = questionsOf(events);
  return {
    request,
    callIndex,
    questions,
    doubts: countDoubts(events),
    voids: events.filter((event) => event.type === "decision_void"),
    votes: events.filter((event) => event.type === "decision_vote"),
    steps: events.filter((event) => event.type === "tool_step"),
    ...readAttempts(events, questions),
  };
}

/** The part that depends on the last attempt. */
type AttemptProgress = Omit<
  CallProgress,
  "request" | "callIndex" | "questions" | "doubts" | "voids" | "votes" | "steps"
>;

function readAttempts(
  events: readonly ConversationEvent[],
  questions: readonly InquiryPair[],
): AttemptProgress {
  const lastAttempt = events.findLastIndex(({ type }) => type === "attempt_start");
  if (lastAttempt === -1 && hasStartedUnrecorded(events)) {
    return {
      permissions: permissionsOf(events, events),
      asked: questions,
      attempts: 1,
      isInDoubt: questions.every(({ response }) => response !== undefined),
      isRerunUnasked: false,
      ...findPermitted(events),
    };
  }
  const since = events.slice(lastAttempt + 1);
  const doubt = since.findIndex(isAboutDoubt);
  // After a decision about a doubt, jp asks for secrets again. Those are not questions of the tool.
  const isAnsweredFor = since
    .slice(0, doubt === -1 ? since.length : doubt)
    .some(
      (event) =>
        (event.type === "inquiry_request" && event.isBound !== true) ||
        (event.type === "permission_request" && event.result !== undefined),
    );
  const isRecent = ({ request: { id } }: InquiryPair) =>
    since.some(
      (event, index) => event.type === "inquiry_request" && event.id === id && index > doubt,
    );
  const permissions = permissionsOf(events, since);
  const start = events[lastAttempt];
  const attempt = start?.type === "attempt_start" ? start : undefined;
  const isIdempotent = attempt?.isIdempotent === true;
  const isInDoubt = lastAttempt !== -1 && !isAnsweredFor;
  return {
    permissions,
    asked:
      lastAttempt === -1
        ? []
        : questions.filter(
            (pair) => isRecent(pair) || (doubt === -1 && pair.madeVoid !== undefined),
          ),
    attempts: events.filter(({ type }) => type === "attempt_start").length,
    isInDoubt,
    isRerunUnasked:
      isInDoubt &&
      isIdempotent &&
      permissions.rerun === undefined &&
      wasPermitted(permissions.run?.decision),
    ...findPermitted(events.slice(0, lastAttempt + 1)),
    ...(attempt !== undefined && isForSome(attempt) && { startedFor: whomOf(attempt) }),
  };
}

function isAboutDoubt(event: ConversationEvent): boolean {
  const isAboutCall = event.type === "permission_request" || event.type === "permission_decision";
  return isAboutCall && event.action === "rerun";
}

/** A question that was asked again replaces the one whose answer was voided. */
function questionsOf(events: readonly ConversationEvent[]): readonly InquiryPair[] {
  const pairs = pairDecisions(events).filter(isInquiry);
  return pairs.filter(
    ({ madeVoid, request }, index) =>
      madeVoid === undefined ||
      !pairs.slice(index + 1).some((later) => later.request.questionId === request.questionId),
  );
}

function countDoubts(events: readonly ConversationEvent[]): number {
  const ids = events.flatMap((event) => {
    const isCall = event.type === "permission_request" || event.type === "permission_decision";
    return isCall && event.action === "rerun" && event.id !== undefined ? [event.id] : [];
  });
  return new Set(ids).size;
}

function findPermitted(events: readonly ConversationEvent[]): Pick<CallProgress, "permitted"> {
  const permitted = events.findLast(
    (event): event is PermissionDecision =>
      event.type === "permission_decision" &&
      event.action !== "deliver" &&
      event.decision !== "denied",
  );
  return permitted === undefined ? {} : { permitted };
}

/** Older versions did not record starts, and recorded a permission only once it was given. */
function hasStartedUnrecorded(events: readonly ConversationEvent[]): boolean {
  const { request, decision } = findPermission(events, "run") ?? {};
  const isPermitted = decision !== undefined && decision.decision !== "denied";
  const hasAsked = events.some(({ type }) => type === "inquiry_request");
  return hasAsked || (isPermitted && request === undefined);
}

/**
 * Whether a decision let a call run. A decision by an unknown version does not count, and no tool permits its own
 * calls: it only reports what became of them.
 */
export function wasPermitted(decision: PermissionDecision | undefined): boolean {
  if (decision === undefined || decision.decision === "denied") return false;
  const { kind } = decision.decidedBy;
  return kind !== "unknown" && kind !== "tool";
}

/** `since`: the last attempt, which a doubt is about. */
function permissionsOf(
  events: readonly ConversationEvent[],
  since: readonly ConversationEvent[],
): CallProgress["permissions"] {
  return Object.fromEntries(
    (["run", "deliver", "rerun"] as const).flatMap((action) => {
      const progress = findPermission(action === "rerun" ? since : events, action);
      return progress === undefined ? [] : [[action, progress] as const];
    }),
  );
}

/** The latest request and the decision since, unless that was voided. */
function findPermission(
  events: readonly ConversationEvent[],
  action: PermissionAction,
): PermissionProgress | undefined {
  let progress: PermissionProgress | undefined;
  for (const event of events) {
    if (event.type === "permission_request" && event.action === action) {
      progress = { request: event };
    } else if (event.type === "permission_decision" && event.action === action) {
      progress = { ...progress, decision: event };
    } else if (event.type === "decision_void" && progress !== undefined) {
      const { request, decision } = progress;
      if (event.id !== (request ?? decision)?.id) continue;
      const by = decision?.decidedBy.kind;
      const isForPerson = request?.isForPerson === true || by === "user" || by === "remembered";
      progress = {
        madeVoid: event,
        ...(request !== undefined && { voided: request }),
        ...(isForPerson && { isForPerson }),
      };
    }
  }
  return progress;
}
