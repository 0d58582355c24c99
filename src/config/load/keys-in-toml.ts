/** The keys of a TOML text and their lines. What stands inside of a value is not read. */
import type { WrittenKey } from "./written-key.ts";

const STRING = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/.source;
const NAME = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w-]+/.source;
const DOTTED = `(?:${NAME})(?:[ \\t]*\\.[ \\t]*(?:${NAME}))*`;
const HEADER = new RegExp(`[ \\t]*(\\[\\[?)[ \\t]*(${DOTTED})[ \\t]*\\]`, "y");
const ASSIGNMENT = new RegExp(`[ \\t]*(${DOTTED})[ \\t]*=`, "y");
const VALUE_PART = new RegExp(`${STRING}|#[^\\n]*|[[{]|[\\]}]|\\n|[^"'#[{\\]}\\n]+|["']`, "y");

export function keysInToml(text: string): readonly WrittenKey[] {
  const keys: WrittenKey[] = [];
  const tables = new Tables();
  let position = 0;
  let line = 1;
  while (position < text.length) {
    const header = matchAt(HEADER, text, position);
    const assignment = header === undefined ? matchAt(ASSIGNMENT, text, position) : undefined;
    const path =
      header === undefined
        ? assignment && [...tables.current, ...namesIn(assignment[1] ?? "")]
        : tables.open(namesIn(header[2] ?? ""), header[1] === "[[");
    // Each table on the way is there as well.
    for (const index of path?.keys() ?? [])
      keys.push({ path: path?.slice(0, index + 1) ?? [], line });
    const start = position + (header?.[0] ?? assignment?.[0] ?? "").length;
    const end = endOfLine(text, start);
    line += text.slice(position, end).split("\n").length - 1;
    position = end;
  }
  return keys;
}

/** Behind the end of the line in which the value that begins here ends. */
function endOfLine(text: string, start: number): number {
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

/** The table that is open, with the places of lists of tables on the way to it. */
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
