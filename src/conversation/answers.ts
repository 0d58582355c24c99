/**
 * Answers that come from elsewhere than the process that asks: whether they are still wanted, and whether they
 * fit. Read from the record alone, so that every process judges alike.
 */
import { explainMisfit } from "../tool/index.ts";
import type {
  ConversationEvent,
  Decider,
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
} from "./event.ts";
import { type Timestamp, timestampToMilliseconds } from "./timestamp.ts";
import { type PendingItem, pendingOf, readTurnProgress } from "./turn-progress.ts";

/** What answers a question, or decides about a call. */
export type AnswerEvent = InquiryResponse | PermissionDecision;

/** An answer, and what it is for. */
export interface OfferedAnswer {
  readonly event: AnswerEvent;
  /** When it was asked. A later question may have the same id: calls of some providers do. */
  readonly askedAt?: Timestamp;
}

/** Whether an answer can be used, and what for. */
export type Judgement = { readonly type: "fits"; readonly item: PendingItem } | AnswerProblem;

/** Why an answer is not used. */
export type AnswerProblem =
  /** Another answer was first. */
  | { readonly type: "taken"; readonly event: AnswerEvent }
  /** The turn does not wait for it. */
  | { readonly type: "not_pending" }
  /** Its deadline has passed. It ends as the config says when the turn is continued. */
  | { readonly type: "overdue"; readonly deadline: Timestamp }
  /** `reason` is for the person who answers, and never quotes the answer. */
  | { readonly type: "refused"; readonly reason: string };

/**
 * `turn` has the events of the turn that the record ends with. `isLive` says whether the process that runs it
 * is alive.
 */
export function judgeAnswer(
  turn: readonly ConversationEvent[],
  { event, askedAt }: OfferedAnswer,
  isLive: boolean,
): Judgement {
  if (askedAt !== undefined && !turn.some(({ timestamp }) => timestamp === askedAt)) {
    return { type: "not_pending" };
  }
  const item = pendingOf(readTurnProgress(turn), isLive).find((pending) => isFor(event, pending));
  if (item !== undefined) {
    const { deadline } = item;
    if (deadline !== undefined && isAtOrAfter(event.timestamp, deadline)) {
      return { type: "overdue", deadline };
    }
    const reason = findMisfit(item, event);
    return reason === undefined ? { type: "fits", item } : { type: "refused", reason };
  }
  const first = turn.findLast(
    (other): other is AnswerEvent => isAnswer(other) && subjectOf(other) === subjectOf(event),
  );
  return first === undefined ? { type: "not_pending" } : { type: "taken", event: first };
}

/** What has answered it. `turn` is as for `judgeAnswer`. */
export function findAnswerTo(
  turn: readonly ConversationEvent[],
  item: PendingItem,
): AnswerEvent | undefined {
  return turn.findLast((event): event is AnswerEvent => isAnswer(event) && isFor(event, item));
}

/** Whether the event answers something. */
export function isAnswer(event: ConversationEvent): event is AnswerEvent {
  return event.type === "inquiry_response" || event.type === "permission_decision";
}

/** Two answers with the same subject in one turn answer the same. */
export function subjectOf(event: AnswerEvent): string {
  return event.type === "inquiry_response"
    ? questionSubject(event.id)
    : decisionSubject(event.toolCallId, event.action);
}

/** What an answer to this question is about. */
export function questionSubject(id: string): string {
  return JSON.stringify([id]);
}

/** What a decision about this call is about. */
export function decisionSubject(toolCallId: string, action: string): string {
  return JSON.stringify([toolCallId, action]);
}

/** Undefined if it was no one in particular, as for a question that was cancelled. */
export function deciderOf(event: AnswerEvent): Decider | undefined {
  if (event.type === "permission_decision") return event.decidedBy;
  return event.outcome === "cancelled" ? undefined : event.answeredBy;
}

const ACTIONS = { permission: "run", delivery: "deliver", in_doubt: "rerun" } as const;

function isFor(event: AnswerEvent, { kind, id, toolCallId, tool }: PendingItem): boolean {
  if (event.type === "inquiry_response") return kind === "question" && id === event.id;
  if (kind === "question") return false;
  return event.action === ACTIONS[kind] && event.toolCallId === toolCallId && event.tool === tool;
}

function findMisfit({ request }: PendingItem, event: AnswerEvent): string | undefined {
  const decider = deciderOf(event);
  const isCancelled = event.type === "inquiry_response" && event.outcome === "cancelled";
  if (!isCancelled && decider?.kind !== "user") return "only a person can answer from elsewhere";
  if (event.type === "permission_decision") return explainDecision(event);
  return request?.type === "inquiry_request" ? explainResponse(request, event) : undefined;
}

function isAtOrAfter(timestamp: Timestamp, deadline: Timestamp): boolean {
  return timestampToMilliseconds(timestamp) >= timestampToMilliseconds(deadline);
}

function explainResponse(
  { question }: InquiryRequest,
  response: InquiryResponse,
): string | undefined {
  if (response.outcome === "cancelled") return undefined;
  if (response.outcome === "redacted" || question.answerType.type === "secret") {
    return "a secret can only be given to the process that runs the tool";
  }
  if (response.note !== undefined && question.allowsNote !== true) {
    return "this question takes no note";
  }
  const isForTurn = response.answeredBy?.kind === "user" && response.answeredBy.scope === "turn";
  if (isForTurn && question.persistence !== "turn") return "this answer cannot be remembered";
  return explainMisfit(question.answerType, response.answer);
}

/** Arguments are edited only where they can be checked: in the process that runs the tool. */
function explainDecision(event: PermissionDecision): string | undefined {
  const { action, decision } = event;
  if (event.arguments !== undefined || (action === "run" && decision === "edited")) {
    return "arguments cannot be edited from elsewhere";
  }
  const hasResult = event.result !== undefined;
  return hasResult === (decision === "edited") ? undefined : "only an edited result has a text";
}
