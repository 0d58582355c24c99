/**
 * Stores conversations on disk in the layout of the Rust original, which can read and write them
 * too. Reading creates no folders, moves no files and takes no locks.
 */
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import {
  type AnswerEvent,
  type ChainLine,
  compareCreation,
  type ConversationId,
  createStream,
  describeOpenTurn,
  type KeptFile,
  lastTurnOf,
  newestOf,
  type StoredStream,
  StreamEntry,
  timestampFromDate,
  titleAndLabels,
} from "../../record/conversation/index.ts";
import { loadModule, shouldYield, yieldToEventLoop } from "../../util/index.ts";
import { answerPending, type AnswerTarget } from "../answering.ts";
import { forkMetadata, keptFilesOf } from "../fork.ts";
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
  MetadataChange,
  OpenOptions,
  PendingTurn,
  RecordPiece,
} from "../port.ts";
import type { PortableRecord, PortableStore } from "../portable.ts";
import { RecordStream } from "../record-stream.ts";
import { damagedError } from "../storage-error.ts";
import {
  baseConfigFile,
  mergeCopies,
  type ConversationFiles,
  findFile,
  loadKeptFiles,
  parseBaseConfig,
  readBaseConfig,
  readOrReplaceMetadata,
  removeFolder,
  removeLeftFiles,
  removeLeftFolders,
  writeConversation,
  writeMetadata,
} from "./conversation-files.ts";
import {
  BASE_CONFIG,
  CHAIN,
  type ConversationCopies,
  type ConversationCopy,
  type ConversationRoots,
  EVENTS,
  findCopies,
  listCopies,
  listNewestCopies,
  parentFolder,
  parentFolders,
  readCopies,
  type Root,
} from "./conversation-folders.ts";
import { makeFolder, moveFolder } from "./durable.ts";
import { EarlierInFile } from "./earlier-in-file.ts";
import { eventFileBytes, readInLayout } from "./event-layout.ts";
import type { LoadedEvents } from "./event-file.ts";
import { readEntries } from "./event-reader.ts";
import { fileIdCreatedAt, fileIdCreation, folderName, isFileId } from "./file-id.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { FsContext, type FsStoreOptions } from "./fs-context.ts";
import { FsConversationWriter, type FsWriterParts, loadChainFile } from "./fs-writer.ts";
import { findLastTurns, findRecordEnd } from "./last-turns.ts";
import { FileOffers } from "./offers.ts";
import {
  findOwnTurn,
  findWorkspaceOfTurn,
  TurnMarker,
  turnToText,
  hasMarker,
  isUnmarked,
  listMarked,
  type OwnTurn,
  unmark,
} from "./open-turns.ts";
import { describeProblem, listPendingTurns, readLastTurn, readWithCopy } from "./pending-turns.ts";
import { takeRecent } from "./recent-records.ts";
import { folderOfLatest, summarize } from "./summary.ts";
import type { SummaryIndex } from "./summary-index.ts";
import { isWorkspace } from "./user-data.ts";
import { loadSecretSockets } from "./load-secret-sockets.ts";
import { FolderWatch } from "./watch.ts";

/** A summary, and all copies of its conversation. */
interface FoundSummary {
  readonly summary: ConversationSummary;
  readonly copies: readonly ConversationCopy[];
}

interface OpenedParts extends Pick<
  FsWriterParts,
  "id" | "folder" | "otherFolders" | "lock" | "ownTurn" | "trustsUnmarked"
> {
  /** Just written to a new folder, so they need not be read. */
  readonly written?: Pick<ConversationFiles, "baseConfig"> & { readonly metadata: string };
}

/** Fewer conversations than this are read in a few milliseconds. */
const MIN_INDEXED = 32;

/** How many are summarized between looks at the clock. */
const AT_ONCE = 16;

/** Everything except what only a workspace has, which is in `FsWorkspaceStore`. */
export class FsConversationStore implements ConversationStore, PortableStore {
  protected readonly context: FsContext;
  /** The source of loaded conversations. Those with problems are absent. */
  readonly #loaded = new WeakMap<Conversation, LoadedEvents>();

  constructor(options: FsStoreOptions) {
    this.context = new FsContext(options);
  }

