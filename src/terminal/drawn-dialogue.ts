/** A dialogue in widgets: each is drawn, changes with the keys, and is wiped away in the end. */
import { neutralize, oneLine, plain, truncate, wrapCode } from "../render/index.ts";
import {
  type Passage,
  passageLines,
  previewContext,
  standBelow,
  type Standing,
  standingPassages,
} from "./above-question.ts";
import {
  type Chosen,
  type Dialogue,
  type DialogueOptions,
  editElsewhere,
  type Entered,
  type Selected,
  takeNote,
  type TextRequest,
} from "./dialogue.ts";
import { closedHelp, type KeyMenu, keyMenu } from "./key-menu.ts";
import { canvasOf } from "./live-region.ts";
import { fromStart, pager, type PagerEnding, type PagerState } from "./pager.ts";
import { type Aside, type Asides, type ClosedQuestion, closedRows } from "./question-rows.ts";
import { selectList, type SelectList, type SelectState } from "./select-list.ts";
import { type Shown, showWidget, startFreshLine } from "./show-widget.ts";
import { openTerminal, type Terminal } from "./terminal-device.ts";
import { bufferOf } from "./text-buffer.ts";
import { secretEntry, textEntry } from "./text-entry.ts";
import type { Canvas, Closed, Size, Widget } from "./widget.ts";

const MOST_NOTIFIED = 200;

interface Asked<State, Ending> {
  readonly make: (asides: Asides) => Widget<State, Ending | Aside>;
  readonly initial: State;
  /** What the question itself says. */
  readonly passages: readonly Passage[];
}

export class DrawnDialogue implements Dialogue {
  note: string | undefined;
  standing: Standing | undefined;
  readonly #options: DialogueOptions;
  readonly #signal: AbortSignal;
  #opened: Terminal | undefined;
  /** To be printed above the next question. */
  #above: readonly Passage[] = [];
  /** What was printed above it, perhaps not to its end. */
  #printed: readonly Passage[] = [];
  #isPrintedCut = false;
  /** The texts that were on the screen to their end, or were skipped on purpose. */
  readonly #read = new Set<string>();
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

  printContext(text: string): void {
    this.#above = [...this.#above, asContext(text)];
  }

  printLabel(text: string): void {
    this.#above = [...this.#above, { type: "label", text }];
  }

  print(text: string): void {
    this.#write(() => toLines(neutralize(text.trimEnd()).split("\n")));
  }

  printClosed(closed: ClosedQuestion): void {
    this.#write((canvas) => toLines(closedRows(closed, canvas)));
  }

