/** Runs a widget on the terminal until it ends, and removes it from the screen. */
import { cancelledBy, type NoAnswer } from "./dialogue.ts";
import { type CursorReport, isCancelKey, isKey, type Key } from "./key.ts";
import {
  canvasOf,
  CURSOR_REPORT_TIMEOUT_MS,
  FullScreen,
  LiveRegion,
  REQUEST_CURSOR_POSITION,
} from "./live-region.ts";
import type { Terminal } from "./terminal.ts";
import type { Widget } from "./widget.ts";

export interface Shown<State, Ending> {
  readonly state: State;
  readonly ending: Ending | NoAnswer;
}

export interface ShowOptions {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly isFullScreen?: boolean;
  /** See `LiveRegion`. */
  readonly losesCursor?: boolean;
}

/** The signal must not be aborted yet. */
export async function showWidget<State, Ending>(
  widget: Widget<State, Ending>,
  initial: State,
  { terminal, signal, isFullScreen = false, losesCursor = false }: ShowOptions,
): Promise<Shown<State, Ending>> {
  if (terminal.isClosed) return { state: initial, ending: { type: "aborted" } };
  const surface = isFullScreen ? new FullScreen(terminal) : new LiveRegion(terminal, losesCursor);
  const { promise, resolve } = Promise.withResolvers<Ending | NoAnswer>();
  let state = initial;
  let drawn = canvasOf(terminal);
  const draw = (report?: CursorReport) =>
    surface.draw((canvas) => {
      drawn = canvas;
      return widget.view(state, canvas);
    }, report?.column);
  /** Returns whether the key ended the widget. */
  const take = (key: Key): boolean => {
    const step = isCancelKey(key)
      ? ({ type: "end", ending: cancelledBy(key) } as const)
      : widget.update(state, key, drawn);
    if (step.type === "wait") state = step.state;
    else resolve(step.ending);
    return step.type === "end";
  };
  const takeAll = (keys: readonly Key[]) => keys.some(take);
  const takeOne = (keys: readonly Key[]) => {
    const before = state;
    // A cancel key counts wherever it comes.
    const cancelKey = keys.find(isCancelKey);
    if (cancelKey !== undefined) return take(cancelKey);
    return keys.some((key) => take(key) || state !== before) && state === before;
  };
  const onAbort = () => resolve({ type: "aborted" });
  signal.addEventListener("abort", onAbort, { once: true });
  terminal.listen({
    onInput: (sent) => {
      // Keys typed after the last one were not meant for the next question, so they are dropped.
      const isOver = widget.isDrawnBetweenKeys === true ? takeOne : takeAll;
      if (!isOver(sent.filter(isKey))) {
        draw(sent.find((one) => one.type === "cursor"));
      }
    },
    onResize: () => draw(),
    onClose: onAbort,
  });
  draw();
  const ending = await promise;
  terminal.listen(undefined);
  signal.removeEventListener("abort", onAbort);
  surface.wipe();
  return { ending, state };
}

const REQUEST_TERMINAL_VERSION = "\u001b[>c";
/** The version that xterm.js reports; editors and browsers use it. */
const XTERM_JS = "0;276;0";

export interface FreshLine {
  /** See `LiveRegion`. */
  readonly losesCursor: boolean;
}

/**
 * Starts a new line unless the cursor is at the start of one. Drops everything typed before the terminal
 * reports its cursor: that was not meant as an answer to this question.
 */
export async function startFreshLine(terminal: Terminal, signal: AbortSignal): Promise<FreshLine> {
  let losesCursor = false;
  const { promise, resolve } = Promise.withResolvers<number>();
  const proceed = () => resolve(1);
  const timer = setTimeout(proceed, CURSOR_REPORT_TIMEOUT_MS);
  signal.addEventListener("abort", proceed, { once: true });
  terminal.listen({
    onInput: (sent) => {
      losesCursor ||= sent.some((one) => one.type === "version" && one.version === XTERM_JS);
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
  signal.removeEventListener("abort", proceed);
  if (column > 1) terminal.write("\r\n");
  return { losesCursor };
}
