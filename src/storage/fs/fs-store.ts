/**
 * Stores conversations on disk in the layout of the Rust original, which can read and write them
 * too. Reading creates no folders, moves no files and takes no locks.
 */
import path from "node:path";
import {
  conversationCreatedAt,
  type ConversationId,
  createStream,
  folderName,
  parseMetadata,
  StreamEntry,
  timestampFromDate,
  withRequiredConfig,
} from "../../conversation/index.ts";
import {
  yieldToEventLoop,
  isJsonObject,
  shouldYield,
  jsonTypeOf,
  parseJson,
} from "../../util/index.ts";
import type {
  Conversation,
  ConversationStore,
  ConversationSummary,
  CreateOptions,
  FileEdit,
  ForkOptions,
  LastTurns,
  ListOptions,
  MetadataChange,
  RecordFile,
  RecordFiles,
  RecordPaths,
  RecordPiece,
} from "../port.ts";
import { recordChangedError, StorageError } from "../storage-error.ts";
import {
  mergeCopies,
  type ConversationFiles,
  copyFolder,
  findFile,
  readBaseConfig,
  readOrReplaceMetadata,
  removeFolder,
  removeLeftovers,
  writeConversation,
  writeMetadata,
} from "./conversation-files.ts";
import {
  BASE_CONFIG,
  copiesOf,
  EVENTS,
  listCopies,
  METADATA,
  parentFolder,
  type Root,
} from "./conversation-folders.ts";
import { jsonText, makeFolder, moveFolder, renameFolder, writeDurably } from "./durable.ts";
import { eventFileBytes, readInLayout } from "./event-layout.ts";
import { fingerprintOf, type LoadedEvents, readEvents } from "./event-file.ts";
import { readElements } from "./event-reader.ts";
import { FsContext, type FsStoreOptions } from "./fs-context.ts";
import { FsConversationWriter, type FsWriterParts } from "./fs-writer.ts";
import { findLastTurns } from "./last-turns.ts";
import { folderOfLatest, summarize } from "./summary.ts";

export class FsConversationStore implements ConversationStore, RecordFiles {
  readonly #context: FsContext;
  /** Where loaded conversations come from. Those with problems are absent. */
  readonly #loaded = new WeakMap<Conversation, LoadedEvents>();

  constructor(options: FsStoreOptions) {
    this.#context = new FsContext(options);
  }

  async list({ which = "live" }: ListOptions = {}): Promise<ConversationSummary[]> {
    const summaries: ConversationSummary[] = [];
    for (const [id, copies] of listCopies(
      this.#context.roots(),
      which === "live" ? "live" : "all",
    )) {
      // A conversation is archived only if it has no live copy.
      const isLive = copies.some((copy) => !copy.isArchived);
      if (which === "archived" && isLive) continue;
      summaries.push(summarize(id, copies));
      if (shouldYield()) await yieldToEventLoop();
    }
    return summaries;
  }