  async choose<Choice extends string>(menu: KeyMenu<Choice>): Promise<Chosen<Choice> | Closed> {
    const make = (asides: Asides) => keyMenu(menu, asides);
    return (await this.#show({ make, initial: closedHelp, passages: [asQuestion(menu.message)] }))
      .ending;
  }

  async select(list: SelectList, state: SelectState): Promise<Selected> {
    const make = (asides: Asides) => selectList(list, asides);
    return await this.#show({ make, initial: state, passages: [asQuestion(list.message)] });
  }

  async enterText(request: TextRequest): Promise<Entered | Closed> {
    const { message, text = "", default: suggested = "", extension = ".md" } = request;
    if (request.isTextSeen === true) this.#read.add(text);
    const { editText } = this.#options;
    let { problem } = request;
    let buffer = bufferOf(text);
    for (;;) {
      const entry = { ...request, problem, hasEditor: editText !== undefined };
      const make = (asides: Asides) => textEntry(entry, asides);
      const passages = [
        asQuestion(message),
        ...(suggested === "" ? [] : [asQuestion(`Enter alone takes: ${suggested}`)]),
        ...(text === "" ? [] : [asContext(text)]),
      ];
      const { state, ending } = await this.#show({ make, initial: buffer, passages });
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
    const make = (asides: Asides) => secretEntry({ message }, asides);
    return (await this.#show({ make, initial: bufferOf(""), passages: [asQuestion(message)] }))
      .ending;
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.#opened = undefined;
  }

  /** Reads first what does not fit on the screen, then asks. */
  async #show<State, Ending extends { readonly type: string }>(
    asked: Asked<State, Ending>,
  ): Promise<Shown<State, Ending>> {
    if (this.#signal.aborted) return { state: asked.initial, ending: { type: "aborted" } };
    const passages = [
      ...this.#printed,
      ...this.#above,
      ...standingPassages(this.standing),
      ...asked.passages,
    ];
    const widget = this.#widgetFor(asked.make);
    if (!this.#fits(widget, asked.initial) && passages.some(({ text }) => !this.#read.has(text))) {
      const { ending } = await this.#readThrough(passages, true);
      if (ending.type !== "left") return { state: asked.initial, ending };
    }
    for (const { text } of passages) this.#read.add(text);
    this.#printAbove(widget, asked.initial);
    let state = asked.initial;
    for (;;) {
      const shown = await this.#showOne(widget, state);
      const { ending } = shown;
      if (!isAside(ending)) return { state: shown.state, ending };
      state = shown.state;
      if (ending.type === "read_more") await this.#readMore(ending, passages);
      else await takeNote(this);
    }
  }

  /** Whether there is more to read depends on the size, which may change at any time. */
  #widgetFor<State, Ending>(
    make: (asides: Asides) => Widget<State, Ending | Aside>,
  ): Widget<State, Ending | Aside> {
    const { standing } = this;
    const withMore = (hasMore: boolean) => {
      const own = make({ hasMore, note: this.note, read: this.#read });
      return standing === undefined ? own : standBelow(standing, own);
    };
    const at = (state: State, size: Size) => {
      const isCut = withMore(false).view(state, { ...size, paint: plain }).isCut === true;
      return withMore(isCut || this.#isPrintedCut);
    };
    return {
      update: (state, key, size) => at(state, size).update(state, key, size),
      view: (state, canvas) => at(state, canvas).view(state, canvas),
    };
  }

  /** Everything that must be read can be on the screen at once. */
  #fits<State, Ending>(widget: Widget<State, Ending>, state: State): boolean {
    const canvas = canvasOf(this.#open());
    const { rows, isCut = false } = widget.view(state, canvas);
    const above = passageLines(this.#above, canvas).flatMap((line) =>
      wrapCode(line, canvas.columns),
    );
    return !isCut && above.length + rows.length <= canvas.rows;
  }

  /** What stands above stays on the screen: as much of it as leaves room for the question. */
  #printAbove<State, Ending>(widget: Widget<State, Ending>, state: State): void {
    if (this.#above.length === 0) return;
    const canvas = canvasOf(this.#open());
    const room = canvas.rows - widget.view(state, canvas).rows.length;
    const rows = Math.max(3, room - 1); // A hint that there is more may take another row.
    const lines = passageLines(this.#above, canvas);
    const whole = previewContext(lines, { ...canvas, rows: Math.max(3, room) });
    const { shown, hasMore } = whole.hasMore ? previewContext(lines, { ...canvas, rows }) : whole;
    this.#isPrintedCut = hasMore;
    this.#printed = [...this.#printed, ...this.#above];
    this.#above = [];
    this.#write(() => toLines(shown));
  }

  async #readMore(
    { text, isRequired = false }: Extract<Aside, { type: "read_more" }>,
    passages: readonly Passage[],
  ): Promise<void> {
    const own = text === undefined ? [] : [asContext(text)];
    const all = isRequired ? own : [...own, ...passages];
    const { ending } = await this.#readThrough(all, isRequired);
    if (text !== undefined && ending.type === "left" && ending.isRead) this.#read.add(text);
  }

  #readThrough(
    passages: readonly Passage[],
    mustRead: boolean,
  ): Promise<Shown<PagerState, PagerEnding>> {
    const canvas = canvasOf(this.#open());
    const linesFor = (columns: number) =>
      passages.flatMap((passage, index) => [
        ...(index === 0 ? [] : [""]),
        ...passageLines([passage], { ...canvas, columns }),
      ]);
    return this.#showOne(pager({ linesFor, mustRead }), fromStart, true);
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

function asContext(text: string): Passage {
  return { type: "context", text };
}

function asQuestion(text: string): Passage {
  return { type: "question", text };
}

function isAside(ending: { readonly type: string }): ending is Aside {
  return ending.type === "read_more" || ending.type === "add_note";
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\r\n`).join("");
}
