/**
 * Reads and writes regular files in folders held open, and converts between their bytes and text.
 * Links, symbolic or hard, are never used.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import { FileError, fileChangedError, toFileError } from "./file-error.ts";
import { type Folder, openFolder, openOrCreateFolder } from "./folder.ts";
import type { FileTarget } from "./resolve-path.ts";
import { systemErrorCode } from "../../../util/index.ts";

/** Files to change or search are held in memory. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** The content of a file at one moment, and its owner and mode. */
export interface FileSnapshot {
  readonly bytes: Buffer;
  readonly stats: Pick<Stats, "mode" | "uid" | "gid">;
}

interface OpenOptions {
  readonly displayPath: string;
  /** `write` fails for files you may not write to, even if you could replace them. */
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
  const handle = await open(file, mode | (noFollow ?? 0) | nonBlocking);
  try {
    assertRegularFile(await handle.stat(), displayPath);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Undefined on Windows, which the types do not say. */
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
  /** Once aborted, the file is not put in place. */
  readonly signal: AbortSignal;
}

/** Creates missing folders too. Throws a `FileError`, also if the file exists by now. */
export async function saveNewFile({ target, bytes, signal }: SaveRequest): Promise<void> {
  try {
    signal.throwIfAborted();
    let opened = await openFolder(target.folder);
    for (const name of target.newFolders) opened = await openOrCreateFolder(opened, name);
    await using folder = opened;
    await withTemporaryFile(folder, { bytes }, async (temporary) => {
      signal.throwIfAborted();
      await moveWithoutOverwriting(temporary, folder.entry(target.name));
    });
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") throw fileChangedError(target.displayPath);
    throw toFileError("create", target.displayPath, error);
  }
}

/** Keeps the file's mode. Throws a `FileError`, also if the file is not as it was `before`. */
export async function replaceFile(
  request: SaveRequest & { readonly before: FileSnapshot },
): Promise<void> {
  const { target, bytes, before, signal } = request;
  try {
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
  } catch (error) {
    throw toFileError("write", target.displayPath, error);
  }
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
  await using handle = await open(file, "wx", like === undefined ? 0o666 : 0o600);
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

/** How a file encodes its text. */
interface TextFormat {
  readonly hasBom: boolean;
  /** Every line ends with CR LF. Files with mixed line endings are left as they are. */
  readonly isCrlf: boolean;
}

interface FormattedText {
  /** Without the byte order mark, and with LF for CR LF if every line has it. */
  readonly body: string;
  readonly format: TextFormat;
}

const BOM = "\uFEFF";

/** Undefined if the bytes are not UTF-8 text. */
export function parseText(bytes: Uint8Array): FormattedText | undefined {
  const text = decodeUtf8(bytes);
  if (text === undefined) return undefined;
  const isCrlf = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  const format = { hasBom: text.startsWith(BOM), isCrlf };
  return { body: toBody(text, format), format };
}

/** The inverse of `parseText`, byte for byte. */
export function toBytes({ body, format }: FormattedText): Buffer {
  const text = format.isCrlf ? body.replaceAll("\n", "\r\n") : body;
  return Buffer.from(format.hasBom ? `${BOM}${text}` : text);
}

/** The body of a text, which keeps the format of its file whatever format a model writes in. */
export function toBody(text: string, { hasBom, isCrlf }: TextFormat): string {
  const withoutBom = hasBom && text.startsWith(BOM) ? text.slice(BOM.length) : text;
  return isCrlf ? withoutBom.replaceAll("\r\n", "\n") : withoutBom;
}

/** Undefined if the bytes are not UTF-8 text. Keeps a byte order mark. */
export function decodeUtf8(bytes: Uint8Array, isTruncated = false): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    // `stream` drops a character that was cut in two at the end.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: isTruncated,
    });
  } catch {
    return undefined;
  }
}
