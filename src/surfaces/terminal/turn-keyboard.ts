/**
 * The keyboard while jp works. Keys are not echoed: typed text goes to a line below the output, where Enter leaves it as
 * a message for the running turn, and Tab queues it for when the turn ends. Output is printed above; its last line, while
 * unfinished, is drawn with the rows below it.
 *
 *   The answer as it streams in
 *   ⠋ anthropic/claude 12.0s · ~340 tokens · mode edits · Esc stops · Ctrl-C menu
 *     12,400 tokens of context used, 187,600 left (93%) · 0.0312 USD so far
 *     next: in Rust, please
 *     queued: and fix the tests
 *   » what is being typed
 */
import { stripVTControlCharacters } from "node:util";
import { oneLine } from "../../util/index.ts";
import { textWidth, truncate, wrapCode } from "../render/index.ts";
import type { TakenNotice, TerminalDevice } from "./controlling-terminal.ts";
import type { OutputStream } from "./descriptor-output.ts";
import { inputLine, isOpen, typedText } from "./input-line.ts";
import { emptyInput, type InputOptions, type InputState, type ShownMode } from "./input-state.ts";
import {
  breakPastedLines,
  isKey,
  type Key,
  type KeyName,
  type Report,
  withoutPastedShiftTab,
} from "./key.ts";
import { KeptTerminal } from "./kept-terminal.ts";
import { LiveRegion } from "./live-region.ts";
import type { SharedScreen } from "./output.ts";
import { isXtermJs } from "./show-widget.ts";
import { type StatusRow, withMode } from "./status-line.ts";
import { dismissNotice, findNotice, noticeWidget, typeAtNotice } from "./taken-prompt.ts";
import type { Canvas, Frame, Widget } from "./widget.ts";

export interface TurnKeyboardOptions {
  readonly device: TerminalDevice;
  /** The terminal, if already open. */
  readonly kept?: KeptTerminal;
  /**
   * The history and completion of a session's line. Without it, nothing is queued: typed text is returned at the end.
   */
  readonly line?: Pick<InputOptions, "history" | "complete">;
  /** The mode, if it is shown. */
  readonly mode?: () => ShownMode | undefined;
  /** Called on Shift-Tab. Must not throw. */
  readonly onNextMode?: () => Promise<void>;
}

/** Key actions while something runs. */
export interface KeyActions {
  /** Called on Esc. */
  readonly onStop: () => void;
  /** Called on Ctrl-O. */
  readonly onExpand?: () => void;
  /** Whether the running turn takes this text on Enter. Otherwise Enter queues it, as Tab does. */
  readonly takes?: (text: string) => boolean;
}

/** A message that was entered, and that no model has got yet. */
interface Pending {
  readonly text: string;
  /** The running turn takes it, if it sends another request. */
  readonly isForTurn: boolean;
}

/** Redrawing more often would only flicker. */
const FRAME_MS = 16;
const MAX_PENDING_ROWS = 3;
const CLEAR_SCREEN = "\u001b[H\u001b[2J";
/** Terminals that support these show everything in between at once. */
const BEGIN_UPDATE = "\u001b[?2026h";
const END_UPDATE = "\u001b[?2026l";
const KEYS = " · Esc stops · Ctrl-C menu";
const SHORT_KEYS = " · Esc stops";
const INDENT = "  ";
const SENDS = ["Enter sends it with the next results", "Tab queues it for the end"];
const QUEUES = ["Enter queues it for when the turn ends"];
const NOT_SENT = ["jp prints this when the turn ends"];

interface Piece {
  readonly stream: OutputStream;
  readonly text: string;
}

export class TurnKeyboard implements SharedScreen, StatusRow, Disposable {
  /** Whether reasoning is expanded, if the user has changed that. */
  isReasoningOpen: boolean | undefined;
  /** The last result that was not shown whole. */
  readonly shortened: { lines: readonly string[] } = { lines: [] };
  /** Called after each key. `isQueued`: it has entered a message. Must not throw. */
  onTyped: ((isQueued: boolean) => void) | undefined;
  readonly #options: TurnKeyboardOptions;
  readonly #kept: KeptTerminal;
  readonly #input: InputOptions;
  readonly #line: Widget<InputState, { readonly type: string }>;
  /** The last one is in effect. */
  readonly #actions: KeyActions[] = [];
  #region: LiveRegion | undefined;
  #losesCursor = false;
  /** Not printed yet, because the last line is unfinished. */
  #tail: readonly Piece[] = [];
  /** Other output has started a line, below which nothing can be drawn. */
  #isLineUnfinished = false;
  #status: string | undefined;
  #belowStatus: readonly string[] = [];
  #state = emptyInput();
  /** Oldest first. */
  #pending: readonly Pending[] = [];
  #timer: NodeJS.Timeout | undefined;
  #drawnAt = Number.NEGATIVE_INFINITY;

