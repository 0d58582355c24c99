/**
 * Locks a conversation, or a file of the user, for one writer, as the Rust original does. The lock belongs to an open
 * file, so the system releases it when the process ends for any reason. For a conversation, the JSON in the file only
 * says who holds it.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type koffi from "koffi";
import type { ConversationId } from "../../record/conversation/index.ts";
import { isJsonObject, messageOf, systemErrorCode } from "../../util/index.ts";
import { LockedError, StorageError, THIS_PROCESS, writeError } from "../storage-error.ts";
import { OWNER_FILE } from "./private-folder.ts";
import { fileIdFromNumber, fileIdToNumber } from "./file-id.ts";

/** A lock that this process holds. */
export interface ConversationLock {
  /** Safe to call twice. */
  release(): void;
}

/** How often and how long to retry a lock that is held only briefly. */
const RETRY_MS = 5;
const MAX_WAIT_MS = 10_000;

interface LockOwner {
  readonly pid: number;
  /** The terminal session, if known. */
  readonly session?: string;
  /** RFC 3339. */
  readonly acquiredAt: string;
}

/** The lock files that this process holds. Process ids are not reliable: two containers may use the same ones. */
const held = new Set<string>();

/** Does not wait. Throws `conversation_locked` with the holder, and `write_failed`. */
export async function acquireLock(
  folder: string,
  id: ConversationId,
  owner: LockOwner,
): Promise<ConversationLock> {
  const file = lockFile(folder, id);
  const locked = tryLockFile(file, openInFolder);
  if (locked === undefined) throw lockedError(id, file);
  try {
    writeOwner(locked, owner);
  } catch (error) {
    closeSync(locked.fd);
    throw writeError(file, error);
  }
  held.add(file);
  return { release: releaseOnce(locked.fd, file) };
}

/** Creates the folder if it is missing. Not synced: no lock outlives its process. */
function openInFolder(file: string): number {
  try {
    return openSync(file, "a+");
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
    mkdirSync(path.dirname(file), { recursive: true });
    return openSync(file, "a+");
  }
}

/**
 * Runs the action exclusively for this lock file, across processes. Waits for earlier holders. Throws `write_failed`,
 * also if they take too long.
 */
export async function withFileLock<Value>(
  file: string,
  action: () => Promise<Value>,
): Promise<Value> {
  for (let waited = 0; waited < MAX_WAIT_MS; waited += RETRY_MS) {
    const locked = tryLockFile(file);
    if (locked === undefined) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      continue;
    }
    const release = releaseOnce(locked.fd, file);
    try {
      return await action();
    } finally {
      release();
    }
  }
  throw new StorageError("write_failed", `Cannot lock ${file}: another process keeps it locked.`, {
    hint: "Find out which one it is, and end it if it hangs.",
  });
}

/** Holds the lock file until it is released or the process ends. Undefined if it is held already. Throws `write_failed`. */
export function holdFileLock(file: string): ConversationLock | undefined {
  const locked = tryLockFile(file);
  return locked && { release: releaseOnce(locked.fd, file) };
}

/** Locked, and open. */
interface LockFile {
  readonly fd: number;
  readonly size: number;
}

/** Does not wait: undefined if the lock is held. Throws `write_failed`. */
function tryLockFile(file: string, open: (file: string) => number = openOwn): LockFile | undefined {
  const tryLock = (flock ??= loadFlock());
  for (;;) {
    const fd = openLockFile(file, open);
    let isLockedHere = false;
    try {
      isLockedHere = tryLock(fd);
      const { ino, size } = fstatSync(fd);
      if (isLockedHere && isNamed(file, ino)) return { fd, size };
    } catch (error) {
      closeSync(fd);
      throw writeError(file, error);
    }
    closeSync(fd);
    if (!isLockedHere) return undefined;
    // The previous holder deleted it between our open and our lock.
  }
}

function openOwn(file: string): number {
  return openSync(file, "a+", OWNER_FILE);
}

function openLockFile(file: string, open: (file: string) => number): number {
  try {
    return open(file);
  } catch (error) {
    throw writeError(file, error);
  }
}

/** The file of this name is still the one with this inode. */
function isNamed(file: string, ino: number): boolean {
  try {
    return statSync(file).ino === ino;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw writeError(file, error);
  }
}

function writeOwner({ fd, size }: LockFile, owner: LockOwner): void {
  const { pid, session, acquiredAt } = owner;
  // Not for a new file: ext4 would flush a truncated file when it is closed, and deleting it would wait for that.
  if (size > 0) ftruncateSync(fd);
  writeSync(fd, JSON.stringify({ pid, session, acquired_at: acquiredAt }));
}

/** Deletes the file while still holding the lock: a process that has just opened it starts over. */
function releaseOnce(fd: number, file: string): () => void {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    held.delete(file);
    try {
      unlinkSync(file);
    } catch {
      // Someone has removed it, and a leftover file locks nothing anyway.
    }
    closeSync(fd);
  };
}

function lockedError(id: ConversationId, file: string): LockedError {
  if (held.has(file)) return new LockedError(id, THIS_PROCESS);
  try {
    const owner: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isJsonObject(owner) && typeof owner["pid"] === "number") {
      const since = owner["acquired_at"];
      const time = typeof since === "string" ? `, since ${since}` : "";
      return new LockedError(id, `process ${owner["pid"]}`, time);
    }
  } catch {
    // The holder is just taking or releasing the lock.
  }
  return new LockedError(id, "another process");
}

