/**
 * What is said between a person and us about one matter: something printed first, then one widget
 * after the other, then the line that stays.
 */
import { isCodedError } from "../../util/index.ts";
import { neutralize, oneLine, truncate } from "../../render/index.ts";
import { contextLines, previewContext } from "./context-preview.ts";
import { startFreshLine } from "./fresh-line.ts";
import { type ClosedQuestion, closedLine } from "./question-line.ts";
import { scrollView } from "./scroll-view.ts";
import { type Shown, showWidget } from "./show-widget.ts";
import { canvasOf } from "./surface.ts";
import { openTerminal, type Terminal } from "./terminal-device.ts";
import type { Canvas, ReadMore, Widget } from "./widget.ts";

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

const MOST_NOTIFIED = 200;

/** Has the terminal to itself until it is disposed of, but for the time of an editor. */
export class Dialogue implements Disposable {
  readonly signal: AbortSignal;
  readonly #options: DialogueOptions;
  #opened: Terminal | undefined;
  /** All of what is only begun above the question. */
  #long: readonly string[] | undefined;
  /** What somebody is to be called for. */
  #call: string | undefined;

  constructor(options: DialogueOptions, signal: AbortSignal) {
    this.#options = options;
    this.signal = signal;
  }

  get hasEditor(): boolean {
    return this.#options.editText !== undefined;
  }

  get hasMore(): boolean {
    return this.#long !== undefined;
  }

  /** Throws `no_terminal`. */
  async start(): Promise<void> {
    if (!this.signal.aborted) await startFreshLine(this.#open(), this.signal);
  }

  /** Somebody is called when the question is there. */
  notify(message: string): void {
    const { bell = false, desktop = false } = this.#options.notification ?? {};
    // The name in front keeps a message from being taken for one of the sequence's own commands.
    const text = truncate(`jp: ${oneLine(message)}`, MOST_NOTIFIED);
    this.#call = `${desktop ? `\u001b]9;${text}\u0007` : ""}${bell ? "\u0007" : ""}`;
  }

  /** Above the question; of a long text as much as leaves `room` rows. */
  printContext(context: string, room: number): void {
    this.#write((canvas) => {
      const lines = contextLines(context, canvas);
      const rows = Math.max(3, canvas.rows - room);
      const { shown, hasMore } = previewContext(lines, { ...canvas, rows });
      if (hasMore) this.#long = lines;
      return toLines(shown);
    });
  }

  printLabel(label: string): void {
    this.#write(({ paint }) => toLines([paint("cyan", oneLine(label))]));
  }

  /** The whole of it, made harmless. */
  print(text: string): void {
    this.#write(() => toLines(neutralize(text.trimEnd()).split("\n")));
  }

  /** What stays of the question. */
  printClosed(closed: ClosedQuestion): void {
    this.#write((canvas) => toLines([closedLine(closed, canvas)]));
  }

  /** Throws `no_terminal`. */
  async show<State, Ending extends { readonly type: string }>(
    widget: Widget<State, Ending | ReadMore>,
    initial: State,
  ): Promise<Shown<State, Ending>> {
    let state = initial;
    for (;;) {
      const shown = await this.#showOne(widget, state);
      const { ending } = shown;
      if (!isReadMore(ending)) return { state: shown.state, ending };
      state = shown.state;
      await this.#showOne(scrollView(this.#long ?? []), { top: 0 }, true);
    }
  }

  /** The text, changed or not, and what went wrong. Never throws. */
  async edit(
    text: string,
    extension: string,
  ): Promise<{ readonly text: string; readonly problem?: string }> {
    this[Symbol.dispose]();
    try {
      const edited = await this.#options.editText?.(text, { extension, signal: this.signal });
      if (edited === undefined) return { text };
      // Editors end the last line, too.
      return { text: text.endsWith("\n") ? edited : edited.replace(/\r?\n$/, "") };
    } catch (error) {
      return { text, problem: neutralize(describeError(error)) };
    }
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.#opened = undefined;
  }

  async #showOne<State, Ending>(
    widget: Widget<State, Ending>,
    state: State,
    isFullScreen = false,
  ): Promise<Shown<State, Ending>> {
    if (this.signal.aborted) return { state, ending: { type: "aborted" } };
    const terminal = this.#open();
    const shown = showWidget(widget, state, { terminal, signal: this.signal, isFullScreen });
    terminal.write(this.#call ?? "");
    this.#call = undefined;
    return await shown;
  }

  #open(): Terminal {
    this.#opened ??= openTerminal();
    return this.#opened;
  }

  #write(make: (canvas: Canvas) => string): void {
    if (this.signal.aborted) return;
    const terminal = this.#open();
    terminal.write(make(canvasOf(terminal)));
  }
}

function isReadMore(ending: { readonly type: string }): ending is ReadMore {
  return ending.type === "read_more";
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\r\n`).join("");
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isCodedError(error) && error.hint !== undefined
    ? `${error.message}\n${error.hint}`
    : error.message;
}
