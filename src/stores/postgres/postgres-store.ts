/**
 * Stores conversations in PostgreSQL, for programs and teams with more than one machine. Every process with a
 * connection may read, answer and write; leases with growing epochs ensure a single writer. Times are those of the
 * server.
 */
import {
  type AnswerEvent,
  type ChainLine,
  type ConversationId,
  type ConversationMetadata,
  isRecordedFile,
  type KeptFile,
  keptFileName,
  type StreamEntry,
  timestampFromDate,
  titleAndLabels,
} from "../../record/conversation/index.ts";
import { abortable, type Clock, loadModule, systemClock } from "../../util/index.ts";
import { answerPending, type AnswerTarget } from "../answering.ts";
import { removedHead } from "../chain-growth.ts";
import { baseConfigFile, metadataFile } from "../fs/conversation-files.ts";
import { eventFileBytes } from "../fs/event-layout.ts";
import { fileIdFromNumber } from "../fs/file-id.ts";
import { loadSecretSockets } from "../fs/load-secret-sockets.ts";
import { forkEntries, forkMetadata, keptFilesOf } from "../fork.ts";
import type {
  AnswerOptions,
  AnswerResult,
  ChainProblem,
  ChangeListener,
  Conversation,
  ConversationStore,
  ConversationSummary,
  CreateOptions,
  ForkOptions,
  LastTurns,
  ListOptions,
  ListPendingTurnsOptions,
  LoadOptions,
  OpenOptions,
  PendingPage,
  PendingPageQuery,
  PendingTurn,
  RecordPiece,
  RunningWork,
  WorkOptions,
} from "../port.ts";
import { assertSameRecord, type PortableRecord, type PortableStore } from "../portable.ts";
import {
  archivedError,
  conversationNotFoundError,
  LockedError,
  recordChangedError,
  StorageError,
  THIS_PROCESS,
} from "../storage-error.ts";
import type {
  ClaimedWorkspace,
  FileEdit,
  RecordFile,
  SignedTurn,
  StoredWorkspace,
  WorkspaceClaims,
} from "../workspace-port.ts";
import { ChainRows } from "./chain-rows.ts";
import { type Channel, type Connections, openConnections } from "./channel.ts";
import { answerClosed } from "./closed-answer.ts";
import { SERVER_MS } from "./database.ts";
import { EarlierRows, streamOf } from "./earlier-rows.ts";
import { holderOf, isOfThisProcess, LEASE_SECONDS, Leases, newOwner } from "./leases.ts";
import { Listening, notifySql } from "./listening.ts";
import { TableOffers } from "./offers.ts";
import { isBusySql } from "./limits.ts";
import { readPendingPage } from "./pending-page.ts";
import { exportRow, importRow, parseEvents } from "./portable-rows.ts";
import { PostgresWriter, type StoreParts, type WriterParts } from "./postgres-writer.ts";
import { type CopiedFiles, growthOf, insertRow, releaseRow, toStored } from "./row-changes.ts";
import type { PostgresStoreOptions } from "./store-options.ts";
import {
  assertId,
  COLUMNS,
  type EndRow,
  entryOf,
  idOf,
  joinEnd,
  metadataOf,
  type OpenedRow,
  type ReadRecord,
  VERSION_COLUMNS,
  readySql,
  versionOf,
  type VersionRow,
  WorkspaceRows,
} from "./workspace-rows.ts";

interface NewConversation {
  readonly metadata: Omit<ConversationMetadata, "lastActivatedAt">;
  readonly baseConfig: string | null;
  readonly entries: readonly StreamEntry[];
  readonly isOwnTurn: boolean;
  readonly isCopy: boolean;
  readonly files?: CopiedFiles;
}

/** Opens a conversation that meets a condition. Its parameters are the tenant, the workspace, the owner, and its values. */
interface OpenStatement {
  readonly name: string;
  readonly condition: string;
  readonly values: readonly unknown[];
  /** Taken by a worker. */
  readonly isTaken: boolean;
  /** With all entries, or else with the last turn. */
  readonly isWhole: boolean;
}

const OPEN = "c.tenant = $6 and c.workspace = $1 and c.id = $2";

/**
 * Workers that take turns at the same time take different ones, without waiting for each other. `jp.may_take` has a
 * declared cost, so that it is evaluated last.
 */
const TAKE = `c.tenant = $6 and c.workspace = $1 and c.id = (
    select c.id from jp.conversations c
    where ${readySql({ tenant: "$6", workspace: "$1", queue: "$2", keys: "$7", skipped: "$8", owner: "$3" })}
      and not ${isBusySql("$6")}
    order by c.ready_at limit 1 for update skip locked
  ) and jp.may_take(c.tenant, c.key)`;

