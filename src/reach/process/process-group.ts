/**
 * A program in its own process group, with pipes to its standard streams. The group is signalled as a
 * whole and does not outlive this process. A process that deliberately leaves the group is out of reach.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { Duplex } from "node:stream";
import { settlesWithin } from "../../util/index.ts";
import { guardGroup } from "./exit-guard.ts";

export interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment; only the marker of the process group is added. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Beside the standard streams, from `FIRST_PIPE` on. */
  readonly pipes?: readonly ExtraPipe[];
  /** Descriptors of this process that it would inherit, and gets empty instead. */
  readonly withheld?: readonly number[];
}

export const FIRST_PIPE = 3;

export interface ExtraPipe {
  /** All that the program can read from it. Other users can see its arguments, but not this. */
  readonly input?: Uint8Array | string;
  readonly onOutput?: (chunk: Buffer) => void;
}

export type ProcessExit = { readonly status: number } | { readonly signal: string };

/** How often to check whether a group has ended after SIGTERM. */
const POLL_MS = 20;
/** A process that survives SIGKILL is stuck in the kernel: waiting longer is pointless. */
const STUCK_MS = 1000;

export class ProcessGroup implements Disposable {
  /** Resolves when the program has exited. Others in the group may still run. */
  readonly exited: Promise<ProcessExit>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<unknown>;
  readonly #release: () => void;

  private constructor(child: ChildProcessWithoutNullStreams, release: () => void) {
    this.#child = child;
    this.#release = release;
    this.exited = new Promise((resolve) => {
      child.once("exit", (status, signal) =>
        resolve(signal === null ? { status: status ?? 0 } : { signal }),
      );
    });
    this.#closed = new Promise((resolve) => child.once("close", resolve));
    child.on("error", () => undefined); // `start` reports it.
    child.stdin.on("error", () => undefined); // The program need not read its input.
  }

  /** Rejects with the system's error if the program cannot be started. */
  static async start(request: Program): Promise<ProcessGroup> {
    const { program, args, cwd, variables, pipes = [], withheld = [] } = request;
    // Loaded on demand: it takes a tenth of Node's own start.
    const { spawn } = process.getBuiltinModule("node:child_process");
    const guard = guardGroup();
    const release = () => guard[Symbol.dispose]();
    using empty = withheld.length === 0 ? undefined : openEmpty();
    const more = [
      ...pipes.map(() => "pipe" as const),
      ...fill(FIRST_PIPE + pipes.length, withheld, empty?.descriptor),
    ];
    try {
      const child = spawn(program, args, {
        cwd,
        env: { ...variables, ...guard.variables },
        stdio: ["pipe", "pipe", "pipe", ...more],
        detached: true, // In its own group, so Ctrl-C in the terminal does not reach it.
        windowsHide: true,
      });
      guard.track(child.pid);
      pipes.forEach((pipe, index) =>
        usePipe(child.stdio[FIRST_PIPE + index] as Duplex | undefined, pipe),
      );
      // The first three are pipes.
      const group = new ProcessGroup(child as ChildProcessWithoutNullStreams, release);
      await new Promise<void>((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", reject);
      });
      return group;
    } catch (error) {
      release();
      throw error;
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  onStdout(listener: (chunk: Buffer) => void): void {
    this.#child.stdout.on("data", listener);
  }

  onStderr(listener: (chunk: Buffer) => void, onEnd?: () => void): void {
    this.#child.stderr.on("data", listener);
    if (onEnd !== undefined) this.#child.stderr.on("end", onEnd);
  }

  /** Rejects if the program no longer reads its input. */
  write(text: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#child.stdin.write(text, (error) => (error == null ? resolve() : reject(error)));
    return promise;
  }

  endInput(text = ""): void {
    this.#child.stdin.end(text);
  }

  /**
   * Resolves when the program has exited and its output was read. A background process may hold the pipes open, so the
   * output gets at most `pipeGraceMs` after the exit.
   */
  async finished(pipeGraceMs: number): Promise<ProcessExit> {
    const exit = await this.exited;
    if (!(await settlesWithin(this.#closed, pipeGraceMs))) {
      await new Promise((resolve) => setImmediate(resolve)); // Read what has already arrived.
    }
    this.closePipes();
    return exit;
  }

  closePipes(): void {
    for (const pipe of this.#child.stdio) pipe?.destroy();
  }

  /** Ends the whole group with SIGTERM, and after the grace period with SIGKILL. */
  async terminate(graceMs: number): Promise<void> {
    if (!this.signal("SIGTERM")) return;
    const deadline = AbortSignal.timeout(graceMs);
    while (!deadline.aborted) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (!this.signal(0)) return;
    }
    this.signal("SIGKILL");
    await settlesWithin(this.exited, STUCK_MS);
  }

  /** False if the group is empty. */
  signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    if (process.platform === "win32") return this.#child.kill(signal);
    try {
      return process.kill(-pid, signal);
    } catch {
      return false;
    }
  }

  /** The rest of the group may outlive this process from now on. */
  [Symbol.dispose](): void {
    this.#release();
  }
}

function openEmpty() {
  const { closeSync, openSync } = process.getBuiltinModule("node:fs");
  const descriptor = openSync("/dev/null", "r+");
  return { descriptor, [Symbol.dispose]: () => closeSync(descriptor) };
}

/** What the program gets from this descriptor on. */
function fill(
  from: number,
  withheld: readonly number[],
  empty = -1,
): readonly ("ignore" | number)[] {
  const length = Math.max(0, ...withheld.map((each) => each + 1 - from));
  return Array.from({ length }, (_, index) => (withheld.includes(from + index) ? empty : "ignore"));
}

/** `stream` is absent if the program could not be started. */
function usePipe(stream: Duplex | null | undefined, { input, onOutput }: ExtraPipe): void {
  stream?.on("error", () => undefined); // The program need not use it.
  stream?.on("data", onOutput ?? (() => undefined));
  if (input !== undefined) stream?.end(input);
}
