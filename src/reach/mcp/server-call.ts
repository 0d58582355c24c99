/**
 * One call of a tool, from the request to its result, with all questions of the server in between. It
 * owns the time limit, which pauses while an answer is awaited. Who answers is decided elsewhere.
 *
 *   next ─► result
 *    ▲  └─► asks ─► answer ─┐     2025: the same request continues
 *    └──────────────────────┘     2026: it is sent again, with the answers, perhaps by another process
 */
import {
  abortable,
  assertNever,
  type Clock,
  type JsonObject,
  MAX_TIMER_MS,
} from "../../util/index.ts";
import type { Caller, InputRequest, InputResponse, ServerQuestion } from "./pending-calls.ts";
import type { CallResult } from "./port.ts";

/** One `tools/call` request. A call may need several. */
export interface OutgoingRequest extends Caller {
  /** Pauses the time limit while a question is open that the call may have asked. Returns a function that resumes it. */
  readonly pause: () => () => void;
  /** Sent along: the answers so far, in the 2026 protocol. */
  readonly retry: JsonObject;
  /** Called right before it is sent. */
  readonly onSend: () => void;
  readonly onProgress?: (message: string) => void;
}

export type RequestEnd =
  | CallResult
  /** Send it again, with the answers if anything was asked. */
  | {
      readonly type: "input_required";
      readonly requests: readonly InputRequest[];
      readonly state?: string;
    }
  /** It failed, but may succeed after the user has visited these URLs. */
  | { readonly type: "url_required"; readonly requests: readonly InputRequest[] };

/** The next step of a call: its result, or a question. */
export type CallStep = CallResult | Asks;

/** The server asks something before it continues. */
export interface Asks {
  readonly type: "asks";
  readonly requests: readonly InputRequest[];
  /** The request has failed, and is sent again after the user has done what it requires. */
  readonly isPrerequisite: boolean;
  /** The state that the server wants back with the answers. */
  readonly requestState?: string;
  /** Aborted when the server withdraws the question. Set if it waits for the answer on its connection. */
  readonly closed?: AbortSignal;
}

export interface StepOptions {
  /** Abort cancels the call, even while an answer is awaited. */
  readonly signal: AbortSignal;
  readonly onProgress?: (message: string) => void;
}

export interface ServerCallOptions {
  /** Such as `The MCP server "x" did not run "y"`, without its full stop. */
  readonly failure: string;
  /** No limit if absent or zero. */
  readonly timeoutMs?: number;
  /** The config key of the limit. */
  readonly limitKey: string;
  readonly clock: Clock;
  /** Failures are results for the model; throws only the signal's reason. */
  readonly send: (request: OutgoingRequest) => Promise<RequestEnd>;
  /** Called for a question that arrived after the end of the call. It was cancelled. */
  readonly onUnscoped: (request: InputRequest) => void;
}

interface Pending {
  readonly requests: readonly InputRequest[];
  readonly settle: (responses: ReadonlyMap<string, InputResponse>) => void;
}

const CANCELLED: InputResponse = { action: "cancel" };

/** How often in a row, and how soon, a server may request a retry without a question. */
const MAX_RETRIES = 10;
const RETRY_MS = 250;

/** One call of a tool, from question to question, to its result. */
export class ServerCall {
  readonly #options: ServerCallOptions;
  readonly #control = new AbortController();
  readonly #limit: TimeLimit;
  readonly #progress: ProgressLimit;
  /** Questions of a 2025 server that have not been passed on yet. */
  readonly #arrived: ServerQuestion[] = [];
  #arrival = Promise.withResolvers<undefined>();
  #request: Promise<RequestEnd> | undefined;
  #isSent = false;
  /** A step is being waited for. */
  #isWaiting = false;
  /** How many questions are open that other calls may have asked as well. */
  #pauses = 0;
  #retry: JsonObject = {};
  #pending: Pending | undefined;
  #onProgress: ((message: string) => void) | undefined;
  #unfollow: () => void = () => undefined;
  #isCancelled = false;
  #failure: CallResult | undefined;

