/**
 * The port between questions and their display. `DrawnDialogue` draws widgets, `PlainDialogue` reads and writes lines;
 * the ask-… files work with either.
 */
import type { AnsweredPrompt, PromptResult, RequestBase } from "../../core/agent/index.ts";
import { type ContextStyle } from "../render/index.ts";
import { adviceOf, type Clock, isJpError, neutralize } from "../../util/index.ts";
import type { TerminalDevice } from "./controlling-terminal.ts";
import type { InputEnding, InputOptions, InputState } from "./input-state.ts";
import type { Key } from "./key.ts";
import type { ClosedQuestion } from "./question-rows.ts";

/** Owns the terminal until it is disposed, except while an editor runs. */
export interface Dialogue extends Disposable {
  /** The note sent with the answer; undefined if the question takes none. */
  note: string | undefined;
  /** Shown above every question from now on. */
  header: FormHeader | undefined;

  /** The current time, for answers that expire. */
  now(): Date;
  /** Throws `no_terminal`, as does every method that asks. */
  start(): Promise<void>;
  /** Rings the bell or sends a desktop notification once the question is on the screen. */
  notify(message: string): void;
  /** Shown above the next question, which takes no answer until the user has seen or skipped all of it. */
  printAbove(...passages: readonly Passage[]): void;
  /** Prints the whole text, neutralized. */
  print(text: string): void;
  /** Prints the line that stays on the screen after the answer. */
  printClosed(closed: ClosedQuestion): void;

  /** Words are a no, where the menu takes them. */
  choose<Choice extends string>(menu: KeyMenu<Choice>): Promise<Chosen<Choice> | SaidNo | NoAnswer>;
  /** Asks about several calls at once. */
  decideCalls(list: CallList, state: CallListState): Promise<DecidedCalls>;
  select(list: SelectList, state: SelectState): Promise<Selected>;
  /** Reads text, typed here or in the user's editor. */
  enterText(request: TextRequest): Promise<Entered | NoAnswer>;
  /** Reads text without showing any of it, not even its length. */
  enterSecret(message: string): Promise<Entered | NoAnswer>;
  /** Words typed at a question that ended another way. Returned only once. */
  takeDraft(): string | undefined;
  /** Prints unsent words, even if the signal is aborted. */
  printUnsent(text: string): void;
  /** Reads a message to the assistant rather than an answer. */
  enterMessage(request: MessageRequest): Promise<EnteredMessage>;
}

/** A text to read before answering. Any text. */
export interface Passage {
  readonly text: string;
  /**
   * A label names the asker, a notice is a sentence from jp itself. All types but contexts are one line each; all but
   * labels are shown verbatim.
   */
  readonly type: "context" | "label" | "notice" | "question";
  /** The style of a context. Defaults to prose. */
  readonly style?: ContextStyle | undefined;
  /** One neutralized line to show instead if not everything fits. */
  readonly short?: string | undefined;
}

export function asContext(text: string, style?: ContextStyle): Passage {
  return { type: "context", text, style };
}

export interface DialogueOptions {
  readonly device: TerminalDevice;
  /** How to get the user's attention when a question is waiting. */
  readonly notification?: { readonly bell: boolean; readonly desktop: boolean };
  readonly editText?: EditText;
  readonly clock: Clock;
  /** False without a conversation: words are then only the reason for a no. */
  readonly sendsWords?: boolean;
  /** The previous question was just withdrawn: keys may still be meant for it. */
  readonly isReplacement?: boolean;
}

/** How long a key is held, and how long a replacement prompt ignores keys meant for the previous one. */
export const HOLD_MS = 250;
/** Even slow typists pause no longer than this between two keys. */
export const TYPING_PAUSE_MS = 1000;

/**
 * Opens an editor, which may take over the terminal. Returns undefined if the user changed nothing. Throws if no editor
 * is available or it fails; the dialogue shows the message.
 */
export type EditText = (
  text: string,
  options: { readonly extension: string; readonly signal: AbortSignal },
) => Promise<string | undefined>;

/** Why a question ended without an answer. */
export type NoAnswer =
  /** The user cancelled it. `isInterrupt`: with Ctrl-C. `isEndOfInput`: with Ctrl-D, in plain mode. */
  | {
      readonly type: "cancelled";
      readonly isInterrupt?: boolean;
      readonly isEndOfInput?: boolean;
    }
  | Aborted;

/** The signal was aborted, or the terminal was closed. */
export interface Aborted {
  readonly type: "aborted";
}

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
}

export interface Chosen<Choice extends string> {
  readonly type: "chosen";
  readonly choice: Choice;
}

