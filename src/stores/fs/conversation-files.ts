/** Reads, checks, writes, copies and removes a conversation's folder and the three files in it. */
import { isUtf8 } from "node:buffer";
import {
  closeSync,
  existsSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { cp, rename, rm } from "node:fs/promises";
import path from "node:path";
import {
  EARLIER,
  type ConversationId,
  type ConversationMetadata,
  FILES_FOLDER,
  metadataToJson,
  parseMetadata,
  StreamEntry,
  type Timestamp,
  withRequiredConfig,
} from "../../record/conversation/index.ts";
import {
  findJson,
  isDeepEqual,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  jsonTypeOf,
  loadModule,
  parseJson,
} from "../../util/index.ts";
import { readError, readIfThere, StorageError, writeError } from "../storage-error.ts";
import type { RecordFile } from "../workspace-port.ts";
import {
  BASE_CONFIG,
  type ConversationCopy,
  type ConversationRoots,
  EVENTS,
  METADATA,
  parentFolder,
  type Root,
  latestCopy,
} from "./conversation-folders.ts";
import {
  createSynced,
  jsonText,
  makeFolder,
  moveFolder,
  setAside,
  syncFolder,
  writeDurably,
  writeJson,
} from "./durable.ts";
import type { KeptFiles } from "./kept-files.ts";
import { readAgain } from "./read-again.ts";
import { assertNotLink, openerOf, readRecord } from "./safe-open.ts";
import { readMetadata } from "./summary.ts";
import { findIdInFolderName } from "./file-id.ts";

export interface ConversationFiles {
  readonly metadata: ConversationMetadata;
  /** Absent in packed records, where it is the first element of the events. */
  readonly baseConfig: Buffer | undefined;
  readonly events: Buffer;
  /** Copied from another conversation. */
  readonly kept?: KeptFiles;
}

/** Atomic: the folder appears complete or not at all. Returns the text of its metadata. Throws `write_failed`. */
export async function writeConversation(folder: string, files: ConversationFiles): Promise<string> {
  const metadata = metadataFile(files.metadata);
  const { baseConfig, events, kept } = files;
  await createAtomically(folder, async (partial) => {
    if (kept !== undefined) await (await loadKeptFiles()).copyKeptFiles(kept, partial);
    await createSynced(partial, {
      [METADATA]: Buffer.from(metadata),
      ...(baseConfig !== undefined && { [BASE_CONFIG]: baseConfig }),
      [EVENTS]: events,
    });
    await syncFolder(partial);
  });
  return metadata;
}

/** Few conversations have files. Throws `module_not_loaded`. */
export function loadKeptFiles() {
  return loadModule(() => import("./kept-files.ts"));
}

/** The text of the file. */
export function metadataFile(metadata: ConversationMetadata): string {
  return `${jsonText(metadataToJson(metadata))}\n`;
}

/** The text of a base config file. */
export function baseConfigFile(baseConfig: JsonObject): string {
  return `${jsonText(withRequiredConfig(baseConfig))}\n`;
}

export async function writeMetadata(folder: string, metadata: ConversationMetadata): Promise<void> {
  await writeJson(path.join(folder, METADATA), metadataToJson(metadata));
  noteMetadataChange(folder);
}

/** Lists check nothing but the times of `events.json`. */
function noteMetadataChange(folder: string): void {
  try {
    const { fd } = openerOf(folder)(EVENTS);
    try {
      fchmodSync(fd, fstatSync(fd).mode & 0o7777);
    } finally {
      closeSync(fd);
    }
  } catch {
    // Lists show it within an hour.
  }
}

/**
 * For writers. Unreadable metadata does not make a conversation unusable: it is set aside and replaced with just
 * `lastActivatedAt`. Does not reread what was just written. Throws `write_failed`.
 */
export async function readOrReplaceMetadata(
  folder: string,
  lastActivatedAt: Timestamp,
  written?: string,
): Promise<ConversationMetadata> {
  try {
    if (written === undefined)
      return readAgain(path.join(folder, METADATA), () => readMetadata(folder));
    return parseMetadata(parseJson(written));
  } catch {
    const file = path.join(folder, METADATA);
    const bytes = findFile(file);
    if (bytes !== undefined) await setAside(file, bytes);
    await writeMetadata(folder, { lastActivatedAt });
    return { lastActivatedAt };
  }
}

/** Undefined in packed records. Throws `read_failed`. */
export function readBaseConfig(folder: string): JsonObject | undefined {
  const file = path.join(folder, BASE_CONFIG);
  return readAgain(file, () => {
    const bytes = findFile(file);
    return bytes && parseBaseConfig(file, bytes);
  });
}

/** The content of this file. Throws `read_failed`. */
export function parseBaseConfig(file: string, bytes: Buffer): JsonObject {
  try {
    if (!isUtf8(bytes)) throw new Error("it is not UTF-8");
    const value = parseJson(bytes.toString("utf8"));
    if (isJsonObject(value)) return value;
    throw new Error("it is not a JSON object");
  } catch (error) {
    throw readError(file, error);
  }
}

/** Undefined if the file does not exist. Throws `read_failed`. */
export function findFile(file: string): Buffer | undefined {
  return readIfThere(file, () => readRecord(file));
}

/**
 * Checks the text of an edited file before it replaces a good one. Returns what is to be written: the user may have changed
 * what compactions say of the record before them. Throws `invalid_record`.
 */
export function checkRecordFile(file: RecordFile, text: string): string {
  try {
    const value = parseJson(text);
    CHECKS[file](value);
    return file === "events" ? forgetEarlier(text, value) : text;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError("invalid_record", `Invalid ${file} file: ${reason}`, { cause });
  }
}

/** In the usual layout, the key is the last one. */
const EARLIER_IN_LAYOUT = new RegExp(`,\\n {4}"${EARLIER}": \\{\\n(?: {6}.*\\n)* {4}\\}`, "g");

/** Changes nothing else, unless the file is not in the usual layout. */
function forgetEarlier(text: string, value: Json): string {
  if (!isJsonArray(value) || !value.some(saysEarlier)) return text;
  const wanted = value.map((element) => {
    if (!saysEarlier(element)) return element;
    const { [EARLIER]: _earlier, ...rest } = element;
    return rest;
  });
  const cut = text.replaceAll(EARLIER_IN_LAYOUT, "");
  const isExact = isDeepEqual(findJson(cut), wanted);
  return isExact ? cut : `${JSON.stringify(wanted, null, 2)}\n`;
}

function saysEarlier(element: Json): element is JsonObject {
  return isJsonObject(element) && element["type"] === "compaction" && EARLIER in element;
}

const CHECKS = {
  events: assertEvents,
  metadata: parseMetadata,
  baseConfig: (value: unknown) => {
    if (!isJsonObject(value)) throw new Error(`expected an object, got ${jsonTypeOf(value)}`);
  },
} satisfies Record<RecordFile, (value: unknown) => unknown>;

function assertEvents(value: unknown): void {
  if (!Array.isArray(value)) throw new Error(`expected a list, got ${jsonTypeOf(value)}`);
  for (const [index, element] of value.entries()) {
    if (!isJsonObject(element)) {
      throw new Error(`element ${index}: expected an object, got ${jsonTypeOf(element)}`);
    }
    // Without these two, the Rust original would move the whole conversation to the trash.
    for (const key of ["timestamp", "type"]) {
      if (element[key] === undefined) throw new Error(`element ${index}: "${key}" is missing`);
    }
    const { content } = StreamEntry.fromJson(element);
    if (content.kind === "malformed") throw new Error(`element ${index}: ${content.error.message}`);
  }
}

/**
 * Updates one copy, preferably the one in the preferred root, with the files of copies that were
 * changed later. Returns the folder of that copy. Throws `read_failed`.
 */
export async function mergeCopies(
  copies: readonly ConversationCopy[],
  preferred: Root,
): Promise<string> {
  for (const { folder } of copies) assertNotLink(folder);
  const candidates = copies.filter((copy) => copy.root === preferred);
  const target = latestCopy(candidates.length > 0 ? candidates : copies, EVENTS)?.folder ?? "";
  for (const unit of [[BASE_CONFIG, EVENTS], [METADATA]]) {
    const source = latestCopy(copies, ...unit)?.folder ?? target;
    if (source !== target) await copyFiles(source, target, unit);
  }
  for (const { folder } of copies) {
    const hasFiles = folder !== target && existsSync(path.join(folder, FILES_FOLDER));
    if (hasFiles) await (await loadKeptFiles()).mergeKeptFiles(folder, target);
  }
  return target;
}

async function copyFiles(source: string, target: string, files: readonly string[]): Promise<void> {
  for (const name of files) {
    const content = findFile(path.join(source, name));
    if (content === undefined) await rm(path.join(target, name), { force: true });
    else await writeDurably(path.join(target, name), content);
  }
}

/** Throws `write_failed`. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await createAtomically(to, (partial) =>
    cp(from, partial, { recursive: true, preserveTimestamps: true }),
  );
}

/** Fills the folder under a temporary name, then renames it. */
export async function createAtomically(
  folder: string,
  fill: (partial: string) => Promise<void>,
): Promise<void> {
  const partial = partialFolder(folder);
  try {
    await makeEmpty(partial);
    await fill(partial);
    await moveFolder(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    throw writeError(folder, error);
  }
}

/** Not synced: its name is temporary. */
async function makeEmpty(partial: string): Promise<void> {
  try {
    mkdirSync(partial);
  } catch {
    // It is there already, or its parent is not.
    rmSync(partial, { recursive: true, force: true });
    await makeFolder(path.dirname(partial));
    mkdirSync(partial);
  }
}

/** Atomic, like `writeConversation`. Throws `write_failed`. */
export async function removeFolder(folder: string): Promise<void> {
  const partial = partialFolder(folder);
  try {
    await rm(partial, { recursive: true, force: true });
    await rename(folder, partial);
    await rm(partial, { recursive: true, force: true });
    await syncFolder(path.dirname(folder));
  } catch (error) {
    throw writeError(folder, error);
  }
}

const PARTIAL_FOLDER = /^\.(.*)\.tmp$/;
const FILES: ReadonlySet<string> = new Set([EVENTS, METADATA, BASE_CONFIG]);
const PARTIAL_FILE = /^(.*)\.[0-9a-f]{8}\.tmp$/;

/** The temporary name of a folder that is being created or removed. */
function partialFolder(folder: string): string {
  return path.join(path.dirname(folder), `.${path.basename(folder)}.tmp`);
}

/**
 * Removes temporary folders of processes that were killed. Requires the conversation's lock. What cannot be removed now
 * stays until the next time.
 */
export async function removeLeftFolders(
  roots: ConversationRoots,
  id: ConversationId,
): Promise<void> {
  for (const name of partialFolders(roots, id)) await removeQuietly(name);
}

/** Like `removeLeftFolders`, for temporary files in these copies, none of which is a link. */
export async function removeLeftFiles(copies: readonly ConversationCopy[]): Promise<void> {
  for (const { folder } of copies) {
    for (const name of await partialFiles(folder)) await removeQuietly(name);
  }
}

function removeQuietly(name: string): Promise<void> {
  return rm(name, { recursive: true, force: true }).catch(() => undefined);
}

function partialFolders(roots: ConversationRoots, id: ConversationId): string[] {
  return (["main", "local"] as const).flatMap((root) => {
    if (roots[root] === undefined) return [];
    const parent = parentFolder(roots, root, false);
    return roots.names
      .list(parent)
      .filter((name) => findIdInFolderName(PARTIAL_FOLDER.exec(name)?.[1] ?? "") === id)
      .map((name) => path.join(parent, name));
  });
}

async function partialFiles(folder: string): Promise<readonly string[]> {
  const names = readdirSync(folder);
  const partial = names
    .filter((name) => FILES.has(PARTIAL_FILE.exec(name)?.[1] ?? ""))
    .map((name) => path.join(folder, name));
  if (!names.includes(FILES_FOLDER)) return partial;
  return [...partial, ...(await loadKeptFiles()).partialKeptFiles(folder)];
}
