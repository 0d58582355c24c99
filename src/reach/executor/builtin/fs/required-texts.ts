/**
 * Finds literal texts, at least one of which occurs in every line that a regular expression matches. A file without them
 * need not be searched, which is much faster to check. Understands only part of the syntax and assumes that the rest may
 * match anything.
 */

/** More alternatives are not worth searching for. */
const MAX_TEXTS = 10;

/** Undefined if there are no such texts. The pattern must be valid with the flag `u`, and is used with that flag only. */
export function findRequiredTexts(pattern: string): readonly string[] | undefined {
  const reader = new PatternReader(Array.from(pattern));
  const texts = reader.readAlternatives();
  return texts?.every(isSearchable) === true ? texts : undefined;
}

/** Whether a decoded text contains it exactly if the file's bytes do: invalid UTF-8 is decoded as U+FFFD. */
export function isSearchable(text: string): boolean {
  return text !== "" && text.isWellFormed() && !/[\0\r\n\uFFFD]/.test(text);
}

/** Every match contains one of these texts. */
type Texts = readonly string[];

const LITERAL = /^[^\\^$.*+?()[\]{}|]$/su;
const ESCAPED_LITERAL = /^[\\^$.*+?()[\]{}|/-]$/;
/** Groups whose content must be in a match. Others look around, or change what letters mean. */
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

  /** Reads up to the end of the group or pattern. One text per alternative is enough. */
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

  /** The most selective texts that any part of a sequence requires. */
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

  /** Reads anything but a literal character. Only groups can require texts. */
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

  /** Skips the whole escape: `\u{1F600}`, `\u00e9`, `\p{L}`, `\k<name>`, `\x41`, `\cA`, `\12`. */
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

/** Groups with longer names count as odd. */
const MAX_GROUP_START = 50;

function shortest(texts: Texts): number {
  return texts.length === 0 ? 0 : Math.min(...texts.map(({ length }) => length));
}
