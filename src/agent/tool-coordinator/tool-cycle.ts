/**
 * The calls of one cycle, side by side. Each goes its own way: found, checked, permitted, run, its
 * result delivered and recorded. Nothing runs before the model has finished speaking.
 *
 *   add ─► find ─► check ─► permit ─┬─► (run) ─► attempt ◄─► answer questions ─► deliver ─► record
 *                                   └─► skipped, refused ──────────────────────────────────► record
 */
import type { ToolCallRequest, ToolCallResponse } from "../../conversation/index.ts";
import { checkArguments } from "../../executor/index.ts";
import { INVALID_ARGUMENTS } from "../../provider/index.ts";
import { type JsonObject, messageOf } from "../../util/index.ts";
import { abortBy, stopCause, type StopCause } from "../stop-cause.ts";
import { timestampOf } from "../timestamp-of.ts";
import { attemptCall, type AttemptsEnd } from "./attempt-call.ts";
import { type CallResult, deliver } from "./delivery.ts";
import {
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
import type { CallableTool, TurnParts } from "./turn-parts.ts";

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
