/** Runs a widget on the terminal until it ends, then removes it from the screen. */
import { wrapWords } from "../render/index.ts";
import type { Clock } from "../../util/index.ts";
import { cancelledBy, HOLD_MS, type NoAnswer, TYPING_PAUSE_MS } from "./dialogue.ts";
import {
  breakPastedLines,
  isCancelKey,
  isEnter,
  isEscape,
  isKey,
  type Key,
  type Report,
  withoutPastedShiftTab,
} from "./key.ts";
import {
  canvasOf,
  CURSOR_REPORT_TIMEOUT_MS,
  FullScreen,
  LiveRegion,
  REQUEST_CURSOR_POSITION,
} from "./live-region.ts";
import type { Terminal } from "./terminal.ts";
import type { Canvas, Step, Widget } from "./widget.ts";

export interface ShowOptions {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Another prompt was just replaced: keys may still be meant for it. */
  readonly isReplacement?: boolean;
  readonly isFullScreen?: boolean;
  /** See `LiveRegion`. */
  readonly losesCursor?: boolean;
  /** Asks for the terminal's version once the user types, unless that was done before. */
  readonly asksVersion?: boolean;
  /** Called once the widget is drawn. */
  readonly onOpen?: ((open: OpenWidget) => void) | undefined;
}

/** A widget on the screen, to print above while the user types. */
interface OpenWidget {
  /** Prints complete lines above the widget, where they stay. Returns false once the widget has ended. */
  print(text: string): boolean;
}

const STILL_TYPING = "You were typing something else: nothing is decided until you pause.";
const ESCAPE_TWICE = "Press Esc again to discard what you entered.";

/** A widget on the screen until it ends. The signal must not be aborted yet. */
export class ShownWidget<State, Ending> {
  /** The user's ending. The widget is off the screen by then. */
  readonly ended: Promise<Ending | NoAnswer>;
  readonly #widget: Widget<State, Ending>;
  readonly #options: ShowOptions;
  readonly #surface: LiveRegion | FullScreen;
  readonly #ending = Promise.withResolvers<Ending | NoAnswer>();
  #state: State;
  #drawn: Canvas;
  #isEnded = false;
  /** The shell is using the screen. */
  #isSuspended = false;
  #mustAskVersion: boolean;
  /** Escape was pressed once and would lose something. */
  #isEscaping = false;
  /** Aborted by the next key. */
  #settling = new AbortController();
  readonly #ignoresUntil: number;
  /** The user has been typing elsewhere without a pause: keys may still belong there. */
  #isTypingUntil: number;
  /** Set while the widget waits for the user to pause. */
  #pause: AbortController | undefined;

  constructor(widget: Widget<State, Ending>, initial: State, options: ShowOptions) {
    const { terminal, isFullScreen = false, losesCursor = false } = options;
    this.#widget = widget;
    this.#options = options;
    this.#state = initial;
    this.#mustAskVersion = options.asksVersion === true;
    this.#surface = isFullScreen ? new FullScreen(terminal) : new LiveRegion(terminal, losesCursor);
    this.#drawn = canvasOf(terminal);
    this.#ignoresUntil = options.isReplacement === true ? this.#now + HOLD_MS : 0;
    this.#isTypingUntil = this.#now + TYPING_PAUSE_MS - (terminal.msSinceTyped ?? Infinity);
    this.ended = terminal.isClosed ? Promise.resolve({ type: "aborted" }) : this.#run();
  }

  get state(): State {
    return this.#state;
  }

