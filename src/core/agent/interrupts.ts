/**
 * Ctrl-C. It cancels the open prompt, or else opens a menu for the work in progress; pressing it again quits.
 * Without a menu Ctrl-C may not come from a person, because CI systems send the same signal, so it interrupts
 * the work without blaming the user.
 */
import type { InterruptChoice, InterruptMenu } from "./ports.ts";
import type { PromptQueue } from "./prompt-queue.ts";

/** Why work stopped early: a person chose so, or something else interrupted it. */
export type Interruption =
  | Exclude<InterruptChoice, { type: "continue" | "restart" }>
  | { readonly type: "interrupted" };

/** Ends the current work and everything after it. */
type Exit = Extract<Interruption, { type: "leave" | "interrupted" }>;

/** How a person may interrupt a piece of work. */
export interface InterruptOptions {
  /** `leave` is always possible and need not be listed. */
  readonly choices: readonly InterruptChoice["type"][];
  /** A reply without text counts as `continue`, or as `stop` once the work is stopped. */
  readonly requiresMessage?: boolean;
  /**
   * Called before the signal aborts, and again if the person then leaves. `message`: the text of a reply, which the
   * person may still be writing; otherwise empty. It never rejects. Must not throw.
   */
  readonly onInterrupt?: (interruption: Interruption, message: Promise<string>) => void;
  /** Must not throw. */
  readonly onRestart?: () => void;
}

/** A piece of work's view of its own interruption. */
export interface InterruptibleWork {
  readonly signal: AbortSignal;
  /** Set once the signal is aborted. The latest one counts. */
  readonly interruption: Interruption | undefined;
}

/** The value that the work returned. `interruption` is set even if it came too late to change that. */
export interface InterruptedResult<Value> {
  readonly value: Value;
  readonly interruption: Interruption | undefined;
}

/** Turns Ctrl-C into decisions about the work in progress. */
export class Interrupts {
  readonly #prompts: PromptQueue;
  readonly #menu: InterruptMenu | undefined;
  #work: Work | undefined;
  #isMenuOpen = false;
  /** The person stopped the turn between two pieces of work. */
  #isStopped = false;
  /** The first exit counts: it says who ended the turn. */
  #exit: Exit | undefined;

  constructor(prompts: PromptQueue, menu?: InterruptMenu) {
    this.#prompts = prompts;
    this.#menu = menu;
  }

  /** Runs an action that Ctrl-C can interrupt. Errors of the action are passed on. */
  async during<Value>(
    options: InterruptOptions,
    action: (work: InterruptibleWork) => Promise<Value>,
  ): Promise<InterruptedResult<Value>> {
    const outer = this.#work;
    const work = new Work(options);
    this.#work = work;
    if (this.#exit !== undefined) work.apply(this.#exit);
    else if (this.#isStopped) work.apply({ type: "stop" });
    try {
      const value = await action(work).finally(() => work.replied);
      return { value, interruption: work.interruption };
    } finally {
      this.#work = outer;
      work.closeMenu();
    }
  }

  get isLeaving(): boolean {
    return this.#exit !== undefined;
  }

  /** Handles Ctrl-C. */
  press(): void {
    if (this.#menu === undefined) this.interrupt();
    else if (this.#isMenuOpen || this.isLeaving) this.#leave({ type: "leave" });
    else if (this.#work !== undefined && !this.#prompts.cancelOpen()) {
      void this.#choose(this.#menu, this.#work);
    }
  }

  /** Stops the current work, or else the next, on behalf of the person, like `stop` in the menu. */
  stop(): void {
    if (this.isLeaving) return;
    this.#isStopped = true;
    this.#work?.apply({ type: "stop" });
  }

  /** Ends the current work and everything after it, without attributing it to a person. */
  interrupt(): void {
    this.#leave({ type: "interrupted" });
  }

  #leave(exit: Exit): void {
    this.#exit ??= exit;
    this.#work?.apply(this.#exit);
    this.#work?.closeMenu();
  }

  async #choose(menu: InterruptMenu, work: Work): Promise<void> {
    this.#isMenuOpen = true;
    try {
      const { choices } = work.options;
      using open = await this.#prompts.open(work.openMenu());
      if (open === undefined) return;
      const stopNow = () => work.stopForReply();
      const choice = await menu.choose({ choices, signal: open.signal, stopNow });
      if (choice.type === "leave") this.#leave(choice);
      else if (!this.isLeaving) work.apply(choice);
    } catch {
      this.interrupt(); // The menu cannot be shown, so no one can choose.
    } finally {
      work.endReply("");
      this.#isMenuOpen = false;
    }
  }
}

class Work implements InterruptibleWork {
  readonly options: InterruptOptions;
  #menu: AbortController | undefined;
  readonly #abort = new AbortController();
  #interruption: Interruption | undefined;
  /** Set once the work is stopped for a reply that the person is still writing. */
  #reply: PromiseWithResolvers<string> | undefined;

  constructor(options: InterruptOptions) {
    this.options = options;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get interruption(): Interruption | undefined {
    return this.#interruption;
  }

  /** The signal is aborted when the work has ended, or the person leaves. */
  openMenu(): AbortSignal {
    this.#menu = new AbortController();
    return this.#menu.signal;
  }

  closeMenu(): void {
    this.#menu?.abort();
  }

  /** Resolves once the person has written the reply that the work was stopped for. */
  get replied(): Promise<unknown> {
    return this.#reply?.promise ?? Promise.resolve();
  }

  stopForReply(): void {
    if (this.#reply !== undefined || this.signal.aborted) return;
    this.#reply = Promise.withResolvers();
    this.#interrupt({ type: "reply", message: "" }, this.#reply.promise);
  }

  endReply(message: string): void {
    this.#reply?.resolve(message);
  }

  apply(choice: InterruptChoice | Interruption): void {
    const { requiresMessage = false, onRestart } = this.options;
    const isStopped = this.#reply !== undefined;
    const isEmpty = choice.type === "reply" && requiresMessage && choice.message.trim() === "";
    if (choice.type === "continue" || choice.type === "restart" || isEmpty) {
      if (isStopped) return this.apply({ type: "stop" });
      return choice.type === "restart" ? onRestart?.() : undefined;
    }
    const message = choice.type === "reply" ? choice.message : "";
    if (isStopped && choice.type === "reply") this.#interruption = choice;
    else this.#interrupt(choice, Promise.resolve(message));
    this.endReply(message);
  }

  #interrupt(interruption: Interruption, message: Promise<string>): void {
    this.#interruption = interruption;
    this.options.onInterrupt?.(interruption, message);
    this.#abort.abort();
  }
}

/** Quitting is not a decision about the calls: they stay open on record. */
export function canBeContinued({ type }: Interruption): boolean {
  return type === "leave" || type === "interrupted";
}
