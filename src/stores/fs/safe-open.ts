/**
 * Opens files that may have come with a cloned repository. A symbolic link could lead to a private
 * file, whose contents jp would show or copy into the workspace, and opening a pipe would block. So
 * links are not followed, and only regular files are opened. Node has no `openat`: a folder that is
 * replaced with a link between check and open is followed. That takes a program with the user's own
 * permissions.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  type Stats,
} from "node:fs";
import path from "node:path";
import { readError, UnsafePathError } from "../storage-error.ts";
import { systemErrorCode } from "../../util/index.ts";
import { DirectHandle } from "./record-handle.ts";

/** Undefined on Windows, unlike the types say. */
const POSIX_FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;
const { O_NOFOLLOW: noFollow, O_NONBLOCK: noBlock = 0 } = POSIX_FLAGS;
const SAFE_FLAGS = (noFollow ?? 0) | noBlock;

const LINK = "a symbolic link, which jp does not follow";

/** Opens a file of a record, for reading unless the flags say more. Throws `UnsafePathError` and system errors. */
export function openRecord(file: string, flags = constants.O_RDONLY): OpenedFile {
  assertFolderNotLink(file);
  return openRegularFile(file, { flags });
}

/** Opens a file of a record for reading and writing. Throws `UnsafePathError` and system errors. */
export async function openRecordToWrite(file: string): Promise<DirectHandle> {
  assertFolderNotLink(file);
  if (noFollow === undefined) assertRegularFile(lstatSync(file));
  const handle = openHandleCarefully(file);
  try {
    assertRegularFile(fstatSync(handle.fd));
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Opens a file of a record for reading and appending, or creates it with this mode. Throws `UnsafePathError` and system
 * errors.
 */
export function openToAppend(file: string, mode: number): OpenedFile {
  assertFolderNotLink(file);
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  return openRegularFile(file, { flags, mode });
}

function openHandleCarefully(file: string): DirectHandle {
  try {
    return new DirectHandle(file, constants.O_RDWR | SAFE_FLAGS);
  } catch (error) {
    return rethrowUnsafe(error);
  }
}

export function readRecord(file: string): Buffer {
  assertFolderNotLink(file);
  return readRegularFile(file);
}

/** Does not check the folder of the file. */
export function readRegularFile(file: string): Buffer {
  const { fd } = openRegularFile(file);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

export interface OpenedFile {
  readonly fd: number;
  readonly size: number;
}

/**
 * Opens files of one record for reading. Checks their folder only once: a list opens two files of each
 * of a thousand conversations. The function throws `UnsafePathError` and system errors.
 */
export function openerOf(folder: string): (name: string) => OpenedFile {
  const isUnsafe = isLink(folder);
  return (name) => {
    if (isUnsafe) throw unsafeFolderError();
    return openRegularFile(`${folder}${path.sep}${name}`);
  };
}

/** Its state; undefined if it does not exist. Throws `read_failed` if the folder is a link. */
export function assertNotLink(folder: string): Stats | undefined {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink() !== true) return stats;
  throw readError(folder, new UnsafePathError(`it is ${LINK}`));
}

export function isLink(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Opens a file for reading, without a check of its folder. Throws `UnsafePathError` and system errors. */
export function openRegularFile(
  file: string,
  { flags, mode }: HowToOpen = { flags: constants.O_RDONLY },
): OpenedFile {
  if (noFollow === undefined && existsSync(file)) assertRegularFile(lstatSync(file));
  const fd = openCarefully(file, { flags, mode });
  try {
    const stats = fstatSync(fd);
    assertRegularFile(stats);
    return { fd, size: stats.size };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

interface HowToOpen {
  readonly flags: number;
  /** The mode of a new file. */
  readonly mode?: number | undefined;
}

function openCarefully(file: string, { flags, mode }: HowToOpen): number {
  try {
    return openSync(file, flags | SAFE_FLAGS, mode);
  } catch (error) {
    return rethrowUnsafe(error);
  }
}

function assertFolderNotLink(file: string): void {
  if (isLink(path.dirname(file))) throw unsafeFolderError();
}

function unsafeFolderError(): UnsafePathError {
  return new UnsafePathError(`its folder is ${LINK}`);
}

function assertRegularFile(stats: Stats): void {
  if (stats.isSymbolicLink()) throw new UnsafePathError(`it is ${LINK}`);
  if (stats.isDirectory()) throw Object.assign(new Error("it is a folder"), { code: "EISDIR" });
  if (!stats.isFile()) throw new UnsafePathError("it is not a regular file");
}

/** Translates the system errors for a link that is not followed, and for a socket or pipe. */
function rethrowUnsafe(error: unknown): never {
  const code = systemErrorCode(error);
  if (code === "ELOOP" || code === "EMLINK") throw new UnsafePathError(`it is ${LINK}`);
  if (code === "ENXIO") throw new UnsafePathError("it is not a regular file");
  throw error;
}
