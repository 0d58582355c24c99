/**
 * Ctrl-C while something is under way. The first press opens a menu, or closes the question that is
 * being asked; one more means that the person wants to leave. Where there is no menu, nothing says that
 * a person pressed it: CI systems send the same signal. Then the work is interrupted.
 */
import type { KnownCancellationReason } from "../conversation/index.ts";
import { abortable } from "../util/index.ts";
import type { InterruptChoice, InterruptMenu } from "./ports.ts";

/** What becomes of the work: what the person chose, or an end that came from elsewhere. */
export type InterruptDecision = InterruptChoice | { readonly type: "interrupted" };

type Leaving = Extract<InterruptDecision, { type: "leave" | "interrupted" }>;

/** What can be done about the work of the moment. */
export interface InterruptScope {
  /** `leave` is always possible, and need not be here. */
  readonly choices: readonly InterruptChoice["type"][];
  /** Must not throw. */
  readonly onChoice: (choice: InterruptDecision) => void;
}

interface OpenScope extends InterruptScope {
  /** Aborted when nothing is left to choose: the work has ended, or the person leaves. */
  readonly ended: AbortController;
}

export class Interrupts {
  readonly #prompts: PromptQueue;
  readonly #menu: InterruptMenu | undefined;
  #scope: OpenScope | undefined;
  #isMenuOpen = false;
  /** Who ended it first stays the one who did. */
  #leaving: Leaving | undefined;

  /** Without a menu nobody can choose. */
  constructor(prompts: PromptQueue, menu?: InterruptMenu) {
    this.#prompts = prompts;
    this.#menu = menu;
  }

  /** For as long as the action lasts, these are the choices. */
  async during<Value>(scope: InterruptScope, action: () => Promise<Value>): Promise<Value> {
    const outer = this.#scope;
    const ended = new AbortController();
    this.#scope = { ...scope, ended };
    if (this.#leaving !== undefined) scope.onChoice(this.#leaving);
    try {
      return await action();
    } finally {
      this.#scope = outer;
      ended.abort();
    }
  }

  /** Everything is being ended in good order. */
  get isLeaving(): boolean {
    return this.#leaving !== undefined;
  }

  /** Somebody has pressed Ctrl-C. */
  press(): void {
    if (this.#menu === undefined) this.interrupt();
    else if (this.#isMenuOpen || this.isLeaving) this.#leave({ type: "leave" });
    else if (this.#scope !== undefined && !this.#prompts.cancelOpen()) {
      void this.#choose(this.#menu, this.#scope);
    }
  }

  /** Something other than a person ends what is under way, and all that would follow. */
  interrupt(): void {
    this.#leave({ type: "interrupted" });
  }

  /** Nothing takes it back: the menu closes. */
  #leave(leaving: Leaving): void {
    this.#leaving ??= leaving;
    this.#scope?.onChoice(this.#leaving);
    this.#scope?.ended.abort();
  }

  async #choose(menu: InterruptMenu, { choices, onChoice, ended }: OpenScope): Promise<void> {
    this.#isMenuOpen = true;
    try {
      const choose = (signal: AbortSignal) => menu.choose({ choices, signal });
      const choice = await this.#prompts.run(choose, ended.signal);
      if (choice?.type === "leave") this.#leave(choice);
      else if (choice !== undefined && !this.isLeaving) onChoice(choice);
    } catch {
      this.interrupt(); // The menu cannot be shown: what is left is to go.
    } finally {
      this.#isMenuOpen = false;
    }
  }
}

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

/** The user, or something else: a signal, a window that was closed, a client that is gone. */
export type StopCause = Extract<KnownCancellationReason, "user" | "interrupted">;

/**
 * The reason of an abort that the user asked for. It is an `AbortError`, as the reason of a plain
 * `abort()` is, because providers report any other reason as a failure of the request.
 */
class StoppedByUser extends DOMException {
  constructor() {
    super("The user stopped it.", "AbortError");
  }
}

export function abortBy(cause: StopCause, controller: AbortController): void {
  if (cause === "user") controller.abort(new StoppedByUser());
  else controller.abort();
}

/** Only an abort that says so is the user's. */
export function stopCause({ reason }: AbortSignal): StopCause {
  return reason instanceof StoppedByUser ? "user" : "interrupted";
}

/** Why a prompt closed without an answer. Its signal decides: many prompters report every end alike. */
export function promptCause(
  { type }: { readonly type: "cancelled" | "interrupted" },
  signal: AbortSignal,
): StopCause {
  if (signal.aborted) return stopCause(signal);
  return type === "cancelled" ? "user" : "interrupted";
}