/** How often a worker looks whether its workspace has a name by now. */
const NAME_LOOK_MS = 1000;

/** How many entries are read at once. */
const PIECE = 5000;

export class PostgresStore implements ConversationStore, PortableStore, WorkspaceClaims {
  readonly #options: PostgresStoreOptions;
  readonly #isShared: boolean;
  readonly #channel: Channel;
  readonly #rows: WorkspaceRows;
  readonly #parts: StoreParts;

  /** Given connections are shared, and closed by their opener. */
  constructor(options: PostgresStoreOptions, shared?: Connections) {
    this.#options = options;
    this.#isShared = shared !== undefined;
    const connections = shared ?? openConnections(options.url, options.connecting);
    const { database, channel } = connections;
    this.#channel = channel;
    const rows = new WorkspaceRows(database, options);
    this.#rows = rows;
    this.#parts = {
      rows,
      chains: new ChainRows(rows, options),
      leases: new Leases(database, rows.tenant),
      listening: new Listening(connections, {
        tenant: rows.tenant,
        findWorkspace: () => rows.findKey(),
      }),
    };
  }

  async list({ which = "live", limit, before }: ListOptions = {}): Promise<ConversationSummary[]> {
    const rows = await this.#rows.select(
      `($3::text = 'all' or c.is_archived = ($3 = 'archived'))
        and ($4::text is null or (c.created_at, c.id) < ($4, $5))
        order by c.created_at desc, c.id desc limit $6`,
      [which, before?.createdAt ?? null, before?.id ?? null, limit ?? null],
    );
    return this.#rows.summarize(rows);
  }

  async find(id: ConversationId): Promise<ConversationSummary | undefined> {
    const row = await this.#rows.find(id);
    return row && (await this.#rows.summarize([row]))[0];
  }

  async load(id: ConversationId, { only }: LoadOptions = {}): Promise<Conversation> {
    const row = await this.#rows.get(id);
    const isWhole = only === undefined;
    const record = await (isWhole ? this.#rows.readRecord(row) : this.#rows.readEnd(row));
    const stream = streamOf(this.#rows, row, record);
    if (only === "visible") await stream.loadVisible();
    return { id, stream, isOwnTurn: record.isOwnTurn };
  }

  async *scan(id: ConversationId): AsyncGenerator<RecordPiece> {
    const row = await this.#rows.get(id);
    for (let from = 0; from < row.length; from += PIECE) {
      const end = Math.min(from + PIECE, row.length);
      const stored = await this.#rows.readEntries(row, { from, end });
      yield { entries: stored.map(entryOf) };
    }
  }

  async *readChain(id: ConversationId): AsyncGenerator<ChainLine | ChainProblem> {
    yield* this.#parts.chains.read((await this.#rows.get(id)).key);
  }

  /** See `WorkspaceStore.findSigned`. */
  async findSigned(id: ConversationId): Promise<SignedTurn | undefined> {
    const row = await this.#rows.get(id);
    if (this.#rows.signer === undefined) return undefined;
    const { signed } = await this.#rows.readRecord(row);
    const seen = this.#rows.findSeen(id);
    const restored = this.#rows.findRestored(id);
    return { store: this.#rows.name, ...(signed && { signed }), seen, restored };
  }

  async readFile(id: ConversationId, file: KeptFile): Promise<Uint8Array | undefined> {
    const { key } = await this.#rows.get(id);
    const [found] = await this.#rows.database.query<{ readonly content: Buffer }>({
      text: "select content from jp.files where tenant = $1 and conversation = $2 and name = $3",
      values: [this.#rows.tenant, key, keptFileName(file)],
    });
    return found !== undefined && isRecordedFile(found.content, file) ? found.content : undefined;
  }

  async findLastTurns(id: ConversationId, count: number): Promise<LastTurns | undefined> {
    const row = await this.#rows.get(id);
    return new EarlierRows(this.#rows, row, row.length).findLastTurns(count);
  }

  async listPending(options: ListPendingTurnsOptions = {}): Promise<readonly PendingTurn[]> {
    const { id, labels = {}, hasMetadata = false, isBrief = false } = options;
    const ids = [options.ids, id && [id]].filter((list) => list !== undefined);
    const isLabelled = Object.keys(labels).length > 0;
    const which = [
      "c.open_turn is not null and not c.is_archived",
      ...ids.map((_list, index) => `c.id = any($${index + 3}::text[])`),
      ...(isLabelled ? [`c.labels @> $${ids.length + 3}::jsonb`] : []),
    ].join(" and ");
    const values = [...ids, ...(isLabelled ? [JSON.stringify(labels)] : [])];
    // There may be a hundred thousand.
    if (isBrief)
      return (await this.#rows.select<VersionRow>(which, values, VERSION_COLUMNS)).map(versionOf);
    const rows = await this.#rows.select(`${which} order by c.key`, values);
    return this.#rows.pendingTurns(rows, hasMetadata);
  }

  listPendingPage(query: PendingPageQuery): Promise<PendingPage> {
    return readPendingPage(this.#rows, query);
  }

  watch(listener: ChangeListener): Disposable {
    return this.#parts.listening.watch(listener);
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
      const result = await answerClosed(this.#parts, id, offered);
      if (result !== undefined) return result;
    }
    return answerPending(this.#target(), id, { ...options, event });
  }

  #target(): AnswerTarget {
    return {
      // A turn that continues here reads the rest once a model is asked.
      open: (id) => this.open(id, { only: "end" }),
      readLastTurn: async (id) => {
        const row = await this.#rows.get(id);
        if (row.is_archived) throw archivedError(id);
        return (await this.#rows.readEnd(row)).entries;
      },
      offer: async (id, offered) => {
        const { key } = await this.#rows.get(id);
        const { tenant } = this.#rows;
        const place = { tenant, key, id, workspace: await this.#rows.ensureKey() };
        return new TableOffers(this.#rows.database, this.#parts.listening, place).place(offered);
      },
      ...(this.#options.ensurePrivateFolder !== undefined && {
        deliver: async (id, offered, signal) => (await this.#secrets(id)).deliver(offered, signal),
      }),
    };
  }

  /** Throws `module_not_loaded`, `write_failed`. */
  async #secrets(id: ConversationId) {
    const { SecretSockets } = await loadSecretSockets();
    const privateFolder = (await this.#options.ensurePrivateFolder?.()) ?? "";
    return new SecretSockets({ privateFolder, id, workspace: undefined });
  }

  async create(options: CreateOptions): Promise<PostgresWriter> {
    const { baseConfig = {}, entries = [], isOwnTurn = false } = options;
    return this.#create({
      metadata: titleAndLabels(options),
      baseConfig: baseConfigFile(baseConfig),
      entries,
      isOwnTurn,
      isCopy: false,
    });
  }

  async open(id: ConversationId, { only }: OpenOptions = {}): Promise<PostgresWriter> {
    assertId(id);
    const isWhole = only !== "end";
    const writer = await this.#openIf({
      name: isWhole ? "jp_open" : "jp_open_end",
      condition: OPEN,
      values: [id],
      isTaken: false,
      isWhole,
    });
    if (writer === undefined) throw await this.#explainLocked(id, true);
    return writer;
  }

  /** Undefined if someone has it open, or the condition is not met. */
  async #openIf({
    name,
    condition,
    values: [first, ...values],
    isTaken,
    isWhole,
  }: OpenStatement): Promise<PostgresWriter | undefined> {
    const workspace = await this.#rows.findKey();
    if (workspace === undefined) return undefined;
    const owner = newOwner();
    const [row] = await this.#rows.database.query<OpenedRow & EndRow>({
      name,
      text: `with c as (
          update jp.conversations c set
            epoch = case when c.lease_owner = $3 then c.epoch else c.epoch + 1 end,
            lease_owner = $3, lease_holder = $4,
            lease_until = clock_timestamp() + make_interval(secs => $5), is_taken = ${isTaken},
            changed = pg_current_xact_id()
          where ${condition} and not c.is_archived
            and (c.lease_until is null or c.lease_until < clock_timestamp() or c.lease_owner = $3)
          returning c.*
        )
        select ${COLUMNS}, ${SERVER_MS} as now, ${notifySql("changed", "c.workspace", "c.id")},
          ${isWhole ? "0 as start, null as entries from c" : `last.start, last.entries from c ${joinEnd("$6")}`}`,
      values: [
        workspace,
        first,
        owner,
        holderOf(this.#options.pid),
        LEASE_SECONDS,
        this.#rows.tenant,
        ...values,
      ],
    });
    if (row === undefined) return undefined;
    const record = await this.#readHeld(row, owner);
    return this.#createWriter(row, { owner, workspace, record });
  }

  /** Starts only once the workspace is known: turns left there can continue here. */
  async work(options: WorkOptions): Promise<RunningWork> {
    const { signal = new AbortController().signal } = options;
    const workspace = await this.#untilNamed(options, signal);
    const { TurnWork } = await loadModule(() => import("./turn-work.ts"));
    signal.throwIfAborted();
    const take = (skipped: readonly ConversationId[]) => {
      const values = this.#rows.queueValues(options.queue, skipped);
      return this.#openIf({
        name: "jp_take",
        condition: TAKE,
        values,
        isTaken: true,
        isWhole: false,
      });
    };
    return new TurnWork({ workspace, channel: this.#channel, rows: this.#rows, take }, options);
  }

  /** A worker makes no `.jp/.store-id`, so it waits until someone else has named the workspace. Throws the signal's reason. */
  async #untilNamed({ onProblem }: WorkOptions, signal: AbortSignal): Promise<string> {
    for (let isTold = false; ; isTold = true) {
      try {
        return await abortable(this.#rows.ensureKeyForWorker(), signal);
      } catch (error) {
        if (!(error instanceof StorageError) || error.code !== "workspace_unnamed") throw error;
        if (!isTold) onProblem?.(error);
        await abortable(systemClock.sleep(NAME_LOOK_MS, signal), signal);
      }
    }
  }

  async fork(id: ConversationId, { title, keep }: ForkOptions = {}): Promise<ConversationId> {
    const row = await this.#rows.get(id);
    const copied = forkEntries(await this.#rows.readRecord(row), keep);
    const files = copied.entries.flatMap(({ raw }) => keptFilesOf(raw).map(keptFileName));
    await using writer = await this.#create({
      metadata: forkMetadata(metadataOf(row), title),
      baseConfig: row.base_config,
      ...copied,
      isCopy: true,
      ...(files.length > 0 && { files: { from: row.key, names: files } }),
    });
    await this.#parts.chains.copy({ key: row.key, id }, writer.id);
    return writer.id;
  }

  findStored(): Promise<StoredWorkspace | undefined> {
    return this.#rows.findRow();
  }

  claim(isOther: boolean): Promise<ClaimedWorkspace> {
    return this.#rows.claim(isOther);
  }

  async listRecords(): Promise<readonly ConversationId[]> {
    return (await this.#rows.select("true order by c.created_at, c.id")).map(idOf);
  }

  async exportRecord(id: ConversationId): Promise<PortableRecord> {
    const row = await this.#rows.get(id);
    if (row.is_live) throw await this.#explainLocked(id, false);
    return exportRow(this.#rows, row);
  }

  async importRecord(record: PortableRecord): Promise<boolean> {
    const isNew = await importRow(this.#rows, record);
    if (!isNew) assertSameRecord(await this.exportRecord(record.id), record);
    return isNew;
  }

  /** The text of the file for this part of the record. Undefined if there is none. */
  async readText(id: ConversationId, file: RecordFile): Promise<string | undefined> {
    const row = await this.#rows.get(id);
    if (file === "metadata") return row.metadata;
    if (file === "baseConfig") return row.base_config ?? undefined;
    const entries = (await this.#rows.readEntries(row)).map(entryOf);
    return eventFileBytes(entries).toString("utf8");
  }

  /** Replaces it with a validated text. Throws `conversation_locked`, `record_changed`. */
  async replaceText(id: ConversationId, file: RecordFile, edit: FileEdit): Promise<void> {
    const { before, after } = edit;
    await using writer = await this.open(id);
    if ((await this.readText(id, file)) !== before) throw recordChangedError(`${file} of ${id}`);
    if (file === "events") await writer.replaceEntries(parseEvents(id, after));
    else await writer.replaceText(file, after);
  }

  async remove(id: ConversationId): Promise<void> {
    const { key } = await this.#rows.get(id);
    const last = await this.#parts.chains.findLast(key);
    await this.#change(id, "delete from jp.conversations c where");
    if (last !== undefined) await this.#parts.chains.noteHead({ id, ...removedHead(last) });
  }

  async archive(id: ConversationId): Promise<void> {
    const row = await this.#rows.get(id);
    if (row.is_archived && !row.is_live) return;
    await this.#setArchived(id, { ...metadataOf(row), archivedAt: await this.#rows.now() });
  }

  async unarchive(id: ConversationId): Promise<void> {
    const { archivedAt: _archivedAt, ...metadata } = metadataOf(await this.#rows.get(id));
    await this.#setArchived(id, metadata);
  }

  /** Closes its connections. Open conversations can no longer be written. */
  async close(): Promise<void> {
    await this.#parts.listening.close();
    if (!this.#isShared) await this.#rows.database.close();
  }

  async #setArchived(id: ConversationId, metadata: ConversationMetadata): Promise<void> {
    const set = `is_archived = $4, metadata = $5, changed = pg_current_xact_id()`;
    const values = [metadata.archivedAt !== undefined, metadataFile(metadata)];
    await this.#change(id, `update jp.conversations c set ${set} where`, values);
  }

  /** Changes a conversation that no one has open. Throws `conversation_not_found`, `conversation_locked`. */
  async #change(
    id: ConversationId,
    statement: string,
    values: readonly unknown[] = [],
  ): Promise<void> {
    const workspace = await this.#rows.findKeyFor(id);
    const rows = await this.#rows.database.query({
      text: `with done as (
          ${statement} c.tenant = $1 and c.workspace = $2 and c.id = $3
            and (c.lease_until is null or c.lease_until < clock_timestamp())
          returning c.workspace, c.id
        ) select ${notifySql("changed", "workspace", "id")} from done`,
      values: [this.#rows.tenant, workspace ?? null, id, ...values],
    });
    if (rows.length === 0) throw await this.#explainLocked(id, false);
  }

  async #explainLocked(id: ConversationId, isForWriting: boolean): Promise<Error> {
    const row = await this.#rows.find(id);
    if (row === undefined) return conversationNotFoundError(id);
    if (isForWriting && row.is_archived) return archivedError(id);
    const isOwn = row.lease_owner !== null && isOfThisProcess(row.lease_owner);
    return new LockedError(id, isOwn ? THIS_PROCESS : (row.lease_holder ?? "another process"));
  }

  async #create(parts: NewConversation): Promise<PostgresWriter> {
    const { baseConfig, isOwnTurn, isCopy, files } = parts;
    const workspace = await this.#rows.ensureKey();
    const { tenant, signer } = this.#rows;
    const { id, now } = await this.#reserveId(workspace);
    const createdAt = timestampFromDate(now);
    const stored = parts.entries.map(toStored);
    const turn = this.#rows.turnAt(id).with(stored);
    const owner = newOwner();
    const row = await insertRow(this.#rows.database, {
      workspace,
      tenant,
      id,
      createdAt,
      metadata: metadataFile({ ...parts.metadata, lastActivatedAt: createdAt }),
      baseConfig,
      growth: growthOf(turn, stored, { isOwnTurn, isCopy, signer }),
      lease: { owner, holder: holderOf(this.#options.pid) },
      ...(files !== undefined && { files }),
    });
    // An imported conversation may have the id.
    if (row === undefined) return this.#create(parts);
    return this.#createWriter(row, { owner, workspace, record: this.#rows.recordOf(row, stored) });
  }

  #createWriter(
    row: OpenedRow,
    held: Pick<WriterParts, "owner" | "workspace" | "record">,
  ): PostgresWriter {
    const { clock = clockAt(Number(row.now)), ensurePrivateFolder } = this.#options;
    return new PostgresWriter({
      ...this.#parts,
      ...held,
      row,
      clock,
      ...(ensurePrivateFolder !== undefined && { openSecrets: () => this.#secrets(idOf(row)) }),
    });
  }

  /** Concurrent callers get different ids. They have the form of file ids, so that records can be moved to files. */
  async #reserveId(
    workspace: string,
  ): Promise<{ readonly id: ConversationId; readonly now: Date }> {
    const { clock } = this.#options;
    const [row] = await this.#rows.database.query<{
      readonly last_id: string;
      readonly now: string;
    }>({
      name: "jp_reserve",
      text: `with time as (
          select coalesce($2::bigint, ${SERVER_MS}) as now
        )
        update jp.workspaces set last_id = greatest(last_id + 1, now / 100) from time
        where tenant = $3 and key = $1 returning last_id, now`,
      values: [workspace, clock?.now().getTime() ?? null, this.#rows.tenant],
    });
    if (row === undefined) throw new Error("the workspace was removed");
    return { id: fileIdFromNumber(Number(row.last_id)), now: new Date(Number(row.now)) };
  }

  /** The record of a conversation that was just opened. If it cannot be read, it is released for others to try. */
  async #readHeld(row: OpenedRow & EndRow, owner: string): Promise<ReadRecord> {
    try {
      return await this.#rows.toEnd(row, row);
    } catch (error) {
      const { key, epoch } = row;
      const { database, tenant } = this.#rows;
      await releaseRow(database, { tenant, key, epoch, owner }).catch(() => undefined);
      throw error;
    }
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
