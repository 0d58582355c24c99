/**
 * The one writer of an `events.json`. An append costs the bytes of its events, whatever the length
 * of the file, and is on the disk when it resolves. Appends that wait for each other share one sync.
 */
import { type BigIntStats, fstatSync, lstatSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { StreamEntry } from "../../conversation/index.ts";
import { yieldToEventLoop, shouldYield, type JsonObject } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";
import { writeError } from "../storage-error.ts";
import {
  type AppendPoint,
  CLOSING,
  damagedError,
  elementsToBytes,
  EMPTY,
  ENDING_LENGTH,
  findAppendPoint,
  repairTornEnd,
  rewriteInLayout,
} from "./event-layout.ts";
import { readElements } from "./event-reader.ts";
import { openRecordToWrite } from "./safe-open.ts";

/** Opens the file for reading and writing; tests put a failing disk in its place. */
export type OpenFile = (file: string) => Promise<FileHandle>;

export interface OpenedEvents {
  readonly entries: StreamEntry[];
  readonly problems: readonly RecordProblem[];
}

interface PendingAppend {
  readonly elements: readonly JsonObject[];
  readonly done: PromiseWithResolvers<void>;
}

export class EventFile {
  readonly #open: OpenFile;
  /** Called with everything in the file when somebody else has changed it. */
  readonly #onChanged: (opened: OpenedEvents) => void;
  #file: string;
  #handle: FileHandle | undefined;
  /** What the file looked like when we last left it; empty if it has to be read again. */
  #lastFingerprint = "";
  /** Set while the bytes of a failed append may still be in the file. */
  #needsRollback = false;
  #point: AppendPoint = { position: 0, separator: "" };
  #queue: PendingAppend[] = [];
  /** The last thing that was started with the file. They follow each other. */
  #lastTask: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(
    file: string,
    onChanged: (opened: OpenedEvents) => void,
    openWith: OpenFile = openRecordToWrite,
  ) {
    this.#file = file;
    this.#onChanged = onChanged;
    this.#open = openWith;
  }

  /** Reads and, where needed, mends the file. Throws `record_damaged`, `write_failed`. */
  async open(): Promise<OpenedEvents> {
    await this.#closeHandle();
    const opened = await readForWriting(this.#file);
    try {
      const handle = await this.#open(this.#file);
      this.#handle = handle;
      const point = await readAppendPoint(handle);
      if (point === undefined) throw new Error("its end is not in the expected layout");
      this.#point = point;
      this.#lastFingerprint = fingerprint(await handle.stat({ bigint: true }));
    } catch (error) {
      throw writeError(this.#file, error);
    }
    return opened;
  }

  /** On the disk when it resolves; when it throws, none of it is in the record. */
  append(elements: readonly JsonObject[]): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#queue.push({ elements, done });
    if (this.#queue.length === 1) void this.#enqueue(() => this.#flushQueue());
    return done.promise;
  }

  /** Moves the file by an action, between two writes. Throws what the action throws. */
  async move(action: () => Promise<string>): Promise<void> {
    await this.#enqueue(async () => {
      this.#file = await action();
    });
  }

  /** Waits for what is under way. Later appends fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#enqueue(() => this.#closeHandle());
  }

  #enqueue<Value>(action: () => Promise<Value>): Promise<Value> {
    const done = this.#lastTask.then(action);
    this.#lastTask = done.catch(() => undefined);
    return done;
  }

  async #closeHandle(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined); // All that was acknowledged is synced.
  }

  /** All that wait share one write and one sync. Never rejects: each gets its own answer. */
  async #flushQueue(): Promise<void> {
    const batch = this.#queue;
    this.#queue = [];
    try {
      await this.#write(batch.flatMap(({ elements }) => elements));
      for (const { done } of batch) done.resolve();
    } catch (error) {
      for (const { done } of batch) done.reject(error);
    }
  }

  async #write(elements: readonly JsonObject[]): Promise<void> {
    if (elements.length === 0) return;
    const handle = await this.#currentHandle();
    const { position, separator } = this.#point;
    const bytes = elementsToBytes(elements, separator);
    try {
      await writeAll(handle, bytes, position);
      await handle.datasync();
    } catch (error) {
      await this.#rollBack(handle);
      throw writeError(this.#file, error);
    }
    this.#point = { position: position + bytes.length - CLOSING.length, separator: "," };
    // Looking takes a few microseconds; waiting for a thread to do it takes as long as the write.
    const after = fstatSync(handle.fd, { bigint: true });
    this.#lastFingerprint =
      Number(after.size) === position + bytes.length ? fingerprint(after) : "";
  }

  /** The open file, read again if anybody else has written to it or put another in its place. */
  async #currentHandle(): Promise<FileHandle> {
    if (this.#isClosed) throw writeError(this.#file, new Error("the conversation was released"));
    if (this.#needsRollback && this.#handle !== undefined) await this.#rollBack(this.#handle);
    if (this.#needsRollback)
      throw writeError(this.#file, new Error("an earlier write cannot be undone"));
    const isUnchanged =
      this.#lastFingerprint !== "" && fingerprint(this.#stat()) === this.#lastFingerprint;
    if (this.#handle === undefined || !isUnchanged) this.#onChanged(await this.open());
    if (this.#handle === undefined) throw new Error("an opened file has a handle");
    return this.#handle;
  }

  #stat(): BigIntStats {
    try {
      return lstatSync(this.#file, { bigint: true });
    } catch (error) {
      throw writeError(this.#file, error);
    }
  }

  /**
   * The bytes that closed the list are still allocated: putting them back needs no space. If even
   * that fails, it is tried again before the next append.
   */
  async #rollBack(handle: FileHandle): Promise<void> {
    const { position, separator } = this.#point;
    const isEmpty = separator === "";
    this.#lastFingerprint = "";
    this.#needsRollback = true;
    try {
      await writeAll(handle, Buffer.from(isEmpty ? EMPTY : CLOSING), isEmpty ? 0 : position);
      await handle.truncate(isEmpty ? EMPTY.length : position + CLOSING.length);
      await handle.datasync();
      this.#lastFingerprint = fingerprint(await handle.stat({ bigint: true }));
      this.#needsRollback = false;
    } catch {
      // If the process ends now, whoever opens the file next mends it.
    }
  }
}

/** Everything in the file, its torn end mended and its layout restored first. */
async function readForWriting(file: string): Promise<OpenedEvents> {
  const entries: StreamEntry[] = [];
  const problems: RecordProblem[] = [];
  let isInLayout = true;
  for (const batch of readElements(file)) {
    for (const element of batch.elements) entries.push(StreamEntry.fromJson(element));
    problems.push(...batch.problems);
    isInLayout &&= !batch.isScanned;
    if (shouldYield()) await yieldToEventLoop();
  }
  const damage = problems.find(({ type }) => type === "damaged");
  if (damage !== undefined) throw damagedError(damage);
  const mended = await Promise.all(problems.map(repairTornEnd));
  if (!isInLayout || !(await hasLayout(file))) await rewriteInLayout(file);
  return { entries, problems: mended };
}

async function hasLayout(file: string): Promise<boolean> {
  try {
    await using handle = await openRecordToWrite(file);
    return (await readAppendPoint(handle)) !== undefined;
  } catch (error) {
    throw writeError(file, error);
  }
}

async function readAppendPoint(handle: FileHandle): Promise<AppendPoint | undefined> {
  const { size } = await handle.stat();
  const length = Math.min(size, ENDING_LENGTH);
  const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
  return findAppendPoint(size, buffer.toString("latin1"));
}

/** Changes when anybody writes to the file or puts another in its place. */
function fingerprint({ ino, size, mtimeNs }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs}`;
}

/** One `write` may take less than it was given, as on a disk that is filling up. */
async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const rest = bytes.length - written;
    const { bytesWritten } = await handle.write(bytes, written, rest, position + written);
    written += bytesWritten;
  }
}
