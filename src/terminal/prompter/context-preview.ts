/** The beginning of a longer text, where there is room for no more of it. */
import {
  isDiff,
  neutralize,
  oneLine,
  paintDiff,
  wrapCode,
  wrapProse,
  wrapWords,
} from "../../render/index.ts";
import type { Canvas } from "./widget.ts";

export interface ContextPreview {
  readonly shown: readonly string[];
  readonly hasMore: boolean;
}

/** Something to read before a question is answered. Any text. */
export interface Passage {
  readonly text: string;
  /** Who asks, or the question itself: a line of its own. */
  readonly type: "context" | "label" | "question";
}

/** As they stand one below the other, whole. */
export function passageLines(passages: readonly Passage[], canvas: Canvas): readonly string[] {
  const { columns, paint } = canvas;
  return passages.flatMap(({ text, type }) =>
    type === "context"
      ? contextLines(text, canvas)
      : wrapWords(paint(type === "label" ? "cyan" : "bold", oneLine(text)), columns),
  );
}

/** Prose is broken at words; a diff keeps its lines, however long they are. */
export function contextLines(context: string, { columns, paint }: Canvas): readonly string[] {
  const text = neutralize(context.trimEnd());
  const lines = text.split("\n");
  const shown = isDiff(lines) ? paintDiff(lines, paint) : wrapProse(text, columns);
  // Every terminal has its own idea of how wide a tab is.
  return shown.map((line) => line.replaceAll("\t", "    "));
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
  const more = paint("dim", moreLines(lines.length - count));
  return { shown: [...lines.slice(0, count), ...begun, more], hasMore: true };
}

export function moreLines(count: number): string {
  return `… ${count} more ${count === 1 ? "line" : "lines"}`;
}