  async find(id: ConversationId): Promise<ConversationSummary | undefined> {
    const copies = copiesOf(this.#context.roots(), id);
    return copies.length === 0 ? undefined : summarize(id, copies);
  }

  async load(id: ConversationId): Promise<Conversation> {
    const copies = this.#context.readableCopies(id);
    const folder = folderOfLatest(copies, EVENTS, BASE_CONFIG);
    const file = path.join(folder, EVENTS);
    const before = fingerprintOf(file);
    const { entries, problems, isInLayout } = await readEvents(file);
    const baseConfig = readBaseConfig(folder);
    const stream = createStream({ createdAt: conversationCreatedAt(id), baseConfig, entries });
    const conversation = { summary: summarize(id, copies), stream, problems };
    if (isInLayout) this.#loaded.set(conversation, { file, fingerprint: before, entries });
    return conversation;
  }

  async *scan(id: ConversationId): AsyncGenerator<RecordPiece> {
    const folder = folderOfLatest(this.#context.readableCopies(id), EVENTS, BASE_CONFIG);
    for (const { elements, problems } of readElements(path.join(folder, EVENTS))) {
      yield { entries: elements.map((element) => StreamEntry.fromJson(element)), problems };
      if (shouldYield()) await yieldToEventLoop();
    }
  }

  async findLastTurns(id: ConversationId, count: number): Promise<LastTurns | undefined> {
    const folder = folderOfLatest(this.#context.readableCopies(id), EVENTS, BASE_CONFIG);
    const last = await findLastTurns(path.join(folder, EVENTS), count);
    return (
      last && {
        entries: last.elements.map((element) => StreamEntry.fromJson(element)),
        firstTurn: last.firstTurn,
      }
    );
  }

  async create(options: CreateOptions): Promise<FsConversationWriter> {
    const { title, labels, baseConfig = {}, entries = [] } = options;
    const files: ConversationFiles = {
      metadata: {
        ...(title !== undefined && { title }),
        lastActivatedAt: this.#now(),
        ...(labels !== undefined && { labels }),
      },
      baseConfig: Buffer.from(`${jsonText(withRequiredConfig(baseConfig))}\n`),
      events: eventFileBytes(entries.map(({ raw }) => raw)),
    };
    return this.#createConversation(options.isLocal === true ? "local" : "workspace", files);
  }

  async open(id: ConversationId, loaded?: Conversation): Promise<FsConversationWriter> {
    this.#context.liveCopies(id);
    const lock = await this.#context.lock(id);
    try {
      await removeLeftovers(this.#context.roots(), id);
      const copies = this.#context.liveCopies(id);
      const folder = await mergeCopies(copies, "workspace");
      const otherFolders = copies.map((copy) => copy.folder).filter((other) => other !== folder);
      const known = loaded && this.#loaded.get(loaded);
      return await this.#openWriter({ id, folder, otherFolders, lock }, known);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  async fork(id: ConversationId, { title, keep }: ForkOptions = {}): Promise<ConversationId> {
    const copies = this.#context.readableCopies(id);
    const folder = folderOfLatest(copies, EVENTS, BASE_CONFIG);
    const {
      expiresAt: _expiresAt,
      archivedAt: _archivedAt,
      ...metadata
    } = summarize(id, copies).metadata ?? { lastActivatedAt: this.#now() };
    const baseConfig = findFile(path.join(folder, BASE_CONFIG));
    let position = 0;
    const events = readInLayout(path.join(folder, EVENTS), (element) => {
      position += 1;
      // Without a base config file, the first element is the base config and always copied.
      const isBase = baseConfig === undefined && position === 1;
      return keep === undefined || isBase || keep(StreamEntry.fromJson(element));
    });
    const root = copies.some((copy) => copy.root === "workspace") ? "workspace" : "local";
    await using writer = await this.#createConversation(root, {
      metadata: {
        ...metadata,
        ...(title !== undefined && { title }),
        lastActivatedAt: this.#now(),
      },
      baseConfig,
      events,
    });
    return writer.id;
  }

  async remove(id: ConversationId): Promise<void> {
    await this.#context.withLock(id, async () => {
      for (const { folder } of this.#context.copies(id)) await removeFolder(folder);
    });
  }

  async archive(id: ConversationId): Promise<void> {
    const archivedAt = this.#now();
    await this.#moveAll(id, true, (metadata) => ({ ...metadata, archivedAt }));
  }

  async unarchive(id: ConversationId): Promise<void> {
    await this.#moveAll(id, false, ({ archivedAt: _archivedAt, ...metadata }) => metadata);
  }

  async setLocal(id: ConversationId, isLocal: boolean): Promise<void> {
    await this.#context.withLock(id, async () => {
      const copies = this.#context.liveCopies(id);
      const root = isLocal ? "local" : "workspace";
      const folder = await mergeCopies(copies, root);
      const parent = parentFolder(this.#context.roots(), root, false);
      const target = path.join(parent, path.basename(folder));
      if (folder !== target) await copyFolder(folder, target);
      for (const copy of copies) if (copy.folder !== target) await removeFolder(copy.folder);
    });
  }

  paths(id: ConversationId): RecordPaths {
    const copies = this.#context.readableCopies(id);
    const folder = folderOfLatest(copies, EVENTS, BASE_CONFIG);
    return {
      folder,
      events: path.join(folder, EVENTS),
      metadata: path.join(folderOfLatest(copies, METADATA), METADATA),
      baseConfig: path.join(folder, BASE_CONFIG),
    };
  }

  read(id: ConversationId, file: RecordFile): string | undefined {
    return findFile(this.paths(id)[file])?.toString("utf8");
  }

  async replace(id: ConversationId, file: RecordFile, edit: FileEdit): Promise<void> {
    assertValidRecordFile(file, edit.after);
    await this.#context.withLock(id, async () => {
      const target = this.paths(id)[file];
      if (this.read(id, file) !== edit.before) throw recordChangedError(target);
      await writeDurably(target, Buffer.from(edit.after));
      if (file === "metadata") await this.#renameFolders(id);
    });
  }

