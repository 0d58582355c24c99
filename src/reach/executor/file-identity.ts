/**
 * Identifies a file that someone was shown, as data: by its content or, if that is long, by its size and time. Comparing
 * two identities shows whether the file has changed.
 */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type JsonObject, openHandle, sha256, systemErrorCode } from "../../util/index.ts";

/** Longer files are not read: a program may have hundreds of megabytes. */
const MAX_DIGESTED_BYTES = 1024 * 1024;
/** The limit where only the content counts. */
const MAX_STREAMED_BYTES = 1024 * MAX_DIGESTED_BYTES;

/**
 * Describes the regular file at a path without links, given its status. Never throws: unreadable files are described as
 * such.
 */
export function identifyContent(file: string, stats: BigIntStats): JsonObject {
  return readContent(file, stats).identity;
}

export interface ReadContent {
  readonly identity: JsonObject;
  /** The digested content. Absent if it was not read whole. */
  readonly bytes?: Buffer;
}

/** Like `identifyContent`, with the content. */
export function readContent(file: string, stats: BigIntStats): ReadContent {
  if (stats.size > MAX_DIGESTED_BYTES) return { identity: identifyByTime(stats) };
  let fd: number | undefined;
  try {
    fd = openSync(file, openFlags());
    const now = fstatSync(fd, { bigint: true });
    if (!now.isFile()) return { identity: { unreadable: "not a regular file" } };
    const bytes = now.size > MAX_DIGESTED_BYTES ? undefined : readUpToLimit(fd, now.size);
    return bytes === undefined
      ? { identity: identifyByTime(now) }
      : { identity: { sha256: sha256(bytes) }, bytes };
  } catch (error) {
    const unreadable = systemErrorCode(error) ?? "unknown";
    return { identity: { ...identifyByTime(stats), unreadable } };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** For a file that is too long to read, or must not be read. */
export function identifyByTime({ size, mtimeNs }: BigIntStats): { size: number; modified: string } {
  return { size: Number(size), modified: String(mtimeNs) };
}

/** The file may have been replaced by a link, or by a pipe without a writer, which would block. */
function openFlags(): number {
  const { O_NOFOLLOW: noFollow = 0, O_NONBLOCK: nonBlocking = 0 } = POSIX_FLAGS;
  return constants.O_RDONLY | noFollow | nonBlocking;
}

/** Undefined on Windows, contrary to the types. */
const POSIX_FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;

/**
 * Undefined if it is longer than the limit: files in `/proc` outgrow their reported size, and others while they are
 * written.
 */
function readUpToLimit(fd: number, size: bigint): Buffer | undefined {
  const chunkBytes = Math.min(MAX_CHUNK_BYTES, Number(size) + 1);
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const bytesRead = readSync(fd, chunk, 0, chunkBytes, null);
    if (bytesRead === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
    if (length > MAX_DIGESTED_BYTES) return undefined;
  }
}

const MAX_CHUNK_BYTES = 256 * 1024;

/** Caches digests of long files, keyed by everything that changes on a write. */
const digests = new Map<string, string>();
const MAX_KEPT_DIGESTS = 1000;

/**
 * The SHA-256 of the regular file at a path without links, given its status. Works for long files too: their digests are
 * cached until the file changes, unless it was written just now. Undefined if it cannot be read, is too long, or changes
 * meanwhile.
 */
export async function digestContent(file: string, stats: BigIntStats): Promise<string | undefined> {
  if (stats.size <= MAX_DIGESTED_BYTES) {
    const { bytes } = readContent(file, stats);
    return bytes && sha256(bytes);
  }
  if (stats.size > MAX_STREAMED_BYTES) return undefined;
  const state = stateOf(file, stats);
  const known = digests.get(state);
  if (known !== undefined) return known;
  // Checked before reading: two writes within the clock's resolution would look the same.
  const isSettled = Date.now() - Number(stats.ctimeMs) > MAX_STEP_MS;
  const digest = await streamDigest(file, state).catch(() => undefined);
  if (digest === undefined || !isSettled) return digest;
  if (digests.size >= MAX_KEPT_DIGESTS) digests.clear();
  digests.set(state, digest);
  return digest;
}

const MAX_STEP_MS = 2000;

/** Includes ctime, because mtime can be set to any value. */
function stateOf(file: string, { dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs, file].join(":");
}

/** Undefined if the file's state differs before or after reading. */
async function streamDigest(file: string, state: string): Promise<string | undefined> {
  await using handle = await openHandle(file, openFlags());
  const isSame = async () => {
    const stats = await handle.stat({ bigint: true });
    return stats.isFile() && stateOf(file, stats) === state;
  };
  if (!(await isSame())) return undefined;
  const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
  // Stop reading a file that keeps growing.
  const content = handle.createReadStream({
    autoClose: false,
    end: MAX_STREAMED_BYTES,
    highWaterMark: MAX_CHUNK_BYTES,
  });
  for await (const chunk of content) hash.update(chunk as Buffer);
  return (await isSame()) ? hash.digest("hex") : undefined;
}
