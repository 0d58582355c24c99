/** The terminal itself, wherever the standard streams go. */
import { closeSync, openSync } from "node:fs";
import { ReadStream, WriteStream } from "node:tty";

export interface TerminalDevice extends Disposable {
  readonly input: ReadStream;
  readonly output: WriteStream;
}

export function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r+"));
    return true;
  } catch {
    return false;
  }
}

/** New streams for each use: a prompt closes those it was given. Throws if there is no terminal. */
export function openTerminal(): TerminalDevice {
  const input = new ReadStream(openSync("/dev/tty", "r"));
  const output = new WriteStream(openSync("/dev/tty", "w"));
  return {
    input,
    output,
    [Symbol.dispose]: () => {
      input.setRawMode(false);
      input.destroy();
      output.destroy();
    },
  };
}
