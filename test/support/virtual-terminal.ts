/**
 * A terminal inside the test's process: streams that behave like those of a terminal, and its screen.
 * For what the kernel does (line editing, suspending), use `PseudoTerminal`.
 */
import { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { WriteStream } from "node:tty";
import type { TerminalDevice } from "../../src/surfaces/terminal/index.ts";
import { type ScreenSize, TerminalScreen } from "./terminal-screen.ts";

const CTRL_C = "\u0003";

export interface VirtualTerminalOptions extends ScreenSize {
  readonly variables?: NodeJS.ProcessEnv | undefined;
  /** A prompt in plain mode reads lines, which are echoed but cannot be edited. */
  readonly readsLines?: boolean | undefined;
}

export abstract class VirtualTerminal extends TerminalScreen {
  readonly device: TerminalDevice;
  readonly #variables: NodeJS.ProcessEnv;
  readonly #readsLines: boolean;
  readonly #inputs = new Set<VirtualInput>();
  readonly #outputs = new Set<VirtualOutput>();
  readonly #resizing = new Set<() => void>();
  readonly #continuing = new Set<() => void>();
  /** How often the command has been stopped with Ctrl-Z. */
  suspensions = 0;
  readonly #suspended = Promise.withResolvers<void>();
  /** Typed while no prompt is open. */
  #typedAhead = "";
  #isHungUp = false;

  constructor({ variables = {}, readsLines = false, ...size }: VirtualTerminalOptions) {
    super(size);
    this.#variables = variables;
    this.#readsLines = readsLines;
    this.device = {
      path: undefined,
      isAvailable: () => !this.#isHungUp,
      isForeground: () => true,
      openInput: () => this.#openInput(),
      openOutput: () => this.openOutput(),
      onResize: (listener) => {
        this.#resizing.add(listener);
        return { [Symbol.dispose]: () => void this.#resizing.delete(listener) };
      },
      interrupt: () => this.onInterrupt(),
      suspend: () => {
        this.suspensions += 1;
        this.#suspended.resolve();
      },
      onContinue: (listener) => {
        this.#continuing.add(listener);
        return { [Symbol.dispose]: () => void this.#continuing.delete(listener) };
      },
    };
  }

  /** Whether a prompt reads single keys, without echo. */
  get isRaw(): boolean {
    return [...this.#inputs].some(({ isRaw }) => isRaw);
  }

  /** Called on Ctrl-C outside raw mode. */
  protected onInterrupt(): void {}
  protected onHangUp(): void {}

  openOutput(): VirtualOutput {
    this.#throwIfHungUp();
    const output = new VirtualOutput(this, this.#variables, (text) => {
      // The kernel does this in raw mode too.
      if (!this.#isHungUp) this.show(text.replaceAll("\n", "\r\n"));
    });
    this.#outputs.add(output);
    output.once("close", () => this.#outputs.delete(output));
    return output;
  }

  type(keys: string): void {
    const reader = [...this.#inputs].find(({ isRaw }) => isRaw);
    if (reader !== undefined) reader.push(keys);
    else if (this.#readsLines) {
      this.show(keys.replaceAll("\r", "\r\n"));
      for (const input of this.#inputs) if (!input.destroyed) input.push(keys);
    } else if (keys === CTRL_C) {
      this.show("^C");
      this.onInterrupt();
    } else {
      this.show(keys.replaceAll("\r", "\r\n"));
      this.#typedAhead += keys;
    }
  }

  override resize(columns: number, rows: number): void {
    super.resize(columns, rows);
    for (const listener of this.#resizing) listener();
  }

  /** Resolves once the command has been stopped with Ctrl-Z for the first time. */
  untilSuspended(): Promise<void> {
    return this.#suspended.promise;
  }

  /** As `fg` does after Ctrl-Z. */
  continueCommand(): void {
    for (const listener of this.#continuing) listener();
  }

  hangUp(): void {
    this.#isHungUp = true;
    for (const input of this.#inputs) input.destroy(new Error("read EIO"));
    this.onHangUp();
  }

  protected async settle(): Promise<void> {
    await setImmediate();
    await setImmediate();
  }

  #openInput(): VirtualInput {
    this.#throwIfHungUp();
    const input = new VirtualInput(() => {
      if (this.#typedAhead !== "") input.push(this.#typedAhead);
      this.#typedAhead = "";
    });
    this.#inputs.add(input);
    input.once("close", () => this.#inputs.delete(input));
    return input;
  }

  #throwIfHungUp(): void {
    if (this.#isHungUp) throw new Error("ENXIO: no such device or address");
  }
}

class VirtualInput extends Readable {
  readonly isTTY = true;
  isRaw = false;
  readonly #onRaw: () => void;

  constructor(onRaw: () => void) {
    super({ read: () => {} });
    this.#onRaw = onRaw;
  }

  setRawMode(isRaw: boolean): void {
    this.isRaw = isRaw;
    if (isRaw) this.#onRaw();
  }
}

class VirtualOutput extends Writable {
  readonly isTTY = true;
  readonly #screen: TerminalScreen;
  readonly #variables: NodeJS.ProcessEnv;

  constructor(screen: TerminalScreen, variables: NodeJS.ProcessEnv, show: (text: string) => void) {
    super({
      decodeStrings: false,
      write: (text: string | Buffer, _encoding, done) => {
        show(String(text));
        done();
      },
    });
    this.#screen = screen;
    this.#variables = variables;
  }

  get columns(): number {
    return this.#screen.columns;
  }

  get rows(): number {
    return this.#screen.rows;
  }

  getColorDepth(): number {
    return WriteStream.prototype.getColorDepth({ TERM: "xterm-256color", ...this.#variables });
  }

  hasColors(): boolean {
    return this.getColorDepth() > 1;
  }
}
