/**
 * Adds and removes keys of a TOML text without moving the rest: a new key goes below its table, a new table below related
 * tables, and a comment stays with its subject. Does not check the result.
 */
import { isJsonObject, type Json, loadModule } from "../../util/index.ts";
import { lineBreakOf, statementsInToml, type TomlStatement } from "./key-lines.ts";
import { type Change, withValue } from "./layers.ts";

type Keys = readonly string[];

/** Undefined if the key exists, or would have to be written inside a value. */
export async function insertInToml(text: string, change: Change): Promise<string | undefined> {
  const statements = statementsInToml(text);
  const { keys, value } = change;
  const isTaken = ({ kind, path }: TomlStatement) =>
    startsWith(path, keys) || (kind === "key" && startsWith(keys, path));
  if (statements.some(isTaken)) return undefined;
  const parent = keys.slice(0, -1);
  const isTable = needsHeader(value);
  if (!isTable) {
    const sibling = findSibling(statements, parent);
    if (sibling !== undefined) {
      const added = await assignmentOf(keys.slice(sibling.table.length), value);
      return withLineAfter(text, sibling, added);
    }
    if (parent.length === 0) {
      return withFirstLine(text, statements, await assignmentOf(keys, value));
    }
  }
  const table = isTable
    ? await tableOf(change)
    : `[${dotted(parent)}]\n${await assignmentOf(keys.slice(-1), value)}`;
  return withBlock(text, table, placeOfTable(text, statements, isTable ? keys : parent));
}

/** Removes a key or a table, with the comment directly above it. Undefined if it is inside a value. */
export function removeFromToml(text: string, keys: Keys): string | undefined {
  const statements = statementsInToml(text);
  const isHeader = ({ kind, path }: TomlStatement) => kind !== "key" && startsWith(path, keys);
  const isKey = ({ kind, path, table }: TomlStatement) =>
    kind === "key" && startsWith(path, keys) && !startsWith(table, keys);
  const removed = [...statements.entries()].filter(
    ([, statement]) => isHeader(statement) || isKey(statement),
  );
  if (removed.length === 0) return undefined;
  return removed.toReversed().reduce((rest, [index, statement]) => {
    // A file's first comment may be about the whole file.
    const start = index === 0 ? statement.start : startOfComments(text, { to: statement.start });
    const end = statement.kind === "key" ? statement.end : endOfTable(text, statements, index);
    return without(rest, { from: start, to: end });
  }, text);
}

/** Whether the value is written below a header. */
export function hasHeader(text: string, keys: Keys): boolean {
  return statementsInToml(text).some(({ kind, path }) => kind !== "key" && startsWith(path, keys));
}

/** Ends where the comments about the next table start. */
function endOfTable(text: string, statements: readonly TomlStatement[], index: number): number {
  const next = statements.findIndex(({ kind }, at) => at > index && kind !== "key");
  if (next === -1) return text.length;
  return startOfLead(text, { from: statements[next - 1]?.end, to: statements[next]?.start ?? 0 });
}

/** Keeps one blank line of two, and none if there were none. */
function without(text: string, { from = 0, to }: Gap): string {
  const [before, removed, after] = [text.slice(0, from), text.slice(from, to), text.slice(to)];
  if (after === "") return before.replace(/(\r?\n)[ \t\r\n]*$/, "$1");
  const isBlankAbove = before === "" || BLANK_END.test(before);
  if (isBlankAbove) return before + after.replace(/^(?:[ \t]*\r?\n)+/, "");
  return before + (BLANK_END.test(removed) ? lineBreakOf(text) : "") + after;
}

const BLANK_END = /\n[ \t]*\r?\n$/;

function startsWith(path: Keys, prefix: Keys): boolean {
  return prefix.length <= path.length && prefix.every((key, index) => path[index] === key);
}

/** A table, or a list of tables: TOML can write both below headers. */
function needsHeader(value: Json): boolean {
  return (
    isJsonObject(value) || (Array.isArray(value) && value.length > 0 && value.every(isJsonObject))
  );
}

/** The statement to insert a key of this table after: the table's last key, or its header. */
function findSibling(
  statements: readonly TomlStatement[],
  parent: Keys,
): TomlStatement | undefined {
  for (let depth = parent.length; depth >= 0; depth -= 1) {
    const prefix = parent.slice(0, depth);
    // `a.b = 1` can be extended by `a.c = 2`, but not by a table `[a]`.
    const isDotted = ({ kind, path, table }: TomlStatement) =>
      kind === "key" && startsWith(path, prefix) && table.length < depth;
    const dottedKey = statements.findLast(isDotted);
    if (dottedKey !== undefined) return dottedKey;
    if (depth < parent.length) continue;
    const ownKey = statements.findLast(
      ({ kind, table }) => kind === "key" && table.length === depth && startsWith(table, parent),
    );
    const header = statements.find(
      ({ kind, path }) => kind === "table" && path.length === depth && startsWith(path, parent),
    );
    if (ownKey !== undefined || header !== undefined) return ownKey ?? header;
  }
  return undefined;
}

