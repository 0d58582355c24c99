/**
 * Text typed while jp works: messages sent one by one when the turn ends, and messages left unsent because the turn
 * was stopped or failed. Unsent ones return to the prompt, one after the other.
 */
import type { InputState, TurnKeyboard } from "../../../surfaces/terminal/index.ts";
import { neutralize, oneLine } from "../../../util/index.ts";

/** The input typed at the prompt. */
export type Typed = InputState | string;

export class TypedAhead {
  readonly #keyboard: TurnKeyboard | undefined;
  #held: readonly string[] = [];

  /** Without a keyboard, nothing can be typed ahead. */
  constructor(keyboard: TurnKeyboard | undefined) {
    this.#keyboard = keyboard;
  }

  /** Keeps these texts and the queue for the prompt. */
  hold(texts: readonly string[] = []): void {
    const queued: string[] = [];
    for (let text = this.#keyboard?.takeQueued(); text !== undefined;) {
      queued.push(text);
      text = this.#keyboard?.takeQueued();
    }
    this.#held = [...this.#held, ...texts, ...queued];
  }

  /** The next queued message, unless unsent text is waiting for the prompt. */
  takeQueued(): string | undefined {
    return this.#held.length === 0 ? this.#keyboard?.takeQueued() : undefined;
  }

  /** The prompt's initial text, and lines about the texts that come after it. */
  giveBack(given: Typed): { readonly state: Typed; readonly lines: readonly string[] } {
    this.hold();
    const draft = this.#keyboard?.takeDraft();
    if (textOf(given) !== "") this.#held = [textOf(given), ...this.#held];
    const hasDraft = draft !== undefined && textOf(draft) !== "";
    const [first = "", ...others] = this.#held;
    if (!hasDraft) this.#held = others;
    const lines = this.#held.map((text) =>
      oneLine(`Not sent, and back at the next prompt: ${text}`),
    );
    if (hasDraft) return { state: draft, lines };
    return { state: first === textOf(given) ? given : first, lines };
  }

  /** Takes everything that was not sent. */
  takeAll(): readonly string[] {
    this.hold();
    const all = [...this.#held, textOf(this.#keyboard?.takeDraft() ?? "")];
    this.#held = [];
    return all.filter((text) => text.trim() !== "");
  }
}

export function textOf(typed: Typed): string {
  return typeof typed === "string" ? typed : typed.buffer.text;
}

/** A sent message, as the prompt leaves it on the screen. */
export function sentLines(text: string): readonly string[] {
  const [first = "", ...others] = neutralize(text.trimEnd()).split("\n");
  return ["", `> ${first}`, ...others.map((line) => `  ${line}`)];
}
