/** What a search says: its matches, up to what anybody would read, and what it left out. */

const MOST_MATCHES = 200;
const MOST_CHARACTERS = 64 * 1024;
/** Of each kind of file that was left out. */
const MOST_NAMES = 5;

interface Notice {
  readonly names: readonly string[];
  readonly count: number;
}

export class GrepOutput {
  readonly #groups: string[] = [];
  readonly #notices = new Map<string, Notice>();
  readonly #separator: string;
  #room = MOST_MATCHES;
  #characters = 0;

  constructor(hasContext: boolean) {
    this.#separator = hasContext ? "\n--\n" : "\n";
  }

  /** For so many matches more. */
  get room(): number {
    return this.#room;
  }

  get isFull(): boolean {
    return this.#characters > MOST_CHARACTERS;
  }

  /** What does not fit is left out. */
  add(groups: readonly (readonly string[])[], matches: number): void {
    this.#room -= matches;
    for (const group of groups) {
      if (this.isFull) return;
      this.#groups.push(group.filter((line) => this.#takes(line)).join("\n"));
    }
  }

  addNotice(notice: string, ...names: readonly string[]): void {
    const before = this.#notices.get(notice) ?? { names: [], count: 0 };
    this.#notices.set(notice, {
      names: [...before.names, ...names].slice(0, MOST_NAMES),
      count: before.count + names.length,
    });
  }

  text(): string {
    const groups = this.#groups.length === 0 ? ["[No line matches.]"] : this.#groups;
    const notices = [...this.#notices].map(([notice, { names, count }]) => {
      if (count === 0) return `[${notice}.]`;
      const more = count > names.length ? ` and ${count - names.length} more` : "";
      return `[${notice}: ${names.join(", ")}${more}]`;
    });
    return [groups.join(this.#separator), ...notices].join("\n");
  }

  #takes(line: string): boolean {
    if (this.isFull) return false;
    this.#characters += line.length;
    return true;
  }
}
