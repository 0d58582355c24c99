/**
 * Ctrl-C while something is under way. The first press opens a menu, or closes the question that is
 * being asked; one more, or a first where nobody can choose, means that the person wants to leave.
 */
import type { InterruptChoice, InterruptMenu } from "./ports.ts";
import type { PromptQueue } from "./tool-coordinator/prompt-queue.ts";

/** What can be done about the work of the moment. */
export interface InterruptScope {
  /** `leave` is always possible, and need not be here. */
  readonly choices: readonly InterruptChoice["type"][];
  /** Must not throw. */
  readonly onChoice: (choice: InterruptChoice) => void;
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
  #isLeaving = false;

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
    if (this.#isLeaving) scope.onChoice({ type: "leave" });
    try {
      return await action();
    } finally {
      this.#scope = outer;
      ended.abort();
    }
  }

  /** The person wants to go: everything is being ended in good order. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Somebody has pressed Ctrl-C. */
  press(): void {
    if (this.#menu === undefined || this.#isMenuOpen || this.#isLeaving) this.leave();
    else if (this.#scope !== undefined && !this.#prompts.cancelOpen()) {
      void this.#choose(this.#menu, this.#scope);
    }
  }

  /** Ends what is under way, and all that would follow. Nothing takes it back: the menu closes. */
  leave(): void {
    this.#isLeaving = true;
    this.#scope?.onChoice({ type: "leave" });
    this.#scope?.ended.abort();
  }

  async #choose(menu: InterruptMenu, { choices, onChoice, ended }: OpenScope): Promise<void> {
    this.#isMenuOpen = true;
    try {
      const choose = (signal: AbortSignal) => menu.choose({ choices, signal });
      const choice = await this.#prompts.run(choose, ended.signal);
      if (choice?.type === "leave") this.leave();
      else if (choice !== undefined && !this.#isLeaving) onChoice(choice);
    } catch {
      this.leave(); // The menu cannot be shown: what is left is to go.
    } finally {
      this.#isMenuOpen = false;
    }
  }
}