  async #run(): Promise<Ending | NoAnswer> {
    const { terminal, signal, onOpen } = this.#options;
    const onAbort = () => this.#end({ type: "aborted" });
    signal.addEventListener("abort", onAbort, { once: true });
    terminal.listen({
      onInput: (sent) => this.#receive(sent),
      onResize: () => this.#draw(),
      onContinue: () => {
        this.#isSuspended = false;
        this.#draw();
      },
      onClose: onAbort,
    });
    this.#draw();
    onOpen?.({ print: (text) => this.#print(text) });
    const ending = await this.#ending.promise;
    terminal.listen(undefined);
    signal.removeEventListener("abort", onAbort);
    this.#surface.wipe();
    return ending;
  }

  #receive(sent: readonly (Key | Report)[]): void {
    if (sent.some(isXtermJs) && this.#surface instanceof LiveRegion)
      this.#surface.losesCursor = true;
    const typed = this.#isTooEarly() ? [] : sent.filter(isKey);
    const keys = this.#joined(typed);
    // Keys typed after the last one were not meant for the next question, so they are dropped.
    const isOver =
      this.#widget.isDrawnBetweenKeys === true ? this.#takeOne(keys) : this.#takeAll(keys);
    if (typed.length > 0) this.#settle(isOver);
    if (isOver) return;
    // Not earlier: nothing would read the response, and the terminal would show it.
    if (this.#mustAskVersion && typed.some(({ type }) => type === "text")) {
      this.#mustAskVersion = false;
      this.#options.terminal.write(REQUEST_TERMINAL_VERSION);
    }
    this.#draw(sent.find((one) => one.type === "cursor")?.column);
  }

  #isTooEarly(): boolean {
    return this.#now < this.#ignoresUntil;
  }

  get #now(): number {
    return this.#options.clock.now().getTime();
  }

  get #isStillTyping(): boolean {
    return this.#now < this.#isTypingUntil;
  }

  /** Keys that may belong elsewhere are treated as text, and decide nothing. */
  #joined(typed: readonly Key[]): readonly Key[] {
    if (typed.length > 0 && this.#widget.isSettling !== undefined && this.#isStillTyping) {
      this.#isTypingUntil = this.#now + TYPING_PAUSE_MS;
      void this.#drawAfterPause();
      return typed.filter((key) => !isEnter(key)).map(asPaste);
    }
    if (this.#widget.isMultiline === true) return withoutPastedShiftTab(breakPastedLines(typed));
    return this.#widget.joinKeys?.(typed) ?? typed;
  }

  /** A held key decides if no other follows. */
  #settle(isOver: boolean): void {
    this.#settling.abort();
    if (isOver || this.#widget.isSettling?.(this.#state) !== true) return;
    this.#settling = new AbortController();
    void this.#decideHeld(this.#settling.signal);
  }

  /** Until the pause, the widget says that keys decide nothing. */
  async #drawAfterPause(): Promise<void> {
    this.#pause?.abort();
    const pause = new AbortController();
    this.#pause = pause;
    try {
      await this.#options.clock.sleep(TYPING_PAUSE_MS, pause.signal);
    } catch {
      return; // Another key came, or the widget has ended.
    }
    this.#pause = undefined;
    this.#draw();
  }

  async #decideHeld(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.clock.sleep(HOLD_MS, signal);
    } catch {
      return; // Another key came.
    }
    if (this.#isEnded || signal.aborted) return;
    const step = this.#widget.settle?.(this.#state, this.#drawn);
    if (step !== undefined && !this.#apply(step)) this.#draw();
  }

  #takeAll(keys: readonly Key[]): boolean {
    return keys.some((key) => this.#take(key));
  }

  #takeOne(keys: readonly Key[]): boolean {
    const before = this.#state;
    // A cancel key counts anywhere in the sequence.
    const cancelKey = keys.find(isCancelKey);
    if (cancelKey !== undefined) return this.#take(cancelKey);
    return keys.some((key) => this.#take(key) || this.#state !== before) && this.#state === before;
  }

  /** Returns whether the key ended the widget. */
  #take(key: Key): boolean {
    const wasEscaping = this.#isEscaping;
    this.#isEscaping = false;
    if (key.type === "named" && key.name === "ctrl-z") {
      this.#releaseHeld();
      this.#surface.wipe();
      this.#isSuspended = true;
      this.#options.terminal.suspend();
      return false;
    }
    if (isCancelKey(key) && this.#widget.takesCancelKeys !== true) {
      const holdsWork = this.#widget.holdsWork?.(this.#state) === true;
      this.#isEscaping = isEscape(key) && holdsWork && !wasEscaping;
      if (this.#isEscaping) return false;
      const before = isEscape(key) ? this.#widget.stepBack?.(this.#state) : undefined;
      if (before === undefined) this.#end(cancelledBy(key));
      else this.#state = before;
      return before === undefined;
    }
    return this.#apply(this.#widget.update(this.#state, key, this.#drawn));
  }

  /** A key that is held when something else happens decides nothing. */
  #releaseHeld(): void {
    if (this.#widget.isSettling?.(this.#state) !== true) return;
    this.#state = this.#widget.stepBack?.(this.#state) ?? this.#state;
  }

  /** Returns whether the step ended the widget. */
  #apply(step: Step<State, Ending>): boolean {
    if ("state" in step) this.#state = step.state;
    else this.#end(step.ending);
    return "ending" in step;
  }

  #end(ending: Ending | NoAnswer): void {
    this.#isEnded = true;
    this.#settling.abort();
    this.#pause?.abort();
    this.#ending.resolve(ending);
  }

  #draw(cursorColumn?: number): void {
    if (this.#isSuspended) return;
    const isWaiting = this.#pause !== undefined;
    this.#surface.draw((canvas) => {
      this.#drawn = canvas;
      const warning = this.#isEscaping ? ESCAPE_TWICE : isWaiting ? STILL_TYPING : undefined;
      if (warning === undefined) return this.#widget.view(this.#state, canvas);
      const wrapped = wrapWords(warning, canvas.columns - 2);
      const room = { ...canvas, rows: Math.max(1, canvas.rows - wrapped.length) };
      const frame = this.#widget.view(this.#state, room);
      const rows = wrapped.map((row) => canvas.paint("yellow", `  ${row}`));
      return { ...frame, rows: [...frame.rows, ...rows] };
    }, cursorColumn);
  }

  #print(text: string): boolean {
    if (this.#isEnded) return false;
    this.#surface.wipe();
    this.#options.terminal.write(text);
    this.#draw();
    return true;
  }
}

