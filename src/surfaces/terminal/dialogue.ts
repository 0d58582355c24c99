/**
 * The port between questions and their display. `DrawnDialogue` draws prompts as widgets, `PlainDialogue` prints them and
 * reads lines; the ask-… files work with either.
 */
import type { AnsweredPrompt, ClosingReason } from "../../core/agent/index.ts";
import type { ContextStyle } from "../render/index.ts";
import { adviceOf, type Clock, isJpError, neutralize, oneLine } from "../../util/index.ts";
import { takenPrompts, takeUnsent, type TerminalDevice } from "./controlling-terminal.ts";
import type { DecisionState } from "./decision-line.ts";
import { emptyInput, type InputEnding, type InputOptions, type InputState } from "./input-state.ts";
import type { Key } from "./key.ts";
import type { PlainQuestion } from "./plain-questions.ts";
import type { ClosedQuestion, SideAction, SideActions } from "./question-rows.ts";
import { dismissNotice, noticeTaken } from "./taken-prompt.ts";
import type { Widget } from "./widget.ts";

/** The two forms of a prompt. Both read their answers into the same state and endings. */
export interface PromptForms<State, Ending> {
  /** Its own texts, for reading where they do not fit on the screen. */
  readonly passages?: () => readonly Passage[];
  /** A text that does not fit above it is scrolled there instead of in the pager. */
  readonly scrollsText?: boolean;
  /** It decides nothing about the content above, which therefore need not be read first. */
  readonly isAside?: boolean;
  /** On ordinary terminals. */
  readonly drawn: (sideActions: SideActions) => Widget<State, Ending | SideAction | NoAnswer>;
  /** What is typed must not be shown, not even as unsent. */
  readonly isSecret?: boolean;
  /** For screen readers and simple terminals. */
  readonly plain: (state: State) => PlainQuestion<Ending, State>;
}

export class Prompt<State, Ending> {
  /** Follows what the user does, and stays when the prompt is asked again. */
  state: State;
  readonly forms: PromptForms<State, Ending>;

  constructor(state: State, forms: PromptForms<State, Ending>) {
    this.state = state;
    this.forms = forms;
  }
}

/** Owns the terminal until it is disposed, except while an editor runs. */
export abstract class Dialogue implements Disposable {
  /** The note sent with the answer; undefined if the question takes none. */
  note: string | undefined;
  /** Shown above every question from now on. */
  header: FormHeader | undefined;
  /** Words typed at undecided questions, by question. */
  readonly drafts = new Map<string, DecisionState>();
  /** Text typed at a prompt that was taken away. */
  unsent = "";
  protected readonly options: DialogueOptions;
  protected readonly signal: AbortSignal;
  /** The prompt that the user has seen last. */
  #seen: { readonly isSecret: boolean } | undefined;
  #isReplacement: boolean;

  constructor(options: DialogueOptions, signal: AbortSignal) {
    this.options = options;
    this.signal = signal;
    this.#isReplacement = options.isReplacement === true;
  }

  /** The current time, for answers that expire. */
  now(): Date {
    return this.options.clock.now();
  }

  /** Words at a question become the next message. */
  get sendsWords(): boolean {
    return this.options.sendsWords !== false;
  }

  get hasEditor(): boolean {
    return this.options.editText !== undefined;
  }

  /** Throws `no_terminal`, as does every method that asks. */
  abstract start(): Promise<void>;
  /** Rings the bell or sends a desktop notification once the question is on the screen. */
  abstract notify(message: string): void;
  /** Shown above the next question, which takes no answer until the user has seen or skipped all of it. */
  abstract printAbove(...passages: readonly Passage[]): void;
  /** Prints the whole text, neutralized. */
  abstract print(text: string): void;
  /** Prints the line that stays on the screen after the answer. */
  abstract printClosed(closed: ClosedQuestion): void;
  abstract ask<State, Ending extends { readonly type: string }>(
    prompt: Prompt<State, Ending>,
  ): Promise<Ending | NoAnswer>;
  /** Reads a message to the assistant rather than an answer. */
  abstract enterMessage(request: MessageRequest): Promise<EnteredMessage>;
  /** Prints unsent words, even if the signal is aborted. */
  abstract printUnsent(text: string): void;
  abstract [Symbol.dispose](): void;

