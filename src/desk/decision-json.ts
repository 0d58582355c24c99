/** Decisions as the API returns them: those that wait, and those on record. */
import {
  type AnswerEvent,
  cancellationTag,
  type ConversationId,
  deadlineOf,
  type Decider,
  deciderOf,
  deciderToJson,
  type InquiryEscalation,
  inquiryQuestionToJson,
  isActing,
  type PermissionDecision,
  questionAbout,
} from "../conversation/index.ts";
import { describeSource } from "../render/index.ts";
import type { PendingDecision } from "../runtime/index.ts";
import type { InquiryQuestion } from "../tool/index.ts";
import type { LoggedDecision } from "./decision-log.ts";
import type { AnsweredJson, DeciderJson, DecisionJson, OutcomeJson, QuestionJson } from "./wire.ts";

/** Something that waits. */
export function pendingToJson(
  item: PendingDecision,
  { workspace, title }: { readonly workspace: string; readonly title: string | undefined },
): DecisionJson {
  const { conversation, id, kind, tool, toolCallId, request, deadline, for: person } = item;
  const { origin, folder, digest, changed, arguments: args, isLive } = item;
  const result = request?.type === "permission_request" ? request.result : undefined;
  return {
    workspace,
    conversation,
    id,
    kind,
    tool,
    tool_call_id: toolCallId,
    ...askerToJson(tool, request),
    ...(origin !== undefined && { origin }),
    ...(folder !== undefined && { folder }),
    ...(args !== undefined && { arguments: args }),
    question: toQuestionJson(item.question),
    acts: item.acts,
    ...(digest !== undefined && { digest }),
    ...(request?.replaces !== undefined && { replaces: request.replaces }),
    ...(changed !== undefined && { changed }),
    asked_at: item.askedAt,
    ...(deadline !== undefined && { deadline }),
    ...(person !== undefined && { for: person }),
    ...(result !== undefined && {
      result: { content: result.content, is_error: result.isError },
    }),
    ...(title !== undefined && { title }),
    is_live: isLive,
  };
}

/** Something on record. */
export function loggedToJson(
  logged: LoggedDecision,
  {
    workspace,
    conversation,
  }: { readonly workspace: string; readonly conversation: ConversationId },
): DecisionJson {
  const { kind, id, tool, toolCallId, request, answer, escalation, madeVoid, changed } = logged;
  const asked = request?.type === "inquiry_request" ? request : undefined;
  const question =
    asked?.question ?? questionAbout(kind === "question" ? "permission" : kind, tool);
  const { origin, folder, subject, replaces } = request ?? {};
  const deadline = asked && deadlineOf({ request: asked, ...(escalation && { escalation }) });
  return {
    workspace,
    conversation,
    id,
    kind,
    tool,
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...askerToJson(tool, request),
    ...(origin !== undefined && { origin }),
    ...(folder !== undefined && { folder }),
    ...(logged.arguments !== undefined && { arguments: logged.arguments }),
    question: toQuestionJson(question),
    acts: asked === undefined ? kind !== "delivery" : isActing(asked),
    ...(subject !== undefined && { digest: subject.digest }),
    ...(replaces !== undefined && { replaces }),
    ...(changed !== undefined && { changed }),
    asked_at: (request ?? answer)?.timestamp ?? "",
    ...(deadline !== undefined && { deadline }),
    ...(asked?.for !== undefined && { for: asked.for }),
    turn: logged.turn + 1,
    outcome: "unanswered",
    ...(answer !== undefined && answerToJson(answer)),
    ...(madeVoid !== undefined && { void: madeVoid.changed }),
    ...(escalation !== undefined && { escalation: outcomeToJson(escalation) }),
  };
}

/** How something ended that no longer waits, as far as that is known. */
export function endToJson(
  answer: AnswerEvent | undefined,
  madeVoid: readonly string[] | undefined,
): Pick<AnsweredJson, "outcome" | "answered_by" | "void"> {
  const by = answer && deciderOf(answer);
  return {
    ...(answer !== undefined && { outcome: outcomeOf(answer) }),
    ...(by !== undefined && { answered_by: toDeciderJson(by) }),
    ...(madeVoid !== undefined && { void: madeVoid }),
  };
}

/** `answered`, `denied` and the like. */
export function outcomeOf(answer: AnswerEvent): string {
  return answer.type === "inquiry_response" ? answer.outcome : answer.decision;
}

/** Whoever has decided, as in the record. */
export function toDeciderJson(by: Decider): DeciderJson {
  return { kind: by.kind, ...deciderToJson(by) };
}

function toQuestionJson(question: InquiryQuestion): QuestionJson {
  const json = inquiryQuestionToJson(question);
  return { ...json, text: question.text, answer_type: json["answer_type"] ?? {} };
}

function askerToJson(tool: string, request: LoggedDecision["request"]) {
  if (request?.type !== "inquiry_request") return { label: tool };
  return { label: describeSource(request.source), source: request.source };
}

function answerToJson(answer: AnswerEvent): Partial<DecisionJson> {
  const { digest, timestamp } = answer;
  return {
    ...outcomeToJson(answer),
    answered_at: timestamp,
    ...(digest !== undefined && { answered_digest: digest }),
  };
}

function outcomeToJson(answer: AnswerEvent | InquiryEscalation): OutcomeJson {
  if (answer.type === "permission_decision") return decisionToJson(answer);
  const { outcome } = answer;
  if (outcome === "cancelled") {
    const { reason, problem } = answer;
    return { outcome, reason: cancellationTag(reason), ...(problem !== undefined && { problem }) };
  }
  const { answeredBy } = answer;
  return {
    outcome,
    ...(outcome === "answered" && {
      answer: answer.answer,
      ...(answer.isOther === true && { other: true }),
      ...(answer.note !== undefined && { note: answer.note }),
      ...(answer.answerReason !== undefined && { answer_reason: answer.answerReason }),
    }),
    ...(answeredBy !== undefined && { answered_by: toDeciderJson(answeredBy) }),
  };
}

function decisionToJson({ decision, decidedBy, ...event }: PermissionDecision) {
  const { reason, cause, problem, arguments: edited } = event;
  return {
    outcome: decision,
    ...(reason !== undefined && { reason }),
    ...(cause !== undefined && { cause }),
    ...(problem !== undefined && { problem }),
    ...(edited !== undefined && { edited_arguments: edited }),
    answered_by: toDeciderJson(decidedBy),
  };
}