  async list(options?: ListOptions): Promise<ConversationSummary[]> {
    return (await this.summaries(options)).map(({ summary }) => summary);
  }

  async find(id: ConversationId): Promise<ConversationSummary | undefined> {
    return (await this.findSummary(id))?.summary;
  }

  protected async summaries(options: ListOptions = {}): Promise<readonly FoundSummary[]> {
    const marked = listMarked(this.context.findPrivateFolder());
    const roots = this.context.roots();
    const all = listed(roots, options);
    const isWhole = options.limit === undefined && options.before === undefined;
    const index = isWhole && all.length >= MIN_INDEXED ? this.context.findIndex() : undefined;
    const found: FoundSummary[] = [];
    for (const { id, copies } of all) {
      const summary = marked.has(id) ? undefined : summarize(id, copies, index);
      const isRead = summary !== undefined && summary.problem === undefined;
      const how = { isMarked: marked.has(id), index };
      const one = isRead ? { summary, copies } : await this.#summarize(id, copies, how);
      if (one !== undefined) found.push(one);
      if (found.length % AT_ONCE === 0 && shouldYield()) await yieldToEventLoop();
    }
    index?.save(parentFolders(roots, options.which ?? "live"));
    return found;
  }

  protected async findSummary(id: ConversationId): Promise<FoundSummary | undefined> {
    if (!isFileId(id)) return undefined;
    const privateFolder = this.context.findPrivateFolder();
    const isMarked = privateFolder !== undefined && hasMarker(privateFolder, id);
    return this.#summarize(id, findCopies(this.context.roots(), id), { isMarked });
  }

