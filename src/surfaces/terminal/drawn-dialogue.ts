/** The dialogue for ordinary terminals: draws each question as a widget and leaves one line of it. */
import { isDeepStrictEqual } from "node:util";
import { neutralize, oneLine } from "../../util/index.ts";
import { plain, truncate, wrapCode } from "../render/index.ts";
import { headerPassages, passageLines, previewContext, shortLines, withHeader } from "./context.ts";
import {
  asContext,
  type CallList,
  type CallListState,
  type Chosen,
  type DecidedCalls,
  type Dialogue,
  type DialogueOptions,
  editInEditor,
  type Entered,
  type EnteredMessage,
  enterNote,
  type FormHeader,
  type KeyMenu,
  type MessageRequest,
  type NoAnswer,
  type Passage,
  type SaidNo,
  type Selected,
  type SelectList,
  type SelectState,
  type TextRequest,
} from "./dialogue.ts";
import {
  type ClosedQuestion,
  closedRows,
  type SideAction,
  type SideActions,
} from "./question-rows.ts";
import { callList } from "./call-list.ts";
import { inputLine } from "./input-line.ts";
import { emptyInput } from "./input-state.ts";
import { messageRows } from "./input-view.ts";
import { type DecisionState, decisionLine, undecided } from "./decision-line.ts";
import { canvasOf } from "./live-region.ts";
import {
  MIN_TEXT_ROWS,
  pager,
  type PagerEnding,
  pagerStart,
  type PagerState,
  withTextAbove,
} from "./pager.ts";
import { selectList } from "./select-list.ts";
import { type ShowOptions, ShownWidget, startFreshLine } from "./show-widget.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { bufferOf, trimEnd } from "./text-buffer.ts";
import { secretEntry, textEntry } from "./text-entry.ts";
import type { Canvas, Size, Widget } from "./widget.ts";

const NOT_SENT = "Not sent:";
const MAX_NOTIFICATION_WIDTH = 200;
/** The draft key of a list of calls, which has no fixed question. */
const CALLS = "calls";
const CLEAR_SCREEN = "\u001b[H\u001b[2J";

interface WidgetPlace extends Pick<ShowOptions, "isFullScreen" | "asksVersion" | "onOpen"> {
  /** It takes a message, which continues earlier input. */
  readonly isMessage?: boolean;
}

interface Shown<State, Ending> {
  readonly state: State;
  readonly ending: Ending | NoAnswer;
}

interface WidgetRequest<State, Ending> {
  readonly make: (sideActions: SideActions) => Widget<State, Ending | SideAction>;
  readonly initial: State;
  /** The texts of the question itself. */
  readonly passages: readonly Passage[];
  /** A text that does not fit above the question is scrolled there instead of in the pager. */
  readonly scrollsText?: boolean;
}

export class DrawnDialogue implements Dialogue {
  note: string | undefined;
  header: FormHeader | undefined;
  readonly #options: DialogueOptions;
  readonly #signal: AbortSignal;
  #opened: Terminal | undefined;
  /** To print above the next question. */
  #above: readonly Passage[] = [];
  /** Printed above the question, perhaps truncated. */
  #printed: readonly Passage[] = [];
  #isPrintedCut = false;
  /** Texts that the user has read or skipped to the end. */
  readonly #read = new Set<string>();
  /** Words typed at undecided questions, by question. */
  readonly #drafts = new Map<string, DecisionState>();
  #isReplacement: boolean;
  #losesCursor = false;
  /** Control sequences to send once the question is visible. */
  #notification: string | undefined;

  constructor(options: DialogueOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#isReplacement = options.isReplacement === true;
  }

  now(): Date {
    return this.#options.clock.now();
  }

