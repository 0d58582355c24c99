/**
 * The terminal for plain mode: writes lines, and reads lines that the terminal itself echoes and edits, so that screen
 * readers can follow.
 */
import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { findSystemProgram, SYSTEM_PATH } from "../../reach/process/index.ts";
import { cancelledBy, type NoAnswer } from "./dialogue.ts";
import type { TerminalDevice, TerminalInput } from "./controlling-terminal.ts";
import { isCancelKey, isEscape, isKey } from "./key.ts";
import { openStreams, prepareSuspension, readKeys, sizeOf } from "./terminal.ts";
import { bufferOf } from "./text-buffer.ts";
import { secretEntry } from "./text-entry.ts";

export type Line = { readonly type: "line"; readonly text: string } | NoAnswer;

export interface LineTerminal extends Disposable {
  readonly columns: number;
  /** Lines end in `\n`. */
  write(text: string): void;
  /** Drops text typed before the call, unless `isContinuation`. Secrets are not echoed. */
  readLine(signal: AbortSignal, wanted?: ReadLineOptions): Promise<Line>;
  /** Lets Ctrl-C send its signal again until the next line is read. */
  restore(): void;
}

export interface ReadLineOptions {
  readonly isSecret?: boolean;
  /** The next line of a text being typed or pasted. */
  readonly isContinuation?: boolean;
  /** Lines that arrive at once are a paste, and form one text. */
  readonly takesPaste?: boolean;
}

/** Unused: a secret is never drawn. */
const NO_SIZE = { columns: 0, rows: 0 };
const CTRL_C = "\u0003";
/**
 * Makes Ctrl-C end the line instead of sending a signal to every process on this terminal: it cancels only the open
 * question. Ctrl-Z still suspends all of them.
 */
const CTRL_C_AS_INPUT = ["intr", "undef", "quit", "undef", "eol", "^C"];

/** Throws `no_terminal`. */
export function openLineTerminal(device: TerminalDevice): LineTerminal {
  const { input, output } = openStreams(device);
  input.destroy(); // Each line gets a new stream, since an ended stream reads no more.
  const before = runStty(device, "-g");
  runStty(device, ...CTRL_C_AS_INPUT);
  let isRestored = false;
  const restore = () => {
    if (!isRestored) runStty(device, before);
    isRestored = true;
  };
  const continuing = device.onContinue(() => {
    if (!isRestored) runStty(device, ...CTRL_C_AS_INPUT); // The shell may have its settings back.
    write(lastPrompt);
  });
  process.once("exit", restore); // In case the process exits before.
  let lastPrompt = "";
  const write = (text: string) => {
    lastPrompt = /[^\n]*$/.exec(text)?.[0] ?? "";
    if (output.writable) output.write(text);
  };
  return {
    get columns() {
      return sizeOf(output).columns;
    },
    write,
    readLine: async (signal, wanted = {}) => {
      const { isSecret = false, isContinuation = false, takesPaste = false } = wanted;
      if (signal.aborted) return { type: "aborted" };
      const stream = openInput(device);
      if (stream === undefined) return { type: "aborted" };
      if (isRestored) runStty(device, ...CTRL_C_AS_INPUT);
      isRestored = false;
      if (!isContinuation) discardTypedInput(device, stream);
      const line = await (isSecret
        ? readSecret(device, stream, signal)
        : readEchoed({ device, stream, takesPaste }, signal));
      // After an echoed line, the terminal has already written the line break.
      if (line.type !== "line") write("\n");
      else if (isSecret) write(line.text === "" ? "(nothing entered)\n" : "(entered)\n");
      return line;
    },
    restore,
    [Symbol.dispose]: () => {
      process.off("exit", restore);
      continuing[Symbol.dispose]();
      restore();
      output.destroy();
    },
  };
}

/** Node cannot change these settings. Without stty, the terminal stays unchanged. */
function runStty({ path }: TerminalDevice, ...settings: readonly string[]): string {
  const program = findSystemProgram("stty");
  if (program === undefined || path === undefined) return "";
  let terminal: number | undefined;
  try {
    terminal = openSync(path, "r");
    const { stdout } = spawnSync(program, settings.filter(Boolean), {
      stdio: [terminal, "pipe", "ignore"],
      env: { PATH: SYSTEM_PATH },
      encoding: "utf8",
    });
    return (stdout ?? "").trim();
  } catch {
    return ""; // The terminal is closed.
  } finally {
    if (terminal !== undefined) closeSync(terminal);
  }
}

