/** Keeps text that the user typed during a turn and no model received, so that none of it is lost. */
import type { Output } from "../../../surfaces/terminal/index.ts";
import { neutralize } from "../../../util/index.ts";

export class UnsentText {
  #kept: readonly string[] = [];
  /** A reply that may not be on record yet. */
  #expected: { readonly reply: string; readonly isSent: () => boolean } | undefined;

  /** The oldest first. */
  get texts(): readonly string[] {
    const { reply, isSent } = this.#expected ?? {};
    return reply === undefined || isSent?.() === true ? this.#kept : [...this.#kept, reply];
  }

  keep(text: string): void {
    if (text.trim() !== "") this.#kept = [...this.#kept, text];
  }

  /** The turn continues with this reply once it is recorded. */
  expect(reply: string, isSent: () => boolean): void {
    this.#kept = this.texts;
    this.#expected = reply.trim() === "" ? undefined : { reply, isSent };
  }

  /** Prints the texts for the user to copy, and forgets them. */
  print(output: Pick<Output, "notice">): void {
    const { texts } = this;
    this.#kept = [];
    this.#expected = undefined;
    for (const text of texts) {
      output.notice("Not sent:");
      for (const line of neutralize(text).split("\n")) output.notice(`  ${line}`);
    }
  }
}

/** A sent message, as the prompt leaves it on the screen. */
export function sentLines(text: string): readonly string[] {
  const [first = "", ...others] = neutralize(text.trimEnd()).split("\n");
  return ["", `> ${first}`, ...others.map((line) => `  ${line}`)];
}
