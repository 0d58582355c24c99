/** The line of a question: while it is open, and what stays of it. */
import stringWidth from "fast-string-width";
import { oneLine, truncate, wrapWords } from "../../render/index.ts";
import { type LaidOutText, layOutText } from "./layout.ts";
import type { TextBuffer } from "./text-buffer.ts";
import type { Canvas } from "./widget.ts";

export interface QuestionLine {
  /** One harmless line. */
  readonly message: string;
  /** What is said behind it: keys, a default. */
  readonly suffix?: string;
}

/** An open question, and behind it what is typed so far. */
export function questionRows(
  { message, suffix = "" }: QuestionLine,
  typed: TextBuffer,
  { columns, paint }: Canvas,
): LaidOutText {
  const painted = [
    paint("green", "?"),
    paint("bold", message),
    ...(suffix === "" ? [] : [paint("dim", suffix)]),
  ].join(" ");
  const head = wrapWords(painted, columns - 1);
  const last = head.at(-1) ?? "";
  const place = { columns, start: stringWidth(last) + 1, indent: 2 };
  const {
    rows: [first = "", ...others],
    cursor,
  } = layOutText(typed, place);
  return {
    rows: [...head.slice(0, -1), first === "" ? last : `${last} ${first}`, ...others],
    cursor: { row: head.length - 1 + cursor.row, column: cursor.column },
  };
}

export interface ClosedQuestion {
  readonly message: string;
  /** Any text: it is cut to what fits on the line. */
  readonly said: string;
  readonly isCancelled?: boolean;
}

/** One line, whatever was asked and answered. A long question leaves half of it to the answer. */
export function closedLine(closed: ClosedQuestion, { columns, paint }: Canvas): string {
  const { message, said, isCancelled = false } = closed;
  const answer = oneLine(said);
  const room = columns - 3;
  const answerRoom = Math.max(room - stringWidth(message), Math.ceil(room / 2));
  const shownAnswer = truncate(answer, answerRoom);
  const shownMessage = truncate(message, room - stringWidth(shownAnswer));
  const mark = isCancelled ? paint("red", "✖") : paint("green", "✔");
  return `${mark} ${paint("bold", shownMessage)} ${paint(isCancelled ? "dim" : "cyan", shownAnswer)}`;
}

const BETWEEN = " · ";

/** What can be done, in rows of their own below: as many as are needed, but few on a low screen. */
export function hintRows(
  hints: readonly string[],
  { columns, rows: height, paint }: Canvas,
): readonly string[] {
  const most = Math.max(1, Math.floor(height / 6));
  const room = Math.max(1, columns - 2);
  const rows: string[] = [];
  for (const hint of hints) {
    const last = rows.at(-1);
    const longer = last === undefined ? hint : last + BETWEEN + hint;
    if (last !== undefined && stringWidth(longer) <= room) rows[rows.length - 1] = longer;
    else rows.push(...wrapWords(hint, room));
  }
  const shown = rows.slice(0, most);
  const cut = rows.slice(most - 1).join(BETWEEN);
  if (rows.length > most) shown[most - 1] = truncate(cut, room);
  return shown.map((row) => paint("dim", `  ${row}`));
}
