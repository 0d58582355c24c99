/**
 * Reads one word of a command line on its own, to check the parser: its text after quote removal, and everything in it
 * that a shell would replace. Supports only syntax that every shell reads the same way; the rest is a hazard.
 */

export type WordHazard =
  | "substitution"
  | "expansion"
  | "glob"
  | "line_continuation"
  | "unknown_syntax";

export interface ShellWord {
  /** Meaningful only without hazards. */
  readonly text: string;
  readonly hazards: ReadonlySet<WordHazard>;
}

/** `source` is the word as written, with its quotes. */
export function readShellWord(source: string): ShellWord {
  const reader = new WordReader(source);
  return { text: reader.read(), hazards: reader.hazards };
}

/** Characters that end a word, or start something else. */
const OPERATORS = " \t\n\r;&|<>()";
/** In double quotes, a backslash before any other character is literal. */
const ESCAPED_IN_QUOTES = '$`"\\';

class WordReader {
  readonly hazards = new Set<WordHazard>();
  readonly #source: string;
  #position = 0;
  #text = "";

  constructor(source: string) {
    this.#source = source;
  }

  read(): string {
    if (this.#source === "") this.hazards.add("unknown_syntax");
    while (this.#position < this.#source.length) {
      const character = this.#next();
      if (character === "'") this.#readSingleQuoted();
      else if (character === '"') this.#readDoubleQuoted();
      else if (character === "\\") this.#text += this.#readEscaped();
      else this.#readUnquoted(character);
    }
    return this.#text;
  }

  #next(): string {
    const character = this.#source.charAt(this.#position);
    this.#position += 1;
    return character;
  }

  #readSingleQuoted(): void {
    const end = this.#source.indexOf("'", this.#position);
    if (end === -1) this.hazards.add("unknown_syntax");
    const stop = end === -1 ? this.#source.length : end;
    this.#text += this.#source.slice(this.#position, stop);
    this.#position = stop + 1;
  }

  #readDoubleQuoted(): void {
    while (this.#position < this.#source.length) {
      const character = this.#next();
      if (character === '"') return;
      if (character === "$") this.#addDollar();
      if (character === "`") this.hazards.add("substitution");
      const isEscape =
        character === "\\" &&
        `${ESCAPED_IN_QUOTES}\n`.includes(this.#source.charAt(this.#position) || " ");
      this.#text += isEscape ? this.#readEscaped() : character;
    }
    this.hazards.add("unknown_syntax");
  }

  #readEscaped(): string {
    const character = this.#next();
    if (character === "") this.hazards.add("unknown_syntax");
    if (character !== "\n") return character;
    this.hazards.add("line_continuation");
    return "";
  }

  #readUnquoted(character: string): void {
    const before = this.#source.charAt(this.#position - 2);
    if (OPERATORS.includes(character)) this.#addOperator(character);
    else if (character === "$") this.#addDollar();
    else if (character === "`") this.hazards.add("substitution");
    else if (character === "*" || character === "?") this.hazards.add("glob");
    // A bracket alone is a program, and matches only itself.
    else if (character === "[" && this.#source.length > 1) this.hazards.add("glob");
    else if (character === "~" && ["", "=", ":"].includes(before)) this.hazards.add("expansion");
    else if (character === "{" && /,|\.\./.test(this.#source)) this.hazards.add("expansion");
    this.#text += character;
  }

  #addOperator(character: string): void {
    const isProcess = "<>".includes(character) && this.#source.charAt(this.#position) === "(";
    this.hazards.add(isProcess ? "substitution" : "unknown_syntax");
  }

  /** Also where a dollar sign may be literal, such as at the end of a word. */
  #addDollar(): void {
    const rest = this.#source.slice(this.#position, this.#position + 2);
    this.hazards.add(rest.startsWith("(") && rest !== "((" ? "substitution" : "expansion");
  }
}
