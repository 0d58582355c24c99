/** The terminal this process belongs to, opened directly so that the standard streams may be redirected. */
import { closeSync, fstatSync, openSync } from "node:fs";
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
  /** Stops this process and those it shares the terminal with, as Ctrl-Z does, until the shell continues them. */
  suspend(): void;
  /** Called when this process was stopped and continues. */
  onContinue(listener: () => void): Disposable;
}

export type TerminalInput = Readable & { setRawMode(isRaw: boolean): unknown };
export type TerminalOutput = Writable & { readonly columns: number; readonly rows: number };

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
  onResize: (listener) => onSignal("SIGWINCH", listener),
  suspend: () => process.kill(0, "SIGTSTP"), // 0 is the process group, which Ctrl-Z stops outside raw mode too.
  onContinue: (listener) => onSignal("SIGCONT", listener),
};

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
