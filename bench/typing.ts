/**
 * Types keys while other work runs in the same process, and measures how long the event loop stalls and how
 * long a key takes to appear.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { plain } from "../src/surfaces/render/index.ts";
import { decodeInput } from "../src/surfaces/terminal/key.ts";
import { ShownWidget } from "../src/surfaces/terminal/show-widget.ts";
import type { Terminal } from "../src/surfaces/terminal/terminal.ts";
import { bufferOf } from "../src/surfaces/terminal/text-buffer.ts";
import { textEntry } from "../src/surfaces/terminal/text-entry.ts";
import { systemClock } from "../src/util/index.ts";

/** In milliseconds. */
export interface Stalls {
  /** Wall-clock time: the longest delay of the event loop or of a key. */
  readonly most: number;
  /** The maximum CPU time of this thread between two keys, unaffected by other programs. */
  readonly mostCpu: number;
  /** As reported by the event loop, which misses a stall before its first sample. */
  readonly delay: { readonly most: number; readonly p99: number; readonly p50: number };
  /** From the time a key was due until it was drawn. */
  readonly slowestKey: number;
  readonly keys: number;
}

/** Faster than any typist. */
const KEY_MS = 10;
const RESOLUTION_MS = 1;

/** Does the work while typing keys. */
export async function whileTyping(work: () => Promise<void>): Promise<Stalls> {
  const terminal = new Keyboard();
  const { signal } = new AbortController();
  const widget = textEntry({ message: "What else?", hasEditor: false }, { hasMore: false });
  const shown = new ShownWidget(widget, bufferOf(""), { terminal, signal, clock: systemClock });
  terminal.press("a"); // Warms up.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  terminal.start();
  try {
    await work();
    await new Promise((resolve) => setTimeout(resolve, 2 * KEY_MS)); // Lets a delayed key arrive.
  } finally {
    delay.disable();
    terminal.stop();
  }
  await shown.ended;
  const milliseconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  return {
    most: Math.max(milliseconds(delay.max), terminal.slowest),
    mostCpu: terminal.mostCpu,
    delay: {
      most: milliseconds(delay.max),
      p99: milliseconds(delay.percentile(99)),
      p50: milliseconds(delay.percentile(50)),
    },
    slowestKey: terminal.slowest,
    keys: terminal.keys,
  };
}

class Keyboard implements Terminal {
  readonly paint = plain;
  readonly size = { columns: 80, rows: 24 };
  readonly isClosed = false;
  slowest = 0;
  mostCpu = 0;
  keys = 0;
  #events: Parameters<Terminal["listen"]>[0];
  #timer: NodeJS.Timeout | undefined;
  #due = 0;

  write(): void {}

  suspend(): void {}

  listen(events: Parameters<Terminal["listen"]>[0]): void {
    this.#events = events;
  }

  press(text: string): void {
    this.#events?.onInput(decodeInput(text).sent);
  }

  start(): void {
    this.#due = performance.now() + KEY_MS;
    let before = process.threadCpuUsage();
    this.#timer = setInterval(() => {
      const { user, system } = process.threadCpuUsage(before);
      before = process.threadCpuUsage();
      this.mostCpu = Math.max(this.mostCpu, (user + system) / 1000);
      // Fills a line, then clears it.
      this.press(this.keys % 60 === 59 ? "\u0015" : "a");
      this.keys += 1;
      this.slowest = Math.max(this.slowest, performance.now() - this.#due);
      this.#due = performance.now() + KEY_MS;
    }, KEY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#events?.onClose();
  }

  [Symbol.dispose](): void {}
}
