/**
 * A program in a process group of its own, with pipes to its standard streams. It ends as a whole:
 * what it started and left behind ends with it, unless that has left the group.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { guardGroup } from "../util/index.ts";
import { isOverWithin } from "./is-over-within.ts";

export interface Program {
  readonly command: string;
  readonly arguments: readonly string[];
  /** All that it gets to see, but for a mark of its process group. */
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** How long a program has to end by itself, then after SIGTERM, and its pipes to run dry. */
const CLOSE_MS = 500;
const TERMINATE_MS = 500;
const DRAIN_MS = 250;

export class ProcessGroup {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #over = Promise.withResolvers<void>();
  #ending: string | undefined;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.on("error", () => undefined); // Whoever starts it is told.
    child.stdin.on("error", () => undefined); // Whoever writes is told by its callback.
    child.once("exit", (code, signal) => this.#exited(code, signal));
    child.once("close", () => this.#over.resolve());
  }

  /** Throws the system's error if there is no such program, or it cannot be run. */
  static async start(program: Program): Promise<ProcessGroup> {
    const guard = guardGroup();
    const child = spawn(program.command, program.arguments, {
      cwd: program.cwd,
      env: { ...program.environment, ...guard.variables },
      stdio: "pipe",
      detached: true,
      windowsHide: true,
    });
    guard.hold(child.pid);
    const group = new ProcessGroup(child);
    void group.over.then(() => guard[Symbol.dispose]());
    await once(child, "spawn");
    return group;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** How it ended, as in "it exited with status 1". Undefined while it runs. */
  get ending(): string | undefined {
    return this.#ending;
  }

  /** Resolves when it has ended and all it wrote was read. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  onOutput(listener: (piece: Buffer) => void): void {
    this.#child.stdout.on("data", listener);
  }

  onErrorOutput(listener: (text: string) => void): void {
    this.#child.stderr.setEncoding("utf8").on("data", listener);
  }

  /** Rejects if it does not take its input any more. */
  write(text: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#child.stdin.write(text, (error) => (error == null ? resolve() : reject(error)));
    return promise;
  }

  /** First by the end of its input, then by SIGTERM, then by SIGKILL. Never rejects. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    if (await isOverWithin(this.over, CLOSE_MS)) return;
    this.#signal("SIGTERM");
    if (await isOverWithin(this.over, TERMINATE_MS)) return;
    this.#signal("SIGKILL");
    await this.over;
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.#ending =
      signal === null ? `it exited with status ${code}` : `it was ended by the signal ${signal}`;
    this.#signal("SIGKILL"); // What it has left behind.
    void this.#drain();
  }

  /** A process that has left the group may hold the pipes open for ever. */
  async #drain(): Promise<void> {
    if (await isOverWithin(this.over, DRAIN_MS)) return;
    const { stdin, stdout, stderr } = this.#child;
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
    this.#over.resolve();
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      if (process.platform === "win32") this.#child.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // Nothing of it is left.
    }
  }
}
