/**
 * Folders held open, so that an operation on a file happens in the folder that was checked, even if
 * something else takes its place. Node has no `openat`: on Linux, paths below `/proc/self/fd` do the
 * same. Elsewhere the path is checked again on opening, which leaves a short race.
 */
import { constants } from "node:fs";
import { type FileHandle, mkdir, readlink, realpath } from "node:fs/promises";
import path from "node:path";
import { FileError } from "./file-error.ts";
import { openHandle, systemErrorCode } from "../util/index.ts";

export interface Folder extends AsyncDisposable {
  readonly realPath: string;
  /** The path to list it by. */
  readonly path: string;
  /** The path of a file directly in it; valid until the folder is closed. */
  entry(name: string): string;
  /** Flushes created, renamed and deleted names to disk. */
  sync(): Promise<void>;
}

/** `realPath` must be free of symbolic links; throws if it no longer is. */
export async function openFolder(realPath: string): Promise<Folder> {
  if (process.platform === "win32") return folderByPath(realPath); // Windows cannot open folders.
  const handle = await openHandle(
    realPath,
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  try {
    const descriptor = `/proc/self/fd/${handle.fd}`;
    const opened = await readlink(descriptor).catch(() => undefined);
    if ((opened ?? (await realpath(realPath))) !== realPath) throw folderMovedError();
    return folderByHandle(handle, realPath, opened === undefined ? realPath : descriptor);
  } catch (error) {
    await handle.close();
    throw error;
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
  // Awaited here, so that the parent stays open until then.
  return await openFolder(path.join(outer.realPath, name));
}

function folderByHandle(handle: FileHandle, realPath: string, openPath: string): Folder {
  return {
    realPath,
    path: openPath,
    entry: (name) => path.join(openPath, name),
    // Some file systems cannot sync folders. The change itself has been made by then.
    sync: () => handle.sync().catch(() => undefined),
    [Symbol.asyncDispose]: () => handle.close(),
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
