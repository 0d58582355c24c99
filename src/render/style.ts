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

/** Returns the text unchanged where there are no colours. */
export type Paint = (style: StyleName, text: string) => string;

/** Leaves the text as it is. */
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
