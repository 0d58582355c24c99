/**
 * The port between what is asked and how it looks on the terminal. `DrawnDialogue` draws widgets,
 * `PlainDialogue` reads and writes lines; the ask-… files talk to either without knowing which.
 */
import { type ContextStyle } from "../render/index.ts";
import { adviceOf, type Clock, isJpError, neutralize } from "../../util/index.ts";
import type { TerminalDevice } from "./controlling-terminal.ts";
import type { InputEnding, InputOptions, InputState } from "./input-state.ts";
import type { Key } from "./key.ts";
import type { ClosedQuestion } from "./question-rows.ts";

/** Owns the terminal until it is disposed, except while an editor runs. */
export interface Dialogue extends Disposable {
  /** The note that goes with the answer; undefined where the question takes none. */
  note: string | undefined;
  /** Shown above every question from now on. */
  header: FormHeader | undefined;

  /** The time, for what counts until another one. */
  now(): Date;
  /** Throws `no_terminal`, as does every method that asks. */
  start(): Promise<void>;
  /** Rings the bell or sends a desktop notification once the question is on the screen. */
  notify(message: string): void;
  /**
   * Shown above the next question, which takes no answer until the user has seen or skipped all of it. `short`: one line,
   * neutralized, that stays above the question where the rest does not fit.
   */
  printContext(context: string, style?: ContextStyle, short?: string): void;
  /** The same for a sentence of jp itself. */
  printNotice(notice: string): void;
  printLabel(label: string): void;
  /** Prints all of it, neutralized. */
  print(text: string): void;
  /** Prints the line that stays on the screen after the answer. */
  printClosed(closed: ClosedQuestion): void;

  choose<Choice extends string>(menu: KeyMenu<Choice>): Promise<Chosen<Choice> | NoAnswer>;
  /** The same for a yes or no, where words are a no. */
  decide<Choice extends string>(
    menu: YesNoMenu<Choice>,
  ): Promise<Chosen<Choice> | SaidNo | NoAnswer>;
  /** The same for several calls at once. */
  decideCalls(list: CallList, state: CallListState): Promise<DecidedCalls>;
  select(list: SelectList, state: SelectState): Promise<Selected>;
  /** Reads text, typed here or in the user's editor. */
  enterText(request: TextRequest): Promise<Entered | NoAnswer>;
  /** Reads text without showing any of it, not even its length. */
  enterSecret(message: string): Promise<Entered | NoAnswer>;
  /** Words that were typed at a question which then ended in another way. Returns each once. */
  takeDraft(): string | undefined;
  /** Prints such words, even if the signal is aborted. */
  printUnsent(text: string): void;
  /** Reads a message to the assistant, which is not the answer to a question. */
  enterMessage(request: MessageRequest): Promise<EnteredMessage>;
}

export interface DialogueOptions {
  readonly device: TerminalDevice;
  /** How to get the user's attention when a question is waiting. */
  readonly notification?: { readonly bell: boolean; readonly desktop: boolean };
  readonly editText?: EditText;
  readonly clock: Clock;
  /** False where there is no conversation: words are then only the reason of a no. */
  readonly sendsWords?: boolean;
  /** The question before was withdrawn a moment ago: keys may still be meant for that. */
  readonly isReplacement?: boolean;
}

/** How long a key is held, and how long a prompt that takes the place of another one ignores the keys meant for that. */
export const HOLD_MS = 250;
/** Who writes slowly leaves no longer pauses between two keys. */
export const TYPING_PAUSE_MS = 1000;

/**
 * Opens an editor, which may take over the terminal. Returns undefined if the user changed nothing.
 * Throws if there is no editor or it fails; the dialogue shows the message.
 */
export type EditText = (
  text: string,
  options: { readonly extension: string; readonly signal: AbortSignal },
) => Promise<string | undefined>;

/** Why a question ended without an answer. */
export type NoAnswer =
  /** The user cancelled it. `isInterrupt`: with Ctrl-C. `isEndOfInput`: with Ctrl-D, where lines are read. */
  | {
      readonly type: "cancelled";
      readonly isInterrupt?: boolean;
      readonly isEndOfInput?: boolean;
    }
  /** The signal was aborted, or the terminal was closed. */
  | { readonly type: "aborted" };

/** A question answered by a key. */
export interface KeyMenu<Choice extends string> {
  readonly message: string;
  readonly choices: readonly KeyChoice<Choice>[];
  /** What Enter selects; without it, Enter shows the help. Decisions that act have none. */
  readonly default?: NoInfer<Choice> | undefined;
  /** What Escape does. */
  readonly escape: string;
  /** The key for a no, which opens a line for words. Words alone are a no, too. Absent where words mean nothing. */
  readonly noKey?: NoInfer<Choice> | undefined;
  /** False if words are only the reason of a no, and not the next message. */
  readonly sendsWords?: boolean;
  /** Keys of whatever the question is about: named with its own. */
  readonly besides?: readonly KeyChoice<string>[];
  /** It decides nothing about what is above, which then need not be read first. */
  readonly isAside?: boolean;
}

