/** Bytes into lines, in time and room that grow with their number, however they are cut. */
import { MAX_MESSAGE_BYTES, messageTooLong } from "./message-limit.ts";

const LEAST_BYTES = 1024;

export class LineSplitter {
  /** Holds the line so far at its beginning, and grows with it. */
  #buffer = Buffer.alloc(0);
  #length = 0;

  /** The lines that are complete with this piece. Throws if one of them never ends. */
  *add(piece: Buffer): Generator<string, void, undefined> {
    let start = 0;
    for (;;) {
      const end = piece.indexOf(0x0a, start);
      const rest = piece.subarray(start, end === -1 ? piece.length : end);
      if (this.#length + rest.length > MAX_MESSAGE_BYTES) {
        this.#take(rest.subarray(0, 0));
        throw messageTooLong();
      }
      if (end === -1) return this.#keep(rest);
      yield this.#take(rest);
      start = end + 1;
    }
  }

  /** One buffer, and not a list of pieces: a piece of one byte would take a hundred. */
  #keep(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(LEAST_BYTES, 2 * length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  #take(rest: Buffer): string {
    const isWhole = this.#length === 0;
    if (!isWhole) this.#keep(rest);
    const line = isWhole ? rest : this.#buffer.subarray(0, this.#length);
    const text = line.toString("utf8").replace(/\r$/, "");
    this.#buffer = Buffer.alloc(0);
    this.#length = 0;
    return text;
  }
}
