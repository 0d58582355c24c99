/** The dialogue for ordinary terminals: draws each question as a widget and leaves one line of it. */
import { neutralize, oneLine } from "../../util/index.ts";
import { plain, truncate, wrapCode } from "../render/index.ts";
import {
  headerPassages,
  passageLines,
  previewContext,
  shortLines,
  withHeader,
  withRowsAbove,
} from "./context.ts";
import {
  asContext,
  Dialogue,
  type EnteredMessage,
  type MessageRequest,
  type NoAnswer,
  type Passage,
  type Prompt,
} from "./dialogue.ts";
import { type ClosedQuestion, closedRows, type SideAction } from "./question-rows.ts";
import { inputLine, typedText } from "./input-line.ts";
import { messageRows } from "./input-view.ts";
import { canvasOf } from "./live-region.ts";
import { MIN_TEXT_ROWS, pager, type PagerEnding, pagerStart, withTextAbove } from "./pager.ts";
import { type ShowOptions, ShownWidget, startFreshLine } from "./show-widget.ts";
import { openTerminal, type ShownPrompts, type Terminal } from "./terminal.ts";
import {
  findNotice,
  noteShown,
  NOT_SENT,
  noticeWidget,
  typeAtNotice,
  typeEarly,
} from "./taken-prompt.ts";
import { bufferOf, trimEnd } from "./text-buffer.ts";
import { enterNote } from "./text-entry.ts";
import type { Canvas, Size, Widget } from "./widget.ts";

const MAX_NOTIFICATION_WIDTH = 200;
/** In a session, the hints about keys are short after so many messages or questions. */
const PROMPTS_WITH_ALL_HINTS = 3;
const CLEAR_SCREEN = "\u001b[H\u001b[2J";

interface WidgetPlace extends Pick<ShowOptions, "isFullScreen" | "asksVersion" | "onOpen"> {
  /** It takes a message, which continues earlier input. */
  readonly isMessage?: boolean;
  /** It keeps keys that are meant for the previous prompt. */
  readonly isNotice?: boolean;
}

/** A prompt, or another widget's place: holds the state of the widget while it is shown, and afterwards. */
interface Holder<State> {
  state: State;
}

export class DrawnDialogue extends Dialogue {
  #opened: Terminal | undefined;
  /** To print above the next question. */
  #above: readonly Passage[] = [];
  /** Printed above the question, perhaps truncated. */
  #printed: readonly Passage[] = [];
  #isPrintedCut = false;
  /** Texts that the user has read or skipped to the end. */
  readonly #read = new Set<string>();
  #losesCursor = false;
  /** Undefined before the first question. */
  #areHintsFolded: boolean | undefined;
  /** Control sequences to send once the question is visible. */
  #notification: string | undefined;

