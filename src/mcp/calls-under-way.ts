/**
 * The calls of one connection, and whose question it is when a server of 2025 asks. That protocol does
 * not say which call a question belongs to, so there must be only one that it can belong to:
 *
 * - With one call under way it is the question of that call.
 * - With several it waits: the call that asks does not end before its answer, the others do. If each
 *   of them may be waiting for an answer, nobody can tell any more, and all questions are refused.
 * - From its first question on, a server gets its calls one after the other.
 */
import type { InputResponse } from "./elicitation.ts";

export interface ServerQuestion {
  readonly key: string;
  readonly params: unknown;
  /** Aborted when the server does not want to know any more. */
  readonly withdrawn: AbortSignal;
  /** Only the first response counts. */
  readonly respond: (response: InputResponse) => void;
}

export interface Caller {
  readonly signal: AbortSignal;
  readonly onQuestion: (question: ServerQuestion) => void;
}

export type StrayReason =
  /** Nothing was asked of the server when it asked. */
  | "no_call"
  /** Several calls were under way. */
  | "unclear";

export class CallsUnderWay {
  readonly #onStray: (question: ServerQuestion, reason: StrayReason) => void;
  readonly #calls = new Set<Caller>();
  readonly #waiting = new Map<Caller, () => void>();
  #unclear: ServerQuestion[] = [];
  #asksQuestions = false;

  constructor(onStray: (question: ServerQuestion, reason: StrayReason) => void) {
    this.#onStray = onStray;
  }

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  /** Waits for its turn, if there are turns. Throws the signal's reason; then it has not entered. */
  async enter(caller: Caller): Promise<void> {
    const { signal } = caller;
    signal.throwIfAborted();
    if (!this.#asksQuestions || this.isEmpty) {
      this.#calls.add(caller);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(caller, resolve);
    const onAbort = () => {
      if (this.#waiting.delete(caller)) reject(signal.reason as Error); // Whatever it is.
    };
    signal.addEventListener("abort", onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  leave(caller: Caller): void {
    this.#calls.delete(caller);
    this.#assign();
    const [next] = this.#waiting;
    if (next === undefined || !this.isEmpty) return;
    const [waiting, admit] = next;
    this.#waiting.delete(waiting);
    this.#calls.add(waiting);
    admit();
  }

  take(question: ServerQuestion): void {
    this.#asksQuestions = true;
    this.#unclear.push(question);
    this.#assign();
  }

  #assign(): void {
    this.#unclear = this.#unclear.filter(({ withdrawn }) => !withdrawn.aborted);
    const mayBecomeClear = this.#calls.size > 1 && this.#calls.size > this.#unclear.length;
    if (mayBecomeClear) return;
    const [owner] = this.#calls.size === 1 ? this.#calls : [];
    const reason = this.isEmpty ? "no_call" : "unclear";
    for (const question of this.#unclear.splice(0)) {
      if (owner === undefined) this.#onStray(question, reason);
      else owner.onQuestion(question);
    }
  }
}
