/**
 * The process a command runs in: its streams, environment, working directory and signals. `run.ts`
 * passes the real one; tests pass their own and need no child process.
 */
import { fstatSync, writeSync } from "node:fs";
import type { Readable } from "node:stream";
import type { WriteStream } from "node:tty";
import type { PartialConfig } from "../settings/config/index.ts";
import type { UserEnvironment } from "../stores/index.ts";
import type { OutputStream, TerminalDevice } from "../surfaces/terminal/index.ts";

type HostSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface Host {
  readonly version: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Whether standard input may have content, without opening the stream. */
  readonly hasPipedInput: () => boolean;
  /** Opening this stream is slow; `--help` and completion use `writeOut` and `isTerminal` instead. */
  readonly stdout: WriteStream;
  readonly stderr: WriteStream;
  /** For command output: opens no stream unless it is a terminal. */
  readonly results: OutputStream;
  readonly notices: OutputStream;
  /** Writes a short text to standard output without opening the stream. */
  readonly writeOut: (text: string) => void;
  /** Whether standard output is a terminal, without opening the stream. */
  readonly isTerminal: () => boolean;
  /** Whether a person types on standard input and sees standard output, without opening the streams. */
  readonly isInteractive: () => boolean;
  readonly environment: UserEnvironment;
  readonly cwd: string;
  readonly pid: number;
  /** The folder for temporary files. */
  readonly tmpdir: string;
  /** Restarts this program: the executable, and the arguments before the command's own. */
  readonly self: readonly [program: string, ...args: readonly string[]];
  /** The build's output folder, with the page of `jp serve`. */
  readonly dist: string;
  /** The terminal for prompts, if available. */
  readonly terminal: TerminalDevice;
  /** Calls the listener on these signals instead of ending the process, until disposed. */
  readonly onSignal: (signals: readonly HostSignal[], listener: () => void) => Disposable;
  /** Ends the process immediately. */
  readonly exit: (status: number) => void;
}

/** Whether to prompt in plain lines, for screen readers: from JP_PLAIN, else the config, else on dumb terminals. */
export function wantsPlainText(
  { environment }: Pick<Host, "environment">,
  config: PartialConfig,
): boolean {
  const { JP_PLAIN: wanted, TERM: terminal } = environment.variables;
  if (wanted === "1" || wanted === "0") return wanted === "1";
  const style = config.style?.prompt;
  return style === undefined ? terminal === "dumb" : style === "plain";
}

export function canOpenSession({ isInteractive: isOnTerminal, environment }: Host): boolean {
  return isOnTerminal() && environment.variables["JP_NONINTERACTIVE"] !== "1";
}

/** Opening `process.stdout` would load Node's socket code, which takes longer than printing help. */
export function writeOut(text: string): void {
  try {
    writeSync(1, text);
  } catch (error) {
    // A full pipe needs the stream, which waits. A closed pipe needs nothing.
    const isFull = error instanceof Error && "code" in error && error.code === "EAGAIN";
    if (isFull) process.stdout.write(text);
  }
}

/** A character device is a terminal or `/dev/null`. */
export function hasPipedInput(): boolean {
  try {
    return !fstatSync(0).isCharacterDevice();
  } catch {
    return false; // It is closed.
  }
}

export function isInteractive(): boolean {
  return isTerminal() && process.getBuiltinModule("node:tty").isatty(0);
}

/** Terminals are character devices: for pipes and files, the stream need not be opened. */
export function isTerminal(): boolean {
  return fstatSync(1).isCharacterDevice() && process.stdout.isTTY;
}