  /** Looks again if it was renamed or moved since its copies were found. Undefined if it is gone. */
  async #summarize(
    id: ConversationId,
    found: readonly ConversationCopy[],
    { isMarked, index }: { readonly isMarked: boolean; readonly index?: SummaryIndex | undefined },
  ): Promise<FoundSummary | undefined> {
    const read = async (copies: readonly ConversationCopy[]) => {
      if (copies.length === 0) return undefined;
      const summary = summarize(id, copies, index);
      return { summary: isMarked ? await this.#withTurn(summary, copies) : summary, copies };
    };
    return readCopies(() => findCopies(this.context.roots(), id), read, found);
  }

  load(id: ConversationId, options: LoadOptions = {}): Promise<Conversation> {
    return this.context.reading(id, (copies) => this.#load(id, copies, options));
  }

  async #load(
    id: ConversationId,
    copies: readonly ConversationCopy[],
    { only }: LoadOptions,
  ): Promise<Conversation> {
    const folder = folderOfLatest(copies, EVENTS, BASE_CONFIG);
    const file = path.join(folder, EVENTS);
    const base = { createdAt: fileIdCreatedAt(id), baseConfig: readBaseConfig(folder) };
    const part = only && (await loadPart(file, base, only));
    const { loaded, problems } = part ?? (await this.#readAll(id, file));
    const { entries } = loaded;
    const stream = part?.stream ?? createStream({ ...base, entries });
    const isOwnTurn = this.#isOwnUnmarked(id) || this.#findOwnTurn(id, entries) !== undefined;
    const conversation = { id, stream, isOwnTurn, problems };
    if (loaded.fingerprint !== "") this.#loaded.set(conversation, loaded);
    return conversation;
  }

  /** Has no fingerprint if the file must be read again before writing. */
  async #readAll(id: ConversationId, file: string) {
    const before = fingerprintOf(file);
    const read = await readWithCopy(file, this.context.findPlace(id));
    const { entries, problems, isInLayout } = read;
    const fingerprint = isInLayout && problems.length === 0 ? before : "";
    const loaded: LoadedEvents = { file, fingerprint, entries };
    return { loaded, problems };
  }

  async *scan(id: ConversationId): AsyncGenerator<RecordPiece> {
    let isEmpty = true;
    const pieces = await this.context.reading(id, (copies) => begun(readEntries(eventsIn(copies))));
    for (const { entries, problems } of pieces) {
      yield { entries, problems };
      isEmpty &&= entries.length === 0 && problems.length === 0;
      if (shouldYield()) await yieldToEventLoop();
    }
    // It may have lost all of its events.
    if (isEmpty) {
      const place = this.context.findPlace(id);
      const read = await this.context.reading(id, (copies) =>
        readWithCopy(eventsIn(copies), place),
      );
      yield { ...read, entries: [] };
    }
  }

  async *readChain(id: ConversationId): AsyncGenerator<ChainLine | ChainProblem> {
    const { readChain } = await loadModule(() => import("./read-chain.ts"));
    const pieces = await this.context.reading(id, (copies) =>
      begun(readChain(folderOfLatest(copies, EVENTS, BASE_CONFIG))),
    );
    for (const lines of pieces) {
      yield* lines;
      if (shouldYield()) await yieldToEventLoop();
    }
  }

  async readFile(id: ConversationId, file: KeptFile): Promise<Uint8Array | undefined> {
    const { findKeptFile } = await loadKeptFiles();
    return this.context.reading(id, async (copies) => {
      for (const { folder } of copies) {
        const bytes = findKeptFile(folder, file);
        if (bytes !== undefined) return bytes;
      }
      return undefined;
    });
  }

  async findLastTurns(id: ConversationId, count: number): Promise<LastTurns | undefined> {
    const found = await this.context.reading(id, (copies) =>
      findLastTurns(eventsIn(copies), count),
    );
    return found?.entries.length === 0 ? undefined : found; // It may have lost all of them.
  }

  listPending(options: ListPendingTurnsOptions = {}): Promise<readonly PendingTurn[]> {
    return listPendingTurns(this.context, options);
  }

  watch(listener: ChangeListener): Disposable {
    return new FolderWatch(() => this.context.watchedFolders(), listener);
  }

  async answer(
    id: ConversationId,
    event: AnswerEvent,
    options?: AnswerOptions,
  ): Promise<AnswerResult> {
    const workspace = this.#findOtherWorkspace(id);
    if (workspace !== undefined) return { type: "other_workspace", workspace };
    const target: AnswerTarget = {
      // A turn that continues here reads the rest once a model is asked.
      open: () => this.#open(id, loadEnd),
      readLastTurn: async () => (await this.#readLastTurn(id, this.context.liveCopies(id))).entries,
      offer: async (_id, offered) =>
        new FileOffers(await this.context.ensurePlace(id)).place(offered),
      deliver: async (_id, offered, signal) => {
        const place = this.context.findPlace(id);
        if (place === undefined) return { type: "undecided", wasSent: false };
        const { SecretSockets } = await loadSecretSockets();
        return new SecretSockets(place).deliver(offered, signal);
      },
    };
    return answerPending(target, id, { ...options, event });
  }

  create(options: CreateOptions): Promise<FsConversationWriter> {
    return this.createIn("main", options);
  }

  protected async createIn(root: Root, options: CreateOptions): Promise<FsConversationWriter> {
    const { baseConfig = {}, entries = [] } = options;
    const files: ConversationFiles = {
      metadata: { ...titleAndLabels(options), lastActivatedAt: this.#now() },
      baseConfig: Buffer.from(baseConfigFile(baseConfig)),
      events: eventFileBytes(entries),
    };
    const ownTurn = options.isOwnTurn === true ? turnToText(entries) : undefined;
    return this.#createConversation(root, files, ownTurn);
  }

  open(id: ConversationId, { only, loaded }: OpenOptions = {}): Promise<FsConversationWriter> {
    return this.#open(id, (file) => {
      if (loaded !== undefined) {
        const known = this.#loaded.get(loaded);
        return known && { ...known, entries: [...known.entries] };
      }
      return only === "end" ? loadEnd(file) : loadAbridged(file, fileIdCreatedAt(id));
    });
  }

  /** `find` returns the known events, once they are locked. */
  async #open(
    id: ConversationId,
    find: (file: string) => Promise<LoadedEvents | undefined> | LoadedEvents | undefined,
  ): Promise<FsConversationWriter> {
    if (!this.context.isListed(id)) this.context.liveCopies(id);
    const lock = await this.context.lock(id);
    try {
      const all = this.context.copies(id);
      const [first] = all;
      const isOnly = all.length === 1 && first?.isArchived === false;
      const recent = isOnly ? takeRecent(path.join(first.folder, EVENTS)) : undefined;
      // Only a killed process that created or removed it leaves folders, and this one had it since.
      if (recent === undefined) await removeLeftFolders(this.context.roots(), id);
      const copies = this.context.liveCopies(id, all);
      const folder = await mergeCopies(copies, "main");
      await removeLeftFiles(copies);
      const otherFolders = copies.map((copy) => copy.folder).filter((other) => other !== folder);
      const known = recent ?? (await find(path.join(folder, EVENTS)));
      const { trustsUnmarked } = this.context;
      return await this.#openWriter({ id, folder, otherFolders, lock, trustsUnmarked }, known);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  #foldersOf(id: ConversationId): readonly string[] {
    return this.context.readableCopies(id).map(({ folder }) => folder);
  }

  async fork(id: ConversationId, { title, keep }: ForkOptions = {}): Promise<ConversationId> {
    const lastActivatedAt = this.#now();
    const { root, lastTurn, kept, ...read } = await this.context.reading(id, async (copies) => ({
      root: copies.some((copy) => copy.root === "main") ? ("main" as const) : ("local" as const),
      metadata: summarize(id, copies).metadata ?? { lastActivatedAt },
      ...readKept(folderOfLatest(copies, EVENTS, BASE_CONFIG), keep),
      lastTurn: await this.#readLastTurn(id, copies),
    }));
    const { entries, problem } = lastTurn;
    if (problem !== undefined) throw damagedError(problem);
    const ownTurn = this.#isOwnUnmarked(id)
      ? turnToText(entries)
      : this.#findOwnTurn(id, entries)?.text;
    const files = {
      ...read,
      metadata: { ...forkMetadata(read.metadata, title), lastActivatedAt },
      ...(kept.length > 0 && { kept: { files: kept, findFolders: () => this.#foldersOf(id) } }),
    };
    await using writer = await this.#createConversation(root, files, ownTurn);
    const folderNow = () => folderOfLatest(this.context.readableCopies(id), EVENTS, BASE_CONFIG);
    await withChain(folderNow, ({ copyChain }, folder) => copyChain({ id, folder }, writer));
    return writer.id;
  }

  async openPortable(): Promise<PortableStore> {
    return this;
  }

  async listRecords(): Promise<readonly ConversationId[]> {
    return (await this.list({ which: "all" })).toSorted(compareCreation).map(({ id }) => id);
  }

  async exportRecord(id: ConversationId): Promise<PortableRecord> {
    const { exportFiles } = await loadPortable();
    return exportFiles(this.context, id, async () => (await this.load(id)).isOwnTurn);
  }

  async importRecord(record: PortableRecord): Promise<boolean> {
    const { importFiles } = await loadPortable();
    const isNew = await importFiles(this.context, record);
    if (isNew && record.isOwnTurn && !record.isArchived) await this.#markOwn(record.id);
    return isNew;
  }

  /** The turn of an imported record counts as this user's own, left elsewhere. Opening the record would change its layout. */
  async #markOwn(id: ConversationId): Promise<void> {
    const lock = await this.context.lock(id);
    try {
      const copies = this.context.liveCopies(id);
      const folder = folderOfLatest(copies, EVENTS, BASE_CONFIG);
      const { entries } = await this.#readLastTurn(id, copies);
      const marked = { folderName: path.basename(folder), entries, ownTurn: turnToText(entries) };
      new TurnMarker(await this.context.ensurePlace(id), marked).close(entries);
    } finally {
      lock.release();
    }
  }

  async remove(id: ConversationId): Promise<void> {
    await this.context.withLock(id, async () => {
      const { headsFile: log, workspace } = this.context;
      for (const { folder } of this.context.copies(id)) {
        await withChain(
          () => folder,
          ({ noteRemoved }) => noteRemoved(log, { id, folder, workspace }),
        );
        await removeFolder(folder);
        this.context.findIndex()?.forget(folder);
      }
      unmark(await this.context.ensurePrivateFolder(), id);
    });
  }

  async archive(id: ConversationId): Promise<void> {
    const archivedAt = this.#now();
    await this.#moveAll(id, true, (metadata) => ({ ...metadata, archivedAt }));
  }

  async unarchive(id: ConversationId): Promise<void> {
    await this.#moveAll(id, false, ({ archivedAt: _archivedAt, ...metadata }) => metadata);
  }

  /** Creates a folder for a new id, and removes it again on failure. */
  async #createConversation(
    root: Root,
    files: ConversationFiles,
    ownTurn?: string,
  ): Promise<FsConversationWriter> {
    const { id, lock } = await this.context.reserveId();
    const parent = parentFolder(this.context.roots(), root, false);
    const folder = path.join(parent, folderName(id, files.metadata.title));
    try {
      const metadata = await writeConversation(folder, files);
      const events = path.join(folder, EVENTS);
      const isEmpty = files.events.equals(eventFileBytes([]));
      const loaded = { file: events, fingerprint: fingerprintOf(events), entries: [] };
      const parts = {
        id,
        folder,
        otherFolders: [],
        lock,
        ownTurn,
        written: { ...files, metadata },
      };
      return await this.#openWriter(parts, isEmpty ? loaded : undefined);
    } catch (error) {
      await removeFolder(folder).catch(() => undefined);
      lock.release();
      throw error;
    }
  }

  /** Moves all copies into the archive or out of it. */
  async #moveAll(id: ConversationId, toArchive: boolean, change: MetadataChange): Promise<void> {
    await this.context.withLock(id, async () => {
      for (const { root, folder, isArchived } of this.context.copies(id)) {
        if (isArchived === toArchive) continue;
        const metadata = await readOrReplaceMetadata(folder, this.#now());
        await writeMetadata(folder, change(metadata));
        const parent = parentFolder(this.context.roots(), root, toArchive);
        await makeFolder(parent);
        await moveFolder(folder, path.join(parent, path.basename(folder)));
      }
    });
  }

  async #openWriter(
    { written, ...parts }: OpenedParts,
    loaded?: LoadedEvents,
  ): Promise<FsConversationWriter> {
    const { openFile } = this.context.options;
    const { folder } = parts;
    const baseConfig =
      written === undefined
        ? readBaseConfig(folder)
        : written.baseConfig && parseBaseConfig(path.join(folder, BASE_CONFIG), written.baseConfig);
    return FsConversationWriter.open(
      {
        ...parts,
        ...(await this.context.ensurePlace(parts.id)),
        metadata: await readOrReplaceMetadata(folder, this.#now(), written?.metadata),
        base: { createdAt: fileIdCreatedAt(parts.id), baseConfig },
        headsFile: this.context.headsFile,
        ...(openFile !== undefined && { openFile }),
      },
      loaded,
    );
  }

  /** Adds the open turn. Only a conversation with a marker may have one, so only those are read for it. */
  async #withTurn(
    summary: ConversationSummary,
    copies: readonly ConversationCopy[],
  ): Promise<ConversationSummary> {
    if (summary.problem !== undefined) return summary;
    const isLive = this.context.isLive(summary.id);
    const { entries, problem } = await this.#readLastTurn(summary.id, copies);
    const openTurn = describeOpenTurn(lastTurnOf(entries), isLive);
    return {
      ...summary,
      ...(openTurn !== undefined && { openTurn }),
      ...(problem !== undefined && { problem: describeProblem(problem) }),
    };
  }

  #readLastTurn(id: ConversationId, copies: readonly ConversationCopy[]) {
    return readLastTurn(copies, this.context.findPlace(id));
  }

  #findOwnTurn(id: ConversationId, entries: readonly StreamEntry[]): OwnTurn | undefined {
    return findOwnTurn(this.context.findPlace(id), entries);
  }

  /**
   * The user's own conversations are shared by the clones of a workspace. An open turn belongs to the folder it was
   * left in, as long as that exists.
   */
  #findOtherWorkspace(id: ConversationId): string | undefined {
    const place = this.context.findPlace(id);
    if (place?.workspace === undefined) return undefined;
    if (this.context.copies(id).every(({ root }) => root !== "local")) return undefined;
    const left = findWorkspaceOfTurn(place);
    const isElsewhere = left !== undefined && left !== place.workspace && isWorkspace(left);
    return isElsewhere ? left : undefined;
  }

  /** There is nothing to compare the turn with, and only the program itself can have written it. */
  #isOwnUnmarked(id: ConversationId): boolean {
    const { trustsUnmarked, options } = this.context;
    return trustsUnmarked && isUnmarked(options.storage, id);
  }

  #now() {
    return timestampFromDate(this.context.options.clock.now());
  }
}

