/**
 * The attempts of one call: a tool that asks runs again with each answer, until it has a result. An attempt
 * that another process has begun is taken up where the record ends.
 */
import {
  type CallProgress,
  type CancellationReason,
  cancellationTag,
  type ConversationEvent,
  type InquiryPair,
  type InquiryRequest,
  timestampFromDate,
} from "../conversation/index.ts";
import type { NeedsInput } from "../executor/index.ts";
import type { Question } from "../tool/index.ts";
import type { CallResult } from "./delivery.ts";
import { answerQuestions, type QuestionsResult, refuseQuestions } from "./form.ts";
import type { AskedQuestion } from "./asked-question.ts";
import {
  INPUT_CANCELLED,
  questionCancelled,
  questionsTooLarge,
  timedOut,
  tooManyAnswers,
} from "./model-texts.ts";
import type { PendingCall } from "./permission.ts";
import { CallBudget } from "./budget.ts";
import { GivenAnswers } from "./given-answers.ts";
import type { TurnContext } from "./context.ts";

/** A call that may run. Its arguments are the permitted ones, which a person may have edited. */
export interface PermittedCall extends PendingCall {
  /** To be recorded when it starts. */
  readonly events: readonly ConversationEvent[];
}

export type AttemptsResult =
  /** The tool's own result. */
  | ({ readonly type: "result" } & CallResult)
  /** A question of the tool got no answer. */
  | ({ readonly type: "unanswered" } & CallResult)
  | { readonly type: "pending" }
  | { readonly type: "cancelled" };

/** Runs a tool again with each answer to its questions, until it returns a result. */
export async function attemptCall(
  context: TurnContext,
  call: PermittedCall,
): Promise<AttemptsResult> {
  const { progress, tool, signal } = call;
  const token = {};
  const attempt = await resumeAttempt(context, call);
  if ("type" in attempt) return attempt;
  const { given, budget } = attempt;
  let { isStarted, state, events } = attempt;
  for (;;) {
    if (!isStarted) await recordStart(context, call, events);
    events = [];
    const result = await tool.executor.attempt({
      call: token,
      toolCallId: progress.request.id,
      arguments: call.arguments,
      ...given.toRequest(),
      ...(state !== undefined && { state }),
      signal,
      onProgress: (message) => {
        const { name } = tool.settings;
        const { id: toolCallId } = progress.request;
        const update = { type: "tool_progress" as const, toolCallId, tool: name };
        context.observer?.observe({ ...update, message });
      },
    });
    state = undefined;
    if (result.type === "cancelled") return result;
    if (result.type !== "needs_input") {
      const { content, ...blocks } = budget.fitResult(result);
      const isError = result.type === "error";
      return { type: "result", content: given.annotate(content), ...blocks, isError };
    }
    const end = await answerAttempt(context, call, { needs: result, given, budget });
    if (end !== undefined && "type" in end) return end;
    isStarted = end?.isStarted ?? false;
  }
}

/** Before a tool runs, its start is on record: a call that was never started can be run without a doubt. */
async function recordStart(
  { journal, clock }: TurnContext,
  { progress }: PermittedCall,
  events: readonly ConversationEvent[],
): Promise<void> {
  const timestamp = timestampFromDate(clock.now());
  const toolCallId = progress.request.id;
  await journal.record(...events, { type: "attempt_start", timestamp, toolCallId });
}

interface ResumedAttempt {
  readonly given: GivenAnswers;
  readonly budget: CallBudget;
  /** The start of the next attempt is on record already. */
  readonly isStarted: boolean;
  /** To be recorded with it otherwise. */
  readonly events: readonly ConversationEvent[];
  readonly state?: string;
}

/** Takes a call up where the record ends, and asks what is still open. */
async function resumeAttempt(
  context: TurnContext,
  call: PermittedCall,
): Promise<ResumedAttempt | AttemptsResult> {
  const { progress, events } = call;
  const given = new GivenAnswers();
  const budget = new CallBudget(context);
  if (progress.attempts === 0) return { given, budget, isStarted: false, events };
  const refused = progress.asked.find(({ response }) => response?.outcome === "cancelled");
  if (refused?.response?.outcome === "cancelled" && !progress.isInDoubt) {
    return cancelledResult(call, refused.response.reason);
  }
  for (const { request, response } of progress.questions) {
    const question = toQuestion(request);
    budget.restore(question, response);
    if (response?.outcome === "answered") given.restore(question, response);
  }
  const open = openQuestions(call, given, budget);
  const resumed = { given, budget, ...stateOf(progress) };
  if (open.length === 0) return { ...resumed, isStarted: false, events };
  if (events.length > 0) await context.journal.record(...events);
  const result = await answerQuestions(context, open);
  const end = takeAnswers(result, { given, budget });
  return end ?? { ...resumed, isStarted: true, events: [] };
}

