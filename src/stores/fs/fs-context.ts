/** Locates the copies of a conversation, and takes locks, for all operations of the store. */
import { realpathSync } from "node:fs";
import path from "node:path";
import { type ConversationId } from "../../record/conversation/index.ts";
import { type CacheEnvironment, type Clock, isJpError, monotonicMs } from "../../util/index.ts";
import { archivedError, noFreeIdError, conversationNotFoundError } from "../storage-error.ts";
import { removeLeftFolders } from "./conversation-files.ts";
import {
  type ConversationCopy,
  type ConversationRoots,
  copiesOf,
  currentCopies,
  findCopies,
  FolderNames,
  listCopies,
  readCopies,
} from "./conversation-folders.ts";
import type { OpenFile } from "./event-file.ts";
import {
  assertFileId,
  fileIdFromDate,
  fileIdFromNumber,
  fileIdToNumber,
  findFileId,
  findIdInFolderName,
} from "./file-id.ts";
import {
  acquireLock,
  type ConversationLock,
  findIdOfLock,
  isHeldHere,
  isLocked,
  listLockFiles,
} from "./lock.ts";
import { markersIn } from "./open-turns.ts";
import { SummaryIndex } from "./summary-index.ts";
import { headsFileIn, type PrivatePlace } from "./user-data.ts";
import type { WatchedFolder } from "./watch.ts";

export interface FsStoreOptions {
  /** The folder that contains `conversations`: a workspace's `.jp`, or a store's folder. */
  readonly storage: string;
  /** Set for a workspace, whose own folder may be a clone. A store trusts its folder, and keeps everything in it. */
  readonly userFolder?: UserFolder;
  /** False if another store handles the conversations in it. */
  readonly hasLocal?: boolean;
  /** All conversations are in it: there is no workspace. */
  readonly isLocalOnly?: boolean;
  /** Locates the user's cache. Without it, nothing is cached. */
  readonly environment?: CacheEnvironment;
  readonly clock: Clock;
  readonly pid: number;
  readonly session?: string;
  readonly openFile?: OpenFile;
}

/** The user's folder for a workspace. */
interface UserFolder {
  /** Undefined if it does not exist. */
  readonly find: () => string | undefined;
  /** Like `find`, but creates it if missing. Only called for writing. */
  readonly ensure: () => Promise<string>;
  /** The part of it for local conversations. Undefined if it does not exist. */
  readonly findOwn: () => string | undefined;
  /** Like `findOwn`, but creates it if missing. Only called for writing. */
  readonly ensureOwn: () => Promise<string>;
  /** The folder in which it is created. */
  readonly parent: string;
  /** The user's data folder, for all workspaces. */
  readonly data: string;
}

interface ReservedId {
  readonly id: ConversationId;
  readonly lock: ConversationLock;
}

type IdRequest = PromiseWithResolvers<ReservedId>;

/** Other processes may be creating conversations at the same time, but not this many. */
const MAX_LOCKED_IDS = 100;

/** How many ids are reserved together. The first caller has to wait for all of them. */
const MAX_TOGETHER = 64;
/** How often to clean up after killed processes: a service may create thousands of conversations at once. */
const CLEANUP_MS = 1000;

export class FsContext {
  readonly options: FsStoreOptions;

  readonly #names = new FolderNames();
  #workspace: string | undefined;
  readonly #requests: IdRequest[] = [];
  #reserved: Promise<unknown> = Promise.resolve();
  /** A range of ids known to be taken. */
  #burst = { from: 0, to: -1 };
  /** By the monotonic clock. */
  #nextCleanup = 0;

  constructor(options: FsStoreOptions) {
    this.options = options;
  }

  /** The folder with locks, markers of open turns, and offers. Undefined if it does not exist. */
  findPrivateFolder(): string | undefined {
    const { storage, userFolder } = this.options;
    return userFolder === undefined ? storage : userFolder.find();
  }

  /** Like `findPrivateFolder`, but creates it if missing. Only for writing. */
  async ensurePrivateFolder(): Promise<string> {
    const { storage, userFolder } = this.options;
    return userFolder === undefined ? storage : userFolder.ensure();
  }

  /** The log of chain heads: one for all workspaces of the user, and one for each store. */
  get headsFile(): string {
    const { storage, userFolder } = this.options;
    return headsFileIn(userFolder?.data ?? storage);
  }