function loadPortable() {
  return loadModule(() => import("./portable-files.ts"));
}

function listed(roots: ConversationRoots, options: ListOptions): readonly ConversationCopies[] {
  const { which = "live", limit } = options;
  if (which !== "archived" && limit !== undefined) {
    return listNewestCopies(roots, which, { ...options, limit });
  }
  const all: ConversationCopies[] = [];
  listCopies(roots, which === "live" ? "live" : "all").forEach((copies, id) => {
    // A conversation is archived only if it has no live copy.
    if (which !== "archived" || copies.every((copy) => copy.isArchived)) all.push({ id, copies });
  });
  return newestOf(all, ({ id }) => fileIdCreation(id), options);
}

function eventsIn(copies: readonly ConversationCopy[]): string {
  return path.join(folderOfLatest(copies, EVENTS, BASE_CONFIG), EVENTS);
}

/** Has read its first piece: its file is open, and stays so if the folder is renamed. */
function begun<Piece>(pieces: Generator<Piece>): Iterable<Piece> {
  const first = pieces.next();
  return first.done === true ? [] : continued(first.value, pieces);
}

function* continued<Piece>(first: Piece, others: Generator<Piece>): Generator<Piece> {
  try {
    yield first;
    yield* others;
  } finally {
    others.return(undefined);
  }
}

