/** A call from its first attempt to its end: it is entered again with each answer to what it asks. */
import type { ToolCallRequest } from "../../conversation/index.ts";
import type { NeedsInput } from "../../executor/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { answerQuestions, refuseQuestions } from "./answer-questions.ts";
import type { CallResult } from "./delivery.ts";
import { GivenAnswers } from "./given-answers.ts";
import type { AskedQuestion } from "./inquiry.ts";
import type { CallableTool, TurnParts } from "./turn-parts.ts";

export interface GrantedCall {
  readonly request: ToolCallRequest;
  readonly tool: CallableTool;
  /** Those that were allowed, which need not be those that were requested. */
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
}

export type AttemptsEnd =
  /** What the tool itself gave. */
  | ({ readonly type: "result" } & CallResult)
  /** It has asked, and got no answer. */
  | ({ readonly type: "unanswered" } & CallResult)
  | { readonly type: "cancelled" };

export async function attemptCall(parts: TurnParts, call: GrantedCall): Promise<AttemptsEnd> {
  const { request, tool, signal } = call;
  const given = new GivenAnswers();
  const token = {};
  for (;;) {
    const result = await tool.executor.attempt({
      call: token,
      arguments: call.arguments,
      ...given.toRequest(),
      signal,
      onProgress: (message) => {
        const { name } = tool.settings;
        const update = { type: "tool_call_delta" as const, toolCallId: request.id, tool: name };
        parts.observer?.observe({ ...update, message });
      },
    });
    if (result.type === "cancelled") return result;
    if (result.type !== "needs_input") {
      return { type: "result", content: result.content, isError: result.type === "error" };
    }
    const { refusal, closed, onUnanswered } = result;
    const asked = toAsked(call, result, given);
    const end =
      refusal === undefined
        ? await answerQuestions(parts, asked)
        : await refuseQuestions(parts, asked, refusal);
    // Whoever asked wants no answer any more, and says what came of the call instead.
    if (end.type === "unanswered" && closed?.aborted === true && !signal.aborted) continue;
    if (end.type === "unanswered") {
      const isClosed = end.reason === "user" || end.reason === "interrupted";
      onUnanswered?.(isClosed ? "cancelled" : "refused");
      return { type: "unanswered", content: end.content, isError: end.isError };
    }
    for (const { question, ...answer } of end.answers) given.add(question, answer);
  }
}

function toAsked(
  { request, tool, signal }: GrantedCall,
  { question, more = [], source, prompts, closed }: NeedsInput,
  given: GivenAnswers,
): readonly AskedQuestion[] {
  return [question, ...more].map((each) => {
    const prompt = prompts?.get(each.id);
    return {
      toolCallId: request.id,
      tool,
      question: each,
      source,
      automaticAnswers: given.automaticAnswers(each),
      ...(prompt !== undefined && { prompt }),
      signal: closed === undefined ? signal : AbortSignal.any([signal, closed]),
    };
  });
}
