/** Why a tool that was run by hand got no answer, for the person who ran it. */
import type { ToolSettings } from "../../../config/index.ts";
import {
  cancellationTag,
  type ConversationEvent,
  type ConversationStream,
  eventsOf,
  type InquiryRequest,
  type InquiryResponse,
} from "../../../conversation/index.ts";
import { oneLine } from "../../../render/index.ts";
import { explainMismatch, withoutOther } from "../../../tool/index.ts";
import { CodedError, type Json } from "../../../util/index.ts";

/**
 * From the record of the call: an error for the person, or nothing if all its questions were answered.
 * Of several that were asked together, the first that ended without an answer has ended the others.
 * `isDenied`: it was denied only because no one could be asked.
 */
export function explainUnanswered(
  settings: ToolSettings,
  stream: ConversationStream,
  isDenied: boolean,
): CodedError | "cancelled" | undefined {
  const events = [...eventsOf(stream.entries)];
  const response = events.find(isUnanswered);
  const request = events.find(
    (event) => event.type === "inquiry_request" && event.id === response?.id,
  );
  if (response === undefined || request?.type !== "inquiry_request") return undefined;
  if (response.reason === "user") return "cancelled";
  // Whoever runs the tool has refused the question, and says why.
  if (response.reason === "no_prompt_backend" && !isDenied) {
    const told = events.find((event) => event.type === "tool_call_response")?.content;
    return new CodedError(response.reason, told ?? "");
  }
  return explain(settings, request, response);
}

type Unanswered = Extract<InquiryResponse, { outcome: "cancelled" }>;

/** What was withdrawn is not why the call ended: it goes on, and says itself how it ends. */
function isUnanswered(event: ConversationEvent): event is Unanswered {
  if (event.type !== "inquiry_response" || event.outcome !== "cancelled") return false;
  return event.reason !== "interrupted";
}

function explain(
  settings: ToolSettings,
  { question, questionId = "" }: InquiryRequest,
  { reason }: Unanswered,
): CodedError {
  const { name } = settings;
  const tag = cancellationTag(reason);
  const text = oneLine(question.text);
  const key = `conversation.tools.${name}.questions.${questionId}.answer`;
  const answer = `--cfg '${key}${question.answerType.type === "boolean" ? ":=true" : "=…"}'`;
  const isForAssistant = settings.questions.get(questionId)?.target.type === "assistant";
  switch (tag) {
    case "invalid_static_answer": {
      const configured = settings.questions.get(questionId)?.answer?.value as Json; // From a file.
      const misfit = explainMismatch(withoutOther(question.answerType), configured) ?? "";
      return new CodedError(tag, `The configured answer does not fit: ${misfit}.`, {
        hint: `Change or remove ${key}; other values than text are written as JSON: ${key}:=true`,
      });
    }
    case "attempts_exhausted":
      return new CodedError(tag, `${name} keeps asking, although it got answers: ${text}`, {
        hint: "How often a tool may ask without a person: conversation.limits",
      });
    case "assistant_routing_denied":
      return new CodedError(tag, `${name} asks what only a person may answer: ${text}`, {
        hint: `Change or remove conversation.tools.${name}.questions.${questionId}.target.`,
      });
    default:
      return new CodedError(
        tag,
        isForAssistant
          ? `${name} asks the assistant, and here is none: ${text}`
          : `${name} asks, and nobody is there to answer: ${text}`,
        {
          hint:
            question.answerType.type === "secret"
              ? "Run it on a terminal."
              : `${isForAssistant ? "Give" : "Run it on a terminal, or give"} the answer: ${answer}`,
        },
      );
  }
}
