/** Reads the rows of a workspace's conversations and their entries, and converts them to values. */
import type { QueryResultRow } from "pg";
import {
  type ConversationId,
  type ConversationMetadata,
  describeOpenTurn,
  findConversationId,
  findTimestamp,
  invalidIdError,
  isTurnStart,
  lastTurnOf,
  parseConversationId,
  parseMetadata,
  type StoredStream,
  StreamEntry,
  type Timestamp,
  timestampFromDate,
  titleAndLabels,
} from "../../record/conversation/index.ts";
import {
  findJson,
  isJsonObject,
  type JsonObject,
  messageOf,
  parseJson,
  systemClock,
} from "../../util/index.ts";
import {
  findRestored,
  findSeen,
  noteSeen,
  type SeenState,
  seenStatesBeside,
} from "../fs/seen-states.ts";
import type { ConversationSummary, PendingTurn, WorkLoad } from "../port.ts";
import { isSteppedBack, type SignedState } from "../signed-state.ts";
import { conversationNotFoundError, steppedBackError, StorageError } from "../storage-error.ts";
import type { ClaimedWorkspace } from "../workspace-port.ts";
import { type Database, type Queries, SERVER_MS } from "./database.ts";
import { isBusySql } from "./limits.ts";
import { lastStartSql } from "./marks.ts";
import { assertVersion } from "./schema.ts";
import { DEFAULT_TENANT, type PostgresStoreOptions } from "./store-options.ts";
import { TurnSigner } from "./turn-keys.ts";
import { LastTurn, type StoredEntry, type TurnDigest } from "./turn-state.ts";
import { type NamedRow, WorkspaceName } from "./workspace-name.ts";

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
  readonly turn_counter: string | null;
  readonly queue: string;
  readonly epoch: string;
  readonly lease_owner: string | null;
  readonly lease_holder: string | null;
  readonly is_live: boolean;
  readonly changed: string;
  readonly pending_length: number | null;
}

/** The row of a conversation that was just opened. */
export interface OpenedRow extends ConversationRow {
  /** The server's time, in milliseconds since the epoch. */
  readonly now: string;
}

/** The end of a record, as it was read along with its row. */
export interface EndRow {
  /** The position of the first of these entries. */
  readonly start: number;
  /** The texts of the entries from there. Null if there are none. */
  readonly entries: readonly string[] | null;
}

/**
 * Joins the columns of an `EndRow` as `last` to a row `c`: the entries from the last turn start. Without a base config,
 * the first entry is that, so they are all.
 */
export function joinEnd(tenant: string): string {
  const lastStart = lastStartSql(tenant, "c.key", "c.length");
  return `cross join lateral (
    select start, (
      select json_agg(e.entry order by e.seq) from jp.events e
      where e.tenant = ${tenant} and e.conversation = c.key and e.seq >= start and e.seq < c.length
    ) as entries
    from (
      select case when c.base_config is not null then coalesce(c.open_turn, ${lastStart}, 0) else 0 end as start
    ) as of
  ) as last`;
}

export const COLUMNS = `c.key, c.id, c.created_at, c.metadata, c.base_config, c.folder, c.is_archived, c.length,
  c.last_event_at, c.open_turn, c.is_own_turn,
  c.turn_key, c.turn_signature, c.turn_counter, c.queue, c.epoch, c.lease_owner, c.lease_holder, c.changed::text,
  c.pending_length, coalesce(c.lease_until > clock_timestamp(), false) as is_live`;

/** Everything needed to see whether a turn has changed. */
export const VERSION_COLUMNS =
  "c.id, c.changed::text, coalesce(c.lease_until > clock_timestamp(), false) as is_live";

export type VersionRow = Pick<ConversationRow, "id" | "changed" | "is_live">;

/** The time of the server when the statement arrived. Unlike that of the clock, an index can be searched for it. */
const STATEMENT_MS = "floor(extract(epoch from statement_timestamp()) * 1000)::bigint";

/** The parameters of a condition on the turns of a queue. */
interface QueueParameters {
  readonly tenant: string;
  readonly workspace: string;
  /** Those of `queueValues`. */
  readonly queue: string;
  readonly keys: string;
  readonly skipped: string;
  /** The owner of a lease that the statement may have taken before it was repeated. */
  readonly owner?: string;
}

function inQueueSql({ tenant, workspace, queue }: QueueParameters): string {
  return `c.tenant = ${tenant} and c.workspace = ${workspace} and c.queue = ${queue} and not c.is_archived`;
}

