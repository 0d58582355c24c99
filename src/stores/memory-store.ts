/** Stores conversations in memory, for tests and for programs that do not persist them. */
import {
  type AnswerEvent,
  type AnswerProblem,
  type ConversationEvent,
  type ConversationId,
  type ConversationMetadata,
  type ConversationStream,
  createStream,
  describeOpenTurn,
  findTimestamp,
  hasAllLabels,
  type KeptFile,
  keptFileName,
  lastTurnEntries,
  lastTurnOf,
  metadataToJson,
  newestOf,
  type OfferedAnswer,
  parseConversationId,
  parseMetadata,
  StreamEntry,
  type Timestamp,
  timestampFromDate,
  titleAndLabels,
} from "../record/conversation/index.ts";
import { type Clock, type JsonObject, systemClock } from "../util/index.ts";
import {
  answerPending,
  type AnswerTarget,
  type Offer,
  type SecretDelivery,
  type SecretOffer,
} from "./answering.ts";
import { forkEntries, forkMetadata, keptFilesOf } from "./fork.ts";
import type {
  AnswerListener,
  AnswerOptions,
  AnswerResult,
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
  MetadataChange,
  PendingTurn,
  RecordPiece,
} from "./port.ts";
import { Releasable } from "./releasable.ts";
import {
  archivedError,
  conversationNotFoundError,
  LockedError,
  StorageError,
  THIS_PROCESS,
} from "./storage-error.ts";

/** Stands in for a conversation's files. */
interface MemoryRecord {
  readonly id: ConversationId;
  readonly createdAt: Timestamp;
  metadata: ConversationMetadata;
  readonly baseConfig: JsonObject;
  readonly entries: StreamEntry[];
  /** By name. */
  readonly files: Map<string, Uint8Array>;
  isArchived: boolean;
  isOwnTurn: boolean;
  isLocked: boolean;
  /** Answers that the writer has not decided about yet. */
  readonly offers: Set<MemoryOffer>;
  listener: AnswerListener | undefined;
  /** Called after each change. */
  readonly onChange: () => void;
  /** Listeners that wait for secrets. */
  readonly secretListeners: Set<AnswerListener>;
}

