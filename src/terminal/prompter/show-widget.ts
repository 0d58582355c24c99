/** Runs a widget on the terminal: keys in, frames out, and nothing left of it in the end. */
import { FullScreen } from "./full-screen.ts";
import { type CursorReport, isCancelling, isKey, type Key } from "./key.ts";
import { LiveRegion } from "./live-region.ts";
import { canvasOf } from "./surface.ts";
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
