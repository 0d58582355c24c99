/** The screen of a terminal, and the keys typed on it. */
import headless from "@xterm/headless";
import { onTestFinished } from "vitest";

export interface ScreenSize {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface ScreenEnd {
  readonly status: number;
  /** All output, unchanged. */
  readonly bytes: string;
  /** The lines on the screen and in the scrollback, without empty ones at the end. */
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
    // Replies of the terminal itself, such as the cursor position.
    this.#terminal.onData((data) => {
      if (!this.isEnded) this.type(data);
    });
    onTestFinished(() => this.#terminal.dispose());
  }

  abstract type(keys: string): void;
  /** The window is closed, or the connection is lost. */
  abstract hangUp(): void;
  /** Waits for the rest of the current output. */
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

  /** The first of `lines` that is on the screen. Those before it are in the scrollback. */
  get top(): number {
    return this.#terminal.buffer.active.baseY;
  }

  get lines(): readonly string[] {
    const { active } = this.#terminal.buffer;
    const all = Array.from(
      { length: active.length },
      (_, index) => active.getLine(index)?.translateToString(true).trimEnd() ?? "",
    );
    return all.slice(0, all.findLastIndex((line) => line !== "") + 1);
  }

  /** The line and column of the cursor. */
  get cursor(): { readonly line: number; readonly column: number } {
    const { active } = this.#terminal.buffer;
    return { line: active.baseY + active.cursorY, column: active.cursorX };
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** Waits until this was written. Throws if the command ends first. */
  async until(text: string): Promise<void> {
    await this.#untilTrue(() => this.#bytes.includes(text));
  }

  /** Waits until the screen matches. Throws, with the screen, if the command ends first. */
  async untilShown(isMatch: (lines: readonly string[]) => boolean): Promise<void> {
    for (let length = -1; length !== this.#bytes.length;) {
      await this.#untilTrue(() => isMatch(this.lines));
      length = this.#bytes.length;
      await this.settle();
    }
  }

  /** Types the keys, each when the screen shows the text before it. */
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
