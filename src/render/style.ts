/**
 * Colours and weights as a port: the same rendering serves terminals, pipes and tests. Blue is left out,
 * which is hard to read on black; yellow, on white, never stands for something that no word says.
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

/** Returns the text itself where there are no colours. */
export type Paint = (style: StyleName, text: string) => string;

/** Paints nothing. */
export const plain: Paint = (_style, text) => text;

/** Colours each line of a unified diff. */
export function paintDiff(lines: readonly string[], paint: Paint): readonly string[] {
  return lines.map((line) => paintLine(line, paint));
}

/** Whether the lines hold a unified diff. */
export function isDiff(lines: readonly string[]): boolean {
  return lines.some(
    (line, index) =>
      /^@@ .*@@/.test(line) ||
      (line.startsWith("--- ") && lines[index + 1]?.startsWith("+++ ") === true),
  );
}

function paintLine(line: string, paint: Paint): string {
  if (line.startsWith("--- ") || line.startsWith("+++ ")) return paint("bold", line);
  if (line.startsWith("@@")) return paint("cyan", line);
  if (line.startsWith("+")) return paint("green", line);
  return line.startsWith("-") ? paint("red", line) : line;
}
