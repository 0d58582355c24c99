/** A child process that communicates line by line. It is killed when the test ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { onTestFinished } from "vitest";

const ROOT = path.join(import.meta.dirname, "..", "..");

/** Makes TypeScript programs start three times as fast after the first time. */
const NODE_COMPILE_CACHE = path.join(ROOT, "node_modules", ".cache", "node-compile");

export class ChildProgram {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  #errors = "";

  /** A program of `test/storage/`, run by this Node. */
  static ofTests(name: string, ...args: readonly string[]): ChildProgram {
    const file = path.join(ROOT, "test", "storage", name);
    return new ChildProgram(process.execPath, [file, ...args]);
  }

  /** The same with an empty PATH. */
  static alone(name: string, ...args: readonly string[]): ChildProgram {
    const file = path.join(ROOT, "test", "storage", name);
    return new ChildProgram(process.execPath, [file, ...args], { PATH: "" });
  }

  constructor(command: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, NODE_COMPILE_CACHE, ...variables };
    this.#child = spawn(command, args, { stdio: "pipe", env });
    this.#ended = once(this.#child, "close");
    this.#child.stderr?.on("data", (data: Buffer) => {
      this.#errors += data.toString();
    });
    this.#lines = linesOf(this.#child.stdout)[Symbol.asyncIterator]();
    onTestFinished(() => this.kill());
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Throws if the program has ended, with its stderr. */
  async nextLine(): Promise<string> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error(`the program has ended: ${this.#errors}`);
    return line.value;
  }

  async nextJson(): Promise<unknown> {
    return JSON.parse(await this.nextLine());
  }

  async restOfLines(): Promise<string[]> {
    const lines: string[] = [];
    for (;;) {
      const line = await this.#lines.next();
      if (line.done === true) return lines;
      lines.push(line.value);
    }
  }

  tell(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Kills the process without warning. Resolves when it has ended. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

function linesOf(output: Readable | null): Interface {
  if (output === null) throw new Error("the program has no output");
  return createInterface({ input: output });
}
