/** Writes a conversation on disk: three files in a folder, and the lock on all of them. */
import path from "node:path";
import {
  type ConversationEvent,
  type ConversationId,
  type ConversationMetadata,
  type ConversationStream,
  hasLinks,
  type KeptFile,
  StreamEntry,
} from "../../record/conversation/index.ts";
import { type JsonObject, loaderOf } from "../../util/index.ts";
import type { AnswerListener, ConversationWriter, MetadataChange, RecordProblem } from "../port.ts";
import { RecordStream } from "../record-stream.ts";
import { Releasable } from "../releasable.ts";
import { writeError } from "../storage-error.ts";
import type { ChainFile } from "./chain-file.ts";
import { loadKeptFiles, writeMetadata } from "./conversation-files.ts";
import { EVENTS } from "./conversation-folders.ts";
import { renameFolder } from "./durable.ts";
import { EarlierInFile } from "./earlier-in-file.ts";
import { EventFile, type LoadedEvents, type OpenedEvents, type OpenFile } from "./event-file.ts";
import { loadSecretSockets } from "./load-secret-sockets.ts";
import type { ConversationLock } from "./lock.ts";
import { FileOffers } from "./offers.ts";
import { findCopy, TurnMarker } from "./open-turns.ts";
import { keepRecent } from "./recent-records.ts";
import type { PrivatePlace } from "./user-data.ts";
import { folderName } from "./file-id.ts";

export interface FsWriterParts extends PrivatePlace {
  /** The copy to write to. */
  readonly folder: string;
  /** Other copies, renamed along with the folder. */
  readonly otherFolders: readonly string[];
  readonly metadata: ConversationMetadata;
  readonly base: Pick<ConversationStream, "createdAt"> & {
    readonly baseConfig: JsonObject | undefined;
  };
  readonly lock: ConversationLock;
  /** The open turn of the conversation that this one is a copy of: see `TurnMarker`. */
  readonly ownTurn?: string | undefined;
  /** Without a marker, the turn is the user's own: see `TurnMarker`. */
  readonly trustsUnmarked?: boolean;
  /** The log of heads: see `noteHead`. */
  readonly headsFile: string;
  readonly openFile?: OpenFile;
}

/** Needed only for decisions. Throws `module_not_loaded`. */
export const loadChainFile = loaderOf(() => import("./chain-file.ts"));

export class FsConversationWriter extends Releasable implements ConversationWriter {
  readonly id: ConversationId;
  readonly #base: FsWriterParts["base"];
  readonly #lock: ConversationLock;
  readonly #place: PrivatePlace;
  readonly #headsFile: string;
  readonly #events: EventFile;
  #otherFolders: readonly string[];
  #folder: string;
  #lastAppend: Promise<unknown> = Promise.resolve();
  /** Appends that are not in `stream` yet. */
  #pending = 0;
  #chain: ChainFile | undefined;
  /** The turn has decisions. Undefined before the first append. */
  #isChained: boolean | undefined;
  /** Pending until all appended entries are in the chain too. */
  #chaining: Promise<unknown> = Promise.resolve();
  /** Pending until the last decision is in the chain. */
  #linked: Promise<unknown> = Promise.resolve();
  #metadataWrites: Promise<unknown> = Promise.resolve();
  #isReleased = false;
  /** Absent until the record is read. */
  #marker: TurnMarker | undefined;
  #metadata: ConversationMetadata;
  #stream: RecordStream;
  #problems: readonly RecordProblem[] = [];