/** A no in words. */
export interface SaidNo {
  readonly type: "said_no";
  readonly text: string;
  /** The words say what to do instead and become the next message. Otherwise they are only the reason. */
  readonly isMessage: boolean;
}

/** Two or more calls to decide on. */
export interface CallList {
  readonly calls: readonly ListedCall[];
  /** Describes what Escape does. */
  readonly escape: string;
}

export interface ListedCall {
  /** Unlike a list index, it does not change when another call drops out. */
  readonly id: string;
  /** The whole call on one line, verbatim. */
  readonly line: string;
  /** The call in several lines, verbatim. */
  readonly text: readonly string[];
  /** Not covered by a yes to several calls: it has to be opened. */
  readonly isDecidedAlone: boolean;
  /** A single line does not show clearly what it does. */
  readonly isUnclear: boolean;
}

export interface CallListState {
  /** The ids of the active call, the chosen calls, and the calls that were on the screen. */
  readonly active: string;
  readonly chosen: readonly string[];
  readonly seen: readonly string[];
}

export interface DecidedCalls {
  /** Pass it back in when asking about the remaining calls. */
  readonly state: CallListState;
  readonly ending: CallListEnding | NoAnswer;
}

/** The decided calls, by id. */
export type CallListEnding =
  | { readonly type: "approved"; readonly ids: readonly string[] }
  | { readonly type: "denied"; readonly ids: readonly string[]; readonly said?: SaidNo }
  /** The user wants to see this call in full and decide on it alone. */
  | { readonly type: "opened"; readonly id: string };

export interface SelectList {
  readonly message: string;
  readonly options: readonly ListedOption[];
  /** Adds a last row for an unlisted answer. */
  readonly allowsOther?: boolean | undefined;
  /** Several options can be selected and are submitted together. */
  readonly isMultiple?: boolean | undefined;
  /** Describes Escape, if it does not cancel the question. */
  readonly escape?: string | undefined;
  /** The answer acts: Enter alone does not choose, and previews are shown verbatim. */
  readonly acts?: boolean | undefined;
  /** An option can be chosen before all its details were on the screen: nothing depends on them. */
  readonly isSkimmed?: boolean | undefined;
}

export interface ListedOption {
  /** One line, neutralized. */
  readonly label: string;
  /** The text the user may type for it, if different. */
  readonly typed?: string;
  /** Neutralized. */
  readonly description?: string;
  /** Any text. */
  readonly preview?: string;
  /** Also matched by the filter: any text. Its words match in any order. */
  readonly searched?: string;
}

export interface SelectState {
  readonly filter: string;
  /** Index of the active option; `options.length` stands for "Other". */
  readonly active: number;
  /** Indexes of the selected options, where several can be selected. */
  readonly marked: readonly number[];
  /** A key other than Enter was pressed, so the user has made a choice. */
  readonly isTouched?: boolean;
}

export interface Selected {
  /** Pass it back in when asking again. */
  readonly state: SelectState;
  readonly ending: SelectEnding | NoAnswer;
}

export type SelectEnding =
  /** In option order. */
  | { readonly type: "chosen"; readonly indexes: readonly number[] }
  /** `isWhole`: the user typed the complete answer; otherwise `text` is only its beginning. */
  | { readonly type: "other"; readonly text: string; readonly isWhole: boolean };

export interface TextRequest {
  readonly message: string;
  /** The text to edit. The user must see all of it first, unless `isTextSeen`. */
  readonly text?: string;
  readonly isTextSeen?: boolean;
  /** Describes an empty answer: one line, neutralized. */
  readonly default?: string | undefined;
  /** The problem with the edited text; neutralized. */
  readonly problem?: string | undefined;
  /** Describes Escape, if it does not cancel the question. */
  readonly escape?: string | undefined;
  /** File extension for the editor: `.md`. */
  readonly extension?: string;
}

export interface MessageRequest
  extends
    Pick<InputOptions, "history" | "complete" | "hasCommands" | "hasWayBack" | "mode">,
    Partial<Pick<InputOptions, "hasEditor">> {
  /** Earlier input: the full state, or only the text. */
  readonly state?: InputState | string | undefined;
  /** Explains the prompt, in plain mode. */
  readonly isFirst?: boolean;
  /** Called on Shift-Tab. Must not throw. */
  readonly onNextMode?: () => Promise<void>;
  /** Called once the prompt is open. */
  readonly onOpen?: (open: OpenMessage) => void;
}

/** Prints while the user is typing. */
export interface OpenMessage {
  /** Prints complete, neutralized lines above the prompt. Returns false once the prompt is closed. */
  print(lines: readonly string[]): boolean;
}