  /** Throws `no_terminal`. */
  constructor(options: TurnKeyboardOptions) {
    this.#options = options;
    const { line } = options;
    this.#input = {
      history: line?.history ?? (() => []),
      complete: line?.complete ?? (() => undefined),
      hasEditor: () => false,
      typedAhead: (text) => {
        if (line === undefined) return NOT_SENT;
        return this.#takes(text) ? SENDS : QUEUES;
      },
    };
    this.#line = inputLine(this.#input);
    this.#kept = options.kept ?? new KeptTerminal(options.device);
    process.on("exit", this.#leave);
    this.#kept.keeper = {
      onInput: (sent) => this.#receive(sent),
      onResize: () => this.#refresh(),
      onClose: () => {},
      onLend: () => {
        this.#leave();
        this.#isLineUnfinished = false; // A borrower starts and ends its own line.
      },
      onReturn: () => this.#refresh(),
      rowsAbove: (canvas) => this.#pendingRows(canvas),
    };
  }

  /** Shows the line and applies these key actions until disposed. */
  during(actions: KeyActions): Disposable {
    this.#actions.push(actions);
    this.#refresh();
    return {
      [Symbol.dispose]: () => {
        this.#actions.splice(this.#actions.indexOf(actions), 1);
        if (this.#actions.length > 0) return;
        this.#leave();
        // No other turn takes them with its results.
        this.#pending = this.#pending.map(({ text }) => ({ text, isForTurn: false }));
      },
    };
  }

  /** The messages that no model has got yet, oldest first. */
  get pending(): readonly string[] {
    return this.#pending.map(({ text }) => text);
  }

  /** The typed but unqueued text. */
  get draft(): string {
    return typedText(this.#state, this.#input.history());
  }

  /** Removes and returns the messages for the running turn, oldest first. */
  takeForTurn(): readonly string[] {
    const taken = this.#pending.filter(({ isForTurn }) => isForTurn);
    if (taken.length === 0) return [];
    this.#pending = this.#pending.filter(({ isForTurn }) => !isForTurn);
    this.#schedule();
    return taken.map(({ text }) => text);
  }

  /** Removes and returns the oldest message. */
  takeQueued(): string | undefined {
    const [first, ...others] = this.#pending;
    this.#pending = others;
    return first?.text;
  }

  /** The last result that was not shown whole, once. */
  takeShortened(): readonly string[] {
    const { lines } = this.shortened;
    this.shortened.lines = [];
    return lines;
  }

  /** Returns the typed but unqueued text, and clears the line. */
  takeDraft(): InputState {
    const { search, ...rest } = this.#state;
    const state = search === undefined ? rest : { ...rest, buffer: search.before };
    this.#state = emptyInput();
    return { ...state, menu: undefined };
  }

  setStatus(text: string | undefined, below: readonly string[] = []): void {
    this.#status = text;
    this.#belowStatus = below;
    this.#schedule();
  }

  noteUnfinishedLine(): void {
    this.#isLineUnfinished = true;
  }

  print(stream: OutputStream, text: string): void {
    if (text === "") return;
    if (this.#isLineUnfinished || !this.#canDraw) {
      stream.write(text);
      this.#isLineUnfinished = !text.endsWith("\n");
      return;
    }
    this.#tail = [...this.#tail, { stream, text }];
    this.#schedule();
  }

  [Symbol.dispose](): void {
    this.#leave();
    process.off("exit", this.#leave);
    this.#kept[Symbol.dispose]();
  }

  get #canDraw(): boolean {
    return this.#actions.length > 0 && this.#kept.terminal !== undefined;
  }

  #receive(sent: readonly (Key | Report)[]): void {
    if (sent.some(isXtermJs)) this.#losesCursor = true;
    if (this.#region !== undefined) this.#region.losesCursor = this.#losesCursor;
    const keys = withoutPastedShiftTab(sent.filter(isKey));
    const notice = findNotice(this.#options.device);
    const before = this.#pending.length;
    if (notice === undefined) for (const key of keys) this.#take(key);
    else this.#takeForNotice(notice, breakPastedLines(keys));
    this.onTyped?.(this.#pending.length > before);
    this.#refresh(sent.find((one) => one.type === "cursor")?.column);
  }

  /** Keys after the one that dismisses it are dropped: they were typed before the user saw what follows. */
  #takeForNotice(notice: TakenNotice, keys: readonly Key[]): void {
    const { device } = this.#options;
    const widget = noticeWidget(notice);
    let { line } = notice;
    for (const key of keys) {
      if (key.type === "named" && key.name === "ctrl-z") this.#kept.suspend();
      const step = widget.update(line, key, { columns: 0, rows: 0 });
      if ("state" in step) line = step.state;
      typeAtNotice(device, line);
      if ("state" in step) continue;
      dismissNotice(device);
      if (key.type === "named" && key.name === "ctrl-c") device.interrupt();
      return;
    }
  }

  #take(key: Key): void {
    if (key.type === "named" && this.#act(key.name)) return;
    const step = this.#line.update(this.#state, key, { columns: 0, rows: 0 });
    if ("state" in step) this.#state = step.state;
    else if (step.ending.type === "sent") this.#enter(this.#takes(this.#state.buffer.text));
  }

  /** Returns false if the key belongs to the line. */
  #act(name: KeyName): boolean {
    const actions = this.#actions.at(-1);
    const { buffer, menu, search, position } = this.#state;
    const isPlain = menu === undefined && search === undefined && position === undefined;
    switch (name) {
      case "escape":
        if (!isPlain) return false;
        actions?.onStop();
        return true;
      case "ctrl-c":
        this.#options.device.interrupt();
        return true;
      case "ctrl-z":
        this.#kept.suspend();
        return true;
      case "ctrl-o":
        if ((buffer.folds?.length ?? 0) > 0) return false; // It expands the paste.
        actions?.onExpand?.();
        return true;
      case "ctrl-l":
        this.#clearScreen();
        return true;
      case "shift-tab":
        void this.#options.onNextMode?.().then(() => this.#refresh());
        return true;
      case "ctrl-d":
        return buffer.text === "";
      case "up":
        return isPlain && buffer.text === "" && this.#takeBack();
      case "tab":
        return (menu === undefined || !isOpen(menu)) && search === undefined && this.#queueLine();
      case "enter":
        if (this.#options.line !== undefined) return false;
        this.#take({ type: "named", name: "new-line" });
        return true;
      default:
        return false;
    }
  }

  #takes(text: string): boolean {
    return this.#actions.at(-1)?.takes?.(text) === true;
  }

  #enter(isForTurn: boolean): void {
    this.#pending = [...this.#pending, { text: this.#state.buffer.text, isForTurn }];
    this.#state = emptyInput();
  }

  /** Queues the line for when the turn ends. Returns false if there is nothing to queue. */
  #queueLine(): boolean {
    if (this.#options.line === undefined || this.#state.buffer.text.trim() === "") return false;
    this.#enter(false);
    return true;
  }

  /** Takes back the last message for editing. Returns false if there is none. */
  #takeBack(): boolean {
    const last = this.#pending.at(-1);
    if (last === undefined) return false;
    this.#pending = this.#pending.slice(0, -1);
    this.#state = emptyInput(last.text);
    return true;
  }

  #clearScreen(): void {
    if (!this.#canDraw) return;
    this.#region = undefined;
    this.#kept.terminal?.write(CLEAR_SCREEN);
  }

  #schedule(): void {
    const wait = this.#drawnAt + FRAME_MS - performance.now();
    if (wait <= 0) this.#refresh();
    else this.#timer ??= setTimeout(() => this.#refresh(), wait);
  }

  /** Prints complete lines and draws the rest below. */
  #refresh(cursorColumn?: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#drawnAt = performance.now();
    const { terminal } = this.#kept;
    if (terminal === undefined || !this.#canDraw || this.#isLineUnfinished) return;
    terminal.write(BEGIN_UPDATE);
    const region = this.#region ?? new LiveRegion(terminal, this.#losesCursor);
    const { lines, tail } = splitLines(this.#tail);
    if (lines.length > 0) {
      region.wipe();
      for (const { stream, text } of lines) stream.write(text);
      this.#tail = tail;
    }
    region.draw((canvas) => this.#view(canvas), lines.length > 0 ? undefined : cursorColumn);
    this.#region = region;
    terminal.write(END_UPDATE);
  }

  /** Removes the drawing and prints the unfinished line. */
  readonly #leave = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#region?.wipe();
    this.#region = undefined;
    for (const { stream, text } of this.#tail) stream.write(text);
    this.#isLineUnfinished = this.#tail.at(-1)?.text.endsWith("\n") === false;
    this.#tail = [];
  };

  #view(canvas: Canvas): Frame {
    const { columns, paint } = canvas;
    const text = this.#tail.map((piece) => piece.text).join("");
    const half = Math.max(1, Math.floor(canvas.rows / 2));
    // A line may end before its colour is reset.
    const isEmpty = stripVTControlCharacters(text) === "";
    const tail = isEmpty ? [] : wrapCode(text, columns).slice(-half);
    const pending = this.#pendingRows(canvas, this.#state.buffer.text === "" ? TAKE_BACK : "");
    const above = [...tail, ...this.#statusRows(canvas), ...pending];
    const notice = findNotice(this.#options.device);
    const isLineHidden = this.#options.line === undefined && this.#state.buffer.text === "";
    if (notice === undefined && isLineHidden) return endAt(above);
    const room = { columns, paint, rows: Math.max(3, canvas.rows - above.length) };
    const { rows, cursor } =
      notice === undefined
        ? this.#line.view(this.#state, room)
        : noticeWidget(notice).view(notice.line, room);
    return { rows: [...above, ...rows], cursor: { ...cursor, row: above.length + cursor.row } };
  }

  #statusRows({ columns, paint }: Canvas): readonly string[] {
    const mode = this.#options.mode?.();
    if (this.#status === undefined && mode === undefined) return [];
    const status = withMode(this.#status ?? "", mode, columns);
    const room = columns - textWidth(status);
    const keys = [KEYS, SHORT_KEYS].find((one) => textWidth(one) <= room);
    const below = this.#belowStatus.find((one) => textWidth(one) + INDENT.length <= columns);
    return [
      status + (keys === undefined ? "" : paint("dim", keys)),
      ...(below === undefined ? [] : [paint("dim", INDENT + below)]),
    ];
  }

  /** The last ones. `hint` is added to the last one where it fits. */
  #pendingRows({ columns, paint }: Canvas, hint = ""): readonly string[] {
    const more = Math.max(0, this.#pending.length - MAX_PENDING_ROWS);
    const rows = this.#pending.slice(more).map(({ text, isForTurn }) => {
      return `  ${isForTurn ? "next" : "queued"}: ${oneLine(text)}`;
    });
    const all = more === 0 ? rows : [`  ${more} more before these`, ...rows];
    return all.map((row, index) => {
      const isHinted = index === all.length - 1 && textWidth(row) + textWidth(hint) <= columns;
      return paint("dim", truncate(isHinted ? row + hint : row, columns));
    });
  }
}

/** A frame without an input line. */
function endAt(above: readonly string[]): Frame {
  const rows = above.length === 0 ? [""] : above;
  const column = textWidth(stripVTControlCharacters(rows.at(-1) ?? ""));
  return { rows, cursor: { row: rows.length - 1, column } };
}

const TAKE_BACK = " (↑ takes it back)";

/** Splits off the complete lines. */
function splitLines(pieces: readonly Piece[]): {
  readonly lines: readonly Piece[];
  readonly tail: readonly Piece[];
} {
  const last = pieces.findLastIndex(({ text }) => text.includes("\n"));
  const split = pieces[last];
  if (split === undefined) return { lines: [], tail: pieces };
  const { stream, text } = split;
  const end = text.lastIndexOf("\n") + 1;
  const rest = text.slice(end);
  return {
    lines: [...pieces.slice(0, last), { stream, text: text.slice(0, end) }],
    tail: [...(rest === "" ? [] : [{ stream, text: rest }]), ...pieces.slice(last + 1)],
  };
}
