/**
 * The calls of one reply, side by side. Each is found, checked, permitted, run, delivered and recorded, from
 * wherever the record says that it has come to. Nothing runs before the model has finished its reply.
 *
 *   add ─► find ─► check ─► permit ─┬─► (run) ─► attempt ◄─► answer questions ─► deliver ─► record
 *                                   └─► skipped, refused ──────────────────────────────────► record
 *
 * A call whose process ends, or that waits for a person, has no response: it stays open on the record. One
 * that has a result goes straight to its delivery, and one that may have run already is permitted anew.
 */
import {
  type CallProgress,
  type ConversationEvent,
  newCall,
  readTurnProgress,
  timestampFromDate,
  type ToolCallResponse,
  type ToolResult,
} from "../conversation/index.ts";
import { checkArguments } from "../executor/index.ts";
import { INVALID_ARGUMENTS } from "../provider/index.ts";
import { type JsonObject, messageOf } from "../util/index.ts";
import {
  type CallResult,
  deliver,
  type Delivered,
  resolveDoubt,
  settingsOfMissing,
} from "./delivery.ts";
import { closeQuestions } from "./closing.ts";
import { abortBy, stopCause, type StopCause } from "./stop-cause.ts";
import {
  EXECUTION_CANCELLED,
  OUTCOME_UNKNOWN,
  ranWithEditedArguments,
  stoppedWithMessage,
  toolNotEnabled,
  toolUnavailable,
  unreadableArguments,
} from "./model-texts.ts";
import { decidePermission, type PendingCall } from "./permission.ts";
import type { CallableTool } from "./ports.ts";
import { lastTurn } from "./journal.ts";
import type { TurnContext } from "./context.ts";
import { attemptCall, type AttemptsResult } from "./attempts.ts";

/** What became of a call: a result to record, or nothing yet. */
type CallEnd = CallResult | undefined;

/** The calls of one reply, run side by side. */
export class ToolCycle {
  readonly #context: TurnContext;
  readonly #calls: Promise<ToolCallResponse | undefined>[] = [];
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
  add(progress: CallProgress): void {
    const call = this.#process(progress);
    // The record cannot be written, so nothing may continue. `run` throws the error.
    call.catch(() => this.stop("interrupted"));
    this.#calls.push(call);
  }

  /**
   * Runs the permitted calls, and records each response as soon as its call ends. Returns the responses
   * in the order of the calls; a call that stays open has none. Throws `write_failed` once every call has
   * ended.
   */
  async run(): Promise<readonly ToolCallResponse[]> {
    this.#mayRun.resolve();
    const ends = await Promise.allSettled(this.#calls);
    return ends.flatMap((end) => {
      if (end.status === "rejected") throw end.reason;
      return end.value ?? [];
    });
  }

  /**
   * Stops every call that has not ended. If the user did it, the model sees `message` as their result;
   * otherwise they stay open.
   */
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

  async #process(progress: CallProgress): Promise<ToolCallResponse | undefined> {
    const result = await this.#result(progress);
    if (result === undefined) return undefined;
    // Results are recorded after the whole reply, even those of calls that were refused at once.
    await this.#mayRun.promise;
    const { content, isError, blocks, events = [] } = result;
    const open = this.#closeLeftovers(progress);
    const response: ToolCallResponse = {
      type: "tool_call_response",
      timestamp: timestampFromDate(this.#context.clock.now()),
      id: progress.request.id,
      content,
      isError,
      ...(blocks !== undefined && { blocks }),
    };
    await this.#context.journal.record(...open, ...events, response);
    return response;
  }

  /** What an earlier process has asked for the call, and what is not asked again. */
  #closeLeftovers({ request, questions }: CallProgress): readonly ConversationEvent[] {
    if (questions.every(({ response }) => response !== undefined)) return [];
    const { journal, clock } = this.#context;
    const { calls } = readTurnProgress(lastTurn(journal));
    const call = calls.find(({ request: { id } }) => id === request.id);
    return call === undefined ? [] : closeQuestions(call, clock, stopCause(this.#stop.signal));
  }

  async #result(progress: CallProgress): Promise<CallEnd> {
    const { request, permissions, isInDoubt } = progress;
    const tool = await this.#find(request.name);
    if (tool === undefined || this.#stop.signal.aborted) {
      return this.#stoppedResult(tool !== undefined && "settings" in tool ? tool : undefined);
    }
    const finished = permissions.deliver?.request?.result;
    if (finished !== undefined) return this.#deliverFinished(progress, finished, tool);
    if ("content" in tool) return isInDoubt ? { ...tool, content: OUTCOME_UNKNOWN } : tool;
    if (request.arguments[INVALID_ARGUMENTS] !== undefined) {
      return { content: unreadableArguments(request.name), isError: true };
    }
    const { signal } = this.#stop;
    const call = { progress, tool, arguments: request.arguments, signal };
    if (isInDoubt) {
      await this.#closeBoundQuestions(progress);
      const resolved = await resolveDoubt(this.#context, call);
      if (resolved !== "rerun") return this.#settle(resolved, tool);
    }
    const checked = await checkArguments(tool.description, request.arguments);
    if (!checked.ok) return { content: checked.message, isError: true };
    return this.#permitAndRun({ ...call, arguments: checked.arguments });
  }

  /** Their connection is gone, and with it whoever waited for the answer. */
  async #closeBoundQuestions(progress: CallProgress): Promise<void> {
    const { journal, clock } = this.#context;
    const closed = closeQuestions(progress, clock, "interrupted");
    if (closed.length > 0) await journal.record(...closed);
  }

  async #permitAndRun(call: PendingCall): Promise<CallEnd> {
    const permission = await decidePermission(this.#context, call);
    if (permission.type === "refused") return permission;
    if (permission.type === "pending") return undefined;
    if (permission.type === "cancelled") return this.#stoppedResult(call.tool);
    await this.#mayRun.promise;
    const { arguments: args, isEdited, events } = permission;
    const result = await this.#run({ ...call, arguments: args }, events);
    return isEdited ? withEdit(result, args) : result;
  }

  /** Undefined if stopped before it was found. */
  async #find(name: string): Promise<CallableTool | CallEnd> {
    try {
      const tool = await this.#context.tools.find(name, this.#stop.signal);
      return tool ?? { content: toolNotEnabled(name), isError: true };
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      return { content: toolUnavailable(name, messageOf(error)), isError: true };
    }
  }

