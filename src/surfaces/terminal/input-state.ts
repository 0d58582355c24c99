/** The state of an input line, what it works with, and how it ends. */
import { bufferOf, type TextBuffer } from "./text-buffer.ts";

export interface InputState extends HistoryPlace {
  readonly buffer: TextBuffer;
  /** What was deleted last with Ctrl-K, Ctrl-U, Ctrl-W or Ctrl-C: Ctrl-Y inserts it. */
  readonly deleted: string;
  readonly search?: Search | undefined;
  readonly menu?: CompletionMenu | undefined;
  /** Ctrl-C was pressed on an empty line: again, it leaves. */
  readonly isLeaving: boolean;
  /** The line was just cleared with Ctrl-C. */
  readonly isCleared: boolean;
}

/** What can complete the word before the cursor. */
export interface Completion {
  /** Where the word starts. */
  readonly from: number;
  /** The best first. More may be found after the line is drawn. */
  readonly candidates: () => readonly Candidate[];
  /** A hint of its own: that more are being found, or what Enter does. */
  readonly note?: () => string | undefined;
}

export interface Candidate {
  /** Replaces the word. */
  readonly text: string;
  /** Any text. */
  readonly description?: string;
  /** More can follow without a space, as after the name of a folder. */
  readonly isOpenEnded?: boolean;
  /** What Enter does if the user has not chosen another one: completes it, or also sends the line. By default, neither. */
  readonly onEnter?: "take" | "send";
}

export interface CompletionMenu extends Completion {
  readonly active: number;
  /** The user has chosen it with the arrow keys, so Enter takes it instead of sending the message as it is. */
  readonly isChosen: boolean;
}

export interface InputOptions {
  /** What was sent before, oldest first. It may still be loading when the line is drawn. */
  readonly history: () => readonly string[];
  readonly complete: (buffer: TextBuffer) => Completion | undefined;
  /** Ctrl-X opens it. That may become known only after the line is drawn. */
  readonly hasEditor: () => boolean;
  /** A message that starts with a slash can be a command. */
  readonly hasCommands?: boolean | undefined;
  /** Escape and Ctrl-C leave the line. */
  readonly hasWayBack?: boolean | undefined;
  /** What runs without asking, to be shown below the line. Shift-Tab changes it. */
  readonly mode?: (() => ShownMode | undefined) | undefined;
  /** For text that is typed while jp works: how the line says what Enter does. */
  readonly typedAhead?: string | undefined;
}

/** One line each, neutralized. */
export interface ShownMode {
  readonly name: string;
  /** In place of the key that changes it. */
  readonly note?: string | undefined;
}

export type InputEnding =
  /** `shown` is the same text with the folds of its pastes, if it has any. */
  | { readonly type: "sent"; readonly text: string; readonly shown?: TextBuffer }
  /** Ctrl-D, or Ctrl-C twice; with a way back, Escape or Ctrl-C. */
  | { readonly type: "left" }
  | { readonly type: "editor" }
  /** Shift-Tab. */
  | { readonly type: "next_mode" }
  | { readonly type: "clear_screen" };

/** Where in the history the line is. */
export interface HistoryPlace {
  /** Index of the entry that is shown; undefined for the new message. */
  readonly position: number | undefined;
  /** What the user made of entries, and of the new message (`new`), before moving on. */
  readonly edits: Readonly<Record<string, TextBuffer>>;
}

export interface Search {
  readonly query: string;
  /** Index of the entry that was found. */
  readonly found?: number | undefined;
  /** The line before the search. */
  readonly before: TextBuffer;
}

/** A new line, with that text on it. */
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
