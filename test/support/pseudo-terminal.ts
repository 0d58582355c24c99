/** A command in a separate process, on a pseudo-terminal. */
import { setTimeout } from "node:timers/promises";
import { type IPty, spawn } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { type ScreenSize, TerminalScreen } from "./terminal-screen.ts";

/** One write may arrive in several pieces. After the last one, nothing arrives for this long. */
const QUIET_MS = 10;

export interface PseudoTerminalOptions extends ScreenSize {
  readonly folder: string;
  readonly variables: NodeJS.ProcessEnv;
}

export class PseudoTerminal extends TerminalScreen {
  readonly #pty: IPty;
  #isGone = false;
  #linesSeen = 0;

  constructor(command: string, words: readonly string[], options: PseudoTerminalOptions) {
    super(options);
    const { folder, variables } = options;
    this.#pty = spawn(command, [...words], {
      name: variables["TERM"] ?? "xterm-256color",
      cols: this.columns,
      rows: this.rows,
      cwd: folder,
      env: variables,
    });
    this.#pty.onData((data) => this.show(data));
    this.#pty.onExit(({ exitCode }) => {
      this.#isGone = true;
      this.endWith(exitCode);
    });
    onTestFinished(() => {
      if (!this.#isGone) this.#pty.kill("SIGKILL");
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  type(keys: string): void {
    if (!this.#isGone) this.#pty.write(keys);
  }

  /** Types each line when the plain-text prompt asks for it, because earlier input is dropped. */
  async answerLines(...typed: readonly string[]): Promise<void> {
    for (const keys of typed) {
      await this.untilLineAsked();
      this.type(keys);
    }
  }

  /** Waits until the plain-text prompt asks for another line, with this text on the screen. */
  async untilLineAsked(shown = ""): Promise<void> {
    await this.untilShown(
      (lines) =>
        lines.length > this.#linesSeen &&
        /^(Answer|Secret|Message):$/.test(lines.at(-1) ?? "") &&
        lines.join("\n").includes(shown),
    );
    this.#linesSeen = this.lines.length;
  }

  override resize(columns: number, rows: number): void {
    super.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  /** Only works in a process that runs no other test file. */
  hangUp(): void {
    this.#isGone = true;
    (this.#pty as IPty & { destroy(): void }).destroy(); // Missing from the types.
  }

  protected settle(): Promise<void> {
    return setTimeout(QUIET_MS);
  }
}
