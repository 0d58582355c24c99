/**
 * Opens prompts one at a time, whoever asks. Those of one reply open in the order of its calls: a prompt waits for each
 * call before its own that may still come to ask first.
 */
import { abortable } from "../util/index.ts";
import { abortBy } from "./stop-cause.ts";

/** A place on the screen that no other prompt takes before it is disposed of. */
export interface OpenPrompt extends Disposable {
  /** Aborted with the signal of whoever asks, and by `cancelOpen`. */
  readonly signal: AbortSignal;
  /** The person has answered. It keeps its place, but `cancelOpen` no longer finds it. */
  end(): void;
}

/** The place of a call among those of its reply. Dispose of it when the call ends. */
export interface PromptPlace extends Disposable {
  readonly reply: symbol;
  /** Among the calls of the reply. */
  readonly rank: number;
  /** Every call before this one has passed. */
  readonly isReached: boolean;
  /** The call has asked, or goes on without: those after it need not wait for it any longer. */
  pass(): void;
}

interface Waiting {
  readonly place: PromptPlace | undefined;
  readonly begin: () => void;
  readonly cancelled: AbortController;
  /** The person has answered. */
  isEnded: boolean;
}

/** Opens prompts one at a time, first come, first served, but for the calls of one reply. */
export class PromptQueue {
  /** First come, first; those of one reply by the rank of their calls. */
  readonly #waiting: Waiting[] = [];
  #open: Waiting | undefined;

  /** Gives each call of one reply its place. To be called for them in their order. */
  startReply(): () => PromptPlace {
    const reply = Symbol("reply");
    const passed = new Set<number>();
    let [ranks, reached] = [0, 0];
    return () => {
      const rank = ranks;
      ranks += 1;
      const pass = () => {
        passed.add(rank);
        while (passed.has(reached)) reached += 1;
        this.#openNext();
      };
      return {
        reply,
        rank,
        get isReached() {
          return rank <= reached;
        },
        pass,
        [Symbol.dispose]: pass,
      };
    };
  }

  /** Waits for its turn. Undefined if aborted while waiting. A call that asks has passed. */
  async open(signal: AbortSignal, place?: PromptPlace): Promise<OpenPrompt | undefined> {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const waiting: Waiting = { place, begin, cancelled: new AbortController(), isEnded: false };
    this.#add(waiting); // First, so that no call after it overtakes this one.
    if (place === undefined) this.#openNext();
    else place.pass();
    await abortable(begun, signal).catch(() => undefined);
    if (signal.aborted) {
      this.#remove(waiting);
      return undefined;
    }
    return {
      signal: AbortSignal.any([signal, waiting.cancelled.signal]),
      end: () => {
        waiting.isEnded = true;
      },
      [Symbol.dispose]: () => this.#remove(waiting),
    };
  }

  /** Cancels the open prompt on behalf of the user. Returns false if none is open. */
  cancelOpen(): boolean {
    if (this.#open === undefined || this.#open.isEnded) return false;
    abortBy("user", this.#open.cancelled);
    return true;
  }

  #add(waiting: Waiting): void {
    const { reply, rank } = waiting.place ?? {};
    const after = this.#waiting.findIndex(
      ({ place }) => place !== undefined && place.reply === reply && place.rank > (rank ?? 0),
    );
    this.#waiting.splice(after === -1 ? this.#waiting.length : after, 0, waiting);
  }

  #remove(waiting: Waiting): void {
    const index = this.#waiting.indexOf(waiting);
    if (index !== -1) this.#waiting.splice(index, 1);
    if (this.#open === waiting) this.#open = undefined;
    this.#openNext();
  }

  #openNext(): void {
    if (this.#open !== undefined) return;
    const index = this.#waiting.findIndex(({ place }) => place?.isReached ?? true);
    const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
    this.#open = next;
    next?.begin();
  }
}
