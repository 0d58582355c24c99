/** One thing is asked at a time. Those who wait are let in in the order in which they came. */
import { abortable } from "../../util/index.ts";
import { abortBy } from "../stop-cause.ts";

/** Lets prompts be open one at a time, in the order in which they came. */
export class PromptQueue {
  #last: Promise<void> = Promise.resolve();
  #open: AbortController | undefined;

  /**
   * Runs the action when its turn has come; undefined if it is aborted before that. The action's own
   * signal is also aborted by `cancelOpen`.
   */
  async run<Value>(
    action: (signal: AbortSignal) => Promise<Value>,
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await abortable(before, signal).catch(() => undefined);
      return signal.aborted ? undefined : await this.#show(action, signal);
    } finally {
      void before.then(resolve); // One who left early keeps the order of the others.
    }
  }

  /** The person cancels what is being asked; false if nothing is. */
  cancelOpen(): boolean {
    if (this.#open === undefined) return false;
    abortBy("user", this.#open);
    return true;
  }

  async #show<Value>(
    action: (signal: AbortSignal) => Promise<Value>,
    signal: AbortSignal,
  ): Promise<Value> {
    const open = new AbortController();
    this.#open = open;
    try {
      return await action(AbortSignal.any([signal, open.signal]));
    } finally {
      this.#open = undefined;
    }
  }
}
