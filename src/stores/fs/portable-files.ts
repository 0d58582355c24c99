/** Exports a conversation from files to another store, and imports one. */
import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import type { ConversationId } from "../../record/conversation/index.ts";
import { assertSameRecord, type PortableRecord } from "../portable.ts";
import { readError } from "../storage-error.ts";
import { createFolder } from "./conversation-files.ts";
import { BASE_CONFIG, copiesOf, EVENTS, parentFolder } from "./conversation-folders.ts";
import { assertFileId, findIdInFolderName, folderName } from "./file-id.ts";
import type { FsContext } from "./fs-context.ts";
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
    return { id, isArchived, isOwnTurn, folder: path.basename(folder), files: readFolder(folder) };
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
      assertSameRecord({ ...found, files: readFolder(found.folder) }, record);
      return false;
    }
    const parent = parentFolder(context.roots(), "main", isArchived);
    await writeFolder(path.join(parent, nameOf(record)), files);
    return true;
  } finally {
    lock.release();
  }
}

/** Only regular files: a link could lead anywhere. Throws `read_failed`. */
function readFolder(folder: string): ReadonlyMap<string, Buffer> {
  try {
    const names = readdirSync(folder).filter((name) => lstatSync(path.join(folder, name)).isFile());
    return new Map(names.toSorted().map((name) => [name, readRecord(path.join(folder, name))]));
  } catch (error) {
    throw readError(folder, error);
  }
}

/** Throws `write_failed`, also for a name that is not a plain file name. */
async function writeFolder(folder: string, files: PortableRecord["files"]): Promise<void> {
  for (const name of files.keys()) {
    if (name !== path.basename(name) || name.startsWith("..") || name === "")
      throw new TypeError(`not the name of a file: ${name}`);
  }
  await createFolder(folder, Object.fromEntries(files));
}

/** The original name, if it is valid for this conversation. */
function nameOf({ id, folder }: PortableRecord): string {
  const isOwn = folder === path.basename(folder) && findIdInFolderName(folder) === id;
  return isOwn ? folder : folderName(id);
}
