/** A window on a file that moves forward and grows as far as its reader needs. */
import { closeSync, fstatSync, readSync } from "node:fs";
import { readError } from "../storage-error.ts";
import { openRecord } from "./safe-open.ts";

const MAX_STEP = 1 << 18;
/**
 * Reused buffers: programs that read many records, or one repeatedly, would otherwise leave megabytes of garbage before
 * the collector runs.
 */
let spare: Buffer | undefined;
let pieces: Buffer | undefined;

export class ByteWindow implements Disposable {
  readonly file: string;
  readonly #fd: number;
  /** Allocated on demand. */
  #buffer: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** The offset of `bytes` in the file. */
  offset = 0;
  /** Whether `bytes` reaches the end of the file. */
  isAtEnd = false;

  /** Throws `read_failed`. */
  constructor(file: string) {
    this.file = file;
    try {
      this.#fd = openRecord(file).fd;
    } catch (error) {
      throw readError(file, error);
    }
  }

  /** The current size of the file. */
  get size(): number {
    return fstatSync(this.#fd).size;
  }

  /** Changes when a program writes to the file. */
  get version(): string {
    const { size, mtimeNs } = fstatSync(this.#fd, { bigint: true });
    return `${size} ${mtimeNs}`;
  }

  /** Valid until the window moves or is closed. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Reads more. Throws `read_failed`. */
  fill(): void {
    this.#makeRoom();
    try {
      const room = this.#buffer.length - this.#end;
      const position = this.offset + this.bytes.length;
      const count = readSync(this.#fd, this.#buffer, this.#end, room, position);
      this.#end += count;
      this.isAtEnd = count === 0;
    } catch (error) {
      throw readError(this.file, error);
    }
  }

  /** Bytes from anywhere in the file, valid until the next call for any file. Throws `read_failed`. */
  readAt(offset: number, length: number): Buffer {
    const bytes =
      length > MAX_STEP
        ? Buffer.allocUnsafeSlow(length)
        : (pieces ??= Buffer.allocUnsafeSlow(MAX_STEP));
    try {
      return bytes.subarray(0, readSync(this.#fd, bytes, 0, length, offset));
    } catch (error) {
      throw readError(this.file, error);
    }
  }

  /** Drops all bytes, so that they are read again. */
  restart(): void {
    this.#start = 0;
    this.#end = 0;
    this.isAtEnd = false;
  }

  /** Moves to another place in the file. */
  seek(offset: number): void {
    this.offset = offset;
    this.restart();
  }

  /** Drops bytes from the front. */
  advance(length: number): void {
    this.#start += length;
    this.offset += length;
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
    if (this.#buffer.length === MAX_STEP) spare = this.#buffer;
  }

  /** Moves the remaining bytes to the front, or doubles the buffer if they fill most of it. */
  #makeRoom(): void {
    const kept = this.bytes;
    if (this.#buffer.length === 0) {
      this.#buffer = spare ?? Buffer.allocUnsafeSlow(MAX_STEP);
      spare = undefined;
    }
    if (kept.length > this.#buffer.length / 2) {
      const larger = Buffer.allocUnsafe(this.#buffer.length * 2);
      kept.copy(larger);
      this.#buffer = larger;
    } else {
      this.#buffer.copyWithin(0, this.#start, this.#end);
    }
    this.#start = 0;
    this.#end = kept.length;
  }
}
