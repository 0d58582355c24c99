/** Opens regular files in folders held open. Never follows links, symbolic or hard. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
} from "node:fs";
import { type FileHandle, lstat } from "node:fs/promises";
import { FileError } from "./file-error.ts";
import type { Folder } from "./folder.ts";
import { openHandle } from "../../util/index.ts";

/** Larger files are not saved before a tool deletes them, which then cannot be undone. */
export const MAX_KEPT_FILE_BYTES = 200 * 1024 * 1024;

interface OpenOptions {
  readonly displayPath: string;
  /** `write` fails for files that you may not write to, even if you could replace them. */
  readonly access: "read" | "write";
}

/** Throws a `FileError` for anything but a regular file; system errors pass through. */
export async function openFile(
  folder: Folder,
  name: string,
  { displayPath, access }: OpenOptions,
): Promise<FileHandle> {
  const file = folder.entry(name);
  const { O_NOFOLLOW: noFollow, O_NONBLOCK: nonBlocking = 0 } = POSIX_FLAGS;
  if (noFollow === undefined) assertRegularFile(await lstat(file), displayPath);
  const mode = access === "write" ? constants.O_RDWR : constants.O_RDONLY;
  const handle = await openHandle(file, mode | (noFollow ?? 0) | nonBlocking);
  try {
    assertRegularFile(await handle.stat(), displayPath);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Fits most files that are searched. */
const scratch = { bytes: Buffer.alloc(0) };
const SCRATCH_BYTES = 64 * 1024;

/**
 * Returns the content of a file, or undefined if it is longer than `maxBytes`. Throws like `openFile`. Synchronous, for
 * searches in very many files: a trip through the event loop takes many times as long as the operation.
 */
export function readFileNow(
  folder: Folder,
  name: string,
  { displayPath, maxBytes }: Pick<OpenOptions, "displayPath"> & { readonly maxBytes: number },
): Buffer | undefined {
  const file = folder.entry(name);
  const { O_NOFOLLOW: noFollow, O_NONBLOCK: nonBlocking = 0 } = POSIX_FLAGS;
  if (noFollow === undefined) assertRegularFile(lstatSync(file), displayPath);
  const fd = openSync(file, constants.O_RDONLY | (noFollow ?? 0) | nonBlocking);
  try {
    const stats = fstatSync(fd);
    assertRegularFile(stats, displayPath);
    if (stats.size > maxBytes) return undefined;
    if (stats.size >= SCRATCH_BYTES) return readFileSync(fd);
    if (scratch.bytes.length === 0) scratch.bytes = Buffer.alloc(SCRATCH_BYTES);
    const length = readSync(fd, scratch.bytes, 0, SCRATCH_BYTES, 0);
    // It has grown since.
    if (length === SCRATCH_BYTES) return readFileSync(fd);
    return Buffer.from(scratch.bytes.subarray(0, length));
  } finally {
    closeSync(fd);
  }
}

/** Undefined on Windows, contrary to the types. */
const POSIX_FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;

function assertRegularFile(stats: Stats, displayPath: string): void {
  if (stats.isDirectory()) {
    throw new FileError(
      `${displayPath} is a folder, not a file. Use fs_list_files to see what it contains.`,
    );
  }
  if (!stats.isFile()) throw new FileError(`${displayPath} is not a regular file.`);
  // There is no way to find the other names of a hard link: they may be outside the root.
  if (stats.nlink > 1) {
    throw new FileError(
      `${displayPath} is a hard link: the file has ${stats.nlink} names, and some may be outside the ` +
        "workspace. It cannot be read or changed.",
    );
  }
}
