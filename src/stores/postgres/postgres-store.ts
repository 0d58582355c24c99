/**
 * Stores conversations in PostgreSQL, for programs and teams with more than one machine. Every process with a
 * connection may read, answer and write; leases with growing epochs ensure a single writer. Times are those of the
 * server.
 */
import { realpathSync } from "node:fs";
import {
  type AnswerEvent,
  ChainBuilder,
  type ChainLine,
  chainLineToText,
  type ChainLink,
  type ConversationId,
  type ConversationMetadata,
  findConversationId,
  findTimestamp,
  hashLink,
  lastTurnOf,
  type OfferedAnswer,
  type OwnRun,
  StreamEntry,
  type Timestamp,
  timestampFromDate,
  titleAndLabels,
} from "../../record/conversation/index.ts";
import { type Clock, loadModule, systemClock } from "../../util/index.ts";
import { answerPending, planAnswer, type SecretOffer } from "../answering.ts";
import { findChainLine } from "../chain-growth.ts";
import type { HeadToNote } from "../fs/chain-file.ts";
import { lineOrProblem } from "../fs/read-chain.ts";
import type {
  AnswerOptions,
  AnswerResult,
  ChainProblem,
  ChangeListener,
  Conversation,
  ConversationStore,
  ConversationSummary,
  ConversationWriter,
  CreateOptions,
  ForkOptions,
  LastTurns,
  ListOptions,
  ListPendingTurnsOptions,
  PendingTurn,
  RecordPiece,
  RunningWork,
  WorkLoad,
  WorkOptions,
} from "../port.ts";
import type { PortableRecord, PortableStore } from "../portable.ts";
import {
  archivedError,
  conversationExistsError,
  conversationNotFoundError,
  LockedError,
  recordChangedError,
  THIS_PROCESS,
} from "../storage-error.ts";
import type { FileEdit, RecordFile } from "../workspace-port.ts";
import { baseConfigFile, metadataFile } from "../fs/conversation-files.ts";
import {
  assertFileId,
  fileIdCreatedAt,
  fileIdFromNumber,
  fileIdToNumber,
  folderName,
} from "../fs/file-id.ts";
import { eventFileBytes } from "../fs/event-layout.ts";
import { isSameFiles } from "../fs/portable-files.ts";
import { loadSecretSockets } from "../fs/load-secret-sockets.ts";
import {
  assertId,
  COLUMNS,
  type ConversationRow,
  entryOf,
  findMetadata,
  idOf,
  labelsIn,
  metadataOf,
  readEntries,
  readTurns,
  streamOf,
  summaryOf,
  VERSION_COLUMNS,
  versionOf,
  type VersionRow,
} from "./conversation-row.ts";
import { type Connections, openConnections } from "./channel.ts";
import { type Database, type Queries, SERVER_MS } from "./database.ts";
import { holderOf, isOfThisProcess, LEASE_SECONDS, Leases, newOwner } from "./leases.ts";
import { grownSql, isBusySql } from "./limits.ts";
import { Listening, notifySql } from "./listening.ts";
import { TableOffers } from "./offers.ts";
import {
  appendRows,
  bytesOf,
  growthOf,
  lastTurnEntries,
  openChain,
  PostgresWriter,
  readySql,
  releaseRow,
  toStored,
} from "./postgres-writer.ts";
import { insertOthers, parseEvents, readOthers, toFiles, toRows } from "./portable-rows.ts";
import { assertVersion } from "./schema.ts";
import { TurnSigner } from "./turn-keys.ts";
import { LastTurn, type StoredEntry } from "./turn-state.ts";
import type { PostgresStoreOptions } from "./store-options.ts";
import { WakeUpError, WakeUps } from "./wake-ups.ts";

/** The row of the workspace. */
interface WorkspaceRow {
  readonly key: string;
  readonly name: string;
}

interface GivenAnswer {
  readonly offered: OfferedAnswer;
  /** It may be on record already. */
  readonly isRepeated: boolean;
  /** Sends no wake-up: the queue rejects them. */
  readonly isSilent?: boolean;
}

interface NewConversation {
  readonly metadata: Omit<ConversationMetadata, "lastActivatedAt">;
  readonly baseConfig: string | null;
  readonly entries: readonly StreamEntry[];
  readonly isOwnTurn: boolean;
  /** How many new turns it starts. */
  readonly starts: number;
}

/** Opens a conversation that meets a condition. */
interface OpenStatement {
  readonly name: string;
  readonly condition: string;
  /** Taken by a worker. */
  readonly isTaken: boolean;
}