  async start(): Promise<void> {
    if (this.signal.aborted) return;
    const { losesCursor, early } = await startFreshLine(this.#open());
    this.#losesCursor = losesCursor;
    // Between prompts, only a terminal that is kept open shows the notice.
    const wasShown = this.#open().msSinceTyped !== undefined;
    if (typeEarly(this.options.device, early, wasShown) === "dismissed") this.#closeNotice();
  }

  notify(message: string): void {
    const { bell = false, desktop = false } = this.options.notification ?? {};
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

  /** First shows in the pager what does not fit on the screen, then asks. */
  async ask<State, Ending extends { readonly type: string }>(
    prompt: Prompt<State, Ending>,
  ): Promise<Ending | NoAnswer> {
    await this.#showNotice();
    const above = this.#above;
    const { isAside = false, isSecret } = prompt.forms;
    this.#areHintsFolded ??= this.#countPrompt("questions");
    if (!this.signal.aborted) this.noteSeen({ isSecret });
    if (isAside) this.#above = [];
    const ending = await this.#show(prompt);
    if (isAside) this.#above = above;
    return ending;
  }

  async enterMessage(request: MessageRequest): Promise<EnteredMessage> {
    const { hasEditor = () => this.hasEditor } = request;
    const expands = request.expand !== undefined;
    const areHintsFolded = this.#countPrompt("messages");
    const options = { ...request, hasEditor, expands, areHintsFolded };
    const widget = reporting(inputLine(options), request);
    const open: WidgetPlace = {
      isMessage: true,
      asksVersion: true,
      onOpen: (opened) => request.onOpen?.({ print: (lines) => opened.print(toLines(lines)) }),
    };
    const { isFirst = false } = request;
    await this.#showNotice(true);
    const start = this.withUnsent(request.state);
    if (!isFirst) this.#write(() => toLines([""])); // Below the last question's answer.
    const line = { state: start };
    request.onTyped?.(start.buffer.text);
    for (;;) {
      const ending = await this.#showOne(widget, line, open);
      switch (ending.type) {
        case "editor": {
          const { text, problem } = await this.edit(line.state.buffer.text);
          if (problem !== undefined) this.print(problem);
          line.state = { ...line.state, buffer: bufferOf(text) };
          request.onTyped?.(text);
          break;
        }
        case "clear_screen":
          this.#open().write(CLEAR_SCREEN);
          break;
        case "expand":
          this.#write(() => toLines(request.expand?.() ?? []));
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
          return { ...line, ending };
        default:
          return { ...line, ending };
      }
    }
  }

  /** Whether the hints about keys are short. Outside of a session, they never are. */
  #countPrompt(kind: keyof ShownPrompts): boolean {
    if (this.signal.aborted) return false;
    const { shownPrompts } = this.#open();
    if (shownPrompts === undefined) return false;
    shownPrompts[kind] += 1;
    return shownPrompts[kind] > PROMPTS_WITH_ALL_HINTS;
  }

  /** Other prompts wait until the user has dismissed it. */
  async #showNotice(isForMessage = false): Promise<void> {
    const { device } = this.options;
    const notice = findNotice(device);
    if (notice === undefined) return;
    const typed = { state: notice.line };
    noteShown(device);
    const ending = await this.#showOne(noticeWidget(notice), typed, { isNotice: true });
    typeAtNotice(device, typed.state);
    if (ending.type !== "dismissed") return;
    this.#closeNotice(isForMessage);
  }

  #closeNotice(isForMessage = false): void {
    const text = this.endNotice();
    if (!isForMessage && text !== "") this.printUnsent(text);
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

