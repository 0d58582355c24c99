/** Opens prompts one at a time, whoever asks. */
import { abortable } from "../util/index.ts";
import { abortBy } from "./stop-cause.ts";

/** A place on the screen that no other prompt takes before it is disposed of. */
export interface OpenPrompt extends Disposable {
  /** Aborted with the signal of whoever asks, and by `cancelOpen`. */
  readonly signal: AbortSignal;
  /** The person has answered. It keeps its place, but `cancelOpen` no longer finds it. */
  end(): void;
}

/** Opens prompts one at a time, first come, first served. */
export class PromptQueue {
  #last: Promise<void> = Promise.resolve();
  #open: AbortController | undefined;

  /** Waits for its turn. Undefined if aborted while waiting. */
  async open(signal: AbortSignal): Promise<OpenPrompt | undefined> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await abortable(before, signal).catch(() => undefined);
    if (signal.aborted) {
      void before.then(resolve); // Giving up early must not let the next one overtake those before.
      return undefined;
    }
    const open = new AbortController();
    this.#open = open;
    const end = () => {
      this.#open = undefined;
    };
    return {
      signal: AbortSignal.any([signal, open.signal]),
      end,
      [Symbol.dispose]: () => {
        end();
        resolve();
      },
    };
  }

  /** Cancels the open prompt on behalf of the user. Returns false if none is open. */
  cancelOpen(): boolean {
    if (this.#open === undefined) return false;
    abortBy("user", this.#open);
    return true;
  }
}
