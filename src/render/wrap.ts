/** Text broken at words, so that it ends where the screen does. Widths are columns of the screen. */
import { wrapAnsi } from "fast-wrap-ansi";

/** Rows of a line, none wider than that: a word that is wider is broken. The text may be painted. */
export function wrapWords(text: string, columns: number): readonly string[] {
  return wrapAnsi(text, Math.max(1, columns), { hard: true }).split("\n");
}

/** Keeps all white space, as in code; tabs become spaces. */
export function wrapCode(line: string, columns: number): readonly string[] {
  const expanded = line.replaceAll("\t", "    ");
  if (!Number.isFinite(columns)) return [expanded];
  const options = { hard: true, trim: false, wordWrap: false };
  return wrapAnsi(expanded, Math.max(1, columns), options).split("\n");
}

/**
 * Several lines of which some may be code: what is indented, fenced or has tabs stays as it is. So does
 * a word that is wider than the screen, an address for example.
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