  /** Folder names contain the title. */
  async #renameFolders(id: ConversationId): Promise<void> {
    const copies = this.#context.readableCopies(id);
    const name = folderName(id, summarize(id, copies).metadata?.title);
    for (const { folder } of copies) await renameFolder(folder, name);
  }

  /** Creates a folder for a new id, and removes it again on failure. */
  async #createConversation(root: Root, files: ConversationFiles): Promise<FsConversationWriter> {
    const { id, lock } = await this.#context.reserveId();
    const parent = parentFolder(this.#context.roots(), root, false);
    const folder = path.join(parent, folderName(id, files.metadata.title));
    try {
      await writeConversation(folder, files);
      return await this.#openWriter({ id, folder, otherFolders: [], lock });
    } catch (error) {
      await removeFolder(folder).catch(() => undefined);
      lock.release();
      throw error;
    }
  }

  /** Moves all copies into the archive or out of it. */
  async #moveAll(id: ConversationId, toArchive: boolean, change: MetadataChange): Promise<void> {
    await this.#context.withLock(id, async () => {
      for (const { root, folder, isArchived } of this.#context.copies(id)) {
        if (isArchived === toArchive) continue;
        const metadata = await readOrReplaceMetadata(folder, this.#now());
        await writeMetadata(folder, change(metadata));
        const parent = parentFolder(this.#context.roots(), root, toArchive);
        await makeFolder(parent);
        await moveFolder(folder, path.join(parent, path.basename(folder)));
      }
    });
  }

  async #openWriter(
    parts: Pick<FsWriterParts, "id" | "folder" | "otherFolders" | "lock">,
    loaded?: LoadedEvents,
  ): Promise<FsConversationWriter> {
    const { openFile } = this.#context.options;
    const baseConfig = readBaseConfig(parts.folder);
    return FsConversationWriter.open(
      {
        ...parts,
        metadata: await readOrReplaceMetadata(parts.folder, this.#now()),
        base: { createdAt: conversationCreatedAt(parts.id), baseConfig },
        ...(openFile !== undefined && { openFile }),
      },
      loaded,
    );
  }

  #now() {
    return timestampFromDate(this.#context.options.clock.now());
  }
}

/** Checks the text of an edited file before it replaces a good one. Throws `invalid_record`. */
function assertValidRecordFile(file: RecordFile, text: string): void {
  try {
    CHECKS[file](parseJson(text));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError("invalid_record", `Invalid ${file} file: ${reason}`, { cause });
  }
}

const CHECKS = {
  events: assertEvents,
  metadata: parseMetadata,
  baseConfig: (value: unknown) => {
    if (!isJsonObject(value)) throw new Error(`expected an object, got ${jsonTypeOf(value)}`);
  },
} satisfies Record<RecordFile, (value: unknown) => unknown>;

function assertEvents(value: unknown): void {
  if (!Array.isArray(value)) throw new Error(`expected a list, got ${jsonTypeOf(value)}`);
  for (const [index, element] of value.entries()) {
    if (!isJsonObject(element)) {
      throw new Error(`element ${index}: expected an object, got ${jsonTypeOf(element)}`);
    }
    // Without these two, the Rust original would move the whole conversation to the trash.
    for (const key of ["timestamp", "type"]) {
      if (element[key] === undefined) throw new Error(`element ${index}: "${key}" is missing`);
    }
    const { content } = StreamEntry.fromJson(element);
    if (content.kind === "malformed") throw new Error(`element ${index}: ${content.error.message}`);
  }
}
