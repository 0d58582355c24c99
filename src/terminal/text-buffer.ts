/** Text with a cursor, possibly of several lines: how keys edit it, and how it is laid out in rows. */
import stringWidth from "fast-string-width";
import { neutralize } from "../render/index.ts";
import { graphemesOf } from "../util/index.ts";
import type { Key, KeyName } from "./key.ts";
import type { Position } from "./widget.ts";

export interface TextBuffer {
  readonly text: string;
  /** An index between two characters. */
  readonly cursor: number;
}

export function bufferOf(text: string): TextBuffer {
  return { text, cursor: text.length };
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

function moveTo({ text }: TextBuffer, cursor: number): TextBuffer {
  return { text, cursor };
}

/** Replaces everything between the cursor and `other`. */
function replace({ text, cursor }: TextBuffer, other: number, inserted: string): TextBuffer {
  const from = Math.min(cursor, other);
  const to = Math.max(cursor, other);
  return {
    text: text.slice(0, from) + inserted + text.slice(to),
    cursor: from + inserted.length,
  };
}

function before(buffer: TextBuffer): number {
  const { text, cursor } = buffer;
  const start = lineStart(buffer);
  if (cursor === start) return Math.max(0, cursor - 1); // The line break.
  return cursor - (graphemesOf(text.slice(start, cursor)).at(-1)?.length ?? 0);
}

function after(buffer: TextBuffer): number {
  const { text, cursor } = buffer;
  const end = lineEnd(buffer);
  if (cursor === end) return Math.min(text.length, cursor + 1);
  return cursor + (graphemesOf(text.slice(cursor, end))[0]?.length ?? 0);
}

function lineStart({ text, cursor }: TextBuffer): number {
  return text.slice(0, cursor).lastIndexOf("\n") + 1;
}

function lineEnd({ text, cursor }: TextBuffer): number {
  const end = text.indexOf("\n", cursor);
  return end === -1 ? text.length : end;
}

function wordStart({ text, cursor }: TextBuffer): number {
  return text.slice(0, cursor).replace(/\S*\s*$/u, "").length;
}

function wordEnd({ text, cursor }: TextBuffer): number {
  return cursor + (/^\s*\S*/u.exec(text.slice(cursor))?.[0].length ?? 0);
}

function lineAbove(buffer: TextBuffer): number {
  const start = lineStart(buffer);
  if (start === 0) return 0;
  return sameColumn(buffer, { text: buffer.text, cursor: start - 1 });
}

function lineBelow(buffer: TextBuffer): number {
  const end = lineEnd(buffer);
  if (end === buffer.text.length) return end;
  return sameColumn(buffer, { text: buffer.text, cursor: end + 1 });
}

/** The position in the line of `other` that is as far from its start as the cursor is in its own line. */
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
}

export interface LaidOutText {
  readonly rows: readonly string[];
  readonly cursor: Position;
}

const PLAIN = /^[ -~]$/;
/** The longest emoji have about ten code points. Marks and joiners without end would fill no further cell of the screen. */
const MAX_CODE_POINTS = 32;

/** Widths are screen columns. Control characters are made visible. */
export function layOutText(
  { text, cursor }: TextBuffer,
  { columns, start, indent }: TextPlace,
): LaidOutText {
  const rows = [""];
  let column = start;
  let position: Position | undefined;
  const newRow = () => {
    rows.push(" ".repeat(indent));
    column = indent;
  };
  let index = 0;
  for (const segment of graphemesOf(text)) {
    const isBreak = segment.endsWith("\n"); // "\n" or "\r\n".
    const isPlain = PLAIN.test(segment);
    const shown = isPlain ? segment : segment === "\t" ? "    " : neutralize(firstOf(segment));
    const width = isPlain ? 1 : isBreak ? 0 : stringWidth(shown);
    if (column + width > columns && column > indent) newRow();
    if (index >= cursor) position ??= { row: rows.length - 1, column };
    if (isBreak) newRow();
    else rows.push(`${rows.pop() ?? ""}${shown}`);
    column += width;
    index += segment.length;
  }
  return { rows, cursor: position ?? { row: rows.length - 1, column } };
}

function firstOf(segment: string): string {
  if (segment.length <= MAX_CODE_POINTS) return segment;
  return Array.from(segment).slice(0, MAX_CODE_POINTS).join("");
}
