/**
 * Text styles as a function, so that the same code renders for terminals, pipes and tests. There is no
 * blue, which is hard to read on black; yellow, hard to read on white, never carries meaning alone.
 */
export type StyleName =
  | "bold"
  | "dim"
  | "italic"
  | "underline"
  | "red"
  | "green"
  | "yellow"
  | "magenta"
  | "cyan";

/** Returns the text unchanged without colours. */
export type Paint = (style: StyleName, text: string) => string;

/** Leaves the text unchanged. */
export const plain: Paint = (_style, text) => text;

/** Whether the lines hold a unified diff. */
export function isDiff(lines: readonly string[]): boolean {
  return lines.some(
    (line, index) =>
      /^@@ .*@@/.test(line) ||
      (line.startsWith("--- ") && lines[index + 1]?.startsWith("+++ ") === true),
  );
}

/** Colours a row according to its diff line. A line that is too wide takes several rows. */
export function paintLine(line: string, paint: Paint, row: string): string {
  if (line.startsWith("--- ") || line.startsWith("+++ ")) return paint("bold", row);
  if (line.startsWith("@@")) return paint("cyan", row);
  if (line.startsWith("+")) return paint("green", row);
  return line.startsWith("-") ? paint("red", row) : row;
}
