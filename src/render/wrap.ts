/** Text fitted to the screen: wrapped or shortened. Widths are screen columns, not characters. */
import stringWidth from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";

/** As `stringWidth` counts it. */
const TAB_WIDTH = 8;
const ASCII = /^[ -~]*$/;

/** The columns that a text takes. */
export function textWidth(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** Wraps a line at words. A word that is too wide is broken. The text may be painted. */
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

/**
 * Wraps lines of prose, but leaves alone what looks like code: indented, fenced or with tabs. A word
 * that is too wide, such as a URL, stays whole.
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

/** Whether the text fits, measured only if it could be too wide. */
export function fits(text: string, width: number): boolean {
  // Nothing takes more columns than a tab.
  return text.length * TAB_WIDTH <= width || textWidth(text) <= width;
}

/** Shortens text to a width, and marks the cut. */
export function truncate(text: string, width: number): string {
  if (fits(text, width)) return text;
  let result = "";
  let used = 0;
  // By grapheme: a flag or a family emoji is several code points.
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += textWidth(segment);
    if (used > width - 1) break;
    result += segment;
  }
  return `${result}…`;
}

/** `… 3 more lines`. */
export function moreLines(count: number): string {
  return `… ${count} more ${count === 1 ? "line" : "lines"}`;
}
