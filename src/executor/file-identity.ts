/**
 * Says which file someone was shown, as data: its content or, if that is long, its size and time. Whoever compares two
 * of these finds out whether it is still that file.
 */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type JsonObject, sha256, systemErrorCode } from "../util/index.ts";

/** Longer files are not read: a program may have hundreds of megabytes. */
const MAX_DIGESTED_BYTES = 1024 * 1024;

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
    // Something else may have taken its place: a link, or a pipe without a writer, which would block.
    const { O_NOFOLLOW: noFollow = 0, O_NONBLOCK: nonBlocking = 0 } = POSIX_FLAGS;
    fd = openSync(file, constants.O_RDONLY | noFollow | nonBlocking);
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
