/**
 * A call over several requests, as the protocol has it since 2026-07-28. A question is the result of one
 * request, its answer comes with the next; in between the call waits here.
 *
 *   start ─► next ─┬─► ended
 *              ▲   └─► asks ─► (result, new request) ─► answer ─┐
 *              └────────────────────────────────────────────────┘
 */
import type { ToolCallResponse } from "../conversation/index.ts";
import { abortable } from "../util/index.ts";
import type { Elicit, ElicitReply } from "./elicitation-prompter.ts";
import type { Form } from "./question-form.ts";

export type Step =
  | { readonly type: "asks"; readonly form: Form }
  | { readonly type: "ended"; readonly response: ToolCallResponse };

export type RunWithForms = (elicit: Elicit, signal: AbortSignal) => Promise<ToolCallResponse>;

export class RoundTripCall {
  readonly #stop = new AbortController();
  #step = Promise.withResolvers<Step>();
  #answer = Promise.withResolvers<ElicitReply>();

  constructor(run: RunWithForms) {
    const elicit: Elicit = (form, signal) => {
      this.#step.resolve({ type: "asks", form });
      return abortable(this.#answer.promise, signal);
    };
    void this.#follow(run(elicit, this.#stop.signal));
  }

  /** Aborted once it is over, or about to be. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** What it comes to; the same until it gets an answer. Aborting ends the call. Throws what it threw. */
  async next(signal: AbortSignal): Promise<Step> {
    const stop = () => this.stop();
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    try {
      return await this.#step.promise;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  answer(reply: ElicitReply): void {
    const { resolve } = this.#answer;
    this.#step = Promise.withResolvers<Step>();
    this.#answer = Promise.withResolvers<ElicitReply>();
    resolve(reply);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #follow(run: Promise<ToolCallResponse>): Promise<void> {
    try {
      const response = await run;
      this.#step.resolve({ type: "ended", response });
    } catch (error) {
      this.#step.reject(error);
      await this.#step.promise.catch(() => undefined); // Nobody may be left to hear of it.
    } finally {
      this.stop();
    }
  }
}