function lockFile(folder: string, id: ConversationId): string {
  return path.join(folder, `jp-c${fileIdToNumber(id)}.lock`);
}

/** Whether this process holds the lock. */
export function isHeldHere(folder: string, id: ConversationId): boolean {
  return held.has(lockFile(folder, id));
}

/**
 * Whether some process holds the lock, without touching it. Exact where the system lists locks; elsewhere a process
 * that reuses the pid of a killed one may be mistaken for it.
 */
export function isLocked(folder: string, id: ConversationId): boolean {
  const file = lockFile(folder, id);
  try {
    const { ino } = statSync(file);
    const locks = findSystemLocks();
    if (locks !== undefined) return locks.includes(`:${ino} `);
    const owner: unknown = JSON.parse(readFileSync(file, "utf8"));
    const pid = isJsonObject(owner) ? owner["pid"] : undefined;
    return typeof pid === "number" && process.kill(pid, 0);
  } catch (error) {
    return systemErrorCode(error) === "EPERM"; // It exists, but belongs to another user.
  }
}

function findSystemLocks(): string | undefined {
  try {
    return process.platform === "linux" ? readFileSync("/proc/locks", "utf8") : undefined;
  } catch {
    return undefined;
  }
}

/** Conversations with a lock file: they are locked, or their process was killed. */
export function listLockFiles(folder: string): ConversationId[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => findIdOfLock(name) ?? []);
}

/** The conversation that a lock file of this name belongs to. */
export function findIdOfLock(name: string): ConversationId | undefined {
  const digits = /^jp-c(\d{1,15})\.lock$/.exec(name)?.[1];
  return digits === undefined ? undefined : fileIdFromNumber(Number(digits));
}

/**
 * Takes `flock(2)`, the lock of the Rust original, which Node has no function for. Returns false if another
 * open file holds it. Throws a system error.
 */
type TryLock = (fd: number) => boolean;

let flock: TryLock | undefined;
const LOCK_EX = 2;
const LOCK_NB = 4;

/**
 * Throws `write_failed` if jp cannot lock here, and so cannot write conversations. Loads the locking code, so that a
 * command that waits for a person can lock afterwards.
 */
export function assertCanLock(): void {
  flock ??= loadFlock();
}

/** Loaded when a lock is taken: most commands only read. Throws `write_failed`. */
function loadFlock(): TryLock {
  const koffi = loadBinary();
  const call = koffi.load(null).func("int flock(int fd, int operation)");
  return (fd) => {
    if (call(fd, LOCK_EX | LOCK_NB) === 0) return true;
    const code = process.getBuiltinModule("node:util").getSystemErrorName(-koffi.errno());
    if (code === "EAGAIN" || code === "EWOULDBLOCK") return false;
    throw Object.assign(new Error(`${code}: flock failed`), { code });
  };
}

/** The package with koffi's binary for this machine. Koffi's wrapper looks for it only beside itself. */
function loadBinary(): typeof koffi {
  const { platform, arch } = process;
  const name = `@koromix/koffi-${platform}-${arch}`;
  if (!["linux", "darwin"].includes(platform) || !["x64", "arm64"].includes(arch)) {
    throw new StorageError("write_failed", `jp cannot lock conversations on ${platform} ${arch}.`, {
      hint: "It can on Linux and macOS, on x64 and arm64.",
    });
  }
  // If another bundler has converted this file to CommonJS, there is no `import.meta`.
  const own: string | undefined = import.meta.url;
  const require = createRequire(own ?? __filename);
  let missing: unknown;
  for (const find of [
    () => require.resolve(name),
    // For package managers that do not place dependencies beside the package.
    () => createRequire(require.resolve("jp-ts/package.json")).resolve(name),
  ]) {
    let file: string;
    try {
      file = find();
    } catch (cause) {
      missing ??= cause;
      continue; // It does not exist.
    }
    try {
      return requireBinary(require, file);
    } catch (cause) {
      const [reason = ""] = messageOf(cause).split("\n");
      const message = `The native module that locks conversations cannot be loaded: ${reason}.`;
      throw new StorageError("write_failed", message, {
        cause,
        hint: `It is ${file}, of ${name}.`,
      });
    }
  }
  const hint =
    own === undefined
      ? `Install ${name} where your bundle runs: npm install ${name}`
      : `Install jp again with its optional dependency ${name}.`;
  const message = "The native module that locks conversations is missing.";
  throw new StorageError("write_failed", message, { hint, cause: missing });
}

/**
 * To find its C library, the package inspects the running program, which takes three times as long as loading the usual
 * binary. So that one is tried first.
 */
function requireBinary(require: NodeJS.Require, entry: string): typeof koffi {
  const { platform, arch } = process;
  const usual = path.join(path.dirname(entry), `${platform}_${arch}`, "koffi.node");
  try {
    return require(usual) as typeof koffi; // Koffi comes in two parts: a wrapper, and this.
  } catch {
    return require(entry) as typeof koffi;
  }
}
