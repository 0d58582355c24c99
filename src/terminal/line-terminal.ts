/**
 * The terminal as typewriters had it: lines are written, and lines are read, which the terminal itself
 * echoes and lets people mend. Whatever speaks or prints what is on it misses nothing.
 */
import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { ReadStream } from "node:tty";
import { stripVTControlCharacters } from "node:util";
import { findProgram } from "../util/index.ts";
import { isCancelling, isKey } from "./key.ts";
import { hasTerminal, openStreams, readKeys, sizeOf } from "./terminal-device.ts";
import { bufferOf } from "./text-buffer.ts";
import { secretEntry } from "./text-entry.ts";
import type { Closed } from "./widget.ts";

export type Line = { readonly type: "line"; readonly text: string } | Closed;

export interface LineTerminal extends Disposable {
  readonly columns: number;
  /** Lines end in `\n`. */
  write(text: string): void;
  /** What was typed before is dropped, unless it is wanted. Nothing is echoed of a secret. */
  readLine(signal: AbortSignal, wanted?: LineWanted): Promise<Line>;
}

export interface LineWanted {
  readonly isSecret?: boolean;
  /** More of what is being typed, or was copied from somewhere. */
  readonly isNext?: boolean;
}

/** Nothing of a secret is laid out. */
const NO_SIZE = { columns: 0, rows: 0 };
const CTRL_C = "\u0003";
/**
 * Ctrl-C ends a line and is in it: it is an answer to the question that is open, and no signal to
 * everybody who has this terminal.
 */
const CTRL_C_IS_TYPED = ["-isig", "eol", "^C"];

/** Throws `no_terminal`. */
export function openLineTerminal(): LineTerminal {
  const { input, output } = openStreams();
  input.destroy(); // Each line is read by a stream of its own: one that has ended reads no more.
  const before = setTerminal("-g");
  setTerminal(...CTRL_C_IS_TYPED);
  const restore = () => void setTerminal(before);
  process.once("exit", restore); // The process may be ended in the middle.
  const write = (text: string) => {
    if (output.writable) output.write(text);
  };
  return {
    get columns() {
      return sizeOf(output).columns;
    },
    write,
    readLine: async (signal, { isSecret = false, isNext = false } = {}) => {
      if (signal.aborted) return { type: "aborted" };
      const stream = openInput();
      if (stream === undefined) return { type: "aborted" };
      if (!isNext) dropTyped(stream);
      const line = await (isSecret ? readSecret : readEchoed)(stream, signal);
      // The terminal has ended a line that was sent, if it could be seen.
      if (isSecret || line.type !== "line") write("\n");
      return line;
    },
    [Symbol.dispose]: () => {
      process.off("exit", restore);
      restore();
      output.destroy();
    },
  };
}

/** Only a program can do it. Where there is none, the terminal stays as it is. */
function setTerminal(...settings: readonly string[]): string {
  const program = findProgram("stty");
  if (program === undefined) return "";
  let terminal: number | undefined;
  try {
    terminal = openSync("/dev/tty", "r");
    const { stdout } = spawnSync(program, settings.filter(Boolean), {
      stdio: [terminal, "pipe", "ignore"],
      encoding: "utf8",
    });
    return (stdout ?? "").trim();
  } catch {
    return ""; // It has gone away.
  } finally {
    if (terminal !== undefined) closeSync(terminal);
  }
}

function openInput(): ReadStream | undefined {
  try {
    return new ReadStream(openSync("/dev/tty", "r"));
  } catch {
    return undefined; // It has gone away.
  }
}

/** In raw mode, all that was typed can be read, also a line that has not ended. */
function dropTyped(stream: ReadStream): void {
  let terminal: number | undefined;
  stream.setRawMode(true);
  try {
    terminal = openSync("/dev/tty", constants.O_RDONLY | constants.O_NONBLOCK);
    const dropped = Buffer.alloc(4096);
    while (readSync(terminal, dropped) > 0);
  } catch {
    // There is nothing more.
  }
  if (terminal !== undefined) closeSync(terminal);
  stream.setRawMode(false);
}

/** Ctrl-D ends it without a line, as the end of the terminal does. Only after Ctrl-D is it still there. */
async function readEchoed(stream: ReadStream, signal: AbortSignal): Promise<Line> {
  const { promise, resolve } = Promise.withResolvers<Line>();
  let typed = "";
  const onEnd = () => resolve({ type: hasTerminal() ? "cancelled" : "aborted" });
  const onAbort = () => resolve({ type: "aborted" });
  stream.setEncoding("utf8");
  stream.on("error", onAbort).on("end", onEnd).on("close", onEnd);
  stream.on("data", (data: string) => {
    typed += data;
    const end = typed.search(/[\r\n\u0003]/);
    if (end === -1) return;
    stream.pause(); // What follows stays in the terminal.
    const text = typed.slice(0, end);
    const isGivenUp = typed[end] === CTRL_C || /^\u001b+$/.test(text);
    resolve(isGivenUp ? { type: "cancelled" } : { type: "line", text: withoutSequences(text) });
  });
  signal.addEventListener("abort", onAbort, { once: true });
  const line = await promise;
  signal.removeEventListener("abort", onAbort);
  stream.destroy();
  return line;
}

/** Arrows and their like send sequences that mean nothing in a line. */
function withoutSequences(text: string): string {
  return stripVTControlCharacters(text);
}

async function readSecret(stream: ReadStream, signal: AbortSignal): Promise<Line> {
  const { promise, resolve } = Promise.withResolvers<Line>();
  const widget = secretEntry({ message: "" }, { hasMore: false });
  let buffer = bufferOf("");
  const onCancel = () => resolve({ type: "cancelled" });
  const onAbort = () => resolve({ type: "aborted" });
  const stop = readKeys(stream, {
    onInput: (sent) => {
      for (const key of sent.filter(isKey)) {
        const step = widget.update(buffer, key, NO_SIZE);
        if (isCancelling(key)) onCancel();
        else if (step.type === "wait") buffer = step.state;
        else if (step.ending.type === "entered") resolve({ type: "line", text: step.ending.text });
        else onCancel();
      }
    },
    onGone: onAbort,
  });
  signal.addEventListener("abort", onAbort, { once: true });
  const line = await promise;
  signal.removeEventListener("abort", onAbort);
  stop();
  return line;
}