  private constructor(parts: FsWriterParts) {
    super();
    this.id = parts.id;
    this.#base = parts.base;
    this.#lock = parts.lock;
    const { id, privateFolder, workspace } = parts;
    this.#place = { privateFolder, id, workspace };
    this.#headsFile = parts.headsFile;
    this.#folder = parts.folder;
    this.#otherFolders = parts.otherFolders;
    this.#metadata = parts.metadata;
    const file = path.join(parts.folder, EVENTS);
    const listener = {
      findCopy: () => findCopy(this.#place),
      onChanged: (opened: OpenedEvents) => {
        this.#replaceStream(opened);
        this.#marker?.check(this.#stream.lastEntries);
      },
      beforeWrite: (added: readonly StreamEntry[]) =>
        this.#marker?.prepare(added, this.#stream.lastEntries),
      afterWrite: (isWritten: boolean) => {
        if (isWritten) this.#marker?.commit();
        else this.#marker?.undo();
      },
      beforeRest: () => {
        this.#marker?.rest();
        this.#chain?.rest();
      },
    };
    this.#events = new EventFile(file, listener, parts.openFile);
    this.#stream = this.#createStream({ entries: [], problems: [] });
  }

  /** Takes ownership of the lock, and releases it if opening fails. */
  static async open(parts: FsWriterParts, loaded?: LoadedEvents): Promise<FsConversationWriter> {
    const writer = new FsConversationWriter(parts);
    try {
      writer.#replaceStream(await writer.#events.open(loaded));
      const { ownTurn, trustsUnmarked } = parts;
      const { lastEntries: entries } = writer.#stream;
      const marked = { entries, ownTurn, trustsUnmarked };
      const name = path.basename(parts.folder);
      writer.#marker = new TurnMarker(writer.#place, { folderName: name, ...marked });
      return writer;
    } catch (error) {
      await writer.close();
      throw error;
    }
  }

  /** Its current path: a new title renames it. */
  get folder(): string {
    return this.#folder;
  }

  get metadata(): ConversationMetadata {
    return this.#metadata;
  }

  get stream(): ConversationStream {
    return this.#stream;
  }

  get problems(): readonly RecordProblem[] {
    return this.#problems;
  }

  get isOwnTurn(): boolean {
    return this.#marker?.isOwnTurn ?? false;
  }

  get startedIn(): string | undefined {
    return this.#marker?.startedIn;
  }

  append(...events: readonly ConversationEvent[]): Promise<void> {
    return this.appendEntries(events.map((event) => StreamEntry.fromEvent(event)));
  }

  appendEntries(entries: readonly StreamEntry[]): Promise<void> {
    const done = this.#append(entries);
    this.#lastAppend = done.catch(() => undefined);
    return done;
  }

  appendSoon(...events: readonly ConversationEvent[]): Promise<void> {
    const entries = events.map((event) => StreamEntry.fromEvent(event));
    // Decisions have to be in the chain too, and the order must be that of the file.
    if (this.#pending > 0 || hasLinks(entries)) return this.appendEntries(entries);
    const done = this.#events.appendSoon(entries);
    this.#stream.append(entries);
    this.#lastAppend = done.catch(() => this.#stream.drop(entries));
    return done;
  }

  async #append(entries: readonly StreamEntry[]): Promise<void> {
    this.#pending += 1;
    try {
      await this.#events.append(entries);
    } finally {
      this.#pending -= 1;
    }
    const { lastEntries } = this.#stream;
    const hasDecision = hasLinks(entries);
    // A killed process may have left decisions without links.
    const hasEarlier = this.#isChained === undefined && hasLinks(lastEntries);
    const needsLink = hasDecision || hasEarlier;
    this.#isChained = this.#isChained === true || needsLink;
    if (this.#isChained) this.#extendChain(entries, [...lastEntries]);
    this.#stream.append(entries);
    // Nothing acts on a decision before its link is written, and later appends do not resolve earlier.
    if (needsLink) this.#linked = this.#chaining;
    await this.#linked;
  }

  #noteHead(): void {
    try {
      this.#chain?.noteHead(this.#headsFile, this.#place.workspace);
    } catch {
      // The chain has it. Only a later truncation of the chain would go unnoticed.
    }
  }

  /** Never rejects: missing links are rebuilt from the record the next time. */
  #extendChain(entries: readonly StreamEntry[], before: readonly StreamEntry[]): void {
    const extend = async () => {
      this.#chain ??= await this.#createChain();
      this.#chain.append(entries, before);
      if (!this.#events.isOpen) this.#chain.rest();
    };
    this.#chaining = this.#chaining.then(extend).catch(() => undefined);
  }

  async #createChain(): Promise<ChainFile> {
    const { ChainFile } = await loadChainFile();
    return new ChainFile(this.id, () => this.#folder);
  }

  /** Takes turns with metadata: a new title renames the folder. */
  saveFile(file: KeptFile, bytes: Uint8Array): Promise<void> {
    const done = this.#metadataWrites.then(() => this.#saveFile(file, bytes));
    this.#metadataWrites = done.catch(() => undefined);
    return done;
  }

  async #saveFile(file: KeptFile, bytes: Uint8Array): Promise<void> {
    this.assertHeld();
    const { saveKeptFile } = await loadKeptFiles();
    await saveKeptFile(this.#folder, file, bytes);
  }

  updateMetadata(change: MetadataChange): Promise<void> {
    const done = this.#metadataWrites.then(() => this.#writeMetadata(change));
    this.#metadataWrites = done.catch(() => undefined);
    return done;
  }

  onAnswer(listener: AnswerListener): Disposable {
    this.assertHeld();
    const listening = new FileOffers(this.#place).listen(async (offered) => {
      // Others can read a question before it is synced, and may already have answered it.
      await this.#lastAppend;
      return listener(offered);
    });
    return this.disposeOnRelease(listening);
  }

