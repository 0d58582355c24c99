/** The terminal itself, wherever the standard streams go. */
import { closeSync, openSync } from "node:fs";
import { ReadStream, WriteStream } from "node:tty";
import { styleText } from "node:util";
import type { Paint } from "../render/index.ts";
import { CodedError } from "../util/index.ts";
import { decodeInput, decodeLoneEscape, type Key, type Report } from "./key.ts";
import type { Size } from "./widget.ts";

interface TerminalEvents {
  readonly onInput: (sent: readonly (Key | Report)[]) => void;
  readonly onResize: () => void;
  readonly onGone: () => void;
}

/** Open, it has the keys to itself: none is echoed, and none is a signal. */
export interface Terminal extends Disposable {
  /** Colours, unless NO_COLOR or FORCE_COLOR say otherwise. */
  readonly paint: Paint;
  readonly size: Size;
  /** It was hung up: nothing more comes of it. */
  readonly isGone: boolean;
  /** Does nothing if the terminal has gone away. */
  write(text: string): void;
  /** What comes while nobody listens is dropped. */
  listen(events: TerminalEvents | undefined): void;
}

const PASTES_MARKED = "\u001b[?2004h";
const PASTES_NOT_MARKED = "\u001b[?2004l";

/** What other keys send begins like Escape, but the rest of it follows at once. */
const ESCAPE_MILLISECONDS = 50;

export function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r+"));
    return true;
  } catch {
    return false;
  }
}

/** Throws `no_terminal`. */
export function openTerminal(): Terminal {
  const { input, output } = openStreams();
  let size = sizeOf(output);
  let isGone = false;
  let listening: TerminalEvents | undefined;
  const write = (text: string) => {
    if (output.writable) output.write(text);
  };
  const stopReading = readKeys(input, {
    onInput: (sent) => listening?.onInput(sent),
    onGone: () => {
      isGone = true;
      listening?.onGone();
    },
  });
  const onWindowChange = () => {
    size = measureAnew() ?? size;
    listening?.onResize();
  };
  process.on("SIGWINCH", onWindowChange);
  // If the process is ended in the middle: Node itself takes back what it did to the keys.
  const restore = () => write(PASTES_NOT_MARKED);
  process.once("exit", restore);
  write(PASTES_MARKED);
  return {
    paint: (style, text) => styleText(style, text, { stream: output }),
    get size() {
      return size;
    },
    get isGone() {
      return isGone;
    },
    write,
    listen: (events) => {
      listening = events;
    },
    [Symbol.dispose]: () => {
      process.off("SIGWINCH", onWindowChange);
      process.off("exit", restore);
      restore();
      stopReading();
      output.destroy();
    },
  };
}

/** Throws `no_terminal`. */
export function openStreams(): { readonly input: ReadStream; readonly output: WriteStream } {
  try {
    const output = openOutput();
    return { input: new ReadStream(openSync("/dev/tty", "r")), output };
  } catch (cause) {
    throw new CodedError("no_terminal", "There is no terminal on which anybody could be asked.", {
      cause,
      hint: "Run it on a terminal, or without questions: --non-interactive",
    });
  }
}

function openOutput(): WriteStream {
  // What cannot be written has nobody to read it.
  return new WriteStream(openSync("/dev/tty", "w")).on("error", ignore);
}

/** A stream learns its size when it is opened, and only the standard ones learn of changes. */
function measureAnew(): Size | undefined {
  try {
    const output = openOutput();
    const size = sizeOf(output);
    output.destroy();
    return size;
  } catch {
    return undefined; // It has gone away.
  }
}

/** Some terminals do not know how large they are. */
export function sizeOf({ columns, rows }: WriteStream): Size {
  return columns > 0 && rows > 0 ? { columns, rows } : { columns: 80, rows: 24 };
}

/** As they are pressed, without an echo. Returns how to stop. */
export function readKeys(
  input: ReadStream,
  { onInput, onGone }: Pick<TerminalEvents, "onInput" | "onGone">,
): () => void {
  let rest = "";
  let timer: NodeJS.Timeout | undefined;
  const onData = (data: string) => {
    clearTimeout(timer);
    const decoded = decodeInput(rest + data);
    rest = decoded.rest;
    onInput(decoded.sent);
    timer = setTimeout(() => {
      const lone = decodeLoneEscape(rest);
      if (lone.length === 0) return;
      rest = "";
      onInput(lone);
    }, ESCAPE_MILLISECONDS);
  };
  input.setEncoding("utf8");
  input.on("error", onGone).on("end", onGone).on("close", onGone).on("data", onData);
  input.setRawMode(true);
  return () => {
    clearTimeout(timer);
    input.off("error", onGone).off("end", onGone).off("close", onGone).off("data", onData);
    input.on("error", ignore);
    input.setRawMode(false);
    input.destroy();
  };
}

function ignore(): void {
  // A terminal that has gone away takes nothing and gives nothing.
}
