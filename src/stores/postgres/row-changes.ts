/** The statements that insert the row of a conversation, extend its record, and release its lease. */
import type { QueryResultRow } from "pg";
import {
  areSamePlaces,
  type ChainLine,
  chainLineToText,
  type ConversationId,
  type ConversationMetadata,
  findTimestamp,
  parseMetadata,
  type PendingPlace,
  type StreamEntry,
  type Timestamp,
} from "../../record/conversation/index.ts";
import { parseJson } from "../../util/index.ts";
import type { SignedState } from "../signed-state.ts";
import type { LeftTurn } from "../port.ts";
import { CHANNEL } from "./channel.ts";
import { type Queries, SERVER_MS } from "./database.ts";
import { LEASE_SECONDS } from "./leases.ts";
import { grownSql } from "./limits.ts";
import { notifySql } from "./listening.ts";
import { listedSql, listedValues } from "./pending-rows.ts";
import type { TurnSignature, TurnSigner } from "./turn-keys.ts";
import type { LastTurn, StoredEntry, TurnState } from "./turn-state.ts";
import { COLUMNS, type OpenedRow } from "./workspace-rows.ts";

/** Changes that added entries make to the row of their conversation. */
export interface Growth extends TurnState {
  /** The texts of the entries. */
  readonly texts: readonly string[];
  /** How many of them start a new turn. */
  readonly starts: number;
  readonly isOwnTurn: boolean;
  readonly signature: TurnSignature | undefined;
  /** The state that is signed. */
  readonly signed: SignedState | undefined;
  readonly lastEventAt: string | undefined;
  /** The next links of the chain of decisions, if any. */
  readonly links?: readonly ChainLine[];
  /** The rows of `jp.pending`, which replace those before. Absent if those are right, or no longer count. */
  readonly listed?: readonly PendingPlace[];
}

/** How entries were added. */
interface Adding {
  /** The turn that they end with is the user's own. */
  readonly isOwnTurn: boolean;
  readonly signer: TurnSigner | undefined;
  /** The counter of the last signed state: see `ReadRecord`. 0 without one. */
  readonly counter?: number;
  /** Their turns were started before, and do not count as started now. */
  readonly isCopy?: boolean;
  /** The turn before them, if the rows of `jp.pending` are right for it. */
  readonly before?: LastTurn | undefined;
}

/** The state of the row once these are its last entries, and `turn` its last turn. */
export function growthOf(
  turn: LastTurn,
  added: readonly StoredEntry[],
  { isOwnTurn, signer, counter = 0, isCopy = false, before }: Adding,
): Growth {
  const { digest, length, state } = turn;
  const { places } = state;
  const isListed = before !== undefined && areSamePlaces(before.state.places, places);
  const isSigned = isOwnTurn && digest !== undefined && signer !== undefined;
  const signed = isSigned ? { counter: counter + 1, digest, length } : undefined;
  return {
    ...state,
    ...(places !== undefined && !isListed && { listed: places }),
    texts: added.map(({ text }) => text),
    starts: isCopy ? 0 : added.filter(isTurnStart).length,
    isOwnTurn,
    signature: isSigned ? signer.sign(digest, counter + 1) : undefined,
    signed,
    lastEventAt: findTimestamp(added.at(-1)?.entry.raw["timestamp"]),
  };
}

