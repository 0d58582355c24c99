/** Stores conversations in memory, for tests and for programs that do not keep them. */
import {
  conversationCreatedAt,
  type ConversationEvent,
  type ConversationId,
  conversationIdFromDate,
  conversationIdFromNumber,
  conversationIdToNumber,
  type ConversationMetadata,
  type ConversationStream,
  createStream,
  findTimestamp,
  metadataToJson,
  parseMetadata,
  StreamEntry,
  type Timestamp,
  timestampFromDate,
} from "../conversation/index.ts";
import { type Clock, type JsonObject, systemClock } from "../util/index.ts";
import type {
  Conversation,
  ConversationStore,
  ConversationSummary,
  ConversationWriter,
  CreateOptions,
  ForkOptions,
  LastTurns,
  ListOptions,
  MetadataChange,
  RecordPiece,
} from "./port.ts";
import { archivedError, conversationNotFoundError, StorageError } from "./storage-error.ts";

/** Takes the place of a conversation's files. */
interface MemoryRecord {
  readonly id: ConversationId;
  metadata: ConversationMetadata;
  readonly baseConfig: JsonObject;
  readonly entries: StreamEntry[];
  isArchived: boolean;
  isLocal: boolean;
  isLocked: boolean;
}

/** Behaves like the store of a workspace, but in memory. */
export class MemoryConversationStore implements ConversationStore {
  readonly #clock: Clock;
  readonly #records = new Map<ConversationId, MemoryRecord>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async list({ which = "live" }: ListOptions = {}): Promise<ConversationSummary[]> {
    return [...this.#records.values()]
      .filter(({ isArchived }) => which === "all" || isArchived === (which === "archived"))
      .map(summaryOf);
  }

  async find(id: ConversationId): Promise<ConversationSummary | undefined> {
    const record = this.#records.get(id);
    return record && summaryOf(record);
  }

  async load(id: ConversationId): Promise<Conversation> {
    const record = this.#getRecord(id);
    const entries = record.entries.slice();
    return { summary: summaryOf(record), stream: streamOf({ ...record, entries }), problems: [] };
  }

  async *scan(id: ConversationId): AsyncGenerator<RecordPiece> {
    yield { entries: this.#getRecord(id).entries.slice(), problems: [] };
  }

  /** Nothing is saved by not reading: `scan` reads from memory too. */
  async findLastTurns(id: ConversationId): Promise<LastTurns | undefined> {
    this.#getRecord(id);
    return undefined;
  }

  async create(options: CreateOptions): Promise<ConversationWriter> {
    const { title, labels, baseConfig = {}, entries = [], isLocal = false } = options;
    const metadata: ConversationMetadata = {
      ...(title !== undefined && { title }),
      lastActivatedAt: this.#now(),
      ...(labels !== undefined && { labels }),
    };
    return new MemoryWriter(this.#add({ metadata, baseConfig, entries: [...entries], isLocal }));
  }

  async open(id: ConversationId): Promise<ConversationWriter> {
    if (this.#getRecord(id).isArchived) throw archivedError(id);
    return new MemoryWriter(this.#unlockedRecord(id));
  }

  async fork(id: ConversationId, { title, keep }: ForkOptions = {}): Promise<ConversationId> {
    const { metadata, baseConfig, entries, isLocal } = this.#getRecord(id);
    const { expiresAt: _expiresAt, archivedAt: _archivedAt, ...rest } = metadata;
    const copy = this.#add({
      metadata: { ...rest, ...(title !== undefined && { title }), lastActivatedAt: this.#now() },
      baseConfig,
      entries: keep === undefined ? entries.slice() : entries.filter(keep),
      isLocal,
    });
    return copy.id;
  }

  async remove(id: ConversationId): Promise<void> {
    this.#records.delete(this.#unlockedRecord(id).id);
  }

  async archive(id: ConversationId): Promise<void> {
    const record = this.#unlockedRecord(id);
    if (record.isArchived) return;
    record.isArchived = true;
    record.metadata = { ...record.metadata, archivedAt: this.#now() };
  }

  async unarchive(id: ConversationId): Promise<void> {
    const record = this.#unlockedRecord(id);
    const { archivedAt: _archivedAt, ...metadata } = record.metadata;
    record.isArchived = false;
    record.metadata = metadata;
  }

  async setLocal(id: ConversationId, isLocal: boolean): Promise<void> {
    const record = this.#unlockedRecord(id);
    if (record.isArchived) throw archivedError(id);
    record.isLocal = isLocal;
  }

  #add(parts: Pick<MemoryRecord, "metadata" | "baseConfig" | "entries" | "isLocal">): MemoryRecord {
    let moment = conversationIdToNumber(conversationIdFromDate(this.#clock.now()));
    while (this.#records.has(conversationIdFromNumber(moment))) moment += 1;
    const id = conversationIdFromNumber(moment);
    const record: MemoryRecord = { id, ...parts, isArchived: false, isLocked: false };
    this.#records.set(id, record);
    return record;
  }

  #getRecord(id: ConversationId): MemoryRecord {
    const record = this.#records.get(id);
    if (record === undefined) throw conversationNotFoundError(id);
    return record;
  }

  #unlockedRecord(id: ConversationId): MemoryRecord {
    const record = this.#getRecord(id);
    if (!record.isLocked) return record;
    throw new StorageError("conversation_locked", `Conversation ${id} is in use by this process.`);
  }

  #now(): Timestamp {
    return timestampFromDate(this.#clock.now());
  }
}

class MemoryWriter implements ConversationWriter {
  readonly #record: MemoryRecord;
  #isReleased = false;

  constructor(record: MemoryRecord) {
    this.#record = record;
    record.isLocked = true;
  }

  get id(): ConversationId {
    return this.#record.id;
  }

  get metadata(): ConversationMetadata {
    return this.#record.metadata;
  }

  get stream(): ConversationStream {
    return streamOf(this.#record);
  }

  get problems() {
    return [];
  }

  append(...events: readonly ConversationEvent[]): Promise<void> {
    return this.appendEntries(events.map((event) => StreamEntry.fromEvent(event)));
  }

  /** Entries go through the codec, as they would on disk. */
  async appendEntries(entries: readonly StreamEntry[]): Promise<void> {
    this.#assertHeld();
    // One by one: there may be too many for one call.
    for (const { raw } of entries) {
      this.#record.entries.push(StreamEntry.fromJson(structuredClone(raw)));
    }
  }

  async updateMetadata(change: MetadataChange): Promise<void> {
    this.#assertHeld();
    this.#record.metadata = parseMetadata(metadataToJson(change(this.#record.metadata)));
  }

  async release(): Promise<void> {
    if (!this.#isReleased) this.#record.isLocked = false;
    this.#isReleased = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  #assertHeld(): void {
    if (this.#isReleased) throw new StorageError("write_failed", "The conversation was released.");
  }
}

function streamOf({ id, baseConfig, entries }: MemoryRecord): ConversationStream {
  return createStream({ createdAt: conversationCreatedAt(id), baseConfig, entries });
}

function summaryOf({
  id,
  metadata,
  entries,
  isArchived,
  isLocal,
}: MemoryRecord): ConversationSummary {
  const lastEventAt = findTimestamp(entries.at(-1)?.raw["timestamp"]);
  return {
    id,
    metadata,
    isArchived,
    place: isLocal ? "local" : "workspace",
    ...(lastEventAt !== undefined && { lastEventAt }),
  };
}
