/**
 * Answers that come from elsewhere than the process that asks: whether they are still wanted, and whether they
 * fit. Read from the record alone, so that every process judges alike.
 */
import { explainMisfit } from "../tool/index.ts";
import { ACTIONS, type AnswerEvent, deciderOf, isPassedOn, whomOf } from "./decision.ts";
import type {
  ConversationEvent,
  Decider,
  DecisionVoid,
  DecisionVote,
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
} from "./event.ts";
import { assertNever } from "../util/index.ts";
import { type Timestamp, timestampToMilliseconds } from "./timestamp.ts";
import { type Directory, explainDecider, explainPerson, isForSigners } from "./whom.ts";
import { explainUnsigned } from "./signature.ts";
import { countVote, isForSeveral, quorumOf, votesOn } from "./votes.ts";
import { type PendingItem, pendingOf, readTurnProgress } from "./turn-progress.ts";

/**
 * A secret on its way to the tool that asked for it. Printing it, or turning it into JSON, does not show it: only
 * `reveal` does.
 */
export class SecretAnswer {
  readonly #given: { readonly answer: string; readonly note?: string };

  constructor(answer: string, note?: string) {
    this.#given = { answer, ...(note !== undefined && { note }) };
  }

  /** Only for who passes it on: it must reach no file, log or error. */
  reveal(): { readonly answer: string; readonly note?: string } {
    return this.#given;
  }

  /** As in the record. */
  toJSON(): string {
    return "(secret)";
  }
}

/** An answer, and what it is for. */
export interface OfferedAnswer {
  /** The event to record. If the answer is a secret, its outcome is `redacted`. */
  readonly event: AnswerEvent;
  /** Beside the event, in memory only. */
  readonly secret?: SecretAnswer;
  /** When it was asked. A later question may have the same id: calls of some providers do. */
  readonly askedAt?: Timestamp;
}

/** Whether an answer can be used, and what for. */
export type Judgement = Fits | AnswerProblem;

/** An answer that can be used. */
export interface Fits {
  readonly type: "fits";
  readonly item: PendingItem;
  /** Set if others have to say the same: it is recorded instead of the answer, and nothing is decided yet. */
  readonly counted?: { readonly vote: DecisionVote } & VoteCount;
}

/** How many have said the same so far, and how many have to. */
export interface VoteCount {
  readonly count: number;
  readonly quorum: number;
}

/** Why an answer is not used. */
export type AnswerProblem =
  /** Another answer was first. `counted`: this one is on record too, as that of one of several people. */
  | { readonly type: "taken"; readonly event: AnswerEvent; readonly counted?: VoteCount }
  /** The same person has said the same before, and others have to. */
  | ({ readonly type: "repeated"; readonly vote: DecisionVote } & VoteCount)
  /** The turn does not wait for it. */
  | { readonly type: "not_pending" }
  /** Something else is asked than was shown to the person who answers. */
  | { readonly type: "changed" }
  /** It waits in another folder, whose workspace has the same id. What was shown to the person may not be what is asked. */
  | { readonly type: "other_workspace"; readonly workspace: string }
  /** Its deadline has passed. It ends as the config says when the turn is continued. */
  | { readonly type: "overdue"; readonly deadline: Timestamp }
  /** `reason` is for the person who answers, and never quotes the answer. */
  | { readonly type: "refused"; readonly reason: string };

interface Judging {
  readonly directory?: Directory | undefined;
}

/**
 * `turn` has the events of the turn that the record ends with. `isLive` says whether the process that runs it
 * is alive. With a directory, only those count who may decide as far as it knows.
 */