function openInput(device: TerminalDevice): TerminalInput | undefined {
  try {
    return device.openInput();
  } catch {
    return undefined; // The terminal is closed.
  }
}

/** Uses raw mode, in which even an unfinished line can be read. */
function discardTypedInput({ path }: TerminalDevice, stream: TerminalInput): void {
  if (path === undefined) return;
  let terminal: number | undefined;
  stream.setRawMode(true);
  try {
    terminal = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const dropped = Buffer.alloc(4096);
    while (readSync(terminal, dropped) > 0);
  } catch {
    // EAGAIN: nothing left to read.
  }
  if (terminal !== undefined) closeSync(terminal);
  stream.setRawMode(false);
}

/** Pasted lines follow each other faster than a person presses Enter. */
const PASTE_PAUSE_MS = 30;

interface EchoedInput extends Required<Pick<ReadLineOptions, "takesPaste">> {
  readonly device: TerminalDevice;
  readonly stream: TerminalInput;
}

/** Both Ctrl-D and a closed terminal end the stream; after Ctrl-D, the terminal still exists. */
async function readEchoed(
  { device, stream, takesPaste }: EchoedInput,
  signal: AbortSignal,
): Promise<Line> {
  const { promise, resolve } = Promise.withResolvers<Line>();
  let typed = "";
  let timer: NodeJS.Timeout | undefined;
  const onEnd = () =>
    resolve(device.isAvailable() ? { type: "cancelled", isEndOfInput: true } : { type: "aborted" });
  const onAbort = () => resolve({ type: "aborted" });
  stream.setEncoding("utf8");
  stream.on("error", onAbort).on("end", onEnd).on("close", onEnd);
  stream.on("data", (data: string) => {
    typed += data;
    const end = typed.search(/[\r\n\u0003]/);
    if (end === -1) return;
    clearTimeout(timer);
    if (takesPaste && typed[end] !== CTRL_C) {
      timer = setTimeout(() => resolve(toLine(typed, typed.search(/[\r\n]$/))), PASTE_PAUSE_MS);
      return;
    }
    stream.pause(); // Leave the rest in the terminal.
    resolve(toLine(typed, end));
  });
  signal.addEventListener("abort", onAbort, { once: true });
  const line = await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", onAbort);
  stream.destroy();
  return line;
}

/** The line up to `end`, or everything if `end` is -1. */
function toLine(typed: string, end: number): Line {
  const text = end === -1 ? typed : typed.slice(0, end);
  if (typed[end] === CTRL_C) return { type: "cancelled", isInterrupt: true };
  if (/^\u001b+$/.test(text)) return { type: "cancelled" };
  // Arrow keys and the like leave their escape sequences in the line.
  return { type: "line", text: stripVTControlCharacters(text.replaceAll(/\r\n?/g, "\n")) };
}

async function readSecret(
  device: TerminalDevice,
  stream: TerminalInput,
  signal: AbortSignal,
): Promise<Line> {
  const { promise, resolve } = Promise.withResolvers<Line>();
  const widget = secretEntry({ message: "" }, { hasMore: false });
  let buffer = bufferOf("");
  const onAbort = () => resolve({ type: "aborted" });
  using suspension = prepareSuspension(device, stream, () => {}); // The typed text is kept.
  const stop = readKeys(stream, {
    onInput: (sent) => {
      for (const key of sent.filter(isKey)) {
        if (key.type === "named" && key.name === "ctrl-z") return suspension.suspend();
        const step = widget.update(buffer, key, NO_SIZE);
        if (isEscape(key) && buffer.text !== "") continue; // Ctrl-C discards the typed text.
        if (isCancelKey(key)) resolve(cancelledBy(key));
        else if ("state" in step) buffer = step.state;
        else if (step.ending.type === "submitted") resolve({ type: "line", text: buffer.text });
        else resolve({ type: "cancelled" });
      }
    },
    onClose: onAbort,
  });
  signal.addEventListener("abort", onAbort, { once: true });
  const line = await promise;
  signal.removeEventListener("abort", onAbort);
  stop();
  return line;
}
