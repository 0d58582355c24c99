/**
 * Folders held open, so that an operation on a file happens in the folder that was checked, even if it is replaced
 * meanwhile. Node has no `openat`: on Linux, paths below `/proc/self/fd` serve instead. Elsewhere the path is checked
 * again on opening, which leaves a short race.
 */
import { closeSync, constants, fsync, openSync, readlinkSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import path from "node:path";
import { FileError } from "./file-error.ts";
import { decodeFileName, toSystemPath } from "./file-name.ts";
import { settled, systemErrorCode } from "../../util/index.ts";

export interface Folder extends AsyncDisposable {
  readonly realPath: string;
  /** The path for listing it. */
  readonly path: string;
  /** The path of a file directly in it; valid until the folder is closed. */
  entry(name: string): string;
  /** Flushes created, renamed and deleted names to disk. */
  sync(): Promise<void>;
}

/**
 * `realPath` must be free of symbolic links; throws if it no longer is. Synchronous inside: a walk opens thousands of
 * folders, and a trip through the event loop takes many times as long as the operation.
 */
export async function openFolder(realPath: string): Promise<Folder> {
  if (process.platform === "win32") return folderByPath(realPath); // Windows cannot open folders.
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const fd = openSync(toSystemPath(realPath), flags);
  try {
    const descriptor = `/proc/self/fd/${fd}`;
    const opened = findLinkTarget(descriptor);
    if ((opened ?? (await realpath(realPath))) !== realPath) throw folderMovedError();
    return folderByDescriptor(fd, realPath, opened === undefined ? realPath : descriptor);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Undefined on systems without `/proc`. */
function findLinkTarget(file: string): string | undefined {
  try {
    return decodeFileName(readlinkSync(file, "buffer"));
  } catch {
    return undefined;
  }
}

/** Opens a folder inside `parent`, creating it if necessary, and closes `parent`. */
export async function openOrCreateFolder(parent: Folder, name: string): Promise<Folder> {
  await using outer = parent;
  try {
    await mkdir(outer.entry(name));
    await outer.sync();
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
  }
  // Awaited, so that the parent stays open until then.
  return await openFolder(path.join(outer.realPath, name));
}

function folderByDescriptor(fd: number, realPath: string, openPath: string): Folder {
  return {
    realPath,
    path: openPath,
    entry: (name) => path.join(openPath, name),
    // Some file systems cannot sync folders. The change itself is already made.
    sync: () => settled((done) => fsync(fd, done)).catch(() => undefined),
    [Symbol.asyncDispose]: async () => closeSync(fd),
  };
}

async function folderByPath(realPath: string): Promise<Folder> {
  if ((await realpath(realPath)) !== realPath) throw folderMovedError();
  return {
    realPath,
    path: realPath,
    entry: (name) => path.join(realPath, name),
    sync: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function folderMovedError(): FileError {
  return new FileError(
    "A folder on the path was moved or replaced in the meantime. Nothing was changed. Try again.",
  );
}