/** SQL for a turn that a worker of the queue can take, if the tenant's limits allow it. */
export function readySql(parameters: QueueParameters): string {
  const { keys, skipped, owner } = parameters;
  return `${inQueueSql(parameters)} and c.ready_at <= ${STATEMENT_MS}
    and (c.lease_until is null or c.lease_until < clock_timestamp()${owner === undefined ? "" : ` or c.lease_owner = ${owner}`})
    and c.is_own_turn and (${keys}::text[] is null or c.turn_key = any (${keys}))
    and c.id <> all (${skipped}::text[])`;
}

const BACKLOG: QueueParameters = {
  tenant: "$1",
  workspace: "$2",
  queue: "$3",
  keys: "$4",
  skipped: "$5",
};

/** Whose turns to count. */
interface BacklogOptions {
  readonly queue: string;
  readonly skipped: readonly ConversationId[];
  readonly most: number;
}

export interface Backlog {
  readonly ready: number;
  /** As many turns of the tenant run as may. */
  readonly isLimited: boolean;
  /** The time until the next turn is ready, if there is one. */
  readonly nextMs?: number;
}

/** A record as it was read, or the end of one. */
export interface ReadRecord {
  /** The position of the first entry that was read. */
  readonly from: number;
  readonly stored: readonly StoredEntry[];
  readonly entries: readonly StreamEntry[];
  readonly turn: LastTurn;
  readonly isOwnTurn: boolean;
  /** Why not, if it is older than a state that this machine has seen. */
  readonly steppedBack?: StorageError;
  /** The state of the turn, if an accepted key has signed it. */
  readonly signed?: SignedState;
  /** This machine has not seen this state yet, or a newer one. */
  readonly isUnseen?: boolean;
  /** The counter of the last signed state, in the row or as this machine has seen it. The next one has a larger one. */
  readonly counter: number;
}

/** What a record's signature shows. */
type Standing = Pick<ReadRecord, "isOwnTurn" | "steppedBack" | "signed" | "isUnseen" | "counter">;

/** The workspace's own row is found, or created, on first use. */
export class WorkspaceRows {
  readonly database: Database;
  readonly tenant: string;
  readonly #options: PostgresStoreOptions;
  #signer: TurnSigner | undefined;
  #checked: Promise<void> | undefined;
  readonly #named: WorkspaceName;
  #workspace: NamedRow | undefined;

  constructor(database: Database, options: PostgresStoreOptions) {
    this.database = database;
    this.tenant = options.tenant ?? DEFAULT_TENANT;
    this.#options = options;
    this.#named = new WorkspaceName(database, this.tenant, options.workspace);
  }

  /** Known once the workspace is. Undefined if everyone with write access is trusted. */
  get signer(): TurnSigner | undefined {
    return this.#signer;
  }

  /** A name of the workspace that is unique among all of this user's. */
  get name(): string {
    return `${this.database.address}#${this.tenant}/${this.#workspace?.name ?? ""}`;
  }

  /** The key of the workspace. Undefined until something is stored in it. Throws what `WorkspaceName.find` throws. */
  async findKey(): Promise<string | undefined> {
    return (await this.findRow())?.key;
  }

