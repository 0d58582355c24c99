/**
 * The calls in progress on one connection, and the call to which a question of the server belongs. The
 * protocol of 2025 does not say, so it has to be inferred:
 *
 * - With one call in progress, the question belongs to that call.
 * - With several, it waits: the call that asks does not end before its answer, the others do. If each
 *   of them may be waiting for an answer, the question is shared: it belongs to all of them.
 * - After its first question, a server gets its calls one at a time.
 * - With none, the question belongs to the call that we cancelled, of which the server may not have
 *   heard yet. If there are several such calls, or a call has started since, the owner is unknown.
 */
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import type { SamplingResponse } from "./sampling.ts";

/** A server's request in the middle of a call. `params` is not validated. */
export interface InputRequest {
  readonly key: string;
  readonly method: string;
  readonly params: unknown;
}

/** The answer to an input request. */
export type InputResponse =
  | { readonly action: "accept"; readonly content?: JsonObject }
  /** `decline` only if a person refused. Otherwise `cancel`: the prompt was closed, or no one was asked. */
  | { readonly action: "decline" | "cancel" }
  | SamplingResponse;

/** Converts the requests of an `input_required` result. */
export function toInputRequests(requests: Readonly<Record<string, unknown>>): InputRequest[] {
  return Object.entries(requests).map(([key, request]) => {
    const { method, params } = isJsonObject(request) ? request : {};
    return { key, method: typeof method === "string" ? method : "", params };
  });
}

/** A request that arrives while a call is in progress, in the protocol of 2025. */
export interface ServerQuestion extends InputRequest {
  /** Aborted when the server withdraws the question. */
  readonly withdrawn: AbortSignal;
  /** Only the first response counts. */
  readonly respond: (response: InputResponse) => void;
}

export interface Caller {
  readonly signal: AbortSignal;
  readonly onQuestion: (question: ServerQuestion) => void;
}

/** A question that any of several calls may have asked. */
export interface SharedServerQuestion<Call extends Caller> extends ServerQuestion {
  readonly calls: readonly Call[];
  /** Aborted when the last of the calls has ended. */
  readonly ended: AbortSignal;
}

/** What to do with questions that belong to no single call. */
export interface OwnerlessQuestions<Call extends Caller> {
  /** It was asked while no call was in progress. */
  readonly onUnscoped: (question: ServerQuestion) => void;
  readonly onShared: (question: SharedServerQuestion<Call>) => void;
}

export class PendingCalls<Call extends Caller> {
  readonly #ownerless: OwnerlessQuestions<Call>;
  readonly #calls = new Set<Call>();
  readonly #waiting = new Map<Call, () => void>();
  /** Cancelled since the last call started. */
  readonly #cancelled = new Set<Call>();
  #unassigned: ServerQuestion[] = [];
  #asksQuestions = false;
  /** Aborted and replaced when no call is in progress any more. */
  #allEnded = new AbortController();

  constructor(ownerless: OwnerlessQuestions<Call>) {
    this.#ownerless = ownerless;
  }

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  /** Waits for its turn, if the server gets calls one at a time. Throws the signal's reason. */
  async enter(caller: Call): Promise<void> {
    const { signal } = caller;
    signal.throwIfAborted();
    if (!this.#asksQuestions || this.isEmpty) {
      this.#admit(caller);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(caller, resolve);
    const onAbort = () => {
      if (this.#waiting.delete(caller)) reject(signal.reason as Error); // It may be any value.
    };
    signal.addEventListener("abort", onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  leave(caller: Call): void {
    this.#calls.delete(caller);
    if (this.isEmpty) {
      this.#allEnded.abort();
      this.#allEnded = new AbortController();
    }
    if (caller.signal.aborted) this.#cancelled.add(caller);
    this.#assign();
    const [next] = this.#waiting;
    if (next === undefined || !this.isEmpty) return;
    const [waiting, admit] = next;
    this.#waiting.delete(waiting);
    this.#admit(waiting);
    admit();
  }

  /** Passes the question to its call, once that is known. */
  take(question: ServerQuestion): void {
    this.#asksQuestions = true;
    this.#unassigned.push(question);
    this.#assign();
  }

  #admit(caller: Call): void {
    this.#cancelled.clear();
    this.#calls.add(caller);
  }

  #assign(): void {
    this.#unassigned = this.#unassigned.filter(({ withdrawn }) => !withdrawn.aborted);
    const mayBecomeClear = this.#calls.size > 1 && this.#calls.size > this.#unassigned.length;
    if (mayBecomeClear) return;
    const candidates = this.isEmpty ? this.#cancelled : this.#calls;
    const [owner] = candidates.size === 1 ? candidates : [];
    for (const question of this.#unassigned.splice(0)) {
      if (owner !== undefined) owner.onQuestion(question);
      else if (this.isEmpty) this.#ownerless.onUnscoped(question);
      else {
        const { signal: ended } = this.#allEnded;
        this.#ownerless.onShared({ ...question, calls: [...this.#calls], ended });
      }
    }
  }
}
