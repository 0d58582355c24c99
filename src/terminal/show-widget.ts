/** Runs a widget on the terminal: keys in, frames out, and nothing left of it in the end. */
import { type CursorReport, isCancelling, isKey, type Key } from "./key.ts";
import {
  canvasOf,
  CURSOR_MILLISECONDS,
  FullScreen,
  LiveRegion,
  WHERE_IS_CURSOR,
} from "./live-region.ts";
import type { Terminal } from "./terminal-device.ts";
import type { Closed, Widget } from "./widget.ts";

export interface Shown<State, Ending> {
  readonly state: State;
  readonly ending: Ending | Closed;
}

export interface Stage {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly isFullScreen?: boolean;
  /** Of the terminal, when it gets narrower: see `LiveRegion`. */
  readonly losesCursor?: boolean;
}

/** The signal is not aborted yet. */
export async function showWidget<State, Ending>(
  widget: Widget<State, Ending>,
  initial: State,
  { terminal, signal, isFullScreen = false, losesCursor = false }: Stage,
): Promise<Shown<State, Ending>> {
  if (terminal.isGone) return { state: initial, ending: { type: "aborted" } };
  const surface = isFullScreen ? new FullScreen(terminal) : new LiveRegion(terminal, losesCursor);
  const { promise, resolve } = Promise.withResolvers<Ending | Closed>();
  let state = initial;
  let drawn = canvasOf(terminal);
  const draw = (report?: CursorReport) =>
    surface.draw((canvas) => {
      drawn = canvas;
      return widget.view(state, canvas);
    }, report?.column);
  /** Whether the key was the last one. */
  const take = (key: Key): boolean => {
    const step = isCancelling(key)
      ? ({ type: "end", ending: { type: "cancelled" } } as const)
      : widget.update(state, key, drawn);
    if (step.type === "wait") state = step.state;
    else resolve(step.ending);
    return step.type === "end";
  };
  const takeAll = (keys: readonly Key[]) => keys.some(take);
  const takeOne = (keys: readonly Key[]) => {
    const before = state;
    // Giving up counts wherever it stands.
    const giving = keys.find(isCancelling);
    if (giving !== undefined) return take(giving);
    return keys.some((key) => take(key) || state !== before) && state === before;
  };
  const onAbort = () => resolve({ type: "aborted" });
  signal.addEventListener("abort", onAbort, { once: true });
  terminal.listen({
    onInput: (sent) => {
      // What was typed behind the last key was not meant for what comes next.
      const isOver = widget.isDrawnBetweenKeys === true ? takeOne : takeAll;
      if (!isOver(sent.filter(isKey))) {
        draw(sent.find((one) => one.type === "cursor"));
      }
    },
    onResize: () => draw(),
    onGone: onAbort,
  });
  draw();
  const ending = await promise;
  terminal.listen(undefined);
  signal.removeEventListener("abort", onAbort);
  surface.wipe();
  return { ending, state };
}

const WHAT_ARE_YOU = "\u001b[>c";
/** What xterm.js says it is, in editors and browsers. */
const XTERM_JS = "0;276;0";

export interface FreshLine {
  /** Of the terminal, when it gets narrower: see `LiveRegion`. */
  readonly losesCursor: boolean;
}

/**
 * Breaks the line that somebody else has begun. What was typed before the terminal has said where its
 * cursor is was not an answer to this question: it is dropped.
 */
export async function startFreshLine(terminal: Terminal, signal: AbortSignal): Promise<FreshLine> {
  let losesCursor = false;
  const { promise, resolve } = Promise.withResolvers<number>();
  const goOn = () => resolve(1);
  const timer = setTimeout(goOn, CURSOR_MILLISECONDS);
  signal.addEventListener("abort", goOn, { once: true });
  terminal.listen({
    onInput: (sent) => {
      losesCursor ||= sent.some((one) => one.type === "version" && one.version === XTERM_JS);
      const report = sent.find((one) => one.type === "cursor");
      if (report !== undefined) resolve(report.column);
    },
    onResize: () => {},
    onGone: goOn,
  });
  terminal.write(WHAT_ARE_YOU + WHERE_IS_CURSOR);
  const column = await promise;
  terminal.listen(undefined);
  clearTimeout(timer);
  signal.removeEventListener("abort", goOn);
  if (column > 1) terminal.write("\r\n");
  return { losesCursor };
}