  async #show<State, Ending extends { readonly type: string }>(
    prompt: Prompt<State, Ending>,
  ): Promise<Ending | NoAnswer> {
    if (this.signal.aborted) return { type: "aborted" };
    const { passages: own, scrollsText = false } = prompt.forms;
    const passages = [
      ...this.#printed,
      ...this.#above,
      ...headerPassages(this.header),
      ...(own?.() ?? []),
    ];
    for (const { text, isSeen = false } of passages) if (isSeen) this.#read.add(text);
    const widget = this.#widgetFor(prompt);
    let ending: Ending | SideAction | NoAnswer | undefined;
    if (!this.#fits(widget, prompt) && passages.some(({ text }) => !this.#read.has(text))) {
      if (scrollsText && this.#fitsBelowText(widget, prompt)) {
        const reading = await this.#showBelowText(widget, prompt);
        ({ ending } = reading);
        if (!reading.isRead && isNoAnswer(ending)) return ending;
      } else {
        const read = await this.#readThrough(passages, true);
        if (read.type !== "left") return read;
      }
    }
    for (const { text } of passages) this.#read.add(text);
    this.#printAbove(widget, prompt);
    for (;;) {
      ending ??= await this.#showOne(widget, prompt);
      if (!isSideAction(ending)) return ending;
      const { state } = prompt;
      // The held key has done its work.
      if (widget.isSettling?.(state) === true) prompt.state = widget.stepBack?.(state) ?? state;
      if (ending.type === "read_more") await this.#readMore(ending, passages);
      else await enterNote(this);
      ending = undefined;
    }
  }

  /** Whether there is more to read depends on the screen size, which may change at any time. */
  #widgetFor<State, Ending>(
    prompt: Prompt<State, Ending>,
  ): Widget<State, Ending | SideAction | NoAnswer> {
    const { header, note: noteBefore } = this;
    const areHintsFolded = this.#areHintsFolded;
    const { rowsAbove = () => [] } = this.#open();
    const withMore = (hasMore: boolean) => {
      const asides = { hasMore, note: this.note, read: this.#read, areHintsFolded };
      const own = prompt.forms.drawn(asides);
      return withRowsAbove(rowsAbove, header === undefined ? own : withHeader(header, own));
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
  #fits<State, Ending>(widget: Widget<State, Ending>, { state }: Holder<State>): boolean {
    const canvas = canvasOf(this.#open());
    const { rows, isCut = false } = widget.view(state, canvas);
    const above = passageLines(this.#above, canvas).flatMap((line) =>
      wrapCode(line, canvas.columns),
    );
    return !isCut && above.length + rows.length <= canvas.rows;
  }

  /** Whether only the text above the question is cut, which can be scrolled there. */
  #fitsBelowText<State, Ending>(widget: Widget<State, Ending>, { state }: Holder<State>): boolean {
    const canvas = canvasOf(this.#open());
    const { rows, isCut = false } = widget.view(state, canvas);
    const isAlone = this.#printed.length === 0 && this.header === undefined;
    return isAlone && !isCut && rows.length + MIN_TEXT_ROWS <= canvas.rows;
  }

  async #showBelowText<State, Ending>(widget: Widget<State, Ending>, holder: Holder<State>) {
    const canvas = canvasOf(this.#open());
    const passages = this.#above;
    const linesFor = (columns: number) => passageLines(passages, { ...canvas, columns });
    const reading = withTextAbove({ linesFor }, widget);
    const both = { state: { own: holder.state, text: pagerStart } };
    const ending = await this.#showOne(reading, both);
    holder.state = both.state.own;
    return { ending, isRead: both.state.text.isRead };
  }

  /** Prints as much of the context as leaves room for the question. It stays on the screen. */
  #printAbove<State, Ending>(widget: Widget<State, Ending>, { state }: Holder<State>): void {
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
    const ending = await this.#readThrough(all, isRequired);
    if (text !== undefined && ending.type === "left" && ending.isRead) this.#read.add(text);
  }

  #readThrough(passages: readonly Passage[], mustRead: boolean): Promise<PagerEnding | NoAnswer> {
    const canvas = canvasOf(this.#open());
    const linesFor = (columns: number) =>
      passages.flatMap((passage, index) => [
        ...(index === 0 ? [] : [""]),
        ...passageLines([passage], { ...canvas, columns }),
      ]);
    const start = { state: pagerStart };
    return this.#showOne(pager({ linesFor, mustRead }), start, { isFullScreen: true });
  }

  async #showOne<State, Ending>(
    widget: Widget<State, Ending>,
    holder: Holder<State>,
    place: WidgetPlace = {},
  ): Promise<Ending | NoAnswer> {
    if (this.signal.aborted) return { type: "aborted" };
    const terminal = this.#open();
    const { isMessage = false, isNotice = false, ...shownAt } = place;
    const shown = new ShownWidget(widget, holder.state, {
      terminal,
      signal: this.signal,
      clock: this.options.clock,
      isReplacement: !isNotice && this.takeReplacement() && !isMessage,
      ...shownAt,
      losesCursor: this.#losesCursor,
    });
    terminal.write(this.#notification ?? "");
    this.#notification = undefined;
    const ending = await shown.ended;
    holder.state = shown.state;
    return ending;
  }

  #open(): Terminal {
    this.#opened ??= openTerminal(this.options.device);
    return this.#opened;
  }

  #write(make: (canvas: Canvas) => string): void {
    if (this.signal.aborted) return;
    const terminal = this.#open();
    terminal.write(make(canvasOf(terminal)));
  }
}

/** The line, which reports what is typed. */
function reporting(
  line: ReturnType<typeof inputLine>,
  { onTyped, history }: MessageRequest,
): typeof line {
  return {
    ...line,
    update: (...given) => {
      const step = line.update(...given);
      if ("state" in step) onTyped?.(typedText(step.state, history()));
      return step;
    },
  };
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
