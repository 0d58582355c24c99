/** A conversation in files, as it is copied to another store or from one. */
import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import type { ConversationId } from "../../conversation/index.ts";
import type { PortableRecord } from "../portable.ts";
import { readError } from "../storage-error.ts";
import { createFolder } from "./conversation-files.ts";
import { readRecord } from "./safe-open.ts";

/** Nothing but regular files: a link could lead anywhere. Throws `read_failed`. */
export function readFolder(folder: string): ReadonlyMap<string, Buffer> {
  try {
    const names = readdirSync(folder).filter((name) => lstatSync(path.join(folder, name)).isFile());
    return new Map(names.toSorted().map((name) => [name, readRecord(path.join(folder, name))]));
  } catch (error) {
    throw readError(folder, error);
  }
}

export function isSameFiles(
  left: ReadonlyMap<string, Buffer>,
  right: ReadonlyMap<string, Buffer>,
): boolean {
  if (left.size !== right.size) return false;
  return [...left].every(([name, bytes]) => right.get(name)?.equals(bytes) === true);
}

/** Throws `write_failed`, and for a name that is not one of a file in the folder. */
export async function writeFolder(folder: string, files: PortableRecord["files"]): Promise<void> {
  for (const name of files.keys()) {
    if (name !== path.basename(name) || name.startsWith("..") || name === "")
      throw new TypeError(`not the name of a file: ${name}`);
  }
  await createFolder(folder, Object.fromEntries(files));
}

/** The folder's name, if it can be that of this conversation. */
export function folderNameIn({ folder }: PortableRecord, id: ConversationId): string | undefined {
  const isOf = folder === path.basename(folder) && /^\d+(?:-[^/]*)?$/.test(folder);
  return isOf && `jp-c${folder.split("-")[0] ?? ""}` === id ? folder : undefined;
}
