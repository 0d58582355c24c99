/** The beginning of a longer text, where there is room for no more of it. */
import { neutralize, wrapProse } from "../../render/index.ts";
import { isDiff, paintDiff } from "./diff.ts";
import { wrapCode } from "./layout.ts";
import type { Canvas } from "./widget.ts";

export interface ContextPreview {
  readonly shown: readonly string[];
  readonly hasMore: boolean;
}

/** Prose is broken at words; a diff keeps its lines, however long they are. */
export function contextLines(context: string, { columns, paint }: Canvas): readonly string[] {
  const text = neutralize(context.trimEnd());
  const lines = text.split("\n");
  return isDiff(lines) ? paintDiff(lines, paint) : wrapProse(text, columns);
}

/** `canvas.rows`: those that the lines may take. */
export function previewContext(lines: readonly string[], canvas: Canvas): ContextPreview {
  const { columns, rows, paint } = canvas;
  // Each line takes a row at least: of a very long text no more need be measured.
  const heights = lines.slice(0, rows + 1).map((line) => wrapCode(line, columns).length);
  const height = heights.reduce((sum, own) => sum + own, 0);
  if (height <= rows) return { shown: lines, hasMore: false };
  let used = 1; // The line that says that there is more.
  const count = heights.findIndex((own) => (used += own) > rows);
  // A single line can be longer than the screen, too.
  const begun = count === 0 ? wrapCode(lines[0] ?? "", columns).slice(0, rows - 1) : [];
  const hidden = lines.length - count;
  const more = `… ${hidden} more ${hidden === 1 ? "line" : "lines"}`;
  return { shown: [...lines.slice(0, count), ...begun, paint("dim", more)], hasMore: true };
}
