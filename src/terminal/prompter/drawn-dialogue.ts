/** A dialogue in widgets: each is drawn, changes with the keys, and is wiped away in the end. */
import { neutralize, oneLine, plain, truncate } from "../../render/index.ts";
import type { Aside, Asides } from "./aside.ts";
import { contextLines, previewContext } from "./context-preview.ts";
import type {
  Chosen,
  Dialogue,
  DialogueOptions,
  Entered,
  Selected,
  TextRequest,
} from "./dialogue.ts";
import { editElsewhere } from "./edit-elsewhere.ts";
import { startFreshLine } from "./fresh-line.ts";
import { closedHelp, type KeyMenu, keyMenu } from "./key-menu.ts";
import { type ClosedQuestion, closedLine } from "./question-line.ts";
import { scrollView } from "./scroll-view.ts";
import { secretEntry } from "./secret-entry.ts";
import { selectList } from "./select-list.ts";
import type { SelectList, SelectState } from "./select-rows.ts";
import { type Shown, showWidget } from "./show-widget.ts";
import { type Standing, standBelow, standingRows } from "./standing.ts";
import { canvasOf } from "./surface.ts";
import { takeNote } from "./take-note.ts";
import { openTerminal, type Terminal } from "./terminal-device.ts";
import { bufferOf } from "./text-buffer.ts";
import { textEntry } from "./text-entry.ts";
import type { Canvas, Closed, Size, Widget } from "./widget.ts";

const MOST_NOTIFIED = 200;

export class DrawnDialogue implements Dialogue {
  note: string | undefined;
  standing: Standing | undefined;
  readonly #options: DialogueOptions;
  readonly #signal: AbortSignal;
  #opened: Terminal | undefined;
  /** All of what was only begun above the question. */
  #long: string | undefined;
  #losesCursor = false;
  /** What somebody is to be called for. */
  #call: string | undefined;

  constructor(options: DialogueOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async start(): Promise<void> {
    if (this.#signal.aborted) return;
    const { losesCursor } = await startFreshLine(this.#open(), this.#signal);
    this.#losesCursor = losesCursor;
  }

  notify(message: string): void {
    const { bell = false, desktop = false } = this.#options.notification ?? {};
    // The name in front keeps a message from being taken for one of the sequence's own commands.
    const text = truncate(`jp: ${oneLine(message)}`, MOST_NOTIFIED);
    this.#call = `${desktop ? `\u001b]9;${text}\u0007` : ""}${bell ? "\u0007" : ""}`;
  }

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

  print(text: string): void {
    this.#write(() => toLines(neutralize(text.trimEnd()).split("\n")));
  }

  printClosed(closed: ClosedQuestion): void {
    this.#write((canvas) => toLines([closedLine(closed, canvas)]));
  }

  async choose<Choice extends string>(menu: KeyMenu<Choice>): Promise<Chosen<Choice> | Closed> {
    return (await this.#show((asides) => keyMenu(menu, asides), closedHelp)).ending;
  }

  async select(list: SelectList, state: SelectState): Promise<Selected> {
    return await this.#show((asides) => selectList(list, asides), state);
  }

  async enterText(request: TextRequest): Promise<Entered | Closed> {
    const { text = "", extension = ".md" } = request;
    const { editText } = this.#options;
    let { problem } = request;
    let buffer = bufferOf(text);
    for (;;) {
      const entry = { ...request, problem, hasEditor: editText !== undefined };
      const { state, ending } = await this.#show((asides) => textEntry(entry, asides), buffer);
      if (ending.type !== "editor") return ending;
      this[Symbol.dispose]();
      const edited = await editElsewhere(state.text, {
        editText,
        extension,
        signal: this.#signal,
      });
      buffer = bufferOf(edited.text);
      problem = edited.problem;
    }
  }

  async enterSecret(message: string): Promise<Entered | Closed> {
    return (await this.#show((asides) => secretEntry({ message }, asides), bufferOf(""))).ending;
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.#opened = undefined;
  }

  async #show<State, Ending extends { readonly type: string }>(
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
      else await takeNote(this);
    }
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
    const linesFor = (columns: number) =>
      texts.flatMap((text, index) => [
        ...(index === 0 ? [] : [""]),
        ...contextLines(text, { ...canvas, columns }),
      ]);
    await this.#showOne(scrollView(linesFor), { top: 0 }, true);
  }

  async #showOne<State, Ending>(
    widget: Widget<State, Ending>,
    state: State,
    isFullScreen = false,
  ): Promise<Shown<State, Ending>> {
    if (this.#signal.aborted) return { state, ending: { type: "aborted" } };
    const terminal = this.#open();
    const shown = showWidget(widget, state, {
      terminal,
      signal: this.#signal,
      isFullScreen,
      losesCursor: this.#losesCursor,
    });
    terminal.write(this.#call ?? "");
    this.#call = undefined;
    return await shown;
  }

  #open(): Terminal {
    this.#opened ??= openTerminal();
    return this.#opened;
  }

  #write(make: (canvas: Canvas) => string): void {
    if (this.#signal.aborted) return;
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