  /** Edits a text in the user's editor, which has the terminal meanwhile. Never throws. */
  async edit(text: string, extension = ".md"): Promise<EditedText> {
    this[Symbol.dispose]();
    const { editText } = this.options;
    try {
      const edited = await editText?.(text, { extension, signal: this.signal });
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

  /** Words typed at a question that ended another way. Returned only once. */
  takeDraft(): string | undefined {
    const words = [...this.drafts.values()].map(({ line }) => line.text);
    const drafts = [...words, this.unsent].filter((text) => text.trim() !== "");
    this.drafts.clear();
    this.unsent = "";
    return drafts.length === 0 ? undefined : drafts.join("\n\n");
  }

  /** Text that was typed for earlier prompts, and that the user may fetch. */
  get fetchable(): string {
    return takenPrompts.get(this.options.device)?.unsent.trim() ?? "";
  }

  /** The user has fetched it, and sent it. */
  noteFetched(): void {
    takeUnsent(this.options.device);
  }

  /** Until disposed, a notice takes the place of a prompt that the signal takes away. It may say why. */
  watch(why?: string): Disposable {
    const { signal } = this;
    const onAbort = () => {
      const reason = signal.reason as Partial<ClosingReason> | null; // A program may give any.
      const message = why ?? reason?.notice ?? "This question was withdrawn.";
      if (this.#seen === undefined || message === "") return;
      noticeTaken(this.options.device, { message: oneLine(message), ...this.#seen });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    return { [Symbol.dispose]: () => signal.removeEventListener("abort", onAbort) };
  }

  protected noteSeen({ isSecret = false }: { readonly isSecret?: boolean | undefined }): void {
    this.#seen = { isSecret };
  }

  /** The message to begin with, and text typed for prompts that were taken away. */
  protected withUnsent(start: InputState | string = ""): InputState {
    const state = typeof start === "string" ? emptyInput(start) : start;
    const unsent = takeUnsent(this.options.device);
    if (unsent === undefined) return state;
    const { text } = state.buffer;
    return emptyInput(text.trim() === "" ? unsent : `${text}\n\n${unsent}`);
  }

  /** The user has dismissed the notice. Returns what they had typed there, if it is not kept for the next message. */
  protected endNotice(): string {
    this.#isReplacement = true;
    const text = dismissNotice(this.options.device);
    return this.options.keepsUnsent === true ? "" : text;
  }

  /** Whether input may be meant for another question, which this one has just replaced. True only once. */
  protected takeReplacement(): boolean {
    const isReplacement = this.#isReplacement;
    this.#isReplacement = false;
    return isReplacement;
  }
}

export interface EditedText {
  /** Edited or unchanged. */
  readonly text: string;
  /** The error; neutralized. */
  readonly problem?: string;
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
  /** The user has seen all of it before. */
  readonly isSeen?: boolean;
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
  /** Text that was typed for a prompt that was taken away becomes the next message. Otherwise it is printed. */
  readonly keepsUnsent?: boolean;
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
  /** Returns the lines to print on Ctrl-O, where no long paste is opened. Must not throw. */
  readonly expand?: () => readonly string[];
  /** Called with the typed text when it may have changed. Must not throw. */
  readonly onTyped?: (text: string) => void;
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

/** Shown above each question of a form while it is open, and removed with it. */
export interface FormHeader {
  readonly answered: readonly ClosedQuestion[];
  /** All questions are answered, and the user reviews the answers. */
  readonly isReview?: boolean;
  /** Any text. */
  readonly context?: string | undefined;
  readonly style?: ContextStyle | undefined;
}

/** The result of a cancel key. */
export function cancelledBy(key: Key): NoAnswer {
  const isInterrupt = key.type === "named" && key.name === "ctrl-c";
  return { type: "cancelled", ...(isInterrupt && { isInterrupt }) };
}

/** An answer, and its summary on the line that stays on the screen. */
export interface Answered extends AnsweredPrompt {
  readonly summary: string;
}