  /** The tool has run, whether or not it may now. */
  async #deliverFinished(
    progress: CallProgress,
    finished: ToolResult,
    tool: CallableTool | CallResult,
  ): Promise<CallEnd> {
    const { request, permissions } = progress;
    const found = "content" in tool ? undefined : tool;
    const settings = found?.settings ?? settingsOfMissing(request.name);
    const { request: permission, decision } = permissions.run ?? {};
    const args = decision?.arguments ?? permission?.arguments ?? request.arguments;
    const { signal } = this.#stop;
    const call = { progress, tool: { settings }, arguments: args, signal };
    const delivered = await deliver(this.#context, { ...call, result: finished });
    const result = this.#settle(delivered, found);
    return decision?.decision === "edited" ? withEdit(result, args) : result;
  }

  async #run(call: PendingCall, events: readonly ConversationEvent[]): Promise<CallEnd> {
    const { tool } = call;
    const end = await this.#attempt(call, events);
    if (end === undefined) return this.#stoppedResult(tool);
    switch (end.type) {
      case "result": {
        const { type: _, ...result } = end;
        const delivery = { ...call, result };
        return this.#settle(await deliver(this.#context, delivery), tool);
      }
      case "pending":
        return undefined;
      case "unanswered":
        return this.#stop.signal.aborted ? this.#stoppedResult(tool) : end;
      default:
        if (this.#stop.signal.aborted) return this.#stoppedResult(tool);
        return { content: EXECUTION_CANCELLED, isError: false };
    }
  }

  #settle(delivered: Delivered, tool: CallableTool | undefined): CallEnd {
    if (delivered === "stopped") return this.#stoppedResult(tool);
    return delivered === "pending" ? undefined : delivered;
  }

  /** Restarts as often as the user wants. Undefined if stopped before it could start. */
  async #attempt(
    call: PendingCall,
    events: readonly ConversationEvent[],
  ): Promise<AttemptsResult | undefined> {
    const { signal: stopped } = this.#stop;
    let attempt = { ...call, events };
    while (!stopped.aborted) {
      const signal = AbortSignal.any([stopped, this.#round.signal]);
      const end = await attemptCall(this.#context, { ...attempt, signal });
      const isOver = end.type !== "cancelled" && end.type !== "unanswered";
      if (isOver || stopped.aborted || !signal.aborted) return end;
      // Started again from the beginning, with nothing answered.
      attempt = { ...attempt, progress: newCall(call.progress.request), events: [] };
    }
    return undefined;
  }

  /** `tool` is absent if it was not found in time. */
  #stoppedResult(tool?: CallableTool): CallEnd {
    if (stopCause(this.#stop.signal) === "interrupted") return undefined;
    this.#isMessageDelivered = true;
    const fallback = tool?.settings.cancellationResponse ?? EXECUTION_CANCELLED;
    const content = this.#stopMessage === "" ? fallback : stoppedWithMessage(this.#stopMessage);
    return { content, isError: false };
  }
}

/** Added last, so that the model learns of the edit whatever became of the result. */
function withEdit(result: CallEnd, args: JsonObject): CallEnd {
  return result && { ...result, content: ranWithEditedArguments(args, result.content) };
}