  /**
   * The real path of the workspace: clones with the same id share the private folder, but not their decisions.
   * Undefined for a store, whose folder may be mounted elsewhere for another process.
   */
  get workspace(): string | undefined {
    const { storage, userFolder } = this.options;
    if (userFolder === undefined) return undefined;
    this.#workspace ??= realpathSync(path.dirname(storage));
    return this.#workspace;
  }

  /** Undefined if the private folder does not exist. */
  findPlace(id: ConversationId): PrivatePlace | undefined {
    assertFileId(id);
    const privateFolder = this.findPrivateFolder();
    return privateFolder === undefined
      ? undefined
      : { privateFolder, id, workspace: this.workspace };
  }

  /** Like `findPlace`, but creates the folder if missing. Only for writing. */
  async ensurePlace(id: ConversationId): Promise<PrivatePlace> {
    assertFileId(id);
    return { privateFolder: await this.ensurePrivateFolder(), id, workspace: this.workspace };
  }

  /** Whether a turn without a marker is the user's own, because no clone can have brought it. */
  get trustsUnmarked(): boolean {
    return this.options.userFolder === undefined;
  }

  roots(): ConversationRoots {
    const { storage, hasLocal = true } = this.options;
    const userFolder = hasLocal ? this.options.userFolder?.findOwn() : undefined;
    return {
      main: path.join(storage, "conversations"),
      local: userFolder === undefined ? undefined : path.join(userFolder, "conversations"),
      names: this.#names,
    };
  }

  /** Undefined if caching is not possible. */
  findIndex(): SummaryIndex | undefined {
    const { environment, clock } = this.options;
    const { workspace } = this;
    if (environment === undefined || workspace === undefined) return undefined;
    return SummaryIndex.find({ environment, clock, workspace });
  }

  /** See `FolderWatch`. */
  watchedFolders(): readonly WatchedFolder[] {
    const { userFolder } = this.options;
    const { main, local } = this.roots();
    const privateFolder = this.findPrivateFolder();
    const conversations = [main, ...(local === undefined ? [] : [local])].map((folder) => ({
      folder,
      idOf: findIdInFolderName,
    }));
    if (privateFolder === undefined) {
      return [
        ...conversations,
        ...(userFolder === undefined ? [] : [{ folder: userFolder.parent }]),
      ];
    }
    return [
      ...conversations,
      { folder: locksIn(privateFolder), idOf: findIdOfLock },
      { folder: markersIn(privateFolder), idOf: findFileId },
    ];
  }

  /** The copies to read from. Throws `conversation_not_found`. */
  readableCopies(id: ConversationId): readonly ConversationCopy[] {
    return currentCopies(this.copies(id));
  }

  /** See `readCopies`. Throws `conversation_not_found` and what `read` throws. */
  reading<Value>(
    id: ConversationId,
    read: (copies: readonly ConversationCopy[]) => Promise<Value> | Value,
  ): Promise<Value> {
    return readCopies(() => this.readableCopies(id), read);
  }

  /** Throws `conversation_not_found`, `invalid_conversation_id`. */
  copies(id: ConversationId): readonly ConversationCopy[] {
    assertFileId(id);
    const copies = findCopies(this.roots(), id);
    if (copies.length === 0) throw conversationNotFoundError(id);
    return copies;
  }

  /** Whether one look finds it. If not, it may be archived, or the user's own. */
  isListed(id: ConversationId): boolean {
    const { main, names } = this.roots();
    return names.list(main, id).length > 0;
  }

  /** Throws `conversation_not_found`, `conversation_archived`. */
  liveCopies(id: ConversationId, copies = this.copies(id)): readonly ConversationCopy[] {
    const live = copies.filter((copy) => !copy.isArchived);
    if (live.length === 0) throw archivedError(id);
    return live;
  }

  /** Throws `conversation_locked`. */
  async lock(id: ConversationId): Promise<ConversationLock> {
    const { pid, session, clock } = this.options;
    const folder = locksIn(await this.ensurePrivateFolder());
    const acquiredAt = clock.now().toISOString();
    const owner = { pid, acquiredAt, ...(session !== undefined && { session }) };
    return acquireLock(folder, id, owner);
  }

  /** Whether some process has the conversation open. Takes no lock. */
  isLive(id: ConversationId): boolean {
    const folder = this.findPrivateFolder();
    return folder !== undefined && isLocked(locksIn(folder), id);
  }

  /** Runs the action while holding the lock. Throws `conversation_locked`. */
  async withLock<Value>(id: ConversationId, action: () => Promise<Value>): Promise<Value> {
    this.copies(id);
    const lock = await this.lock(id);
    try {
      return await action();
    } finally {
      lock.release();
    }
  }

