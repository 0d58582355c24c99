/**
 * Says which file someone was shown, as data: its content or, if that is long, its size and time. Whoever compares two
 * of these finds out whether it is still that file.
 */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type JsonObject, openHandle, sha256, systemErrorCode } from "../../util/index.ts";

/** Longer files are not read: a program may have hundreds of megabytes. */
const MAX_DIGESTED_BYTES = 1024 * 1024;
/** Nor even longer ones where only the content counts. */
const MAX_STREAMED_BYTES = 1024 * MAX_DIGESTED_BYTES;

/**
 * Describes the regular file at a path without links, whose status is known. Never throws: what cannot be read is
 * described as such.
 */
export function identifyContent(file: string, stats: BigIntStats): JsonObject {
  return readContent(file, stats).identity;
}

export interface ReadContent {
  readonly identity: JsonObject;
  /** The content that its digest is of. Absent if it was not read whole. */
  readonly bytes?: Buffer;
}

/** The same with the content. */
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

/** For a file that is too long to read, or may not be read. */
export function identifyByTime({ size, mtimeNs }: BigIntStats): { size: number; modified: string } {
  return { size: Number(size), modified: String(mtimeNs) };
}

/** Something else may have taken its place: a link, or a pipe without a writer, which would block. */
function openFlags(): number {
  const { O_NOFOLLOW: noFollow = 0, O_NONBLOCK: nonBlocking = 0 } = POSIX_FLAGS;
  return constants.O_RDONLY | noFollow | nonBlocking;
}

/** Undefined on Windows, which the types do not say. */
const POSIX_FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;

/** Undefined if it is longer than its status says: files of `/proc` are, and others while they are written. */
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

/** Of long files, by everything that differs once one was written to. */
const digests = new Map<string, string>();
const MAX_KEPT_DIGESTS = 1000;

/**
 * The SHA-256 of the regular file at a path without links, whose status is known, also if it is long. That of a long one is
 * computed once, as long as the file stays as it is and was not written just now. Undefined if it cannot be read, is too long, or changes meanwhile.
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
  // Before it is read: a file that is written twice within one step of its time would look the same.
  const isSettled = Date.now() - Number(stats.ctimeMs) > MAX_STEP_MS;
  const digest = await streamDigest(file, state).catch(() => undefined);
  if (digest === undefined || !isSettled) return digest;
  if (digests.size >= MAX_KEPT_DIGESTS) digests.clear();
  digests.set(state, digest);
  return digest;
}

const MAX_STEP_MS = 2000;

/** The time of the last change of the status is among it: the other one can be set to any time. */
function stateOf(file: string, { dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs, file].join(":");
}

/** Undefined if the file is in another state, or comes to be. */
async function streamDigest(file: string, state: string): Promise<string | undefined> {
  await using handle = await openHandle(file, openFlags());
  const isSame = async () => {
    const stats = await handle.stat({ bigint: true });
    return stats.isFile() && stateOf(file, stats) === state;
  };
  if (!(await isSame())) return undefined;
  const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
  // A file that grows without end is not read without end.
  const content = handle.createReadStream({
    autoClose: false,
    end: MAX_STREAMED_BYTES,
    highWaterMark: MAX_CHUNK_BYTES,
  });
  for await (const chunk of content) hash.update(chunk as Buffer);
  return (await isSame()) ? hash.digest("hex") : undefined;
}
