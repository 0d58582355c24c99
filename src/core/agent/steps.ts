/**
 * The steps of a call that must not run twice. Each result is recorded before the tool gets it, and every later attempt
 * of the call gets the same result, in any process. A step that was running when its process ended is not on record, so
 * the call is in doubt.
 */
import {
  type CallProgress,
  type ConversationEvent,
  timestampFromDate,
  type ToolStep,
} from "../../record/conversation/index.ts";
import type { RunStep } from "../../record/tool/index.ts";
import { JpError, type Json, MAX_JSON_DEPTH, sha256 } from "../../util/index.ts";
import type { CallBudget, LimitKey } from "./budget.ts";
import type { TurnContext } from "./context.ts";

/** How long a step may take to finish after its call was stopped. */
const STEP_GRACE_MS = 2000;

/** The steps of one call, over all its attempts in this process. Dispose of it when the call ends or waits. */
export class CallSteps implements Disposable {
  readonly #context: Pick<TurnContext, "journal" | "clock" | "state">;
  readonly #call: Pick<ToolStep, "toolCallId" | "callIndex">;
  readonly #finished = new Map<string, ToolStep>();
  /** Never reject. A step may outlive the attempt that started it. */
  readonly #running = new Map<string, Promise<void>>();
  #key: string | undefined;
  #isClosed = false;
  #writeFailure: { readonly error: unknown } | undefined;

