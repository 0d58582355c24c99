/** Matches of one file as grep prints them: `path:line:text`, and `path-line-text` for context. */
import type { LineMatch } from "./line-search.ts";

export interface FileMatches {
  readonly shown: string;
  readonly lines: readonly string[];
  /** In the order of the lines. */
  readonly matches: readonly LineMatch[];
  /** How many lines around each match. */
  readonly context: number;
}

/** Longer lines are cut around the match. */
const MOST_COLUMNS = 400;
const COLUMNS_BEFORE = 100;

/** Groups that do not touch; a group is a list of lines. */
export function printMatches(file: FileMatches): readonly (readonly string[])[] {
  const groups: string[][] = [];
  const columns = new Map(file.matches.map(({ line, column }) => [line, column]));
  let printed = -1;
  for (const { line } of file.matches) {
    const start = Math.max(printed + 1, line - file.context);
    const end = Math.min(file.lines.length - 1, line + file.context);
    if (groups.length === 0 || start > printed + 1) groups.push([]);
    for (let at = start; at <= end; at += 1) {
      groups.at(-1)?.push(printLine(file, at, columns.get(at)));
    }
    printed = Math.max(printed, end);
  }
  return groups;
}

function printLine({ shown, lines }: FileMatches, at: number, column: number | undefined): string {
  const sign = column === undefined ? "-" : ":";
  return `${shown}${sign}${at + 1}${sign}${cut(lines[at] ?? "", column ?? 0)}`;
}

function cut(line: string, column: number): string {
  if (line.length <= MOST_COLUMNS) return line;
  const start = Math.max(0, Math.min(column - COLUMNS_BEFORE, line.length - MOST_COLUMNS));
  const end = start + MOST_COLUMNS;
  const part = line.slice(start, end).toWellFormed(); // A character may have been cut in two.
  return `${start > 0 ? "…" : ""}${part}${end < line.length ? "…" : ""}`;
}
