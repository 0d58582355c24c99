/**
 * A folder held open, so that what is done to its files is done in that folder, whatever takes its
 * place meanwhile. Node has no `openat`: on Linux, paths below `/proc/self/fd` do the same. Elsewhere
 * the folder is checked once more when it is opened, and a moment remains.
 */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink, realpath } from "node:fs/promises";
import path from "node:path";
import { Refusal, systemCode } from "./file-error.ts";

export interface Folder extends AsyncDisposable {
  readonly real: string;
  /** For listing it. */
  readonly path: string;
  /** A path for a file directly in it; valid until the folder is closed. */
  entry(name: string): string;
  /** Puts new, moved and deleted names on the disk. */
  sync(): Promise<void>;
}

/** `real` is free of symbolic links, or was a moment ago: a folder with another path is refused. */
export async function openFolder(real: string): Promise<Folder> {
  if (process.platform === "win32") return folderByPath(real); // Folders cannot be opened there.
  const handle = await open(
    real,
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  try {
    const held = `/proc/self/fd/${handle.fd}`;
    const opened = await readlink(held).catch(() => undefined);
    if ((opened ?? (await realpath(real))) !== real) throw moved();
    return toFolder({ handle, real, path: opened === undefined ? real : held });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Opens a folder in a folder, which is made if it is not there, and closes the outer one. */
export async function openOrMakeFolder(parent: Folder, name: string): Promise<Folder> {
  await using outer = parent;
  try {
    await mkdir(outer.entry(name));
    await outer.sync();
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
  return await openFolder(path.join(outer.real, name)); // Before the outer one is closed.
}

interface OpenedFolder {
  readonly handle: FileHandle;
  readonly real: string;
  readonly path: string;
}

function toFolder({ handle, real, path: held }: OpenedFolder): Folder {
  return {
    real,
    path: held,
    entry: (name) => path.join(held, name),
    // The change is made: a file system that syncs no folders does not make it undone.
    sync: () => handle.sync().catch(() => undefined),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function folderByPath(real: string): Promise<Folder> {
  if ((await realpath(real)) !== real) throw moved();
  return {
    real,
    path: real,
    entry: (name) => path.join(real, name),
    sync: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function moved(): Refusal {
  return new Refusal(
    "A folder on the way was moved or replaced meanwhile. Nothing was changed. Try again.",
  );
}
