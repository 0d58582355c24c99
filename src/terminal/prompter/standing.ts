/** What stands above a question of a form while it is open, and goes with it. */
import { oneLine, wrapCode } from "../../render/index.ts";
import { contextLines, moreLines, type Passage, previewContext } from "./context-preview.ts";
import { type ClosedQuestion, closedLine } from "./question-line.ts";
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