  /** The workspace. Undefined until something is stored in it. Throws what `WorkspaceName.find` throws. */
  async findRow(): Promise<NamedRow | undefined> {
    if (this.#workspace !== undefined) return this.#workspace;
    await this.#ready();
    this.#workspace = await this.#named.find();
    return this.#workspace;
  }

  /** Like `findKey`, for a statement about this conversation. */
  async findKeyFor(id: ConversationId): Promise<string | undefined> {
    assertId(id);
    return this.findKey();
  }

  async ensureKey(): Promise<string> {
    await this.#ready();
    this.#workspace ??= await this.#named.ensure();
    return this.#workspace.key;
  }

  /** See `WorkspaceName.ensureForWorker`. */
  async ensureKeyForWorker(): Promise<string> {
    await this.#ready();
    this.#workspace ??= await this.#named.ensureForWorker();
    return this.#workspace.key;
  }

  /** See `WorkspaceClaims.claim`. */
  async claim(isOther: boolean): Promise<ClaimedWorkspace> {
    await this.#ready();
    const claimed = await this.#named.claim(isOther);
    this.#workspace = undefined;
    return claimed;
  }

  #ready(): Promise<void> {
    this.#checked ??= this.#check().catch((error: unknown) => {
      this.#checked = undefined;
      throw error;
    });
    return this.#checked;
  }

  async #check(): Promise<void> {
    await assertVersion(this.database);
    const { keys } = this.#options;
    this.#signer = keys && new TurnSigner(this.tenant, await keys());
  }

  /** The time of the store: the server's, unless a test replaces it. */
  async now(): Promise<Timestamp> {
    const { clock } = this.#options;
    if (clock !== undefined) return timestampFromDate(clock.now());
    const [row] = await this.database.query<{ readonly now: string }>({
      text: `select ${SERVER_MS} as now`,
    });
    return timestampFromDate(new Date(Number(row?.now)));
  }

  async select<Row extends Pick<ConversationRow, "id"> = ConversationRow>(
    where: string,
    values: readonly unknown[] = [],
    columns = COLUMNS,
  ): Promise<readonly Row[]> {
    const workspace = await this.findKey();
    if (workspace === undefined) return [];
    const rows = await this.database.query<Row>({
      text: `select ${columns} from jp.conversations c where c.tenant = $1 and c.workspace = $2 and ${where}`,
      values: [this.tenant, workspace, ...values],
    });
    return rows.filter(({ id }) => findConversationId(id) !== undefined); // Manual changes may add invalid ids.
  }

  async find(id: ConversationId): Promise<ConversationRow | undefined> {
    const [row] = await this.select("c.id = $3", [id]);
    return row;
  }

  /** Throws `conversation_not_found`, `invalid_conversation_id`. */
  async get(id: ConversationId): Promise<ConversationRow> {
    assertId(id);
    const row = await this.find(id);
    if (row === undefined) throw conversationNotFoundError(id);
    return row;
  }

  async summarize(rows: readonly ConversationRow[]): Promise<ConversationSummary[]> {
    const turns = await this.#readTurns(rows);
    return rows.map((row) => summaryOf(row, turns.get(row.key)));
  }

  /** The last turns of these conversations, which are not complete. */
  async pendingTurns(
    rows: readonly ConversationRow[],
    hasMetadata: boolean,
  ): Promise<readonly PendingTurn[]> {
    const turns = await this.#readTurns(rows);
    return rows.map((row) => ({
      ...versionOf(row),
      ...(hasMetadata && titleAndLabels(readMetadata(row).metadata ?? {})),
      ...turns.get(row.key),
    }));
  }

  /** The open turns of these conversations, by key. A damaged one does not hide the others. */
  async #readTurns(rows: readonly ConversationRow[]): Promise<ReadonlyMap<string, ReadTurn>> {
    const open = rows.flatMap(({ key, open_turn: start, length }) =>
      start === null ? [] : [{ key, start, length }],
    );
    if (open.length === 0) return new Map();
    const found = await this.database.query<{ readonly key: string; readonly entry: string }>({
      name: "jp_turns",
      text: `select e.conversation as key, e.entry
        from unnest($2::bigint[], $3::int[], $4::int[]) as turn (key, start, length)
        join jp.events e on e.tenant = $1 and e.conversation = turn.key
          and e.seq >= turn.start and e.seq < turn.length
        order by e.conversation, e.seq`,
      values: [
        this.tenant,
        open.map(({ key }) => key),
        open.map(({ start }) => start),
        open.map(({ length }) => length),
      ],
    });
    const texts = Map.groupBy(found, ({ key }) => key);
    return new Map(
      open.map(({ key, start, length }) => [
        key,
        readTurn(
          (texts.get(key) ?? []).map(({ entry }) => entry),
          length - start,
        ),
      ]),
    );
  }

  /** The entries of a conversation, or a range of them. Throws `read_failed`. */
  async readEntries(
    { key, length }: Pick<ConversationRow, "key" | "length">,
    {
      from = 0,
      end = length,
      queries = this.database,
    }: { readonly from?: number; readonly end?: number; readonly queries?: Queries } = {},
  ): Promise<readonly StoredEntry[]> {
    if (from >= end) return [];
    const rows = await queries.query<EntryRow>({
      name: "jp_entries",
      text: `select entry from jp.events
        where tenant = $1 and conversation = $2 and seq >= $3 and seq < $4 order by seq`,
      values: [this.tenant, key, from, end],
    });
    return toEntries(
      rows.map(({ entry }) => entry),
      end - from,
    );
  }

  /** Reads as many entries as the row says: later appends do not belong to it. Throws `read_failed`. */
  async readRecord(row: ConversationRow): Promise<ReadRecord> {
    return this.recordOf(row, await this.readEntries(row));
  }

  /** Reads the last turn of a record, or more if that is not certain to be all of it. Throws `read_failed`. */
  async readEnd(row: ConversationRow, queries: Queries = this.database): Promise<ReadRecord> {
    const [end] = await queries.query<EndRow & QueryResultRow>({
      name: "jp_end",
      text: `select last.start, last.entries
        from (select $2::bigint as key, $3::int as length, $4::int as open_turn, $5::text as base_config) as c
        ${joinEnd("$1")}`,
      values: [this.tenant, row.key, row.length, row.open_turn, row.base_config],
    });
    return this.toEnd(row, end ?? { start: 0, entries: null }, queries);
  }

  /**
   * The end of a record that was read along with its row. A statement that has waited for another to change the row has
   * not seen the entries of that one: they are read again. Throws `read_failed`.
   */
  async toEnd(
    row: ConversationRow,
    { start, entries }: EndRow,
    queries: Queries = this.database,
  ): Promise<ReadRecord> {
    const count = row.length - start;
    const stored =
      entries?.length === count
        ? toEntries(entries, count)
        : await this.readEntries(row, { from: start, queries });
    const isCertain = start === 0 || stored.some(({ entry }) => isTurnStart(entry));
    if (isCertain) return this.recordOf(row, stored, start);
    return this.recordOf(row, await this.readEntries(row, { queries }));
  }

  /** The record of all entries, or of those starting at `from`. */
  recordOf(row: ConversationRow, stored: readonly StoredEntry[], from = 0): ReadRecord {
    const turn = this.turnAt(row.id, from).with(stored);
    return { from, stored, entries: stored.map(entryOf), turn, ...this.#judge(row, turn) };
  }

  /** The last turn of a conversation, before any entries from this position on are added. */
  turnAt(conversation: string, from = 0): LastTurn {
    const workspace = this.#workspace?.name ?? "";
    return new LastTurn({ tenant: this.tenant, workspace, conversation }, from);
  }

  #judge(row: ConversationRow, { digest }: LastTurn): Standing {
    if (this.#signer === undefined) return { isOwnTurn: row.is_own_turn, counter: 0 };
    const seen = this.findSeen(row.id);
    const found = counterOf(row);
    const isSigned = digest !== undefined && this.#isSigned(row, digest);
    // Someone else may have written a number to which nothing can be added.
    const counter = Math.max(isSigned || found <= MAX_FOREIGN ? found : 0, seen?.counter ?? 0);
    // Without a digest, there is no turn.
    if (!row.is_own_turn || digest === undefined) return { isOwnTurn: row.is_own_turn, counter };
    if (!isSigned) return { isOwnTurn: false, counter };
    const signed = { counter: found, digest, length: row.length };
    if (isSteppedBack(signed, seen))
      return { isOwnTurn: false, counter, signed, steppedBack: steppedBackError(row.id) };
    return { isOwnTurn: true, counter, signed, isUnseen: found > (seen?.counter ?? 0) };
  }

  #isSigned(row: ConversationRow, digest: TurnDigest): boolean {
    const { turn_key: key, turn_signature: signature, turn_counter: counter } = row;
    if (key === null || signature === null) return false;
    return this.#signer?.accepts(digest, { key, signature, counter }) === true;
  }

  /** The newest state of the conversation's turns that this machine has signed or acted on. Throws `read_failed`. */
  findSeen(conversation: string): SeenState | undefined {
    const { seenFolder, name: store } = this;
    return seenFolder === undefined ? undefined : findSeen(seenFolder, { store, conversation });
  }

  /** See `SignedTurn`. Throws `read_failed`. */
  findRestored(conversation: string): readonly SeenState[] {
    const { seenFolder, name: store } = this;
    return seenFolder === undefined ? [] : findRestored(seenFolder, { store, conversation });
  }

  /** Notes a state that this machine has signed, or is about to act on. Never throws: then it has seen less. */
  noteSeen(conversation: string, state: SignedState | undefined): void {
    const { seenFolder, name: store } = this;
    if (seenFolder === undefined || state === undefined) return;
    try {
      noteSeen(seenFolder, { store, conversation, ...state, at: systemClock.now().toISOString() });
    } catch {
      // See above.
    }
  }

  /** Undefined if this machine keeps no log, or signs nothing. */
  get seenFolder(): string | undefined {
    const { headsFile } = this.#options;
    if (this.#signer === undefined || headsFile === undefined) return undefined;
    return seenStatesBeside(headsFile);
  }

  /** The queue, the accepted keys and the skipped conversations. */
  queueValues(queue: string, skipped: readonly ConversationId[]): readonly unknown[] {
    return [queue, this.#signer?.accepted ?? null, skipped];
  }

  /** What a worker of this queue can take. `ready` counts up to `most`. */
  async readBacklog({ queue, skipped, most }: BacklogOptions): Promise<Backlog> {
    const [row] = await this.database.query<{
      readonly ready: string;
      readonly is_limited: boolean;
      readonly next: string | null;
    }>({
      name: "jp_backlog",
      text: `select ${isBusySql("$1")} as is_limited,
          (select count(*) from (
            select from jp.conversations c where ${readySql(BACKLOG)} limit $6
          ) as found) as ready,
          (select min(c.ready_at) from jp.conversations c
            where ${inQueueSql(BACKLOG)} and c.ready_at > ${STATEMENT_MS}) - ${STATEMENT_MS} as next`,
      values: [this.tenant, await this.findKey(), ...this.queueValues(queue, skipped), most],
    });
    return {
      ready: Number(row?.ready ?? 0),
      isLimited: row?.is_limited === true,
      ...(row?.next != null && { nextMs: Number(row.next) }),
    };
  }

  async measureWork(queue: string): Promise<WorkLoad> {
    const [row] = await this.database.query<{
      readonly ready: string;
      readonly oldest: string | null;
      readonly waiting: string;
    }>({
      text: `select count(*) filter (where is_ready) as ready,
          ${SERVER_MS} - min(ready_at) filter (where is_ready) as oldest,
          count(*) filter (where not is_ready and not is_live) as waiting
        from (
          select ready_at,
            coalesce(ready_at <= ${SERVER_MS}, false)
              and coalesce(lease_until < clock_timestamp(), true) as is_ready,
            coalesce(lease_until >= clock_timestamp(), false) as is_live
          from jp.conversations
          where tenant = $1 and workspace = $2 and queue = $3 and open_turn is not null and not is_archived
        ) as turns`,
      values: [this.tenant, await this.findKey(), queue],
    });
    return {
      ready: Number(row?.ready ?? 0),
      oldestReadyMs: Number(row?.oldest ?? 0),
      waiting: Number(row?.waiting ?? 0),
    };
  }
}

/** No conversation has so many appends. */
const MAX_FOREIGN = 2 ** 52;

/** 0 if the row has none that jp has written. */
export function counterOf({ turn_counter: text }: Pick<ConversationRow, "turn_counter">): number {
  const counter = Number(text ?? 0);
  return Number.isSafeInteger(counter) && counter > 0 ? counter : 0;
}

/** Whether the rows of `jp.pending` are right for its last turn. */
export function isListed(row: Pick<ConversationRow, "pending_length">): boolean {
  return row.pending_length !== null;
}

/** See `ListPendingTurnsOptions.isBrief`. */
export function versionOf(row: VersionRow): PendingTurn {
  const { changed, is_live: isLive } = row;
  return { id: idOf(row), isLive, entries: [], version: `${changed} ${isLive}` };
}

/** The readable part of the last turn on record. */
interface ReadTurn {
  readonly entries: readonly StreamEntry[];
  readonly problem?: string;
}

function readTurn(texts: readonly string[], count: number): ReadTurn {
  try {
    return { entries: toEntries(texts, count).map(entryOf) };
  } catch (error) {
    return { entries: [], problem: messageOf(error) };
  }
}

interface EntryRow {
  readonly entry: string;
}

/** Only manual changes of the tables can damage them. */
function toEntries(texts: readonly string[], count: number): readonly StoredEntry[] {
  if (texts.length !== count) {
    throw new StorageError(
      "read_failed",
      `The record has ${texts.length} entries instead of ${count}.`,
    );
  }
  return texts.map((text, index) => {
    const entry = findEntry(text);
    if (entry !== undefined) return { entry, text };
    throw new StorageError(
      "read_failed",
      `Entry ${index + 1} of the ${count} that were read is not JSON.`,
    );
  });
}

/** Throws `read_failed`. */
export function parseEntry(text: string): StreamEntry {
  const entry = findEntry(text);
  if (entry !== undefined) return entry;
  throw new StorageError("read_failed", "An entry of the record is not JSON.");
}

function findEntry(text: string): StreamEntry | undefined {
  const value = findJson(text);
  return isJsonObject(value) ? StreamEntry.fromJson(value) : undefined;
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

export function storedStreamOf(
  row: ConversationRow,
  entries: readonly StreamEntry[],
): StoredStream {
  const config = row.base_config === null ? undefined : findJson(row.base_config);
  const baseConfig: JsonObject | undefined = isJsonObject(config) ? config : undefined;
  const createdAt = row.created_at as Timestamp; // Written by a store.
  return { createdAt, baseConfig, entries };
}

export function metadataOf(row: ConversationRow): ConversationMetadata {
  return parseMetadata(parseJson(row.metadata));
}

function readMetadata(row: ConversationRow): Pick<ConversationSummary, "metadata" | "problem"> {
  try {
    return { metadata: metadataOf(row) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function summaryOf(row: ConversationRow, turn?: ReadTurn): ConversationSummary {
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
