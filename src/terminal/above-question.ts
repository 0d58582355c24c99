/** What stands above a question of a form while it is open, and goes with it. */
import {
  isDiff,
  neutralize,
  oneLine,
  paintDiff,
  wrapCode,
  wrapProse,
  wrapWords,
} from "../render/index.ts";
import { closedLine, type ClosedQuestion } from "./question-rows.ts";
import type { Canvas, Widget } from "./widget.ts";

export interface Standing {
  /** One line each. */
  readonly answered: readonly ClosedQuestion[];
  /** All are answered, and the person looks at them once more. */
  readonly isReview?: boolean;
  /** Any text. */
  readonly context?: string | undefined;
}

interface StandingRows {
  readonly rows: readonly string[];
  /** Not all of what must be read fits. */
  readonly isCut: boolean;
}

/** What must be read of it before the question is answered. */
export function standingPassages(standing: Standing | undefined): readonly Passage[] {
  const { answered = [], isReview = false, context } = standing ?? {};
  const said = answered.map(({ message, said: answer }) => `${message} ${oneLine(answer)}`);
  return [
    ...(isReview ? [{ type: "context" as const, text: said.join("\n") }] : []),
    ...(context === undefined ? [] : [{ type: "context" as const, text: context }]),
  ];
}

/** In at most `canvas.rows`. A context comes first; the answers are what the person has said already. */
export function standingRows(standing: Standing, canvas: Canvas): StandingRows {
  const { answered, context, isReview = false } = standing;
  const lines = answered.map((closed) => closedLine(closed, canvas));
  const most = Math.max(0, canvas.rows);
  if (context === undefined) {
    const isCut = isReview && lines.length > most;
    return { rows: isReview ? cutEnd(lines, most) : cutStart(lines, most), isCut };
  }
  const room = { ...canvas, rows: Math.max(1, most) };
  const { shown, hasMore } = previewContext(contextLines(context, canvas), room);
  const rows = shown.flatMap((line) => wrapCode(line, canvas.columns)).slice(0, most);
  return {
    rows: [...cutStart(lines, most - rows.length), ...rows],
    isCut: hasMore || most === 0,
  };
}

function cutStart(lines: readonly string[], most: number): readonly string[] {
  return most <= 0 ? [] : lines.slice(-most);
}

function cutEnd(lines: readonly string[], most: number): readonly string[] {
  if (lines.length <= most || most === 0) return lines.slice(0, most);
  return [...lines.slice(0, most - 1), moreLines(lines.length - most + 1)];
}

/** What a question can have, whatever stands above it. */
const LEAST_ROWS = 8;

/** On a low screen the question gets its rows first, and what stands above it has the rest. */
export function standBelow<State, Ending>(
  standing: Standing,
  widget: Widget<State, Ending>,
): Widget<State, Ending> {
  return {
    update: (state, key, size) => widget.update(state, key, size),
    view: (state, canvas) => {
      const wanted = standingRows(standing, canvas).rows.length;
      const left = Math.max(Math.min(LEAST_ROWS, canvas.rows), canvas.rows - wanted);
      const { rows, cursor, isCut = false } = widget.view(state, { ...canvas, rows: left });
      const above = standingRows(standing, { ...canvas, rows: canvas.rows - rows.length });
      return {
        rows: [...above.rows, ...rows],
        cursor: { ...cursor, row: cursor.row + above.rows.length },
        isCut: isCut || above.isCut,
      };
    },
  };
}

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
