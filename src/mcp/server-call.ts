/**
 * One call of a tool, from the request to its result, with all that the server asks in between. It
 * owns the time limit, which stands still while an answer is awaited; who answers is not its affair.
 *
 *   next ─► result
 *    ▲  └─► asks ─► answer ─┐     2025: the same request goes on
 *    └──────────────────────┘     2026: it is sent again, with the answers
 */
import { abortable, assertNever, type Clock, type JsonObject } from "../util/index.ts";
import type { CallResult } from "./call-result.ts";
import type { Caller, ServerQuestion } from "./calls-under-way.ts";
import type { InputRequest, InputResponse, Refusal } from "./input-request.ts";
import { ProgressLimit } from "./progress-limit.ts";
import { TimeLimit } from "./time-limit.ts";

/** One request to the server. */
export interface Leg extends Caller {
  /** Goes with the request: what was answered so far, in the protocol of 2026. */
  readonly retry: JsonObject;
  /** Called when it is about to be sent: nothing is waited for any more but the server. */
  readonly onBegin: () => void;
  readonly onProgress?: (message: string) => void;
}

export type LegEnd =
  | CallResult
  /** It is to be sent again, with the answers if there is anything to answer. */
  | {
      readonly type: "input_required";
      readonly requests: readonly InputRequest[];
      readonly state?: string;
    }
  /** It failed, and may work once the person has been at these addresses. */
  | { readonly type: "visit_required"; readonly requests: readonly InputRequest[] };

/** How far a call has come: to its end, or to a question. */
export type CallStep = CallResult | Asks;

/** The server asks before it goes on. */
export interface Asks {
  readonly type: "asks";
  readonly requests: readonly InputRequest[];
  /** The call has failed; what is asked for has to be done before it is made again. */
  readonly isPrerequisite: boolean;
  /** Aborted when the server does not want to know any more. */
  readonly closed?: AbortSignal;
}

export interface StepOptions {
  /** Abort cancels the call, also while an answer is awaited. */
  readonly signal: AbortSignal;
  readonly onProgress?: (message: string) => void;
}

export interface ServerCallOptions {
  /** As in `The MCP server "x" did not run "y"`, without its end. */
  readonly failure: string;
  readonly timeoutMs?: number;
  /** Where the person can change it. */
  readonly limitKey: string;
  readonly clock: Clock;
  /** Whatever goes wrong is an error for the model; throws only the signal's reason. */
  readonly send: (leg: Leg) => Promise<LegEnd>;
  /** Called for a question that nobody is asked, because the call is over. It was refused. */
  readonly onStray: (request: InputRequest) => void;
}

interface Pending {
  readonly requests: readonly InputRequest[];
  readonly settle: (responses: ReadonlyMap<string, InputResponse>) => void;
}

/** How often in a row, and how soon, a server may say "again" without asking anything. */
const MOST_REPEATS = 10;
const REPEAT_MS = 250;

/** One call of a tool, from question to question, to its end. */
export class ServerCall {
  readonly #options: ServerCallOptions;
  readonly #control = new AbortController();
  readonly #limit: TimeLimit;
  readonly #progress: ProgressLimit;
  /** Asked by a server of 2025, and not shown to anybody yet. */
  readonly #arrived: ServerQuestion[] = [];
  #arrival = Promise.withResolvers<undefined>();
  #leg: Promise<LegEnd> | undefined;
  #isWithServer = false;
  #retry: JsonObject = {};
  #pending: Pending | undefined;
  #onProgress: ((message: string) => void) | undefined;
  #unfollow: () => void = () => undefined;
  #isCancelled = false;
  #ending: CallResult | undefined;

