/** What stands above a question of a form while it is open, and goes with it. */
import { contextLines, previewContext } from "./context-preview.ts";
import { wrapCode } from "./layout.ts";
import { type ClosedQuestion, closedLine } from "./question-line.ts";
import type { Canvas, Widget } from "./widget.ts";

export interface Standing {
  /** One line each. */
  readonly answered: readonly ClosedQuestion[];
  /** All are answered, and the person looks at them once more. */
  readonly isReview?: boolean;
  readonly context?: StandingContext | undefined;
}

export interface StandingContext {
  /** Any text. */
  readonly text: string;
  /** The rows that a long one leaves to the question. */
  readonly room: number;
}

/** What a question can have, whatever stands above it. */
const LEAST_ROWS = 8;

interface StandingRows {
  readonly rows: readonly string[];
  /** Perhaps not all of the context is seen. */
  readonly hasMore: boolean;
}

export function standingRows(standing: Standing, canvas: Canvas): StandingRows {
  const { answered, context } = standing;
  const lines = answered.map((closed) => closedLine(closed, canvas));
  if (context === undefined) return { rows: lines, hasMore: false };
  const { text, room } = context;
  const rows = Math.max(3, canvas.rows - lines.length - room);
  const { shown, hasMore } = previewContext(contextLines(text, canvas), { ...canvas, rows });
  const all = [...lines, ...shown.flatMap((line) => wrapCode(line, canvas.columns))];
  return { rows: all, hasMore: hasMore || all.length > canvas.rows - LEAST_ROWS };
}

/** On a low screen the question gets its rows first, and what stands above is cut at its top. */
export function standBelow<State, Ending>(
  standing: Standing,
  widget: Widget<State, Ending>,
): Widget<State, Ending> {
  return {
    update: (state, key, size) => widget.update(state, key, size),
    view: (state, canvas) => {
      const above = standingRows(standing, canvas).rows;
      const left = Math.max(Math.min(LEAST_ROWS, canvas.rows), canvas.rows - above.length);
      const { rows, cursor } = widget.view(state, { ...canvas, rows: left });
      return {
        rows: [...above, ...rows],
        cursor: { ...cursor, row: cursor.row + above.length },
      };
    },
  };
}
