/**
 * The single JSON form of a decision, pending or ended, on every surface: commands, the desk's API and events,
 * notifications and the library. A surface may omit fields, but never renames them. `surfaces/desk/decision-schema.ts`
 * defines the fields.
 */
import {
  type AnswerEvent,
  cancellationTag,
  type Decider,
  deciderOf,
  deciderToJson,
  type DecisionVote,
  type ForWhom,
  type InquiryEscalation,
  type InquiryOutcome,
  inquiryQuestionToJson,
  type LoggedInquiry,
  outcomeOf,
  type PendingItem,
  type PermissionDecision,
  whomToJson,
} from "../../record/conversation/index.ts";
import type { InquiryQuestion } from "../../record/tool/index.ts";
import type {
  DeciderJson,
  DecisionJson,
  OutcomeJson,
  QuestionJson,
  VoteJson,
} from "./decision-json-types.ts";
import { describeSource } from "./inquiry.ts";

/** A pending decision and its question. */
export interface PendingAsQuestion extends PendingItem {
  readonly question: InquiryQuestion;
}

/**
 * A recorded decision. A doubt that no one has been asked about yet has no request, and carries its own subject and
 * addressees.
 */
type RecordedDecision = LoggedInquiry & Pick<PendingItem, "digest"> & ForWhom;

type Decision = RecordedDecision | PendingAsQuestion;

/** The location of a decision. */
export interface DecisionPlace {
  /** The workspace's root, or its name in a database. */
  readonly workspace: string;
  readonly conversation: string;
  readonly title?: string | undefined;
  /** Whether a process has the conversation open. */
  readonly isLive?: boolean | undefined;
}

/** A decision's JSON, identical for pending lists and for the record. */
export function decisionToJson(
  decision: Decision,
  { workspace, conversation, title, isLive = false }: DecisionPlace,
): DecisionJson {
  const { id, kind, toolCallId, request, arguments: args, escalation } = decision;
  const { origin, folder, outside } = request ?? {};
  const tool = toolOf(decision);
  return {
    workspace,
    conversation,
    ...(title !== undefined && { title }),
    id,
    kind,
    tool,
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...askerToJson(tool, request),
    ...(origin !== undefined && { origin }),
    ...(folder !== undefined && { folder }),
    ...(outside !== undefined && { outside }),
    ...(args !== undefined && { arguments: args }),
    question: questionToJson(decision),
    acts: decision.acts,
    ...requestToJson(decision),
    ...resultToJson(request),
    ...checkToJson(decision),
    ...(escalation !== undefined && {
      escalation: { outcome: escalation.outcome, ...answerToJson(escalation) },
    }),
    ...("turn" in decision && decision.isPending !== true
      ? endToJson(decision)
      : { is_live: isLive }),
  };
}

/** The outcome of a decision that is no longer pending, as far as it is known. */
export function answeredToJson(
  answer: AnswerEvent | undefined,
  madeVoid: readonly string[] | undefined,
): Pick<DecisionJson, "outcome" | "answered_by" | "void"> {
  const by = answer && deciderOf(answer);
  return {
    ...(answer !== undefined && { outcome: outcomeOf(answer) }),
    ...(by !== undefined && { answered_by: toDeciderJson(by) }),
    ...(madeVoid !== undefined && { void: madeVoid }),
  };
}

/** The decider. Values recorded by newer versions are passed through. */
export function toDeciderJson(by: Decider): DeciderJson {
  return { kind: by.kind, ...deciderToJson(by) };
}

/** Older records of questions have no tool. */
function toolOf(decision: Decision): string {
  return "turn" in decision ? (decision.tool ?? describeSource(decision.source)) : decision.tool;
}

type Request = LoggedInquiry["request"];

function askerToJson(
  tool: string,
  request: Request,
): Pick<DecisionJson, "label" | "source" | "question_id"> {
  if (request?.type !== "inquiry_request") return { label: tool };
  const { source, questionId } = request;
  return {
    label: describeSource(source),
    source,
    ...(questionId !== undefined && { question_id: questionId }),
  };
}

