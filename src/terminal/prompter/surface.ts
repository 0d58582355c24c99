/** Where a widget is drawn. */
import type { Terminal } from "./terminal-device.ts";
import type { Canvas, Frame, Size } from "./widget.ts";

export type View = (canvas: Canvas) => Frame;

export interface Surface {
  /** `cursorColumn`: where the terminal says its cursor is, from 1, if it has just said so. */
  draw(view: View, cursorColumn?: number): void;
  /** Nothing is left of what was drawn. */
  wipe(): void;
}

/** A cursor can stand behind the last character of a row only if that row is not full. */
export function canvasOf({ size, paint }: Terminal): Canvas {
  return { columns: Math.max(1, size.columns - 1), rows: size.rows, paint };
}

/** On a screen that is too low, the cursor's row and what follows it. */
export function clip(frame: Frame, { rows: height }: Size): Frame {
  const { rows, cursor } = frame;
  if (rows.length <= height) return frame;
  const first = Math.min(cursor.row, rows.length - height);
  return {
    rows: rows.slice(first, first + height),
    cursor: { ...cursor, row: cursor.row - first },
  };
}