  constructor(options: ServerCallOptions) {
    const { failure, limitKey, clock, timeoutMs = 0 } = options;
    this.#options = options;
    const limit = timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs;
    this.#limit = new TimeLimit(clock, limit, () => {
      const seconds = timeoutMs / 1000;
      this.#fail(`${failure} within ${seconds} s. It was cancelled. The limit is ${limitKey}.`);
    });
    this.#progress = new ProgressLimit(clock);
  }

  /** Waits for a result or a question of the server. Throws only the signal's reason. */
  async next({ signal, onProgress }: StepOptions): Promise<CallStep> {
    this.#onProgress = onProgress;
    this.#follow(signal);
    signal.throwIfAborted();
    this.answer(new Map()); // A withdrawn question gets no answer.
    this.#isWaiting = true;
    this.#startLimit();
    try {
      const step = await abortable(this.#step(), signal);
      if (step.type !== "asks") this.#unfollow();
      return step;
    } catch (error) {
      if (this.#failure !== undefined) return this.#failure;
      throw error;
    } finally {
      this.#isWaiting = false;
      this.#limit.stop();
    }
  }

  #startLimit(): void {
    if (this.#isSent && this.#isWaiting && this.#pauses === 0) this.#limit.start();
  }

  #pause(): () => void {
    this.#pauses += 1;
    this.#limit.stop();
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      this.#pauses -= 1;
      this.#startLimit();
    };
  }

  /** Continues a call that another process has left at this question. */
  restore({ requests, isPrerequisite, requestState }: Asks): void {
    if (isPrerequisite) this.#askToVisit(requests);
    else this.#askForInput(requests, requestState);
  }

  /** Answers all pending requests, by key. The answers are sent with the next step. */
  answer(responses: ReadonlyMap<string, InputResponse>): void {
    this.#pending?.settle(responses);
    this.#pending = undefined;
  }

  /** Cancels the call. An open question is cancelled first. */
  cancel(): void {
    this.#isCancelled = true;
    this.#unfollow();
    this.#cancelQuestions();
    const abort = () => this.#control.abort(new Error("the call was cancelled"));
    // Send the response first: a server may ignore responses to a cancelled call.
    if (this.#isSent) setImmediate(abort);
    else abort();
  }

  async #step(): Promise<CallStep> {
    for (let retries = 0; retries < MAX_RETRIES; retries += 1) {
      this.#request ??= this.#send();
      const end = await Promise.race([this.#request, this.#arrival.promise]);
      if (end === undefined) {
        const asks = this.#passOnQuestion();
        if (asks === undefined) continue;
        return asks;
      }
      this.#request = undefined;
      this.#isSent = false;
      switch (end.type) {
        case "success":
        case "error":
          this.#cancelQuestions();
          return end;
        case "url_required":
          return this.#askToVisit(end.requests);
        case "input_required":
          this.#retry = toRetry(end.state);
          if (end.requests.length > 0) return this.#askForInput(end.requests, end.state);
          await this.#options.clock.sleep(RETRY_MS, this.#control.signal);
          break;
        default:
          return assertNever(end);
      }
    }
    return this.#fail(`${this.#options.failure}: it keeps asking to be called again.`);
  }

  #send(): Promise<RequestEnd> {
    const request = this.#options.send({
      retry: this.#retry,
      signal: this.#control.signal,
      onSend: () => {
        this.#isSent = true;
        this.#startLimit();
      },
      pause: () => this.#pause(),
      onQuestion: (question) => {
        this.#arrived.push(question);
        question.withdrawn.addEventListener("abort", () => this.#drop(question), { once: true });
        if (this.#isCancelled) this.#cancelQuestions();
        else this.#arrival.resolve(undefined);
      },
      ...(this.#onProgress !== undefined && {
        onProgress: (message: string) => {
          if (this.#progress.allows()) this.#onProgress?.(message);
        },
      }),
    });
    request.catch(() => undefined); // It may no longer be awaited.
    return request;
  }

  #drop(question: ServerQuestion): void {
    const index = this.#arrived.indexOf(question);
    if (index !== -1) this.#arrived.splice(index, 1);
  }

  /** Passes on a question of a 2025 server while its request continues; undefined if it was withdrawn. */
  #passOnQuestion(): CallStep | undefined {
    const question = this.#arrived.shift();
    if (this.#arrived.length === 0) this.#arrival = Promise.withResolvers();
    if (question === undefined || question.withdrawn.aborted) return undefined;
    const { key, method, params, withdrawn, respond } = question;
    const ended = new AbortController();
    const close = () => ended.abort();
    void this.#request?.then(close, close);
    const asks: Asks = {
      type: "asks",
      requests: [{ key, method, params }],
      isPrerequisite: false,
      closed: AbortSignal.any([ended.signal, withdrawn]),
    };
    return this.#ask(asks, (responses) => respond(responses.get(key) ?? CANCELLED));
  }

  #askForInput(requests: readonly InputRequest[], requestState: string | undefined): CallStep {
    const retry = toRetry(requestState);
    return this.#ask({ type: "asks", requests, isPrerequisite: false, ...retry }, (responses) => {
      const inputResponses = Object.fromEntries(responses) as JsonObject; // JSON.
      this.#retry = { ...retry, inputResponses };
    });
  }

  #askToVisit(requests: readonly InputRequest[]): CallStep {
    return this.#ask({ type: "asks", requests, isPrerequisite: true }, (responses) => {
      const actions = requests.map(({ key }) => actionOf(responses.get(key)));
      if (actions.every((action) => action === "accept")) return;
      const problem = actions.includes("decline")
        ? "the user declined to visit the URL it requires"
        : "the URL it requires was not visited";
      const content = `${this.#options.failure}: ${problem}.`;
      this.#request = Promise.resolve({ type: "error", content });
    });
  }

  #ask(asks: Asks, settle: Pending["settle"]): CallStep {
    this.#pending = { requests: asks.requests, settle };
    return asks;
  }

  #fail(content: string): CallResult {
    this.#failure = { type: "error", content };
    this.#isCancelled = true;
    this.#cancelQuestions();
    this.#control.abort(new Error("the call was ended"));
    return this.#failure;
  }

  #cancelQuestions(): void {
    const { requests = [] } = this.#pending ?? {};
    this.answer(new Map(requests.map(({ key }) => [key, CANCELLED])));
    for (const question of this.#arrived.splice(0)) {
      question.respond(CANCELLED);
      this.#options.onUnscoped(question);
    }
  }

  #follow(signal: AbortSignal): void {
    this.#unfollow();
    const onAbort = () => this.cancel();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#unfollow = () => signal.removeEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  }
}

