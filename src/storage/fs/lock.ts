/**
 * One writer per conversation. The lock belongs to an open file, so it ends with the process that
 * holds it, however that ends; the JSON inside only tells who that is.
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
import { isJsonObject, messageOf } from "../../util/index.ts";
import { StorageError, systemErrorCode, writeError } from "../storage-error.ts";
import { makeFolder } from "./durable.ts";

export interface ConversationLock {
  /** Safe to call twice. */
  release(): void;
}

interface LockOwner {
  readonly pid: number;
  /** The session it works for, if it has one. */
  readonly session?: string;
  /** RFC 3339. */
  readonly acquiredAt: string;
}

export interface LockRequest {
  readonly owner: LockOwner;
  /** Absent where the original need not be kept out. */
  readonly flock?: Flock;
}

/** One byte far behind the JSON: on Windows a locked byte cannot be read by others. */
const LOCKED_BYTE = 0xffff_ffff;
const TAKEN: FlockResult = { type: "taken" };

/** The conversations that are locked, and those whose holder was killed. */
export function listLockFiles(folder: string): ConversationId[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => {
    const digits = /^jp-c(\d{1,15})\.lock$/.exec(name)?.[1];
    return digits === undefined ? [] : [conversationIdFromNumber(Number(digits))];
  });
}

/** Never waits. Throws `conversation_locked`, naming the holder; `write_failed`. */
export async function acquireLock(
  folder: string,
  id: ConversationId,
  { owner, flock }: LockRequest,
): Promise<ConversationLock> {
  const file = path.join(folder, `jp-c${conversationIdToNumber(id)}.lock`);
  await makeFolder(folder);
  // Loaded when somebody writes: most commands only read.
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
      closeAll(fds); // Its last holder deleted it between our open and our lock.
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

/** Deleted while still held: whoever opened it meanwhile sees that it is gone, and starts again. */
function releaseOnce(fds: readonly number[], file: string): () => void {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    try {
      rmSync(file, { force: true });
    } catch {
      // A file that stays locks nobody out.
    }
    closeAll(fds);
  };
}

function lockedError(id: ConversationId, file: string): StorageError {
  return new StorageError(
    "conversation_locked",
    `Conversation ${id} is in use by ${describeHolder(file)}.`,
    {
      hint: "Wait until it is done, or work in another conversation.",
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
    // It is being taken or given back at this moment.
  }
  return "another process";
}

export interface FlockOptions {
  /** The absolute path of `flock(1)`, if there is one. Looked for when a lock is taken. */
  readonly findProgram: () => string | undefined;
  /** Told once if it does not work. */
  readonly onFailure?: (message: string) => void;
  /** How long it may take. It has nothing to wait for. */
  readonly timeoutMs?: number;
}

type FlockResult =
  /** Held until this descriptor is closed. */
  | { readonly type: "held"; readonly fd: number }
  | { readonly type: "taken" }
  | { readonly type: "unavailable" };

const TIMEOUT_MS = 5000;
/** A status that means nothing else: 1, which it is by default, is also that of a program that fails. */
const TAKEN_STATUS = 75;

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
    const first = await this.#start(program, ["-n", "-x", "-E", String(TAKEN_STATUS), "3"], fd);
    if (first.status === 0) return true;
    if (first.status === TAKEN_STATUS) return false;
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
    if (systemErrorCode(error) === "ETIMEDOUT") {
      throw new Error(`${program} did not end within ${timeoutMs / 1000} seconds`);
    }
    if (error !== undefined) throw new Error(`${program} failed (${messageOf(error)})`);
    return { status: status ?? signal, complaint: stderr.trim() };
  }
}
