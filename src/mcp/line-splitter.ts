/** Bytes into lines, in time that grows with their number, whatever the length of a line. */

/** Enough for a result with a few large images. */
const MOST_BYTES = 32 * 1024 * 1024;

export class LineSplitter {
  #pieces: Buffer[] = [];
  #length = 0;

  /** The lines that are complete with this piece. Throws if one of them never ends. */
  *add(piece: Buffer): Generator<string, void, undefined> {
    let start = 0;
    for (;;) {
      const end = piece.indexOf(0x0a, start);
      this.#keep(piece.subarray(start, end === -1 ? piece.length : end));
      if (end === -1) return;
      yield this.#take();
      start = end + 1;
    }
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > MOST_BYTES) {
      this.#take();
      throw new RangeError(`it sent a message of more than ${MOST_BYTES / 1024 / 1024} MiB`);
    }
    if (piece.length > 0) this.#pieces.push(piece);
  }

  #take(): string {
    const line = Buffer.concat(this.#pieces).toString("utf8");
    this.#pieces = [];
    this.#length = 0;
    return line.replace(/\r$/, "");
  }
}
