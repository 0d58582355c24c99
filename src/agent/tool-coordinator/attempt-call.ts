/** A call from its first attempt to its end: it is entered again with each answer to what it asks. */
import type { ToolCallRequest } from "../../conversation/index.ts";
import type { NeedsInput, QuestionRefusal } from "../../executor/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { answerQuestions, type QuestionsEnd, refuseQuestions } from "./answer-questions.ts";
import { CallBudget } from "./call-budget.ts";
import type { CallResult } from "./delivery.ts";
import { GivenAnswers } from "./given-answers.ts";
import type { AskedQuestion } from "./inquiry.ts";
import { asksTooMuch, asksTooOften } from "./model-texts.ts";
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
  const budget = new CallBudget(parts);
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
      const content = budget.fitResult(result.content);
      return { type: "result", content, isError: result.type === "error" };
    }
    const end = await answerAttempt(parts, call, { needs: result, given, budget });
    if (end !== undefined) return end;
  }
}

interface AskingAttempt {
  readonly needs: NeedsInput;
  readonly given: GivenAnswers;
  readonly budget: CallBudget;
}

/** Undefined if the tool is to be entered again. */
async function answerAttempt(
  parts: TurnParts,
  call: GrantedCall,
  attempt: AskingAttempt,
): Promise<AttemptsEnd | undefined> {
  const { needs, given, budget } = attempt;
  const { name } = call.tool.settings;
  const asked = toAsked(call, attempt);
  const excess = budget.takeQuestions(asked.map(({ question }) => question));
  let end =
    excess === undefined
      ? await askOrRefuse(parts, asked, needs.refusal)
      : exhausted(asksTooMuch(name, excess));
  // Whoever asked wants no answer any more, and says what came of the call instead.
  const isWithdrawn = needs.closed?.aborted === true && !call.signal.aborted;
  if (end.type === "unanswered" && isWithdrawn && excess === undefined) {
    const limit = budget.takeAnswer(); // No tool may ask and withdraw for ever.
    if (limit === undefined) return undefined;
    end = exhausted(asksTooOften(name, limit));
  }
  if (end.type === "unanswered") {
    const isClosed = end.reason === "user" || end.reason === "interrupted";
    needs.onUnanswered?.(isClosed ? "cancelled" : "refused");
    const { content, isError } = end;
    return { type: "unanswered", content: budget.fitResult(content), isError };
  }
  for (const { question, ...answer } of end.answers) {
    given.add(question, answer);
    budget.addAnswer(answer);
  }
  return undefined;
}

function askOrRefuse(
  parts: TurnParts,
  asked: readonly AskedQuestion[],
  refusal: QuestionRefusal | undefined,
): Promise<QuestionsEnd> {
  return refusal === undefined
    ? answerQuestions(parts, asked)
    : refuseQuestions(parts, asked, refusal);
}

function exhausted(content: string): QuestionsEnd {
  return { type: "unanswered", reason: "attempts_exhausted", content, isError: true };
}

function toAsked(
  { request, tool, signal }: GrantedCall,
  { needs, given, budget }: AskingAttempt,
): readonly AskedQuestion[] {
  const { question, more = [], source, prompts, closed } = needs;
  return [question, ...more].map((each) => {
    const prompt = prompts?.get(each.id);
    return {
      toolCallId: request.id,
      tool,
      question: each,
      source,
      automaticAnswers: given.automaticAnswers(each),
      budget,
      ...(prompt !== undefined && { prompt }),
      signal: closed === undefined ? signal : AbortSignal.any([signal, closed]),
    };
  });
}
