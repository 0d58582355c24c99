/** The terminal this process belongs to, opened directly so that the standard streams may be redirected. */
import { closeSync, openSync } from "node:fs";
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
  openInput: () => new (loadTty().ReadStream)(openSync(PATH, "r")),
  openOutput: () => new (loadTty().WriteStream)(openSync(PATH, "w")),
  onResize: (listener) => {
    process.on("SIGWINCH", listener);
    return { [Symbol.dispose]: () => void process.off("SIGWINCH", listener) };
  },
};

/** Takes three milliseconds, and most commands never ask. */
function loadTty(): typeof tty {
  return process.getBuiltinModule("node:tty");
}