export function judgeAnswer(
  turn: readonly ConversationEvent[],
  { event, secret, askedAt, directory }: OfferedAnswer & Judging,
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
    // A no needs no digest: nothing happens by it.
    const isUnsure = isYes(event) || event.digest !== undefined;
    if (isUnsure && event.digest !== item.digest) return { type: "changed" };
    const reason = findMisfit(item, event, secret);
    return reason === undefined ? count(item, event, directory) : { type: "refused", reason };
  }
  // It was asked again under another id, or is about to be.
  const madeVoid = turn.findLast(
    (other): other is DecisionVoid => other.type === "decision_void" && other.id === event.id,
  );
  if (madeVoid !== undefined)
    return isPassedOn(madeVoid.changed) ? tooLate(turn, madeVoid) : { type: "changed" };
  const first = turn.findLast(
    (other): other is AnswerEvent => isAnswer(other) && isSameTarget(other, event),
  );
  if (first === undefined) return { type: "not_pending" };
  return { type: "taken", event: first, ...countedBefore(turn, event) };
}

/** Set if what is offered is on record already, although it has not decided. */
function countedBefore(
  turn: readonly ConversationEvent[],
  event: AnswerEvent,
): { readonly counted?: VoteCount } {
  const votes = votesOn(turn, event.id);
  if (votes.length === 0) return {};
  const own = nameOf(deciderOf(event));
  const position = votes.findIndex(
    ({ timestamp, by }) => timestamp === event.timestamp && nameOf(by) === own,
  );
  const request = turn.find((other) => isRequest(other) && other.id === event.id);
  if (position === -1 || request === undefined || !isRequest(request)) return {};
  return { counted: { count: position + 1, quorum: quorumOf(request) } };
}

function nameOf(by: Decider | undefined): string | undefined {
  return by?.kind === "user" ? by.name : undefined;
}

function isRequest(event: ConversationEvent) {
  return event.type === "inquiry_request" || event.type === "permission_request";
}

/** By now, others are asked. */
function tooLate(turn: readonly ConversationEvent[], { id, timestamp }: DecisionVoid): Judgement {
  const request = turn
    .filter(({ type }) => type === "inquiry_request" || type === "permission_request")
    .findLast((event) => "id" in event && event.id === id);
  const deadline = request !== undefined && "deadline" in request ? request.deadline : undefined;
  return { type: "overdue", deadline: deadline ?? timestamp };
}

function count(item: PendingItem, event: AnswerEvent, directory: Directory | undefined): Judgement {
  const quorum = quorumOf(item);
  const counted = countVote(item, { ...event, id: item.id }, directory);
  switch (counted.type) {
    case "decides":
      return { type: "fits", item };
    case "counts":
      return { type: "fits", item, counted: { vote: counted.vote, count: counted.count, quorum } };
    case "repeats":
      return { type: "repeated", vote: counted.vote, count: counted.count, quorum };
    default:
      return assertNever(counted);
  }
}

/** Why the turn that waits for it does not take an answer that fits: as far as it knows, the person may not decide. */
export function explainTaken(
  item: PendingItem,
  event: AnswerEvent,
  directory?: Directory,
): string | undefined {
  return isCancelling(event)
    ? undefined
    : (explainDecider(whomOf(item), deciderOf(event), directory) ??
        (isForSigners(item) ? explainUnsigned(item, event, directory) : undefined));
}

/** Finds what has answered it. `turn` is as for `judgeAnswer`. */
export function findAnswerTo(
  turn: readonly ConversationEvent[],
  item: AnswerTarget,
): AnswerEvent | undefined {
  return turn.findLast((event): event is AnswerEvent => isAnswer(event) && isFor(event, item));
}

/** Whether the event answers something. */
export function isAnswer(event: ConversationEvent): event is AnswerEvent {
  return event.type === "inquiry_response" || event.type === "permission_decision";
}

/** Whether both answer the same. Earlier versions recorded no id with a decision about a call. */
function isSameTarget(left: AnswerEvent, right: AnswerEvent): boolean {
  if (left.id !== undefined && right.id !== undefined) return left.id === right.id;
  if (left.type === "inquiry_response" || right.type === "inquiry_response") return false;
  return left.toolCallId === right.toolCallId && left.action === right.action;
}

