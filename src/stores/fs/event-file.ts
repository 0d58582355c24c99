/**
 * Appends to an `events.json` in place. An append costs only the bytes of its events, regardless of the file's length,
 * and is on disk when it resolves. Appends that are queued together share one sync.
 */
import { type BigIntStats, fstatSync, lstatSync, readSync } from "node:fs";
import type { StreamEntry } from "../../record/conversation/index.ts";
import { yieldToEventLoop, shouldYield } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";
import { damagedError, writeError } from "../storage-error.ts";
import {
  type AppendPoint,
  CLOSING,
  EMPTY,
  ENDING_LENGTH,
  entriesToBytes,
  findAppendPoint,
  repairTornEnd,
  restoreTurn,
  rewriteInLayout,
} from "./event-layout.ts";
import { readEntries } from "./event-reader.ts";
import { fingerprint } from "./fingerprint.ts";
import { mayClose, mayNotClose } from "./kept-open.ts";
import {
  findDoubt,
  isWhole,
  type PlacedProblem,
  planRestore,
  type ReadRecord,
  type TurnCopy,
  withLoss,
} from "./restore-turn.ts";
import type { RecordHandle } from "./record-handle.ts";
import type { UnreadPart } from "./earlier-in-file.ts";
import { openRecordToWrite } from "./safe-open.ts";

/** Opens the file for reading and writing. Tests simulate a failing disk here. */
export type OpenFile = (file: string) => Promise<RecordHandle>;

export interface OpenedEvents {
  readonly entries: StreamEntry[];
  readonly problems: readonly RecordProblem[];
  /** The unread entries before these, if only the last were read. */
  readonly unread?: UnreadPart | undefined;
}

/** The contents of a file in the usual layout, read when it had this fingerprint. */
export interface LoadedEvents {
  readonly file: string;
  readonly fingerprint: string;
  /** The writer that opens the file with them adds to this list. */
  readonly entries: StreamEntry[];
  /** The unread entries before these, if only the last were read. */
  readonly unread?: UnreadPart | undefined;
}

/** Tracks the contents of the file. */
export interface EventFileListener {
  /** The open turn as written by this user's processes. Throws `read_failed`. */
  findCopy(): TurnCopy | undefined;
  /** Another program has changed the file. These are its new contents. */
  onChanged(opened: OpenedEvents): void;
  /** Called before entries are written. If it throws, they are not. */
  beforeWrite(entries: readonly StreamEntry[]): void;
  /** Called once they are on disk, or will not be. */
  afterWrite(isWritten: boolean): void;
  /** The file is closed until the next append, and so should those be that are written along with it. */
  beforeRest(): void;
}

interface PendingAppend {
  readonly entries: readonly StreamEntry[];
  readonly done: PromiseWithResolvers<void>;
  /** See `appendSoon`. */
  readonly isSoon: boolean;
}

export class EventFile {
  readonly #open: OpenFile;
  readonly #listener: EventFileListener;
  #file: string;
  /** Open while it is written, and as long afterwards as the process has files to spare: a turn may wait for days. */
  #handle: RecordHandle | undefined;
  /** The fingerprint after our last write; empty if the file has to be read again. */
  #lastFingerprint = "";
  /** Set while bytes of a failed append may still be in the file. */
  #needsRollback = false;
  #point: AppendPoint = { position: 0, separator: "" };
  #queue: PendingAppend[] = [];
  /** The queue will be written. */
  #isScheduled = false;
  /** Why entries were not written that others rely on. */
  #failure: unknown;
  /** Tasks on the file run one after another; this is the last of them. */
  #lastTask: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  readonly #close = () => void this.#closeHandle();

  constructor(file: string, listener: EventFileListener, openWith: OpenFile = openRecordToWrite) {
    this.#file = file;
    this.#listener = listener;
    this.#open = openWith;
  }

