/** Tables with aligned columns, fitted to the screen width. */
import type { Paint } from "./style.ts";
import { textWidth, truncate } from "./wrap.ts";

/** A column of a table. */
export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** Shortened if the lines would be too long. */
  readonly shrinks?: boolean;
}

/** `text` must be neutralized. */
export interface Cell {
  readonly text: string;
  readonly style?: Parameters<Paint>[0];
}

/** A table's content and maximum width. */
export interface TableOptions {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  readonly paint: Paint;
  /** May be infinite. */
  readonly width: number;
}

const GAP = "  ";
const MIN_COLUMN_WIDTH = 8;

/** A table's lines, header first. */
export function renderTable({ columns, rows, paint, width }: TableOptions): string[] {
  const header = columns.map(({ title }): Cell => ({ text: title, style: "bold" }));
  const lines = [header, ...rows];
  // Without a limit, the last column can be any width, since nothing is aligned after it.
  const isEndFree = width === Number.POSITIVE_INFINITY && columns.at(-1)?.align !== "right";
  const measured = isEndFree ? columns.slice(0, -1) : columns;
  const natural = measured.map((_column, index) => widestOf(lines, index));
  const shown = columns.slice(0, countFitting(natural, columns, width));
  const widths = fit(natural.slice(0, shown.length), shown, width);
  const places = shown.map((column, index) => {
    const isPadded = column.align === "right" || index < shown.length - 1;
    return { column, width: widths[index] ?? width, isPadded, paint };
  });
  return lines.map((line) => renderLine(line, places));
}

const EMPTY: Cell = { text: "" };

function widestOf(lines: readonly (readonly Cell[])[], column: number): number {
  const widen = (widest: number, line: readonly Cell[]) =>
    Math.max(widest, textWidth((line[column] ?? EMPTY).text));
  return lines.reduce(widen, 0);
}

/** If not all columns fit, the last ones are dropped, except for the first two. */
function countFitting(
  natural: readonly number[],
  columns: readonly Column[],
  width: number,
): number {
  let used = -GAP.length;
  const past = natural.findIndex((own, index) => {
    const least = columns[index]?.shrinks === true ? Math.min(own, MIN_COLUMN_WIDTH) : own;
    used += GAP.length + least;
    return used > width;
  });
  return past === -1 ? columns.length : Math.max(2, past);
}

function fit(
  natural: readonly number[],
  columns: readonly Column[],
  width: number,
): readonly number[] {
  const gaps = GAP.length * (columns.length - 1);
  let excess = natural.reduce((sum, own) => sum + own, gaps) - width;
  return natural.map((own, index) => {
    if (columns[index]?.shrinks !== true || excess <= 0) return own;
    const shrunk = Math.max(Math.min(own, MIN_COLUMN_WIDTH), own - excess);
    excess -= own - shrunk;
    return shrunk;
  });
}

interface CellPlace {
  readonly column: Column;
  readonly width: number;
  readonly isPadded: boolean;
  readonly paint: Paint;
}

function renderLine(line: readonly Cell[], places: readonly CellPlace[]): string {
  const add = (before: string, place: CellPlace, index: number) =>
    (index === 0 ? before : before + GAP) + renderCell(line[index] ?? EMPTY, place);
  return places.reduce(add, "").trimEnd();
}

function renderCell({ text, style }: Cell, { column, width, isPadded, paint }: CellPlace): string {
  const shown = truncate(text, width);
  const painted = style === undefined || shown === "" ? shown : paint(style, shown);
  if (!isPadded) return painted;
  const padding = " ".repeat(Math.max(0, width - textWidth(shown)));
  return column.align === "right" ? padding + painted : painted + padding;
}
