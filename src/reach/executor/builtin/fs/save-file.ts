/**
 * Reads files to change, and writes them in folders held open, so that either the old or the new file always exists.
 * Never follows links, symbolic or hard.
 */
import type { Stats } from "node:fs";
import { link, lstat, rename, rm, rmdir, unlink } from "node:fs/promises";
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
import { openHandle, systemErrorCode } from "../../../../util/index.ts";

/** Files to change or search are held in memory. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** A file's content at one moment, its owner and mode, and its inode. */
export interface FileSnapshot {
  readonly bytes: Buffer;
  readonly stats: Pick<Stats, "mode" | "uid" | "gid" | "dev" | "ino">;
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

/** A file to write. */
export interface FileWrite {
  readonly target: FileTarget;
  readonly bytes: Buffer;
  /** The content that it replaces. Undefined for a new file. */
  readonly before: FileSnapshot | undefined;
}

/**
 * Writes all files, or none: if one of them no longer matches `before`, or cannot be written, the others are restored.
 * Creates missing folders too. Throws a `FileError`, also if a new file already exists, or the signal's reason, which is
 * checked until the first file is in place. If the process dies meanwhile, each file is either the old or the new one.
 * `changes` saves the replaced content.
 */
export async function saveFiles(
  writes: readonly FileWrite[],
  signal: AbortSignal,
  changes?: ChangeKeeper,
): Promise<void> {
  await using staged = new AsyncDisposableStack();
  const files: StagedFile[] = [];
  const kept: (KeptFile | undefined)[] = [];
  try {
    signal.throwIfAborted();
    // Do this before anything is created, so that new folders are recognized as new.
    for (const { target, bytes } of writes) kept.push(await keepBefore(changes, target, bytes));
    for (const write of writes) files.push(staged.use(await stageFile(write)));
    for (const file of files) await assertAsBefore(file);
    signal.throwIfAborted();
  } catch (error) {
    await removeNewFolders(writes);
    throw writes.length === 1 ? error : withNote(error, "No file was changed.");
  }
  for (const [index, file] of files.entries()) {
    try {
      await putInPlace(file);
    } catch (error) {
      throw await putBack(writes, index, error);
    }
    await kept[index]?.done();
  }
}

/** Saves a file before it is changed, or deleted if `after` is undefined. Throws a `FileError`. */
export async function keepBefore(
  changes: ChangeKeeper | undefined,
  { folder, newFolders, name }: FileTarget,
  after: Buffer | undefined,
): Promise<KeptFile | undefined> {
  return await changes?.keepFile({ file: path.join(folder, ...newFolders, name), after });
}

/** A file under a temporary name in its folder, which is held open. */
interface StagedFile extends AsyncDisposable {
  readonly write: FileWrite;
  readonly folder: Folder;
  readonly temporary: string;
}

/** Writes beside the target and syncs first: after a crash, either the old or the new file exists. */
async function stageFile(write: FileWrite): Promise<StagedFile> {
  const { target, bytes, before } = write;
  try {
    let folder = await openFolder(target.folder);
    for (const name of target.newFolders) folder = await openOrCreateFolder(folder, name);
    const temporary = folder.entry(`.jp-${crypto.randomUUID()}.tmp`);
    const dispose = async () => {
      await rm(temporary, { force: true }).catch(() => undefined);
      await folder[Symbol.asyncDispose]();
    };
    try {
      await writeTemporaryFile(temporary, { bytes, ...(before && { like: before.stats }) });
    } catch (error) {
      await dispose();
      throw error;
    }
    return { write, folder, temporary, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    throw toWriteError(write, error);
  }
}

async function assertAsBefore({ write, folder }: StagedFile): Promise<void> {
  const { target, before } = write;
  try {
    if (before === undefined) {
      const other = await lstat(folder.entry(target.name)).catch(() => undefined);
      if (other !== undefined) throw fileChangedError(target.displayPath);
      return;
    }
    const now = await findSnapshotIn(folder, target);
    if (now === undefined) {
      throw new FileError(`${target.displayPath} was deleted in the meantime.`);
    }
    if (!before.bytes.equals(now.bytes)) throw fileChangedError(target.displayPath);
  } catch (error) {
    throw toWriteError(write, error);
  }
}

async function putInPlace(file: StagedFile): Promise<void> {
  const { write, folder, temporary } = file;
  const place = folder.entry(write.target.name);
  await assertAsBefore(file);
  try {
    if (write.before === undefined) await moveWithoutOverwriting(temporary, place);
    else await rename(temporary, place);
    await folder.sync();
  } catch (error) {
    throw toWriteError(write, error);
  }
}

function toWriteError({ target, before }: FileWrite, error: unknown): Error {
  const isNew = before === undefined;
  if (isNew && systemErrorCode(error) === "EEXIST") return fileChangedError(target.displayPath);
  return toFileError(isNew ? "create" : "write", target.displayPath, error);
}

/** Restores the files written so far, after the next one has failed. */
async function putBack(
  writes: readonly FileWrite[],
  count: number,
  failure: unknown,
): Promise<unknown> {
  const failed: string[] = [];
  for (const write of writes.slice(0, count).toReversed()) {
    const { target, bytes, before } = write;
    try {
      await (before === undefined
        ? removeFile(target, bytes)
        : saveFiles([{ target, bytes: before.bytes, before: { ...before, bytes } }], NEVER));
    } catch {
      failed.unshift(target.displayPath);
    }
  }
  await removeNewFolders(writes);
  if (writes.length === 1) return failure;
  return withNote(
    failure,
    failed.length === 0
      ? "No file was changed."
      : `These files were already written and could not be restored: ${failed.join(", ")}. Every ` +
          "other file is as it was before.",
  );
}

const NEVER = new AbortController().signal;

/** Fails if the content has changed since. */
async function removeFile(target: FileTarget, bytes: Buffer): Promise<void> {
  await using folder = await openFolder(path.join(target.folder, ...target.newFolders));
  const now = await findSnapshotIn(folder, target);
  if (now === undefined) return;
  if (!now.bytes.equals(bytes)) throw fileChangedError(target.displayPath);
  await unlink(folder.entry(target.name));
  await folder.sync();
}

/** Innermost first. Folders in use stay. */
async function removeNewFolders(writes: readonly FileWrite[]): Promise<void> {
  const folders = writes.flatMap(({ target }) =>
    target.newFolders.map((_name, index) =>
      path.join(target.folder, ...target.newFolders.slice(0, index + 1)),
    ),
  );
  for (const each of [...new Set(folders)].toSorted((one, two) => two.length - one.length)) {
    try {
      await using folder = await openFolder(path.dirname(each));
      await rmdir(folder.entry(path.basename(each)));
    } catch {
      // It contains other files, or was never created.
    }
  }
}

function withNote(error: unknown, note: string): unknown {
  return error instanceof FileError ? new FileError(`${error.message} ${note}`) : error;
}

interface TemporaryContent {
  readonly bytes: Buffer;
  /** The file it replaces. Without it, the file gets the default mode. */
  readonly like?: FileSnapshot["stats"];
}

async function writeTemporaryFile(file: string, { bytes, like }: TemporaryContent): Promise<void> {
  await using handle = await openHandle(file, "wx", like === undefined ? 0o666 : 0o600);
  await handle.writeFile(bytes);
  if (like !== undefined) {
    // Only root can change the owner; for everyone else it stays their own.
    await handle.chown(like.uid, like.gid).catch(() => undefined);
    await handle.chmod(like.mode & 0o777);
  }
  await handle.sync();
}

/** `rename` would replace a file created in the meantime; `link` does not. */
async function moveWithoutOverwriting(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file);
    await rm(temporary); // Otherwise the file would be refused as a hard link.
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
