/**
 * Parses the start of a Markdown line per CommonMark: which open containers continue, which are opened, and which block
 * the line starts or continues. Pure.
 */
export type Container =
  | { readonly type: "quote" }
  | {
      readonly type: "item";
      /** The indent of its other lines. */
      readonly indent: number;
      /** The bullet, or the delimiter after the number; a different one starts a new list. */
      readonly marker: string;
      readonly number?: number;
    };

export type LeafStart =
  | { readonly type: "blank" }
  | { readonly type: "text"; readonly rest: string }
  | { readonly type: "heading"; readonly level: number; readonly source: string }
  | { readonly type: "underline"; readonly level: number }
  | { readonly type: "rule" }
  | { readonly type: "fence"; readonly fence: Fence }
  | { readonly type: "html"; readonly rest: string; readonly end: RegExp }
  | { readonly type: "indented"; readonly rest: string }
  /** The line belongs to the open fence or HTML block. */
  | { readonly type: "inside"; readonly rest: string };

export interface Fence {
  readonly marks: string;
  readonly indent: number;
  readonly info: string;
}

export interface LineStart {
  readonly matched: number;
  readonly opened: readonly Container[];
  /** The checkbox of the last opened item: `[x]`. */
  readonly task?: string;
  readonly leaf: LeafStart;
}

/** The blocks open before the line, outermost first. */
export interface OpenBlocks {
  readonly containers: readonly { readonly container: Container; readonly isEmpty: boolean }[];
  readonly leaf: "paragraph" | "inside" | "other";
}

/** Deeper containers are shown as text, since their margins would use up the width. */
const MAX_CONTAINERS = 12;
const CODE_INDENT = 4;

