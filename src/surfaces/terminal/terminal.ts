/** An open terminal, for writing and reading keys. */
import { styleText } from "node:util";
import type { Paint } from "../render/index.ts";
import { JpError } from "../../util/index.ts";
import type { TerminalDevice, TerminalInput, TerminalOutput } from "./controlling-terminal.ts";
import { decodeInput, decodeLoneEscape, type Key, type Report } from "./key.ts";
import type { Canvas, Size } from "./widget.ts";

export interface TerminalEvents {
  readonly onInput: (sent: readonly (Key | Report)[]) => void;
  readonly onResize: () => void;
  /** jp continues after being stopped: the shell may have written anything in between. */
  readonly onContinue?: () => void;
  readonly onClose: () => void;
}

/** Counts the prompts of a session. */
export interface ShownPrompts {
  messages: number;
  questions: number;
}

/** While open, keys are neither echoed nor turned into signals. */
export interface Terminal extends Disposable {
  /** Follows NO_COLOR and FORCE_COLOR. */
  readonly paint: Paint;
  readonly size: Size;
  /** The terminal was hung up. */
  readonly isClosed: boolean;
  /** The time since the user last typed elsewhere, such as a message for later. */
  readonly msSinceTyped?: number;
  /** Rows that a prompt shows above itself, such as messages that are not sent yet. */
  readonly rowsAbove?: (canvas: Canvas) => readonly string[];
  /** The prompts that it has shown in this session, where it is kept open. */
  readonly shownPrompts?: ShownPrompts;
  /** Does nothing once the terminal is closed. */
  write(text: string): void;
  /** Input that arrives without a listener is dropped. */
  listen(events: TerminalEvents | undefined): void;
  /** Gives the terminal back to the shell, like Ctrl-Z. `onContinue` follows. */
  suspend(): void;
}

const BRACKETED_PASTE_ON = "\u001b[?2004h";
const BRACKETED_PASTE_OFF = "\u001b[?2004l";

/** Other keys also send sequences that start with Escape, but their rest follows at once. */
const ESCAPE_TIMEOUT_MS = 50;
/** No time passes for a stopped process: it first gets the signal to continue. */
export const NOT_STOPPED_MS = 100;

/** Keepers that hold a terminal open between prompts and lend it to them. */
export const keepers = new WeakMap<TerminalDevice, { lend(): Terminal | undefined }>();

/** Borrows the terminal if it is kept open. Throws `no_terminal`. */
export function openTerminal(device: TerminalDevice): Terminal {
  return keepers.get(device)?.lend() ?? openOwnTerminal(device);
}

/** Throws `no_terminal`. */
export function openOwnTerminal(device: TerminalDevice): Terminal {
  const { input, output } = openStreams(device);
  let size = sizeOf(output);
  let isClosed = false;
  let listening: TerminalEvents | undefined;
  const write = (text: string) => void (output.writable && output.write(text));
  const stopReading = readKeys(input, {
    onInput: (sent) => listening?.onInput(sent),
    onClose: () => {
      isClosed = true;
      listening?.onClose();
    },
  });
  const suspension = prepareSuspension(device, input, () => {
    if (isClosed) return;
    write(BRACKETED_PASTE_ON);
    size = measureTerminal(device) ?? size;
    listening?.onContinue?.();
  });
  const resizing = device.onResize(() => {
    size = measureTerminal(device) ?? size;
    listening?.onResize();
  });
  // In case the process exits before; Node itself resets raw mode.
  const restore = () => write(BRACKETED_PASTE_OFF);
  process.once("exit", restore);
  write(BRACKETED_PASTE_ON);
  return {
    paint: (style, text) => styleText(style, text, { stream: output }),
    get size() {
      return size;
    },
    get isClosed() {
      return isClosed;
    },
    write,
    listen: (events) => {
      listening = events;
    },
    suspend: () => {
      restore();
      suspension.suspend();
    },
    [Symbol.dispose]: () => {
      resizing[Symbol.dispose]();
      suspension[Symbol.dispose]();
      process.off("exit", restore);
      restore();
      stopReading();
      output.destroy();
    },
  };
}

interface Suspension extends Disposable {
  /** Gives the terminal back to the shell, like Ctrl-Z. */
  suspend(): void;
}

/** For input in raw mode, where Ctrl-Z is a key. Sets the mode again before calling `onContinue`. */
export function prepareSuspension(
  device: TerminalDevice,
  input: TerminalInput,
  onContinue: () => void,
): Suspension {
  let timer: NodeJS.Timeout | undefined;
  const proceed = () => {
    clearTimeout(timer);
    if (input.destroyed || !device.isForeground()) return;
    input.setRawMode(false); // Node does nothing if it believes the mode is already set.
    input.setRawMode(true);
    onContinue();
  };
  const continuing = device.onContinue(proceed);
  return {
    suspend: () => {
      input.setRawMode(false);
      device.suspend();
      // Without a shell that could continue it, jp is not stopped.
      timer = setTimeout(proceed, NOT_STOPPED_MS);
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      continuing[Symbol.dispose]();
    },
  };
}

/** Throws `no_terminal`. */
export function openStreams(device: TerminalDevice): {
  readonly input: TerminalInput;
  readonly output: TerminalOutput;
} {
  try {
    const output = openOutput(device);
    return { input: device.openInput(), output };
  } catch (cause) {
    throw new JpError("no_terminal", "No terminal is available to ask on.", {
      cause,
      hint: "Run jp in a terminal, or pass --non-interactive to answer by policy.",
    });
  }
}

function openOutput(device: TerminalDevice): TerminalOutput {
  // Output is lost once the terminal is closed.
  return device.openOutput().on("error", ignore);
}

/** Node updates only the standard streams' size, so this opens a new stream to measure. */
function measureTerminal(device: TerminalDevice): Size | undefined {
  try {
    const output = openOutput(device);
    const size = sizeOf(output);
    output.destroy();
    return size;
  } catch {
    return undefined; // The terminal is closed.
  }
}

/** Some terminals do not know their size. */
export function sizeOf({ columns, rows }: Size): Size {
  return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 };
}

/** Reads keys in raw mode. Returns a function that stops reading. */
export function readKeys(
  input: TerminalInput,
  { onInput, onClose }: Pick<TerminalEvents, "onInput" | "onClose">,
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
    }, ESCAPE_TIMEOUT_MS);
  };
  input.setEncoding("utf8");
  input.on("error", onClose).on("end", onClose).on("close", onClose).on("data", onData);
  input.setRawMode(true);
  return () => {
    clearTimeout(timer);
    input.off("error", onClose).off("end", onClose).off("close", onClose).off("data", onData);
    input.on("error", ignore);
    input.setRawMode(false);
    input.destroy();
  };
}

function ignore(): void {
  // The terminal is closed.
}
