/**
 * Reads files to change, and writes them in folders held open, so that there is always the old file or the new one.
 * Links, symbolic or hard, are never used.
 */
import type { Stats } from "node:fs";
import { link, lstat, rename, rm } from "node:fs/promises";
import path from "node:path";
import {
  FileError,
  type FileTarget,
  type Folder,
  fileChangedError,
  openFile,
  openFolder,
  openOrCreateFolder,
  toFileError,
} from "../../../files/index.ts";
import type { ChangeKeeper, KeptFile } from "../../../undo/index.ts";
import { openHandle, systemErrorCode } from "../../../util/index.ts";

/** Files to change or search are held in memory. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** The content of a file at one moment, and its owner and mode. */
export interface FileSnapshot {
  readonly bytes: Buffer;
  readonly stats: Pick<Stats, "mode" | "uid" | "gid">;
}

/** Reads a file to change; undefined if it does not exist. Throws only `FileError`s. */
export async function findSnapshot(target: FileTarget): Promise<FileSnapshot | undefined> {
  if (target.newFolders.length > 0) return undefined;
  try {
    await using folder = await openFolder(target.folder);
    return await findSnapshotIn(folder, target);
  } catch (error) {
    throw toFileError("change", target.displayPath, error);
  }
}

async function findSnapshotIn(
  folder: Folder,
  { name, displayPath }: FileTarget,
): Promise<FileSnapshot | undefined> {
  try {
    await using handle = await openFile(folder, name, { displayPath, access: "write" });
    const stats = await handle.stat();
    if (stats.size > MAX_FILE_BYTES) {
      throw new FileError(
        `${displayPath} is larger than 8 MiB, too large for this tool to change.`,
      );
    }
    return { bytes: await handle.readFile(), stats };
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

interface SaveRequest {
  readonly target: FileTarget;
  readonly bytes: Buffer;
  /** Keeps what is replaced, if there is one. */
  readonly changes?: ChangeKeeper | undefined;
  /** Once aborted, the file is not put in place. */
  readonly signal: AbortSignal;
}

/** Creates missing folders too. Throws a `FileError`, also if the file exists by now. */
export async function saveNewFile({ target, bytes, changes, signal }: SaveRequest): Promise<void> {
  try {
    signal.throwIfAborted();
    const kept = await keepBefore(changes, target, bytes);
    let opened = await openFolder(target.folder);
    for (const name of target.newFolders) opened = await openOrCreateFolder(opened, name);
    await using folder = opened;
    await withTemporaryFile(folder, { bytes }, async (temporary) => {
      signal.throwIfAborted();
      await moveWithoutOverwriting(temporary, folder.entry(target.name));
    });
    await kept?.done();
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") throw fileChangedError(target.displayPath);
    throw toFileError("create", target.displayPath, error);
  }
}

/** Keeps the file's mode. Throws a `FileError`, also if the file is not as it was `before`. */
export async function replaceFile(
  request: SaveRequest & { readonly before: FileSnapshot },
): Promise<void> {
  const { target, bytes, before, changes, signal } = request;
  try {
    const kept = await keepBefore(changes, target, bytes);
    await using folder = await openFolder(target.folder);
    await withTemporaryFile(folder, { bytes, like: before.stats }, async (temporary) => {
      const now = await findSnapshotIn(folder, target);
      if (now === undefined) {
        throw new FileError(`${target.displayPath} was deleted in the meantime.`);
      }
      if (!now.bytes.equals(before.bytes)) throw fileChangedError(target.displayPath);
      signal.throwIfAborted();
      await rename(temporary, folder.entry(target.name));
    });
    await kept?.done();
  } catch (error) {
    throw toFileError("write", target.displayPath, error);
  }
}

/** Before a file is changed, or deleted if `after` is undefined. Throws a `FileError`. */
export async function keepBefore(
  changes: ChangeKeeper | undefined,
  { folder, newFolders, name }: FileTarget,
  after: Buffer | undefined,
): Promise<KeptFile | undefined> {
  return await changes?.keepFile({ file: path.join(folder, ...newFolders, name), after });
}

interface TemporaryContent {
  readonly bytes: Buffer;
  /** The file it replaces. Without it, the file gets the default mode. */
  readonly like?: FileSnapshot["stats"];
}

/** Writes beside the target and syncs first: after a crash there is the old file or the new one. */
async function withTemporaryFile(
  folder: Folder,
  content: TemporaryContent,
  putInPlace: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = folder.entry(`.jp-${crypto.randomUUID()}.tmp`);
  try {
    await writeTemporaryFile(temporary, content);
    await putInPlace(temporary);
    await folder.sync();
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

async function writeTemporaryFile(file: string, { bytes, like }: TemporaryContent): Promise<void> {
  await using handle = await openHandle(file, "wx", like === undefined ? 0o666 : 0o600);
  await handle.writeFile(bytes);
  if (like !== undefined) {
    // Only root can give a file away; for everyone else it stays their own.
    await handle.chown(like.uid, like.gid).catch(() => undefined);
    await handle.chmod(like.mode & 0o777);
  }
  await handle.sync();
}

/** `rename` would replace a file created in the meantime; `link` does not. */
async function moveWithoutOverwriting(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file);
  } catch (error) {
    if (!LINKS_UNSUPPORTED.has(systemErrorCode(error) ?? "")) throw error;
    const other = await lstat(file).catch(() => undefined);
    if (other !== undefined) throw Object.assign(new Error("exists"), { code: "EEXIST" });
    await rename(temporary, file);
  }
}

const LINKS_UNSUPPORTED: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
]);
