/** Lines, as soon as they are complete, out of bytes that arrive in pieces. */

/** Of a longer line only the beginning is given. */
const LONGEST_LINE = 500;

export class LineReader {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #line = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** A carriage return ends a line too: that is how programs draw their progress. */
  add(chunk: Buffer): void {
    const lines = this.#decoder.decode(chunk, { stream: true }).split(/[\r\n]/);
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#extend(line);
      this.end();
    }
    this.#extend(rest);
  }

  /** Gives what has not been ended. Empty lines are not worth mentioning. */
  end(): void {
    const line = this.#line.trimEnd();
    this.#line = "";
    if (line === "") return;
    this.#onLine(line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line);
  }

  #extend(text: string): void {
    if (this.#line.length <= LONGEST_LINE) this.#line += text.slice(0, LONGEST_LINE + 1);
  }
}
