/** Text with a cursor, on one or several lines: editing it with keys, and laying it out in rows. */
import stringWidth from "fast-string-width";
import { truncate } from "../render/index.ts";
import { graphemesOf, neutralize } from "../../util/index.ts";
import type { Key, KeyName } from "./key.ts";
import type { Position } from "./widget.ts";

export interface TextBuffer {
  readonly text: string;
  /** An index between two characters, never within a fold. */
  readonly cursor: number;
  /** Parts shown as a label and edited as one character, in order. */
  readonly folds?: readonly Fold[];
}

/** A long paste, still part of the text. */
export interface Fold {
  readonly start: number;
  readonly end: number;
}

export function bufferOf(text: string): TextBuffer {
  return { text, cursor: text.length };
}

/** A longer paste would hide the text around it. */
const MAX_PASTED_LINES = 10;
const MAX_PASTED_CHARACTERS = 2000;

/** Inserts a paste and folds it if it is long. */
export function pasteInto(buffer: TextBuffer, pasted: string): TextBuffer {
  const edited = replace(buffer, buffer.cursor, pasted);
  const isLong = pasted.length > MAX_PASTED_CHARACTERS || countLines(pasted) > MAX_PASTED_LINES;
  if (!isLong) return edited;
  const fold = { start: edited.cursor - pasted.length, end: edited.cursor };
  const folds = [...(edited.folds ?? []), fold].toSorted((one, two) => one.start - two.start);
  return { ...edited, folds };
}

/** Trims trailing white space outside of folds. */
export function trimEnd(buffer: TextBuffer): TextBuffer {
  const { text, folds = [] } = buffer;
  const end = Math.max(text.trimEnd().length, folds.at(-1)?.end ?? 0);
  return replace({ ...buffer, cursor: text.length }, end, "");
}

/** Expands the folds. */
export function unfold({ text, cursor }: TextBuffer): TextBuffer {
  return { text, cursor };
}

/** Such as `[pasted 300 lines]`. */
function foldLabel(text: string, { start, end }: Fold): string {
  const pasted = text.slice(start, end);
  const lines = countLines(pasted);
  const size = lines > 1 ? `${lines} lines` : `${Array.from(pasted).length} characters`;
  return `[pasted ${size}]`;
}

/** A trailing line break does not start another line. */
function countLines(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}

/** Undefined if the key does not edit text. */
export function editBuffer(buffer: TextBuffer, key: Key): TextBuffer | undefined {
  switch (key.type) {
    case "text":
    case "paste":
      return replace(buffer, buffer.cursor, key.text);
    case "named":
      return EDITS[key.name]?.(buffer);
  }
}

type Edit = (buffer: TextBuffer) => TextBuffer;

const EDITS: Readonly<Partial<Record<KeyName, Edit>>> = {
  "new-line": (buffer) => replace(buffer, buffer.cursor, "\n"),
  tab: (buffer) => replace(buffer, buffer.cursor, "\t"),
  backspace: (buffer) => replace(buffer, before(buffer), ""),
  delete: (buffer) => replace(buffer, after(buffer), ""),
  "ctrl-d": (buffer) => replace(buffer, after(buffer), ""),
  "ctrl-u": (buffer) => replace(buffer, lineStart(buffer), ""),
  "ctrl-k": (buffer) => replace(buffer, lineEnd(buffer), ""),
  "ctrl-w": (buffer) => replace(buffer, wordStart(buffer), ""),
  left: (buffer) => moveTo(buffer, before(buffer)),
  right: (buffer) => moveTo(buffer, after(buffer)),
  "ctrl-b": (buffer) => moveTo(buffer, before(buffer)),
  "ctrl-f": (buffer) => moveTo(buffer, after(buffer)),
  "word-left": (buffer) => moveTo(buffer, wordStart(buffer)),
  "word-right": (buffer) => moveTo(buffer, wordEnd(buffer)),
  home: (buffer) => moveTo(buffer, lineStart(buffer)),
  "ctrl-a": (buffer) => moveTo(buffer, lineStart(buffer)),
  end: (buffer) => moveTo(buffer, lineEnd(buffer)),
  "ctrl-e": (buffer) => moveTo(buffer, lineEnd(buffer)),
  up: (buffer) => moveTo(buffer, lineAbove(buffer)),
  down: (buffer) => moveTo(buffer, lineBelow(buffer)),
};

