/** How text is laid out in rows. All widths are columns of the screen, not characters. */
import stringWidth from "fast-string-width";
import { neutralize } from "../../render/index.ts";
import type { TextBuffer } from "./text-buffer.ts";
import type { Position } from "./widget.ts";

export interface TextPlace {
  readonly columns: number;
  /** Where the first row begins. */
  readonly start: number;
  /** Where the others begin. */
  readonly indent: number;
}

export interface LaidOutText {
  readonly rows: readonly string[];
  readonly cursor: Position;
}

const GRAPHEMES = new Intl.Segmenter();
const PLAIN = /^[ -~]$/;
const NOT_PLAIN = /[^\n\t -~]/;

/** Typed text with its cursor. What a terminal would act on is made visible. */
export function layOutText(
  { text, cursor }: TextBuffer,
  { columns, start, indent }: TextPlace,
): LaidOutText {
  const rows = [""];
  let column = start;
  let position: Position | undefined;
  const newRow = () => {
    rows.push(" ".repeat(indent));
    column = indent;
  };
  for (const { segment, index } of charactersOf(text)) {
    const isBreak = segment.endsWith("\n"); // Of either kind.
    const isPlain = PLAIN.test(segment);
    const shown = isPlain ? segment : segment === "\t" ? "    " : neutralize(segment);
    const width = isPlain ? 1 : isBreak ? 0 : stringWidth(shown);
    if (column + width > columns && column > indent) newRow();
    if (index >= cursor) position ??= { row: rows.length - 1, column };
    if (isBreak) newRow();
    else rows.push(`${rows.pop() ?? ""}${shown}`);
    column += width;
  }
  return { rows, cursor: position ?? { row: rows.length - 1, column } };
}

/** What people take for one each. A long text is laid out anew with every key, so plain ones go fast. */
function* charactersOf(
  text: string,
): Generator<{ readonly segment: string; readonly index: number }> {
  if (NOT_PLAIN.test(text)) return yield* GRAPHEMES.segment(text);
  for (let index = 0; index < text.length; index += 1) yield { segment: text.charAt(index), index };
}

export interface Stack {
  readonly head: readonly string[];
  /** May be longer than there is room for. */
  readonly body: readonly string[];
  /** The row of the body that must be seen, and those that belong to it. */
  readonly active: number;
  readonly activeHeight?: number;
  readonly foot: readonly string[];
}

/** Of a body that is too long, the rows around the active one. */
export function stackRows({ head, body, active, activeHeight = 1, foot }: Stack, height: number) {
  const room = Math.max(1, activeHeight, height - head.length - foot.length);
  const first = Math.max(0, Math.min(active - Math.floor(room / 2), body.length - room));
  const rows = [...head, ...body.slice(first, first + room), ...foot];
  return { rows, activeRow: head.length + active - first };
}
