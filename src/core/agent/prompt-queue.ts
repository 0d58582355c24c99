/**
 * Opens prompts one at a time. Prompts of one reply open in the order of its calls: each waits for the calls before it
 * that may still ask. Prompts that can be gathered wait for all calls of the reply, and open together.
 */
import { abortable } from "../../util/index.ts";
import { type GroupMember, PromptGroup } from "./prompt-group.ts";
import { abortBy } from "./stop-cause.ts";

/** The open prompt's hold on the screen. The next one opens once it is disposed of. */
export interface OpenPrompt extends Disposable {
  /** Aborted with the asker's signal, and by `cancelOpen`. */
  readonly signal: AbortSignal;
  /** Set if others of the same reply opened with it: it is asked together with them. */
  readonly member: GroupMember | undefined;
  /** The person has answered. It keeps its place, but `cancelOpen` no longer finds it. */
  end(): void;
}

/** The place of a call within its reply. Dispose of it when the call ends. */
export interface PromptPlace extends Disposable {
  readonly reply: symbol;
  /** The call's position in the reply. */
  readonly rank: number;
  /** Every call before this one has passed. */
  readonly isReached: boolean;
  /** Every call of the reply has passed. */
  readonly isComplete: boolean;
  /** The call has asked, or continues without asking, so later calls no longer wait for it. */
  pass(): void;
  /** The call is about to ask again: gathered prompts wait until it has passed once more. */
  retake(): void;
}

interface Waiting {
  readonly place: PromptPlace | undefined;
  readonly isGathered: boolean;
  readonly begin: () => void;
  readonly cancelled: AbortController;
  /** The person has answered. */
  isEnded: boolean;
  /** Set once it has opened together with others. */
  member?: GroupMember;
}

/** Opens prompts one at a time: first come, first served, except that calls of one reply keep their order. */
export class PromptQueue {
  /** First come, first served; prompts of one reply by the rank of their calls. */
  readonly #waiting: Waiting[] = [];
  /** One, or several that were gathered. */
  readonly #open = new Set<Waiting>();

  /** Returns a function that gives each call of one reply its place. Call it in the order of the calls. */
  startReply(): () => PromptPlace {
    const reply = Symbol("reply");
    const passed = new Set<number>();
    let [ranks, reached] = [0, 0];
    return () => {
      const rank = ranks;
      ranks += 1;
      const pass = () => {
        passed.add(rank);
        while (passed.has(reached)) reached += 1; // Never decreases: a reached call stays reached.
        this.#openNext();
      };
      return {
        reply,
        rank,
        get isReached() {
          return rank <= reached;
        },
        get isComplete() {
          return passed.size === ranks;
        },
        pass,
        retake: () => void passed.delete(rank),
        [Symbol.dispose]: pass,
      };
    };
  }

  /**
   * Waits for its turn. Undefined if aborted while waiting. A call that asks has passed. `isGathered`: it opens
   * together with all gathered prompts of the reply that wait then.
   */
  async open(
    signal: AbortSignal,
    place?: PromptPlace,
    { isGathered = false }: { readonly isGathered?: boolean } = {},
  ): Promise<OpenPrompt | undefined> {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const cancelled = new AbortController();
    const waiting: Waiting = { place, isGathered, begin, cancelled, isEnded: false };
    this.#add(waiting); // First, so that no call after it overtakes this one.
    if (place === undefined) this.#openNext();
    else place.pass();
    await abortable(begun, signal).catch(() => undefined);
    if (signal.aborted) {
      this.#remove(waiting);
      return undefined;
    }
    return {
      signal: AbortSignal.any([signal, cancelled.signal]),
      member: waiting.member,
      end: () => {
        waiting.isEnded = true;
      },
      [Symbol.dispose]: () => this.#remove(waiting),
    };
  }

  /** Cancels the open prompt, or all that are open together, on behalf of the user. Returns false if none is open. */
  cancelOpen(): boolean {
    const open = [...this.#open].filter(({ isEnded }) => !isEnded);
    for (const { cancelled } of open) abortBy("user", cancelled);
    return open.length > 0;
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
    this.#open.delete(waiting);
    waiting.member?.leave();
    this.#openNext();
  }

  #openNext(): void {
    if (this.#open.size > 0) return;
    const next = this.#waiting.find(isReady);
    if (next === undefined) return;
    const opened = next.isGathered
      ? this.#waiting.filter((each) => each.isGathered && each.place?.reply === next.place?.reply)
      : [next];
    const group = opened.length > 1 ? new PromptGroup() : undefined;
    for (const each of opened) {
      this.#waiting.splice(this.#waiting.indexOf(each), 1);
      this.#open.add(each);
      if (group !== undefined) each.member = group.join();
    }
    for (const { begin } of opened) begin();
  }
}

function isReady({ place, isGathered }: Waiting): boolean {
  return place === undefined || (isGathered ? place.isComplete : place.isReached);
}