export interface KeyChoice<Choice extends string> {
  readonly key: Choice;
  /** One or a few words, for the row below the question. Without it, only the help lists the key. */
  readonly label?: string;
  /** In place of the label on a small screen. */
  readonly short?: string;
  /** What it does, for the help; by default the label. */
  readonly help?: string;
}

export type YesNoMenu<Choice extends string> = KeyMenu<Choice> & { readonly noKey: Choice };

export interface Chosen<Choice extends string> {
  readonly type: "chosen";
  readonly choice: Choice;
}

/** A no in words. */
export interface SaidNo {
  readonly type: "said_no";
  readonly text: string;
  /** They say what to do instead, and are the next message. Otherwise they are only the reason. */
  readonly isMessage: boolean;
}

/** Calls to decide about, two or more. */
export interface CallList {
  readonly calls: readonly ListedCall[];
  /** What Escape does. */
  readonly escape: string;
}

export interface ListedCall {
  /** Unlike its place in the list, it does not change when another call drops out. */
  readonly id: string;
  /** All of it on one line, verbatim. */
  readonly line: string;
  /** The same to be read at leisure, verbatim. */
  readonly text: readonly string[];
  /** A yes to several never covers it: it has to be opened. */
  readonly isDecidedAlone: boolean;
  /** Its one line does not show clearly what it does. */
  readonly isUnclear: boolean;
}

export interface CallListState {
  /** The ids of the call that is active, of those that are chosen, and of those that were on the screen. */
  readonly active: string;
  readonly chosen: readonly string[];
  readonly seen: readonly string[];
}

export interface DecidedCalls {
  /** Pass it back in when asking about what is left of the same. */
  readonly state: CallListState;
  readonly ending: CallListEnding | NoAnswer;
}

/** Which calls were decided, by their ids. */
export type CallListEnding =
  | { readonly type: "approved"; readonly ids: readonly string[] }
  | { readonly type: "denied"; readonly ids: readonly string[]; readonly said?: SaidNo }
  /** The user wants to see one in full, and decide about it alone. */
  | { readonly type: "opened"; readonly id: string };

export interface SelectList {
  readonly message: string;
  readonly options: readonly ListedOption[];
  /** Adds a last row for an answer that is not listed. */
  readonly allowsOther?: boolean | undefined;
  /** Several options can be selected and are submitted together. */
  readonly isMultiple?: boolean | undefined;
  /** What Escape does, if it does not cancel the question. */
  readonly escape?: string | undefined;
  /** The answer acts: Enter alone does not choose, and previews are shown verbatim. */
  readonly acts?: boolean | undefined;
  /** An option can be chosen although not all about it fits on the screen: nothing depends on the rest. */
  readonly isSkimmed?: boolean | undefined;
}

export interface ListedOption {
  /** One line, neutralized. */
  readonly label: string;
  /** What the user may type for it, if that differs. */
  readonly typed?: string;
  /** Neutralized. */
  readonly description?: string;
  /** Any text. */
  readonly preview?: string;
  /** Also searched when the user types: any text. Its words may then come in any order. */
  readonly searched?: string;
}

export interface SelectState {
  readonly filter: string;
  /** Index of the active option; `options.length` stands for "Other". */
  readonly active: number;
  /** Indexes of the selected options, where several can be selected. */
  readonly marked: readonly number[];
  /** Another key than Enter was pressed, so the choice is the user's. */
  readonly isTouched?: boolean;
}

export interface Selected {
  /** Pass it back in when asking the same again. */
  readonly state: SelectState;
  readonly ending: SelectEnding | NoAnswer;
}

export type SelectEnding =
  /** In the order of the options. */
  | { readonly type: "chosen"; readonly indexes: readonly number[] }
  /** `isWhole`: the user typed the complete answer; otherwise `text` is only its beginning. */
  | { readonly type: "other"; readonly text: string; readonly isWhole: boolean };

export interface TextRequest {
  readonly message: string;
  /** The text to edit. The user must see all of it first, unless `isTextSeen`. */
  readonly text?: string;
  readonly isTextSeen?: boolean;
  /** What an empty answer means: one line, neutralized. */
  readonly default?: string | undefined;
  /** What is wrong with the text being edited; neutralized. */
  readonly problem?: string | undefined;
  /** What Escape does, if it does not cancel the question. */
  readonly escape?: string | undefined;
  /** Extension of the file in the editor: `.md`. */
  readonly extension?: string;
}