export function isTurnStart({ entry }: StoredEntry): boolean {
  return entry.eventType === "turn_start";
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

export function toStored(entry: StreamEntry): StoredEntry {
  return { entry, text: entry.toText() };
}

/** A conversation to insert. */
export interface NewRow {
  readonly workspace: string;
  readonly tenant: string;
  readonly id: ConversationId;
  readonly createdAt: Timestamp;
  /** JSON. */
  readonly metadata: string;
  /** JSON. */
  readonly baseConfig: string | null;
  readonly growth: Growth;
  /** If it is opened at once. Only then are listeners notified: others find a copy when they poll. */
  readonly lease?: { readonly owner: string; readonly holder: string };
  /** If it is copied from files. */
  readonly copied?: { readonly folder: string; readonly isArchived: boolean };
  /** If it is a fork. */
  readonly files?: CopiedFiles;
  /** The size of the model's files that are inserted next. */
  readonly fileBytes?: number;
}

/** Files of another conversation. */
export interface CopiedFiles {
  /** Its key. */
  readonly from: string;
  readonly names: readonly string[];
}

/** Undefined if there is another conversation with the id. Throws `store_full`, `too_many_turns`. */
export async function insertRow(
  queries: Queries,
  { workspace, tenant, id, growth, lease, copied, files, fileBytes = 0, ...row }: NewRow,
): Promise<OpenedRow | undefined> {
  const [made] = await queries.query<OpenedRow>({
    name: "jp_create",
    text: CREATE,
    values: [
      workspace,
      tenant,
      id,
      row.createdAt,
      row.metadata,
      labelsIn(row.metadata),
      row.baseConfig,
      copied?.folder ?? null,
      copied?.isArchived ?? false,
      growth.texts,
      bytesOf(growth.texts) + fileBytes,
      growth.starts,
      growth.lastEventAt ?? null,
      growth.openTurn ?? null,
      growth.readyAt ?? null,
      growth.isOwnTurn,
      growth.signature?.key ?? null,
      growth.signature?.signature ?? null,
      lease?.owner ?? null,
      lease?.holder ?? null,
      LEASE_SECONDS,
      files?.from ?? null,
      files?.names ?? [],
      growth.signature?.counter ?? null,
      ...listedValues(growth),
    ],
  });
  return made;
}

/** The size of the files that a fork copies. */
const COPIED_BYTES = `coalesce((select sum(octet_length(f.content)) from jp.files f
  where f.tenant = $2 and f.conversation = $22 and f.name = any($23::text[])), 0)`;

const CREATE = `with c as (
        insert into jp.conversations (workspace, tenant, id, created_at, metadata, labels, base_config,
          folder, is_archived, length, bytes, last_event_at, open_turn, ready_at, is_own_turn,
          turn_key, turn_signature, epoch, lease_owner, lease_holder, lease_until, turn_counter,
          pending_length)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, cardinality($10::text[]),
          ${grownSql("$2", `$11 + ${COPIED_BYTES}`, "$12")}, $13, $14, ${readySql("$15")}, $16, $17, $18,
          case when $19::text is null then 0 else 1 end, $19, $20,
          case when $19 is not null then clock_timestamp() + make_interval(secs => $21) end, $24,
          case when $25 then cardinality($10) end)
        on conflict (tenant, workspace, id) do update set lease_until = excluded.lease_until
          where jp.conversations.lease_owner = excluded.lease_owner
        returning *
      ), added as (
        insert into jp.events (conversation, tenant, seq, entry)
        select c.key, c.tenant, place - 1, entry from c, unnest($10::text[]) with ordinality as added (entry, place)
        on conflict do nothing
      ), copied as (
        insert into jp.files (conversation, tenant, name, content)
        select c.key, c.tenant, f.name, f.content from c, jp.files f
        where f.tenant = $2 and f.conversation = $22 and f.name = any($23::text[])
        on conflict do nothing
      ), ${listedSql("c", 26)}
      select ${COLUMNS}, ${SERVER_MS} as now,
        case when c.lease_owner is not null then ${notifySql("changed", "c.workspace", "c.id")} end
      from c`;

/**
 * Stores a file, unless it is there. Returns whether the lease is still held. Throws `store_full`.
 */
export async function insertFile(
  queries: Queries,
  { key, tenant, epoch }: Pick<AppendPlace, "key" | "tenant" | "epoch">,
  { name, content }: { readonly name: string; readonly content: Uint8Array },
): Promise<boolean> {
  const rows = await queries.query({
    text: `with held as (
        update jp.conversations c set bytes = c.bytes + case
          when exists (select from jp.files f where f.tenant = $2 and f.conversation = $1 and f.name = $4) then 0
          else ${grownSql("$2", "octet_length($5::bytea)", "0")} end
        where c.tenant = $2 and c.key = $1 and c.epoch = $3 returning c.key, c.tenant
      ), added as (
        insert into jp.files (conversation, tenant, name, content)
        select key, tenant, $4, $5 from held on conflict do nothing
      ) select key from held`,
    values: [key, tenant, epoch, name, content],
  });
  return rows.length > 0;
}

/** The conversation that entries are appended to, and the writer. */
export interface AppendPlace {
  readonly key: string;
  readonly tenant: string;
  readonly epoch: string;
  readonly length: number;
  /** Raises the epoch, so that an earlier holder that does not know of its loss can write nothing more. */
  readonly fences?: boolean;
  /** Wakes workers up, once this is committed: see `wakeUpPayload`. */
  readonly wakeUp?: string | undefined;
}

/**
 * Appends entries at a position, unless someone else has the lease or the record has grown. Returns whether it did.
 * Throws `store_full`, `too_many_turns`.
 */
export async function appendRows(
  queries: Queries,
  { key, tenant, epoch, length, fences = false, wakeUp }: AppendPlace,
  growth: Growth,
): Promise<boolean> {
  const rows = await queries.query({
    name: "jp_append",
    text: APPEND,
    values: [key, epoch, length, ...growthValues(tenant, growth), fences ? 1 : 0, wakeUp ?? null],
  });
  return rows.length > 0;
}

/** The parameters from the fourth on of a statement that appends: see `GROWN`. */
function growthValues(tenant: string, growth: Growth): readonly unknown[] {
  return [
    growth.texts,
    growth.lastEventAt ?? null,
    growth.openTurn ?? null,
    growth.readyAt ?? null,
    growth.isOwnTurn,
    growth.signature?.key ?? null,
    growth.signature?.signature ?? null,
    growth.links?.[0]?.link.seq ?? null,
    growth.links?.map((line) => chainLineToText(line).trimEnd()) ?? [],
    tenant,
    bytesOf(growth.texts),
    growth.starts,
    growth.signature?.counter ?? null,
    ...listedValues(growth),
  ];
}

/** How a writer lets go of its conversation. */
export interface Leaving {
  readonly owner: string;
  readonly left: LeftTurn;
}

/**
 * Appends the last entries of a writer like `appendRows`, and releases its lease like `releaseRow`, in one statement.
 * Undefined if it has done neither. Throws `store_full`, `too_many_turns`.
 */
export async function appendAndReleaseRow(
  queries: Queries,
  { key, tenant, epoch, length, owner, left }: AppendPlace & Leaving,
  growth: Growth,
): Promise<FreedRow | undefined> {
  const [row] = await queries.query<FreedRow & QueryResultRow>({
    name: "jp_append_release",
    text: APPEND_AND_RELEASE,
    values: [
      key,
      epoch,
      length,
      ...growthValues(tenant, growth),
      owner,
      left.queue ?? null,
      left.failure ?? null,
    ],
  });
  return row;
}

/** Converts the ready time of a `TurnState` to server time. */
function readySql(parameter: string): string {
  return `case when ${parameter}::bigint = 0 then ${SERVER_MS} else ${parameter} end`;
}

/** Changes of a row whose record grows. */
const GROWN = `length = length + cardinality($4::text[]),
          bytes = bytes + ${grownSql("$13", "$14", "$15")},
          last_event_at = $5,
          open_turn = $6,
          is_own_turn = $8,
          turn_key = $9,
          turn_signature = $10,
          turn_counter = coalesce($16, turn_counter),
          pending_length = case when $17 then length + cardinality($4) end,
          changed = pg_current_xact_id()`;

/** Inserts the entries, the links and the pending places of the row `held`. */
const ADDED = `added as (
        insert into jp.events (conversation, tenant, seq, entry)
        select held.key, held.tenant, $3 + place - 1, entry
        from held, unnest($4::text[]) with ordinality as added (entry, place)
      ), linked as (
        insert into jp.chain (conversation, tenant, seq, line)
        select held.key, held.tenant, coalesce($11, 0) + place - 1, line
        from held, unnest($12::text[]) with ordinality as added (line, place)
      ), dropped as (
        delete from jp.pending p using held where $18::int[] is not null
          and p.tenant = held.tenant and p.conversation = held.key and p.place <> all($18)
      ), ${listedSql("held", 18)}`;

const APPEND = `with held as (
        update jp.conversations set
          ${GROWN},
          ready_at = ${readySql("$7")},
          epoch = epoch + $21,
          lease_owner = case when $21 = 0 then lease_owner end
        where tenant = $13 and key = $1 and epoch = $2 and length = $3
        returning key, tenant, workspace, id
      ), ${ADDED}
      select ${notifySql("changed", "workspace", "id")},
        case when $22::text is not null then pg_notify('${CHANNEL}', $22) end
      from held`;

/** How often a failing turn is retried: for about a quarter of an hour. */
const MAX_FAILURES = 10;
const MAX_PAUSE_MS = 300_000;

/** Changes of a row that is released, of a turn that can go on at this time. The others are parameters. */
function freedSql(readyAt: string, queue: string, failure: string): string {
  return `lease_owner = null, lease_holder = null, lease_until = null, is_taken = false,
      queue = coalesce(${queue}, queue),
      failures = case when ${failure}::text is null or ${readyAt} is null then 0 else failures + 1 end,
      ready_at = case
        when ${failure} is null or ${readyAt} is null then ${readyAt}
        when ${failure} = 'retry' and failures + 1 < ${MAX_FAILURES}
          then ${SERVER_MS} + least(1000 * 2 ^ failures, ${MAX_PAUSE_MS})
      end`;
}

/** Parameters after those of an append: the owner, the queue and the failure. */
const APPEND_AND_RELEASE = `with held as (
        update jp.conversations set
          ${GROWN},
          ${freedSql(readySql("$7"), "$22", "$23")}
        where tenant = $13 and key = $1 and epoch = $2 and length = $3 and lease_owner = $21
        returning key, tenant, workspace, id, queue, ready_at
      ), ${ADDED}
      select workspace, queue, ready_at, ${notifySql("changed", "workspace", "id")} from held`;

/** Parameters: the lease's key, epoch and owner; then the queue, the failure and the tenant. */
const RELEASE = `with freed as (
    update jp.conversations set
      ${freedSql("ready_at", "$4", "$5")},
      changed = pg_current_xact_id()
    where tenant = $6 and key = $1 and epoch = $2 and lease_owner = $3
    returning workspace, id, queue, ready_at
  ) select workspace, queue, ready_at, ${notifySql("changed", "workspace", "id")} from freed`;

/** A released conversation. */
export interface FreedRow {
  readonly workspace: string;
  readonly queue: string;
  /** In the format of the table. */
  readonly ready_at: string | null;
}

/** A conversation and its lease. */
interface HeldRow {
  readonly tenant: string;
  readonly key: string;
  readonly epoch: string;
  readonly owner: string;
}

/** Undefined if someone else has it by now. */
export async function releaseRow(
  queries: Queries,
  { tenant, key, epoch, owner }: HeldRow,
  { queue, failure }: LeftTurn = {},
): Promise<FreedRow | undefined> {
  const [row] = await queries.query<FreedRow & QueryResultRow>({
    name: "jp_release",
    text: RELEASE,
    values: [key, epoch, owner, queue ?? null, failure ?? null, tenant],
  });
  return row;
}

/** Labels to search by. The metadata's text stays unchanged. */
export function labelsOf({ labels = {} }: Pick<ConversationMetadata, "labels">): string {
  return JSON.stringify(labels);
}

function labelsIn(metadata: string): string {
  try {
    return labelsOf(parseMetadata(parseJson(metadata)));
  } catch {
    return "{}";
  }
}
