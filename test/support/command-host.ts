/** Runs `jp` inside the test's process, for tests that do not need a separate one. */
import path from "node:path";
import { Readable, Writable } from "node:stream";
import type { WriteStream } from "node:tty";
import type { Host } from "../../src/cli/host.ts";
import { run } from "../../src/cli/run.ts";
import type { TerminalDevice } from "../../src/surfaces/terminal/index.ts";
import { ROOT } from "./documents.ts";

export interface HostOptions {
  readonly cwd?: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** Standard input; empty by default. */
  readonly input?: string;
  /** Aborted when the user presses Ctrl-C. */
  readonly interrupt?: AbortSignal;
  /** Called for each write to stderr. */
  readonly onNotice?: (text: string) => void;
  /** Called for each write to stdout. */
  readonly onOutput?: (text: string) => void;
  /** In place of the folder that was built. */
  readonly dist?: string;
  /** In place of the command that was built. */
  readonly self?: Host["self"];
}

export interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Without a terminal. The environment has only the given variables. */
export async function runCommand(
  words: readonly string[],
  { onNotice, onOutput, ...options }: HostOptions = {},
): Promise<Finished> {
  const stdout = new Collected(onOutput);
  const stderr = new Collected(onNotice);
  const status = await run(words, createHost(options, { stdout, stderr }));
  return { status, stdout: stdout.text, stderr: stderr.text };
}

export function createHost(
  options: Omit<HostOptions, "onNotice" | "onOutput"> = {},
  { stdout = new Collected(), stderr = new Collected() } = {},
): Host {
  const { cwd = "/", variables = {}, input = "", interrupt } = options;
  return {
    version: "0.0.0-test",
    stdin: Readable.from(input === "" ? [] : [input]),
    hasPipedInput: () => input !== "",
    // Commands use the members of WriteStream only on a terminal.
    stdout: stdout as Writable as WriteStream,
    stderr: stderr as Writable as WriteStream,
    results: stdout as Writable as WriteStream,
    notices: stderr as Writable as WriteStream,
    writeOut: (text) => void stdout.write(text),
    isTerminal: () => false,
    isInteractive: () => false,
    environment: { variables, home: variables["HOME"] ?? "/", platform: process.platform },
    cwd,
    pid: process.pid,
    tmpdir: variables["TMPDIR"] ?? "/tmp",
    self: options.self ?? [process.execPath, path.join(ROOT, "dist", "bin", "jp.cjs")],
    dist: options.dist ?? path.join(ROOT, "dist"),
    terminal: NO_TERMINAL,
    onSignal: (signals, listener) => {
      if (signals.includes("SIGINT")) interrupt?.addEventListener("abort", listener);
      return { [Symbol.dispose]: () => interrupt?.removeEventListener("abort", listener) };
    },
    exit: (status) => {
      throw new Error(`the command tried to exit with status ${status}`);
    },
  };
}

const NO_TERMINAL: TerminalDevice = {
  path: undefined,
  isAvailable: () => false,
  isForeground: () => false,
  openInput: noTerminal,
  openOutput: noTerminal,
  onResize: () => ({ [Symbol.dispose]: () => {} }),
  interrupt: () => {},
  suspend: () => {},
  onContinue: () => ({ [Symbol.dispose]: () => {} }),
};

function noTerminal(): never {
  throw new Error("ENXIO: no such device or address");
}

/** A stream that is not a terminal. */
export class Collected extends Writable {
  text = "";
  readonly isTTY = false;

  constructor(onText: (text: string) => void = () => {}) {
    super({
      decodeStrings: false,
      write: (piece: string | Buffer, _encoding, done) => {
        this.text += String(piece);
        onText(String(piece));
        done();
      },
    });
  }
}