/** Never moves into a fold, but to its nearer end. */
function moveTo(buffer: TextBuffer, cursor: number): TextBuffer {
  const { folds = [] } = buffer;
  const fold = folds.find(({ start, end }) => start < cursor && cursor < end);
  if (fold === undefined) return { ...buffer, cursor };
  const isNearStart = cursor - fold.start < fold.end - cursor;
  return { ...buffer, cursor: isNearStart ? fold.start : fold.end };
}

/** Replaces the text between the cursor and `other`, including its folds. */
export function replace(buffer: TextBuffer, other: number, inserted: string): TextBuffer {
  const { text, cursor } = buffer;
  const from = Math.min(cursor, other);
  const to = Math.max(cursor, other);
  const shift = inserted.length - (to - from);
  const folds = buffer.folds?.flatMap((fold): readonly Fold[] => {
    if (fold.end <= from) return [fold];
    return fold.start < to ? [] : [{ start: fold.start + shift, end: fold.end + shift }];
  });
  return {
    text: text.slice(0, from) + inserted + text.slice(to),
    cursor: from + inserted.length,
    ...(folds !== undefined && folds.length > 0 && { folds }),
  };
}

/** The text with folds masked as words without spaces or line breaks. */
function visibleText({ text, folds = [] }: TextBuffer): string {
  return folds.reduce(
    (masked, { start, end }) =>
      masked.slice(0, start) + "x".repeat(end - start) + masked.slice(end),
    text,
  );
}

/** No line break is above the cursor. */
export function isOnFirstLine(buffer: TextBuffer): boolean {
  return lineStart(buffer) === 0;
}

/** No line break is below the cursor. */
export function isOnLastLine(buffer: TextBuffer): boolean {
  return lineEnd(buffer) === buffer.text.length;
}

function before(buffer: TextBuffer): number {
  const { text, cursor, folds = [] } = buffer;
  const fold = folds.find(({ end }) => end === cursor);
  if (fold !== undefined) return fold.start;
  const start = Math.max(lineStart(buffer), ...folds.map(({ end }) => (end < cursor ? end : 0)));
  if (cursor === start) return Math.max(0, cursor - 1); // The line break.
  return cursor - (graphemesOf(text.slice(start, cursor)).at(-1)?.length ?? 0);
}

function after(buffer: TextBuffer): number {
  const { text, cursor, folds = [] } = buffer;
  const fold = folds.find(({ start }) => start === cursor);
  if (fold !== undefined) return fold.end;
  const end = Math.min(
    lineEnd(buffer),
    ...folds.flatMap(({ start }) => (start > cursor ? [start] : [])),
  );
  if (cursor === end) return Math.min(text.length, cursor + 1);
  return cursor + (graphemesOf(text.slice(cursor, end))[0]?.length ?? 0);
}

function lineStart(buffer: TextBuffer): number {
  return visibleText(buffer).slice(0, buffer.cursor).lastIndexOf("\n") + 1;
}

function lineEnd(buffer: TextBuffer): number {
  const end = visibleText(buffer).indexOf("\n", buffer.cursor);
  return end === -1 ? buffer.text.length : end;
}

/** A fold counts as one word. */
function wordStart(buffer: TextBuffer): number {
  const { cursor, folds = [] } = buffer;
  const above = visibleText(buffer).slice(0, cursor);
  const start = above.replace(/\S*\s*$/u, "").length;
  const last = folds.findLast((fold) => fold.start < cursor && fold.end > start);
  if (last === undefined) return start;
  return above.slice(last.end).trim() === "" ? last.start : last.end;
}

function wordEnd(buffer: TextBuffer): number {
  const { cursor, folds = [] } = buffer;
  const below = visibleText(buffer).slice(cursor);
  const end = cursor + (/^\s*\S*/u.exec(below)?.[0].length ?? 0);
  const next = folds.find((fold) => fold.end > cursor && fold.start < end);
  if (next === undefined) return end;
  return below.slice(0, next.start - cursor).trim() === "" ? next.end : next.start;
}

function lineAbove(buffer: TextBuffer): number {
  const start = lineStart(buffer);
  if (start === 0) return 0;
  return sameColumn(buffer, { ...buffer, cursor: start - 1 });
}

function lineBelow(buffer: TextBuffer): number {
  const end = lineEnd(buffer);
  if (end === buffer.text.length) return end;
  return sameColumn(buffer, { ...buffer, cursor: end + 1 });
}

