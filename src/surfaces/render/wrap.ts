/** Fits text to the screen by wrapping or truncating. Widths are screen columns, not characters. */
import stringWidth from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";
import { graphemesOf } from "../../util/index.ts";

/** The width that `stringWidth` assumes. */
const TAB_WIDTH = 8;
const ASCII = /^[ -~]*$/;

/** A text's width in columns. */
export function textWidth(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** Wraps a line at words. Splits a word that is too wide. The text may be painted. */
export function wrapWords(text: string, columns: number): readonly string[] {
  return wrapAnsi(text, Math.max(1, columns), { hard: true }).split("\n");
}

/** Wraps a line of code: keeps all white space, and expands tabs. */
export function wrapCode(line: string, columns: number): readonly string[] {
  const expanded = line.replaceAll("\t", "    ");
  if (!Number.isFinite(columns)) return [expanded];
  const options = { hard: true, trim: false, wordWrap: false };
  return wrapAnsi(expanded, Math.max(1, columns), options).split("\n");
}

/** Starts a row that continues a word or a line. Never part of verbatim text. */
export const CONTINUED = "↳";

/**
 * Wraps one line so that it cannot be mistaken for another: between words, dropping one space, or within a word that is
 * too wide, which the next row marks. `used`: columns taken in the first row.
 */
export function wrapVerbatim(line: string, columns: number, used = 0): readonly string[] {
  const widths = { first: columns - used, spaced: columns + 1, broken: columns - CONTINUED.length };
  const [first = "", ...others] = wrapLine(line, widths);
  return [
    first,
    ...others.map((row) => (row.startsWith(" ") ? row.slice(1) : `${CONTINUED}${row}`)),
  ];
}

/** Wraps one line of several: continuation rows are marked, and no space is lost. */
export function wrapVerbatimLine(line: string, columns: number): readonly string[] {
  const mark = `${CONTINUED} `;
  const room = columns - mark.length;
  const [first = "", ...others] = wrapLine(line, { first: columns, spaced: room, broken: room });
  return [first, ...others.map((row) => mark + row)];
}

/** The widths of the first row, of rows that start with a space, and of rows that start mid-word. */
type RowWidths = Readonly<Record<"first" | "spaced" | "broken", number>>;

/** Breaks before spaces, which then start a row: they would be invisible at the end of one. */
function wrapLine(line: string, widths: RowWidths): readonly string[] {
  if (fits(line, widths.first)) return [line];
  const rows: string[] = [];
  let row = "";
  let room = widths.first;
  const add = (text: string, width: number) => {
    if (width > room && (row !== "" || rows.length === 0)) {
      rows.push(row);
      row = "";
      room = Math.max(1, text.startsWith(" ") ? widths.spaced : widths.broken);
    }
    row += text;
    room -= width;
  };
  for (const word of line.match(/ *(?:<\d+ spaces>|[^ ])+| +$/g) ?? []) {
    const width = textWidth(word);
    const isWhole = width <= room || width <= (word.startsWith(" ") ? widths.spaced : 0);
    if (isWhole) add(word, width);
    else for (const piece of piecesOf(word)) add(piece, textWidth(piece));
  }
  return [...rows, row];
}

/** Keeps marks in angle brackets whole, and spaces with the text after them. */
function piecesOf(word: string): readonly string[] {
  const [first = "", ...others] = word
    .trimStart()
    .split(/(<(?:U\+[0-9A-F]+|\d+ spaces|\/?RTL)>)/)
    .flatMap((part) => (/^<.+>$/.test(part) ? [part] : graphemesOf(part)));
  const spaces = word.slice(0, word.length - word.trimStart().length);
  return [spaces + first, ...others];
}

/**
 * Wraps prose, except for lines that look like code: indented, fenced or with tabs. A word that is too wide, such as a
 * URL, stays whole.
 */
export function wrapProse(text: string, columns: number): readonly string[] {
  if (!Number.isFinite(columns)) return text.split("\n");
  let isFenced = false;
  return text.split("\n").flatMap((line) => {
    const isFence = /^\s*(```|~~~)/.test(line);
    if (isFence) isFenced = !isFenced;
    const isCode = isFenced || isFence || /^\s|\t/.test(line);
    return isCode ? [line] : wrapAnsi(line, Math.max(1, columns)).split("\n");
  });
}

/** A command to copy, indented. Rows that continue end in a backslash, between words, as a shell expects. */
export function wrapCommand(command: string, columns: number): readonly string[] {
  const [first = "", ...others] = command.split(" ");
  const rows = [`  ${first}`];
  for (const [index, word] of others.entries()) {
    const last = rows.at(-1) ?? "";
    const end = index === others.length - 1 ? "" : " \\";
    if (textWidth(`${last} ${word}${end}`) <= columns) rows[rows.length - 1] = `${last} ${word}`;
    else rows.push(`    ${word}`);
  }
  return rows.map((row, index) => (index === rows.length - 1 ? row : `${row} \\`));
}

/** Truncates text between words and marks the cut. Only a single word is itself cut. */
export function truncateWords(text: string, width: number): string {
  if (fits(text, width)) return text;
  const words = text.split(" ");
  let kept = words.length - 1;
  while (kept > 0 && textWidth(words.slice(0, kept).join(" ")) >= width) kept -= 1;
  if (kept === 0) return truncate(text, width);
  const shown = words.slice(0, kept).join(" ").replace(/ ·$/, "");
  return textWidth(shown) + 2 <= width ? `${shown} …` : `${shown}…`;
}

/** Whether the text fits, measured only if it could be too wide. */
export function fits(text: string, width: number): boolean {
  // Nothing takes more columns than a tab.
  return text.length * TAB_WIDTH <= width || textWidth(text) <= width;
}

/** Truncates text to a width and marks the cut. */
export function truncate(text: string, width: number): string {
  if (fits(text, width)) return text;
  if (ASCII.test(text)) return `${text.slice(0, Math.max(0, width - 1))}…`;
  let result = "";
  let used = 0;
  for (const character of graphemesOf(text)) {
    used += textWidth(character);
    if (used > width - 1) break;
    result += character;
  }
  return `${result}…`;
}

/** `… 3 more lines`. */
export function moreLines(count: number): string {
  return `… ${count} more ${count === 1 ? "line" : "lines"}`;
}
