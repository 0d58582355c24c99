/**
 * Opens what may have come with a clone. A link could lead to any file of the person's, which would be
 * shown, or copied into the workspace, and a pipe would be waited for: links are not followed, and only
 * regular files are opened. Node has no `openat`, so a folder that is exchanged for a link between the
 * check and the opening is followed. Only a program with the person's own rights can do that.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  type Stats,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { readError, systemErrorCode, UnsafePathError } from "../storage-error.ts";

/** The types know no Windows: there these are undefined. */
const POSIX_FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;
const { O_NOFOLLOW: noFollow, O_NONBLOCK: noBlock = 0 } = POSIX_FLAGS;
const SAFE_FLAGS = (noFollow ?? 0) | noBlock;

const LINK = "a symbolic link, which jp does not follow";

/** A file of a conversation, for reading. Throws `UnsafePathError`, and what the system says. */
export function openRecord(file: string): number {
  assertFolderNotLink(file);
  return openRegularFile(file);
}

/** The same for writing. */
export async function openRecordToWrite(file: string): Promise<FileHandle> {
  assertFolderNotLink(file);
  if (noFollow === undefined) assertRegularFile(lstatSync(file));
  const handle = await open(file, constants.O_RDWR | SAFE_FLAGS).catch(rethrowUnsafe);
  try {
    assertRegularFile(await handle.stat());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export function readRecord(file: string): Buffer {
  assertFolderNotLink(file);
  return readRegularFile(file);
}

/** Whatever its folder is. */
export function readRegularFile(file: string): Buffer {
  const fd = openRegularFile(file);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Throws `read_failed` for a folder that is a link. One that is not there is as good as any. */
export function assertNotLink(folder: string): void {
  if (isLink(folder)) throw readError(folder, new UnsafePathError(`it is ${LINK}`));
}

export function isLink(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function openRegularFile(file: string): number {
  if (noFollow === undefined) assertRegularFile(lstatSync(file));
  const fd = openCarefully(file);
  try {
    assertRegularFile(fstatSync(fd));
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openCarefully(file: string): number {
  try {
    return openSync(file, constants.O_RDONLY | SAFE_FLAGS);
  } catch (error) {
    return rethrowUnsafe(error);
  }
}

function assertFolderNotLink(file: string): void {
  if (isLink(path.dirname(file))) throw new UnsafePathError(`its folder is ${LINK}`);
}

function assertRegularFile(stats: Stats): void {
  if (stats.isSymbolicLink()) throw new UnsafePathError(`it is ${LINK}`);
  if (stats.isDirectory()) throw Object.assign(new Error("it is a folder"), { code: "EISDIR" });
  if (!stats.isFile()) throw new UnsafePathError("it is not a regular file");
}

/** What systems say when they do not follow a link, or when nobody is at the other end of a socket. */
function rethrowUnsafe(error: unknown): never {
  const code = systemErrorCode(error);
  if (code === "ELOOP" || code === "EMLINK") throw new UnsafePathError(`it is ${LINK}`);
  if (code === "ENXIO") throw new UnsafePathError("it is not a regular file");
  throw error;
}