/** Loads the end instead of the whole record. Undefined if only a full read is certain to find the last turn. */
async function loadEnd(file: string): Promise<LoadedEvents | undefined> {
  const fingerprint = fingerprintOf(file);
  // Without a base config file, the first element is the base config.
  const isPacked = !existsSync(path.join(path.dirname(file), BASE_CONFIG));
  const end = fingerprint === "" || isPacked ? undefined : await findRecordEnd(file);
  if (end === undefined || lastTurnOf(end.entries).length === 0) return undefined;
  const { entries, offset } = end;
  return { file, fingerprint, entries, ...(offset > 0 && { unread: { end: offset, known: {} } }) };
}

/** Undefined if all of it has to be read. */
async function loadPart(
  file: string,
  base: Omit<StoredStream, "entries">,
  only: NonNullable<LoadOptions["only"]>,
) {
  const loaded = await loadEnd(file);
  if (loaded === undefined) return undefined;
  const { entries, unread } = loaded;
  const source = { file, refresh: async () => true };
  const earlier = unread && new EarlierInFile(source, unread);
  const stream = new RecordStream({ ...base, entries }, earlier);
  const isEnough = only === "end" || stream.isWhole || (await stream.abridge());
  return isEnough ? { loaded, stream, problems: [] } : undefined;
}

