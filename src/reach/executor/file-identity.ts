/**
 * Identifies a file that someone was shown, as data: by its content or, if that is too long to read, by its size and
 * change time. Comparing two identities shows whether the file has changed.
 */
import { type BigIntStats, closeSync, fstatSync, openSync, readSync } from "node:fs";
import {
  isNotLoaded,
  type JsonObject,
  loadModule,
  openHandle,
  safeReadFlags,
  sha256,
  systemErrorCode,
} from "../../util/index.ts";
import type { KeptContent } from "./digest-cache.ts";

/** Digests of longer files are cached: a program may have hundreds of megabytes. */
export const MAX_SHORT_BYTES = 1024 * 1024;
/** Longer files are not read. */
export const MAX_DIGESTED_BYTES = 1024 * MAX_SHORT_BYTES;
/** Systems read no more of a file than this to find its `#!` line. */
const MAX_HEAD_BYTES = 512;

export interface FileIdentity extends Pick<KeptContent, "script"> {
  readonly identity: JsonObject;
  /** The digested content. Absent if it is long, or was not read whole. */
  readonly bytes?: Buffer;
}

/**
 * Describes the regular file at a path without links, given its status. Unreadable files are described as such. Digests of
 * long files are kept in the data folder, if there is one. Throws `module_not_loaded`.
 */
export async function identifyFile(
  file: string,
  stats: BigIntStats,
  dataFolder?: string,
): Promise<FileIdentity> {
  if (stats.size <= MAX_SHORT_BYTES) return identifyShort(file, stats);
  try {
    const { sha256: digest, ...script } = await findContent(file, stats, dataFolder);
    return {
      identity: digest === undefined ? identifyByChange(stats) : { sha256: digest },
      ...script,
    };
  } catch (error) {
    if (isNotLoaded(error)) throw error; // Nothing is known about the file.
    return { identity: unreadable(stats, error) };
  }
}

function identifyShort(file: string, stats: BigIntStats): FileIdentity {
  let fd: number | undefined;
  try {
    fd = openSync(file, safeReadFlags());
    const now = fstatSync(fd, { bigint: true });
    if (!now.isFile()) return { identity: { unreadable: "not a regular file" } };
    const bytes = now.size > MAX_SHORT_BYTES ? undefined : readUpToLimit(fd, now.size);
    return bytes === undefined
      ? { identity: identifyByChange(now) }
      : { identity: { sha256: sha256(bytes) }, bytes, ...findScript(bytes) };
  } catch (error) {
    return { identity: unreadable(stats, error) };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function unreadable(stats: BigIntStats, error: unknown): JsonObject {
  return { ...identifyByTime(stats), unreadable: systemErrorCode(error) ?? "unknown" };
}

/** For a file that must not be read. */
export function identifyByTime({ size, mtimeNs }: BigIntStats): { size: number; modified: string } {
  return { size: Number(size), modified: String(mtimeNs) };
}

/** For a file that is too long to read, or is being written. Unlike the modification time, no program can set it. */
function identifyByChange({ size, ctimeNs }: BigIntStats): JsonObject {
  return { size: Number(size), changed: String(ctimeNs) };
}

/** `head`: at least the first bytes of the file. */
function findScript(head: Uint8Array): Pick<KeptContent, "script"> {
  if (head[0] !== HASH || head[1] !== BANG) return {};
  const text = Buffer.from(head.subarray(2, MAX_HEAD_BYTES)).toString();
  const [script = ""] = text.split("\n");
  return { script };
}

const [HASH, BANG] = [0x23, 0x21];

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
    if (length > MAX_SHORT_BYTES) return undefined;
  }
}

const MAX_CHUNK_BYTES = 256 * 1024;

/** Two writes within the clock's resolution would look the same. */
const MAX_STEP_MS = 2000;

/** The content of a long file, read once until the file changes. Throws system errors and `module_not_loaded`. */
async function findContent(
  file: string,
  stats: BigIntStats,
  dataFolder: string | undefined,
): Promise<KeptContent> {
  // Most tools have no long file.
  const { digestCacheIn } = await loadModule(() => import("./digest-cache.ts"));
  const cache = digestCacheIn(dataFolder);
  const state = stateOf(stats);
  const read = async () => {
    // Checked before reading.
    const isSettled = Date.now() - Number(stats.ctimeMs) > MAX_STEP_MS;
    const content = await readContent(file, state, stats.size);
    if (content !== undefined && isSettled) cache.keep(state, content);
    return content ?? {};
  };
  return cache.find(state) ?? cache.readOnce(state, read);
}

/** Everything that changes on a write. Includes the change time, because the modification time can be set to any value. */
function stateOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

/** Undefined if the file's state differs before or after reading. Throws system errors. */
async function readContent(
  file: string,
  state: string,
  size: bigint,
): Promise<KeptContent | undefined> {
  await using handle = await openHandle(file, safeReadFlags());
  const isSame = async () => {
    const stats = await handle.stat({ bigint: true });
    return stats.isFile() && stateOf(stats) === state;
  };
  if (!(await isSame())) return undefined;
  const head = Buffer.alloc(MAX_HEAD_BYTES);
  await handle.read(head, 0, MAX_HEAD_BYTES, 0);
  const script = findScript(head);
  if (size > MAX_DIGESTED_BYTES) return script;
  const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
  // Stop reading a file that keeps growing.
  const content = handle.createReadStream({
    autoClose: false,
    start: 0,
    end: MAX_DIGESTED_BYTES,
    highWaterMark: MAX_CHUNK_BYTES,
  });
  for await (const chunk of content) hash.update(chunk as Buffer);
  return (await isSame()) ? { sha256: hash.digest("hex"), ...script } : undefined;
}