const HEADING = /^(#{1,6})(?:[ \t]+(.*))?$/;
const RULE = /^(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const UNDERLINE = /^(=+|-+)[ \t]*$/;
const FENCE = /^(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
const MARKER = /^(?:([-+*])|(\d{1,9})([.)]))(?=[ \t]|$)/;

export function readLineStart(line: string, open: OpenBlocks): LineStart {
  let { cursor, matched } = matchContainers(line, open);
  const isMatched = matched === open.containers.length;
  if (isMatched && open.leaf === "inside") {
    return { matched, opened: [], leaf: { type: "inside", rest: cursor.rest } };
  }
  const opened: Container[] = [];
  for (;;) {
    const canContinueLazily = open.leaf === "paragraph" && opened.length === 0;
    const inParagraph = canContinueLazily && isMatched;
    if (!isBlank(cursor) && indentOf(cursor) < CODE_INDENT) {
      const isTooDeep = matched + opened.length >= MAX_CONTAINERS;
      const next = isTooDeep ? undefined : readContainer(cursor, inParagraph);
      if (next !== undefined) {
        opened.push(next.container);
        cursor = next.cursor;
        continue;
      }
    }
    const leaf = readLeaf(cursor, { canContinueLazily, inParagraph });
    return { matched, opened, ...takeTask(leaf, opened.at(-1)) };
  }
}

/** Whether the beginning of a line is text regardless of how it continues. A false "no" only delays the output. */
export function isCertainlyText(rest: string): boolean {
  return /^[ \t]*(?:[^\s\-+*_=#`~<[|:>0-9]|\*+[^*\s]|_+[^_\s]|[-+]+[^\s\-+:|]|=+[^=\s]|#+[^#\s]|`{1,2}[^`]|~{1,2}[^~]|:[^-]|\[[^\]]*\][^:]|\d{10}|\d{1,9}(?:[^\d.)]|[.)][^ \t]))/.test(
    rest,
  );
}

function matchContainers(line: string, { containers }: OpenBlocks) {
  let cursor: Cursor = { rest: line, column: 0 };
  let matched = 0;
  for (const { container, isEmpty } of containers) {
    const next =
      container.type === "quote"
        ? takeQuoteMark(cursor)
        : takeItemIndent(cursor, { indent: container.indent, isEmpty });
    if (next === undefined) break;
    cursor = next;
    matched += 1;
  }
  return { cursor, matched };
}

function takeQuoteMark(cursor: Cursor): Cursor | undefined {
  const indent = indentOf(cursor);
  if (indent >= CODE_INDENT) return undefined;
  const atMark = takeIndent(cursor, indent);
  return atMark.rest.startsWith(">") ? takeIndent(take(atMark, 1), 1) : undefined;
}

interface ItemPlace {
  readonly indent: number;
  readonly isEmpty: boolean;
}

function takeItemIndent(cursor: Cursor, { indent, isEmpty }: ItemPlace): Cursor | undefined {
  // An item may start with one blank line, but not two.
  const continues = isBlank(cursor) ? !isEmpty : indentOf(cursor) >= indent;
  return continues ? takeIndent(cursor, indent) : undefined;
}

function readContainer(cursor: Cursor, inParagraph: boolean) {
  const quoted = takeQuoteMark(cursor);
  if (quoted !== undefined) return { container: { type: "quote" } as const, cursor: quoted };
  const before = indentOf(cursor);
  const atMark = takeIndent(cursor, before);
  const found = MARKER.exec(atMark.rest);
  if (found === null || RULE.test(atMark.rest)) return undefined;
  const [mark, bullet, digits, behind] = found;
  const afterMark = take(atMark, mark.length);
  const isEmpty = isBlank(afterMark);
  if (inParagraph && (isEmpty || UNDERLINE.test(atMark.rest))) return undefined;
  // Only a list that starts with 1 can interrupt a paragraph.
  if (inParagraph && digits !== undefined && Number(digits) !== 1) return undefined;
  const spaces = indentOf(afterMark);
  const gap = isEmpty || spaces > CODE_INDENT ? 1 : spaces;
  const indent = before + mark.length + gap;
  const container: Container =
    digits === undefined
      ? { type: "item", indent, marker: bullet ?? "" }
      : { type: "item", indent, marker: behind ?? "", number: Number(digits) };
  return { container, cursor: takeIndent(afterMark, gap) };
}

function takeTask(leaf: LeafStart, container: Container | undefined) {
  if (leaf.type !== "text" || container?.type !== "item") return { leaf };
  const [found, state = ""] = /^\[([ xX])\][ \t]+/.exec(leaf.rest) ?? [];
  if (found === undefined) return { leaf };
  return { leaf: { ...leaf, rest: leaf.rest.slice(found.length) }, task: `[${state}]` };
}

interface LeafPlace {
  readonly canContinueLazily: boolean;
  readonly inParagraph: boolean;
}

function readLeaf(cursor: Cursor, { canContinueLazily, inParagraph }: LeafPlace): LeafStart {
  if (isBlank(cursor)) return { type: "blank" };
  const indent = indentOf(cursor);
  const { rest } = takeIndent(cursor, indent);
  if (indent >= CODE_INDENT) {
    if (canContinueLazily) return { type: "text", rest };
    return { type: "indented", rest: takeIndent(cursor, CODE_INDENT).rest };
  }
  const heading = HEADING.exec(rest);
  if (heading !== null) {
    const [, marks = "", words = ""] = heading;
    return { type: "heading", level: marks.length, source: stripClosingMarks(words.trim()) };
  }
  const fence = FENCE.exec(rest);
  if (fence !== null) {
    const [, marks = "", info = ""] = fence;
    return { type: "fence", fence: { marks, indent, info: info.trim() } };
  }
  const end = findHtmlEnd(rest, inParagraph);
  if (end !== undefined) return { type: "html", rest: cursor.rest, end };
  const underline = inParagraph ? UNDERLINE.exec(rest) : null;
  if (underline !== null) {
    return { type: "underline", level: underline[1]?.startsWith("=") === true ? 1 : 2 };
  }
  return RULE.test(rest) ? { type: "rule" } : { type: "text", rest };
}

/** `## Title ##`: trailing marks count only after a space. */
function stripClosingMarks(words: string): string {
  let end = words.length;
  while (words.charAt(end - 1) === "#") end -= 1;
  const isClosed = end < words.length && /^[ \t]?$/.test(words.charAt(end - 1));
  return isClosed ? words.slice(0, end).trimEnd() : words;
}

/** Ends a block that continues to the next blank line. */
export const BLANK_LINE = /^[ \t]*$/;

/** The start of each kind of HTML block, and the pattern of its last line. */
const HTML_BLOCKS: readonly (readonly [RegExp, RegExp])[] = [
  [/^<(?:script|pre|style|textarea)(?:[\s>]|$)/i, /<\/(?:script|pre|style|textarea)>/i],
  [/^<!--/, /-->/],
  [/^<\?/, /\?>/],
  [/^<!\[CDATA\[/, /\]\]>/],
  [/^<![a-z]/i, />/],
  [
    /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|\/?>|$)/i,
    BLANK_LINE,
  ],
];

/** Any tag alone on its line; it does not interrupt a paragraph. */
const LONE_TAG = /^<\/?[a-z][a-z0-9-]*(?:\s[^<>]*)?\/?>[ \t]*$/i;

function findHtmlEnd(rest: string, inParagraph: boolean): RegExp | undefined {
  if (!rest.startsWith("<")) return undefined;
  const kind = HTML_BLOCKS.find(([begin]) => begin.test(rest));
  if (kind !== undefined) return kind[1];
  return !inParagraph && LONE_TAG.test(rest) ? BLANK_LINE : undefined;
}

interface Cursor {
  readonly rest: string;
  readonly column: number;
}

const TAB_STOP = 4;

/** The width of the leading white space, in columns. */
function indentOf({ rest, column }: Cursor): number {
  let width = 0;
  for (const character of rest) {
    if (character === " ") width += 1;
    else if (character === "\t") width += TAB_STOP - ((column + width) % TAB_STOP);
    else break;
  }
  return width;
}

/** Takes up to this many columns of white space, splitting a tab if needed. */
export function takeIndent({ rest, column }: Cursor, columns: number): Cursor {
  let offset = 0;
  let taken = 0;
  while (taken < columns) {
    const character = rest[offset];
    if (character !== " " && character !== "\t") break;
    const width = character === " " ? 1 : TAB_STOP - ((column + taken) % TAB_STOP);
    offset += 1;
    taken += width;
  }
  const tooMany = Math.max(0, taken - columns);
  return { rest: " ".repeat(tooMany) + rest.slice(offset), column: column + taken - tooMany };
}

/** Takes characters that are not white space. */
function take({ rest, column }: Cursor, count: number): Cursor {
  return { rest: rest.slice(count), column: column + count };
}

function isBlank({ rest }: Cursor): boolean {
  return !/[^ \t]/.test(rest);
}
