/**
 * The files that a model has sent, in a folder of their conversation: one for each digest. Their content is hostile: jp
 * only copies it, and others cannot read it.
 */
import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import {
  FILES_FOLDER,
  isRecordedFile,
  type KeptFile,
  keptFileBaseName,
} from "../../record/conversation/index.ts";
import { readIfThere, UnsafePathError, writeError } from "../storage-error.ts";
import { createSynced, makeFolder, syncFolder, writeDurably } from "./durable.ts";
import { assertNotLink, isLink, readRecord } from "./safe-open.ts";

/** Only the user may read them. */
export const KEPT_FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Throws `write_failed`. */
export async function saveKeptFile(
  folder: string,
  file: KeptFile,
  bytes: Uint8Array,
): Promise<void> {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  await write(folder, keptFileBaseName(file), content);
}

async function write(folder: string, name: string, content: Buffer): Promise<void> {
  const target = filesIn(folder);
  // It may have come with a clone of the workspace, and lead anywhere.
  if (isLink(target)) throw writeError(target, new UnsafePathError("it is a symbolic link"));
  await makeFolder(target, FOLDER_MODE);
  await writeDurably(path.join(target, name), content, KEPT_FILE_MODE);
}

/** Undefined unless it has the bytes that were recorded. Throws `read_failed`. */
export function findKeptFile(folder: string, file: KeptFile): Buffer | undefined {
  assertNotLink(folder);
  const name = path.join(filesIn(folder), keptFileBaseName(file));
  const bytes = readIfThere(name, () => readRecord(name));
  return bytes !== undefined && isRecordedFile(bytes, file) ? bytes : undefined;
}

/** Files of a conversation. */
export interface KeptFiles {
  /** The folders of its copies, as they are called then. */
  readonly findFolders: () => readonly string[];
  readonly files: readonly KeptFile[];
}

/** Copies them to a folder that is still being created. A file that is missing was missing before. */
export async function copyKeptFiles({ findFolders, files }: KeptFiles, to: string): Promise<void> {
  const target = filesIn(to);
  const all = new Map(files.map((file) => [keptFileBaseName(file), file]));
  let isMade = false;
  for (const [name, file] of all) {
    const bytes = findFolders().reduce<Buffer | undefined>(
      (found, folder) => found ?? findKeptFile(folder, file),
      undefined,
    );
    if (bytes === undefined) continue;
    if (!isMade) mkdirSync(target, { mode: FOLDER_MODE });
    isMade = true;
    await createSynced(target, { [name]: bytes }, KEPT_FILE_MODE);
  }
  if (isMade) await syncFolder(target);
}

const NAME = /^([0-9a-f]{64})\.[a-z0-9]+$/;
const PARTIAL_NAME = /^[0-9a-f]{64}\.[a-z0-9]+\.[0-9a-f]{8}\.tmp$/;

/** Adds the files of another copy of the same conversation. Throws `read_failed`, `write_failed`. */
export async function mergeKeptFiles(from: string, to: string): Promise<void> {
  const names = listNames(to);
  for (const name of listNames(from)) {
    const digest = NAME.exec(name)?.[1];
    if (digest === undefined || names.includes(name)) continue;
    const source = path.join(filesIn(from), name);
    const bytes = readIfThere(source, () => readRecord(source));
    if (bytes !== undefined) await write(to, name, bytes);
  }
}

/** Files of processes that were killed while they wrote them. */
export function partialKeptFiles(folder: string): readonly string[] {
  return listNames(folder)
    .filter((name) => PARTIAL_NAME.test(name))
    .map((name) => path.join(filesIn(folder), name));
}

/** Empty if there is no such folder, or if it is a link. */
function listNames(folder: string): readonly string[] {
  const files = filesIn(folder);
  return isLink(files) ? [] : (readIfThere(files, () => readdirSync(files)) ?? []);
}

function filesIn(folder: string): string {
  return path.join(folder, FILES_FOLDER);
}
