/** How text is laid out in rows. All widths are columns of the screen, not characters. */
import stringWidth from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";
import { neutralize } from "../../render/index.ts";
import type { TextBuffer } from "./text-buffer.ts";
import type { Position } from "./widget.ts";

/** By words where that is possible. The text may be painted. */
export function wrapWords(text: string, columns: number): readonly string[] {
  return wrapAnsi(text, Math.max(1, columns), { hard: true }).split("\n");
}

/** Keeps all white space, as in code; tabs become spaces. */
export function wrapCode(line: string, columns: number): readonly string[] {
  const expanded = line.replaceAll("\t", "    ");
  const options = { hard: true, trim: false, wordWrap: false };
  return wrapAnsi(expanded, Math.max(1, columns), options).split("\n");
}

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
  for (const { segment, index } of GRAPHEMES.segment(text)) {
    const isBreak = segment.endsWith("\n"); // Of either kind.
    const shown = segment === "\t" ? "    " : neutralize(segment);
    const width = isBreak ? 0 : stringWidth(shown);
    if (column + width > columns && column > indent) newRow();
    if (index >= cursor) position ??= { row: rows.length - 1, column };
    if (isBreak) newRow();
    else rows.push(`${rows.pop() ?? ""}${shown}`);
    column += width;
  }
  return { rows, cursor: position ?? { row: rows.length - 1, column } };
}

export interface Stack {
  readonly head: readonly string[];
  /** May be longer than there is room for. */
  readonly body: readonly string[];
  /** The row of the body that must be seen. */
  readonly active: number;
  readonly foot: readonly string[];
}

/** Of a body that is too long, the rows around the active one. */
export function stackRows({ head, body, active, foot }: Stack, height: number) {
  const room = Math.max(1, height - head.length - foot.length);
  const first = Math.max(0, Math.min(active - Math.floor(room / 2), body.length - room));
  const rows = [...head, ...body.slice(first, first + room), ...foot];
  return { rows, activeRow: head.length + active - first };
}
