/** Writing whole files so that a crash leaves the old one or the new one, on the disk, and no third. */
import { existsSync, lstatSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import path from "node:path";
import { systemErrorCode, writeError } from "../storage-error.ts";
import { readRegularFile } from "./safe-open.ts";

/**
 * `mode` is that of a new file. One that holds the content is not touched, and a link is not replaced.
 * Throws `write_failed`.
 */
export async function writeDurably(file: string, content: Buffer, mode = 0o644): Promise<void> {
  const temporary = `${file}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  try {
    const before = findFile(file);
    if (before?.content.equals(content)) return;
    await using handle = await open(temporary, "wx", before?.mode ?? mode);
    await handle.writeFile(content);
    await handle.sync();
    await rename(temporary, file);
    await syncFolder(path.dirname(file));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw writeError(file, error);
  }
}

/** As the record's files are written: two spaces, a newline at the end. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  await writeDurably(file, Buffer.from(`${jsonText(value)}\n`));
}

/** Half a character is written as an escape that other parsers of JSON refuse, and the file with it. */
export function jsonText(value: unknown): string {
  const json = JSON.stringify(value, null, 2);
  if (!json.includes("\\ud")) return json;
  return json.replaceAll(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) =>
    escape.startsWith("\\ud") ? "\u{fffd}" : escape,
  );
}

/** Makes a folder, with those above it, so that it stays. Throws `write_failed`. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    const first = await mkdir(folder, { recursive: true });
    if (first === undefined) return;
    // Each new folder is on the disk when the one it stands in is.
    for (let made = path.resolve(folder); ; made = path.dirname(made)) {
      await syncFolder(path.dirname(made));
      if (made === path.resolve(first) || made === path.dirname(made)) break;
    }
  } catch (error) {
    throw writeError(folder, error);
  }
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
 * Gives a folder another name. Where the name is taken, by an older copy of the same conversation,
 * it keeps its own. Returns where it is now. Throws `write_failed`.
 */
export async function renameFolder(folder: string, name: string): Promise<string> {
  const target = path.join(path.dirname(folder), name);
  if (existsSync(target)) return folder;
  await moveFolder(folder, target);
  return target;
}

/** Keeps bytes that could not be read in a new file beside theirs, and returns its name. */
export async function setAside(file: string, bytes: Buffer): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const name = file.replace(/\.json$/, attempt === 1 ? ".torn" : `.torn-${attempt}`);
    try {
      await using handle = await open(name, "wx");
      await handle.writeFile(bytes);
      await handle.sync();
      return name;
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw writeError(name, error);
    }
  }
}

/** A new, moved or deleted name is on the disk only when its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return; // Folders cannot be opened there.
  await using handle = await open(folder, "r");
  await handle.sync();
}

function findFile(file: string) {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return { content: readRegularFile(file), mode: stats.mode & 0o777 };
}
