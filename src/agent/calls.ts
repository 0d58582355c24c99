/**
 * The calls of one cycle, side by side. Each goes its own way: found, checked, permitted, run, its
 * result delivered and recorded. Nothing runs before the model has finished speaking.
 *
 *   add ─► find ─► check ─► permit ─┬─► (run) ─► attempt ◄─► answer questions ─► deliver ─► record
 *                                   └─► skipped, refused ──────────────────────────────────► record
 */
import type { ToolCallRequest, ToolCallResponse } from "../conversation/index.ts";
import { checkArguments, type NeedsInput, type QuestionRefusal } from "../executor/index.ts";
import { INVALID_ARGUMENTS } from "../provider/index.ts";
import { type JsonObject, messageOf } from "../util/index.ts";
import { type CallResult, deliver } from "./delivery.ts";
import { answerQuestions, type QuestionsEnd, refuseQuestions } from "./form.ts";
import type { AskedQuestion } from "./inquiry.ts";
import { abortBy, stopCause, type StopCause } from "./interrupts.ts";
import {
  asksTooMuch,
  asksTooOften,
  cannotBeHad,
  EXECUTION_CANCELLED,
  INTERRUPTED_AT_DELIVERY,
  INTERRUPTED_AT_QUESTION,
  INTERRUPTED_BEFORE_RUN,
  INTERRUPTED_WHILE_RUNNING,
  notAvailable,
  ranEdited,
  stoppedWith,
  unreadableArguments,
} from "./model-texts.ts";
import { decidePermission } from "./permission.ts";
import { type CallableTool, timestampOf, type TurnParts } from "./ports.ts";
import { CallBudget, GivenAnswers } from "./state.ts";

/** The calls of one reply, run side by side. */
export class ToolCycle {
  readonly #parts: TurnParts;
  readonly #calls: Promise<ToolCallResponse>[] = [];
  readonly #mayRun = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  #stopMessage = "";
  #isMessageTold = false;
  /** Aborted to begin again with what has not ended; then there is a new one. */
  #round = new AbortController();

  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Whether the model hears what the person said when everything was stopped. */
  get isMessageTold(): boolean {
    return this.#isMessageTold;
  }

  /** A call that is on record. Permission is asked for at once, if any is needed. */
  add(request: ToolCallRequest): void {
    const call = this.#follow(request);
    call.catch(() => this.stop("interrupted")); // The record cannot be written: nothing must go on. `run` tells.
    this.#calls.push(call);
  }

