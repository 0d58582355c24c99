/** Opens prompts one at a time, whoever asks. */
import { abortable } from "../util/index.ts";
import { abortBy } from "./stop-cause.ts";

/** Opens prompts one at a time, first come, first served. */
export class PromptQueue {
  #last: Promise<void> = Promise.resolve();
  #open: AbortController | undefined;

  /**
   * Waits for its turn, then runs the action. Returns undefined if aborted while waiting. The signal
   * that the action gets is also aborted by `cancelOpen`.
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
      void before.then(resolve); // Giving up early must not let the next one overtake those before.
    }
  }

  /** Cancels the open prompt on behalf of the user. Returns false if none is open. */
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
