/** Decisions as the API returns them: those that wait, and those on record. */
import {
  type AnswerEvent,
  type ConversationId,
  type Decider,
  deciderOf,
  deciderToJson,
  type InquiryEscalation,
  inquiryQuestionToJson,
  type LoggedInquiry,
  votesToJson,
  whomToJson,
} from "../conversation/index.ts";
import { answerToJson, checkToJson, describeSource, outcomeOf } from "../render/index.ts";
import type { PendingDecision } from "../runtime/index.ts";
import type { InquiryQuestion } from "../tool/index.ts";
import type { AnsweredJson, DeciderJson, DecisionJson, OutcomeJson, QuestionJson } from "./wire.ts";

/** Something that waits. */
export function pendingToJson(
  item: PendingDecision,
  { workspace, title }: { readonly workspace: string; readonly title: string | undefined },
): DecisionJson {
  const { conversation, id, kind, tool, toolCallId, request, deadline } = item;
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
    ...whomToJson(item),
    ...votesToJson(item.votes),
    ...(result !== undefined && {
      result: { content: result.content, is_error: result.isError },
    }),
    ...checkToJson(request),
    ...(title !== undefined && { title }),
    is_live: isLive,
  };
}

/** Something on record. */
export function loggedToJson(
  logged: LoggedInquiry,
  {
    workspace,
    conversation,
    title,
  }: {
    readonly workspace: string;
    readonly conversation: ConversationId;
    readonly title: string | undefined;
  },
): DecisionJson {
  const { kind, id, source, toolCallId, request, response, escalation, madeVoid, changed } = logged;
  const { tool = describeSource(source), deadline } = logged;
  const { origin, folder, subject, replaces } = request ?? {};
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
    question: toQuestionJson(logged.question),
    acts: logged.acts,
    ...(subject !== undefined && { digest: subject.digest }),
    ...(replaces !== undefined && { replaces }),
    ...(changed !== undefined && { changed }),
    asked_at: logged.askedAt,
    ...(deadline !== undefined && { deadline }),
    ...whomToJson(request ?? {}),
    ...votesToJson(logged.votes),
    ...checkToJson(response, request),
    ...(title !== undefined && { title }),
    turn: logged.turn + 1,
    ...(logged.isPending !== true && { outcome: "unanswered" }),
    ...(response !== undefined && responseToJson(response)),
    ...(madeVoid !== undefined && { void: madeVoid.changed }),
    ...(escalation !== undefined && {
      escalation: { outcome: escalation.outcome, ...outcomeToJson(escalation) },
    }),
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

/** Whoever has decided, as in the record. */
export function toDeciderJson(by: Decider): DeciderJson {
  return { kind: by.kind, ...deciderToJson(by) };
}

function toQuestionJson(question: InquiryQuestion): QuestionJson {
  const json = inquiryQuestionToJson(question);
  return { ...json, text: question.text, answer_type: json["answer_type"] ?? {} };
}

function askerToJson(tool: string, request: LoggedInquiry["request"]) {
  if (request?.type !== "inquiry_request") return { label: tool };
  const { source, questionId } = request;
  return {
    label: describeSource(source),
    source,
    ...(questionId !== undefined && { question_id: questionId }),
  };
}

function responseToJson(response: AnswerEvent): Partial<DecisionJson> {
  const { digest, timestamp } = response;
  const edited = response.type === "permission_decision" ? response.arguments : undefined;
  return {
    outcome: outcomeOf(response),
    ...outcomeToJson(response),
    ...(edited !== undefined && { edited_arguments: edited }),
    answered_at: timestamp,
    ...(digest !== undefined && { answered_digest: digest }),
  };
}

function outcomeToJson(answer: AnswerEvent | InquiryEscalation): OutcomeJson {
  const { answered_by: _by, ...fields } = { answered_by: undefined, ...answerToJson(answer) };
  const by = deciderOf(answer);
  return { ...fields, ...(by !== undefined && { answered_by: toDeciderJson(by) }) };
}
