/**
 * A terminal that stays open between prompts, so that keys are never echoed and no report of the terminal is taken for
 * something typed. Prompts borrow it; a program such as an editor gets it back as the shell had it.
 */
import { leaving, type TerminalDevice } from "./controlling-terminal.ts";
import { isKey, type Key, type Report } from "./key.ts";
import {
  keepers,
  NOT_STOPPED_MS,
  openOwnTerminal,
  type Terminal,
  type TerminalEvents,
} from "./terminal.ts";

/** Uses the terminal while no prompt does. */
export interface Keeper extends Omit<TerminalEvents, "onContinue"> {
  /** Someone else takes the terminal: remove everything that is drawn. */
  onLend(): void;
  /** The terminal is the keeper's again. */
  onReturn(): void;
}

interface Borrower {
  events: TerminalEvents | undefined;
}

export class KeptTerminal implements Disposable {
  readonly #device: TerminalDevice;
  readonly #now: () => number;
  readonly #continuing: Disposable;
  #own: Terminal | undefined;
  #keeper: Keeper | undefined;
  /** Of the prompt that has borrowed it. */
  #borrower: Borrower | undefined;
  /** Arrived before there was a keeper. */
  #early: (Key | Report)[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Another program has it. */
  #isLeft = false;
  /** When the keeper got the last key of a text that is not finished. */
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

  /** Undefined while it belongs to someone else. */
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

  /** For one prompt at a time, until it is disposed of. Undefined if it is closed, or someone else has it. */
  lend(): Terminal | undefined {
    const own = this.#own;
    if (own === undefined || this.#borrower !== undefined) return undefined;
    this.#keeper?.onLend();
    const borrower: Borrower = { events: undefined };
    this.#borrower = borrower;
    const msSinceTyped = () => this.#now() - this.#typedAt;
    return {
      paint: own.paint,
      get size() {
        return own.size;
      },
      get isClosed() {
        return own.isClosed;
      },
      get msSinceTyped() {
        return msSinceTyped();
      },
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

  /** Gives the terminal back to the shell, as Ctrl-Z does. In the background, jp goes on without it. */
  suspend(): void {
    this.#close();
    this.#device.suspend();
    // Where no shell could continue jp, it is not stopped.
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
