/** Writes a conversation in PostgreSQL: each append is one statement, which does nothing if the lease is lost. */
import type { QueryResultRow } from "pg";
import {
  type ChainLine,
  chainLineToText,
  type ConversationEvent,
  type ConversationId,
  type ConversationMetadata,
  type ConversationStream,
  findTimestamp,
  hasLinks,
  type OwnRun,
  parseMetadata,
  StreamEntry,
} from "../../record/conversation/index.ts";
import { type Clock, parseJson } from "../../util/index.ts";
import { metadataFile } from "../fs/conversation-files.ts";
import { EVENTS } from "../fs/conversation-folders.ts";
import { ChainGrowth, findChainLine } from "../chain-growth.ts";
import type { SecretSockets } from "../fs/secret-sockets.ts";
import type { AnswerListener, ConversationWriter, LeftTurn, MetadataChange } from "../port.ts";
import { Releasable } from "../release-listeners.ts";
import { StorageError } from "../storage-error.ts";
import { type Database, type Queries, SERVER_MS } from "./database.ts";
import type { Leases } from "./leases.ts";
import { grownSql } from "./limits.ts";
import { type Listening, notifySql } from "./listening.ts";
import { TableOffers } from "./offers.ts";
import { isLimitError } from "./refusals.ts";
import type { TurnSignature, TurnSigner } from "./turn-keys.ts";
import type { LastTurn, StoredEntry, TurnState } from "./turn-state.ts";
import type { WakeUps } from "./wake-ups.ts";

/** The row of the conversation, once its lease is taken. */
export interface OpenedRow {
  readonly key: string;
  readonly workspace: string;
  readonly tenant: string;
  readonly id: ConversationId;
  readonly epoch: string;
  readonly owner: string;
  /** The length of the record. A packed one has one entry more than the stream. */
  readonly length: number;
  readonly metadata: ConversationMetadata;
  readonly isOwnTurn: boolean;
}

export interface WriterParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly listening: Listening;
  /** Without one, everyone with write access is trusted. */
  readonly signer: TurnSigner | undefined;
  readonly row: OpenedRow;
  /** Absent if secrets cannot be passed on. */
  readonly openSecrets?: () => Promise<Pick<SecretSockets, "listen">>;
  /** Reports the end of the chain. Never throws. */
  readonly noteHead?: (end: OwnRun) => Promise<void>;
  readonly wakeUps: WakeUps;
  readonly clock: Clock;
  readonly stream: ConversationStream;
  readonly turn: LastTurn;
}

/** Changes that an append makes to the row of its conversation. */
export interface Growth extends TurnState {
  /** The texts of the entries. */
  readonly texts: readonly string[];
  /** How many of them start a new turn. */
  readonly starts: number;
  readonly isOwnTurn: boolean;
  readonly signature: TurnSignature | undefined;
  readonly lastEventAt: string | undefined;
  /** The next links of the chain of decisions, if any. */
  readonly links?: readonly ChainLine[];
}

/** The state of the row once these are its last entries. `wasOwn`: the turn was the user's own before they were added. */
export function growthOf(
  turn: LastTurn,
  added: readonly StoredEntry[],
  { wasOwn, signer }: { readonly wasOwn: boolean; readonly signer: TurnSigner | undefined },
): Growth {
  const starts = added.filter(({ entry }) => entry.eventType === "turn_start").length;
  const isOwnTurn = wasOwn || starts > 0;
  const { digest } = turn;
  return {
    ...turn.state,
    texts: added.map(({ text }) => text),
    starts,
    isOwnTurn,
    signature: isOwnTurn && digest !== undefined ? signer?.sign(digest) : undefined,
    lastEventAt: findTimestamp(added.at(-1)?.entry.raw["timestamp"]),
  };
}

/** The minimum number of links to read. A turn with more entries needs more. */
const TAIL = 500;

/** The chain of a conversation that no one else can write to now. `before`: the last turn on record. */
export async function openChain(
  queries: Queries,
  { key, id }: Pick<OpenedRow, "key" | "id">,
  before: readonly StreamEntry[],
): Promise<ChainGrowth> {
  const rows = await queries.query<{ readonly line: string }>({
    name: "jp_chain",
    text: "select line from jp.chain where conversation = $1 order by seq desc limit $2",
    values: [key, Math.max(TAIL, before.length)],
  });
  const lines = rows.toReversed().flatMap(({ line }) => findChainLine(line) ?? []);
  return new ChainGrowth(id, { lines, isTorn: false }, before);
}

/** The entries from the last turn start, or all. */
export function lastTurnEntries(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const start = entries.findLastIndex(({ eventType }) => eventType === "turn_start");
  return start <= 0 ? entries : entries.slice(start);
}

export function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

