/** The difference of two texts as people and programs read it: a unified diff of lines. */
import { diffLines, type LineChange } from "./line-diff.ts";

export interface DiffedTexts {
  readonly path: string;
  /** Undefined for a file that is new. */
  readonly before: string | undefined;
  readonly after: string;
}

const CONTEXT_LINES = 3;

/** Empty for equal texts; else it ends with a line break. */
export function unifiedDiff({ path, before, after }: DiffedTexts): string {
  const texts = { old: splitLines(before ?? ""), new: splitLines(after) };
  const hunks = intoHunks(diffLines(texts.old, texts.new));
  if (hunks.length === 0) return "";
  const from = before === undefined ? "/dev/null" : `a/${path}`;
  const heading = `--- ${from}\n+++ b/${path}\n`;
  return [heading, ...hunks.map((hunk) => printHunk(hunk, texts))].join("");
}

/** Each with its line break, except a last one that has none. */
function splitLines(text: string): readonly string[] {
  return text.split(/(?<=\n)/).filter((line) => line !== "");
}

type Hunk = readonly [LineChange, ...LineChange[]];

/** Changes whose context would touch belong together. */
function intoHunks(changes: readonly LineChange[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  for (const change of changes) {
    const last = hunks.at(-1);
    if (last !== undefined && change.oldStart - endOf(last).oldEnd <= 2 * CONTEXT_LINES) {
      hunks[hunks.length - 1] = [...last, change];
    } else {
      hunks.push([change]);
    }
  }
  return hunks;
}

interface Texts {
  readonly old: readonly string[];
  readonly new: readonly string[];
}

function printHunk(hunk: Hunk, texts: Texts): string {
  const [first] = hunk;
  const last = endOf(hunk);
  const before = Math.min(CONTEXT_LINES, first.oldStart);
  const after = Math.min(CONTEXT_LINES, texts.old.length - last.oldEnd);
  const oldRange = range(first.oldStart - before, last.oldEnd + after);
  const newRange = range(first.newStart - before, last.newEnd + after);
  const parts = [`@@ -${oldRange} +${newRange} @@\n`];
  let done = first.oldStart - before;
  for (const { oldStart, oldEnd, newStart, newEnd } of hunk) {
    parts.push(print(" ", texts.old.slice(done, oldStart)));
    parts.push(print("-", texts.old.slice(oldStart, oldEnd)));
    parts.push(print("+", texts.new.slice(newStart, newEnd)));
    done = oldEnd;
  }
  parts.push(print(" ", texts.old.slice(done, last.oldEnd + after)));
  return parts.join("");
}

/** Counted from 1; of an empty range, the line before it. */
function range(start: number, end: number): string {
  const count = end - start;
  if (count === 1) return String(start + 1);
  return `${count === 0 ? start : start + 1},${count}`;
}

function print(sign: " " | "-" | "+", lines: readonly string[]): string {
  return lines
    .map((line) =>
      line.endsWith("\n") ? `${sign}${line}` : `${sign}${line}\n\\ No newline at end of file\n`,
    )
    .join("");
}

function endOf(hunk: Hunk): LineChange {
  return hunk.at(-1) ?? hunk[0];
}
