/** The terminal this process belongs to, opened directly so that the standard streams may be redirected. */
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type * as tty from "node:tty";

/** Where questions are asked: the controlling terminal, or one that a test plays. */
export interface TerminalDevice {
  /** Its special file, if it has one. */
  readonly path: string | undefined;
  /** Whether it can be opened now. */
  isAvailable(): boolean;
  /** Throws if it is not available. */
  openInput(): TerminalInput;
  /** Throws if it is not available. */
  openOutput(): TerminalOutput;
  onResize(listener: () => void): Disposable;
  /** Whether it is this process's turn to use it: not while the shell runs jp in the background. */
  isForeground(): boolean;
  /** Does what Ctrl-C does where it is not read as a key. */
  interrupt(): void;
  /** Stops this process and those it shares the terminal with, as Ctrl-Z does, until the shell continues them. */
  suspend(): void;
  /** Called when this process was stopped and continues. */
  onContinue(listener: () => void): Disposable;
}

export type TerminalInput = Readable & { setRawMode(isRaw: boolean): unknown };
export type TerminalOutput = Writable & { readonly columns: number; readonly rows: number };

/** How terminals that are kept open between prompts are left. */
export const leaving = new WeakMap<TerminalDevice, () => Disposable>();

/** Leaves the terminal to another program, such as an editor, until disposed: as the shell had it. */
export function leaveTerminal(device: TerminalDevice): Disposable {
  return leaving.get(device)?.() ?? { [Symbol.dispose]: () => {} };
}

const PATH = "/dev/tty";

export const controllingTerminal: TerminalDevice = {
  path: PATH,
  isAvailable: () => {
    try {
      closeSync(openSync(PATH, "r+"));
      return true;
    } catch {
      return false;
    }
  },
  openInput: () => openStream("r", (descriptor) => new (loadTty().ReadStream)(descriptor)),
  openOutput: () => openStream("w", (descriptor) => new (loadTty().WriteStream)(descriptor)),
  isForeground,
  onResize: (listener) => onSignal("SIGWINCH", listener),
  // 0 is the process group, which Ctrl-C and Ctrl-Z reach outside raw mode too.
  interrupt: () => process.kill(0, "SIGINT"),
  suspend: () => process.kill(0, "SIGTSTP"),
  onContinue: (listener) => onSignal("SIGCONT", listener),
};

/** Node cannot ask the terminal. A process in the background would be stopped if it changed its mode. */
function isForeground(): boolean {
  try {
    // After the name of the program: state, parent, group, session, terminal, and the group in the foreground.
    const [, , group, , , foreground] = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return group === foreground;
  } catch {
    const { execFileSync } = process.getBuiltinModule("node:child_process");
    try {
      const words = ["-o", "stat=", "-p", String(process.pid)];
      return execFileSync("/bin/ps", words, { encoding: "utf8" }).includes("+");
    } catch {
      return false;
    }
  }
}

function onSignal(signal: NodeJS.Signals, listener: () => void): Disposable {
  process.on(signal, listener);
  return { [Symbol.dispose]: () => void process.off(signal, listener) };
}

/**
 * Node usually opens the terminal again for its stream, and closes only that descriptor. Closes ours with the
 * stream, unless Node used it and has closed it.
 */
function openStream<Stream extends tty.ReadStream | tty.WriteStream>(
  flags: "r" | "w",
  create: (descriptor: number) => Stream,
): Stream {
  const descriptor = openSync(PATH, flags);
  const { rdev } = fstatSync(descriptor);
  const close = () => {
    try {
      if (fstatSync(descriptor).rdev === rdev) closeSync(descriptor);
    } catch {
      // Node has closed it.
    }
  };
  try {
    const stream = create(descriptor);
    stream.once("close", close);
    return stream;
  } catch (error) {
    close();
    throw error;
  }
}

/** Takes three milliseconds, and most commands never ask. */
function loadTty(): typeof tty {
  return process.getBuiltinModule("node:tty");
}
