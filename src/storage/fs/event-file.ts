/**
 * The one writer of an `events.json`. An append costs the bytes of its events, whatever the length
 * of the file, and is on the disk when it resolves. Appends that wait for each other share one sync.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import type { JsonObject } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";
import { writeFailed } from "../storage-error.ts";
import {
  type AppendPoint,
  CLOSING,
  damaged,
  elementsToBytes,
  EMPTY,
  ENDING_LENGTH,
  findAppendPoint,
  repairTornEnd,
  rewriteInLayout,
} from "./event-layout.ts";
import { readElements } from "./event-reader.ts";

/** Opens the file for reading and writing; tests put a failing disk in its place. */
export type OpenFile = (file: string) => Promise<FileHandle>;

export interface OpenedEvents {
  readonly elements: readonly JsonObject[];
  readonly problems: readonly RecordProblem[];
}

interface Waiting {
  readonly elements: readonly JsonObject[];
  readonly done: PromiseWithResolvers<void>;
}

const openFile: OpenFile = (file) => open(file, "r+");

export class EventFile {
  readonly #open: OpenFile;
  /** Called with everything in the file when somebody else has changed it. */
  readonly #onChanged: (opened: OpenedEvents) => void;
  #file: string;
  #handle: FileHandle | undefined;
  /** What the file looked like when we last left it. */
  #seen = "";
  #point: AppendPoint = { position: 0, separator: "" };
  #waiting: Waiting[] = [];
  /** The write under way, if there is one. */
  #draining: Promise<void> | undefined;

  constructor(file: string, onChanged: (opened: OpenedEvents) => void, openWith = openFile) {
    this.#file = file;
    this.#onChanged = onChanged;
    this.#open = openWith;
  }

  /** Reads and, where needed, mends the file. Throws `record_damaged`, `write_failed`. */
  async open(): Promise<OpenedEvents> {
    await this.#closeHandle();
    const opened = await readForWriting(this.#file);
    try {
      this.#handle = await this.#open(this.#file);
      const point = await readAppendPoint(this.#handle);
      if (point === undefined) throw new Error("its end is not in the expected layout");
      this.#point = point;
      this.#seen = await fingerprint(this.#file);
    } catch (error) {
      throw writeFailed(this.#file, error);
    }
    return opened;
  }

  /** On the disk when it resolves; when it throws, the file is as it was before. */
  append(elements: readonly JsonObject[]): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ elements, done });
    this.#draining ??= this.#drain();
    return done.promise;
  }

  /** After its folder was renamed. */
  moveTo(file: string): void {
    this.#file = file;
  }

  /** Waits for the appends under way. Later ones fail. */
  async close(): Promise<void> {
    await this.#draining;
    await this.#closeHandle();
  }

  async #closeHandle(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }

  /** Never rejects: whoever waits for an append gets its error. */
  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batch.flatMap(({ elements }) => elements));
        for (const { done } of batch) done.resolve();
      } catch (error) {
        for (const { done } of batch) done.reject(error);
      }
    }
    this.#draining = undefined;
  }

  async #write(elements: readonly JsonObject[]): Promise<void> {
    if (elements.length === 0) return;
    if ((await this.#fingerprint()) !== this.#seen) this.#onChanged(await this.open());
    const handle = this.#handle;
    if (handle === undefined) throw writeFailed(this.#file, new Error("the file is closed"));
    const { position, separator } = this.#point;
    const bytes = elementsToBytes(elements, separator);
    try {
      await writeAll(handle, bytes, position);
      await handle.datasync();
    } catch (error) {
      await this.#takeBack(handle);
      throw writeFailed(this.#file, error);
    }
    this.#point = { position: position + bytes.length - CLOSING.length, separator: "," };
    this.#seen = await this.#fingerprint();
  }

  /** The bytes that closed the list are still allocated: putting them back needs no space. */
  async #takeBack(handle: FileHandle): Promise<void> {
    const { position, separator } = this.#point;
    const isEmpty = separator === "";
    try {
      await writeAll(handle, Buffer.from(isEmpty ? EMPTY : CLOSING), isEmpty ? 0 : position);
      await handle.truncate(isEmpty ? EMPTY.length : position + CLOSING.length);
      await handle.datasync();
    } catch {
      // The disk does not even take this. Whoever opens the file next repairs its torn end.
    }
    this.#seen = await this.#fingerprint().catch(() => "");
  }

  async #fingerprint(): Promise<string> {
    try {
      return await fingerprint(this.#file);
    } catch (error) {
      throw writeFailed(this.#file, error);
    }
  }
}

/** Everything in the file, its torn end mended and its layout restored first. */
async function readForWriting(file: string): Promise<OpenedEvents> {
  const { elements, problems } = readAll(file);
  const damage = problems.find(({ type }) => type === "damaged");
  if (damage !== undefined) throw damaged(damage);
  const mended = await Promise.all(problems.map(repairTornEnd));
  if (!(await hasLayout(file))) await rewriteInLayout(file);
  return { elements, problems: mended };
}

function readAll(file: string): OpenedEvents {
  const elements: JsonObject[] = [];
  const problems: RecordProblem[] = [];
  for (const batch of readElements(file)) {
    for (const element of batch.elements) elements.push(element);
    problems.push(...batch.problems);
  }
  return { elements, problems };
}

async function hasLayout(file: string): Promise<boolean> {
  await using handle = await open(file, "r");
  return (await readAppendPoint(handle)) !== undefined;
}

async function readAppendPoint(handle: FileHandle): Promise<AppendPoint | undefined> {
  const { size } = await handle.stat();
  const length = Math.min(size, ENDING_LENGTH);
  const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
  return findAppendPoint(size, buffer.toString("latin1"));
}

/** Changes when anybody writes to the file or puts another in its place. */
async function fingerprint(file: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(file, { bigint: true });
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