/** What the last attempt asked and has no answer to, and secrets, which no record keeps. */
function openQuestions(
  call: PermittedCall,
  given: GivenAnswers,
  budget: CallBudget,
): readonly AskedQuestion[] {
  const { progress, tool, signal } = call;
  const { questions, asked, isInDoubt } = progress;
  const open = isInDoubt ? [] : asked.filter(({ response }) => response === undefined);
  const latest = new Map(questions.map((pair) => [pair.request.questionId, pair]));
  const secrets = [...latest.values()].filter(({ response }) => response?.outcome === "redacted");
  const toAsked = (pair: InquiryPair): AskedQuestion => {
    const { request, response } = pair;
    const question = toQuestion(request);
    return {
      toolCallId: progress.request.id,
      tool,
      arguments: call.arguments,
      question,
      source: request.source,
      automaticAnswers: given.automaticAnswers(question),
      budget,
      signal,
      ...(response === undefined && { recorded: pair }),
    };
  };
  return [...secrets, ...open].map(toAsked);
}

function toQuestion({ question, questionId, id }: InquiryRequest): Question {
  return { ...question, id: questionId ?? id };
}

function stateOf({ asked, isInDoubt }: CallProgress): Pick<ResumedAttempt, "state"> {
  const state = isInDoubt ? undefined : asked.find(({ request }) => request.state)?.request.state;
  return state === undefined ? {} : { state };
}

function cancelledResult({ tool }: PermittedCall, reason: CancellationReason): AttemptsResult {
  if (reason === "user") return { type: "unanswered", content: INPUT_CANCELLED, isError: false };
  const { name } = tool.settings;
  const content =
    reason === "timed_out" ? timedOut(name) : questionCancelled(name, cancellationTag(reason));
  return { type: "unanswered", content, isError: true };
}

interface AskingAttempt {
  readonly needs: NeedsInput;
  readonly given: GivenAnswers;
  readonly budget: CallBudget;
}

/** Undefined if the tool should run again, whether or not that is on record. */
async function answerAttempt(
  context: TurnContext,
  call: PermittedCall,
  attempt: AskingAttempt,
): Promise<AttemptsResult | { readonly isStarted: boolean } | undefined> {
  const { needs, budget } = attempt;
  const { name } = call.tool.settings;
  const asked = toAskedQuestions(call, attempt);
  const questions = asked.map(({ question }) => question);
  const exceeded = budget.countQuestions(questions, needs.state);
  let result: QuestionsResult;
  if (exceeded !== undefined) result = exhausted(questionsTooLarge(name, exceeded));
  else if (needs.refusal === undefined) result = await answerQuestions(context, asked);
  else result = await refuseQuestions(context, asked, needs.refusal);
  // A tool that withdraws its question reports the outcome of the call itself.
  const isWithdrawn = needs.closed?.aborted === true && !call.signal.aborted;
  if (result.type === "unanswered" && isWithdrawn && exceeded === undefined) {
    const limit = budget.countAnswer(); // Or a tool could ask and withdraw forever.
    if (limit === undefined) return undefined;
    result = exhausted(tooManyAnswers(name, limit));
  }
  if (result.type === "unanswered") {
    const isClosed = result.reason === "user" || result.reason === "interrupted";
    needs.onUnanswered?.(isClosed ? "cancelled" : "refused");
  }
  if (result.type === "pending") needs.onUnanswered?.("cancelled");
  return takeAnswers(result, attempt) ?? { isStarted: true };
}

/** Returns how the call ends if it does not go on with the answers. */
function takeAnswers(
  result: QuestionsResult,
  { given, budget }: Pick<AskingAttempt, "given" | "budget">,
): AttemptsResult | undefined {
  if (result.type === "pending") return result;
  if (result.type === "unanswered") {
    const { content, isError } = result;
    return { type: "unanswered", ...budget.fitResult({ content }), isError };
  }
  for (const { question, ...answer } of result.answers) {
    given.add(question, answer);
    budget.addAnswer(answer);
  }
  return undefined;
}

function exhausted(content: string): QuestionsResult {
  return { type: "unanswered", reason: "attempts_exhausted", content, isError: true };
}

function toAskedQuestions(
  { progress, tool, signal, arguments: args }: PermittedCall,
  { needs, given, budget }: AskingAttempt,
): readonly AskedQuestion[] {
  const { question, more = [], source, prompts, closed, state, isBound } = needs;
  return [question, ...more].map((each, index) => {
    const prompt = prompts?.get(each.id);
    return {
      toolCallId: progress.request.id,
      tool,
      arguments: args,
      question: each,
      source,
      automaticAnswers: given.automaticAnswers(each),
      budget,
      ...(prompt !== undefined && { prompt }),
      ...(state !== undefined && index === 0 && { state }),
      ...(isBound === true && { isBound }),
      ...(closed !== undefined && { withdrawn: closed }),
      signal: closed === undefined ? signal : AbortSignal.any([signal, closed]),
    };
  });
}
