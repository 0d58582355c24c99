/** Questions and what became of them, in words and as JSON. Secrets are never here to be shown. */
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

/** `unanswered` is no outcome of the record: it means that there is none. */
export type InquiryState = InquiryOutcome["outcome"] | "unanswered";

/** How it ended, or that it did not. */
export function inquiryState({ response }: LoggedInquiry): InquiryState {
  return response?.outcome ?? "unanswered";
}

/** The reader rules of RFD 082: `Answer: …`, `Answer: <redacted>` or `Cancelled (<tag>)`. */
export function describeOutcome(outcome: InquiryOutcome): string {
  switch (outcome.outcome) {
    case "answered": {
      const own = outcome.isOther === true ? " (in own words)" : "";
      const note = outcome.note === undefined ? "" : `, note: ${jsonLine(outcome.note)}`;
      return `Answer: ${valueLine(outcome.answer)}${own}${note}`;
    }
    case "redacted":
      return "Answer: <redacted>";
    case "cancelled":
      return `Cancelled (${cancellationTag(outcome.reason)})`;
    default:
      return assertNever(outcome);
  }
}

/** Who asked: the name of the tool, `assistant` or `user`. */
export function describeSource(source: InquirySource): string {
  return "name" in source ? source.name : source.source;
}

/** Who decided, and through what: `user (terminal)`, `assistant (ollama/qwen3)`, `default`. */
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

/** What a call ran with, and who had changed it: `{"where":"test"} (edited by user (terminal))`. */
export function describeEdited({ arguments: ran, decidedBy }: PermissionDecision): string {
  return `${jsonLine(ran ?? {})} (edited by ${oneLine(describeDecider(decidedBy))})`;
}

/** One object per inquiry, its keys as in the record; what is not known is left out. */
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
