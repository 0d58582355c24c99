/** Writes a conversation in PostgreSQL: each append is one statement, which does nothing if the lease is lost. */
import {
  type ChainLine,
  type ConversationEvent,
  type ConversationId,
  type ConversationMetadata,
  type ConversationStream,
  FILES_FOLDER,
  hasLinks,
  type KeptFile,
  keptFileName,
  parseMetadata,
  StreamEntry,
} from "../../record/conversation/index.ts";
import { type Clock, parseJson } from "../../util/index.ts";
import { metadataFile } from "../fs/conversation-files.ts";
import { EVENTS } from "../fs/conversation-folders.ts";
import type { ChainGrowth } from "../chain-growth.ts";
import type { SignedState } from "../signed-state.ts";
import type { SecretSockets } from "../fs/secret-sockets.ts";
import type { AnswerListener, ConversationWriter, LeftTurn, MetadataChange } from "../port.ts";
import type { RecordStream } from "../record-stream.ts";
import { Releasable } from "../releasable.ts";
import { StorageError } from "../storage-error.ts";
import type { ChainRows } from "./chain-rows.ts";
import { streamOf } from "./earlier-rows.ts";
import type { Leases } from "./leases.ts";
import { type Listening, notifySql } from "./listening.ts";
import { TableOffers } from "./offers.ts";
import { isLimitError } from "./refusals.ts";
import {
  appendAndReleaseRow,
  appendRows,
  type FreedRow,
  growthOf,
  insertFile,
  isTurnStart,
  labelsOf,
  type Leaving,
  releaseRow,
  toStored,
} from "./row-changes.ts";
import type { LastTurn } from "./turn-state.ts";
import { sendWakeUp } from "./wake-ups.ts";
import {
  type ConversationRow,
  idOf,
  isListed,
  metadataOf,
  type ReadRecord,
  type WorkspaceRows,
} from "./workspace-rows.ts";

/** The parts of the store that its writers use, too. */
export interface StoreParts {
  readonly rows: WorkspaceRows;
  readonly chains: ChainRows;
  readonly leases: Leases;
  readonly listening: Listening;
}

export interface WriterParts extends StoreParts {
  /** Its lease is taken. */
  readonly row: ConversationRow;
  readonly record: ReadRecord;
  /** The key of the workspace. */
  readonly workspace: string;
  /** The owner of the lease. */
  readonly owner: string;
  readonly clock: Clock;
  /** Absent if secrets cannot be passed on. */
  readonly openSecrets?: () => Promise<Pick<SecretSockets, "listen">>;
}

interface Waiting {
  readonly entries: readonly StreamEntry[];
  readonly done: PromiseWithResolvers<void>;
  /** They are in the stream already. */
  readonly isSoon: boolean;
}

