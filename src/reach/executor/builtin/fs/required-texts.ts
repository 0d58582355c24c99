/**
 * Texts of which a line has at least one if a regular expression matches it. A file without them need not be searched, which
 * is much faster to find out. Reads only what it is sure of: whatever else a pattern has may match anything.
 */

/** More alternatives are not worth looking for. */
const MAX_TEXTS = 10;

/** Undefined if there are no such texts. The pattern is valid with the flag `u`, and with no other. */
export function findRequiredTexts(pattern: string): readonly string[] | undefined {
  const reader = new PatternReader(Array.from(pattern));
  const texts = reader.readAlternatives();
  return texts?.every(isSearchable) === true ? texts : undefined;
}

/** Whether a text that contains it has the same bytes in its file: those that are not UTF-8 are shown as U+FFFD. */
export function isSearchable(text: string): boolean {
  return text !== "" && text.isWellFormed() && !/[\0\r\n\uFFFD]/.test(text);
}

/** One of these texts is in every match. */
type Texts = readonly string[];

const LITERAL = /^[^\\^$.*+?()[\]{}|]$/su;
const ESCAPED_LITERAL = /^[\\^$.*+?()[\]{}|/-]$/;
/** Groups whose content a match has to contain. Others look around, or change the meaning of letters. */
const PLAIN_GROUP = /^(?:\?:|\?<[\p{ID_Start}$_][\p{ID_Continue}$]*>)?/u;
const ODD_GROUP = /^\?/;

class PatternReader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  get #next(): string {
    return this.#characters[this.#at] ?? "";
  }

  /** Up to the end of the group, or of the pattern. One text of each alternative is enough. */
  readAlternatives(): Texts | undefined {
    let all: Texts | undefined = [];
    for (;;) {
      const texts = this.#readSequence();
      all = texts === undefined || all === undefined ? undefined : [...all, ...texts];
      if (this.#next !== "|") break;
      this.#at += 1;
    }
    return all !== undefined && all.length <= MAX_TEXTS ? all : undefined;
  }

  /** The best of what the parts of a sequence require. */
  #readSequence(): Texts | undefined {
    let best: Texts | undefined;
    let run = "";
    const offer = (texts: Texts | undefined) => {
      if (texts !== undefined && shortest(texts) > shortest(best ?? [])) best = texts;
    };
    const endRun = () => {
      if (run !== "") offer([run]);
      run = "";
    };
    while (this.#at < this.#characters.length && this.#next !== "|" && this.#next !== ")") {
      const literal = this.#readLiteral();
      const group = literal === undefined ? this.#readOther() : undefined;
      const { isOptional, isRepeated } = this.#readQuantifier();
      if (literal !== undefined && !isOptional) run += literal;
      if (literal === undefined || isOptional || isRepeated) endRun();
      if (!isOptional) offer(group);
    }
    endRun();
    return best;
  }

  #readLiteral(): string | undefined {
    if (LITERAL.test(this.#next)) return this.#take();
    const escaped = this.#characters[this.#at + 1] ?? "";
    if (this.#next !== "\\" || !ESCAPED_LITERAL.test(escaped)) return undefined;
    this.#at += 2;
    return escaped;
  }

  /** Anything but a literal character. Only of groups it is known what they require. */
  #readOther(): Texts | undefined {
    const first = this.#take();
    if (first === "(") return this.#readGroup();
    if (first === "[") this.#skipSet();
    if (first === "\\") this.#skipEscape();
    return undefined;
  }

  #readGroup(): Texts | undefined {
    const rest = this.#characters.slice(this.#at, this.#at + MAX_GROUP_START).join("");
    const [start = ""] = PLAIN_GROUP.exec(rest) ?? [];
    const isOdd = start === "" && ODD_GROUP.test(rest);
    this.#at += Array.from(start).length;
    const texts = this.readAlternatives();
    this.#at += 1; // The closing parenthesis.
    return isOdd ? undefined : texts;
  }

  #skipSet(): void {
    while (this.#at < this.#characters.length && this.#next !== "]") {
      this.#at += this.#next === "\\" ? 2 : 1;
    }
    this.#at += 1;
  }

  /** With what belongs to it: `\u{1F600}`, `\u00e9`, `\p{L}`, `\k<name>`, `\x41`, `\cA`, `\12`. */
  #skipEscape(): void {
    const kind = this.#take();
    const end = kind === "k" ? ">" : "pPu".includes(kind) && this.#next === "{" ? "}" : undefined;
    if (end !== undefined) while (this.#at < this.#characters.length && this.#take() !== end);
    else if (kind === "u") this.#at += 4;
    else if (kind === "x") this.#at += 2;
    else if (kind === "c") this.#at += 1;
    else if (/\d/.test(kind)) while (/\d/.test(this.#next)) this.#at += 1;
  }

  #readQuantifier(): { readonly isOptional: boolean; readonly isRepeated: boolean } {
    const sign = this.#next;
    if (!"*+?{".includes(sign) || sign === "") return { isOptional: false, isRepeated: false };
    this.#at += 1;
    let least = "";
    if (sign === "{") {
      while (/\d/.test(this.#next)) least += this.#take();
      while (this.#at < this.#characters.length && this.#take() !== "}");
    }
    if (this.#next === "?") this.#at += 1;
    const isOptional = sign === "{" ? Number(least) === 0 : sign !== "+";
    return { isOptional, isRepeated: true };
  }

  #take(): string {
    const taken = this.#next;
    this.#at += 1;
    return taken;
  }
}

/** Longer names of groups are read as odd ones. */
const MAX_GROUP_START = 50;

function shortest(texts: Texts): number {
  return texts.length === 0 ? 0 : Math.min(...texts.map(({ length }) => length));
}