function toRetry(requestState: string | undefined) {
  return requestState === undefined ? {} : { requestState };
}

function actionOf(response: InputResponse | undefined) {
  return response !== undefined && "action" in response ? response.action : undefined;
}

/** A time limit that can be paused. */
class TimeLimit {
  readonly #clock: Clock;
  readonly #onExceeded: () => void;
  #leftMs: number;
  #running: { readonly since: number; readonly stop: AbortController } | undefined;

  /** Pass infinity for no limit. */
  constructor(clock: Clock, milliseconds: number, onExceeded: () => void) {
    this.#clock = clock;
    this.#leftMs = milliseconds;
    this.#onExceeded = onExceeded;
  }

  start(): void {
    if (this.#running !== undefined || this.#leftMs === Number.POSITIVE_INFINITY) return;
    const stop = new AbortController();
    this.#running = { since: this.#clock.now().getTime(), stop };
    const wait = Math.min(Math.max(0, this.#leftMs), MAX_TIMER_MS);
    this.#clock.sleep(wait, stop.signal).then(this.#onExceeded, () => undefined);
  }

  stop(): void {
    if (this.#running === undefined) return;
    this.#leftMs -= this.#clock.now().getTime() - this.#running.since;
    this.#running.stop.abort();
    this.#running = undefined;
  }
}

const MAX_PROGRESS_BURST = 20;
const PROGRESS_INTERVAL_MS = 100;

/** Lets a burst of progress messages through, and after that one per interval. */
class ProgressLimit {
  readonly #clock: Clock;
  /** All intervals up to this time are used. */
  #usedUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  allows(): boolean {
    const now = this.#clock.now().getTime();
    const usedUntil = Math.max(now, this.#usedUntil) + PROGRESS_INTERVAL_MS;
    if (usedUntil - now > MAX_PROGRESS_BURST * PROGRESS_INTERVAL_MS) return false;
    this.#usedUntil = usedUntil;
    return true;
  }
}
