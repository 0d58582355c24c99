/** What a terminal shows of what is written to it, and the person in front of it. */
import headless from "@xterm/headless";
import { onTestFinished } from "vitest";

export interface ScreenSize {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface ScreenEnd {
  readonly status: number;
  /** Everything that was written, as it was written. */
  readonly bytes: string;
  /** The lines of the screen, those that scrolled away included, without empty ones at the end. */
  readonly lines: readonly string[];
}

export abstract class TerminalScreen {
  readonly #terminal: InstanceType<typeof headless.Terminal>;
  #bytes = "";
  #status: number | undefined;
  #waiting: (() => void)[] = [];

  constructor({ columns = 80, rows = 24 }: ScreenSize) {
    this.#terminal = new headless.Terminal({
      cols: columns,
      rows,
      scrollback: 1000,
      allowProposedApi: true,
    });
    // What a terminal sends by itself, such as its cursor position.
    this.#terminal.onData((data) => {
      if (!this.isEnded) this.type(data);
    });
    onTestFinished(() => this.#terminal.dispose());
  }

  abstract type(keys: string): void;
  /** The window is closed, or the connection is lost. */
  abstract hangUp(): void;
  /** Waits until the rest of what is being written is there. */
  protected abstract settle(): Promise<void>;

  get isEnded(): boolean {
    return this.#status !== undefined;
  }

  get bytes(): string {
    return this.#bytes;
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  get lines(): readonly string[] {
    const { active } = this.#terminal.buffer;
    const all = Array.from(
      { length: active.length },
      (_, index) => active.getLine(index)?.translateToString(true).trimEnd() ?? "",
    );
    return all.slice(0, all.findLastIndex((line) => line !== "") + 1);
  }

  /** Where the cursor is: which of the lines, and before which column. */
  get cursor(): { readonly line: number; readonly column: number } {
    const { active } = this.#terminal.buffer;
    return { line: active.baseY + active.cursorY, column: active.cursorX };
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** Until this has been written. Throws if the command ends without. */
  async until(text: string): Promise<void> {
    await this.#untilTrue(() => this.#bytes.includes(text));
  }

  /** Until the screen is like this. Throws, with what it shows, if the command ends before. */
  async untilShown(isRight: (lines: readonly string[]) => boolean): Promise<void> {
    for (let length = -1; length !== this.#bytes.length;) {
      await this.#untilTrue(() => isRight(this.lines));
      length = this.#bytes.length;
      await this.settle();
    }
  }

  /** Types one key after the other, each when the screen shows what is expected before it. */
  async answer(...steps: readonly (readonly [shown: string, keys: string])[]): Promise<void> {
    for (const [shown, keys] of steps) {
      await this.untilShown((lines) => lines.join("\n").includes(shown));
      this.type(keys);
    }
  }

  async end(): Promise<ScreenEnd> {
    while (this.#status === undefined) await this.#change();
    return { status: this.#status, bytes: this.#bytes, lines: this.lines };
  }

  protected show(data: string): void {
    this.#bytes += data;
    this.#terminal.write(data, () => this.#wake());
  }

  protected endWith(status: number): void {
    this.#terminal.write("", () => {
      this.#status = status;
      this.#wake();
    });
  }

  async #untilTrue(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) {
      if (this.isEnded) throw new Error(`the command has ended: ${this.lines.join("\n")}`);
      await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
