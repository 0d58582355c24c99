/** Keys while jp works, and prompts that take the screen meanwhile: each message is sent once, as it was typed, or given back. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import { Readable, Writable } from "node:stream";
import * as fc from "fast-check";
import { expect } from "vitest";
import type { TerminalDevice } from "../../src/surfaces/terminal/controlling-terminal.ts";
import { decodeInput } from "../../src/surfaces/terminal/key.ts";
import { KeptTerminal } from "../../src/surfaces/terminal/kept-terminal.ts";
import { openTerminal, type Terminal } from "../../src/surfaces/terminal/terminal.ts";
import { TurnKeyboard } from "../../src/surfaces/terminal/turn-keyboard.ts";
import { fuzz } from "./fuzz.ts";

class FakeInput extends Readable {
  constructor() {
    super({ read: () => {} });
  }

  setRawMode(): void {
    // There is no mode.
  }

  /** As if it came from the kernel, but at once. */
  receive(bytes: string): void {
    this.emit("data", bytes);
  }
}

class FakeOutput extends Writable {
  readonly isTTY = true;
  columns = 80;
  rows = 24;

  constructor() {
    super({ write: (_chunk, _encoding, done) => done() });
  }
}

class FakeDevice implements TerminalDevice {
  readonly path = undefined;
  input = new FakeInput();
  readonly output = new FakeOutput();
  readonly resizing = new Set<() => void>();
  interrupts = 0;

  isAvailable = () => true;
  isForeground = () => true;
  openInput = () => this.input;
  openOutput = () => new FakeOutput();
  interrupt = () => void (this.interrupts += 1);
  suspend = () => {};
  onContinue = () => ({ [Symbol.dispose]: () => {} });
  onResize = (listener: () => void) => {
    this.resizing.add(listener);
    return { [Symbol.dispose]: () => void this.resizing.delete(listener) };
  };
}

const ENTER = "\r";
const TAB = "\t";
const UP = "\u001b[A";
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;

type Happening =
  | { readonly type: "keys"; readonly bytes: string }
  | { readonly type: "output"; readonly text: string }
  | { readonly type: "prompt_opens" | "prompt_closes" | "resize" | "request" };

const word = fc.constantFrom("a", "two words", "日本", "y", "\u001b[12;40R", "\u001b[>0;276;0c");
const anyHappening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .oneof(
        word,
        word.map((text) => text + ENTER),
        fc.constantFrom(ENTER, TAB, UP, "\u007f", "\u0015", "\u0003"),
        fc.constantFrom("x", "x y", "").map(paste),
      )
      .map((bytes) => ({ type: "keys" as const, bytes })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom("some", " text\n", "\n", "a line\nand a half")
      .map((text) => ({ type: "output" as const, text })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(
        "prompt_opens" as const,
        "prompt_closes" as const,
        "resize" as const,
        "request" as const,
      )
      .map((type) => ({ type })),
  },
);

/** What a person who types ahead expects. */
class LineModel {
  line = "";
  pending: { readonly text: string; readonly isForTurn: boolean }[] = [];

  /** The running turn takes what is for it. */
  take(): readonly string[] {
    const taken = this.pending.filter(({ isForTurn }) => isForTurn);
    this.pending = this.pending.filter(({ isForTurn }) => !isForTurn);
    return taken.map(({ text }) => text);
  }

  type(bytes: string): void {
    switch (bytes) {
      case UP:
        if (this.line !== "") break; // It moves in the line, or in the history, which is empty.
        this.line = this.pending.pop()?.text ?? "";
        break;
      case TAB:
        if (this.line.trim() === "") break;
        this.pending.push({ text: this.line, isForTurn: false });
        this.line = "";
        break;
      case "\u007f":
        this.line = this.line.slice(0, -1);
        break;
      case "\u0015":
        this.line = this.line.slice(0, this.line.lastIndexOf("\n") + 1);
        break;
      case "\u0003":
        break; // The menu of the turn.
      default: {
        const isPasted = bytes.includes("\u001b[200~");
        const text = bytes.replaceAll(/\u001b\[[\d;>]*[~Rc]/g, "");
        const isSent = !isPasted && text.endsWith(ENTER);
        this.line += isSent ? text.slice(0, -1) : text;
        if (isSent && this.line.trim() !== "") {
          this.pending.push({ text: this.line, isForTurn: true });
          this.line = "";
        }
      }
    }
  }
}

fuzz(
  "what is typed ahead is sent or queued as it was typed, and a draft is never lost",
  4000,
  fc.property(fc.array(anyHappening, { minLength: 1, maxLength: 25 }), (happenings) => {
    const device = new FakeDevice();
    const kept = new KeptTerminal(device);
    const line = { history: () => [], complete: () => undefined };
    using keyboard = new TurnKeyboard({ device, kept, line });
    using running = keyboard.during({ onStop: () => {}, takes: () => true });
    expect(running).toBeDefined();
    const model = new LineModel();
    const stream = new FakeOutput() as never; // Its text does not matter here.
    let prompt: Terminal | undefined;
    for (const happening of happenings) {
      switch (happening.type) {
        case "keys":
          device.input.receive(happening.bytes);
          if (prompt === undefined) model.type(happening.bytes);
          break;
        case "output":
          keyboard.print(stream, happening.text);
          break;
        case "prompt_opens":
          prompt ??= openTerminal(device);
          prompt.listen({ onInput: () => {}, onResize: () => {}, onClose: () => {} });
          break;
        case "prompt_closes":
          prompt?.[Symbol.dispose]();
          prompt = undefined;
          break;
        case "request":
          expect(keyboard.takeForTurn()).toEqual(model.take());
          break;
        case "resize":
          for (const listener of device.resizing) listener();
      }
    }
    prompt?.[Symbol.dispose]();
    const queued: string[] = [];
    for (let next = keyboard.takeQueued(); next !== undefined; next = keyboard.takeQueued()) {
      queued.push(next);
    }
    const pending = model.pending.map(({ text }) => text);
    expect([queued, keyboard.takeDraft().buffer.text]).toEqual([pending, model.line]);
  }),
);

fuzz(
  "a report of the terminal is never taken for something typed",
  500,
  fc.property(fc.array(word, { maxLength: 10 }), (pieces) => {
    const { sent } = decodeInput(pieces.join(""));
    const typed = sent.flatMap((one) => (one.type === "text" ? [one.text] : []));
    expect(typed.join("")).not.toMatch(/\d/);
  }),
);
