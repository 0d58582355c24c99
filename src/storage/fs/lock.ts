/**
 * Locks a conversation for one writer. The lock belongs to an open file, so the system releases it
 * when the process ends, however that happens. The JSON in the file only says who holds it.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import {
  type ConversationId,
  conversationIdFromNumber,
  conversationIdToNumber,
} from "../../conversation/index.ts";
import { isJsonObject, messageOf, systemErrorCode } from "../../util/index.ts";
import { StorageError, writeError } from "../storage-error.ts";
import { makeFolder } from "./durable.ts";

export interface ConversationLock {
  /** Safe to call twice. */
  release(): void;
}

interface LockOwner {
  readonly pid: number;
  /** The terminal session, if known. */
  readonly session?: string;
  /** RFC 3339. */
  readonly acquiredAt: string;
}

export interface LockRequest {
  readonly owner: LockOwner;
  /** Absent where our own lock excludes the Rust original too. */
  readonly flock?: Flock;
}

/** A byte far after the JSON: on Windows, other processes cannot read a locked byte. */
const LOCKED_BYTE = 0xffff_ffff;
const TAKEN: FlockResult = { type: "taken" };

/** Does not wait. Throws `conversation_locked` with the holder, and `write_failed`. */
export async function acquireLock(
  folder: string,
  id: ConversationId,
  { owner, flock }: LockRequest,
): Promise<ConversationLock> {
  const file = path.join(folder, `jp-c${conversationIdToNumber(id)}.lock`);
  await makeFolder(folder);
  // Loaded lazily: most commands only read.
  const { tryLock } = await import("fs-native-extensions");
  for (;;) {
    const fd = openLockFile(file);
    const foreign = tryLock(fd, LOCKED_BYTE, 1) ? await flock?.tryLock(fd) : TAKEN;
    const fds = foreign?.type === "held" ? [foreign.fd, fd] : [fd];
    if (foreign?.type === "taken") {
      closeAll(fds);
      throw lockedError(id, file);
    }
    if (!isSameFile(fd, file)) {
      closeAll(fds); // The previous holder deleted it between our open and our lock.
      continue;
    }
    const release = releaseOnce(fds, file);
    try {
      writeOwner(fd, owner);
    } catch (error) {
      release();
      throw writeError(file, error);
    }
    return { release };
  }
}

function openLockFile(file: string): number {
  try {
    return openSync(file, "a+");
  } catch (error) {
    throw writeError(file, error);
  }
}

function closeAll(fds: readonly number[]): void {
  for (const fd of fds) closeSync(fd);
}

function isSameFile(fd: number, file: string): boolean {
  try {
    return statSync(file).ino === fstatSync(fd).ino;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw writeError(file, error);
  }
}

function writeOwner(fd: number, owner: LockOwner): void {
  const { pid, session, acquiredAt } = owner;
  ftruncateSync(fd);
  writeSync(fd, JSON.stringify({ pid, session, acquired_at: acquiredAt }));
}

/** Deletes the file while still holding the lock: a process that has just opened it starts over. */
function releaseOnce(fds: readonly number[], file: string): () => void {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    try {
      rmSync(file, { force: true });
    } catch {
      // A file that stays behind does not lock anything.
    }
    closeAll(fds);
  };
}

function lockedError(id: ConversationId, file: string): StorageError {
  return new StorageError(
    "conversation_locked",
    `Conversation ${id} is in use by ${describeHolder(file)}.`,
    {
      hint: "Wait for it to finish, or use another conversation.",
    },
  );
}

function describeHolder(file: string): string {
  try {
    const owner: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isJsonObject(owner) && typeof owner["pid"] === "number") {
      const since = owner["acquired_at"];
      return `process ${owner["pid"]}${typeof since === "string" ? `, since ${since}` : ""}`;
    }
  } catch {
    // The holder is just taking or releasing the lock.
  }
  return "another process";
}

/** Conversations with a lock file: they are locked, or their process was killed. */
export function listLockFiles(folder: string): ConversationId[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => {
    const digits = /^jp-c(\d{1,15})\.lock$/.exec(name)?.[1];
    return digits === undefined ? [] : [conversationIdFromNumber(Number(digits))];
  });
}

export interface FlockOptions {
  /** The absolute path of `flock(1)`, if installed. Called when a lock is taken. */
  readonly findProgram: () => string | undefined;
  /** Called once if `flock(1)` does not work. */
  readonly onFailure?: (message: string) => void;
  /** How long `flock(1)` may run. It never waits for a lock. */
  readonly timeoutMs?: number;
}

type FlockResult =
  /** Held until this descriptor is closed. */
  | { readonly type: "held"; readonly fd: number }
  | { readonly type: "taken" }
  | { readonly type: "unavailable" };

const TIMEOUT_MS = 5000;
/** An unambiguous status for a taken lock: the default, 1, also means failure. */
const TAKEN_STATUS = 75;

/**
 * The lock of the Rust original: `flock(2)`, which on Linux is independent of the locks of Node's
 * addon. A `flock(1)` that inherits an open file locks it for us, and the lock remains when the
 * program exits. If it is missing or broken, only the Rust original is not excluded; processes of
 * ours still exclude each other.
 */
export class Flock {
  readonly #options: FlockOptions;
  #isBroken = false;

  constructor(options: FlockOptions) {
    this.#options = options;
  }

  /** Locks the open file. Does not wait. */
  async tryLock(lockFile: number): Promise<FlockResult> {
    const program = this.#isBroken ? undefined : this.#options.findProgram();
    if (program === undefined) return { type: "unavailable" };
    let fd: number | undefined;
    try {
      // Open it again: a program that hangs must not keep our own lock.
      fd = openSync(`/proc/self/fd/${lockFile}`, "r+");
      const isHeld = await this.#run(program, fd);
      if (isHeld) return { type: "held", fd };
      closeSync(fd);
      return { type: "taken" };
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      this.#isBroken = true;
      this.#options.onFailure?.(
        `Cannot lock out the Rust version of jp: ${messageOf(error)}. ` +
          "Do not use both on one conversation at the same time.",
      );
      return { type: "unavailable" };
    }
  }

  /** False if another process holds the lock. Throws if `flock(1)` does not work. */
  async #run(program: string, fd: number): Promise<boolean> {
    const first = await this.#start(program, ["-n", "-x", "-E", String(TAKEN_STATUS), "3"], fd);
    if (first.status === 0) return true;
    if (first.status === TAKEN_STATUS) return false;
    if (first.stderr === "") throw new Error(`${program} exited with status ${first.status}`);
    // BusyBox does not have -E. It prints an error for everything except a taken lock.
    const { status, stderr } = await this.#start(program, ["-n", "-x", "3"], fd);
    if (status === 0) return true;
    if (status === 1 && stderr === "") return false;
    throw new Error(`${program} exited with status ${status}`);
  }

  async #start(program: string, args: readonly string[], fd: number) {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    // Loaded lazily: most commands only read.
    const { spawnSync } = await import("node:child_process");
    const { status, signal, stderr, error } = spawnSync(program, args, {
      cwd: "/",
      stdio: ["ignore", "ignore", "pipe", fd],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      encoding: "utf8",
    });
    if (systemErrorCode(error) === "ETIMEDOUT") {
      throw new Error(`${program} timed out after ${timeoutMs / 1000} seconds`);
    }
    if (error !== undefined) throw new Error(`${program} failed (${messageOf(error)})`);
    return { status: status ?? signal, stderr: stderr.trim() };
  }
}
