/** A question in lines of text: what is said, and what a line that was typed means. Pure. */

export interface PlainQuestion<Ending> {
  /** The question, and what there is to choose. Harmless. */
  readonly lines: readonly string[];
  /** What may be typed, in a sentence. */
  readonly hint: string;
  /** Words that are commands here and nowhere else, each with what it is for. */
  readonly commands?: readonly string[];
  /** What gives up, and what that does: `/cancel to leave`. */
  readonly cancelling: string;
  /** Said when help is asked for. */
  readonly help: readonly string[];
  readonly read: (line: string) => Reading<Ending>;
}

export type Reading<Ending> =
  | { readonly type: "end"; readonly ending: Ending }
  /** It means nothing here, or only asks for more: this is said, and another line is read. */
  | { readonly type: "again"; readonly lines: readonly string[] };

export function read<Ending>(ending: Ending): Reading<Ending> {
  return { type: "end", ending };
}

export function again(...lines: readonly string[]): Reading<never> {
  return { type: "again", lines };
}

/** `a, b or c`. */
export function listWords(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}
