/** Runs `jp` inside the test's own process, where starting one would show nothing more. */
import { Readable, Writable } from "node:stream";
import type { WriteStream } from "node:tty";
import type { Host } from "../../src/cli/host.ts";
import { run } from "../../src/cli/run.ts";
import type { TerminalDevice } from "../../src/terminal/index.ts";

export interface HostOptions {
  readonly cwd?: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** What is piped in; nothing if absent. */
  readonly input?: string;
  /** For each piece of what it writes to standard error. */
  readonly onNotice?: (text: string) => void;
}

export interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** No terminal, no signals; the environment is just the variables that are given. */
export async function runCommand(
  words: readonly string[],
  { onNotice, ...options }: HostOptions = {},
): Promise<Finished> {
  const stdout = new Collected();
  const stderr = new Collected(onNotice);
  const status = await run(words, createHost(options, { stdout, stderr }));
  return { status, stdout: stdout.text, stderr: stderr.text };
}

export function createHost(
  { cwd = "/", variables = {}, input = "" }: Omit<HostOptions, "onNotice"> = {},
  { stdout = new Collected(), stderr = new Collected() } = {},
): Host {
  return {
    version: "0.0.0-test",
    stdin: Readable.from(input === "" ? [] : [input]),
    // What these streams have beyond others, a command uses on a terminal only.
    stdout: stdout as Writable as WriteStream,
    stderr: stderr as Writable as WriteStream,
    writeOut: (text) => void stdout.write(text),
    isTerminal: () => false,
    environment: { variables, home: variables["HOME"] ?? "/", platform: process.platform },
    cwd,
    pid: process.pid,
    tmpdir: variables["TMPDIR"] ?? "/tmp",
    terminal: NO_TERMINAL,
    onSignal: () => ({ [Symbol.dispose]: () => {} }),
    exit: (status) => {
      throw new Error(`the command wants to end its process with status ${status}`);
    },
  };
}

const NO_TERMINAL: TerminalDevice = {
  path: undefined,
  isAvailable: () => false,
  openInput: noTerminal,
  openOutput: noTerminal,
  onResize: () => ({ [Symbol.dispose]: () => {} }),
};

function noTerminal(): never {
  throw new Error("ENXIO: no such device or address");
}

class Collected extends Writable {
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
