/**
 * Exports a conversation from a database to files and imports it again, for copies between stores. The rows have everything that jp
 * writes to files, and produce the same bytes. Any other contents of the files are kept beside them.
 */
import { isUtf8 } from "node:buffer";
import { type ConversationId, FILES_FOLDER, StreamEntry } from "../../record/conversation/index.ts";
import { isJsonObject, type Json, parseJson } from "../../util/index.ts";
import { assertFileId, fileIdCreatedAt, fileIdToNumber, folderName } from "../fs/file-id.ts";
import { BASE_CONFIG, CHAIN, EVENTS, METADATA } from "../fs/conversation-folders.ts";
import { entriesToBytes, eventFileBytes, findAppendPoint } from "../fs/event-layout.ts";
import type { PortableRecord } from "../portable.ts";
import { StorageError } from "../storage-error.ts";
import type { Queries } from "./database.ts";
import { growthOf, insertRow, toStored } from "./row-changes.ts";
import { type ConversationRow, idOf, metadataOf, type WorkspaceRows } from "./workspace-rows.ts";

/** The parts of a record in rows. */
interface RecordRows {
  readonly metadata: string;
  readonly baseConfig: string | undefined;
  readonly entries: readonly StreamEntry[];
  readonly chain: readonly string[];
  /** Files whose bytes cannot be derived from the rest. */
  readonly others: ReadonlyMap<string, Buffer>;
}

/** Throws `invalid_record` if the events cannot be read: a database holds only whole records. */
function toRows(id: ConversationId, files: ReadonlyMap<string, Buffer>): RecordRows {
  const others = new Map(files);
  const take = (name: string): string | undefined => {
    const bytes = files.get(name);
    if (bytes === undefined) return undefined;
    if (!isUtf8(bytes) || bytes.includes(0)) throw unreadableError(id, name, "it is not text");
    others.delete(name);
    return bytes.toString("utf8");
  };
  const metadata = take(METADATA) ?? "{}";
  const baseConfig = take(BASE_CONFIG);
  const chain = take(CHAIN);
  const entries = parseEvents(id, take(EVENTS) ?? "[]");
  const events = files.get(EVENTS);
  if (events !== undefined && !eventFileBytes(entries).equals(events)) others.set(EVENTS, events);
  const isPlainChain = chain === undefined || chain === "" || chain.endsWith("\n");
  if (!isPlainChain) others.set(CHAIN, Buffer.from(chain));
  const lines = chain === undefined || !isPlainChain ? [] : chain.split("\n").slice(0, -1);
  return { metadata, baseConfig, entries, chain: lines, others };
}

