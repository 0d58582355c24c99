/** An input line's state, options and endings. */
import { bufferOf, type TextBuffer } from "./text-buffer.ts";

export interface InputState extends HistoryPlace {
  readonly buffer: TextBuffer;
  /** The text last deleted with Ctrl-K, Ctrl-U, Ctrl-W or Ctrl-C: Ctrl-Y inserts it. */
  readonly deleted: string;
  readonly search?: Search | undefined;
  readonly menu?: CompletionMenu | undefined;
  /** Ctrl-C was pressed on an empty line: the next one leaves. */
  readonly isLeaving: boolean;
  /** The line was just cleared with Ctrl-C. */
  readonly isCleared: boolean;
}

/** Candidates for the word before the cursor. */
export interface Completion {
  /** Where the word starts. */
  readonly from: number;
  /** Best first. More may be found after the line is drawn. */
  readonly candidates: () => readonly Candidate[];
  /** An additional hint: that more are being found, or what Enter does. */
  readonly note?: () => string | undefined;
}

export interface Candidate {
  /** Replaces the word. */
  readonly text: string;
  /** Any text. */
  readonly description?: string;
  /** More text can follow without a space, as after a folder's name. */
  readonly isOpenEnded?: boolean;
  /**
   * The effect of Enter if the user has not selected another candidate: completes it, or also sends the line. By default,
   * neither.
   */
  readonly onEnter?: "take" | "send";
}

export interface CompletionMenu extends Completion {
  readonly active: number;
  /** The user selected it with the arrow keys, so Enter takes it instead of sending the message. */
  readonly isChosen: boolean;
}

export interface InputOptions {
  /** Sent messages, oldest first. They may still be loading when the line is drawn. */
  readonly history: () => readonly string[];
  readonly complete: (buffer: TextBuffer) => Completion | undefined;
  /** Whether Ctrl-X opens an editor. May become known only after the line is drawn. */
  readonly hasEditor: () => boolean;
  /** Ctrl-O shows something where there is no long paste. */
  readonly expands?: boolean;
  /** A message that starts with a slash may be a command. */
  readonly hasCommands?: boolean | undefined;
  /** Escape and Ctrl-C leave the line. */
  readonly hasWayBack?: boolean | undefined;
  /** The mode: what runs without asking. Shown below the line. Shift-Tab changes it. */
  readonly mode?: (() => ShownMode | undefined) | undefined;
  /** The user has seen the keys often enough: one row names the most important ones. */
  readonly areHintsFolded?: boolean | undefined;
  /** For text typed while jp works: what Enter and Tab do with it. */
  readonly typedAhead?: ((text: string) => readonly string[]) | undefined;
}

/** One line each, neutralized. */
export interface ShownMode {
  readonly name: string;
  /** Replaces the name of the key that changes it. */
  readonly note?: string | undefined;
}

export type InputEnding =
  /** `shown` is the same text with its folded pastes, if any. */
  | { readonly type: "sent"; readonly text: string; readonly shown?: TextBuffer }
  /** Ctrl-D, or Ctrl-C twice; with a way back, Escape or Ctrl-C. */
  | { readonly type: "left" }
  | { readonly type: "editor" }
  /** Shift-Tab. */
  | { readonly type: "next_mode" }
  /** Ctrl-O, where there is no long paste. */
  | { readonly type: "expand" }
  | { readonly type: "clear_screen" };

/** The line's place in the history. */
export interface HistoryPlace {
  /** Index of the shown entry; undefined for the new message. */
  readonly position: number | undefined;
  /** The user's edits to entries, and to the new message (`new`), before moving on. */
  readonly edits: Readonly<Record<string, TextBuffer>>;
}

export interface Search {
  readonly query: string;
  /** Index of the matching entry. */
  readonly found?: number | undefined;
  /** The line before the search. */
  readonly before: TextBuffer;
}

/** A new line with this text. */
export function emptyInput(text: string | TextBuffer = ""): InputState {
  return {
    buffer: typeof text === "string" ? bufferOf(text) : text,
    deleted: "",
    position: undefined,
    edits: {},
    isLeaving: false,
    isCleared: false,
  };
}
