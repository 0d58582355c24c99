/** Writes whole files so that a crash leaves either the old or the new content, never a mix. */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import path from "node:path";
import { writeError } from "../storage-error.ts";
import { readRegularFile } from "./safe-open.ts";
import { randomName, systemErrorCode, withoutLoneSurrogates } from "../../util/index.ts";
import { DirectHandle } from "./record-handle.ts";

/**
 * `mode` applies to new files. Does not touch a file that already has the content, and refuses to
 * replace a symbolic link. Throws `write_failed`.
 */
export async function writeDurably(file: string, content: Buffer, mode = 0o644): Promise<void> {
  const temporary = `${file}.${randomName()}.tmp`;
  try {
    const before = findFile(file);
    if (before?.content.equals(content)) return;
    using handle = new DirectHandle(temporary, "wx", before?.mode ?? mode);
    if (before !== undefined) handle.chmod(before.mode); // Overrides the umask.
    handle.writeFile(content);
    await handle.sync();
    renameSync(temporary, file);
    await syncFolder(path.dirname(file));
  } catch (error) {
    removeQuietly(temporary);
    throw writeError(file, error);
  }
}

function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It stays behind.
  }
}

/**
 * For new files in a folder that is still being created: sync the folder afterwards. All are written before the first
 * is synced, since a file system delays other writes during a sync. Throws `write_failed`.
 */
export async function createSynced(
  folder: string,
  files: Readonly<Record<string, Buffer>>,
  mode = 0o644,
): Promise<void> {
  const handles: DirectHandle[] = [];
  try {
    for (const [name, content] of Object.entries(files)) {
      const handle = new DirectHandle(`${folder}${path.sep}${name}`, "wx", mode);
      handles.push(handle);
      handle.writeFile(content);
    }
    await Promise.all(handles.map((handle) => handle.sync()));
  } catch (error) {
    throw writeError(folder, error);
  } finally {
    for (const handle of handles) handle[Symbol.dispose]();
  }
}

/** Indented by two spaces, with a trailing newline, like all files of a record. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  await writeDurably(file, Buffer.from(`${jsonText(value)}\n`));
}

/** Indented, and without lone surrogates. */
export function jsonText(value: unknown): string {
  return withoutLoneSurrogates(JSON.stringify(value, null, 2));
}

/** Creates a folder and its parents durably. Throws `write_failed`. */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  try {
    if (isFolder(folder)) return; // Much faster than trying to create it.
    const first = mkdirSync(folder, { recursive: true, ...(mode !== undefined && { mode }) });
    if (first === undefined) return;
    // A new folder is on disk only after its parent has been synced.
    for (let made = path.resolve(folder); ; made = path.dirname(made)) {
      await syncFolder(path.dirname(made));
      if (made === path.resolve(first) || made === path.dirname(made)) break;
    }
  } catch (error) {
    throw writeError(folder, explainMissing(folder, error));
  }
}

export function isFolder(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** On a read-only file system, Node reports that the folder to create does not exist. Returns the real reason. */
function explainMissing(folder: string, error: unknown): unknown {
  if (systemErrorCode(error) !== "ENOENT") return error;
  let parent = path.dirname(path.resolve(folder));
  while (!existsSync(parent) && parent !== path.dirname(parent)) parent = path.dirname(parent);
  try {
    accessSync(parent, constants.W_OK);
    return error;
  } catch (reason) {
    return reason;
  }
}

/** Throws `write_failed`. */
export async function moveFolder(from: string, to: string): Promise<void> {
  try {
    renameSync(from, to);
    await syncFolder(path.dirname(to));
    if (path.dirname(from) !== path.dirname(to)) await syncFolder(path.dirname(from));
  } catch (error) {
    throw writeError(to, error);
  }
}

/**
 * Renames a folder, unless an older copy of the same conversation already has that name. Returns the resulting path.
 * Throws `write_failed`.
 */
export async function renameFolder(folder: string, name: string): Promise<string> {
  const target = path.join(path.dirname(folder), name);
  if (existsSync(target)) return folder;
  await moveFolder(folder, target);
  return target;
}

/** Saves unreadable bytes in a new file beside the original, and returns its path. */
export async function setAside(file: string, bytes: Buffer): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const name = file.replace(/\.json$/, attempt === 1 ? ".torn" : `.torn-${attempt}`);
    try {
      using handle = new DirectHandle(name, "wx");
      handle.writeFile(bytes);
      await handle.sync();
      return name;
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw writeError(name, error);
    }
  }
}

interface FolderSyncs {
  /** The running sync. */
  readonly current: Promise<void>;
  /** Starts when the current one is done. */
  next?: Promise<void>;
}

const folderSyncs = new Map<string, FolderSyncs>();

/**
 * A created, moved or deleted file name is on disk only after its folder has been synced. Callers that arrive during a
 * sync share the next one, which covers all their changes.
 */
export function syncFolder(folder: string): Promise<void> {
  const syncs = folderSyncs.get(folder);
  if (syncs === undefined) return startSync(folder);
  const start = () => startSync(folder);
  syncs.next ??= syncs.current.then(start, start);
  return syncs.next;
}

function startSync(folder: string): Promise<void> {
  const syncs: FolderSyncs = { current: syncFolderNow(folder) };
  folderSyncs.set(folder, syncs);
  const end = () => {
    if (syncs.next === undefined) folderSyncs.delete(folder);
  };
  void syncs.current.then(end, end);
  return syncs.current;
}

async function syncFolderNow(folder: string): Promise<void> {
  if (process.platform === "win32") return; // Folders cannot be opened there.
  using handle = new DirectHandle(folder, "r");
  await handle.sync();
}

function findFile(file: string) {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return { content: readRegularFile(file), mode: stats.mode & 0o777 };
}