export interface MessageRequest
  extends
    Pick<InputOptions, "history" | "complete" | "hasCommands" | "hasWayBack" | "mode">,
    Partial<Pick<InputOptions, "hasEditor">> {
  /** What was typed before: where the user was, or only the text. */
  readonly state?: InputState | string | undefined;
  /** Say how to use the prompt, where it cannot be seen. */
  readonly isFirst?: boolean;
  /** Shift-Tab was pressed. Must not throw. */
  readonly onNextMode?: () => Promise<void>;
  /** Called once the prompt is open. */
  readonly onOpen?: (open: OpenMessage) => void;
}

/** For what happens while the user types. */
export interface OpenMessage {
  /** Prints complete lines above the prompt. Neutralized. Returns false once the prompt is closed. */
  print(lines: readonly string[]): boolean;
}

export interface EnteredMessage {
  /** Pass it back in to continue with what was typed. */
  readonly state: InputState;
  readonly ending:
    | Extract<InputEnding, { readonly type: "sent" | "left" }>
    | Extract<NoAnswer, { readonly type: "aborted" }>;
}

export interface Entered {
  readonly type: "entered";
  readonly text: string;
}

/** Shown above each question of a form while it is open, and removed with it. */
export interface FormHeader {
  readonly answered: readonly ClosedQuestion[];
  /** All questions are answered, and the user reviews the answers. */
  readonly isReview?: boolean;
  /** Any text. */
  readonly context?: string | undefined;
  readonly style?: ContextStyle | undefined;
}

/** Asks for a note to go with the answer. Cancelling leaves the note as it was. */
export async function enterNote(dialogue: Pick<Dialogue, "note" | "enterText">): Promise<void> {
  const text = dialogue.note ?? "";
  dialogue.note = undefined; // A note takes no note of its own.
  const entered = await dialogue.enterText({ message: "Note:", text, escape: "go back" });
  dialogue.note = entered.type === "entered" ? entered.text.trim() : text;
}

export interface EditorOptions {
  readonly editText: EditText | undefined;
  readonly extension: string;
  readonly signal: AbortSignal;
}

export interface EditorResult {
  /** Edited or unchanged. */
  readonly text: string;
  /** What went wrong; neutralized. */
  readonly problem?: string;
}

/** Never throws. The terminal must be closed while the editor has it. */
export async function editInEditor(
  text: string,
  { editText, extension, signal }: EditorOptions,
): Promise<EditorResult> {
  try {
    const edited = await editText?.(text, { extension, signal });
    if (edited === undefined) return { text };
    // Most editors add a newline to the last line.
    return { text: text.endsWith("\n") ? edited : edited.replace(/\r?\n$/, "") };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const advice = isJpError(error) ? adviceOf(error) : undefined;
    return {
      text,
      problem: neutralize(advice === undefined ? message : `${message}\n${advice}`),
    };
  }
}

/** What a key that cancels means. */
export function cancelledBy(key: Key): NoAnswer {
  const isInterrupt = key.type === "named" && key.name === "ctrl-c";
  return { type: "cancelled", ...(isInterrupt && { isInterrupt }) };
}

/** What to do about a question that the user interrupted. */
export type Closing = "back" | "later" | "cancelled" | "aborted";

export interface ClosingOptions {
  readonly allowsLater?: boolean;
  /** Cancelling would lose answers to other questions, so Escape does not do it alone. */
  readonly hasAnswers?: boolean;
  /** Several calls wait, and all of them are left or cancelled. */
  readonly areSeveral?: boolean;
}

/** What Escape does then, in the help. */
export const LATER_OR_CANCEL = "leave it for later, or cancel it";

/**
 * Escape and Ctrl-C offer to leave it for later, where that is possible, or to go back to answers that would be lost.
 * Ctrl-C, pressed again, cancels.
 */
export async function chooseClosing(
  { isInterrupt = false }: Extract<NoAnswer, { readonly type: "cancelled" }>,
  { allowsLater = false, hasAnswers = false, areSeveral = false }: ClosingOptions,
  dialogue: Pick<Dialogue, "choose">,
): Promise<Closing> {
  if (!allowsLater && (isInterrupt || !hasAnswers)) return "cancelled";
  const [all, them] = areSeveral ? ["all of them", "them"] : ["this", "it"];
  const later = { key: "l", label: `leave ${them} for later`, short: "later" } as const;
  const chosen = await dialogue.choose<"l" | "c" | "b">({
    message: allowsLater ? `Leave ${all} for later, or cancel ${them}?` : "Cancel it?",
    choices: [
      ...(allowsLater ? [later] : []),
      { key: "c", label: `cancel ${them}`, short: "cancel" },
      { key: "b", label: "go back", short: "back" },
    ],
    escape: "go back",
    isAside: true,
  });
  if (chosen.type === "aborted") return "aborted";
  if (chosen.type === "cancelled") return chosen.isInterrupt === true ? "cancelled" : "back";
  return chosen.choice === "b" ? "back" : chosen.choice === "l" ? "later" : "cancelled";
}