/** `jp.may_take` has a declared cost, so that it is evaluated last. */
const TAKE: OpenStatement = {
  name: "jp_take",
  condition: `c.ready_at <= ${SERVER_MS} and jp.may_take(c.tenant, c.key)`,
  isTaken: true,
};

/** How many entries are read at once. */
const PIECE = 5000;

export class PostgresStore implements ConversationStore, PortableStore {
  readonly #options: PostgresStoreOptions;
  readonly #database: Database;
  readonly #isShared: boolean;
  readonly #leases: Leases;
  readonly #listening: Listening;
  readonly #wakeUps: WakeUps;
  #signer: TurnSigner | undefined;
  #checked: Promise<void> | undefined;
  #workspace: WorkspaceRow | undefined;

  /** Given connections are shared, and closed by their opener. */
  constructor(options: PostgresStoreOptions, shared?: Connections) {
    this.#options = options;
    const connections = shared ?? openConnections(options.url);
    this.#database = connections.database;
    this.#isShared = shared !== undefined;
    this.#leases = new Leases(this.#database);
    this.#wakeUps = new WakeUps(this.#database);
    this.#listening = new Listening(connections, async () => (await this.#findWorkspace())?.key);
  }

  async list({ which = "live", limit, before }: ListOptions = {}): Promise<ConversationSummary[]> {
    const rows = await this.#select(
      `($2::text = 'all' or c.is_archived = ($2 = 'archived'))
        and ($3::text is null or (c.created_at, c.id) < ($3, $4))
        order by c.created_at desc, c.id desc limit $5`,
      [which, before?.createdAt ?? null, before?.id ?? null, limit ?? null],
    );
    const turns = await readTurns(
      this.#database,
      rows.filter(({ open_turn: turn }) => turn !== null),
    );
    return rows.map((row) => summaryOf(row, turns.get(row.key)));
  }

  async find(id: ConversationId): Promise<ConversationSummary | undefined> {
    const row = await this.#findRow(id);
    if (row === undefined) return undefined;
    const turns = row.open_turn === null ? undefined : await readTurns(this.#database, [row]);
    return summaryOf(row, turns?.get(row.key));
  }

  async load(id: ConversationId): Promise<Conversation> {
    const row = await this.#getRow(id);
    const stored = await this.#readEntries(row);
    const isOwnTurn = this.#isOwn(row, this.#turnOf(row, stored));
    return { id, stream: streamOf(row, stored.map(entryOf)), isOwnTurn };
  }

  async *scan(id: ConversationId): AsyncGenerator<RecordPiece> {
    const row = await this.#getRow(id);
    for (let from = 0; from < row.length; from += PIECE) {
      const stored = await this.#readEntries(row, from, Math.min(from + PIECE, row.length));
      yield { entries: stored.map(entryOf) };
    }
  }

  async *readChain(id: ConversationId): AsyncGenerator<ChainLine | ChainProblem> {
    const { key } = await this.#getRow(id);
    const rows = await this.#database.query<{ readonly seq: number; readonly line: string }>({
      text: "select seq, line from jp.chain where conversation = $1 order by seq",
      values: [key],
    });
    for (const { seq, line } of rows) yield lineOrProblem(line, seq + 1);
  }

  async findLastTurns(id: ConversationId): Promise<LastTurns | undefined> {
    await this.#getRow(id);
    return undefined;
  }

  async listPending(options: ListPendingTurnsOptions = {}): Promise<readonly PendingTurn[]> {
    const { id, labels = {}, hasMetadata = false, isBrief = false } = options;
    const ids = [options.ids, id && [id]].filter((list) => list !== undefined);
    const isLabelled = Object.keys(labels).length > 0;
    const which = [
      "c.open_turn is not null and not c.is_archived",
      ...ids.map((_list, index) => `c.id = any($${index + 2}::text[])`),
      ...(isLabelled ? [`c.labels @> $${ids.length + 2}::jsonb`] : []),
    ].join(" and ");
    const values = [...ids, ...(isLabelled ? [JSON.stringify(labels)] : [])];
    // There may be a hundred thousand.
    if (isBrief)
      return (await this.#select<VersionRow>(which, values, VERSION_COLUMNS)).map(versionOf);
    const rows = await this.#select(`${which} order by c.key`, values);
    const turns = await readTurns(this.#database, rows);
    return rows.map((row) => ({
      id: idOf(row),
      isLive: row.is_live,
      ...(hasMetadata && titleAndLabels(findMetadata(row))),
      ...(turns.get(row.key) ?? { entries: [] }),
    }));
  }

  watch(listener: ChangeListener): Disposable {
    return this.#listening.watch(listener);
  }

  async answer(
    id: ConversationId,
    event: AnswerEvent,
    options: AnswerOptions = {},
  ): Promise<AnswerResult> {
    const { askedAt, directory, signal, secret, keepsOpen = false } = options;
    signal?.throwIfAborted();
    if (!keepsOpen && secret === undefined) {
      const offered = { event, directory, ...(askedAt !== undefined && { askedAt }) };
      const result = await this.#answerClosed(id, offered);
      if (result !== undefined) return result;
    }
    const target = {
      open: () => this.open(id),
      readLastTurn: async () => {
        const row = await this.#getRow(id);
        if (row.is_archived) throw archivedError(id);
        return (await this.#readEntries(row, row.open_turn ?? 0)).map(entryOf);
      },
      offer: async (_id: ConversationId, offered: OfferedAnswer) => {
        const { key } = await this.#getRow(id);
        const { key: workspace } = await this.#ensureWorkspace();
        const place = { key, id, workspace };
        return new TableOffers(this.#database, this.#listening, place).place(offered);
      },
      ...(this.#options.ensurePrivateFolder !== undefined && {
        deliver: async (_id: ConversationId, offered: SecretOffer, aborted?: AbortSignal) =>
          (await this.#secrets(id)).deliver(offered, aborted),
      }),
    };
    return answerPending(target, id, { ...options, event });
  }

  /** Throws `module_not_loaded`, `write_failed`. */
  async #secrets(id: ConversationId) {
    const { SecretSockets } = await loadSecretSockets();
    const privateFolder = (await this.#options.ensurePrivateFolder?.()) ?? "";
    return new SecretSockets({ privateFolder, id, workspace: undefined });
  }

  /** In one transaction, without a lease: others that want one wait for it. Undefined if someone has it open. */
  async #answerClosed(
    id: ConversationId,
    offered: OfferedAnswer,
  ): Promise<AnswerResult | undefined> {
    await this.#check();
    assertId(id);
    const workspace = (await this.#findWorkspace())?.key;
    await this.#wakeUps.prepare();
    const place = { workspace: workspace ?? null, id };
    const answered = await this.#database
      .transaction((queries, isRepeated) =>
        this.#answerRow(queries, place, { offered, isRepeated }),
      )
      .catch((error: unknown) => {
        if (!(error instanceof WakeUpError)) throw error;
        const without = { offered, isRepeated: true, isSilent: true };
        return this.#database.transaction((queries) => this.#answerRow(queries, place, without));
      });
    // Only after the commit: a head that no chain has would look like a truncated chain.
    if (answered?.end !== undefined) await this.#noteHead({ id, ...answered.end });
    return answered?.result;
  }

  async #answerRow(
    queries: Queries,
    { workspace, id }: { readonly workspace: string | null; readonly id: ConversationId },
    { offered, isRepeated, isSilent = false }: GivenAnswer,
  ): Promise<{ readonly result: AnswerResult; readonly end?: OwnRun | undefined } | undefined> {
    const [row] = await queries.query<ConversationRow>({
      name: "jp_answer",
      text: `select ${COLUMNS} from jp.conversations c where c.workspace = $1 and c.id = $2 for update`,
      values: [workspace, id],
    });
    if (row === undefined) throw conversationNotFoundError(id);
    if (row.is_archived) throw archivedError(id);
    if (row.is_live) return undefined;
    const { key, length, open_turn: start } = row;
    const from = start ?? 0;
    const stored = await readEntries(queries, { key, from, end: length });
    const { event, result } = planAnswer(stored.map(entryOf), offered, isRepeated);
    if (event === undefined) return { result };
    const before = this.#turnOf(row, stored, from);
    const added = toStored(StreamEntry.fromEvent(event));
    const wasOwn = this.#isOwn(row, before);
    const chain = await openChain(queries, { key, id }, lastTurnEntries(stored.map(entryOf)));
    const growth = {
      ...growthOf(before.with([added]), [added], { wasOwn, signer: this.#signer }),
      links: chain.add([added.entry]),
    };
    const { epoch } = row;
    await appendRows(queries, { key, tenant: this.#tenant, epoch, length, fences: true }, growth);
    const { readyAt: at } = growth;
    const isWoken = at !== undefined && workspace !== null && growth.isOwnTurn && !isSilent;
    if (isWoken) await this.#wakeUps.add(queries, { workspace, queue: row.queue, id, at });
    return { result, end: chain.end };
  }

  async create(options: CreateOptions): Promise<ConversationWriter> {
    const { title, labels, baseConfig = {}, entries = [], isOwnTurn = false } = options;
    return this.#create({
      metadata: { ...(title !== undefined && { title }), ...(labels !== undefined && { labels }) },
      baseConfig: baseConfigFile(baseConfig),
      entries,
      isOwnTurn,
      starts: entries.filter(({ eventType }) => eventType === "turn_start").length,
    });
  }

  open(id: ConversationId): Promise<ConversationWriter> {
    return this.#openOwn(id);
  }

  async #openOwn(id: ConversationId): Promise<PostgresWriter> {
    const writer = await this.#openIf(id, { name: "jp_open", condition: "true", isTaken: false });
    if (writer === undefined) throw await this.#explainLocked(id, true);
    return writer;
  }

  /** Undefined if someone has it open, or the condition is not met. */
  async #openIf(
    id: ConversationId,
    { name, condition, isTaken }: OpenStatement,
  ): Promise<PostgresWriter | undefined> {
    await this.#check();
    assertId(id);
    const owner = newOwner();
    const workspace = (await this.#findWorkspace())?.key;
    const [row] = await this.#database.query<ConversationRow>({
      name,
      text: `update jp.conversations c set
          epoch = case when c.lease_owner = $3 then c.epoch else c.epoch + 1 end,
          lease_owner = $3, lease_holder = $4,
          lease_until = clock_timestamp() + make_interval(secs => $5), is_taken = ${isTaken},
          changed = pg_current_xact_id()
        where c.workspace = $1 and c.id = $2 and not c.is_archived
          and (c.lease_until is null or c.lease_until < clock_timestamp() or c.lease_owner = $3)
          and ${condition}
        returning ${COLUMNS}, ${SERVER_MS} as now, ${notifySql("changed", "c.workspace", "c.id")}`,
      values: [workspace ?? null, id, owner, holderOf(this.#options.pid), LEASE_SECONDS],
    });
    if (row === undefined || workspace === undefined) return undefined;
    return this.#openWriter(row, { owner, workspace });
  }

  /** Starts only once the workspace is known: turns left there can continue here. */
  async work(options: WorkOptions): Promise<RunningWork> {
    const { key: workspace } = await this.#ensureWorkspace();
    const { TurnWork } = await loadModule(() => import("./turn-work.ts"));
    return TurnWork.start(
      {
        url: this.#options.url,
        workspace,
        take: (id) => this.#openIf(id, TAKE),
        findReady: (limit, skipped) => this.#findReady(options.queue, limit, skipped),
        measure: () => this.#measureWork(options.queue),
      },
      options,
    );
  }

  async #measureWork(queue: string): Promise<WorkLoad> {
    const [row] = await this.#database.query<{
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
          where workspace = $1 and queue = $2 and open_turn is not null and not is_archived
        ) as turns`,
      values: [(await this.#findWorkspace())?.key, queue],
    });
    return {
      ready: Number(row?.ready ?? 0),
      oldestReadyMs: Number(row?.oldest ?? 0),
      waiting: Number(row?.waiting ?? 0),
    };
  }

  async #findReady(
    queue: string,
    limit: number,
    skipped: readonly ConversationId[],
  ): Promise<readonly ConversationId[]> {
    const workspace = (await this.#findWorkspace())?.key;
    const rows = await this.#database.query<{ readonly id: string }>({
      name: "jp_ready",
      text: `select c.id from jp.conversations c
        where c.workspace = $1 and c.queue = $2 and c.ready_at <= ${SERVER_MS} and not c.is_archived
          and (c.lease_until is null or c.lease_until < clock_timestamp())
          and c.is_own_turn and ($3::text[] is null or c.turn_key = any ($3))
          and c.id <> all ($4::text[]) and not ${isBusySql("$6")}
        order by c.ready_at limit $5`,
      values: [workspace, queue, this.#signer?.accepted ?? null, skipped, limit, this.#tenant],
    });
    return rows.flatMap(({ id }) => findConversationId(id) ?? []);
  }

  async fork(id: ConversationId, { title, keep }: ForkOptions = {}): Promise<ConversationId> {
    const row = await this.#getRow(id);
    const stored = await this.#readEntries(row);
    const entries = stored.map(entryOf);
    const { expiresAt: _expiresAt, archivedAt: _archivedAt, ...metadata } = metadataOf(row);
    const kept = keep === undefined ? entries : entries.filter((entry) => keep(entry));
    await using writer = await this.#create({
      metadata: { ...metadata, ...(title !== undefined && { title }) },
      baseConfig: row.base_config,
      entries: kept,
      isOwnTurn:
        this.#isOwn(row, this.#turnOf(row, stored)) &&
        lastTurnOf(entries).length === lastTurnOf(kept).length,
      starts: 0,
    });
    const last = await this.#lastLink(id);
    if (last !== undefined) {
      const line = new ChainBuilder(writer.id).start({ conversation: id, head: hashLink(last) });
      await this.#database.query({
        text: `insert into jp.chain (conversation, tenant, seq, line)
          select key, tenant, 0, $3 from jp.conversations where workspace = $1 and id = $2 on conflict do nothing`,
        values: [this.#workspace?.key, writer.id, chainLineToText(line).trimEnd()],
      });
    }
    return writer.id;
  }

  async listRecords(): Promise<readonly ConversationId[]> {
    return (await this.#select("true order by c.created_at, c.id", [])).map(idOf);
  }

  async exportRecord(id: ConversationId): Promise<PortableRecord> {
    const row = await this.#getRow(id);
    if (row.is_live) throw await this.#explainLocked(id, false);
    const stored = await this.#readEntries(row);
    const files = toFiles({
      metadata: row.metadata,
      baseConfig: row.base_config ?? undefined,
      entries: stored.map(entryOf),
      ...(await readOthers(this.#database, row.key)),
    });
    return {
      id,
      isArchived: row.is_archived,
      isOwnTurn: this.#isOwn(row, this.#turnOf(row, stored)),
      folder: row.folder ?? folderName(id, metadataOf(row).title),
      files,
    };
  }

  async importRecord(record: PortableRecord): Promise<boolean> {
    const { id, files, isArchived, isOwnTurn } = record;
    await this.#check();
    assertFileId(id);
    const { key: workspace } = await this.#ensureWorkspace();
    const rows = toRows(id, files);
    const { metadata: text, baseConfig = null, entries } = rows;
    const stored = entries.map(toStored);
    const before = new LastTurn(this.#placeOf(id));
    const turn = before.with(stored);
    const growth = growthOf(turn, stored, { wasOwn: isOwnTurn, signer: this.#signer });
    const isMade = await this.#database.transaction(async (queries) => {
      const [made] = await queries.query<{ readonly key: string }>({
        text: `insert into jp.conversations (workspace, id, created_at, metadata, labels, base_config, folder,
            is_archived, length, last_event_at, open_turn, ready_at, is_own_turn, turn_key, turn_signature,
            tenant, bytes)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${readySql("$12")}, $13, $14, $15,
            $16, ${grownSql("$16", "$17", "0")})
          on conflict (workspace, id) do nothing returning key`,
        values: [
          workspace,
          id,
          fileIdCreatedAt(id),
          text,
          labelsIn(text),
          baseConfig,
          record.folder,
          isArchived,
          stored.length,
          growth.lastEventAt ?? null,
          growth.openTurn ?? null,
          growth.readyAt ?? null,
          isOwnTurn,
          (isOwnTurn ? growth.signature?.key : undefined) ?? null,
          (isOwnTurn ? growth.signature?.signature : undefined) ?? null,
          this.#tenant,
          bytesOf(growth.texts),
        ],
      });
      if (made === undefined) return false;
      await queries.query({
        text: `insert into jp.events (conversation, tenant, seq, entry)
          select $1, $3, place - 1, entry from unnest($2::text[]) with ordinality as added (entry, place)`,
        values: [made.key, growth.texts, this.#tenant],
      });
      await insertOthers(queries, { key: made.key, tenant: this.#tenant }, rows);
      await queries.query({
        // An id from the future would push all later ones after it.
        text: `update jp.workspaces set last_id = greatest(last_id, $2)
          where key = $1 and $2 <= extract(epoch from clock_timestamp()) * 10`,
        values: [workspace, fileIdToNumber(id)],
      });
      return true;
    });
    if (isMade) return true;
    const found = await this.exportRecord(id);
    const isSame = found.isArchived === isArchived && isSameFiles(found.files, files);
    if (isSame) return false;
    throw conversationExistsError(id);
  }

  /** The text of the file for this part of the record. Undefined if there is none. */
  async readText(id: ConversationId, file: RecordFile): Promise<string | undefined> {
    const row = await this.#getRow(id);
    if (file === "metadata") return row.metadata;
    if (file === "baseConfig") return row.base_config ?? undefined;
    const entries = (await this.#readEntries(row)).map(entryOf);
    return eventFileBytes(entries).toString("utf8");
  }

  /** Replaces it with a validated text. Throws `conversation_locked`, `record_changed`. */
  async replaceText(id: ConversationId, file: RecordFile, edit: FileEdit): Promise<void> {
    const { before, after } = edit;
    await using writer = await this.#openOwn(id);
    if ((await this.readText(id, file)) !== before) throw recordChangedError(`${file} of ${id}`);
    if (file === "events") await writer.replaceEntries(parseEvents(id, after));
    else await writer.replaceText(file, after);
  }

  async remove(id: ConversationId): Promise<void> {
    const last = await this.#lastLink(id);
    await this.#change(id, "delete from jp.conversations c where");
    if (last === undefined) return;
    await this.#noteHead({ id, head: hashLink(last), length: last.seq + 1, isRemoved: true });
  }

  async #lastLink(id: ConversationId): Promise<ChainLink | undefined> {
    const { key } = await this.#getRow(id);
    const [row] = await this.#database.query<{ readonly line: string }>({
      text: "select line from jp.chain where conversation = $1 order by seq desc limit 1",
      values: [key],
    });
    return row && findChainLine(row.line)?.link;
  }

  async archive(id: ConversationId): Promise<void> {
    const row = await this.#getRow(id);
    if (row.is_archived && !row.is_live) return;
    await this.#setArchived(row, true, { ...metadataOf(row), archivedAt: await this.#now() });
  }

  async unarchive(id: ConversationId): Promise<void> {
    const row = await this.#getRow(id);
    const { archivedAt: _archivedAt, ...metadata } = metadataOf(row);
    await this.#setArchived(row, false, metadata);
  }

  /** Closes its connections. Open conversations can no longer be written. */
  async close(): Promise<void> {
    await this.#listening.close();
    await this.#wakeUps.close();
    if (!this.#isShared) await this.#database.close();
  }

  async #setArchived(
    row: ConversationRow,
    isArchived: boolean,
    metadata: ConversationMetadata,
  ): Promise<void> {
    const set = `is_archived = $3, metadata = $4, changed = pg_current_xact_id()`;
    const json = metadataFile(metadata);
    await this.#change(idOf(row), `update jp.conversations c set ${set} where`, [isArchived, json]);
  }

  /** Changes a conversation that no one has open. Throws `conversation_not_found`, `conversation_locked`. */
  async #change(
    id: ConversationId,
    statement: string,
    values: readonly unknown[] = [],
  ): Promise<void> {
    await this.#check();
    assertId(id);
    const workspace = (await this.#findWorkspace())?.key;
    const rows = await this.#database.query({
      text: `with done as (
          ${statement} c.workspace = $1 and c.id = $2
            and (c.lease_until is null or c.lease_until < clock_timestamp())
          returning c.workspace, c.id
        ) select ${notifySql("changed", "workspace", "id")} from done`,
      values: [workspace ?? null, id, ...values],
    });
    if (rows.length === 0) throw await this.#explainLocked(id, false);
  }

  async #explainLocked(id: ConversationId, isForWriting: boolean): Promise<Error> {
    const row = await this.#findRow(id);
    if (row === undefined) return conversationNotFoundError(id);
    if (isForWriting && row.is_archived) return archivedError(id);
    const isOwn = row.lease_owner !== null && isOfThisProcess(row.lease_owner);
    return new LockedError(id, isOwn ? THIS_PROCESS : (row.lease_holder ?? "another process"));
  }

  async #create(parts: NewConversation): Promise<ConversationWriter> {
    await this.#check();
    const { entries, isOwnTurn, baseConfig, starts } = parts;
    const { key: workspace } = await this.#ensureWorkspace();
    const { id, now } = await this.#reserveId(workspace);
    const createdAt = timestampFromDate(now);
    const metadata = metadataFile({ ...parts.metadata, lastActivatedAt: createdAt });
    const stored = entries.map(toStored);
    const texts = stored.map(({ text }) => text);
    const turn = new LastTurn(this.#placeOf(id)).with(stored);
    const { openTurn, readyAt } = turn.state;
    const signature =
      isOwnTurn && turn.digest !== undefined ? this.#signer?.sign(turn.digest) : undefined;
    const owner = newOwner();
    const [row] = await this.#database.query<ConversationRow>({
      name: "jp_create",
      text: `with c as (
          insert into jp.conversations (workspace, id, created_at, metadata, labels, base_config,
            length, last_event_at, open_turn, ready_at, is_own_turn, turn_key, turn_signature,
            epoch, lease_owner, lease_holder, lease_until, tenant, bytes)
          values ($1, $2, $3, $4, $5, $6, cardinality($7::text[]), $8, $9, ${readySql("$10")}, $11, $12, $13,
            1, $14, $15, clock_timestamp() + make_interval(secs => $16),
            $17, ${grownSql("$17", "$18", "$19")})
          on conflict (workspace, id) do update set lease_until = excluded.lease_until
            where jp.conversations.lease_owner = excluded.lease_owner
          returning *
        ), added as (
          insert into jp.events (conversation, tenant, seq, entry)
          select c.key, c.tenant, place - 1, entry from c, unnest($7::text[]) with ordinality as added (entry, place)
          on conflict do nothing
        ) select ${COLUMNS}, ${SERVER_MS} as now, ${notifySql("changed", "c.workspace", "c.id")} from c`,
      values: [
        workspace,
        id,
        createdAt,
        metadata,
        labelsIn(metadata),
        baseConfig,
        texts,
        findTimestamp(entries.at(-1)?.raw["timestamp"]) ?? null,
        openTurn ?? null,
        readyAt ?? null,
        isOwnTurn,
        signature?.key ?? null,
        signature?.signature ?? null,
        owner,
        holderOf(this.#options.pid),
        LEASE_SECONDS,
        this.#tenant,
        bytesOf(texts),
        starts,
      ],
    });
    // An imported conversation may have the id.
    if (row === undefined) return this.#create(parts);
    return this.#openWriter(row, { owner, workspace }, stored);
  }

  async #openWriter(
    row: ConversationRow & { readonly now?: string },
    held: { readonly owner: string; readonly workspace: string },
    known?: readonly StoredEntry[],
  ): Promise<PostgresWriter> {
    const clock = this.#options.clock ?? clockAt(Number(row.now ?? Date.now()));
    const stored = known ?? (await this.#readHeld(row, held.owner));
    const turn = this.#turnOf(row, stored);
    return new PostgresWriter({
      clock,
      database: this.#database,
      leases: this.#leases,
      listening: this.#listening,
      row: {
        ...held,
        tenant: this.#tenant,
        key: row.key,
        id: idOf(row),
        epoch: row.epoch,
        length: row.length,
        metadata: metadataOf(row),
        isOwnTurn: this.#isOwn(row, turn),
      },
      signer: this.#signer,
      wakeUps: this.#wakeUps,
      noteHead: (end) => this.#noteHead({ id: idOf(row), ...end }),
      ...(this.#options.ensurePrivateFolder !== undefined && {
        openSecrets: () => this.#secrets(idOf(row)),
      }),
      stream: streamOf(row, stored.map(entryOf)),
      turn,
    });
  }

  /** Never throws: the chain has it. Only a later truncation of the chain would go unnoticed. */
  async #noteHead(noted: Omit<HeadToNote, "workspace" | "folder">): Promise<void> {
    const { headsFile, root } = this.#options;
    if (headsFile === undefined) return;
    try {
      const { noteHead } = await loadModule(() => import("../fs/chain-file.ts"));
      const folder = root === undefined ? undefined : realpathSync(root);
      noteHead(headsFile, { ...noted, workspace: this.#name, folder });
    } catch {
      // See above.
    }
  }

  /** A name of the workspace that is unique among all of this user's. */
  get #name(): string {
    return `${this.#database.address}#${this.#tenant}/${this.#workspace?.name ?? ""}`;
  }

  #placeOf(conversation: string) {
    return { tenant: this.#tenant, workspace: this.#workspace?.name ?? "", conversation };
  }

  /** Built from all entries, or from those starting at `from`. */
  #turnOf({ id }: ConversationRow, stored: readonly StoredEntry[], from = 0): LastTurn {
    return new LastTurn(this.#placeOf(id), from).with(stored);
  }

  #isOwn(row: ConversationRow, { digest }: LastTurn): boolean {
    if (!row.is_own_turn || this.#signer === undefined) return row.is_own_turn;
    const { turn_key: key, turn_signature: signature } = row;
    if (digest === undefined) return true; // There is no turn.
    return key !== null && signature !== null && this.#signer.accepts(digest, { key, signature });
  }

  /** Concurrent callers get different ids. They have the form of file ids, so that records can be moved to files. */
  async #reserveId(
    workspace: string,
  ): Promise<{ readonly id: ConversationId; readonly now: Date }> {
    const { clock } = this.#options;
    const [row] = await this.#database.query<{ readonly last_id: string; readonly now: string }>({
      name: "jp_reserve",
      text: `with time as (
          select coalesce($2::bigint, ${SERVER_MS}) as now
        )
        update jp.workspaces set last_id = greatest(last_id + 1, now / 100) from time
        where key = $1 returning last_id, now`,
      values: [workspace, clock?.now().getTime() ?? null],
    });
    if (row === undefined) throw new Error("the workspace was removed");
    return { id: fileIdFromNumber(Number(row.last_id)), now: new Date(Number(row.now)) };
  }

  async #now(): Promise<Timestamp> {
    const { clock } = this.#options;
    if (clock !== undefined) return timestampFromDate(clock.now());
    const [row] = await this.#database.query<{ readonly now: string }>({
      text: `select ${SERVER_MS} as now`,
    });
    return timestampFromDate(new Date(Number(row?.now)));
  }

  #check(): Promise<void> {
    this.#checked ??= this.#prepare().catch((error: unknown) => {
      this.#checked = undefined;
      throw error;
    });
    return this.#checked;
  }

  async #prepare(): Promise<void> {
    await assertVersion(this.#database);
    const { keys } = this.#options;
    this.#signer = keys && new TurnSigner(await keys());
  }

  get #tenant(): string {
    return this.#options.tenant ?? "default";
  }

  /** Undefined until something is stored in it. */
  async #findWorkspace(): Promise<WorkspaceRow | undefined> {
    if (this.#workspace !== undefined) return this.#workspace;
    await this.#check();
    const { workspace = "default" } = this.#options;
    const name = typeof workspace === "string" ? workspace : workspace.find();
    return name === undefined ? undefined : this.#findNamed(name);
  }

  async #findNamed(name: string): Promise<WorkspaceRow | undefined> {
    const [row] = await this.#database.query<{ readonly key: string }>({
      text: "select key from jp.workspaces where tenant = $1 and name = $2",
      values: [this.#tenant, name],
    });
    if (row !== undefined) this.#workspace = { key: row.key, name };
    return this.#workspace;
  }

  async #ensureWorkspace(): Promise<WorkspaceRow> {
    const found = await this.#findWorkspace();
    if (found !== undefined) return found;
    const { workspace = "default" } = this.#options;
    const name = typeof workspace === "string" ? workspace : await workspace.ensure();
    await this.#database.query({
      text: "insert into jp.workspaces (tenant, name) values ($1, $2) on conflict do nothing",
      values: [this.#tenant, name],
    });
    const made = await this.#findNamed(name);
    if (made === undefined) throw new Error("the workspace was removed");
    return made;
  }

  async #select<Row extends Pick<ConversationRow, "id"> = ConversationRow>(
    where: string,
    values: readonly unknown[],
    columns = COLUMNS,
  ): Promise<readonly Row[]> {
    await this.#check();
    const workspace = (await this.#findWorkspace())?.key;
    if (workspace === undefined) return [];
    const rows = await this.#database.query<Row>({
      text: `select ${columns} from jp.conversations c where c.workspace = $1 and ${where}`,
      values: [workspace, ...values],
    });
    return rows.filter(({ id }) => findConversationId(id) !== undefined); // Manual changes may add invalid ids.
  }

  async #findRow(id: ConversationId): Promise<ConversationRow | undefined> {
    const [row] = await this.#select("c.id = $2", [id]);
    return row;
  }

  async #getRow(id: ConversationId): Promise<ConversationRow> {
    assertId(id);
    const row = await this.#findRow(id);
    if (row === undefined) throw conversationNotFoundError(id);
    return row;
  }

  /** The entries of a conversation that was just opened. If they cannot be read, it is released for others to try. */
  async #readHeld(row: ConversationRow, owner: string): Promise<readonly StoredEntry[]> {
    try {
      return await this.#readEntries(row);
    } catch (error) {
      const { key, epoch } = row;
      await releaseRow(this.#database, { key, epoch, owner }).catch(() => undefined);
      throw error;
    }
  }

  /** Reads as many as the row says: later appends do not belong to it. */
  async #readEntries(
    { key, length }: ConversationRow,
    from = 0,
    end = length,
  ): Promise<readonly StoredEntry[]> {
    return readEntries(this.#database, { key, from, end });
  }
}

/** A clock that shows this time now. All machines of a store use its server's time. */
function clockAt(ms: number): Clock {
  const ahead = ms - Date.now();
  return {
    now: () => new Date(Date.now() + ahead),
    sleep: (time, signal) => systemClock.sleep(time, signal),
  };
}
