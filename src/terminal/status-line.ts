/**
 * The line below the output that shows what jp is doing and for how long. It is removed before anything
 * else is printed, and shown only on a terminal.
 */
import { truncate } from "../render/index.ts";
import type { OutputStream } from "./descriptor-output.ts";
import { columnsOf } from "./output.ts";

export interface StatusLine {
  /** Shows a text and the time since `from`, by default since now. Undefined removes it. */
  set(text: string | undefined, from?: number, pace?: Pace): void;
  /** Removes the line until `set` or `resume`, so that something else can be printed. */
  clear(): void;
  /** Shows the text again after `clear`. */
  resume(): void;
}

/** When the line appears and how often it is drawn; the defaults are quick. */
export interface Pace {
  readonly delayMs?: number;
  readonly intervalMs?: number;
}

export interface StatusLineOptions {
  readonly stream: OutputStream;
  /** Plain mode: a screen reader would read the line out again and again. */
  readonly isPlain: boolean;
  readonly now: () => number;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const INTERVAL_MS = 100;
/** Anything faster would only flicker. */
const DELAY_MS = 400;
const CLEAR_LINE = "\r\u001b[K";

export function createStatusLine({ stream, isPlain, now }: StatusLineOptions): StatusLine {
  if (!stream.isTTY || isPlain) return { set: () => {}, clear: () => {}, resume: () => {} };
  let text: string | undefined;
  let since = 0;
  let isDrawn = false;
  let pace: Pace = {};
  let timer: NodeJS.Timeout | undefined;

  const draw = () => {
    const elapsed = now() - since;
    if (text === undefined || elapsed < (pace.delayMs ?? DELAY_MS)) return;
    const frame = FRAMES[Math.floor(elapsed / INTERVAL_MS) % FRAMES.length] ?? "";
    const line = `${frame} ${text} ${(elapsed / 1000).toFixed(1)}s`;
    stream.write(`${CLEAR_LINE}${truncate(line, Math.max(1, columnsOf(stream) - 1))}`);
    isDrawn = true;
  };
  const clear = () => {
    clearInterval(timer);
    timer = undefined;
    if (isDrawn) stream.write(CLEAR_LINE);
    isDrawn = false;
  };
  const resume = () => {
    if (text === undefined || timer !== undefined) return;
    timer = setInterval(draw, pace.intervalMs ?? INTERVAL_MS);
    timer.unref(); // It must not keep the process alive.
  };
  return {
    set: (wanted, from, wantedPace = {}) => {
      if (wanted === text && timer !== undefined) return;
      clear();
      if (from !== undefined || wanted !== text) since = from ?? now();
      text = wanted;
      pace = wantedPace;
      resume();
    },
    clear,
    resume,
  };
}