function asPaste(key: Key): Key {
  return key.type === "text" ? { type: "paste", text: key.text } : key;
}

const REQUEST_TERMINAL_VERSION = "\u001b[>c";
/** The version that xterm.js reports. Editors and browsers embed it. */
const XTERM_JS = "0;276;0";

export function isXtermJs(sent: Key | Report): boolean {
  return sent.type === "version" && sent.version === XTERM_JS;
}

export interface FreshLine {
  /** See `LiveRegion`. */
  readonly losesCursor: boolean;
  /** Typed before. */
  readonly early: readonly Key[];
}

/**
 * Starts a new line unless the cursor is at the start of one. Returns everything typed before the terminal reports its
 * cursor, which was not meant for this question. The wait cannot be cut short: the shell would take a late report for
 * typed text.
 */
export async function startFreshLine(terminal: Terminal): Promise<FreshLine> {
  let losesCursor = false;
  const early: Key[] = [];
  const { promise, resolve } = Promise.withResolvers<number>();
  const proceed = () => resolve(1);
  const timer = setTimeout(proceed, CURSOR_REPORT_TIMEOUT_MS);
  terminal.listen({
    onInput: (sent) => {
      losesCursor ||= sent.some(isXtermJs);
      early.push(...sent.filter(isKey));
      const report = sent.find((one) => one.type === "cursor");
      if (report !== undefined) resolve(report.column);
    },
    onResize: () => {},
    onClose: proceed,
  });
  terminal.write(REQUEST_TERMINAL_VERSION + REQUEST_CURSOR_POSITION);
  const column = await promise;
  terminal.listen(undefined);
  clearTimeout(timer);
  if (column > 1) terminal.write("\r\n");
  return { losesCursor, early };
}
