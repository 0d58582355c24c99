/** Writes whole files so that a crash leaves either the old or the new content, never a mix. */
import {
  closeSync,
  constants,
  existsSync,
  fsync,
  lstatSync,
  open,
  openSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { access, mkdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { writeError } from "../storage-error.ts";
import { readRegularFile } from "./safe-open.ts";
import { openHandle, randomName, systemErrorCode } from "../../util/index.ts";

/**
 * `mode` applies to new files. Does not touch a file that already has the content, and refuses to
 * replace a symbolic link. Throws `write_failed`.
 */
export async function writeDurably(file: string, content: Buffer, mode = 0o644): Promise<void> {
  const temporary = `${file}.${randomName()}.tmp`;
  try {
    const before = findFile(file);
    if (before?.content.equals(content)) return;
    await using handle = await openHandle(temporary, "wx", before?.mode ?? mode);
    if (before !== undefined) await handle.chmod(before.mode); // Whatever the umask.
    await handle.writeFile(content);
    await handle.sync();
    await rename(temporary, file);
    await syncFolder(path.dirname(file));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw writeError(file, error);
  }
}

/** For a new file in a folder that is still being made: sync the folder afterwards. Throws `write_failed`. */
export async function createSynced(file: string, content: Buffer): Promise<void> {
  try {
    const fd = await new Promise<number>((resolve, reject) => {
      open(file, "wx", 0o644, (error, opened) => (error === null ? resolve(opened) : reject(error)));
    });
    await syncAndClose(fd, () => writeFileSync(fd, content));
  } catch (error) {
    throw writeError(file, error);
  }
}

/** Only what waits for the disk is left to Node's threads: the rest takes microseconds, and the way there takes longer. */
async function syncAndClose(fd: number, write?: () => void): Promise<void> {
  try {
    write?.();
    await new Promise<void>((resolve, reject) => {
      fsync(fd, (error) => (error === null ? resolve() : reject(error)));
    });
  } finally {
    closeSync(fd);
  }
}

/** Indented by two spaces, with a newline at the end, like all files of a record. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  await writeDurably(file, Buffer.from(`${jsonText(value)}\n`));
}

/** Indented, and without lone surrogates. */
export function jsonText(value: unknown): string {
  return withoutLoneSurrogates(JSON.stringify(value, null, 2));
}

/** Replaces them: other JSON parsers reject their escapes, and with them the whole file. */
export function withoutLoneSurrogates(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replaceAll(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) =>
    escape.startsWith("\\ud") ? "\u{fffd}" : escape,
  );
}

/** Creates a folder and its parents durably. Throws `write_failed`. */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  try {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
    const first = await mkdir(folder, { recursive: true, ...(mode !== undefined && { mode }) });
    if (first === undefined) return;
    // A new folder is on disk only after its parent has been synced.
    for (let made = path.resolve(folder); ; made = path.dirname(made)) {
      await syncFolder(path.dirname(made));
      if (made === path.resolve(first) || made === path.dirname(made)) break;
    }
  } catch (error) {
    throw writeError(folder, await explainMissing(folder, error));
  }
}

/** On a read-only file system, Node says that the folder to create does not exist. Returns the reason. */
async function explainMissing(folder: string, error: unknown): Promise<unknown> {
  if (systemErrorCode(error) !== "ENOENT") return error;
  let parent = path.dirname(path.resolve(folder));
  while (!existsSync(parent) && parent !== path.dirname(parent)) parent = path.dirname(parent);
  return access(parent, constants.W_OK).then(
    () => error,
    (reason: unknown) => reason,
  );
}

/** Throws `write_failed`. */
export async function moveFolder(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
    await syncFolder(path.dirname(to));
    if (path.dirname(from) !== path.dirname(to)) await syncFolder(path.dirname(from));
  } catch (error) {
    throw writeError(to, error);
  }
}

/**
 * Renames a folder, unless an older copy of the same conversation has that name already. Returns the
 * resulting path. Throws `write_failed`.
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
      await using handle = await openHandle(name, "wx");
      await handle.writeFile(bytes);
      await handle.sync();
      return name;
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw writeError(name, error);
    }
  }
}

/** A created, moved or deleted file name is on disk only after its folder has been synced. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return; // Folders cannot be opened there.
  await syncAndClose(openSync(folder, "r"));
}

function findFile(file: string) {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return { content: readRegularFile(file), mode: stats.mode & 0o777 };
}