/** The question as asked. The model's comment, which a person also sees, is in `escalation`. */
function questionToJson({ question, request }: Decision): QuestionJson {
  const asked = request?.type === "inquiry_request" ? request.question : question;
  return inquiryQuestionToJson(asked) as QuestionJson; // The record uses the schema's keys.
}

/** The request: its subject, addressees and time. */
function requestToJson(decision: Decision) {
  const { request, changed, deadline, votes = [] } = decision;
  const { subject, replaces, takes } = request ?? {};
  const { digest = subject?.digest } = decision;
  return {
    ...(digest !== undefined && { digest }),
    ...(replaces !== undefined && { replaces }),
    ...(changed !== undefined && { changed }),
    asked_at: decision.askedAt,
    ...(deadline !== undefined && { deadline }),
    ...whomToJson(request ?? decision),
    ...(takes !== undefined && { takes }),
    ...(votes.length > 0 && { votes: votes.map((vote) => voteToJson(vote)) }),
  };
}

function voteToJson({ by, decision, answer, note, timestamp: at }: DecisionVote): VoteJson {
  return {
    by: toDeciderJson(by),
    ...(decision !== undefined && { decision }),
    ...(answer !== undefined && { answer }),
    ...(note !== undefined && { note }),
    at,
  };
}

function resultToJson(request: Request): Pick<DecisionJson, "result"> {
  const result = request?.type === "permission_request" ? request.result : undefined;
  return result === undefined
    ? {}
    : { result: { content: result.content, is_error: result.isError } };
}

/** The tool's own check of a call in doubt. If it was checked again, the decision has the latest. */
function checkToJson(decision: Decision): Pick<DecisionJson, "check"> {
  const response = "turn" in decision ? decision.response : undefined;
  const checks = [response, decision.request].flatMap((event) =>
    event !== undefined && "check" in event && event.check !== undefined ? [event.check] : [],
  );
  const [check] = checks;
  return check === undefined ? {} : { check };
}

function endToJson({ turn, response, madeVoid }: LoggedInquiry): Partial<DecisionJson> {
  return {
    turn: turn + 1,
    ...(response === undefined ? { outcome: "unanswered" } : responseToJson(response)),
    ...(madeVoid !== undefined && { void: madeVoid.changed, void_at: madeVoid.timestamp }),
  };
}

function responseToJson(response: AnswerEvent): Partial<DecisionJson> {
  const { digest, timestamp } = response;
  return {
    outcome: outcomeOf(response),
    ...answerToJson(response),
    answered_at: timestamp,
    ...(digest !== undefined && { answered_digest: digest }),
  };
}

/** Omits the outcome. */
function answerToJson(answer: AnswerEvent | InquiryEscalation): OutcomeJson {
  const by = deciderOf(answer);
  return {
    ...(answer.type === "permission_decision" ? decidedToJson(answer) : saidToJson(answer)),
    ...(by !== undefined && { answered_by: toDeciderJson(by) }),
  };
}

/** `reason` is in the person's own words, and `cause` is a code. */
function decidedToJson(decision: PermissionDecision): OutcomeJson {
  const { reason, cause, problem, arguments: edited, result } = decision;
  return {
    ...(reason !== undefined && { reason }),
    ...(cause !== undefined && { cause }),
    ...(problem !== undefined && { problem }),
    ...(edited !== undefined && { edited_arguments: edited }),
    ...(result !== undefined && { edited_content: result.content }),
  };
}

/** Secrets are not in the record, so nothing is omitted here. */
function saidToJson(said: InquiryOutcome): OutcomeJson {
  if (said.outcome === "redacted") return {};
  if (said.outcome === "cancelled") {
    const { reason, problem } = said;
    return { reason: cancellationTag(reason), ...(problem !== undefined && { problem }) };
  }
  const { answer, isOther = false, note, answerReason } = said;
  return {
    answer,
    ...(isOther && { other: true }),
    ...(note !== undefined && { note }),
    ...(answerReason !== undefined && { answer_reason: answerReason }),
  };
}