/** The inverse of `toRows`. */
function toFiles(rows: RecordRows): ReadonlyMap<string, Buffer> {
  const { metadata, baseConfig, entries, chain, others } = rows;
  const files = new Map<string, Buffer>([[METADATA, Buffer.from(metadata)]]);
  if (baseConfig !== undefined) files.set(BASE_CONFIG, Buffer.from(baseConfig));
  if (chain.length > 0) files.set(CHAIN, Buffer.from(chain.map((line) => `${line}\n`).join("")));
  for (const [name, bytes] of others) if (name !== EVENTS) files.set(name, bytes);
  files.set(EVENTS, eventsOf(entries, others.get(EVENTS)));
  return new Map([...files].toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** Appends new entries to the original bytes of the file, as a file writer would. */
function eventsOf(entries: readonly StreamEntry[], original: Buffer | undefined): Buffer {
  if (original === undefined) return eventFileBytes(entries);
  const before = parseJson(original.toString("utf8"));
  const count = Array.isArray(before) ? before.length : 0;
  if (count === entries.length) return original;
  const point = findAppendPoint(original.length, original.toString("utf8"));
  if (point === undefined) return eventFileBytes(entries);
  const added = entriesToBytes(entries.slice(count), point.separator);
  return Buffer.concat([original.subarray(0, point.position), added]);
}

/** Throws `invalid_record`. */
export function parseEvents(id: ConversationId, text: string): readonly StreamEntry[] {
  let list: Json;
  try {
    list = parseJson(text);
  } catch {
    throw unreadableError(id, EVENTS, "it is damaged");
  }
  if (!Array.isArray(list)) throw unreadableError(id, EVENTS, "it is not a list");
  return list.map((element) => {
    if (!isJsonObject(element))
      throw unreadableError(id, EVENTS, "it has something else than events");
    return StreamEntry.fromJson(element);
  });
}

function unreadableError(id: ConversationId, name: string, reason: string): StorageError {
  return new StorageError(
    "invalid_record",
    `${name} of conversation ${id} cannot be copied: ${reason}.`,
  );
}

/** See `PortableStore.exportRecord`. The caller knows that no one has it open. */
export async function exportRow(
  rows: WorkspaceRows,
  row: ConversationRow,
): Promise<PortableRecord> {
  const id = idOf(row);
  const { entries, isOwnTurn } = await rows.readRecord(row);
  const files = toFiles({
    metadata: row.metadata,
    baseConfig: row.base_config ?? undefined,
    entries,
    ...(await readOthers(rows.database, { key: row.key, tenant: rows.tenant })),
  });
  const folder = row.folder ?? folderName(id, metadataOf(row).title);
  return { id, isArchived: row.is_archived, isOwnTurn, folder, files };
}

/** Returns false if there is a conversation with its id, the same or another. */
export async function importRow(rows: WorkspaceRows, record: PortableRecord): Promise<boolean> {
  const { id, files, isOwnTurn } = record;
  assertFileId(id);
  const { tenant } = rows;
  const workspace = await rows.ensureKey();
  const { metadata, baseConfig = null, entries, ...others } = toRows(id, files);
  const stored = entries.map(toStored);
  const turn = rows.turnAt(id).with(stored);
  // It may have been here before.
  const counter = rows.findSeen(id)?.counter ?? 0;
  const growth = growthOf(turn, stored, { isOwnTurn, signer: rows.signer, counter, isCopy: true });
  const isNew = await rows.database.transaction(async (queries) => {
    const made = await insertRow(queries, {
      workspace,
      tenant,
      id,
      createdAt: fileIdCreatedAt(id),
      metadata,
      baseConfig,
      growth,
      copied: record,
      fileBytes: keptBytes(others.others),
    });
    if (made === undefined) return false;
    await insertOthers(queries, { key: made.key, tenant }, others);
    await queries.query({
      // An id from the future would push all later ones after it.
      text: `update jp.workspaces set last_id = greatest(last_id, $2)
        where tenant = $3 and key = $1 and $2 <= extract(epoch from clock_timestamp()) * 10`,
      values: [workspace, fileIdToNumber(id), tenant],
    });
    return true;
  });
  if (isNew) rows.noteSeen(id, growth.signed);
  return isNew;
}

/** The files of models count towards the tenant's limit, as if they were saved here. */
function keptBytes(others: RecordRows["others"]): number {
  const kept = [...others].filter(([name]) => name.startsWith(`${FILES_FOLDER}/`));
  return kept.reduce((sum, [, content]) => sum + content.length, 0);
}

async function insertOthers(
  queries: Queries,
  { key, tenant }: { readonly key: string; readonly tenant: string },
  { chain, others }: Pick<RecordRows, "chain" | "others">,
): Promise<void> {
  await queries.query({
    text: `insert into jp.chain (conversation, tenant, seq, line)
      select $1, $3, place - 1, line from unnest($2::text[]) with ordinality as added (line, place)`,
    values: [key, chain, tenant],
  });
  for (const [name, content] of others) {
    await queries.query({
      text: "insert into jp.files (conversation, tenant, name, content) values ($1, $2, $3, $4)",
      values: [key, tenant, name, content],
    });
  }
}

async function readOthers(
  queries: Queries,
  { key, tenant }: { readonly key: string; readonly tenant: string },
): Promise<Pick<RecordRows, "chain" | "others">> {
  const lines = await queries.query<{ readonly line: string }>({
    text: "select line from jp.chain where tenant = $1 and conversation = $2 order by seq",
    values: [tenant, key],
  });
  const files = await queries.query<{ readonly name: string; readonly content: Buffer }>({
    text: "select name, content from jp.files where tenant = $1 and conversation = $2",
    values: [tenant, key],
  });
  return {
    chain: lines.map(({ line }) => line),
    others: new Map(files.map(({ name, content }) => [name, content])),
  };
}
