/** The part above a question: its context and, in a form, the answers so far. */
import {
  type ContextStyle,
  moreLines,
  plain,
  renderContext,
  truncate,
  verbatimProse,
  wrapCode,
  wrapVerbatim,
} from "../render/index.ts";
import { asContext, type FormHeader, type Passage } from "./dialogue.ts";
import { answerLine, closedLine } from "./question-rows.ts";
import type { Canvas, Size, Widget } from "./widget.ts";

const PAINT = { label: "cyan", notice: "yellow", question: "bold" } as const;

export function passageLines(passages: readonly Passage[], canvas: Canvas): readonly string[] {
  const { columns, paint } = canvas;
  return passages.flatMap(({ text, type, style }) => {
    if (type === "context") return contextLines(text, canvas, style);
    const line = type === "label" ? verbatimProse(text) : text;
    return wrapVerbatim(line, columns).map((row) => paint(PAINT[type], row));
  });
}

/** The lines to show if not everything fits. */
export function shortLines(passages: readonly Passage[], canvas: Canvas): readonly string[] {
  return passages.flatMap(({ short, ...passage }) =>
    short === undefined ? passageLines([passage], canvas) : [truncate(short, canvas.columns)],
  );
}

export function contextLines(
  context: string,
  { columns, paint }: Canvas,
  style?: ContextStyle,
): readonly string[] {
  return renderContext(context, { paint, width: columns, style });
}

export interface ContextPreview {
  readonly shown: readonly string[];
  readonly hasMore: boolean;
}

/** As many of the lines as fit in `canvas.rows`. */
export function previewContext(lines: readonly string[], canvas: Canvas): ContextPreview {
  const { columns, rows, paint } = canvas;
  // Each line takes at least one row, so the rest of a very long text need not be measured.
  const heights = lines.slice(0, rows + 1).map((line) => wrapCode(line, columns).length);
  const height = heights.reduce((sum, own) => sum + own, 0);
  if (height <= rows) return { shown: lines, hasMore: false };
  let used = 1; // For the row that says how much is missing.
  const count = heights.findIndex((own) => (used += own) > rows);
  // Even the first line may be longer than the screen.
  const begun = count === 0 ? wrapCode(lines[0] ?? "", columns).slice(0, rows - 1) : [];
  const more = paint("dim", moreLines(lines.length - count));
  return { shown: [...lines.slice(0, count), ...begun, more], hasMore: true };
}

/** Rows reserved for the question. */
const MIN_QUESTION_ROWS = 8;

/** Draws a form's header above a widget. On a small screen, the widget gets its rows first. */
export function withHeader<State, Ending>(
  header: FormHeader,
  widget: Widget<State, Ending>,
): Widget<State, Ending> {
  return {
    ...widget,
    view: (state, canvas) => {
      const wanted = headerRows(header, canvas).rows.length;
      const left = Math.max(Math.min(MIN_QUESTION_ROWS, canvas.rows), canvas.rows - wanted);
      const { rows, cursor, isCut = false } = widget.view(state, { ...canvas, rows: left });
      const above = headerRows(header, { ...canvas, rows: canvas.rows - rows.length });
      return {
        rows: [...above.rows, ...rows],
        cursor: { ...cursor, row: cursor.row + above.rows.length },
        isCut: isCut || above.isCut,
      };
    },
  };
}

/** Draws these rows above a widget, unless the screen is too small for both. */
export function withRowsAbove<State, Ending>(
  rowsFor: (canvas: Canvas) => readonly string[],
  widget: Widget<State, Ending>,
): Widget<State, Ending> {
  const rowsIn = (canvas: Canvas) => {
    const above = rowsFor(canvas);
    return canvas.rows - above.length < MIN_QUESTION_ROWS ? [] : above;
  };
  const below = (size: Size) => {
    return { ...size, rows: size.rows - rowsIn({ ...size, paint: plain }).length };
  };
  return {
    ...widget,
    update: (state, key, size) => widget.update(state, key, below(size)),
    settle: (state, size) => widget.settle?.(state, below(size)) ?? { state },
    view: (state, canvas) => {
      const above = rowsIn(canvas);
      const frame = widget.view(state, { ...canvas, rows: canvas.rows - above.length });
      const cursor = { ...frame.cursor, row: frame.cursor.row + above.length };
      return { ...frame, rows: [...above, ...frame.rows], cursor };
    },
  };
}

interface HeaderRows {
  readonly rows: readonly string[];
  /** Something the user must read does not fit. */
  readonly isCut: boolean;
}

/** Takes at most `canvas.rows`. The context takes precedence over the user's recent answers. */
export function headerRows(header: FormHeader, canvas: Canvas): HeaderRows {
  const { answered, context, style, isReview = false } = header;
  const lines = answered.map((closed) => closedLine(closed, canvas));
  const maxRows = Math.max(0, canvas.rows);
  if (context === undefined) {
    const isCut = isReview && lines.length > maxRows;
    return { rows: isReview ? cutEnd(lines, maxRows) : cutStart(lines, maxRows), isCut };
  }
  const room = { ...canvas, rows: Math.max(1, maxRows) };
  const { shown, hasMore } = previewContext(contextLines(context, canvas, style), room);
  const rows = shown.flatMap((line) => wrapCode(line, canvas.columns)).slice(0, maxRows);
  return {
    rows: [...cutStart(lines, maxRows - rows.length), ...rows],
    isCut: hasMore || maxRows === 0,
  };
}

function cutStart(lines: readonly string[], maxRows: number): readonly string[] {
  return maxRows <= 0 ? [] : lines.slice(-maxRows);
}

function cutEnd(lines: readonly string[], maxRows: number): readonly string[] {
  if (lines.length <= maxRows || maxRows === 0) return lines.slice(0, maxRows);
  return [...lines.slice(0, maxRows - 1), moreLines(lines.length - maxRows + 1)];
}

/** The parts of a header that the user must read before answering. */
export function headerPassages(header: FormHeader | undefined): readonly Passage[] {
  const { answered = [], isReview = false, context, style } = header ?? {};
  return [
    ...(isReview ? [asContext(answered.map(answerLine).join("\n"), "drawn")] : []),
    ...(context === undefined ? [] : [asContext(context, style)]),
  ];
}
