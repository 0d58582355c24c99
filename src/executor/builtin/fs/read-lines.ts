/** Takes a range of lines out of an open file of any size, without holding more than is asked for. */
import type { FileHandle } from "node:fs/promises";

export interface LineRange {
  /** Counted from 1, both included. */
  readonly start: number;
  readonly end: number;
  readonly mostBytes: number;
  readonly signal: AbortSignal;
  /** Told how many bytes were read, now and then. */
  readonly onProgress?: (bytes: number) => void;
}

export interface ReadLines {
  readonly bytes: Buffer;
  /** The last line that is in `bytes`; before the first one if there is none. */
  readonly last: number;
  /** `full`: the next line does not fit. `cut`: not even the first one does, and its start is given. */
  readonly state: "complete" | "full" | "cut";
}

const CHUNK_BYTES = 256 * 1024;
const PROGRESS_BYTES = 64 * 1024 * 1024;

/** Where the range is past the end, `last` is the number of lines there are. */
export async function readLines(handle: FileHandle, range: LineRange): Promise<ReadLines> {
  const collector = new LineCollector(range);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let position = 0, told = 0; !collector.isDone;) {
    range.signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    collector.add(chunk.subarray(0, bytesRead));
    position += bytesRead;
    if (position - told >= PROGRESS_BYTES) {
      told = position;
      range.onProgress?.(position);
    }
  }
  return collector.result();
}

class LineCollector {
  isDone = false;
  readonly #range: LineRange;
  readonly #pieces: Buffer[] = [];
  #size = 0;
  /** The line that is being read, and how much of what was taken is before it. */
  #line = 1;
  #sizeBefore = 0;
  #isInLine = false;
  #state: ReadLines["state"] = "complete";

  constructor(range: LineRange) {
    this.#range = range;
  }

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.isDone;) {
      const lineEnd = chunk.indexOf(0x0a, at);
      const end = lineEnd < 0 ? chunk.length : lineEnd + 1;
      if (this.#line >= this.#range.start) this.#take(chunk.subarray(at, end));
      if (this.isDone) return;
      this.#isInLine = lineEnd < 0;
      if (lineEnd >= 0) this.#endLine();
      at = end;
    }
  }

  result(): ReadLines {
    const bytes = Buffer.concat(this.#pieces);
    switch (this.#state) {
      case "cut":
        return { bytes: bytes.subarray(0, this.#range.mostBytes), last: this.#line, state: "cut" };
      case "full":
        return { bytes: bytes.subarray(0, this.#sizeBefore), last: this.#line - 1, state: "full" };
      case "complete":
        return { bytes, last: this.#isInLine ? this.#line : this.#line - 1, state: "complete" };
      default:
        return this.#state satisfies never;
    }
  }

  #take(piece: Buffer): void {
    this.#pieces.push(Buffer.from(piece)); // The chunk is used again.
    this.#size += piece.length;
    if (this.#size <= this.#range.mostBytes) return;
    this.#state = this.#line === this.#range.start ? "cut" : "full";
    this.isDone = true;
  }

  #endLine(): void {
    this.#line += 1;
    this.#sizeBefore = this.#size;
    if (this.#line > this.#range.end) this.isDone = true;
  }
}
