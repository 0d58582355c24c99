/** Finds the line of a key in a config file, for error messages. */

/** The position of a key or a list item. */
export interface WrittenKey {
  readonly path: readonly string[];
  /** Starts at 1. */
  readonly line: number;
}

/** The line of the key, or of its table. Starts at 1; undefined if neither is found. */
export type FindLine = (keys: readonly string[]) => number | undefined;

/** Reads the keys on first use, because most files have no errors, and only once. */
export function lineFinder(readKeys: () => readonly WrittenKey[]): FindLine {
  let lines: Map<string, number> | undefined;
  return (keys) => {
    // Reversed, so that the first of two duplicate keys wins.
    lines ??= new Map(
      readKeys()
        .toReversed()
        .map(({ path, line }) => [JSON.stringify(path), line]),
    );
    for (let depth = keys.length; depth > 0; depth -= 1) {
      const line = lines.get(JSON.stringify(keys.slice(0, depth)));
      if (line !== undefined) return line;
    }
    return undefined;
  };
}

/** Converts offsets to lines. The offsets must ascend, so that long texts are read only once. */
export function lineCounter(text: string): (offset: number) => number {
  let [line, position] = [1, 0];
  return (offset) => {
    for (; position < offset; position += 1) if (text[position] === "\n") line += 1;
    return line;
  };
}

/** The line break of this text. */
export function lineBreakOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

const STRING = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/.source;
const NAME = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w-]+/.source;
const DOTTED = `(?:${NAME})(?:[ \\t]*\\.[ \\t]*(?:${NAME}))*`;
const HEADER = new RegExp(`[ \\t]*(\\[\\[?)[ \\t]*(${DOTTED})[ \\t]*\\]`, "y");
const ASSIGNMENT = new RegExp(`[ \\t]*(${DOTTED})[ \\t]*=`, "y");
const VALUE_PART = new RegExp(`${STRING}|#[^\\n]*|[[{]|[\\]}]|\\n|[^"'#[{\\]}\\n]+|["']`, "y");

/** A header or an assignment of a TOML text. */
export interface TomlStatement {
  /** `[table]`, `[[item]]` or `key = value`. */
  readonly kind: "table" | "item" | "key";
  /** Includes its parent tables, and the indexes of lists of tables. */
  readonly path: readonly string[];
  /** The path of the open table; for a header, its own. */
  readonly table: readonly string[];
  /** The start of its line. */
  readonly start: number;
  /** After its line break. */
  readonly end: number;
  /** Starts at 1. */
  readonly line: number;
}

/** The statements of a valid TOML text, in order. The TOML parser does not report positions. */
export function statementsInToml(text: string): readonly TomlStatement[] {
  const statements: TomlStatement[] = [];
  const tables = new Tables();
  let position = 0;
  let line = 1;
  while (position < text.length) {
    const header = matchAt(HEADER, text, position);
    const assignment = header === undefined ? matchAt(ASSIGNMENT, text, position) : undefined;
    const written = header?.[0] ?? assignment?.[0] ?? "";
    const end = endOfValue(text, position + written.length);
    const at = { start: position, end, line };
    if (header !== undefined) {
      const kind = header[1] === "[[" ? "item" : "table";
      const path = tables.open(namesIn(header[2] ?? ""), kind === "item");
      statements.push({ kind, path, table: path, ...at });
    } else if (assignment !== undefined) {
      const path = [...tables.current, ...namesIn(assignment[1] ?? "")];
      statements.push({ kind: "key", path, table: tables.current, ...at });
    }
    line += text.slice(position, end).split("\n").length - 1;
    position = end;
  }
  return statements;
}

/** The keys of a valid TOML text, except those inside a value. */
export function keysInToml(text: string): readonly WrittenKey[] {
  // `a.b = 1` writes the table `a` as well.
  return statementsInToml(text).flatMap(({ path, line }) =>
    [...path.keys()].map((index) => ({ path: path.slice(0, index + 1), line })),
  );
}

/** The position after the line where the value that starts here ends. */
function endOfValue(text: string, start: number): number {
  let position = start;
  let depth = 0;
  while (position < text.length) {
    const part = matchAt(VALUE_PART, text, position)?.[0] ?? text.charAt(position);
    position += part.length;
    if (part === "[" || part === "{") depth += 1;
    if (part === "]" || part === "}") depth -= 1;
    if (part === "\n" && depth <= 0) break;
  }
  return position;
}

/** Tracks the open table, with the indexes of its lists of tables. */
class Tables {
  current: readonly string[] = [];
  readonly #counts = new Map<string, number>();

  open(names: readonly string[], isItem: boolean): readonly string[] {
    let path: readonly string[] = [];
    for (const [depth, name] of names.entries()) {
      path = [...path, name];
      const list = JSON.stringify(path);
      const isNew = isItem && depth === names.length - 1;
      const count = (this.#counts.get(list) ?? 0) + (isNew ? 1 : 0);
      if (isNew) this.#counts.set(list, count);
      if (count > 0) path = [...path, String(count - 1)];
    }
    this.current = path;
    return path;
  }
}

function namesIn(dotted: string): readonly string[] {
  const names = dotted.match(new RegExp(NAME, "g")) ?? [];
  return names.map((name) => (/^["']/.test(name) ? name.slice(1, -1) : name));
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? undefined;
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|\n|[^\s{}[\],:"]+/g;

/** An unfinished object or list. */
interface JsonFrame {
  readonly path: readonly string[];
  readonly isList: boolean;
  /** The key or index of the current member. */
  key: string;
  index: number;
  /** The next token starts a member. */
  isExpecting: boolean;
}

/** The keys of a valid JSON text. */
export function keysInJson(text: string): readonly WrittenKey[] {
  const keys: WrittenKey[] = [];
  const frames: JsonFrame[] = [];
  let line = 1;
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    const top = frames.at(-1);
    if (token === "\n") {
      line += 1;
      continue;
    }
    if (top?.isExpecting === true && !"}],:".includes(token)) {
      top.isExpecting = false;
      top.key = top.isList ? String(top.index) : String(JSON.parse(token));
      keys.push({ path: [...top.path, top.key], line });
      if (!top.isList) continue;
    }
    if (token === "{" || token === "[") {
      const path = top === undefined ? [] : [...top.path, top.key];
      frames.push({ path, isList: token === "[", key: "", index: 0, isExpecting: true });
    } else if (token === "}" || token === "]") {
      frames.pop();
    } else if (token === "," && top !== undefined) {
      top.isExpecting = true;
      top.index += 1;
    }
  }
  return keys;
}