/** Behaves like a file store, but in memory. */
export class MemoryConversationStore implements ConversationStore {
  readonly #clock: Clock;
  readonly #records = new Map<ConversationId, MemoryRecord>();
  readonly #listeners = new Set<ChangeListener>();
  #created = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async list({ which = "live", ...newest }: ListOptions = {}): Promise<ConversationSummary[]> {
    const wanted = [...this.#records.values()].filter(
      ({ isArchived }) => which === "all" || isArchived === (which === "archived"),
    );
    return newestOf(wanted, (record) => record, newest).map(summaryOf);
  }

  async find(id: ConversationId): Promise<ConversationSummary | undefined> {
    const record = this.#records.get(id);
    return record && summaryOf(record);
  }

  async load(id: ConversationId): Promise<Conversation> {
    const record = this.#getRecord(id);
    const entries = record.entries.slice();
    const { isOwnTurn } = record;
    const stream = streamOf({ ...record, entries });
    return { id, stream, isOwnTurn };
  }

  async *scan(id: ConversationId): AsyncGenerator<RecordPiece> {
    yield { entries: this.#getRecord(id).entries.slice() };
  }

  async readFile(id: ConversationId, file: KeptFile): Promise<Uint8Array | undefined> {
    return this.#getRecord(id).files.get(keptFileName(file))?.slice();
  }

  /** There is nothing to gain: `scan` reads from memory too. */
  async findLastTurns(id: ConversationId): Promise<LastTurns | undefined> {
    this.#getRecord(id);
    return undefined;
  }

  async listPending(options: ListPendingTurnsOptions = {}): Promise<readonly PendingTurn[]> {
    const ids = options.ids && new Set(options.ids);
    return [...this.#records.values()].flatMap((record): readonly PendingTurn[] => {
      const { id, entries, isArchived, isLocked, metadata } = record;
      if (isArchived || (options.id ?? id) !== id || ids?.has(id) === false) return [];
      if (!hasAllLabels(metadata, options.labels ?? {})) return [];
      if (describeOpenTurn(lastTurnOf(entries), isLocked) === undefined) return [];
      const described = options.hasMetadata === true && titleAndLabels(metadata);
      return [{ id, ...described, entries: lastTurnEntries(entries).slice(), isLive: isLocked }];
    });
  }

  watch(listener: ChangeListener): Disposable {
    const own: ChangeListener = (change) => listener(change); // It may be registered twice.
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  answer(id: ConversationId, event: AnswerEvent, options?: AnswerOptions): Promise<AnswerResult> {
    const target: AnswerTarget = {
      open: () => this.open(id),
      readLastTurn: async () => this.#liveRecord(id).entries.slice(),
      offer: async (_id, offered) => new MemoryOffer(this.#getRecord(id), offered),
      deliver: (_id, offered) => deliver(this.#getRecord(id), offered),
    };
    return answerPending(target, id, { ...options, event });
  }

  async create(options: CreateOptions): Promise<ConversationWriter> {
    const { baseConfig = {}, entries = [], isOwnTurn = false } = options;
    const metadata = { ...titleAndLabels(options), lastActivatedAt: this.#now() };
    const parts = { metadata, baseConfig, entries: [...entries], isOwnTurn };
    return new MemoryWriter(this.#add({ ...parts, files: new Map() }));
  }

  async open(id: ConversationId): Promise<ConversationWriter> {
    this.#liveRecord(id);
    return new MemoryWriter(this.#unlockedRecord(id));
  }

  async fork(id: ConversationId, { title, keep }: ForkOptions = {}): Promise<ConversationId> {
    const original = this.#getRecord(id);
    const metadata = { ...forkMetadata(original.metadata, title), lastActivatedAt: this.#now() };
    const { baseConfig } = original;
    const copied = forkEntries(original, keep);
    const kept = copied.entries.flatMap(({ raw }) => keptFilesOf(raw));
    const names = new Set(kept.map(keptFileName));
    const files = new Map([...original.files].filter(([name]) => names.has(name)));
    return this.#add({ metadata, baseConfig, ...copied, files }).id;
  }

  async remove(id: ConversationId): Promise<void> {
    const record = this.#unlockedRecord(id);
    this.#records.delete(id);
    record.onChange();
  }

  async archive(id: ConversationId): Promise<void> {
    const record = this.#unlockedRecord(id);
    if (record.isArchived) return;
    record.isArchived = true;
    record.metadata = { ...record.metadata, archivedAt: this.#now() };
    record.onChange();
  }

  async unarchive(id: ConversationId): Promise<void> {
    const record = this.#unlockedRecord(id);
    const { archivedAt: _archivedAt, ...metadata } = record.metadata;
    record.isArchived = false;
    record.metadata = metadata;
    record.onChange();
  }

  #add(
    parts: Pick<MemoryRecord, "metadata" | "baseConfig" | "entries" | "files" | "isOwnTurn">,
  ): MemoryRecord {
    const now = this.#clock.now();
    this.#created += 1;
    const id = mintId(now, this.#created);
    const record: MemoryRecord = {
      id,
      createdAt: timestampFromDate(now),
      ...parts,
      isArchived: false,
      isLocked: false,
      offers: new Set(),
      listener: undefined,
      onChange: () => this.#report(id),
      secretListeners: new Set(),
    };
    this.#records.set(id, record);
    record.onChange();
    return record;
  }

  /** Deferred, so that no listener can disturb the writer. */
  #report(id: ConversationId): void {
    for (const listener of this.#listeners) {
      queueMicrotask(() => void (this.#listeners.has(listener) && listener({ id })));
    }
  }

  #getRecord(id: ConversationId): MemoryRecord {
    const record = this.#records.get(id);
    if (record === undefined) throw conversationNotFoundError(id);
    return record;
  }

  #liveRecord(id: ConversationId): MemoryRecord {
    const record = this.#getRecord(id);
    if (record.isArchived) throw archivedError(id);
    return record;
  }

  #unlockedRecord(id: ConversationId): MemoryRecord {
    const record = this.#getRecord(id);
    if (!record.isLocked) return record;
    throw new LockedError(id, THIS_PROCESS);
  }

  #now(): Timestamp {
    return timestampFromDate(this.#clock.now());
  }
}

class MemoryWriter extends Releasable implements ConversationWriter {
  readonly #record: MemoryRecord;
  #isReleased = false;

  constructor(record: MemoryRecord) {
    super();
    this.#record = record;
    record.isLocked = true;
    record.onChange();
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

  get isOwnTurn(): boolean {
    return this.#record.isOwnTurn;
  }

  append(...events: readonly ConversationEvent[]): Promise<void> {
    return this.appendEntries(events.map((event) => StreamEntry.fromEvent(event)));
  }

  /** Entries go through the codec, as they would on disk. */
  async appendEntries(entries: readonly StreamEntry[]): Promise<void> {
    this.assertHeld();
    // One at a time: there may be too many for one `push`.
    for (const { raw, eventType } of entries) {
      this.#record.entries.push(StreamEntry.fromJson(structuredClone(raw)));
      if (eventType === "turn_start") this.#record.isOwnTurn = true;
    }
    this.#record.onChange();
  }

  async saveFile(file: KeptFile, bytes: Uint8Array): Promise<void> {
    this.assertHeld();
    this.#record.files.set(keptFileName(file), Uint8Array.from(bytes));
  }

  async updateMetadata(change: MetadataChange): Promise<void> {
    this.assertHeld();
    this.#record.metadata = parseMetadata(metadataToJson(change(this.#record.metadata)));
    this.#record.onChange();
  }

  onAnswer(listener: AnswerListener): Disposable {
    this.assertHeld();
    this.#record.listener = listener;
    for (const offer of this.#record.offers) void offer.pass(listener);
    return {
      [Symbol.dispose]: () => {
        if (this.#record.listener === listener) this.#record.listener = undefined;
      },
    };
  }

  async onSecret(listener: AnswerListener): Promise<Disposable> {
    const { secretListeners } = this.#record;
    if (!this.#isReleased) secretListeners.add(listener);
    return { [Symbol.dispose]: () => secretListeners.delete(listener) };
  }

  protected async close(): Promise<void> {
    this.#isReleased = true;
    this.#record.isLocked = false;
    this.#record.listener = undefined;
    this.#record.secretListeners.clear();
    for (const offer of this.#record.offers) offer.wake();
    this.#record.onChange();
  }

  protected assertHeld(): void {
    if (this.#isReleased) throw new StorageError("write_failed", "The conversation was released.");
  }
}

/** Stands in for an offer's files. */
class MemoryOffer implements Offer {
  readonly #record: MemoryRecord;
  readonly #offered: OfferedAnswer;
  #isClaimed = false;
  #refusal: AnswerProblem | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(record: MemoryRecord, offered: OfferedAnswer) {
    this.#record = record;
    this.#offered = offered;
    record.offers.add(this);
    if (record.listener !== undefined) void this.pass(record.listener);
  }

  async pass(listener: AnswerListener): Promise<void> {
    if (this.#isClaimed) return;
    this.#isClaimed = true;
    const result = await listener(this.#offered).catch(() => undefined);
    if (result === undefined) this.#isClaimed = false;
    if (result?.type === "refused") this.#refusal = result;
    this.wake();
  }

  wake(): void {
    this.#changed.resolve();
  }

  async changed(): Promise<void> {
    await this.#changed.promise;
    this.#changed = Promise.withResolvers();
  }

  async findRefusal(): Promise<AnswerProblem | undefined> {
    return this.#refusal;
  }

  async withdraw(): Promise<boolean> {
    return !this.#isClaimed && this.#record.offers.delete(this);
  }

  async discard(): Promise<void> {
    this.#record.offers.delete(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#record.offers.delete(this);
  }
}

async function deliver(
  { secretListeners }: MemoryRecord,
  offered: SecretOffer,
): Promise<SecretDelivery> {
  const [listener] = secretListeners;
  const result = await listener?.(offered).catch(() => undefined);
  return result ?? { type: "undecided", wasSent: false };
}

/** Unique in this store, and in the order of creation. Starts with a letter, unlike ids in files. */
function mintId(now: Date, created: number): ConversationId {
  const time = now.getTime().toString(36).padStart(9, "0");
  return parseConversationId(`jp-cm${time}-${created.toString(36).padStart(6, "0")}`);
}

function streamOf({ createdAt, baseConfig, entries }: MemoryRecord): ConversationStream {
  return createStream({ createdAt, baseConfig, entries });
}

function summaryOf({
  id,
  createdAt,
  metadata,
  entries,
  isArchived,
  isLocked,
}: MemoryRecord): ConversationSummary {
  const lastEventAt = findTimestamp(entries.at(-1)?.raw["timestamp"]);
  const openTurn = describeOpenTurn(lastTurnOf(entries), isLocked);
  return {
    id,
    createdAt,
    metadata,
    isArchived,
    ...(lastEventAt !== undefined && { lastEventAt }),
    ...(openTurn !== undefined && { openTurn }),
  };
}