export interface EnteredMessage {
  /** Pass it back in to continue typing. */
  readonly state: InputState;
  readonly ending: Extract<InputEnding, { readonly type: "sent" | "left" }> | Aborted;
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

/** Asks for a note to send with the answer. Cancelling keeps the previous note. */
export async function enterNote(dialogue: Pick<Dialogue, "note" | "enterText">): Promise<void> {
  const text = dialogue.note ?? "";
  dialogue.note = undefined; // A note cannot have a note.
  const entered = await dialogue.enterText({ message: "Note:", text, escape: "go back" });
  dialogue.note = entered.type === "entered" ? entered.text.trim() : text;
}

export interface EditorOptions {
  readonly editText: EditText | undefined;
  /** Defaults to `.md`. */
  readonly extension?: string | undefined;
  readonly signal: AbortSignal;
}

export interface EditorResult {
  /** Edited or unchanged. */
  readonly text: string;
  /** The error; neutralized. */
  readonly problem?: string;
}

/** Never throws. The terminal must be closed while the editor uses it. */
export async function editInEditor(
  text: string,
  { editText, extension = ".md", signal }: EditorOptions,
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

/** Reads JSON and repeats until `check` accepts it. Undefined if the user goes back with Escape or an empty text. */
export async function enterJson<Valid extends object>(
  { isTextSeen = false, ...request }: Pick<TextRequest, "message" | "text" | "isTextSeen">,
  check: (text: string) => Promise<Valid | { readonly problem: string }>,
  dialogue: Pick<Dialogue, "enterText">,
): Promise<Valid | Aborted | undefined> {
  let asked: TextRequest = { ...request, isTextSeen, extension: ".json", escape: "go back" };
  for (;;) {
    const entered = await dialogue.enterText(asked);
    if (entered.type === "aborted") return entered;
    if (entered.type === "cancelled" || entered.text.trim() === "") return undefined;
    const { text } = entered;
    const checked = await check(text);
    if (!("problem" in checked)) return checked;
    // From now on, the text is the user's own.
    asked = { ...asked, text, isTextSeen: true, problem: neutralize(checked.problem) };
  }
}

export const NOT_AN_OBJECT = "Not a JSON object.";

/** The result of a cancel key. */
export function cancelledBy(key: Key): NoAnswer {
  const isInterrupt = key.type === "named" && key.name === "ctrl-c";
  return { type: "cancelled", ...(isInterrupt && { isInterrupt }) };
}

/** An answer, and its summary on the line that stays on the screen. */
export interface Answered extends AnsweredPrompt {
  readonly summary: string;
}

/** A prompt that may end without an answer. */
export interface Closable {
  readonly inquiryId: RequestBase["inquiryId"];
  /** Its questions, each of which leaves a line on the screen. */
  readonly messages: readonly string[];
  readonly allowsLater?: boolean | undefined;
  /** Cancelling would lose answers to other questions, so Escape alone does not. */
  readonly hasAnswers?: boolean;
  /** Several calls are pending, and all of them are left or cancelled. */
  readonly areSeveral?: boolean;
}

/** Describes Escape in the help. */
export const LATER_OR_CANCEL = "leave it for later, or cancel it";

/** Closes a prompt that has no answer. Undefined if the user goes back to it. */
export async function closeUnanswered(
  ended: NoAnswer,
  closable: Closable,
  dialogue: Pick<Dialogue, "choose" | "printClosed">,
): Promise<PromptResult | undefined> {
  const { inquiryId, messages } = closable;
  const closing = await chooseClosing(ended, closable, dialogue);
  if (closing === "back") return undefined;
  if (closing === "aborted") return { inquiryId, type: "interrupted" };
  const summary = closing === "later" ? "left for later" : "cancelled";
  for (const message of messages) dialogue.printClosed({ message, summary, isCancelled: true });
  return { inquiryId, type: closing };
}

/**
 * Escape and Ctrl-C offer to leave the question for later, if possible, or to go back to answers that would be lost. A
 * second Ctrl-C cancels.
 */
async function chooseClosing(
  ended: NoAnswer,
  { allowsLater = false, hasAnswers = false, areSeveral = false }: Closable,
  dialogue: Pick<Dialogue, "choose">,
): Promise<"back" | "later" | "cancelled" | "aborted"> {
  if (ended.type === "aborted") return ended.type;
  if (!allowsLater && (ended.isInterrupt === true || !hasAnswers)) return "cancelled";
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
  if (chosen.type === "cancelled" && chosen.isInterrupt === true) return "cancelled";
  if (chosen.type !== "chosen") return "back";
  return chosen.choice === "b" ? "back" : chosen.choice === "l" ? "later" : "cancelled";
}
