/** Draws a Markdown table once it is complete, with aligned columns and wrapped cells. */
import { graphemesOf } from "../../../util/index.ts";
import type { Paint } from "../style.ts";
import { textWidth } from "../wrap.ts";
import { addInlineAs, type InlineOptions } from "./inline.ts";
import {
  breakLines,
  createFlow,
  createWordSplitter,
  type Look,
  type Page,
  paintFragments,
  type Piece,
  UNSTYLED,
  type Word,
} from "./page.ts";

export interface TableBlock {
  add(row: string): void;
  close(): void;
}

export interface TableBlockOptions {
  readonly header: string;
  readonly delimiters: string;
  readonly page: Page;
  readonly paint: Paint;
  readonly inline: InlineOptions;
}

type Align = "left" | "right" | "center";
type Row = readonly (readonly Piece[])[];

interface Column {
  readonly align: Align;
  readonly width: number;
}

const BAR = "│";
const GAP_WIDTH = 3;
const MIN_COLUMN_WIDTH = 5;
const BOLD: Look = { styles: ["bold"] };

export function createTableBlock(options: TableBlockOptions): TableBlock {
  const rows: string[] = [];
  return {
    add: (row) => {
      rows.push(row);
    },
    close: () => {
      drawTable(rows, options);
    },
  };
}

/** The number of columns in a delimiter row; undefined for any other line. */
export function countDelimiters(line: string): number | undefined {
  if (!line.includes("|") || !/^[ \t|:-]+$/.test(line)) return undefined;
  const cells = splitCells(line);
  return cells.every((cell) => /^:?-+:?$/.test(cell)) ? cells.length : undefined;
}

export function splitCells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "");
  // An escaped bar is part of its cell, even in code.
  const cells = inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  if (cells.length > 1 && cells.at(-1) === "") cells.pop();
  return cells;
}

function drawTable(rows: readonly string[], options: TableBlockOptions): void {
  const { page, paint } = options;
  const aligns = splitCells(options.delimiters).map(alignOf);
  const header = readRow(options.header, { count: aligns.length, look: BOLD, options });
  const body = rows.map((row) => readRow(row, { count: aligns.length, look: UNSTYLED, options }));
  const natural = aligns.map((_align, index) =>
    [header, ...body].reduce((most, row) => Math.max(most, widthOf(row[index] ?? [])), 1),
  );
  const room = page.room() - GAP_WIDTH * (aligns.length - 1);
  if (body.length > 0 && room < MIN_COLUMN_WIDTH * aligns.length && sum(natural) > room) {
    drawRecords(header, body, options);
    return;
  }
  const most = columnLimit(natural, room);
  const columns = aligns.map((align, index): Column => {
    return { align, width: Math.min(most, natural[index] ?? 0) };
  });
  drawRow(header, columns, options);
  page.write(paint("dim", columns.map(({ width }) => "─".repeat(width)).join("─┼─")));
  page.endLine();
  for (const row of body) drawRow(row, columns, options);
}

function alignOf(delimiter: string): Align {
  if (!delimiter.endsWith(":")) return "left";
  return delimiter.startsWith(":") ? "center" : "right";
}

interface RowReading {
  readonly count: number;
  readonly look: Look;
  readonly options: TableBlockOptions;
}

function readRow(line: string, { count, look, options }: RowReading): Row {
  const cells = splitCells(line);
  return Array.from({ length: count }, (_none, index) => {
    const splitter = createWordSplitter();
    addInlineAs(look, { source: cells[index] ?? "", splitter, options: options.inline });
    return splitter.take();
  });
}

function widthOf(pieces: readonly Piece[]): number {
  const widths = breakLines(pieces, Number.POSITIVE_INFINITY).map(lineWidth);
  return Math.max(...widths);
}

function lineWidth(line: readonly Word[]): number {
  return line.reduce((total, { blanks, width }) => total + blanks + width, 0);
}

/** The maximum column width for all columns to fit. Narrow columns leave room for wide ones. */
function columnLimit(natural: readonly number[], room: number): number {
  let left = room;
  let count = natural.length;
  for (const width of natural.toSorted((one, other) => one - other)) {
    if (width * count > left) return Math.max(1, Math.floor(left / count));
    left -= width;
    count -= 1;
  }
  return Number.POSITIVE_INFINITY;
}

function drawRow(row: Row, columns: readonly Column[], { page, paint }: TableBlockOptions): void {
  const cells = columns.map(({ width }, index) =>
    breakLines(splitWideWords(row[index] ?? [], width), width),
  );
  const height = cells.reduce((most, lines) => Math.max(most, lines.length), 1);
  for (let line = 0; line < height; line += 1) {
    const parts = columns.map((column, index) => {
      const words = cells[index]?.[line] ?? [];
      const text = words.map(
        (word) => " ".repeat(word.blanks) + paintFragments(word.fragments, paint),
      );
      return pad(text.join(""), lineWidth(words), column);
    });
    page.write(parts.join(` ${paint("dim", BAR)} `).trimEnd());
    page.endLine();
  }
}

function pad(text: string, used: number, { align, width }: Column): string {
  const free = Math.max(0, width - used);
  const before = align === "left" ? 0 : align === "right" ? free : Math.floor(free / 2);
  return " ".repeat(before) + text + " ".repeat(free - before);
}

/** Words wider than their column must be split to keep the columns aligned. */
function splitWideWords(pieces: readonly Piece[], room: number): Piece[] {
  return pieces.flatMap((piece) =>
    piece.type === "break" || piece.width <= room ? [piece] : splitWord(piece, room),
  );
}

function splitWord({ blanks, fragments }: Word, room: number): Word[] {
  const parts: Word[] = [{ type: "word", blanks, fragments: [], width: 0 }];
  for (const { text, look } of fragments) {
    for (const segment of graphemesOf(text)) {
      const width = textWidth(segment);
      const last = parts.at(-1);
      if (last === undefined || last.width + width > room) {
        parts.push({ type: "word", blanks: 0, fragments: [{ text: segment, look }], width });
        continue;
      }
      parts[parts.length - 1] = {
        ...last,
        fragments: [...last.fragments, { text: segment, look }],
        width: last.width + width,
      };
    }
  }
  return parts;
}

/** If the columns do not fit side by side, each row becomes a list of `title: value` lines. */
function drawRecords(header: Row, body: readonly Row[], { page, paint }: TableBlockOptions): void {
  const colon: Piece = {
    type: "word",
    blanks: 0,
    fragments: [{ text: ":", look: BOLD }],
    width: 1,
  };
  for (const [index, row] of body.entries()) {
    if (index > 0) page.endLine();
    for (const [column, cell] of row.entries()) {
      const flow = createFlow(page, paint);
      const [first, ...rest] = cell;
      const value = first?.type === "word" ? [{ ...first, blanks: 1 }, ...rest] : cell;
      flow.add([...(header[column] ?? []), colon, ...value]);
      flow.end();
    }
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
