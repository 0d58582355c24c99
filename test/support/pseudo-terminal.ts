/** A command on a terminal of its own: what it writes, and what the screen shows of it at any time. */
import { setTimeout } from "node:timers/promises";
import { type IPty, spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { onTestFinished } from "vitest";

/** What is written at once may arrive in pieces; behind the last of them it is quiet for so long. */
const QUIET_MS = 10;

export interface PseudoTerminalOptions {
  readonly folder: string;
  readonly variables: NodeJS.ProcessEnv;
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

export class PseudoTerminal {
  readonly #pty: IPty;
  readonly #terminal: InstanceType<typeof headless.Terminal>;
  readonly #ended: Promise<number>;
  #bytes = "";
  #isEnded = false;
  #waiting: (() => void)[] = [];

  constructor(command: string, words: readonly string[], options: PseudoTerminalOptions) {
    const { folder, variables, columns = 80, rows = 24 } = options;
    this.#terminal = new headless.Terminal({
      cols: columns,
      rows,
      scrollback: 1000,
      allowProposedApi: true,
    });
    this.#pty = spawn(command, [...words], {
      name: variables["TERM"] ?? "xterm-256color",
      cols: columns,
      rows,
      cwd: folder,
      env: variables,
    });
    this.#pty.onData((data) => {
      this.#bytes += data;
      this.#terminal.write(data, () => this.#wake());
    });
    // What a terminal says by itself, where its cursor is for example.
    this.#terminal.onData((data) => {
      if (!this.#isEnded) this.#pty.write(data);
    });
    this.#ended = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode }) => {
        this.#isEnded = true;
        this.#terminal.write("", () => {
          resolve(exitCode);
          this.#wake();
        });
      });
    });
    onTestFinished(() => {
      if (!this.#isEnded) this.#pty.kill("SIGKILL");
      this.#terminal.dispose();
    });
  }

  get bytes(): string {
    return this.#bytes;
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** Until the command has written this. Throws if it ends without. */
  async until(text: string): Promise<void> {
    await this.#untilTrue(() => this.#bytes.includes(text));
  }

  /** Until the screen is like this. Throws, with what it shows, if the command ends before. */
  async untilShown(isRight: (lines: readonly string[]) => boolean): Promise<void> {
    for (let length = -1; length !== this.#bytes.length;) {
      await this.#untilTrue(() => isRight(this.lines));
      length = this.#bytes.length;
      await setTimeout(QUIET_MS);
    }
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  /** The window is closed, or the connection is lost. Needs a process that runs no other test file. */
  hangUp(): void {
    this.#isEnded = true;
    (this.#pty as IPty & { destroy(): void }).destroy(); // Not among its types.
  }

  async end(): Promise<ScreenEnd> {
    const status = await this.#ended;
    return { status, bytes: this.#bytes, lines: this.lines };
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

  async #untilTrue(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) {
      if (this.#isEnded) throw new Error(`the command has ended: ${this.lines.join("\n")}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
