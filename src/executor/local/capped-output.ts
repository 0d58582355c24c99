/** The beginning of an output, up to a limit, and how much there was in all. */
import { truncationNotice } from "../../util/index.ts";

export class CappedOutput {
  readonly #limit: number;
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isCut(): boolean {
    return this.#total > this.#length;
  }

  /** Copies what is kept: a reader that gets single bytes would otherwise hold a buffer for each. */
  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const kept = chunk.subarray(0, this.#limit - this.#length);
    const needed = this.#length + kept.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.alloc(Math.min(this.#limit, Math.max(needed, this.#bytes.length * 2)));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    kept.copy(this.#bytes, this.#length);
    this.#length = needed;
  }

  /** What is no UTF-8 is replaced. What is missing is told at the end. */
  toText(): string {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    // A character that the limit has cut in two is left out, not replaced.
    const text = decoder.decode(this.#bytes.subarray(0, this.#length), { stream: this.isCut });
    if (!this.isCut) return text;
    const left = this.#total - this.#length;
    return text + truncationNotice(left, this.#total);
  }
}
