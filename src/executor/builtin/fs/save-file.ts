/**
 * Writes whole files: beside the place first, to the disk, then into it in one step. A crash leaves
 * the old file or the new one. Symbolic links are replaced or refused, never followed.
 */
import { randomUUID } from "node:crypto";
import { link, lstat, open, rename, rm } from "node:fs/promises";
import { type Folder, openFolder, openOrMakeFolder } from "./folder.ts";
import { readVersion, type Version } from "./open-file.ts";
import type { Target } from "./place.ts";
import { changedMeanwhile, explainFailure, Refusal, systemCode } from "./refusal.ts";

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
