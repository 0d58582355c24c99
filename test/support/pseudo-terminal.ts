/** A command in a process of its own, on a pseudo-terminal of its own. */
import { setTimeout } from "node:timers/promises";
import { type IPty, spawn } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { type ScreenSize, TerminalScreen } from "./terminal-screen.ts";

/** What is written at once may arrive in pieces; behind the last of them it is quiet for so long. */
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

  /** Types each of the lines when plain text asks for the next one: what comes before is dropped. */
  async answerLines(...typed: readonly string[]): Promise<void> {
    for (const keys of typed) {
      await this.untilLineAsked();
      this.type(keys);
    }
  }

  /** Until plain text asks for another line, with this on the screen. */
  async untilLineAsked(shown = ""): Promise<void> {
    await this.untilShown(
      (lines) =>
        lines.length > this.#linesSeen &&
        /^(Answer|Secret):$/.test(lines.at(-1) ?? "") &&
        lines.join("\n").includes(shown),
    );
    this.#linesSeen = this.lines.length;
  }

  override resize(columns: number, rows: number): void {
    super.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  /** Needs a process that runs no other test file. */
  hangUp(): void {
    this.#isGone = true;
    (this.#pty as IPty & { destroy(): void }).destroy(); // Not among its types.
  }

  protected settle(): Promise<void> {
    return setTimeout(QUIET_MS);
  }
}
