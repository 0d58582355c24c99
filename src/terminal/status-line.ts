/**
 * A line at the bottom of what was printed that says what is going on, and for how long. It is wiped
 * away before anything else is printed. Where there is no screen, it is nowhere.
 */
import { truncate } from "../render/index.ts";

export interface StatusLine {
  /** Shown from now on, with the time since, or since another moment; undefined for nothing. */
  set(text: string | undefined, from?: number): void;
  /** Takes it from the screen until it is set or resumed: something else is about to be printed. */
  clear(): void;
  /** Shows again what was cleared. */
  resume(): void;
}

export interface StatusLineOptions {
  readonly stream: NodeJS.WriteStream;
  /** There is somebody who would hear it again and again: then it is nowhere, too. */
  readonly isPlain: boolean;
  readonly now: () => number;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const INTERVAL_MS = 100;
/** What is over sooner than that only flickers. */
const DELAY_MS = 400;
const WIPE = "\r\u001b[K";

export function createStatusLine({ stream, isPlain, now }: StatusLineOptions): StatusLine {
  if (!stream.isTTY || isPlain) return { set: () => {}, clear: () => {}, resume: () => {} };
  let text: string | undefined;
  let since = 0;
  let isDrawn = false;
  let timer: NodeJS.Timeout | undefined;

  const draw = () => {
    const elapsed = now() - since;
    if (text === undefined || elapsed < DELAY_MS) return;
    const frame = FRAMES[Math.floor(elapsed / INTERVAL_MS) % FRAMES.length] ?? "";
    const line = `${frame} ${text} ${(elapsed / 1000).toFixed(1)}s`;
    stream.write(`${WIPE}${truncate(line, Math.max(1, stream.columns - 1))}`);
    isDrawn = true;
  };
  const clear = () => {
    clearInterval(timer);
    timer = undefined;
    if (isDrawn) stream.write(WIPE);
    isDrawn = false;
  };
  const resume = () => {
    if (text === undefined || timer !== undefined) return;
    timer = setInterval(draw, INTERVAL_MS);
    timer.unref(); // It keeps nobody here.
  };
  return {
    set: (wanted, from) => {
      if (wanted === text && timer !== undefined) return;
      clear();
      if (from !== undefined || wanted !== text) since = from ?? now();
      text = wanted;
      resume();
    },
    clear,
    resume,
  };
}