  /** Locks the id for the current time, or the next free one. Throws `conversation_locked`. */
  reserveId(): Promise<ReservedId> {
    const request = Promise.withResolvers<ReservedId>();
    this.#requests.push(request);
    // Sequential: concurrent requests would all try the same ids.
    if (this.#requests.length === 1) {
      this.#reserved = this.#reserved.then(() => this.#reserveAll());
    }
    return request.promise;
  }

  /** Serves all waiting requests. Never rejects: each request does. */
  async #reserveAll(): Promise<void> {
    let known: ReadonlySet<ConversationId> = new Set();
    while (this.#requests.length > 0) {
      const requests = this.#requests.splice(0, MAX_TOGETHER);
      try {
        if (monotonicMs() >= this.#nextCleanup) {
          await this.#removeAbandoned();
          this.#nextCleanup = monotonicMs() + CLEANUP_MS;
        }
        known = await this.#reserveTogether(requests, known);
      } catch (error) {
        for (const request of requests) request.reject(error);
      }
    }
  }

  /**
   * Lists the conversation folders once for all of these: there may be thousands. Skips ids known to be taken. Returns
   * the known ids.
   */
  async #reserveTogether(
    requests: readonly IdRequest[],
    known: ReadonlySet<ConversationId>,
  ): Promise<ReadonlySet<ConversationId>> {
    const locked: (ReservedId & { readonly request: IdRequest })[] = [];
    for (const request of requests) {
      try {
        locked.push({ request, ...(await this.#lockNextId(known)) });
      } catch (error) {
        request.reject(error);
      }
    }
    // Checked only now: a creator locks its id first, so a free id stays free.
    const taken = this.#findTaken(locked);
    for (const { request, id, lock } of locked) {
      if (!taken.has(id)) request.resolve({ id, lock });
      else {
        lock.release();
        this.#requests.push(request);
      }
    }
    return taken;
  }

  /**
   * The ids of all conversations; empty if that is not needed to see that these are free. If it throws, they are
   * released.
   */
  #findTaken(locked: readonly ReservedId[]): ReadonlySet<ConversationId> {
    try {
      const isFree = locked.length < 2 && locked.every(({ id }) => !this.#exists(id));
      return isFree ? new Set() : this.#listIds();
    } catch (error) {
      for (const { lock } of locked) lock.release();
      throw error;
    }
  }

  async #lockNextId(taken: ReadonlySet<ConversationId>): Promise<ReservedId> {
    const locks = locksIn(await this.ensurePrivateFolder());
    const now = fileIdToNumber(fileIdFromDate(this.options.clock.now()));
    // In a burst, the next free id comes after all of them.
    const { from, to } = this.#burst;
    const isInBurst = from <= now && now <= to;
    let moment = isInBurst ? to + 1 : now;
    let known = taken;
    for (let locked = 0; locked < MAX_LOCKED_IDS; moment += 1) {
      const id = fileIdFromNumber(moment);
      if (known.has(id) || isHeldHere(locks, id)) continue;
      const lock = await this.#tryLock(id);
      if (lock !== undefined) {
        this.#burst = { from: isInBurst ? from : now, to: moment };
        return { id, lock };
      }
      if (!this.#exists(id)) locked += 1;
      if (known === taken) known = this.#listIds();
    }
    throw noFreeIdError(MAX_LOCKED_IDS);
  }

  /** Cleans up conversations whose process was killed while creating them. */
  async #removeAbandoned(): Promise<void> {
    const folder = this.findPrivateFolder();
    if (folder === undefined) return;
    const known = this.#listIds();
    for (const id of listLockFiles(locksIn(folder))) {
      const lock = known.has(id) ? undefined : await this.#tryLock(id);
      if (lock === undefined) continue;
      if (!this.#exists(id)) await removeLeftFolders(this.roots(), id);
      lock.release();
    }
  }

  #listIds(): ReadonlySet<ConversationId> {
    return new Set(listCopies(this.roots(), "all").keys());
  }

  #exists(id: ConversationId): boolean {
    return copiesOf(this.roots(), id).length > 0;
  }

  async #tryLock(id: ConversationId): Promise<ConversationLock | undefined> {
    try {
      return await this.lock(id);
    } catch (error) {
      if (isJpError(error) && error.code === "conversation_locked") return undefined;
      throw error;
    }
  }
}

function locksIn(folder: string): string {
  return path.join(folder, "locks");
}