function withLineAfter(text: string, { start, end }: TomlStatement, added: string): string {
  const indentation = /^[ \t]*/.exec(text.slice(start, end))?.[0] ?? "";
  const before = text.slice(0, end);
  const isOpen = !before.endsWith("\n");
  const eol = lineBreakOf(text);
  return `${before}${isOpen ? eol : ""}${indentation}${added}${eol}${text.slice(end)}`;
}

/** A key outside all tables must precede them. */
function withFirstLine(text: string, [first]: readonly TomlStatement[], added: string): string {
  const place = first === undefined ? text.length : startOfLead(text, { to: first.start });
  return withBlock(text, added, place);
}

/** The offset for a new table. */
function placeOfTable(text: string, statements: readonly TomlStatement[], keys: Keys): number {
  const headers = statements.filter(({ kind }) => kind !== "key");
  const below = headers.findIndex(({ path }) => startsWith(path, keys));
  // A table goes above the tables inside it.
  const before = below === -1 ? indexAfterGroup(headers, keys) : below;
  const header = headers[before];
  if (header === undefined) return text.length;
  const last = statements[statements.indexOf(header) - 1];
  return startOfLead(text, { from: last?.end, to: header.start });
}

/** The header after the last table that shares the most keys with the new one. */
function indexAfterGroup(headers: readonly TomlStatement[], keys: Keys): number {
  for (let depth = keys.length - 1; depth > 0; depth -= 1) {
    const last = headers.findLastIndex(({ path }) => startsWith(path, keys.slice(0, depth)));
    if (last !== -1) return last + 1;
  }
  return headers.length;
}

/** Blocks keep the distance used at this place, and get a blank line between them at the ends of a file. */
function withBlock(text: string, block: string, place: number): string {
  const eol = lineBreakOf(text);
  const before = text.slice(0, place).replace(/[ \t\r\n]+$/, "");
  const after = text.slice(place);
  const isInside = before !== "" && after !== "";
  const distance = isInside ? text.slice(before.length, place) : eol + eol;
  return [
    before === "" ? "" : before + distance,
    block.replaceAll("\n", eol),
    after === "" ? eol : distance + after,
  ].join("");
}

interface Gap {
  readonly from?: number | undefined;
  readonly to: number;
}

/**
 * The start of the comments about the header after this gap. Comments directly below a key, and commented-out keys,
 * belong to the table above. Comments at the start of a file belong to the file, unless the header follows directly.
 */
function startOfLead(text: string, { from = 0, to }: Gap): number {
  let start = startOfComments(text, { from, to });
  if (from === 0) return start;
  for (;;) {
    const end = startOfLines(text, /^[ \t]*\r?\n$/, { from, to: start });
    const block = startOfComments(text, { from, to: end });
    if (block === end || block === from || COMMENTED_OUT.test(text.slice(block, end))) {
      return start;
    }
    start = block;
  }
}

/** A line such as `# name = "Ada"` or `# [user]`. */
const COMMENTED_OUT = /^[ \t]*#[ \t]*(?:\[|[\w."'-]+[ \t]*=)/m;

/** The start of the comment lines directly above this line. */
function startOfComments(text: string, gap: Gap): number {
  return startOfLines(text, /^[ \t]*#/, gap);
}

function startOfLines(text: string, line: RegExp, { from = 0, to }: Gap): number {
  let start = to;
  while (start > from) {
    const above = start < 2 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
    if (above < from || !line.test(text.slice(above, start))) break;
    start = above;
  }
  return start;
}

function dotted(keys: Keys): string {
  return keys.map(quoted).join(".");
}

function quoted(key: string): string {
  if (/^[\w-]+$/.test(key)) return key;
  return /^[^'\p{Cc}]+$/u.test(key) ? `'${key}'` : JSON.stringify(key);
}

async function assignmentOf(keys: Keys, value: Json): Promise<string> {
  const { stringify } = await loadModule(() => import("smol-toml"));
  return `${dotted(keys)} = ${stringify({ k: value }).trim().slice("k = ".length)}`;
}

async function tableOf(change: Change): Promise<string> {
  const { stringify } = await loadModule(() => import("smol-toml"));
  return stringify(withValue({}, change)).trim();
}
