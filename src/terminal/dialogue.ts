/**
 * What is said between a person and us about one matter: something printed first, then one question
 * after the other, then the line that stays. How it looks is the business of those who implement it.
 */
import { neutralize } from "../render/index.ts";
import { isCodedError } from "../util/index.ts";
import type { Standing } from "./above-question.ts";
import type { KeyMenu } from "./key-menu.ts";
import type { ClosedQuestion } from "./question-rows.ts";
import type { SelectList, SelectState } from "./select-list.ts";
import type { Closed } from "./widget.ts";

/**
 * Opens an editor, which may take the terminal over. Undefined if the person has changed nothing; throws
 * if there is no editor or it fails, and then its message is shown.
 */
export type EditText = (
  text: string,
  options: { readonly extension: string; readonly signal: AbortSignal },
) => Promise<string | undefined>;

export interface DialogueOptions {
  /** How to call somebody who looks elsewhere: the terminal's bell, a message on the desktop. */
  readonly notification?: { readonly bell: boolean; readonly desktop: boolean };
  readonly editText?: EditText;
}

/** Has the terminal to itself until it is disposed of, but for the time of an editor. */
export interface Dialogue extends Disposable {
  /** What the person adds to the answer; undefined while no note is taken. */
  note: string | undefined;
  /** Above whatever is asked from now on. */
  standing: Standing | undefined;

  /** Throws `no_terminal`, as does everything that asks. */
  start(): Promise<void>;
  /** Somebody is called when the question is there. */
  notify(message: string): void;
  /** Above the next question, which cannot be answered before all of it was shown, or skipped on purpose. */
  printContext(context: string): void;
  printLabel(label: string): void;
  /** The whole of it, made harmless. */
  print(text: string): void;
  /** What stays of the question. */
  printClosed(closed: ClosedQuestion): void;

  /** One of a few things, each with a key of its own. */
  choose<Choice extends string>(menu: KeyMenu<Choice>): Promise<Chosen<Choice> | Closed>;
  /** One or several of a list. */
  select(list: SelectList, state: SelectState): Promise<Selected>;
  /** Words, here or in the person's own editor. */
  enterText(request: TextRequest): Promise<Entered | Closed>;
  /** Words of which nothing is shown, not even how many they are. */
  enterSecret(message: string): Promise<Entered | Closed>;
}

export interface Chosen<Choice extends string> {
  readonly type: "chosen";
  readonly choice: Choice;
}

export interface Selected {
  /** For when the same is asked again. */
  readonly state: SelectState;
  readonly ending: SelectEnding | Closed;
}

export type SelectEnding =
  /** In the order of the options. */
  | { readonly type: "chosen"; readonly indexes: readonly number[] }
  /** `isWhole`: the text was typed here. If not, it is only the beginning of one. */
  | { readonly type: "other"; readonly text: string; readonly isWhole: boolean };

export interface TextRequest {
  readonly message: string;
  /** What there is to change. It is read first, unless it was shown already. */
  readonly text?: string;
  readonly isTextSeen?: boolean;
  /** What an empty answer stands for, on one harmless line. */
  readonly default?: string | undefined;
  /** What was wrong with the text that is being changed; harmless. */
  readonly problem?: string | undefined;
  /** What giving up does, where it does not cancel the question. */
  readonly escape?: string;
  /** Of the file in an editor: `.md`. */
  readonly extension?: string;
}

export interface Entered {
  readonly type: "entered";
  readonly text: string;
}

export async function takeNote(dialogue: Pick<Dialogue, "note" | "enterText">): Promise<void> {
  const text = dialogue.note ?? "";
  dialogue.note = undefined; // There is none about the note itself.
  const entered = await dialogue.enterText({ message: "Note:", text, escape: "drops it" });
  dialogue.note = entered.type === "entered" ? entered.text.trim() : "";
}

export interface Editing {
  readonly editText: EditText | undefined;
  readonly extension: string;
  readonly signal: AbortSignal;
}

export interface Edited {
  /** Changed or not. */
  readonly text: string;
  /** What went wrong; harmless. */
  readonly problem?: string;
}

/** Never throws. */
export async function editElsewhere(
  text: string,
  { editText, extension, signal }: Editing,
): Promise<Edited> {
  try {
    const edited = await editText?.(text, { extension, signal });
    if (edited === undefined) return { text };
    // Editors end the last line, too.
    return { text: text.endsWith("\n") ? edited : edited.replace(/\r?\n$/, "") };
  } catch (error) {
    return { text, problem: neutralize(describeError(error)) };
  }
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isCodedError(error) && error.hint !== undefined
    ? `${error.message}\n${error.hint}`
    : error.message;
}
