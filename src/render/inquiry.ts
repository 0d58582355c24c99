/** Inquiries in words and as JSON. Secrets are redacted in the record, so none can be shown here. */
import {
  cancellationTag,
  type ConversationId,
  deciderToJson,
  type Decider,
  type InquiryOutcome,
  inquiryQuestionToJson,
  type LoggedInquiry,
  type PermissionDecision,
} from "../conversation/index.ts";
import type { InquirySource } from "../tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { assertNever } from "../util/index.ts";
import { jsonLine, oneLine, valueLine } from "./neutralize.ts";

/** An inquiry in its conversation: one line of `jp inquiry ls`. */
export interface InquiryRow extends LoggedInquiry {
  readonly conversation: ConversationId;
}

/** The outcome, or `unanswered` if the record has none. */
export type InquiryState = InquiryOutcome["outcome"] | "unanswered";

/** How an inquiry ended, or `unanswered`. */
export function inquiryState({ response }: LoggedInquiry): InquiryState {
  return response?.outcome ?? "unanswered";
}

/** As RFD 082 prescribes: `Answer: …`, `Answer: <redacted>` or `Cancelled (<tag>)`. */
export function describeOutcome(outcome: InquiryOutcome): string {
  switch (outcome.outcome) {
    case "answered":
      return `Answer: ${valueLine(outcome.answer)}${answerDetails(outcome)}`;
    case "redacted":
      return "Answer: <redacted>";
    case "cancelled":
      return `Cancelled (${cancellationTag(outcome.reason)})`;
    default:
      return assertNever(outcome);
  }
}

type Answered = Extract<InquiryOutcome, { readonly outcome: "answered" }>;

function answerDetails({ isOther = false, note }: Answered): string {
  return `${isOther ? " (custom answer)" : ""}${note === undefined ? "" : `, note: ${jsonLine(note)}`}`;
}

/** For people: `yes (you, via terminal)`, `"next" (assistant, via ollama/qwen3)`, `cancelled (timeout)`. */
export function describeAnswer(outcome: InquiryOutcome): string {
  const { answer, by } = answerParts(outcome);
  return answer + by;
}

/** The answer, and who gave it in parentheses, if that is known. */
export function answerParts(outcome: InquiryOutcome) {
  if (outcome.outcome === "cancelled") {
    return { answer: `cancelled (${cancellationTag(outcome.reason)})`, by: "" };
  }
  const by = outcome.answeredBy === undefined ? "" : ` (${describeAnswerer(outcome.answeredBy)})`;
  if (outcome.outcome === "redacted") return { answer: "<redacted>", by };
  const value =
    typeof outcome.answer === "boolean" ? yesOrNo(outcome.answer) : valueLine(outcome.answer);
  return { answer: value + answerDetails(outcome), by };
}

function yesOrNo(answer: boolean): string {
  return answer ? "yes" : "no";
}

function describeAnswerer(decider: Decider): string {
  switch (decider.kind) {
    case "user":
      return `you, via ${decider.channel}`;
    case "assistant":
      return `assistant, via ${decider.model}`;
    case "remembered":
      return "you said so earlier in this turn";
    case "config":
    case "policy":
      return `${decider.kind}: ${decider.key}`;
    default:
      return describeDecider(decider);
  }
}

/** Who asked: the name of the tool, `assistant` or `user`. */
export function describeSource(source: InquirySource): string {
  return "name" in source ? source.name : source.source;
}

/** Who decided, and how: `user (terminal)`, `assistant (ollama/qwen3)`, `default`. */
export function describeDecider(decider: Decider): string {
  switch (decider.kind) {
    case "user":
      return `user (${decider.channel})`;
    case "assistant":
      return `assistant (${decider.model})`;
    case "config":
    case "policy":
      return `${decider.kind} (${decider.key})`;
    case "remembered":
      return `remembered (${decider.from})`;
    case "default":
      return "default";
    case "unknown":
      return typeof decider.raw["kind"] === "string" ? decider.raw["kind"] : "unknown";
    default:
      return assertNever(decider);
  }
}

/** The arguments a call ran with, and who edited them: `{"where":"test"} (edited by user (terminal))`. */
export function describeEdited({ arguments: ran, decidedBy }: PermissionDecision): string {
  return `${jsonLine(ran ?? {})} (edited by ${oneLine(describeDecider(decidedBy))})`;
}

/** One object per inquiry, with the keys of the record; unknown fields are omitted. */
export function inquiryToJson(row: InquiryRow): JsonObject {
  const { conversation, turn, request, response } = row;
  return {
    conversation,
    turn: turn + 1,
    id: request.id,
    ...(request.toolCallId !== undefined && { tool_call_id: request.toolCallId }),
    ...(request.questionId !== undefined && { question_id: request.questionId }),
    ...(row.edited?.arguments !== undefined && { edited_arguments: row.edited.arguments }),
    source: { ...request.source },
    question: inquiryQuestionToJson(request.question),
    outcome: inquiryState(row),
    ...(response !== undefined && outcomeToJson(response)),
    asked_at: request.timestamp,
    ...(response !== undefined && { answered_at: response.timestamp }),
  };
}

function outcomeToJson(outcome: InquiryOutcome): Record<string, Json> {
  if (outcome.outcome === "cancelled") return { reason: cancellationTag(outcome.reason) };
  const { answeredBy } = outcome;
  return {
    ...(outcome.outcome === "answered" && {
      answer: outcome.answer,
      ...(outcome.isOther === true && { other: true }),
      ...(outcome.note !== undefined && { note: outcome.note }),
    }),
    ...(answeredBy !== undefined && { answered_by: deciderToJson(answeredBy) }),
  };
}
