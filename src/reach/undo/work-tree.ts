/** Reads the state of paths in a workspace, without following links, and saves the contents. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
} from "node:fs";
import path from "node:path";
import { decodeFileName, MAX_KEPT_FILE_BYTES, toSystemPath } from "../files/index.ts";
import { sha256, systemErrorCode } from "../../util/index.ts";
import type { Contents, PutOptions } from "./contents.ts";
import { ABSENT, type EntryState, type UnkeptReason } from "./entry-state.ts";

/** Undefined on Windows, contrary to the types. */
const FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;

export interface KeepOptions extends PutOptions {
  /** Where to save contents. Without it, they are only digested. */
  readonly contents?: Contents;
}

/**
 * `relative` has forward slashes. A path behind a link is absent: only the link exists. Throws system errors of the store
 * that saves the content.
 */
export async function readEntry(
  root: string,
  relative: string,
  options: KeepOptions,
): Promise<EntryState> {
  const file = path.join(root, relative);
  if (!isInRealFolder(root, relative)) return ABSENT;
  const stats = findStats(file);
  return stats === undefined ? ABSENT : readFound(file, stats, options);
}

/** Like `readEntry`, for an entry whose status is known. */
export async function readFound(
  file: string,
  stats: BigIntStats,
  options: KeepOptions,
): Promise<EntryState> {
  if (stats.isSymbolicLink()) {
    const target = decodeFileName(readlinkSync(toSystemPath(file), "buffer"));
    return { kind: "link", target };
  }
  if (stats.isDirectory()) return { kind: "folder", mode: modeOf(stats) };
  if (!stats.isFile()) return unkept(stats, "special");
  if (stats.size > MAX_KEPT_FILE_BYTES) return unkept(stats, "too_large");
  const fd = openFile(file);
  if (fd === undefined) return unkept(stats, "unreadable");
  try {
    const opened = fstatSync(fd, { bigint: true });
    if (!opened.isFile()) return unkept(opened, "special");
    const { digest, size } =
      options.contents === undefined ? digestFile(fd) : await options.contents.putFile(fd, options);
    return { kind: "file", mode: modeOf(opened), size, digest };
  } finally {
    closeSync(fd);
  }
}

/** A repository inside the workspace, whose files are not kept. Changes with the names directly in it. */
export function readRepository(root: string, relative: string): EntryState {
  const stats = isInRealFolder(root, relative) ? findStats(path.join(root, relative)) : undefined;
  return stats === undefined ? ABSENT : unkept(stats, "repository");
}

function digestFile(fd: number): { readonly digest: string; readonly size: number } {
  const bytes = readFileSync(fd);
  return { digest: sha256(bytes), size: bytes.length };
}

/** Undefined if nothing is there. */
export function findStats(file: string): BigIntStats | undefined {
  try {
    return lstatSync(toSystemPath(file), { bigint: true });
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG") return undefined;
    throw error;
  }
}

/** `known` caches the result for each folder. */
export function isInRealFolder(
  root: string,
  relative: string,
  known = new Map<string, boolean>(),
): boolean {
  const parent = path.posix.dirname(relative);
  if (parent === ".") return true;
  const found = known.get(parent);
  if (found !== undefined) return found;
  const isReal =
    isInRealFolder(root, parent, known) &&
    findStats(path.join(root, parent))?.isDirectory() === true;
  known.set(parent, isReal);
  return isReal;
}

/** Changes with the content, short of deliberate tampering. */
export function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

export function modeOf({ mode }: Pick<BigIntStats, "mode">): number {
  return Number(mode) & 0o7777;
}

function unkept(stats: BigIntStats, reason: UnkeptReason): EntryState {
  return { kind: "unkept", reason, identity: identityOf(stats) };
}

/** Undefined if it may not be read, or has been replaced. */
function openFile(file: string): number | undefined {
  try {
    const { O_NOFOLLOW: noFollow = 0, O_NONBLOCK: noBlock = 0 } = FLAGS;
    return openSync(toSystemPath(file), constants.O_RDONLY | noFollow | noBlock);
  } catch (error) {
    if (["EMFILE", "ENFILE", "ENOMEM"].includes(systemErrorCode(error) ?? "")) throw error;
    return undefined;
  }
}