export function toStored(entry: StreamEntry): StoredEntry {
  return { entry, text: entry.toText() };
}

/** The conversation that entries are appended to, and the writer. */
export interface AppendPlace {
  readonly key: string;
  readonly tenant: string;
  readonly epoch: string;
  readonly length: number;
  /** Raises the epoch, so that an earlier holder that does not know of its loss can write nothing more. */
  readonly fences?: boolean;
}

/**
 * Appends entries at a position, unless someone else has the lease or the record has grown. Returns whether it did.
 * Throws `store_full`, `too_many_turns`.
 */
export async function appendRows(
  queries: Queries,
  { key, tenant, epoch, length, fences = false }: AppendPlace,
  growth: Growth,
): Promise<boolean> {
  const rows = await queries.query({
    name: "jp_append",
    text: `with held as (
        update jp.conversations set
          length = length + cardinality($4::text[]),
          bytes = bytes + ${grownSql("$13", "$14", "$15")},
          last_event_at = $5,
          open_turn = $6,
          ready_at = ${readySql("$7")},
          is_own_turn = $8,
          turn_key = $9,
          turn_signature = $10,
          epoch = epoch + $16,
          lease_owner = case when $16 = 0 then lease_owner end,
          changed = pg_current_xact_id()
        where key = $1 and epoch = $2 and length = $3
        returning key, tenant, workspace, id
      ), added as (
        insert into jp.events (conversation, tenant, seq, entry)
        select held.key, held.tenant, $3 + place - 1, entry
        from held, unnest($4::text[]) with ordinality as added (entry, place)
      ), linked as (
        insert into jp.chain (conversation, tenant, seq, line)
        select held.key, held.tenant, coalesce($11, 0) + place - 1, line
        from held, unnest($12::text[]) with ordinality as added (line, place)
      )
      select ${notifySql("changed", "workspace", "id")} from held`,
    values: [
      key,
      epoch,
      length,
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
      fences ? 1 : 0,
    ],
  });
  return rows.length > 0;
}

/** Converts the ready time of a `TurnState` to server time. */
export function readySql(parameter: string): string {
  return `case when ${parameter}::bigint = 0 then ${SERVER_MS} else ${parameter} end`;
}

/** How often a failing turn is retried: for about a quarter of an hour. */
const MAX_FAILURES = 10;
const MAX_PAUSE_MS = 300_000;

/** Parameters: the lease's key, epoch and owner; then the queue and the failure. */
const RELEASE = `with freed as (
    update jp.conversations set
      lease_owner = null, lease_holder = null, lease_until = null, is_taken = false,
      queue = coalesce($4, queue),
      failures = case when $5::text is null or ready_at is null then 0 else failures + 1 end,
      ready_at = case
        when $5 is null or ready_at is null then ready_at
        when $5 = 'retry' and failures + 1 < ${MAX_FAILURES}
          then ${SERVER_MS} + least(1000 * 2 ^ failures, ${MAX_PAUSE_MS})
      end,
      changed = pg_current_xact_id()
    where key = $1 and epoch = $2 and lease_owner = $3
    returning workspace, id, queue, ready_at
  ) select workspace, queue, ready_at, ${notifySql("changed", "workspace", "id")} from freed`;

/** A released conversation. */
export interface FreedRow {
  readonly workspace: string;
  readonly queue: string;
  /** In the format of the table. */
  readonly ready_at: string | null;
}

/** Undefined if someone else has it by now. */
export async function releaseRow(
  queries: Queries,
  { key, epoch, owner }: Pick<OpenedRow, "key" | "epoch" | "owner">,
  { queue, failure }: LeftTurn = {},
): Promise<FreedRow | undefined> {
  const [row] = await queries.query<FreedRow & QueryResultRow>({
    name: "jp_release",
    text: RELEASE,
    values: [key, epoch, owner, queue ?? null, failure ?? null],
  });
  return row;
}

interface Waiting {
  readonly entries: readonly StreamEntry[];
  readonly done: PromiseWithResolvers<void>;
}

export class PostgresWriter extends Releasable implements ConversationWriter {
  readonly isShared = true;
  readonly #parts: WriterParts;
  readonly #entries: StreamEntry[];
  readonly #lease: Disposable;
  readonly #listeners = new Set<Disposable>();
  #turn: LastTurn;
  #length: number;
  #isOwnTurn: boolean;
  #metadata: ConversationMetadata;
  #metadataWrites: Promise<unknown> = Promise.resolve();
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #isReleased = false;
  /** Set after the first decision. */
  #chain: ChainGrowth | undefined;
  /** Decisions answered through the database, possibly on other machines. */
  readonly #offered = new Set<unknown>();
  #left: LeftTurn = {};
  /** Why writing has failed permanently. */
  #failure: StorageError | undefined;