  /** Reads the file, unless it is still as loaded, and repairs it if needed. Throws `record_damaged`, `write_failed`. */
  async open(loaded?: LoadedEvents): Promise<OpenedEvents> {
    await this.#closeHandle();
    const mayBeLoaded = loaded?.file === this.#file && loaded.fingerprint !== "";
    if (mayBeLoaded && (await this.#openAtEnd()) && this.#lastFingerprint === loaded.fingerprint) {
      return { entries: loaded.entries, problems: [], unread: loaded.unread };
    }
    await this.#closeHandle();
    const opened = await readForWriting(this.#file, () => this.#listener.findCopy());
    if (await this.#openAtEnd()) return opened;
    throw writeError(this.#file, new Error("its end is not in the expected layout"));
  }

  /** Returns false if the end of the file is not in the usual layout. Throws `write_failed`. */
  async #openAtEnd(): Promise<boolean> {
    try {
      const handle = await this.#open(this.#file);
      this.#handle = handle;
      const stats = fstatSync(handle.fd, { bigint: true });
      this.#lastFingerprint = fingerprint(stats);
      const point = readAppendPoint(handle, Number(stats.size));
      if (point === undefined) return false;
      this.#point = point;
      return true;
    } catch (error) {
      throw writeError(this.#file, error);
    }
  }

  /** Resolves when the entries are on disk. If it throws, none of them are in the record. */
  append(entries: readonly StreamEntry[]): Promise<void> {
    const done = this.#queueUp(entries, false);
    this.#schedule();
    return done;
  }

  /** Like `append`, but waits for the next append of this turn of the event loop. If it throws, so does that one. */
  appendSoon(entries: readonly StreamEntry[]): Promise<void> {
    const done = this.#queueUp(entries, true);
    setImmediate(() => this.#schedule());
    return done;
  }

  #queueUp(entries: readonly StreamEntry[], isSoon: boolean): Promise<void> {
    const done = Promise.withResolvers<void>();
    if (this.#failure !== undefined) done.reject(this.#failure);
    else this.#queue.push({ entries, done, isSoon });
    return done.promise;
  }

  /** Writes what is queued once earlier tasks are done. */
  #schedule(): void {
    if (this.#isScheduled || this.#queue.length === 0) return;
    this.#isScheduled = true;
    void this.#enqueue(() => this.#flushQueue());
  }

  /**
   * Reads all of the file if another program has changed it (see `onChanged`), and then returns false. Throws like
   * `open`.
   */
  refresh(): Promise<boolean> {
    return this.#enqueue(async () => {
      if (this.#needsRollback || this.#isAsWritten()) return true;
      this.#listener.onChanged(await this.open());
      mayClose(this.#close);
      return false;
    });
  }

  get file(): string {
    return this.#file;
  }

  /** Runs an action that moves the file and returns its new path. Throws what the action throws. */
  async move(action: () => Promise<string>): Promise<void> {
    await this.#enqueue(async () => {
      this.#file = await action();
    });
  }

  /** Waits for pending tasks. Later appends fail. Returns the file and its fingerprint, unless it has to be read again. */
  async close(): Promise<Pick<LoadedEvents, "file" | "fingerprint"> | undefined> {
    this.#schedule();
    await this.#lastTask;
    this.#isClosed = true;
    await this.#enqueue(() => this.#closeHandle(true));
    if (this.#lastFingerprint === "" || this.#needsRollback) return undefined;
    return { file: this.#file, fingerprint: this.#lastFingerprint };
  }

  /** Its file is kept open, and so may be those that are written along with it. */
  get isOpen(): boolean {
    return this.#handle !== undefined;
  }

  /** In bytes, up to the end of the last entry. */
  get size(): number {
    return this.#point.position;
  }

  #enqueue<Value>(action: () => Promise<Value>): Promise<Value> {
    const done = this.#lastTask.then(action);
    this.#lastTask = done.catch(() => undefined);
    return done;
  }

  /** `isLast`: other files are closed by their owner. */
  async #closeHandle(isLast = false): Promise<void> {
    if (!isLast) this.#listener.beforeRest();
    mayNotClose(this.#close);
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined); // Everything acknowledged is synced.
  }

  /** Writes all pending appends with one write and one sync. Never rejects: each append does. */
  async #flushQueue(): Promise<void> {
    const batch = this.#queue;
    this.#queue = [];
    this.#isScheduled = false;
    mayNotClose(this.#close);
    try {
      await this.#write(batch.flatMap(({ entries }) => entries));
      for (const { done } of batch) done.resolve();
    } catch (error) {
      for (const { done } of batch) done.reject(error);
      if (batch.some(({ isSoon }) => isSoon)) this.#failFollowing(error);
    }
    if (this.#queue.length === 0 && !this.#needsRollback) mayClose(this.#close);
  }

  /** Rejects later appends too: they may rely on entries that are not in the file. */
  #failFollowing(error: unknown): void {
    for (const { done } of this.#queue) done.reject(error);
    this.#queue = [];
    this.#failure = error;
    setImmediate(() => {
      this.#failure = undefined; // By now, its caller knows.
    });
  }

  async #write(entries: readonly StreamEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const handle = await this.#currentHandle();
    const { position, separator } = this.#point;
    const bytes = entriesToBytes(entries, separator);
    this.#listener.beforeWrite(entries);
    try {
      await writeAll(handle, bytes, position);
      await handle.datasync();
    } catch (error) {
      await this.#rollBack(handle);
      this.#listener.afterWrite(false);
      throw writeError(this.#file, error);
    }
    this.#point = { position: position + bytes.length - CLOSING.length, separator: "," };
    // Synchronous for the same reason as `readAppendPoint`.
    const after = fstatSync(handle.fd, { bigint: true });
    this.#lastFingerprint =
      Number(after.size) === position + bytes.length ? fingerprint(after) : "";
    this.#listener.afterWrite(true);
  }

  /** The open file, read again if another program has changed or replaced it. */
  async #currentHandle(): Promise<RecordHandle> {
    if (this.#isClosed) throw writeError(this.#file, new Error("the conversation was released"));
    if (this.#needsRollback && this.#handle !== undefined) await this.#rollBack(this.#handle);
    if (this.#needsRollback) {
      throw writeError(this.#file, new Error("an earlier write could not be undone"));
    }
    const isCurrent = this.#handle === undefined ? await this.#reopen() : this.#isAsWritten();
    if (!isCurrent) this.#listener.onChanged(await this.open());
    if (this.#handle === undefined) throw new Error("an opened file has a handle");
    return this.#handle;
  }

  /** False if another program has changed or replaced the file. Throws `write_failed`. */
  #isAsWritten(): boolean {
    return this.#lastFingerprint !== "" && fingerprint(this.#stat()) === this.#lastFingerprint;
  }

  /** Reopens a closed file. False if another program has changed or replaced it. */
  async #reopen(): Promise<boolean> {
    if (this.#lastFingerprint === "") return false;
    try {
      const handle = await this.#open(this.#file);
      this.#handle = handle;
      return fingerprint(fstatSync(handle.fd, { bigint: true })) === this.#lastFingerprint;
    } catch (error) {
      throw writeError(this.#file, error);
    }
  }

  #stat(): BigIntStats {
    try {
      return lstatSync(this.#file, { bigint: true });
    } catch (error) {
      throw writeError(this.#file, error);
    }
  }

  /**
   * Restores the end of the list. Its bytes are still allocated, so this works on a full disk. If it
   * fails anyway, the next append tries again.
   */
  async #rollBack(handle: RecordHandle): Promise<void> {
    const { position, separator } = this.#point;
    const isEmpty = separator === "";
    this.#lastFingerprint = "";
    this.#needsRollback = true;
    try {
      await writeAll(handle, Buffer.from(isEmpty ? EMPTY : CLOSING), isEmpty ? 0 : position);
      await handle.truncate(isEmpty ? EMPTY.length : position + CLOSING.length);
      await handle.datasync();
      this.#lastFingerprint = fingerprint(fstatSync(handle.fd, { bigint: true }));
      this.#needsRollback = false;
    } catch {
      // If the process dies now, the next one to open the file repairs it.
    }
  }
}

/** Reads the whole file. Throws `read_failed`. */
export async function readEvents(
  file: string,
): Promise<OpenedEvents & ReadRecord & { readonly isInLayout: boolean }> {
  const entries: StreamEntry[] = [];
  const placed: PlacedProblem[] = [];
  let isInLayout = true;
  for (const batch of readEntries(file)) {
    for (const entry of batch.entries) entries.push(entry); // There may be too many for one call.
    for (const problem of batch.problems) placed.push({ problem, after: entries.length });
    isInLayout &&= !batch.isScanned;
    if (shouldYield()) await yieldToEventLoop();
  }
  return { entries, placed, problems: placed.map(({ problem }) => problem), isInLayout };
}

/** Reads the whole file, restores lost parts of the open turn, repairs a torn end, and restores the layout if needed. */
async function readForWriting(
  file: string,
  findCopy: EventFileListener["findCopy"],
): Promise<OpenedEvents> {
  const whole = await readEvents(file);
  const { entries, isInLayout } = whole;
  const copy = isWhole(whole) ? undefined : findCopy();
  const read = withLoss(file, whole, copy);
  const { problems } = read;
  const restored = planRestore(read, copy);
  if (restored !== undefined) {
    const repaired = await restoreTurn(file, restored, problems);
    return { entries: [...restored.entries], problems: repaired };
  }
  const doubt = findDoubt(read, copy !== undefined);
  if (doubt !== undefined) throw damagedError(doubt);
  const damage = problems.find(({ type }) => type === "damaged");
  if (damage !== undefined) throw damagedError(damage);
  const repaired = await Promise.all(problems.map(repairTornEnd));
  if (!isInLayout || !(await hasLayout(file))) await rewriteInLayout(file);
  return { entries, problems: repaired };
}

async function hasLayout(file: string): Promise<boolean> {
  try {
    using handle = await openRecordToWrite(file);
    return readAppendPoint(handle, fstatSync(handle.fd).size) !== undefined;
  } catch (error) {
    throw writeError(file, error);
  }
}

/** Synchronous, because it takes microseconds; the thread pool is slower. */
function readAppendPoint({ fd }: RecordHandle, size: number): AppendPoint | undefined {
  const bytes = Buffer.alloc(Math.min(size, ENDING_LENGTH));
  readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  return findAppendPoint(size, bytes.toString("latin1"));
}

/** A single `write` may write less than asked, for example on a disk that is filling up. */
async function writeAll(handle: RecordHandle, bytes: Buffer, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const rest = bytes.length - written;
    const { bytesWritten } = await handle.write(bytes, written, rest, position + written);
    written += bytesWritten;
  }
}