/** Shorter records are read as a whole at once. */
const MIN_ABRIDGED = 1 << 18;

/** Undefined if all of it has to be read. */
async function loadAbridged(
  file: string,
  createdAt: StoredStream["createdAt"],
): Promise<LoadedEvents | undefined> {
  const { size = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
  if (size < MIN_ABRIDGED) return undefined;
  return (await loadPart(file, { createdAt, baseConfig: {} }, "visible"))?.loaded;
}

/** The files of a fork that are copied from this folder, with the elements to keep. */
function readKept(
  folder: string,
  keep: ForkOptions["keep"],
): Pick<ConversationFiles, "baseConfig" | "events"> & { readonly kept: readonly KeptFile[] } {
  const baseConfig = findFile(path.join(folder, BASE_CONFIG));
  let position = 0;
  const kept: KeptFile[] = [];
  const events = readInLayout(path.join(folder, EVENTS), (element) => {
    position += 1;
    // Without a base config file, the first element is the base config and always copied.
    const isBase = baseConfig === undefined && position === 1;
    const isCopied = keep === undefined || isBase || keep(StreamEntry.fromJson(element));
    if (isCopied) kept.push(...keptFilesOf(element));
    return isCopied;
  });
  return { baseConfig, events, kept };
}

/** Updates the chain, if there is one, in the folder as it is called then. On failure, the evidence shows the gap, and nothing else fails. */
async function withChain(
  findFolder: () => string,
  action: (module: Awaited<ReturnType<typeof loadChainFile>>, folder: string) => void,
): Promise<void> {
  try {
    if (existsSync(path.join(findFolder(), CHAIN))) action(await loadChainFile(), findFolder());
  } catch {
    // See above.
  }
}