/** The position in `other`'s line with the same distance from the start as the cursor's in its own line. */
function sameColumn(buffer: TextBuffer, other: TextBuffer): number {
  const { text } = buffer;
  const count = graphemesOf(text.slice(lineStart(buffer), buffer.cursor)).length;
  const start = lineStart(other);
  return (
    start +
    graphemesOf(text.slice(start, lineEnd(other)))
      .slice(0, count)
      .join("").length
  );
}

export interface TextPlace {
  readonly columns: number;
  /** Column where the first row starts. */
  readonly start: number;
  /** Column where all other rows start. */
  readonly indent: number;
  /** Rows may end mid-word, as a terminal wraps them. */
  readonly breaksWords?: boolean;
}

export interface LaidOutText {
  readonly rows: readonly string[];
  readonly cursor: Position;
}

const PLAIN = /^[ -~]$/;
/** The longest emoji have about ten code points. An endless run of marks and joiners would occupy no further cell. */
const MAX_CODE_POINTS = 32;

/**
 * Widths are screen columns. Control characters are made visible, and folds are labels. Rows break between words; a
 * word wider than a row is split. A space that does not fit ends its row.
 */
export function layOutText(buffer: TextBuffer, place: TextPlace): LaidOutText {
  const { columns, start, indent, breaksWords = false } = place;
  const { text, cursor } = withLabels(buffer);
  const cells = graphemesOf(text).map((segment) => toCell(segment, columns - indent));
  const rows = [""];
  let column = start;
  let position: Position | undefined;
  const newRow = () => {
    rows.push(" ".repeat(indent));
    column = indent;
  };
  let index = 0;
  for (const [at, { segment, shown, width, type }] of cells.entries()) {
    const isFull = column + width > columns && column > indent;
    const isEnd = type === "break" || (type === "space" && isFull && !breaksWords);
    const isWordStart = type === "word" && cells[at - 1]?.type !== "word" && !breaksWords;
    const whole = isWordStart ? widthOfWord(cells, at, columns - indent) : width;
    if (!isEnd && column + whole > columns && column > indent) newRow();
    if (index >= cursor) position ??= { row: rows.length - 1, column };
    if (isEnd) newRow();
    else {
      rows.push(`${rows.pop() ?? ""}${shown}`);
      column += width;
    }
    index += segment.length;
  }
  return { rows, cursor: position ?? { row: rows.length - 1, column } };
}

/** One grapheme on the screen. Rows may break before and after a wide one, as in Chinese. */
interface Cell {
  readonly segment: string;
  readonly shown: string;
  readonly width: number;
  readonly type: "word" | "wide" | "space" | "break";
}

function toCell(segment: string, room: number): Cell {
  if (segment === " ") return { segment, shown: segment, width: 1, type: "space" };
  if (PLAIN.test(segment)) return { segment, shown: segment, width: 1, type: "word" };
  // "\n" or "\r\n".
  if (segment.endsWith("\n")) return { segment, shown: "", width: 0, type: "break" };
  const shown = segment === "\t" ? "    " : truncate(neutralize(firstOf(segment)), room);
  const width = stringWidth(shown);
  return { segment, shown, width, type: width > 1 ? "wide" : "word" };
}

/** The width of its first cell if it fits on no row. */
function widthOfWord(cells: readonly Cell[], start: number, room: number): number {
  let width = 0;
  for (let at = start; cells[at]?.type === "word"; at += 1) {
    width += cells[at]?.width ?? 0;
    if (width > room) return cells[start]?.width ?? 0;
  }
  return width;
}

/** Replaces folds with their labels; the cursor is never within one. */
function withLabels({ text, cursor, folds = [] }: TextBuffer): TextBuffer {
  return folds.toReversed().reduce<TextBuffer>(
    (buffer, fold) => {
      const label = foldLabel(text, fold);
      const isBehind = buffer.cursor >= fold.end;
      return {
        text: buffer.text.slice(0, fold.start) + label + buffer.text.slice(fold.end),
        cursor: isBehind ? buffer.cursor + label.length - (fold.end - fold.start) : buffer.cursor,
      };
    },
    { text, cursor },
  );
}

function firstOf(segment: string): string {
  if (segment.length <= MAX_CODE_POINTS) return segment;
  return Array.from(segment).slice(0, MAX_CODE_POINTS).join("");
}
