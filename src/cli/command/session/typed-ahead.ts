/**
 * What the user types while jp works: messages that are sent when the turn ends, each on its own, and those that are not,
 * because the turn was stopped or failed. They are given back at the prompt, one after the other.
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

  /** Keeps these texts, and what is queued, for the prompt. */
  hold(texts: readonly string[] = []): void {
    const queued: string[] = [];
    for (let text = this.#keyboard?.takeQueued(); text !== undefined;) {
      queued.push(text);
      text = this.#keyboard?.takeQueued();
    }
    this.#held = [...this.#held, ...texts, ...queued];
  }

  /** The next message to send, unless something waits for the user at the prompt. */
  takeQueued(): string | undefined {
    return this.#held.length === 0 ? this.#keyboard?.takeQueued() : undefined;
  }

  /** What the prompt begins with, and lines that say what comes after it. */
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

  /** Everything that was not sent. Nothing is kept then. */
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

/** As the prompt leaves it on the screen. */
export function sentLines(text: string): readonly string[] {
  const [first = "", ...others] = neutralize(text.trimEnd()).split("\n");
  return ["", `> ${first}`, ...others.map((line) => `  ${line}`)];
}
