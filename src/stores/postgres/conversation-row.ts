/** The row of a conversation and its entries, and their conversion to values. */
import {
  type ConversationId,
  type ConversationMetadata,
  createStream,
  describeOpenTurn,
  findTimestamp,
  invalidIdError,
  lastTurnOf,
  parseConversationId,
  parseMetadata,
  StreamEntry,
  type Timestamp,
} from "../../record/conversation/index.ts";
import { findJson, isJsonObject, type JsonObject, messageOf, parseJson } from "../../util/index.ts";
import type { ConversationSummary, PendingTurn } from "../port.ts";
import { StorageError } from "../storage-error.ts";
import type { Queries } from "./database.ts";
import { labelsOf } from "./postgres-writer.ts";
import type { StoredEntry } from "./turn-state.ts";

export interface ConversationRow {
  readonly key: string;
  readonly id: string;
  readonly created_at: string;
  readonly metadata: string;
  readonly base_config: string | null;
  readonly folder: string | null;
  readonly is_archived: boolean;
  readonly length: number;
  readonly last_event_at: string | null;
  readonly open_turn: number | null;
  readonly is_own_turn: boolean;
  readonly turn_key: string | null;
  readonly turn_signature: string | null;
  readonly queue: string;
  readonly epoch: string;
  readonly lease_owner: string | null;
  readonly lease_holder: string | null;
  readonly is_live: boolean;
  readonly changed: string;
}

export const COLUMNS = `c.key, c.id, c.created_at, c.metadata, c.base_config, c.folder, c.is_archived, c.length,
  c.last_event_at, c.open_turn, c.is_own_turn,
  c.turn_key, c.turn_signature, c.queue, c.epoch, c.lease_owner, c.lease_holder, c.changed::text,
  coalesce(c.lease_until > clock_timestamp(), false) as is_live`;

/** Everything needed to see whether a turn has changed. */
export const VERSION_COLUMNS =
  "c.id, c.changed::text, coalesce(c.lease_until > clock_timestamp(), false) as is_live";

export type VersionRow = Pick<ConversationRow, "id" | "changed" | "is_live">;

/** See `ListPendingTurnsOptions.isBrief`. */
export function versionOf(row: VersionRow): PendingTurn {
  const { changed, is_live: isLive } = row;
  return { id: idOf(row), isLive, entries: [], version: `${changed} ${isLive}` };
}

/** The readable part of the last turn on record. */
export interface ReadTurn {
  readonly entries: readonly StreamEntry[];
  readonly problem?: string;
}

/** The open turns of these conversations, by key. A damaged one does not hide the others. */
export async function readTurns(
  queries: Queries,
  rows: readonly ConversationRow[],
): Promise<ReadonlyMap<string, ReadTurn>> {
  const found = await queries.query<{ readonly key: string; readonly entry: string }>({
    name: "jp_turns",
    text: `select e.conversation as key, e.entry
      from unnest($1::bigint[], $2::int[], $3::int[]) as turn (key, start, length)
      join jp.events e on e.conversation = turn.key and e.seq >= turn.start and e.seq < turn.length
      order by e.conversation, e.seq`,
    values: [
      rows.map(({ key }) => key),
      rows.map((row) => row.open_turn ?? row.length),
      rows.map(({ length }) => length),
    ],
  });
  const texts = Map.groupBy(found, ({ key }) => key);
  return new Map(
    rows.map(({ key, open_turn: start, length }) => {
      const count = start === null ? 0 : length - start;
      return [key, readTurn(texts.get(key) ?? [], count)];
    }),
  );
}

function readTurn(texts: readonly EntryRow[], count: number): ReadTurn {
  try {
    return { entries: toEntries(texts, count).map(entryOf) };
  } catch (error) {
    return { entries: [], problem: messageOf(error) };
  }
}

interface EntryRow {
  readonly entry: string;
}

/** Throws `read_failed`. */
export async function readEntries(
  queries: Queries,
  { key, from, end }: { readonly key: string; readonly from: number; readonly end: number },
): Promise<readonly StoredEntry[]> {
  if (from >= end) return [];
  const rows = await queries.query<EntryRow>({
    name: "jp_entries",
    text: `select entry from jp.events
      where conversation = $1 and seq >= $2 and seq < $3 order by seq`,
    values: [key, from, end],
  });
  return toEntries(rows, end - from);
}

/** Only manual changes of the tables can damage them. */
function toEntries(rows: readonly EntryRow[], count: number): readonly StoredEntry[] {
  if (rows.length !== count) {
    throw new StorageError(
      "read_failed",
      `The record has ${rows.length} entries instead of ${count}.`,
    );
  }
  return rows.map(({ entry: text }, index) => {
    const value = findJson(text);
    if (isJsonObject(value)) return { entry: StreamEntry.fromJson(value), text };
    throw new StorageError(
      "read_failed",
      `Entry ${index + 1} of the ${count} that were read is not JSON.`,
    );
  });
}

export function entryOf({ entry }: StoredEntry): StreamEntry {
  return entry;
}

export function idOf({ id }: Pick<ConversationRow, "id">): ConversationId {
  return parseConversationId(id);
}

/** Throws `invalid_conversation_id`. PostgreSQL would reject some characters with an error of its own. */
export function assertId(id: ConversationId): void {
  try {
    parseConversationId(id);
  } catch {
    throw invalidIdError(id);
  }
}

export function streamOf(row: ConversationRow, entries: readonly StreamEntry[]) {
  const config = row.base_config === null ? undefined : findJson(row.base_config);
  const baseConfig: JsonObject | undefined = isJsonObject(config) ? config : undefined;
  const createdAt = row.created_at as Timestamp; // Written by a store.
  return createStream({ createdAt, baseConfig, entries });
}

export function metadataOf(row: ConversationRow): ConversationMetadata {
  return parseMetadata(parseJson(row.metadata));
}

/** Leaves out what cannot be read. */
export function findMetadata(row: ConversationRow): Pick<ConversationMetadata, "title" | "labels"> {
  return readMetadata(row).metadata ?? {};
}

/** Labels to search by. */
export function labelsIn(metadata: string): string {
  try {
    return labelsOf(parseMetadata(parseJson(metadata)));
  } catch {
    return "{}";
  }
}

function readMetadata(row: ConversationRow): Pick<ConversationSummary, "metadata" | "problem"> {
  try {
    return { metadata: metadataOf(row) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

export function summaryOf(row: ConversationRow, turn?: ReadTurn): ConversationSummary {
  const lastEventAt = findTimestamp(row.last_event_at);
  const openTurn = describeOpenTurn(lastTurnOf(turn?.entries ?? []), row.is_live);
  return {
    id: idOf(row),
    createdAt: row.created_at as Timestamp, // Written by a store.
    ...readMetadata(row),
    ...(turn?.problem !== undefined && { problem: turn.problem }),
    isArchived: row.is_archived,
    ...(lastEventAt !== undefined && { lastEventAt }),
    ...(openTurn !== undefined && { openTurn }),
  };
}