  constructor(parts: WriterParts) {
    super();
    const { row, stream, leases } = parts;
    this.#parts = parts;
    this.#entries = stream.entries.slice();
    this.#turn = parts.turn;
    this.#length = row.length;
    this.#isOwnTurn = row.isOwnTurn;
    this.#metadata = row.metadata;
    const { key, epoch } = row;
    this.#lease = leases.hold({ key, epoch, onLost: () => this.#fail(lostError(row.id)) });
  }

  get id(): ConversationId {
    return this.#parts.row.id;
  }

  get clock(): Clock {
    return this.#parts.clock;
  }

  get metadata(): ConversationMetadata {
    return this.#metadata;
  }

  get stream(): ConversationStream {
    const { createdAt, baseConfig } = this.#parts.stream;
    return { createdAt, baseConfig, entries: this.#entries };
  }

  get isOwnTurn(): boolean {
    return this.#isOwnTurn;
  }

  append(...events: readonly ConversationEvent[]): Promise<void> {
    return this.appendEntries(events.map((event) => StreamEntry.fromEvent(event)));
  }

  async appendEntries(entries: readonly StreamEntry[]): Promise<void> {
    this.assertHeld();
    if (entries.length === 0) return;
    const waiting = { entries, done: Promise.withResolvers<void>() };
    this.#waiting.push(waiting);
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    await waiting.done.promise;
  }

  /** Entries added while a statement runs are written by the next one. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const together = this.#waiting;
      this.#waiting = [];
      const entries: StreamEntry[] = [];
      for (const each of together) for (const entry of each.entries) entries.push(entry);
      try {
        await this.#write(entries);
        for (const { done } of together) done.resolve();
      } catch (error) {
        for (const { done } of together) done.reject(error);
      }
    }
  }

  async #write(entries: readonly StreamEntry[]): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { database, row, signer } = this.#parts;
    const stored = entries.map(toStored);
    const turn = this.#turn.with(stored);
    const links = await this.#link(entries);
    const growth = { ...growthOf(turn, stored, { wasOwn: this.#isOwnTurn, signer }), links };
    const { key, tenant, epoch } = row;
    const place = { key, tenant, epoch, length: this.#length };
    const isWritten =
      (await appendRows(database, place, growth).catch((cause: unknown) => {
        if (isLimitError(cause)) {
          this.#chain = undefined; // It has links that were not written.
          throw cause;
        }
        throw this.#fail(unwrittenError(row.id, cause));
      })) || (await this.#isThere(growth.texts));
    if (!isWritten) throw this.#fail(lostError(row.id));
    this.#turn = turn;
    this.#isOwnTurn = growth.isOwnTurn;
    this.#length += entries.length;
    for (const entry of entries) this.#entries.push(entry);
  }

  /** As in files, a turn is chained from its first decision. */
  async #link(entries: readonly StreamEntry[]): Promise<readonly ChainLine[]> {
    const { database, row } = this.#parts;
    const before = lastTurnEntries(this.#entries);
    if (this.#chain === undefined && !hasLinks(entries) && !hasLinks(before)) return [];
    this.#chain ??= await openChain(database, row, before);
    return this.#chain.add(entries, ({ raw }) => this.#offered.has(raw["id"]));
  }

  /** The connection may have been lost after the server wrote them. */
  async #isThere(texts: readonly string[]): Promise<boolean> {
    const { database, row } = this.#parts;
    const before = this.#length;
    const [found] = await database.query<{ readonly is_there: boolean | null }>({
      text: `select c.epoch = $2 and c.length = $3 + cardinality($4::text[]) and $4::text[] = array(
          select entry from jp.events e where e.conversation = c.key and e.seq >= $3 order by e.seq
        ) as is_there
        from jp.conversations c where c.key = $1`,
      values: [row.key, row.epoch, before, texts],
    });
    return found?.is_there === true;
  }

  updateMetadata(change: MetadataChange): Promise<void> {
    const done = this.#metadataWrites.then(() => this.#writeMetadata(change));
    this.#metadataWrites = done.catch(() => undefined);
    return done;
  }

  async #writeMetadata(change: MetadataChange): Promise<void> {
    this.assertHeld();
    const text = metadataFile(change(this.#metadata));
    const metadata = parseMetadata(parseJson(text));
    await this.#writeText("metadata = $3, labels = $4", [text, labelsOf(metadata)]);
    this.#metadata = metadata;
  }

  async #writeText(set: string, values: readonly string[]): Promise<void> {
    this.assertHeld();
    const { database, row } = this.#parts;
    const rows = await database.query({
      text: `with held as (
          update jp.conversations set ${set}, changed = pg_current_xact_id()
          where key = $1 and epoch = $2 returning workspace, id
        ) select ${notifySql("changed", "workspace", "id")} from held`,
      values: [row.key, row.epoch, ...values],
    });
    if (rows.length === 0) throw this.#fail(lostError(row.id));
  }

  /** For a user who edits the record. The decisions of the last turn are then no longer certain to be theirs. */
  async replaceEntries(entries: readonly StreamEntry[]): Promise<void> {
    this.assertHeld();
    const { database, row } = this.#parts;
    const stored = entries.map(toStored);
    const turn = this.#turn.restarted(stored);
    await database.transaction(async (queries) => {
      await queries.query({
        text: "delete from jp.events where conversation = $1",
        values: [row.key],
      });
      await queries.query({
        text: "delete from jp.files where conversation = $1 and name = $2",
        values: [row.key, EVENTS],
      });
      await queries.query({
        text: "update jp.conversations set length = 0, bytes = 0 where key = $1 and epoch = $2",
        values: [row.key, row.epoch],
      });
      const growth = growthOf(turn, stored, { wasOwn: false, signer: undefined });
      const place = { key: row.key, tenant: row.tenant, epoch: row.epoch, length: 0 };
      const isDone = await appendRows(queries, place, { ...growth, isOwnTurn: false, starts: 0 });
      if (!isDone) throw this.#fail(lostError(row.id));
    });
    this.#length = entries.length;
    this.#turn = turn;
    this.#isOwnTurn = false;
    this.#entries.length = 0;
    for (const entry of entries) this.#entries.push(entry);
  }

  /** Replaces another part of the record. */
  async replaceText(part: "metadata" | "baseConfig", text: string): Promise<void> {
    if (part === "metadata") {
      const metadata = parseMetadata(parseJson(text));
      return this.#writeText("metadata = $3, labels = $4", [text, labelsOf(metadata)]);
    }
    await this.#writeText("base_config = $3", [text]);
  }

  onAnswer(listener: AnswerListener): Disposable {
    this.assertHeld();
    const { database, listening, row } = this.#parts;
    const taking = new TableOffers(database, listening, row).listen((offered) => {
      this.#offered.add(offered.event.id);
      return listener(offered);
    });
    this.#listeners.add(taking);
    return taking;
  }

  /** Only on this machine, never through the database. */
  async onSecret(listener: AnswerListener): Promise<Disposable> {
    const none: Disposable = { [Symbol.dispose]: () => undefined };
    const { openSecrets } = this.#parts;
    const sockets = await openSecrets?.().catch(() => undefined);
    const listening = await sockets?.listen(listener).catch(() => undefined);
    if (listening === undefined) return none; // As if no one could reach it.
    if (this.#isReleased) listening[Symbol.dispose]();
    else this.#listeners.add(listening);
    return listening;
  }

  leaveTo(left: LeftTurn): void {
    this.#left = { ...this.#left, ...left };
  }

  protected async close(): Promise<void> {
    const { database, row } = this.#parts;
    for (const listening of this.#listeners) listening[Symbol.dispose]();
    await this.#writing;
    await this.#metadataWrites;
    this.#isReleased = true;
    this.#lease[Symbol.dispose]();
    // Unwritten links are not part of the chain.
    const end = this.#failure === undefined ? this.#chain?.end : undefined;
    if (end !== undefined) await this.#parts.noteHead?.(end);
    // If it fails, the lease expires.
    const freed = await releaseRow(database, row, this.#left).catch(() => undefined);
    if (freed?.ready_at == null) return;
    const { workspace, queue, ready_at: at } = freed;
    await this.#parts.wakeUps.send({ workspace, queue, id: row.id, at: Number(at) });
  }

  #fail(error: StorageError): StorageError {
    this.#failure ??= error;
    return this.#failure;
  }

  protected assertHeld(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isReleased) throw new StorageError("write_failed", "The conversation was released.");
  }
}

/** Labels to search by. The metadata's text stays unchanged. */
export function labelsOf({ labels = {} }: Pick<ConversationMetadata, "labels">): string {
  return JSON.stringify(labels);
}

function lostError(id: ConversationId): StorageError {
  return new StorageError(
    "write_failed",
    `Conversation ${id} is no longer open here: another process has taken it over.`,
    {
      hint: "This process was paused, or cut off from the store, for too long. Nothing was written since.",
    },
  );
}

function unwrittenError(id: ConversationId, cause: unknown): StorageError {
  if (cause instanceof StorageError && cause.code === "store_unreachable") {
    return new StorageError("write_failed", cause.message, {
      cause,
      hint: "Whether the last write has arrived shows once the store can be reached again.",
    });
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return new StorageError("write_failed", `Cannot write to conversation ${id}: ${message}.`, {
    cause,
  });
}
