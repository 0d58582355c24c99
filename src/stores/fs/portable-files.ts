/** Exports a conversation from files to another store, and imports one. */
import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { type ConversationId, FILES_FOLDER } from "../../record/conversation/index.ts";
import { assertSameRecord, type PortableRecord } from "../portable.ts";
import { oneLine } from "../../util/index.ts";
import { readError, StorageError } from "../storage-error.ts";
import { BASE_CONFIG, copiesOf, EVENTS, parentFolder } from "./conversation-folders.ts";
import { createAtomically } from "./conversation-files.ts";
import { createSynced, syncFolder } from "./durable.ts";
import { assertFileId, findIdInFolderName, folderName } from "./file-id.ts";
import type { FsContext } from "./fs-context.ts";
import { KEPT_FILE_MODE } from "./kept-files.ts";
import { readRecord } from "./safe-open.ts";
import { folderOfLatest } from "./summary.ts";

/** See `PortableStore.exportRecord`. */
export async function exportFiles(
  context: FsContext,
  id: ConversationId,
  isOwn: () => Promise<boolean>,
): Promise<PortableRecord> {
  return context.withLock(id, async () => {
    const copies = context.readableCopies(id);
    const folder = folderOfLatest(copies, EVENTS, BASE_CONFIG);
    const isArchived = copies.every((copy) => copy.isArchived);
    const isOwnTurn = !isArchived && (await isOwn());
    return {
      id,
      isArchived,
      isOwnTurn,
      folder: path.basename(folder),
      files: readFiles(folder, id),
    };
  });
}

/** See `PortableStore.importRecord`. Does not determine whose turn it is. */
export async function importFiles(context: FsContext, record: PortableRecord): Promise<boolean> {
  const { id, isArchived, files } = record;
  assertFileId(id);
  const lock = await context.lock(id);
  try {
    const [found] = copiesOf(context.roots(), id);
    if (found !== undefined) {
      assertSameRecord({ ...found, files: readFiles(found.folder, id) }, record);
      return false;
    }
    const parent = parentFolder(context.roots(), "main", isArchived);
    await writeFiles(path.join(parent, nameOf(record)), files);
    return true;
  } finally {
    lock.release();
  }
}

/** Throws `read_failed`, and `invalid_record` for anything but files and folders: a link could lead anywhere. */
function readFiles(folder: string, id: ConversationId): ReadonlyMap<string, Buffer> {
  try {
    const names = listFiles(folder, "", id).toSorted();
    return new Map(names.map((name) => [name, readRecord(path.join(folder, name))]));
  } catch (error) {
    throw readError(folder, error);
  }
}

/** Recursive, so that a copy leaves nothing out. */
function listFiles(folder: string, prefix: string, id: ConversationId): readonly string[] {
  return readdirSync(path.join(folder, prefix), { withFileTypes: true }).flatMap((entry) => {
    const name = `${prefix}${entry.name}`;
    if (entry.isDirectory()) return listFiles(folder, `${name}/`, id);
    if (entry.isFile()) return [name];
    const message = `${oneLine(name)} of conversation ${id} cannot be copied: it is not a regular file.`;
    throw new StorageError("invalid_record", message, { hint: "Remove it, and copy again." });
  });
}

/** Throws `write_failed`, and a `TypeError` for a name that leads out of the folder. */
async function writeFiles(folder: string, files: PortableRecord["files"]): Promise<void> {
  const names = [...files.keys()];
  for (const name of names) {
    const isPlain = name.split("/").every((part) => !/^(?:\.?|\.\..*)$/s.test(part));
    if (!isPlain) throw new TypeError(`not the name of a file: ${name}`);
  }
  const folders = new Set(names.map((name) => path.posix.dirname(name)));
  folders.delete(".");
  await createAtomically(folder, async (partial) => {
    for (const each of folders) mkdirSync(path.join(partial, each), { recursive: true });
    const { kept = [], others = [] } = Object.groupBy(files, ([name]) =>
      name.startsWith(`${FILES_FOLDER}/`) ? "kept" : "others",
    );
    await createSynced(partial, Object.fromEntries(others));
    await createSynced(partial, Object.fromEntries(kept), KEPT_FILE_MODE);
    for (const each of folders) await syncFolder(path.join(partial, each));
    await syncFolder(partial);
  });
}

/** The original name, if it is valid for this conversation. */
function nameOf({ id, folder }: PortableRecord): string {
  const isOwn = folder === path.basename(folder) && findIdInFolderName(folder) === id;
  return isOwn ? folder : folderName(id);
}
