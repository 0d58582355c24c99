/** The last lines of an output that nobody reads as it comes. */

const MOST_LINES = 64;
const MOST_CHARACTERS = 1000;

export class LineTail {
  readonly #lines: string[] = [];
  #unfinished = "";

  /** Takes a piece of the output, cut anywhere. */
  add(text: string): void {
    const [first = "", ...rest] = text.split("\n");
    this.#extend(first);
    for (const line of rest) {
      this.addLine(this.#unfinished);
      this.#unfinished = "";
      this.#extend(line);
    }
  }

  addLine(line: string): void {
    const text = line.replace(/\r$/, "").slice(0, MOST_CHARACTERS);
    if (text.trim() === "") return;
    this.#lines.push(text);
    if (this.#lines.length > MOST_LINES) this.#lines.shift();
  }

  /** The last one may not be complete yet. Blank ones are left out. */
  get lines(): readonly string[] {
    const isBlank = this.#unfinished.trim() === "";
    return isBlank ? [...this.#lines] : [...this.#lines, this.#unfinished].slice(-MOST_LINES);
  }

  /** A line that never ends costs no more than the longest that is kept. */
  #extend(text: string): void {
    this.#unfinished += text.slice(0, MOST_CHARACTERS - this.#unfinished.length);
  }
}