  constructor(
    context: Pick<TurnContext, "journal" | "clock" | "state">,
    { request, callIndex, steps }: Pick<CallProgress, "request" | "callIndex" | "steps">,
  ) {
    this.#context = context;
    this.#call = { toolCallId: request.id, ...(callIndex > 0 && { callIndex }) };
    for (const step of steps)
      if (!this.#finished.has(step.name)) this.#finished.set(step.name, step);
  }

  /** Created on demand: it reads the whole record, if only its end was read so far. */
  get idempotencyKey(): string {
    const { journal, state } = this.#context;
    const { toolCallId, callIndex = 0 } = this.#call;
    this.#key ??= createKey([
      journal.conversation,
      state.turnIndex(journal),
      toolCallId,
      callIndex,
    ]);
    return this.#key;
  }

  /** Steps that finish after this are not recorded. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
  }

  /** How many bytes the finished steps have added to the record. */
  get bytes(): number {
    const sizes = [...this.#finished.values()].map(
      ({ name, result }) => bytesOf(name) + (result === undefined ? 0 : bytesOf(result)),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Starts an attempt. */
  begin(budget: CallBudget, signal: AbortSignal): AttemptSteps {
    const used = new Set<string>();
    let hasEnded = false;
    return {
      runStep: async (name, step) => {
        if (typeof name !== "string" || name === "") throw invalidName();
        if (used.has(name)) throw repeated(name);
        used.add(name);
        try {
          const isOver = () => hasEnded || signal.aborted;
          return await this.#run({ name, run: step, budget, isOver });
        } finally {
          if (!this.#finished.has(name)) used.delete(name); // It failed, and may be retried.
        }
      },
      end: async () => {
        hasEnded = true;
        await this.#settle(signal);
        if (this.#writeFailure !== undefined) throw this.#writeFailure.error;
      },
    };
  }

  async #run(step: StepToRun): Promise<Json | undefined> {
    const { name, budget, isOver } = step;
    // A restarted attempt may have left it running.
    for (let left = this.#running.get(name); left; left = this.#running.get(name)) await left;
    const finished = this.#finished.get(name);
    if (finished !== undefined) return resultOf(finished);
    if (isOver() || this.#isClosed) throw attemptEnded(name, "was not run");
    const exceeded = budget.countBytes(bytesOf(name));
    if (exceeded !== undefined) throw recordFull(name, exceeded);
    const work = this.#finish(step);
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(
      name,
      settled.finally(() => this.#running.delete(name)),
    );
    return resultOf(await work);
  }

  async #finish({ name, run, budget }: StepToRun): Promise<ToolStep> {
    const outcome = toOutcome(await run(), budget);
    if (this.#isClosed) throw attemptEnded(name, "has run, but was not recorded");
    const timestamp = timestampFromDate(this.#context.clock.now());
    const event: ToolStep = { type: "tool_step", timestamp, ...this.#call, name, ...outcome };
    await this.#record(event);
    this.#finished.set(name, event);
    return event;
  }

  /** The call must not continue if the record cannot be written, even if the tool catches the error. */
  async #record(event: ConversationEvent): Promise<void> {
    try {
      await this.#context.journal.record(event);
    } catch (error) {
      this.#writeFailure ??= { error };
      throw error;
    }
  }

  /** The result of an attempt is recorded after its steps. After an abort, they get a short grace period. */
  async #settle(signal: AbortSignal): Promise<void> {
    if (this.#running.size === 0) return;
    const settled = new AbortController();
    const abandoned = Promise.withResolvers<void>();
    const onAbort = () => {
      const wait = this.#context.clock.sleep(STEP_GRACE_MS, settled.signal);
      wait.then(abandoned.resolve, () => undefined); // Rejects once settled.
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await Promise.race([Promise.all(this.#running.values()), abandoned.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      settled.abort();
    }
  }
}

interface StepToRun {
  readonly name: string;
  readonly run: () => unknown;
  readonly budget: CallBudget;
  /** Whether new steps are refused. */
  readonly isOver: () => boolean;
}

/** An attempt's access to the steps of its call. */
export interface AttemptSteps {
  readonly runStep: RunStep;
  /** Call this when the attempt has ended: it waits for running steps. Throws `write_failed`. */
  readonly end: () => Promise<void>;
}

/** Opaque. Independent of time, so that every run of the call has the same key. */
function createKey(parts: Json): string {
  return sha256(JSON.stringify(parts)).slice(0, 32);
}

type StepOutcome = Pick<ToolStep, "result" | "failure">;

/** The step has run, so it counts as finished with any result. */
function toOutcome(value: unknown, budget: CallBudget): StepOutcome {
  if (value === undefined) return {};
  if (!isJson(value)) return { failure: "not_json" };
  // A copy, without members that are undefined: the tool may change its own.
  const result = JSON.parse(JSON.stringify(value)) as Json; // It is JSON.
  return budget.countBytes(bytesOf(result)) === undefined ? { result } : { failure: "too_large" };
}

/** Later attempts get the same value from the record, so it must survive the round trip unchanged. */
function isJson(value: unknown, levels = MAX_JSON_DEPTH): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || levels === 0) return false;
  if (Array.isArray(value)) return Array.from(value).every((item) => isJson(item, levels - 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return false;
  return Object.values(value).every((item) => item === undefined || isJson(item, levels - 1));
}

/** Throws if the step has run but has no result. */
function resultOf({ name, result, failure }: ToolStep): Json | undefined {
  if (failure === undefined) return structuredClone(result);
  const code = failure === "too_large" ? "step_too_large" : "step_not_json";
  const problem = PROBLEMS[code];
  throw new JpError(
    code,
    `The step ${JSON.stringify(name)} has run, but its result was not recorded: ${problem}. The step does not run ` +
      "again in this call.",
  );
}

const LIMIT: LimitKey = "conversation.limits.record_bytes_per_call";

const PROBLEMS = {
  step_too_large: `the call would add more to the record than ${LIMIT} allows`,
  step_not_json: "it is not JSON",
} as const;

function repeated(name: string): JpError {
  const message = `The step ${JSON.stringify(name)} was not run: this attempt has used its name before.`;
  return new JpError("step_repeated", message, { hint: "Give each step a name of its own." });
}

function invalidName(): JpError {
  return new JpError("invalid_step", "A step needs a name, which is text.");
}

function attemptEnded(name: string, what: string): JpError {
  const message = `The step ${JSON.stringify(name)} ${what}: the attempt that it belongs to has ended.`;
  return new JpError("attempt_ended", message);
}

function recordFull(name: string, limit: LimitKey): JpError {
  const message = `The step ${JSON.stringify(name)} was not run: the call has reached ${limit}.`;
  return new JpError("record_limit_reached", message);
}

function bytesOf(data: Json): number {
  return Buffer.byteLength(JSON.stringify(data));
}