  /**
   * Runs what may run. Each response is on record as soon as its call has ended; they are returned in
   * the order of the calls. Throws `write_failed` when everything has come to an end.
   */
  async run(): Promise<readonly ToolCallResponse[]> {
    this.#mayRun.resolve();
    const ends = await Promise.allSettled(this.#calls);
    return ends.map((end) => {
      if (end.status === "rejected") throw end.reason;
      return end.value;
    });
  }

  /** Ends every call that has not ended; `message` is what the user has to say about it. */
  stop(by: StopCause, message = ""): void {
    if (by === "user") this.#stopMessage = message;
    abortBy(by, this.#stop);
    this.#mayRun.resolve();
  }

  /** Begins again with every call that is under way. What has ended stays as it is. */
  restart(): void {
    const ended = this.#round;
    this.#round = new AbortController();
    abortBy("user", ended);
  }

  async #follow(request: ToolCallRequest): Promise<ToolCallResponse> {
    const { content, isError } = await this.#result(request);
    // Results stand behind the whole reply, also those of calls that were refused at once.
    await this.#mayRun.promise;
    const response: ToolCallResponse = {
      type: "tool_call_response",
      timestamp: timestampOf(this.#parts.clock),
      id: request.id,
      content,
      isError,
    };
    await this.#parts.journal.record(response);
    return response;
  }

  async #result(request: ToolCallRequest): Promise<CallResult> {
    const { signal } = this.#stop;
    const tool = await this.#find(request.name);
    if ("content" in tool) return tool;
    const { [INVALID_ARGUMENTS]: unreadable } = request.arguments;
    if (unreadable !== undefined)
      return { content: unreadableArguments(request.name), isError: true };
    const checked = await checkArguments(tool.description, request.arguments);
    if (!checked.ok) return { content: checked.message, isError: true };
    const asked = { request, tool, arguments: checked.arguments, signal };
    const permission = await decidePermission(this.#parts, asked);
    if (permission.type === "refused") return permission;
    if (permission.type === "cancelled") return this.#stopped(INTERRUPTED_BEFORE_RUN, tool);
    await this.#mayRun.promise;
    const result = await this.#run(request, tool, permission.arguments);
    if (!permission.isEdited) return result;
    // Added when all is decided about the result: whatever the model gets, it gets this.
    return { ...result, content: ranEdited(permission.arguments, result.content) };
  }

  async #run(request: ToolCallRequest, tool: CallableTool, args: JsonObject): Promise<CallResult> {
    const { signal } = this.#stop;
    const end = await this.#attempt(request, tool, args);
    if (end === undefined) return this.#stopped(INTERRUPTED_BEFORE_RUN, tool);
    if (end.type !== "result") return this.#withoutResult(end, tool);
    const { type: _type, ...result } = end;
    const delivered = await deliver(this.#parts, { request, tool, result, signal });
    return delivered ?? this.#stopped(INTERRUPTED_AT_DELIVERY, tool);
  }

  /** It gave nothing that could be delivered. */
  #withoutResult(end: Exclude<AttemptsEnd, { type: "result" }>, tool: CallableTool): CallResult {
    const isAsking = end.type === "unanswered";
    if (this.#stop.signal.aborted) {
      return this.#stopped(isAsking ? INTERRUPTED_AT_QUESTION : INTERRUPTED_WHILE_RUNNING, tool);
    }
    return isAsking ? end : { content: EXECUTION_CANCELLED, isError: false };
  }

  async #find(name: string): Promise<CallableTool | CallResult> {
    try {
      const tool = await this.#parts.tools.find(name, this.#stop.signal);
      return tool ?? { content: notAvailable(name), isError: true };
    } catch (error) {
      if (this.#stop.signal.aborted) return this.#stopped(INTERRUPTED_BEFORE_RUN);
      const message = messageOf(error);
      return { content: cannotBeHad(name, message), isError: true };
    }
  }

  /** Again and again, as often as a person wants; undefined if everything was stopped before that. */
  async #attempt(
    request: ToolCallRequest,
    tool: CallableTool,
    args: JsonObject,
  ): Promise<AttemptsEnd | undefined> {
    const { signal: stopped } = this.#stop;
    while (!stopped.aborted) {
      const signal = AbortSignal.any([stopped, this.#round.signal]);
      const end = await attemptCall(this.#parts, { request, tool, arguments: args, signal });
      if (end.type === "result" || stopped.aborted || !signal.aborted) return end;
    }
    return undefined;
  }

  /** `interrupted` says how far it came; `tool` is absent if it was not found in time. */
  #stopped(interrupted: string, tool?: CallableTool): CallResult {
    if (stopCause(this.#stop.signal) === "interrupted") {
      return { content: interrupted, isError: true };
    }
    this.#isMessageTold = true;
    const unsaid = tool?.settings.cancellationResponse ?? EXECUTION_CANCELLED;
    const content = this.#stopMessage === "" ? unsaid : stoppedWith(this.#stopMessage);
    return { content, isError: false };
  }
}

export interface GrantedCall {
  readonly request: ToolCallRequest;
  readonly tool: CallableTool;
  /** Those that were allowed, which need not be those that were requested. */
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
}

type AttemptsEnd =
  /** What the tool itself gave. */
  | ({ readonly type: "result" } & CallResult)
  /** It has asked, and got no answer. */
  | ({ readonly type: "unanswered" } & CallResult)
  | { readonly type: "cancelled" };

async function attemptCall(parts: TurnParts, call: GrantedCall): Promise<AttemptsEnd> {
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