export class PostgresWriter extends Releasable implements ConversationWriter {
  readonly isShared = true;
  readonly id: ConversationId;
  readonly #parts: WriterParts;
  #stream: RecordStream;
  readonly #lease: Disposable;
  #turn: LastTurn;
  /** The turn that the rows of `jp.pending` were written for. Undefined if an earlier version of jp has written since. */
  #listedTurn: LastTurn | undefined;
  /** The length of the record. A packed one has one entry more than the stream. */
  #length: number;
  #isOwnTurn: boolean;
  #steppedBack: StorageError | undefined;
  /** That of the last signed state. */
  #counter: number;
  /** What this writer has signed last, if that is the end of the record. */
  #signed: SignedState | undefined;
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
    const { row, record, leases } = parts;
    const { key, epoch } = row;
    this.id = idOf(row);
    this.#parts = parts;
    this.#stream = streamOf(parts.rows, row, record);
    this.#turn = record.turn;
    this.#listedTurn = isListed(row) ? record.turn : undefined;
    this.#length = row.length;
    this.#isOwnTurn = record.isOwnTurn;
    this.#steppedBack = record.steppedBack;
    this.#counter = record.counter;
    if (record.isUnseen === true) parts.rows.noteSeen(this.id, record.signed);
    this.#metadata = metadataOf(row);
    this.#lease = leases.hold({ key, epoch, onLost: () => this.#fail(lostError(this.id)) });
  }

  get clock(): Clock {
    return this.#parts.clock;
  }

  get metadata(): ConversationMetadata {
    return this.#metadata;
  }

  get stream(): ConversationStream {
    return this.#stream;
  }

  get isOwnTurn(): boolean {
    return this.#isOwnTurn;
  }

  get steppedBack(): StorageError | undefined {
    return this.#isOwnTurn ? undefined : this.#steppedBack;
  }

  append(...events: readonly ConversationEvent[]): Promise<void> {
    return this.appendEntries(events.map((event) => StreamEntry.fromEvent(event)));
  }

  async appendEntries(entries: readonly StreamEntry[]): Promise<void> {
    this.assertHeld();
    if (entries.length === 0) return;
    const done = this.#wait(entries, false);
    this.#startWriting();
    await done;
  }

  async appendSoon(...events: readonly ConversationEvent[]): Promise<void> {
    const entries = events.map((event) => StreamEntry.fromEvent(event));
    // What others wait for comes first, in the stream too.
    const isFirst = this.#writing === undefined && this.#waiting.length === 0;
    if (!isFirst || hasLinks(entries)) return this.appendEntries(entries);
    this.assertHeld();
    const done = this.#wait(entries, true);
    this.#stream.append(entries);
    setImmediate(() => this.#startWriting());
    await done;
  }

  #wait(entries: readonly StreamEntry[], isSoon: boolean): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ entries, done, isSoon });
    return done.promise;
  }

  #startWriting(): void {
    if (this.#waiting.length === 0) return;
    this.#writing ??= this.#writeAll();
  }

  /** Never rejects. Entries added while a statement runs are written by the next one. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#writeWaiting();
    this.#writing = undefined; // At once: whoever adds entries next has to start anew.
  }

  /** Never rejects: each append does. */
  async #writeWaiting(leaving?: Leaving): Promise<FreedRow | undefined> {
    const together = this.#waiting;
    this.#waiting = [];
    const entries: StreamEntry[] = [];
    for (const each of together) for (const entry of each.entries) entries.push(entry);
    try {
      const freed = await this.#write(entries, leaving);
      for (const each of together) if (!each.isSoon) this.#stream.append(each.entries);
      for (const { done } of together) done.resolve();
      return freed;
    } catch (error) {
      this.#refuse(together, error);
      return undefined;
    }
  }

  /** Takes back entries that were to be stored soon, and rejects later ones too: they may rely on them. */
  #refuse(together: readonly Waiting[], error: unknown): void {
    const dropped = together.flatMap(({ entries, isSoon }) => (isSoon ? entries : []));
    const relying = dropped.length === 0 ? [] : this.#waiting.splice(0);
    if (dropped.length > 0) this.#stream.drop(dropped);
    for (const { done } of [...together, ...relying]) done.reject(error);
  }

  /** With `leaving`, in the statement that releases the conversation; undefined if that has not. */
  async #write(entries: readonly StreamEntry[], leaving?: Leaving): Promise<FreedRow | undefined> {
    if (this.#failure !== undefined) throw this.#failure;
    const { rows, row } = this.#parts;
    const stored = entries.map(toStored);
    const turn = this.#turn.with(stored);
    const links = await this.#link(entries);
    const isOwnTurn = this.#isOwnTurn || stored.some(isTurnStart);
    const { signer } = rows;
    const signing = { isOwnTurn, signer, counter: this.#counter };
    const growth = { ...growthOf(turn, stored, { ...signing, before: this.#listedTurn }), links };
    const place = { ...row, tenant: rows.tenant, length: this.#length };
    const append = async () => {
      const { database } = rows;
      if (leaving === undefined) return { isWritten: await appendRows(database, place, growth) };
      const freed = await appendAndReleaseRow(database, { ...place, ...leaving }, growth);
      return { isWritten: freed !== undefined, freed };
    };
    const { isWritten, freed } = await append().catch((cause: unknown) => {
      if (isLimitError(cause)) {
        this.#chain = undefined; // It has links that were not written.
        throw cause;
      }
      throw this.#fail(unwrittenError(this.id, cause));
    });
    if (!isWritten && !(await this.#isThere(growth.texts, leaving !== undefined)))
      throw this.#fail(lostError(this.id));
    // Only now: a state that was not written would make the turn seem older than it is.
    rows.noteSeen(this.id, growth.signed);
    this.#signed = growth.signed;
    this.#counter = growth.signed?.counter ?? this.#counter;
    this.#turn = turn;
    this.#listedTurn = turn;
    this.#isOwnTurn = isOwnTurn;
    this.#length += entries.length;
    return freed;
  }

  /** As in files, a turn is chained from its first decision. */
  async #link(entries: readonly StreamEntry[]): Promise<readonly ChainLine[]> {
    const { rows, chains, row } = this.#parts;
    const before = this.#stream.lastEntries;
    if (this.#chain === undefined && !hasLinks(entries) && !hasLinks(before)) return [];
    this.#chain ??= await chains.open(rows.database, { key: row.key, id: this.id }, before);
    return this.#chain.add(entries, ({ raw }) => this.#offered.has(raw["id"]));
  }

  /**
   * The connection may have been lost after the server wrote them. If that has also released the conversation, another may
   * have it by now, and have written more.
   */
  async #isThere(texts: readonly string[], isReleased: boolean): Promise<boolean> {
    const { rows, row } = this.#parts;
    const before = this.#length;
    const [found] = await rows.database.query<{ readonly is_there: boolean | null }>({
      text: `select ($6 or c.epoch = $2 and c.length = $3 + cardinality($4::text[])) and $4::text[] = array(
          select entry from jp.events e where e.tenant = $5 and e.conversation = c.key
            and e.seq >= $3 and e.seq < $3 + cardinality($4::text[]) order by e.seq
        ) as is_there
        from jp.conversations c where c.tenant = $5 and c.key = $1`,
      values: [row.key, row.epoch, before, texts, rows.tenant, isReleased],
    });
    return found?.is_there === true;
  }

  async saveFile(file: KeptFile, bytes: Uint8Array): Promise<void> {
    this.assertHeld();
    const { rows, row } = this.#parts;
    const place = { ...row, tenant: rows.tenant };
    const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const isWritten = await insertFile(rows.database, place, {
      name: keptFileName(file),
      content,
    }).catch((cause: unknown) => {
      throw isLimitError(cause) ? cause : unwrittenError(this.id, cause);
    });
    if (!isWritten) throw this.#fail(lostError(this.id));
  }

  updateMetadata(change: MetadataChange): Promise<void> {
    const done = this.#metadataWrites.then(() => this.#writeMetadata(change));
    this.#metadataWrites = done.catch(() => undefined);
    return done;
  }

  async #writeMetadata(change: MetadataChange): Promise<void> {
    this.assertHeld();
    await this.replaceText("metadata", metadataFile(change(this.#metadata)));
  }

  async #writeText(set: string, values: readonly string[]): Promise<void> {
    this.assertHeld();
    const { rows, row } = this.#parts;
    const written = await rows.database.query({
      text: `with held as (
          update jp.conversations set ${set}, changed = pg_current_xact_id()
          where tenant = $1 and key = $2 and epoch = $3 returning workspace, id
        ) select ${notifySql("changed", "workspace", "id")} from held`,
      values: [rows.tenant, row.key, row.epoch, ...values],
    });
    if (written.length === 0) throw this.#fail(lostError(this.id));
  }

  /** For a user who edits the record. The decisions of the last turn are then no longer certain to be theirs. */
  async replaceEntries(entries: readonly StreamEntry[]): Promise<void> {
    this.assertHeld();
    const { rows, row } = this.#parts;
    const stored = entries.map(toStored);
    const turn = rows.turnAt(this.id).with(stored);
    await rows.database.transaction(async (queries) => {
      await queries.query({
        text: `with entries as (delete from jp.events where tenant = $5 and conversation = $1),
            files as (delete from jp.files where tenant = $5 and conversation = $1 and name = $2)
          update jp.conversations set length = 0, bytes = (
            select coalesce(sum(octet_length(content)), 0) from jp.files
            where tenant = $5 and conversation = $1 and name like $4
          ) where tenant = $5 and key = $1 and epoch = $3`,
        values: [row.key, EVENTS, row.epoch, `${FILES_FOLDER}/%`, rows.tenant],
      });
      const growth = growthOf(turn, stored, { isOwnTurn: false, signer: undefined, isCopy: true });
      const isDone = await appendRows(queries, { ...row, tenant: rows.tenant, length: 0 }, growth);
      if (!isDone) throw this.#fail(lostError(this.id));
    });
    this.#length = entries.length;
    this.#turn = turn;
    this.#listedTurn = turn;
    this.#isOwnTurn = false;
    this.#steppedBack = undefined;
    this.#stream = streamOf(rows, row, { entries, from: 0 });
  }

  /** Replaces another part of the record. */
  async replaceText(part: "metadata" | "baseConfig", text: string): Promise<void> {
    if (part === "baseConfig") return this.#writeText("base_config = $4", [text]);
    const metadata = parseMetadata(parseJson(text));
    await this.#writeText("metadata = $4, labels = $5", [text, labelsOf(metadata)]);
    this.#metadata = metadata;
  }

  onAnswer(listener: AnswerListener): Disposable {
    this.assertHeld();
    const { rows, listening, row, workspace } = this.#parts;
    const place = { tenant: rows.tenant, key: row.key, id: this.id, workspace };
    const taking = new TableOffers(rows.database, listening, place).listen((offered) => {
      this.#offered.add(offered.event.id);
      return listener(offered);
    });
    return this.disposeOnRelease(taking);
  }

  /** Only on this machine, never through the database. */
  async onSecret(listener: AnswerListener): Promise<Disposable> {
    const sockets = await this.#parts.openSecrets?.().catch(() => undefined);
    if (sockets === undefined) return { [Symbol.dispose]: () => undefined }; // As if no one could reach it.
    return this.disposeOnRelease(await sockets.listen(listener));
  }

  leaveTo(left: LeftTurn): void {
    this.#left = { ...this.#left, ...left };
  }

  protected async close(): Promise<void> {
    const { rows, chains, row, owner } = this.#parts;
    await this.#metadataWrites;
    while (this.#writing !== undefined) await this.#writing;
    this.#isReleased = true;
    // What still waits is written by the statement that releases it.
    const leaving = { owner, left: this.#left };
    const written = this.#waiting.length > 0 ? await this.#writeWaiting(leaving) : undefined;
    this.#lease[Symbol.dispose]();
    // Unwritten links are not part of the chain.
    const end = this.#failure === undefined ? this.#chain?.end : undefined;
    if (end !== undefined) await chains.noteHead({ id: this.id, ...end, turn: this.#signed });
    // If it fails, the lease expires.
    const place = { ...row, tenant: rows.tenant, owner };
    const release = () => releaseRow(rows.database, place, this.#left).catch(() => undefined);
    const freed = written ?? (await release());
    if (freed?.ready_at == null) return;
    const { workspace, queue } = freed;
    await sendWakeUp(rows.database, { workspace, queue, id: this.id }).catch(() => undefined);
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
