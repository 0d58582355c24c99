/**
 * The calls of one reply, side by side. Each is found, checked, permitted, run, delivered and recorded.
 * Nothing runs before the model has finished its reply.
 *
 *   add ─► find ─► check ─► permit ─┬─► (run) ─► attempt ◄─► answer questions ─► deliver ─► record
 *                                   └─► skipped, refused ──────────────────────────────────► record
 */
import {
  timestampFromDate,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../conversation/index.ts";
import { checkArguments, type NeedsInput } from "../executor/index.ts";
import { INVALID_ARGUMENTS } from "../provider/index.ts";
import { type JsonObject, messageOf } from "../util/index.ts";
import { type CallResult, deliver } from "./delivery.ts";
import { answerQuestions, type QuestionsResult, refuseQuestions } from "./form.ts";
import type { AskedQuestion } from "./inquiry.ts";
import { abortBy, stopCause, type StopCause } from "./interrupts.ts";
import {
  EXECUTION_CANCELLED,
  INTERRUPTED_AT_DELIVERY,
  INTERRUPTED_AT_QUESTION,
  INTERRUPTED_BEFORE_RUN,
  INTERRUPTED_WHILE_RUNNING,
  questionsTooLarge,
  ranWithEditedArguments,
  stoppedWithMessage,
  tooManyAnswers,
  toolNotEnabled,
  toolUnavailable,
  unreadableArguments,
} from "./model-texts.ts";
import { decidePermission } from "./permission.ts";
import type { CallableTool } from "./ports.ts";
import { CallBudget, GivenAnswers, type TurnContext } from "./state.ts";

/** The calls of one reply, run side by side. */
export class ToolCycle {
  readonly #context: TurnContext;
  readonly #calls: Promise<ToolCallResponse>[] = [];
  readonly #mayRun = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  #stopMessage = "";
  #isMessageDelivered = false;
  /** Aborted and replaced to restart the calls that have not finished. */
  #round = new AbortController();

  constructor(context: TurnContext) {
    this.#context = context;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Whether the message that came with a stop is the result of at least one call. */
  get isMessageDelivered(): boolean {
    return this.#isMessageDelivered;
  }

  /** Takes a recorded call. Asks for permission right away if it needs any. */
  add(request: ToolCallRequest): void {
    const call = this.#process(request);
    // The record cannot be written, so nothing may continue. `run` throws the error.
    call.catch(() => this.stop("interrupted"));
    this.#calls.push(call);
  }

  /**
   * Runs the permitted calls, and records each response as soon as its call ends. Returns the responses
   * in the order of the calls. Throws `write_failed` once every call has ended.
   */
  async run(): Promise<readonly ToolCallResponse[]> {
    this.#mayRun.resolve();
    const ends = await Promise.allSettled(this.#calls);
    return ends.map((end) => {
      if (end.status === "rejected") throw end.reason;
      return end.value;
    });
  }

  /** Stops every call that has not ended. The model sees `message` as their result. */
  stop(by: StopCause, message = ""): void {
    if (by === "user") this.#stopMessage = message;
    abortBy(by, this.#stop);
    this.#mayRun.resolve();
  }

  /** Restarts every call that is running. Finished calls keep their results. */
  restart(): void {
    const previous = this.#round;
    this.#round = new AbortController();
    abortBy("user", previous);
  }

  async #process(request: ToolCallRequest): Promise<ToolCallResponse> {
    const { content, isError } = await this.#result(request);
    // Results are recorded after the whole reply, even those of calls that were refused at once.
    await this.#mayRun.promise;
    const response: ToolCallResponse = {
      type: "tool_call_response",
      timestamp: timestampFromDate(this.#context.clock.now()),
      id: request.id,
      content,
      isError,
    };
    await this.#context.journal.record(response);
    return response;
  }

  async #result(request: ToolCallRequest): Promise<CallResult> {
    const { signal } = this.#stop;
    const tool = await this.#find(request.name);
    if ("content" in tool) return tool;
    if (request.arguments[INVALID_ARGUMENTS] !== undefined) {
      return { content: unreadableArguments(request.name), isError: true };
    }
    const checked = await checkArguments(tool.description, request.arguments);
    if (!checked.ok) return { content: checked.message, isError: true };
    const call = { request, tool, arguments: checked.arguments, signal };
    const permission = await decidePermission(this.#context, call);
    if (permission.type === "refused") return permission;
    if (permission.type === "cancelled") return this.#stoppedResult(INTERRUPTED_BEFORE_RUN, tool);
    await this.#mayRun.promise;
    const result = await this.#run(request, tool, permission.arguments);
    if (!permission.isEdited) return result;
    // Added last, so that the model learns of the edit whatever became of the result.
    return { ...result, content: ranWithEditedArguments(permission.arguments, result.content) };
  }

  async #find(name: string): Promise<CallableTool | CallResult> {
    try {
      const tool = await this.#context.tools.find(name, this.#stop.signal);
      return tool ?? { content: toolNotEnabled(name), isError: true };
    } catch (error) {
      if (this.#stop.signal.aborted) return this.#stoppedResult(INTERRUPTED_BEFORE_RUN);
      return { content: toolUnavailable(name, messageOf(error)), isError: true };
    }
  }

  async #run(request: ToolCallRequest, tool: CallableTool, args: JsonObject): Promise<CallResult> {
    const { signal } = this.#stop;
    const end = await this.#attempt(request, tool, args);
    if (end === undefined) return this.#stoppedResult(INTERRUPTED_BEFORE_RUN, tool);
    if (end.type === "result") {
      const { type: _type, ...result } = end;
      const delivered = await deliver(this.#context, { request, tool, result, signal });
      return delivered ?? this.#stoppedResult(INTERRUPTED_AT_DELIVERY, tool);
    }
    const wasAsking = end.type === "unanswered";
    if (signal.aborted) {
      const progress = wasAsking ? INTERRUPTED_AT_QUESTION : INTERRUPTED_WHILE_RUNNING;
      return this.#stoppedResult(progress, tool);
    }
    return wasAsking ? end : { content: EXECUTION_CANCELLED, isError: false };
  }

  /** Restarts as often as the user wants. Undefined if stopped before it could start. */
  async #attempt(
    request: ToolCallRequest,
    tool: CallableTool,
    args: JsonObject,
  ): Promise<AttemptsResult | undefined> {
    const { signal: stopped } = this.#stop;
    while (!stopped.aborted) {
      const signal = AbortSignal.any([stopped, this.#round.signal]);
      const end = await attemptCall(this.#context, { request, tool, arguments: args, signal });
      if (end.type === "result" || stopped.aborted || !signal.aborted) return end;
    }
    return undefined;
  }

  /** `progress` tells the model how far the call came. `tool` is absent if it was not found in time. */
  #stoppedResult(progress: string, tool?: CallableTool): CallResult {
    if (stopCause(this.#stop.signal) === "interrupted") return { content: progress, isError: true };
    this.#isMessageDelivered = true;
    const fallback = tool?.settings.cancellationResponse ?? EXECUTION_CANCELLED;
    const content = this.#stopMessage === "" ? fallback : stoppedWithMessage(this.#stopMessage);
    return { content, isError: false };
  }
}

interface PermittedCall {
  readonly request: ToolCallRequest;
  readonly tool: CallableTool;
  /** The permitted arguments, which a person may have edited. */
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
}

type AttemptsResult =
  /** The tool's own result. */
  | ({ readonly type: "result" } & CallResult)
  /** A question of the tool got no answer. */
  | ({ readonly type: "unanswered" } & CallResult)
  | { readonly type: "cancelled" };

/** Runs a tool again with each answer to its questions, until it returns a result. */
async function attemptCall(context: TurnContext, call: PermittedCall): Promise<AttemptsResult> {
  const { request, tool, signal } = call;
  const given = new GivenAnswers();
  const budget = new CallBudget(context);
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
        context.observer?.observe({ ...update, message });
      },
    });
    if (result.type === "cancelled") return result;
    if (result.type !== "needs_input") {
      const content = budget.fitResult(result.content);
      return { type: "result", content, isError: result.type === "error" };
    }
    const end = await answerAttempt(context, call, { needs: result, given, budget });
    if (end !== undefined) return end;
  }
}

interface AskingAttempt {
  readonly needs: NeedsInput;
  readonly given: GivenAnswers;
  readonly budget: CallBudget;
}

/** Undefined if the tool should run again. */
async function answerAttempt(
  context: TurnContext,
  call: PermittedCall,
  attempt: AskingAttempt,
): Promise<AttemptsResult | undefined> {
  const { needs, given, budget } = attempt;
  const { name } = call.tool.settings;
  const asked = toAskedQuestions(call, attempt);
  const exceeded = budget.countQuestions(asked.map(({ question }) => question));
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
    const { content, isError } = result;
    return { type: "unanswered", content: budget.fitResult(content), isError };
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
  { request, tool, signal }: PermittedCall,
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
