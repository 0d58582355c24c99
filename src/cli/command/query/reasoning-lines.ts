/** Streams reasoning in lines marked at the start: colors alone would not set it apart from the answer. */
import { textWidth } from "../../../surfaces/render/index.ts";
import { neutralize } from "../../../util/index.ts";

export interface ReasoningLinesOptions {
  readonly width: number;
  /** No bars, which screen readers would read out. A word above and a blank line below instead. */
  readonly isPlain: boolean;
  readonly write: (text: string) => void;
}

const BAR = "│ ";
const HEADING = "Reasoning:\n";

/** Writes whole words, so the end of a piece may be written with the next one. */
export class ReasoningLines {
  readonly #options: ReasoningLinesOptions;
  #hasStarted = false;
  /** Columns used on the current line; zero at its start. */
  #column = 0;
  #word = "";

  constructor(options: ReasoningLinesOptions) {
    this.#options = options;
  }

  push(text: string): void {
    if (!this.#hasStarted && this.#options.isPlain) this.#options.write(HEADING);
    this.#hasStarted = true;
    for (const part of neutralize(text).split(/([ \n])/)) {
      if (part !== " " && part !== "\n") this.#word += part;
      else if (part === " ") this.#endWord(" ");
      else this.#endLine();
    }
  }

  end(): void {
    if (!this.#hasStarted) return;
    this.breakLine();
    if (this.#options.isPlain) this.#options.write("\n");
  }

  /** Ends an open line, so that a notice can follow. */
  breakLine(): void {
    this.#endWord("");
    if (this.#column > 0) this.#endLine();
  }

  #endLine(): void {
    this.#endWord("");
    if (this.#column === 0) this.#startLine();
    this.#options.write("\n");
    this.#column = 0;
  }

  #endWord(space: string): void {
    const { width, write } = this.#options;
    const columns = textWidth(this.#word);
    const isFull = this.#column > textWidth(BAR) && this.#column + columns > width;
    if (this.#word !== "" && isFull) {
      write("\n");
      this.#column = 0;
    }
    if (this.#word + space === "") return;
    if (this.#column === 0) this.#startLine();
    write(this.#word + space);
    this.#column += columns + space.length;
    this.#word = "";
  }

  #startLine(): void {
    if (this.#options.isPlain) return;
    this.#options.write(BAR);
    this.#column = textWidth(BAR);
  }
}