  async start(): Promise<void> {
    if (this.#signal.aborted) return;
    const { losesCursor } = await startFreshLine(this.#open());
    this.#losesCursor = losesCursor;
  }

  notify(message: string): void {
    const { bell = false, desktop = false } = this.#options.notification ?? {};
    // Without the prefix, a message could be read as a command of the sequence, such as `4;…` (progress).
    const text = truncate(`jp: ${oneLine(message)}`, MAX_NOTIFICATION_WIDTH);
    this.#notification = `${desktop ? `\u001b]9;${text}\u0007` : ""}${bell ? "\u0007" : ""}`;
  }

  printAbove(...passages: readonly Passage[]): void {
    this.#above = [...this.#above, ...passages];
  }

  print(text: string): void {
    this.#write(() => toLines(neutralize(text.trimEnd()).split("\n")));
  }

  printClosed(closed: ClosedQuestion): void {
    this.#write((canvas) => toLines(closedRows(closed, canvas)));
  }

  async choose<Choice extends string>(
    menu: KeyMenu<Choice>,
  ): Promise<Chosen<Choice> | SaidNo | NoAnswer> {
    const { message, noKey, isAside = false } = menu;
    const { sendsWords = true } = this.#options;
    const make = (sideActions: SideActions) => decisionLine({ ...menu, sendsWords }, sideActions);
    const draft = noKey === undefined ? undefined : this.#drafts.get(message);
    const asked = { make, initial: draft ?? undecided, passages: [asQuestion(message)] };
    const above = this.#above;
    if (isAside) this.#above = [];
    const { state, ending } = await this.#show({ ...asked, scrollsText: true });
    if (isAside) this.#above = above;
    if (noKey !== undefined) this.#noteDraft(message, state, ending);
    return ending;
  }

  /** Keeps words for when the question is asked again. */
  #noteDraft(message: string, state: DecisionState, ending: { readonly type: string }): void {
    const { line, isHeld } = state;
    if (isNoAnswer(ending) && !isHeld && line.text.trim() !== "") this.#drafts.set(message, state);
    else this.#drafts.delete(message);
  }

  async decideCalls(list: CallList, state: CallListState): Promise<DecidedCalls> {
    const { sendsWords = true } = this.#options;
    const make = (sideActions: SideActions) => callList({ ...list, sendsWords }, sideActions);
    const decision = this.#drafts.get(CALLS) ?? undecided;
    const asked = { make, initial: { ...state, decision }, passages: [] };
    const { state: end, ending } = await this.#show(asked);
    this.#noteDraft(CALLS, end.decision, ending);
    return { state: end, ending };
  }

  async select(list: SelectList, state: SelectState): Promise<Selected> {
    const make = (sideActions: SideActions) => ({
      ...selectList(list, sideActions),
      // Typed text is an answer only if other answers are allowed. Otherwise it is a filter.
      holdsWork: ({ filter, marked }: SelectState) =>
        filter.trim() === ""
          ? !isDeepStrictEqual(new Set(marked), new Set(state.marked))
          : list.allowsOther === true,
    });
    return await this.#show({ make, initial: state, passages: [asQuestion(list.message)] });
  }

  async enterText(request: TextRequest): Promise<Entered | NoAnswer> {
    const { message, text = "", default: suggested = "", extension } = request;
    if (request.isTextSeen === true) this.#read.add(text);
    const { editText } = this.#options;
    let { problem } = request;
    let buffer = bufferOf(text);
    for (;;) {
      const entry = { ...request, problem, hasEditor: editText !== undefined };
      const make = (sideActions: SideActions) => textEntry(entry, sideActions);
      const passages = [
        asQuestion(message),
        ...(suggested === "" ? [] : [asQuestion(`Default: ${suggested}`)]),
        ...(text === "" ? [] : [asContext(text)]),
      ];
      const { state, ending } = await this.#show({ make, initial: buffer, passages });
      if (ending.type === "submitted") return { type: "entered", text: state.text };
      if (ending.type !== "editor") return ending;
      this[Symbol.dispose]();
      const options = { editText, extension, signal: this.#signal };
      const edited = await editInEditor(state.text, options);
      buffer = bufferOf(edited.text);
      problem = edited.problem;
    }
  }

  async enterSecret(message: string): Promise<Entered | NoAnswer> {
    const make = (sideActions: SideActions) => secretEntry({ message }, sideActions);
    const passages = [asQuestion(message)];
    const { state, ending } = await this.#show({ make, initial: bufferOf(""), passages });
    return ending.type === "submitted" ? { type: "entered", text: state.text } : ending;
  }

  async enterMessage(request: MessageRequest): Promise<EnteredMessage> {
    const { editText } = this.#options;
    const { hasEditor = () => editText !== undefined } = request;
    const widget = inputLine({ ...request, hasEditor });
    const open: WidgetPlace = {
      isMessage: true,
      asksVersion: true,
      onOpen: (opened) => request.onOpen?.({ print: (lines) => opened.print(toLines(lines)) }),
    };
    const { state: start = "", isFirst = false } = request;
    if (!isFirst) this.#write(() => toLines([""])); // Below the last question's answer.
    let state = typeof start === "string" ? emptyInput(start) : start;
    for (;;) {
      const shown = await this.#showOne(widget, state, open);
      const { ending } = shown;
      ({ state } = shown);
      switch (ending.type) {
        case "editor": {
          this[Symbol.dispose]();
          const options = { editText, signal: this.#signal };
          const { text, problem } = await editInEditor(state.buffer.text, options);
          if (problem !== undefined) this.print(problem);
          state = { ...state, buffer: bufferOf(text) };
          break;
        }
        case "clear_screen":
          this.#open().write(CLEAR_SCREEN);
          break;
        case "next_mode":
          await request.onNextMode?.();
          break;
        case "cancelled": // Only questions can be.
          break;
        case "sent":
          this.#write((canvas) =>
            toLines(messageRows(trimEnd(ending.shown ?? bufferOf(ending.text)), canvas).rows),
          );
          return { state, ending };
        default:
          return { state, ending };
      }
    }
  }

  takeDraft(): string | undefined {
    const drafts = [...this.#drafts.values()].map(({ line }) => line.text.trim());
    this.#drafts.clear();
    return drafts.length === 0 ? undefined : drafts.join("\n\n");
  }

  printUnsent(text: string): void {
    const terminal = this.#open();
    const [first = "", ...others] = neutralize(text).split("\n");
    terminal.write(toLines([`${NOT_SENT} ${first}`, ...others]));
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.#opened = undefined;
  }

  /** First shows in the pager what does not fit on the screen, then asks. */
  async #show<State, Ending extends { readonly type: string }>(
    asked: WidgetRequest<State, Ending>,
  ): Promise<Shown<State, Ending>> {
    if (this.#signal.aborted) return { state: asked.initial, ending: { type: "aborted" } };
    const passages = [
      ...this.#printed,
      ...this.#above,
      ...headerPassages(this.header),
      ...asked.passages,
    ];
    const widget = this.#widgetFor(asked.make);
    let first: Shown<State, Ending | SideAction> | undefined;
    if (!this.#fits(widget, asked.initial) && passages.some(({ text }) => !this.#read.has(text))) {
      if (asked.scrollsText === true && this.#fitsBelowText(widget, asked.initial)) {
        const shown = await this.#showBelowText(widget, asked.initial);
        const { state, ending, isRead } = shown;
        if (!isRead && isNoAnswer(ending)) return { state, ending };
        first = shown;
      } else {
        const { ending } = await this.#readThrough(passages, true);
        if (ending.type !== "left") return { state: asked.initial, ending };
      }
    }
    for (const { text } of passages) this.#read.add(text);
    this.#printAbove(widget, asked.initial);
    let state = asked.initial;
    for (;;) {
      const shown = first ?? (await this.#showOne(widget, state));
      first = undefined;
      const { ending } = shown;
      if (!isSideAction(ending)) return { state: shown.state, ending };
      ({ state } = shown);
      // The held key has done its work.
      if (widget.isSettling?.(state) === true) state = widget.stepBack?.(state) ?? state;
      if (ending.type === "read_more") await this.#readMore(ending, passages);
      else await enterNote(this);
    }
  }

  /** Whether there is more to read depends on the screen size, which may change at any time. */
  #widgetFor<State, Ending>(
    make: (sideActions: SideActions) => Widget<State, Ending | SideAction>,
  ): Widget<State, Ending | SideAction> {
    const { header, note: noteBefore } = this;
    const withMore = (hasMore: boolean) => {
      const own = make({ hasMore, note: this.note, read: this.#read });
      return header === undefined ? own : withHeader(header, own);
    };
    const at = (state: State, size: Size) => {
      const isCut = withMore(false).view(state, { ...size, paint: plain }).isCut === true;
      return withMore(isCut || this.#isPrintedCut);
    };
    return {
      holdsWork: (state) => this.note !== noteBefore || withMore(false).holdsWork?.(state) === true,
      stepBack: (state) => withMore(false).stepBack?.(state),
      joinKeys: (keys) => withMore(false).joinKeys?.(keys) ?? keys,
      canEndUnread: (ending) => withMore(false).canEndUnread?.(ending) === true,
      isSettling: (state) => withMore(false).isSettling?.(state) === true,
      settle: (state, size) => at(state, size).settle?.(state, size) ?? { state },
      update: (state, key, size) => at(state, size).update(state, key, size),
      view: (state, canvas) => at(state, canvas).view(state, canvas),
    };
  }

  /** Whether everything the user must read fits on the screen at once. */
  #fits<State, Ending>(widget: Widget<State, Ending>, state: State): boolean {
    const canvas = canvasOf(this.#open());
    const { rows, isCut = false } = widget.view(state, canvas);
    const above = passageLines(this.#above, canvas).flatMap((line) =>
      wrapCode(line, canvas.columns),
    );
    return !isCut && above.length + rows.length <= canvas.rows;
  }

  /** Whether only the text above the question is cut, which can be scrolled there. */
  #fitsBelowText<State, Ending>(widget: Widget<State, Ending>, state: State): boolean {
    const canvas = canvasOf(this.#open());
    const { rows, isCut = false } = widget.view(state, canvas);
    const isAlone = this.#printed.length === 0 && this.header === undefined;
    return isAlone && !isCut && rows.length + MIN_TEXT_ROWS <= canvas.rows;
  }

  async #showBelowText<State, Ending>(widget: Widget<State, Ending>, own: State) {
    const canvas = canvasOf(this.#open());
    const passages = this.#above;
    const linesFor = (columns: number) => passageLines(passages, { ...canvas, columns });
    const reading = withTextAbove({ linesFor }, widget);
    const { state, ending } = await this.#showOne(reading, { own, text: pagerStart });
    return { state: state.own, ending, isRead: state.text.isRead };
  }

  /** Prints as much of the context as leaves room for the question. It stays on the screen. */
  #printAbove<State, Ending>(widget: Widget<State, Ending>, state: State): void {
    if (this.#above.length === 0) return;
    const canvas = canvasOf(this.#open());
    const room = canvas.rows - widget.view(state, canvas).rows.length;
    const whole = previewContext(passageLines(this.#above, canvas), {
      ...canvas,
      rows: Math.max(3, room),
    });
    const rows = Math.max(3, room - 1); // The hint about more text may take another row.
    const shown = whole.hasMore
      ? previewContext(shortLines(this.#above, canvas), { ...canvas, rows }).shown
      : whole.shown;
    this.#isPrintedCut = whole.hasMore;
    this.#printed = [...this.#printed, ...this.#above];
    this.#above = [];
    this.#write(() => toLines(shown));
  }

  async #readMore(
    { text, style, isRequired = false }: Extract<SideAction, { type: "read_more" }>,
    passages: readonly Passage[],
  ): Promise<void> {
    const own = text === undefined ? [] : [asContext(text, style)];
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
    return this.#showOne(pager({ linesFor, mustRead }), pagerStart, { isFullScreen: true });
  }

  async #showOne<State, Ending>(
    widget: Widget<State, Ending>,
    state: State,
    place: WidgetPlace = {},
  ): Promise<Shown<State, Ending>> {
    if (this.#signal.aborted) return { state, ending: { type: "aborted" } };
    const terminal = this.#open();
    const { clock } = this.#options;
    const { isMessage = false, ...shownAt } = place;
    const isReplacement = this.#isReplacement && !isMessage;
    this.#isReplacement = false;
    const shown = new ShownWidget(widget, state, {
      terminal,
      signal: this.#signal,
      clock,
      isReplacement,
      ...shownAt,
      losesCursor: this.#losesCursor,
    });
    terminal.write(this.#notification ?? "");
    this.#notification = undefined;
    const ending = await shown.ended;
    return { state: shown.state, ending };
  }

  #open(): Terminal {
    this.#opened ??= openTerminal(this.#options.device);
    return this.#opened;
  }

  #write(make: (canvas: Canvas) => string): void {
    if (this.#signal.aborted) return;
    const terminal = this.#open();
    terminal.write(make(canvasOf(terminal)));
  }
}

function asQuestion(text: string): Passage {
  return { type: "question", text };
}

function isNoAnswer(ending: { readonly type: string }): ending is NoAnswer {
  return ending.type === "cancelled" || ending.type === "aborted";
}

function isSideAction(ending: { readonly type: string }): ending is SideAction {
  return ending.type === "read_more" || ending.type === "add_note";
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\r\n`).join("");
}