/** Whether something may happen because of the answer, other than that the call is given up. */
function isYes(event: AnswerEvent): boolean {
  return event.type === "permission_decision"
    ? event.decision !== "denied"
    : event.outcome !== "cancelled" && !(event.outcome === "answered" && event.answer === false);
}

/** Why a secret is refused that could only be delivered through the record. */
const SECRET_ELSEWHERE = "a secret can only be answered where the turn runs";
const NOT_REMEMBERED = "this answer cannot be remembered";
const SECRET_OF_ONE = "a secret cannot be given by several people";
const NO_NOTE = "this question takes no note";

/** What an answer is for. */
type AnswerTarget = Pick<PendingItem, "kind" | "id" | "toolCallId" | "tool">;

function isFor(event: AnswerEvent, { kind, id, toolCallId, tool }: AnswerTarget): boolean {
  if (event.type === "inquiry_response") return kind === "question" && id === event.id;
  if (kind === "question" || event.action !== ACTIONS[kind]) return false;
  // Earlier versions recorded no id.
  if (event.id !== undefined && event.id !== id) return false;
  return event.toolCallId === toolCallId && event.tool === tool;
}

function findMisfit(
  item: PendingItem,
  event: AnswerEvent,
  secret: SecretAnswer | undefined,
): string | undefined {
  const decider = deciderOf(event);
  if (!isCancelling(event)) {
    if (decider?.kind !== "user") return "only a person can answer from elsewhere";
    const stranger = explainPerson(whomOf(item), decider);
    if (stranger !== undefined) return stranger;
    const isSigned = isForSigners(item);
    const unsigned = isSigned ? explainUnsigned(item, { ...event, id: item.id }) : undefined;
    if (unsigned !== undefined) return unsigned;
    if (isForSeveral(item) && decider.scope === "turn") return NOT_REMEMBERED;
    if (isForSeveral(item) && secret !== undefined) return SECRET_OF_ONE;
  }
  if (event.type === "permission_decision") return explainDecision(event);
  const { request } = item;
  if (request?.type !== "inquiry_request") return undefined;
  return event.outcome === "redacted" || request.question.answerType.type === "secret"
    ? explainSecret(request, event, secret)
    : explainResponse(request, event);
}

/** That needs no name: whoever runs the turn can discard it anyway. */
function isCancelling(event: AnswerEvent): boolean {
  return event.type === "permission_decision"
    ? event.decision === "denied" && event.cause === "closed" && event.decidedBy.kind === "user"
    : event.outcome === "cancelled";
}

function isAtOrAfter(timestamp: Timestamp, deadline: Timestamp): boolean {
  return timestampToMilliseconds(timestamp) >= timestampToMilliseconds(deadline);
}

function explainResponse(
  { question }: InquiryRequest,
  response: InquiryResponse,
): string | undefined {
  if (response.outcome !== "answered") return undefined;
  if (response.note !== undefined && question.allowsNote !== true) {
    return NO_NOTE;
  }
  if (isForTurn(response) && question.persistence !== "turn") return NOT_REMEMBERED;
  return explainMisfit(question.answerType, response.answer);
}

function isForTurn({ answeredBy }: { readonly answeredBy?: Decider }): boolean {
  return answeredBy?.kind === "user" && answeredBy.scope === "turn";
}

/** Neither a record nor a file may bring a secret, so whoever judges it must have it in memory. */
function explainSecret(
  { question }: InquiryRequest,
  response: InquiryResponse,
  secret: SecretAnswer | undefined,
): string | undefined {
  if (response.outcome === "cancelled") return undefined;
  if (question.answerType.type !== "secret") return "this question does not ask for a secret";
  if (response.outcome !== "redacted" || secret === undefined) return SECRET_ELSEWHERE;
  if (isForTurn(response)) return NOT_REMEMBERED;
  const { answer, note } = secret.reveal();
  if (note !== undefined && question.allowsNote !== true) return NO_NOTE;
  return explainMisfit(question.answerType, answer);
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
