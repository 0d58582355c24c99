/**
 * The process that a command runs in: its streams, environment, folder and signals. `main.ts` passes the
 * real one; tests run commands in one of their own, without starting a process.
 */
import { fstatSync, writeSync } from "node:fs";
import type { Readable } from "node:stream";
import type { WriteStream } from "node:tty";
import type { UserEnvironment } from "../storage/index.ts";

export type HostSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface Host {
  readonly version: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Opening a stream is slow: `--help` and completion do without. */
  readonly stdout: WriteStream;
  readonly stderr: WriteStream;
  /** Writes a short text to standard output, without opening it as a stream. */
  readonly writeOut: (text: string) => void;
  /** Whether standard output is a terminal, likewise. */
  readonly isScreen: () => boolean;
  readonly environment: UserEnvironment;
  readonly cwd: string;
  readonly pid: number;
  /** The folder for temporary files. */
  readonly temporary: string;
  /** Whether questions may be asked on the terminal that controls this process, if it has one. */
  readonly mayUseTerminal: boolean;
  /** Calls back for each signal, instead of ending the process, until it is disposed of. */
  readonly onSignal: (signals: readonly HostSignal[], listener: () => void) => Disposable;
  /** Ends the process at once. */
  readonly exit: (status: number) => void;
}

export function writeOut(text: string): void {
  try {
    writeSync(1, text);
  } catch (error) {
    const isFull = error instanceof Error && "code" in error && error.code === "EAGAIN";
    if (isFull) process.stdout.write(text); // The stream waits. A closed pipe wants nothing.
  }
}

/** Pipes and files are told from terminals, which are devices, before a stream is opened. */
export function isScreen(): boolean {
  return fstatSync(1).isCharacterDevice() && process.stdout.isTTY;
}
