/** A command on a terminal of its own: what it writes, and what the screen shows of it. */
import { type IPty, spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { onTestFinished } from "vitest";
import { JP, type Project } from "./support.ts";

export interface ScreenOptions {
  readonly columns?: number;
  readonly variables?: Readonly<Record<string, string>>;
}

export interface ScreenEnd {
  readonly status: number;
  /** Everything that was written, as it was written. */
  readonly bytes: string;
  /** The lines of the screen, those that scrolled away included, without empty ones at the end. */
  readonly lines: readonly string[];
}

export class Screen {
  readonly #pty: IPty;
  readonly #ended: Promise<number>;
  readonly #columns: number;
  #bytes = "";
  #isEnded = false;
  #waiting: (() => void)[] = [];

  constructor(project: Project, words: readonly string[], options: ScreenOptions = {}) {
    this.#columns = options.columns ?? 80;
    this.#pty = spawn(process.execPath, [JP, ...words], {
      name: "xterm-256color",
      cols: this.#columns,
      rows: 24,
      cwd: project.root,
      env: { ...project.variables, ...options.variables },
    });
    this.#pty.onData((data) => {
      this.#bytes += data;
      for (const wake of this.#waiting.splice(0)) wake();
    });
    this.#ended = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode }) => {
        this.#isEnded = true;
        resolve(exitCode);
        for (const wake of this.#waiting.splice(0)) wake();
      });
    });
    onTestFinished(() => {
      if (!this.#isEnded) this.#pty.kill("SIGKILL");
    });
  }

  /** Until the command has written this. Throws if it ends without. */
  async until(text: string): Promise<void> {
    while (!this.#bytes.includes(text)) {
      if (this.#isEnded) throw new Error(`the command has ended: ${this.#bytes}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  async end(): Promise<ScreenEnd> {
    const status = await this.#ended;
    return { status, bytes: this.#bytes, lines: await this.#shown() };
  }

  async #shown(): Promise<readonly string[]> {
    const terminal = new headless.Terminal({
      cols: this.#columns,
      rows: 24,
      scrollback: 1000,
      allowProposedApi: true,
    });
    await new Promise<void>((resolve) => terminal.write(this.#bytes, resolve));
    const { active } = terminal.buffer;
    const all = Array.from(
      { length: active.length },
      (_, index) => active.getLine(index)?.translateToString(true).trimEnd() ?? "",
    );
    terminal.dispose();
    return all.slice(0, all.findLastIndex((line) => line !== "") + 1);
  }
}

/** Runs a command to its end. */
export function show(
  project: Project,
  words: readonly string[],
  options?: ScreenOptions,
): Promise<ScreenEnd> {
  return new Screen(project, words, options).end();
}
