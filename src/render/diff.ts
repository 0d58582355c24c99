/** A unified diff, coloured as people know it. */
import type { Paint } from "./style.ts";

/** Colours each line by what the diff does to it. */
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
