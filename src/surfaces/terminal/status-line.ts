/**
 * The line below the output that shows what jp is doing and for how long. Without its own row, it is removed before
 * anything else is printed. Shown only on a terminal.
 */
import { textWidth, truncate } from "../render/index.ts";
import type { OutputStream } from "./descriptor-output.ts";
import type { ShownMode } from "./input-state.ts";
import { columnsOf } from "./output.ts";

export interface StatusLine {
  /** It has its own row below the output, and can stay while text is printed. */
  readonly isBelow: boolean;
  /** Shows a text and the time since `from`, by default since now. Undefined removes the line. */
  set(text: string | undefined, from?: number, shown?: Shown): void;
  /** Removes the line until `set` or `resume`, so that other output can be printed. */
  clear(): void;
  /** Shows the text again after `clear`. */
  resume(): void;
}

/** When the line appears and how often it is drawn. The defaults are fast. */
export interface Pace {
  readonly delayMs?: number;
  readonly intervalMs?: number;
}

interface Shown extends Pace {
  /** Evaluated at each redraw, so it may change over time. */
  readonly details?: (() => string) | undefined;
}

export interface StatusLineOptions {
  readonly stream: OutputStream;
  /** Plain mode: a screen reader would read the line over and over. */
  readonly isPlain: boolean;
  readonly now: () => number;
  /** The row to draw it in, while there is one. */
  readonly row?: () => StatusRow | undefined;
  /** The mode, unless the row shows it. */
  readonly mode?: ShownMode | undefined;
  /** A row below it, if the row has room: the same text in several lengths, the longest first. */
  readonly below?: () => readonly string[];
}

/** The mode comes last, and stays in full if the rest has to be cut. */
export function withMode(line: string, mode: ShownMode | undefined, columns: number): string {
  if (mode === undefined) return truncate(line, columns);
  const shown = `mode ${mode.name}`;
  const room = columns - textWidth(` · ${shown}`);
  return line === "" || room < 1 ? truncate(shown, columns) : `${truncate(line, room)} · ${shown}`;
}

/** A row of the screen, below the output, and one below it: the same text in several lengths, the longest first. */
export interface StatusRow {
  setStatus(text: string | undefined, below?: readonly string[]): void;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const INTERVAL_MS = 100;
/** Anything faster would only flicker. */
const DELAY_MS = 400;
const CLEAR_LINE = "\r\u001b[K";

export function createStatusLine(options: StatusLineOptions): StatusLine {
  const { stream, isPlain, now, row = () => undefined, mode, below } = options;
  if (!stream.isTTY || isPlain)
    return { isBelow: false, set: () => {}, clear: () => {}, resume: () => {} };
  let text: string | undefined;
  let since = 0;
  let isDrawn = false;
  let pace: Pace = {};
  let details: (() => string) | undefined;
  let timer: NodeJS.Timeout | undefined;

  const draw = () => {
    const elapsed = now() - since;
    if (text === undefined || elapsed < (pace.delayMs ?? DELAY_MS)) return;
    const frame = FRAMES[Math.floor(elapsed / INTERVAL_MS) % FRAMES.length] ?? "";
    const line = `${frame} ${text} ${(elapsed / 1000).toFixed(1)}s${details?.() ?? ""}`;
    const own = row();
    if (own !== undefined) {
      if (isDrawn) stream.write(CLEAR_LINE); // Drawn before the row existed.
      isDrawn = false;
      return own.setStatus(line, below?.());
    }
    stream.write(`${CLEAR_LINE}${withMode(line, mode, Math.max(1, columnsOf(stream) - 1))}`);
    isDrawn = true;
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    row()?.setStatus(undefined);
    if (isDrawn) stream.write(CLEAR_LINE);
    isDrawn = false;
  };
  const clear = () => {
    if (row() === undefined || isDrawn) stop();
  };
  const resume = () => {
    if (text === undefined || timer !== undefined) return;
    timer = setInterval(draw, pace.intervalMs ?? INTERVAL_MS);
    timer.unref(); // Must not keep the process alive.
  };
  return {
    get isBelow() {
      return row() !== undefined;
    },
    set: (wanted, from, { details: wantedDetails, ...wantedPace } = {}) => {
      details = wantedDetails;
      if (wanted === text && timer !== undefined) {
        since = from ?? since;
        return;
      }
      stop();
      if (from !== undefined || wanted !== text) since = from ?? now();
      text = wanted;
      pace = wantedPace;
      resume();
    },
    clear,
    resume,
  };
}
