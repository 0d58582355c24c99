/** The terminal this process belongs to, opened directly so that the standard streams may be redirected. */
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type * as tty from "node:tty";
import type { TextBuffer } from "./text-buffer.ts";

/** The terminal that shows questions: the controlling terminal, or a test's replacement. */
export interface TerminalDevice {
  /** The path of its device file, if any. */
  readonly path: string | undefined;
  /** Whether it can be opened now. */
  isAvailable(): boolean;
  /** Throws if it is not available. */
  openInput(): TerminalInput;
  /** Throws if it is not available. */
  openOutput(): TerminalOutput;
  onResize(listener: () => void): Disposable;
  /** Whether this process may use it: not while the shell runs jp in the background. */
  isForeground(): boolean;
  /** Has the effect of Ctrl-C where it is not read as a key. */
  interrupt(): void;
  /** Stops this process and its process group, like Ctrl-Z, until the shell continues them. */
  suspend(): void;
  /** Called when this process continues after being stopped. */
  onContinue(listener: () => void): Disposable;
}

export type TerminalInput = Readable & { setRawMode(isRaw: boolean): unknown };
export type TerminalOutput = Writable & { readonly columns: number; readonly rows: number };

/** How to release terminals that are kept open between prompts. */
export const leaving = new WeakMap<TerminalDevice, () => Disposable>();

/** Text typed for prompts that were taken away, and the notice about the last one until the user has seen it. */
export interface TakenPrompts {
  notice?: TakenNotice | undefined;
  /** Not sent, and not fetched since. */
  unsent: string;
}

/** Takes the place of a prompt that was taken away, and the keys that are still meant for it. */
export interface TakenNotice {
  /** One line, neutralized. */
  readonly message: string;
  /** The prompt asked for a secret: what is typed on is neither shown nor kept. */
  readonly isSecret: boolean;
  readonly line: TextBuffer;
  /** The user has had it on the screen. */
  readonly isShown?: boolean;
}

export const takenPrompts = new WeakMap<TerminalDevice, TakenPrompts>();

/** Text that was typed for prompts that were taken away. Returned only once. */
export function takeUnsent(device: TerminalDevice): string | undefined {
  const taken = takenPrompts.get(device);
  const { unsent, notice } = taken ?? { unsent: "" };
  const text = (unsent + (notice?.line.text ?? "")).trim();
  if (taken !== undefined) taken.unsent = "";
  if (notice !== undefined && taken !== undefined)
    taken.notice = { ...notice, line: { text: "", cursor: 0 } };
  return text === "" ? undefined : text;
}

/** Hands the terminal to another program, such as an editor, in the shell's state, until disposed. */
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
  // 0 is the process group, which Ctrl-C and Ctrl-Z also reach outside raw mode.
  interrupt: () => process.kill(0, "SIGINT"),
  suspend: () => process.kill(0, "SIGTSTP"),
  onContinue: (listener) => onSignal("SIGCONT", listener),
};

/** Node cannot ask the terminal. A background process would be stopped for changing the terminal's mode. */
function isForeground(): boolean {
  try {
    // After the program's name: state, parent, group, session, terminal, and the foreground group.
    const [, , group, , , foreground] = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return group === foreground;
  } catch {
    const { execFileSync } = process.getBuiltinModule("node:child_process");
    try {
      const words = ["-o", "stat=", "-p", String(process.pid)];
      return execFileSync("/bin/ps", words, { env: {}, encoding: "utf8" }).includes("+");
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
 * Node usually opens the terminal again for its stream and closes only that descriptor. So ours is closed with the
 * stream, unless Node used and closed it.
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
      // Already closed by Node.
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

/** Loading it takes three milliseconds, and most commands never ask. */
function loadTty(): typeof tty {
  return process.getBuiltinModule("node:tty");
}
