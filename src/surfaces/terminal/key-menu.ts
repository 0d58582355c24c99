/**
 * The model of a question decided by a key: what it says, and what its keys and words mean. `decision-line.ts` draws it,
 * `plain-questions.ts` prints it. Pure.
 */

/** A question answered by a key. */
export interface KeyMenu<Choice extends string> {
  readonly message: string;
  readonly choices: readonly KeyChoice<Choice>[];
  /** The choice for Enter; without one, Enter shows the help. Decisions that act have none. */
  readonly default?: NoInfer<Choice> | undefined;
  /** Describes what Escape does. */
  readonly escape: string;
  /** The key for a no, which opens a line for words. Words alone are also a no. Absent if words are not accepted. */
  readonly noKey?: NoInfer<Choice> | undefined;
  /** False if words are only the reason for a no, not the next message. */
  readonly sendsWords?: boolean;
  /** Other keys of the widget, listed with the menu's own. */
  readonly besides?: readonly KeyChoice<string>[];
  /** It decides nothing about the content above, which therefore need not be read first. */
  readonly isAside?: boolean;
}

export interface KeyChoice<Choice extends string> {
  readonly key: Choice;
  /** A few words for the row below the question. Without a label, only the help lists the key. */
  readonly label?: string;
  /** Replaces the label on a small screen. */
  readonly short?: string;
  /** Describes the key in the help. Defaults to the label. */
  readonly help?: string;
  /** A no, which may be given before the text above was read. The menu's `noKey` always may. */
  readonly isNo?: true;
  /** A line of plain mode, such as `s 1`. No key decides it elsewhere. */
  readonly isLine?: boolean;
  /** What it decides beyond this question, in words: it decides only once they were shown and Enter was pressed. */
  readonly covers?: string;
}

export interface Chosen<Choice extends string> {
  readonly type: "chosen";
  readonly choice: Choice;
}

/** A no in words, which are never a yes. */
export interface SaidNo {
  readonly type: "said_no";
  readonly text: string;
  /** The words say what to do instead and become the next message. Otherwise they are only the reason. */
  readonly isMessage: boolean;
}

export function findChoice<Choice extends string>(
  { choices }: KeyMenu<Choice>,
  key: string,
): Choice | undefined {
  return choices.find((choice) => choice.key === key)?.key;
}

/** See `KeyChoice.covers`. */
export function findCoverage<Choice extends string>(
  { choices }: KeyMenu<Choice>,
  key: string,
): string | undefined {
  return choices.find((choice) => choice.key === key)?.covers;
}

export function takesWords<Choice extends string>({ noKey }: KeyMenu<Choice>): boolean {
  return noKey !== undefined;
}

/** What words at a yes-or-no question say. */
export function describeWords(sendsWords: boolean): string {
  return sendsWords ? "what to do instead" : "why not";
}

/** The help for each key. */
export function describeKeys<Choice extends string>({ choices, besides = [] }: KeyMenu<Choice>) {
  return [...choices.filter(({ isLine }) => isLine !== true), ...besides].flatMap(
    ({ key, label, help = label }) => (help === undefined ? [] : [{ key, help }]),
  );
}

const WORDS: Readonly<Record<string, "y" | "n">> = { yes: "y", no: "n" };

/** The key that a word stands for. */
export function keyOfWord(word: string): "y" | "n" | undefined {
  return WORDS[word.toLowerCase()];
}

export type WordsMeaning =
  | { readonly type: "yes" | "no" | "unclear" }
  | { readonly type: "words"; readonly text: string };

/** The meaning of a line that is not one of the keys. */
export function readWords(text: string): WordsMeaning {
  const trimmed = text.trim();
  const word = trimmed.toLowerCase().replace(/[.!]$/, "");
  const key = keyOfWord(word) ?? word;
  if (key === "y" || key === "n") return { type: key === "y" ? "yes" : "no" };
  const words = trimmed.replace(/^n\s+/, "");
  return words.length < 2 ? { type: "unclear" } : { type: "words", text: words };
}
