/**
 * What is said between a person and us about one matter: something printed first, then one widget
 * after the other, then the line that stays.
 */
import { isCodedError } from "../../util/index.ts";
import { neutralize, oneLine, plain, truncate } from "../../render/index.ts";
import type { Aside, Asides } from "./aside.ts";
import { contextLines, previewContext } from "./context-preview.ts";
import { enterText } from "./enter-text.ts";
import { startFreshLine } from "./fresh-line.ts";
import { type ClosedQuestion, closedLine } from "./question-line.ts";
import { scrollView } from "./scroll-view.ts";
import { type Shown, showWidget } from "./show-widget.ts";
import { type Standing, standBelow, standingRows } from "./standing.ts";
import { canvasOf } from "./surface.ts";
import { openTerminal, type Terminal } from "./terminal-device.ts";
import type { Canvas, Size, Widget } from "./widget.ts";

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
  /** What the person adds to the answer; undefined while no note is taken. */
  note: string | undefined;
  /** Above whatever is shown from now on. */
  standing: Standing | undefined;
  readonly #options: DialogueOptions;
  #opened: Terminal | undefined;
  /** All of what was only begun above the question. */
  #long: string | undefined;
  /** What somebody is to be called for. */
  #call: string | undefined;

  constructor(options: DialogueOptions, signal: AbortSignal) {
    this.#options = options;
    this.signal = signal;
  }

  get hasEditor(): boolean {
    return this.#options.editText !== undefined;
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
      const rows = Math.max(3, canvas.rows - room);
      const { shown, hasMore } = previewContext(contextLines(context, canvas), { ...canvas, rows });
      if (hasMore) this.#long = context;
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
    make: (asides: Asides) => Widget<State, Ending | Aside>,
    initial: State,
  ): Promise<Shown<State, Ending>> {
    const { standing } = this;
    // Whether there is more to read depends on the size, which may change at any time.
    const widgetFor = (size: Size) => {
      const own = make(this.#asides(size));
      return standing === undefined ? own : standBelow(standing, own);
    };
    const widget: Widget<State, Ending | Aside> = {
      update: (state, key, size) => widgetFor(size).update(state, key, size),
      view: (state, canvas) => widgetFor(canvas).view(state, canvas),
    };
    let state = initial;
    for (;;) {
      const shown = await this.#showOne(widget, state);
      const { ending } = shown;
      if (!isAside(ending)) return { state: shown.state, ending };
      state = shown.state;
      if (ending.type === "read_more") await this.#read(ending.text);
      else await this.#takeNote();
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

  #asides(size: Size): Asides {
    const { standing, note } = this;
    const isCut =
      standing !== undefined && standingRows(standing, { ...size, paint: plain }).hasMore;
    return { hasMore: isCut || this.#long !== undefined, note };
  }

  async #read(first: string | undefined): Promise<void> {
    const canvas = canvasOf(this.#open());
    const texts = [first, this.#long ?? this.standing?.context?.text].filter(
      (text) => text !== undefined,
    );
    const lines = texts.flatMap((text, index) => [
      ...(index === 0 ? [] : [""]),
      ...contextLines(text, canvas),
    ]);
    await this.#showOne(scrollView(lines), { top: 0 }, true);
  }

  /** One that is given up is dropped. */
  async #takeNote(): Promise<void> {
    const text = this.note ?? "";
    this.note = undefined; // There is none about the note itself.
    const entered = await enterText({ message: "Note:", text, escape: "drops it" }, this);
    this.note = entered.type === "entered" ? entered.text.trim() : "";
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

function isAside(ending: { readonly type: string }): ending is Aside {
  return ending.type === "read_more" || ending.type === "add_note";
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
