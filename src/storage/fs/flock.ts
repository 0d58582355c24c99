/**
 * The lock that the Rust original takes: `flock(2)`, which on Linux does not see the locks that Node's
 * addon takes. A `flock(1)` that inherits an open file locks it for us, and the lock stays when it has
 * exited. Where that command is missing or does not work, our own processes still keep each other out,
 * and only those of the original do not.
 */
import { closeSync, openSync } from "node:fs";
import { messageOf } from "../../util/index.ts";
import { systemCode } from "../storage-error.ts";

export interface FlockOptions {
  /** The absolute path of `flock(1)`, if there is one. Looked for when a lock is taken. */
  readonly findProgram: () => string | undefined;
  /** Told once if it does not work. */
  readonly onFailure?: (message: string) => void;
  /** How long it may take. It has nothing to wait for. */
  readonly timeoutMs?: number;
}

export type FlockResult =
  /** Held until this descriptor is closed. */
  | { readonly type: "held"; readonly fd: number }
  | { readonly type: "taken" }
  | { readonly type: "unavailable" };

const TIMEOUT_MS = 5000;
/** A status that means nothing else: 1, which it is by default, is also that of a program that fails. */
const TAKEN = 75;

export class Flock {
  readonly #options: FlockOptions;
  #isBroken = false;

  constructor(options: FlockOptions) {
    this.#options = options;
  }

  /** Locks the open file. Waits for nobody. */
  async tryLock(lockFile: number): Promise<FlockResult> {
    const program = this.#isBroken ? undefined : this.#options.findProgram();
    if (program === undefined) return { type: "unavailable" };
    let fd: number | undefined;
    try {
      // Opened once more: a program that does not end must not hold on to our own lock.
      fd = openSync(`/proc/self/fd/${lockFile}`, "r+");
      const isHeld = await this.#run(program, fd);
      if (isHeld) return { type: "held", fd };
      closeSync(fd);
      return { type: "taken" };
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      this.#isBroken = true;
      this.#options.onFailure?.(
        `The lock that keeps the Rust version of jp out was not taken: ${messageOf(error)}. ` +
          "Do not use both on one conversation at the same time.",
      );
      return { type: "unavailable" };
    }
  }

  /** False if another process has it. Throws if that cannot be told. */
  async #run(program: string, fd: number): Promise<boolean> {
    const first = await this.#start(program, ["-n", "-x", "-E", String(TAKEN), "3"], fd);
    if (first.status === 0) return true;
    if (first.status === TAKEN) return false;
    if (first.complaint === "") throw new Error(`${program} ended with status ${first.status}`);
    // BusyBox has no such option. It complains of everything but of a lock that is taken.
    const { status, complaint } = await this.#start(program, ["-n", "-x", "3"], fd);
    if (status === 0) return true;
    if (status === 1 && complaint === "") return false;
    throw new Error(`${program} ended with status ${status}`);
  }

  async #start(program: string, args: readonly string[], fd: number) {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    // Loaded when somebody writes: most commands only read.
    const { spawnSync } = await import("node:child_process");
    const { status, signal, stderr, error } = spawnSync(program, args, {
      cwd: "/",
      stdio: ["ignore", "ignore", "pipe", fd],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      encoding: "utf8",
    });
    if (systemCode(error) === "ETIMEDOUT") {
      throw new Error(`${program} did not end within ${timeoutMs / 1000} seconds`);
    }
    if (error !== undefined) throw new Error(`${program} failed (${messageOf(error)})`);
    return { status: status ?? signal, complaint: stderr.trim() };
  }
}
