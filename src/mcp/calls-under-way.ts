/**
 * The calls of one connection, and whose question it is when a server of 2025 asks. That protocol does
 * not say which call a question belongs to, so there must be only one that it can belong to:
 *
 * - With one call under way it is the question of that call.
 * - With several it waits: the call that asks does not end before its answer, the others do. If each
 *   of them may be waiting for an answer, nobody can tell any more, and all questions are refused.
 * - From its first question on, a server gets its calls one after the other.
 * - With none it is the question of the call that we have cancelled, which may not have heard of it
 *   yet. If there are several, or a call has begun since, nobody can tell.
 */
import type { InputRequest, InputResponse } from "./input-request.ts";

export interface ServerQuestion extends InputRequest {
  /** Aborted when the server does not want to know any more. */
  readonly withdrawn: AbortSignal;
  /** Only the first response counts. */
  readonly respond: (response: InputResponse) => void;
}

export interface Caller {
  readonly signal: AbortSignal;
  readonly onQuestion: (question: ServerQuestion) => void;
}

export class CallsUnderWay {
  readonly #onStray: (question: ServerQuestion) => void;
  readonly #calls = new Set<Caller>();
  readonly #waiting = new Map<Caller, () => void>();
  /** Since the last one that began. */
  readonly #cancelled = new Set<Caller>();
  #unclear: ServerQuestion[] = [];
  #asksQuestions = false;

  /** `onStray` is called for a question of which nobody can tell whose it is. */
  constructor(onStray: (question: ServerQuestion) => void) {
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
      this.#admit(caller);
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
    if (caller.signal.aborted) this.#cancelled.add(caller);
    this.#assign();
    const [next] = this.#waiting;
    if (next === undefined || !this.isEmpty) return;
    const [waiting, admit] = next;
    this.#waiting.delete(waiting);
    this.#admit(waiting);
    admit();
  }

  take(question: ServerQuestion): void {
    this.#asksQuestions = true;
    this.#unclear.push(question);
    this.#assign();
  }

  #admit(caller: Caller): void {
    this.#cancelled.clear();
    this.#calls.add(caller);
  }

  #assign(): void {
    this.#unclear = this.#unclear.filter(({ withdrawn }) => !withdrawn.aborted);
    const mayBecomeClear = this.#calls.size > 1 && this.#calls.size > this.#unclear.length;
    if (mayBecomeClear) return;
    const candidates = this.isEmpty ? this.#cancelled : this.#calls;
    const [owner] = candidates.size === 1 ? candidates : [];
    for (const question of this.#unclear.splice(0)) {
      if (owner === undefined) this.#onStray(question);
      else owner.onQuestion(question);
    }
  }
}
