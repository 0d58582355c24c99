/** Opens and reads regular files in a folder that is held open. Never uses a link, symbolic or hard. */
import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import { changedMeanwhile, explainFailure, Refusal, systemCode } from "./file-error.ts";
import { type Folder, openFolder, openOrMakeFolder } from "./folder.ts";
import type { Target } from "./place.ts";

/** Files that are compared, changed or searched are held in memory. */
export const MOST_BYTES = 8 * 1024 * 1024;

/** What a file held at a moment, and whose it was. */
export interface Version {
  readonly bytes: Buffer;
  readonly stats: Pick<Stats, "mode" | "uid" | "gid">;
}

export interface OpenOptions {
  readonly shown: string;
  /** `write` fails for files that one may not write to, though they could be replaced. */
  readonly access: "read" | "write";
}

/** Throws a refusal for what is no file; errors of the system as they are. */
export async function openFile(
  folder: Folder,
  name: string,
  { shown, access }: OpenOptions,
): Promise<FileHandle> {
  const file = folder.entry(name);
  const { O_NOFOLLOW: noFollow, O_NONBLOCK: noWaiting = 0 } = POSIX_FLAGS;
  if (noFollow === undefined) refuseOther(await lstat(file), shown);
  const mode = access === "write" ? constants.O_RDWR : constants.O_RDONLY;
  const handle = await open(file, mode | (noFollow ?? 0) | noWaiting);
  try {
    refuseOther(await handle.stat(), shown);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** What a file to be changed holds now; undefined if it is not there. Throws refusals only. */
export async function findVersion(target: Target): Promise<Version | undefined> {
  if (target.newFolders.length > 0) return undefined;
  try {
    await using folder = await openFolder(target.folder);
    return await readVersion(folder, target);
  } catch (error) {
    throw explainFailure("change", target.shown, error);
  }
}

/** The same in a folder that is open already. */
async function readVersion(
  folder: Folder,
  { name, shown }: Pick<Target, "name" | "shown">,
): Promise<Version | undefined> {
  try {
    await using handle = await openFile(folder, name, { shown, access: "write" });
    const stats = await handle.stat();
    if (stats.size > MOST_BYTES) {
      throw new Refusal(`${shown} is larger than 8 MiB: too large to be changed with this tool.`);
    }
    return { bytes: await handle.readFile(), stats };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The types know no Windows: there these are undefined. */
const POSIX_FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;

function refuseOther(stats: Stats, shown: string): void {
  if (stats.isDirectory()) {
    throw new Refusal(`${shown} is a folder, not a file. fs_list_files shows what is in it.`);
  }
  if (!stats.isFile()) throw new Refusal(`${shown} is not a regular file.`);
  // Where the others are cannot be told, and may be outside the root.
  if (stats.nlink > 1) {
    throw new Refusal(
      `${shown} is a hard link: the same file has ${stats.nlink} names, and some may be outside the ` +
        "workspace. It can be neither read nor changed.",
    );
  }
}

export interface Save {
  readonly target: Target;
  readonly bytes: Buffer;
  /** After it is aborted, nothing is put in place. */
  readonly signal: AbortSignal;
}

/** With the folders on the way. Throws a refusal; also if the file is there by now. */
export async function saveNewFile({ target, bytes, signal }: Save): Promise<void> {
  try {
    signal.throwIfAborted();
    await using folder = await openTargetFolder(target);
    await throughTemporary(folder, { bytes }, async (temporary) => {
      signal.throwIfAborted();
      await moveToFreeName(temporary, folder.entry(target.name));
    });
  } catch (error) {
    if (systemCode(error) === "EEXIST") throw changedMeanwhile(target.shown);
    throw explainFailure("create", target.shown, error);
  }
}

/** Throws a refusal; also if the file no longer holds what it held before. Keeps its mode. */
export async function replaceFile(save: Save & { readonly before: Version }): Promise<void> {
  const { target, bytes, before, signal } = save;
  try {
    await using folder = await openFolder(target.folder);
    await throughTemporary(folder, { bytes, like: before.stats }, async (temporary) => {
      const now = await readVersion(folder, target);
      if (now === undefined) throw new Refusal(`${target.shown} was deleted meanwhile.`);
      if (!now.bytes.equals(before.bytes)) throw changedMeanwhile(target.shown);
      signal.throwIfAborted();
      await rename(temporary, folder.entry(target.name));
    });
  } catch (error) {
    throw explainFailure("write", target.shown, error);
  }
}

async function openTargetFolder({ folder, newFolders }: Target): Promise<Folder> {
  let current = await openFolder(folder);
  for (const name of newFolders) current = await openOrMakeFolder(current, name);
  return current;
}

interface Content {
  readonly bytes: Buffer;
  /** The file it replaces; a new one has the mode that new files get. */
  readonly like?: Version["stats"];
}

async function throughTemporary(
  folder: Folder,
  content: Content,
  putInPlace: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = folder.entry(`.jp-${randomUUID()}.tmp`);
  try {
    await writeToDisk(temporary, content);
    await putInPlace(temporary);
    await folder.sync();
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

async function writeToDisk(file: string, { bytes, like }: Content): Promise<void> {
  await using handle = await open(file, "wx", like === undefined ? 0o666 : 0o600);
  await handle.writeFile(bytes);
  if (like !== undefined) {
    // Only the administrator can give a file away; for others it stays their own.
    await handle.chown(like.uid, like.gid).catch(() => undefined);
    await handle.chmod(like.mode & 0o777);
  }
  await handle.sync();
}

/** Renaming would replace a file that came meanwhile; linking does not. */
async function moveToFreeName(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file);
  } catch (error) {
    if (!WITHOUT_LINKS.has(systemCode(error) ?? "")) throw error;
    const other = await lstat(file).catch(() => undefined);
    if (other !== undefined) throw Object.assign(new Error("exists"), { code: "EEXIST" });
    await rename(temporary, file);
  }
}

/** What file systems say that have no links. */
const WITHOUT_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);

export interface TextFormat {
  readonly hasMark: boolean;
  /** Every line ends with CR LF. Files that mix line ends are taken as they are. */
  readonly isCrlf: boolean;
}

export interface FormattedText {
  /** Without the mark; with LF alone where every line ends with CR LF. */
  readonly body: string;
  readonly format: TextFormat;
}

const MARK = "\uFEFF";

/** Undefined for what is not text in UTF-8. */
export function parseText(bytes: Uint8Array): FormattedText | undefined {
  const text = decodeUtf8(bytes);
  if (text === undefined) return undefined;
  const hasMark = text.startsWith(MARK);
  const isCrlf = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  const unmarked = hasMark ? text.slice(MARK.length) : text;
  return { body: isCrlf ? toLf(unmarked) : unmarked, format: { hasMark, isCrlf } };
}

/** The opposite: the same body in the same format gives the same bytes. */
export function toBytes({ body, format }: FormattedText): Buffer {
  const text = format.isCrlf ? body.replaceAll("\n", "\r\n") : body;
  return Buffer.from(format.hasMark ? `${MARK}${text}` : text);
}

/** Text of a model as the body of a file: the file's format is kept, whatever the model wrote. */
export function toBody(text: string, { hasMark, isCrlf }: TextFormat): string {
  const unmarked = hasMark && text.startsWith(MARK) ? text.slice(MARK.length) : text;
  return isCrlf ? toLf(unmarked) : unmarked;
}

/** Undefined for what is not text in UTF-8. A mark is kept. */
export function decodeUtf8(bytes: Uint8Array, isCut = false): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    // Of a character that was cut in two, nothing is decoded.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: isCut,
    });
  } catch {
    return undefined;
  }
}

function toLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
