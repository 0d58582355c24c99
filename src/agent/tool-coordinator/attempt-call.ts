/** A call from its first attempt to its end: it is entered again with each answer to what it asks. */
import type { ToolCallRequest } from "../../conversation/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { answerQuestion } from "./answer-question.ts";
import type { CallResult } from "./delivery.ts";
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
  /** By question id; the latest answer to each. Secrets are here, and go with the call. */
  const answers = new Map<string, Json>();
  const secretAnswers = new Set<string>();
  /** How often in a row each question was answered without a person. */
  const automatic = new Map<string, number>();
  for (;;) {
    const result = await tool.executor.attempt({
      arguments: call.arguments,
      answers: Object.fromEntries(answers),
      secretAnswers: [...secretAnswers],
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
    const { question, source } = result;
    const automaticAnswers = automatic.get(question.id) ?? 0;
    const asked = { toolCallId: request.id, tool, question, source, automaticAnswers, signal };
    const end = await answerQuestion(parts, asked);
    if (end.type === "unanswered") return end;
    answers.set(question.id, end.answer);
    if (question.answerType.type === "secret") secretAnswers.add(question.id);
    automatic.set(question.id, end.isAutomatic ? automaticAnswers + 1 : 0);
  }
}