  async onSecret(listener: AnswerListener): Promise<Disposable> {
    const loaded = await loadSecretSockets().catch(() => undefined);
    if (loaded === undefined) return { [Symbol.dispose]: () => undefined }; // As if no one could reach it.
    return this.disposeOnRelease(await new loaded.SecretSockets(this.#place).listen(listener));
  }

  protected async close(): Promise<void> {
    this.#isReleased = true;
    try {
      await this.#metadataWrites;
      await this.#chaining;
      this.#noteHead();
      this.#chain?.rest();
      const closed = await this.#events.close();
      const { isWhole, lastEntries } = this.#stream;
      this.#marker?.close(lastEntries);
      const isSound = this.#marker !== undefined && this.#problems.length === 0;
      // Without a base config of its own, its first element is the base config, which the entries lack.
      const isPacked = this.#base.baseConfig === undefined;
      if (closed === undefined || !isWhole || !isSound || isPacked) return;
      keepRecent({ ...closed, entries: this.#stream.handOver() }, this.#events.size);
    } finally {
      this.#lock.release();
    }
  }

  async #writeMetadata(change: MetadataChange): Promise<void> {
    this.assertHeld();
    const metadata = change(this.#metadata);
    await writeMetadata(this.#folder, metadata);
    const isRenamed = metadata.title !== this.#metadata.title;
    this.#metadata = metadata;
    if (isRenamed) await this.#events.move(() => this.#renameFolders());
  }

  protected assertHeld(): void {
    if (this.#isReleased)
      throw writeError(this.#folder, new Error("the conversation was released"));
  }

  #replaceStream(opened: OpenedEvents): void {
    this.#stream = this.#createStream(opened);
    this.#problems = [...this.#problems, ...opened.problems];
  }

  #createStream({ entries, unread }: OpenedEvents): RecordStream {
    const earlier = unread && new EarlierInFile(this.#events, unread);
    return new RecordStream({ ...this.#base, entries }, earlier);
  }

  /** Returns the new path of the events. */
  async #renameFolders(): Promise<string> {
    const name = folderName(this.id, this.#metadata.title);
    this.#folder = await renameFolder(this.#folder, name);
    for (const [index, folder] of this.#otherFolders.entries()) {
      this.#otherFolders = this.#otherFolders.with(index, await renameFolder(folder, name));
    }
    return path.join(this.#folder, EVENTS);
  }
}
