/**
 * A terminal that stays open between prompts, so that keys are never echoed and terminal reports are never mistaken for
 * typed text. Prompts borrow it; other programs, such as an editor, get it in the shell's state.
 */
import { leaving, type TerminalDevice } from "./controlling-terminal.ts";
import { isKey, type Key, type Report } from "./key.ts";
import {
  keepers,
  NOT_STOPPED_MS,
  openOwnTerminal,
  type ShownPrompts,
  type Terminal,
  type TerminalEvents,
} from "./terminal.ts";
import type { Canvas } from "./widget.ts";

/** Uses the terminal while no prompt does. */
export interface Keeper extends Omit<TerminalEvents, "onContinue"> {
  /** Another user takes the terminal: remove everything drawn. */
  onLend(): void;
  /** The terminal has been returned to the keeper. */
  onReturn(): void;
  /** See `Terminal.rowsAbove`. */
  rowsAbove(canvas: Canvas): readonly string[];
}

interface Borrower {
  events: TerminalEvents | undefined;
}

export class KeptTerminal implements Disposable {
  readonly #device: TerminalDevice;
  readonly #now: () => number;
  readonly #shownPrompts: ShownPrompts = { messages: 0, questions: 0 };
  readonly #continuing: Disposable;
  #own: Terminal | undefined;
  #keeper: Keeper | undefined;
  /** The prompt that has borrowed it. */
  #borrower: Borrower | undefined;
  /** Input that arrived before there was a keeper. */
  #early: (Key | Report)[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Another program is using it. */
  #isLeft = false;
  /** When the keeper got the last key of an unfinished text. */
  #typedAt = Number.NEGATIVE_INFINITY;

  /** Throws `no_terminal`. */
  constructor(device: TerminalDevice, now = () => performance.now()) {
    this.#device = device;
    this.#now = now;
    this.#open();
    this.#continuing = device.onContinue(() => this.#takeBack());
    keepers.set(device, this);
    leaving.set(device, () => this.#leave());
  }

  /** Undefined while it is lent out. */
  get terminal(): Terminal | undefined {
    return this.#borrower === undefined ? this.#own : undefined;
  }

  set keeper(keeper: Keeper) {
    this.#keeper = keeper;
    if (this.terminal === undefined) return;
    const early = this.#early;
    this.#early = [];
    if (early.length > 0) keeper.onInput(early);
  }

  /** Lends the terminal to one prompt at a time, until disposed. Undefined if it is closed or in use. */
  lend(): Terminal | undefined {
    const own = this.#own;
    if (own === undefined || this.#borrower !== undefined) return undefined;
    this.#keeper?.onLend();
    const borrower: Borrower = { events: undefined };
    this.#borrower = borrower;
    const msSinceTyped = () => this.#now() - this.#typedAt;
    return {
      paint: own.paint,
      shownPrompts: this.#shownPrompts,
      get size() {
        return own.size;
      },
      get isClosed() {
        return own.isClosed;
      },
      get msSinceTyped() {
        return msSinceTyped();
      },
      rowsAbove: (canvas) => this.#keeper?.rowsAbove(canvas) ?? [],
      write: (text) => own.write(text),
      listen: (events) => {
        borrower.events = events;
      },
      suspend: () => own.suspend(),
      [Symbol.dispose]: () => {
        if (this.#borrower !== borrower) return;
        this.#borrower = undefined;
        this.#keeper?.onReturn();
      },
    };
  }

  /** Gives the terminal back to the shell, like Ctrl-Z. In the background, jp continues without it. */
  suspend(): void {
    this.#close();
    this.#device.suspend();
    // Without a shell that could continue it, jp is not stopped.
    this.#timer = setTimeout(() => this.#takeBack(), NOT_STOPPED_MS);
  }

  [Symbol.dispose](): void {
    this.#continuing[Symbol.dispose]();
    keepers.delete(this.#device);
    leaving.delete(this.#device);
    this.#close();
  }

  #leave(): Disposable {
    this.#isLeft = true;
    this.#close();
    return {
      [Symbol.dispose]: () => {
        this.#isLeft = false;
        this.#takeBack();
      },
    };
  }

  #open(): void {
    const own = openOwnTerminal(this.#device);
    this.#own = own;
    own.listen({
      onInput: (sent) => this.#receive(sent),
      onResize: () => this.#listener()?.onResize(),
      onContinue: () => {
        if (this.#borrower === undefined) this.#keeper?.onReturn();
        else this.#borrower.events?.onContinue?.();
      },
      onClose: () => this.#listener()?.onClose(),
    });
  }

  #listener(): Pick<TerminalEvents, "onInput" | "onResize" | "onClose"> | undefined {
    return this.#borrower === undefined ? this.#keeper : this.#borrower.events;
  }

  #receive(sent: readonly (Key | Report)[]): void {
    if (this.#borrower !== undefined) return this.#borrower.events?.onInput(sent);
    const last = sent.findLast(isKey);
    const isPart = last?.type !== "named" || last.name === "backspace";
    if (last !== undefined) this.#typedAt = isPart ? this.#now() : Number.NEGATIVE_INFINITY;
    if (this.#keeper === undefined) this.#early.push(...sent);
    else this.#keeper.onInput(sent);
  }

  #close(): void {
    clearTimeout(this.#timer);
    if (this.#own === undefined) return;
    if (this.#borrower === undefined) this.#keeper?.onLend();
    this.#own[Symbol.dispose]();
    this.#own = undefined;
  }

  #takeBack(): void {
    clearTimeout(this.#timer);
    if (this.#isLeft || this.#borrower !== undefined || keepers.get(this.#device) !== this) return;
    if (!this.#device.isForeground()) return this.#close();
    if (this.#own !== undefined) return;
    try {
      this.#open();
    } catch {
      return; // The terminal is closed.
    }
    this.#keeper?.onReturn();
  }
}