  constructor(options: ServerCallOptions) {
    const { failure, limitKey, clock, timeoutMs = 0 } = options;
    this.#options = options;
    const limit = timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs;
    this.#limit = new TimeLimit(clock, limit, () => {
      const seconds = timeoutMs / 1000;
      this.#end(`${failure} within ${seconds} s. It was cancelled. The limit is ${limitKey}.`);
    });
    this.#progress = new ProgressLimit(clock);
  }

  /** Waits until the server has a result, or asks. Throws nothing but the signal's reason. */
  async next({ signal, onProgress }: StepOptions): Promise<CallStep> {
    this.#onProgress = onProgress;
    this.#follow(signal);
    signal.throwIfAborted();
    this.answer(new Map()); // What was withdrawn gets none.
    if (this.#isWithServer) this.#limit.start();
    try {
      const step = await abortable(this.#step(), signal);
      if (step.type !== "asks") this.#unfollow();
      return step;
    } catch (error) {
      if (this.#ending !== undefined) return this.#ending;
      throw error;
    } finally {
      this.#limit.stop();
    }
  }

  /** To all that was asked last, by key. It is sent with the next step. */
  answer(responses: ReadonlyMap<string, InputResponse>): void {
    this.#pending?.settle(responses);
    this.#pending = undefined;
  }

  /** Nobody waits for it any more: it is told so, after a last word to what it has asked. */
  cancel(action: Refusal["action"]): void {
    this.#isCancelled = true;
    this.#unfollow();
    this.#refuse(action);
    // The response goes out first: what is cancelled already may not look at it.
    setImmediate(() => this.#control.abort(new Error("the call was cancelled")));
  }

  async #step(): Promise<CallStep> {
    for (let repeats = 0; repeats < MOST_REPEATS; repeats += 1) {
      this.#leg ??= this.#begin();
      const end = await Promise.race([this.#leg, this.#arrival.promise]);
      if (end === undefined) {
        const asks = this.#handOut();
        if (asks === undefined) continue;
        return asks;
      }
      this.#leg = undefined;
      this.#isWithServer = false;
      switch (end.type) {
        case "success":
        case "error":
          this.#refuse("cancel");
          return end;
        case "visit_required":
          return this.#askToVisit(end.requests);
        case "input_required":
          this.#retry = end.state === undefined ? {} : { requestState: end.state };
          if (end.requests.length > 0) return this.#askForInput(end.requests);
          await this.#options.clock.sleep(REPEAT_MS, this.#control.signal);
          break;
        default:
          return assertNever(end);
      }
    }
    return this.#end(`${this.#options.failure}: it keeps saying that it is to be called again.`);
  }

  #begin(): Promise<LegEnd> {
    const leg = this.#options.send({
      retry: this.#retry,
      signal: this.#control.signal,
      onBegin: () => {
        this.#isWithServer = true;
        this.#limit.start();
      },
      onQuestion: (question) => {
        const { withdrawn } = question;
        this.#arrived.push(question);
        withdrawn.addEventListener("abort", () => this.#forget(question), { once: true });
        if (this.#isCancelled) this.#refuse("cancel");
        else this.#arrival.resolve(undefined);
      },
      ...(this.#onProgress !== undefined && {
        onProgress: (message: string) => {
          if (this.#progress.allows()) this.#onProgress?.(message);
        },
      }),
    });
    leg.catch(() => undefined); // Nobody may be left to hear of it.
    return leg;
  }

  /** One that was withdrawn before it was shown. */
  #forget(question: ServerQuestion): void {
    const index = this.#arrived.indexOf(question);
    if (index !== -1) this.#arrived.splice(index, 1);
  }

  /** What a server of 2025 has asked, while its call goes on; undefined if it has changed its mind. */
  #handOut(): CallStep | undefined {
    const question = this.#arrived.shift();
    if (this.#arrived.length === 0) this.#arrival = Promise.withResolvers();
    if (question === undefined || question.withdrawn.aborted) return undefined;
    const { key, method, params, withdrawn, respond } = question;
    const over = new AbortController();
    const close = () => over.abort();
    void this.#leg?.then(close, close);
    const asks: Asks = {
      type: "asks",
      requests: [{ key, method, params }],
      isPrerequisite: false,
      closed: AbortSignal.any([over.signal, withdrawn]),
    };
    return this.#ask(asks, (responses) => respond(responses.get(key) ?? { action: "cancel" }));
  }

  #askForInput(requests: readonly InputRequest[]): CallStep {
    return this.#ask({ type: "asks", requests, isPrerequisite: false }, (responses) => {
      const inputResponses = Object.fromEntries(responses) as JsonObject; // They are JSON.
      this.#retry = { ...this.#retry, inputResponses };
    });
  }

  #askToVisit(requests: readonly InputRequest[]): CallStep {
    return this.#ask({ type: "asks", requests, isPrerequisite: true }, (responses) => {
      const isDone = requests.every(({ key }) => isAccepted(responses.get(key)));
      if (isDone) return;
      const content = `${this.#options.failure}: the user did not want to go where it needs them to.`;
      this.#leg = Promise.resolve({ type: "error", content });
    });
  }

  #ask(asks: Asks, settle: Pending["settle"]): CallStep {
    this.#pending = { requests: asks.requests, settle };
    return asks;
  }

  /** By ourselves. */
  #end(content: string): CallResult {
    this.#ending = { type: "error", content };
    this.#isCancelled = true;
    this.#refuse("cancel");
    this.#control.abort(new Error("the call was ended"));
    return this.#ending;
  }

  #refuse(action: Refusal["action"]): void {
    const { requests = [] } = this.#pending ?? {};
    this.answer(new Map(requests.map(({ key }) => [key, { action }])));
    for (const question of this.#arrived.splice(0)) {
      question.respond({ action });
      this.#options.onStray(question);
    }
  }

  #follow(signal: AbortSignal): void {
    this.#unfollow();
    const onAbort = () => this.cancel("cancel");
    signal.addEventListener("abort", onAbort, { once: true });
    this.#unfollow = () => signal.removeEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  }
}

function isAccepted(response: InputResponse | undefined): boolean {
  return response !== undefined && "action" in response && response.action === "accept";
}
