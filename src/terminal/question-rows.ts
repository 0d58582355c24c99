/** The line of a question: while it is open, and what stays of it. */
import stringWidth from "fast-string-width";
import { oneLine, truncate, wrapWords } from "../render/index.ts";
import { moreLines } from "./above-question.ts";
import type { Key } from "./key.ts";
import { type LaidOutText, layOutText, type TextBuffer } from "./text-buffer.ts";
import type { Canvas } from "./widget.ts";

export interface QuestionLine {
  /** One harmless line. */
  readonly message: string;
  /** What is said behind it: keys, a default. */
  readonly suffix?: string;
}

export interface QuestionRows extends LaidOutText {
  /** How many of the rows are the question itself; what is typed begins in the last of them. */
  readonly height: number;
  /** Only the beginning of the question fits. */
  readonly isCut: boolean;
}

/** An open question in at most `canvas.rows`, and behind it what is typed so far, in as many as it takes. */
export function questionRows(
  { message, suffix = "" }: QuestionLine,
  typed: TextBuffer,
  { columns, rows: most, paint }: Canvas,
): QuestionRows {
  const painted = [
    paint("green", "?"),
    paint("bold", message),
    ...(suffix === "" ? [] : [paint("dim", suffix)]),
  ].join(" ");
  const all = wrapWords(painted, columns - 1);
  const isCut = all.length > Math.max(1, most);
  const head = isCut ? cutHead(all, suffix, { columns, rows: most, paint }) : all;
  const last = head.at(-1) ?? "";
  const place = { columns, start: stringWidth(last) + 1, indent: 2 };
  const {
    rows: [first = "", ...others],
    cursor,
  } = layOutText(typed, place);
  return {
    rows: [...head.slice(0, -1), first === "" ? last : `${last} ${first}`, ...others],
    cursor: { row: head.length - 1 + cursor.row, column: cursor.column },
    height: head.length,
    isCut,
  };
}

/** The beginning, and how much follows. A suffix that is long itself is not worth more than its keys. */
function cutHead(
  all: readonly string[],
  suffix: string,
  { columns, rows, paint }: Canvas,
): readonly string[] {
  const shown = all.slice(0, Math.max(0, rows - 1));
  const more = moreLines(all.length - shown.length);
  const behind = truncate(suffix, columns - 2 - stringWidth(more));
  return [...shown, paint("dim", truncate(`${more} ${behind}`.trimEnd(), columns - 1))];
}

export interface ClosedQuestion {
  readonly message: string;
  /** Any text: it is cut to what fits on the line. */
  readonly said: string;
  readonly isCancelled?: boolean;
}

/** One line, whatever was asked and answered. A long question leaves half of it to the answer. */
export function closedLine(closed: ClosedQuestion, canvas: Canvas): string {
  const room = canvas.columns - 3;
  const answer = oneLine(closed.said);
  const answerRoom = Math.max(room - stringWidth(closed.message), Math.ceil(room / 2));
  const said = truncate(answer, answerRoom);
  const message = truncate(closed.message, room - stringWidth(said));
  return paintClosed({ ...closed, message, said }, canvas);
}

/** Of a question that stays on the screen: what it was about, the name of a file say, is not cut off. */
const MOST_MESSAGE_ROWS = 5;

/** One line if the answer has half of it; else as many as a long question needs. */
export function closedRows(closed: ClosedQuestion, canvas: Canvas): readonly string[] {
  const room = canvas.columns - 3;
  const said = truncate(oneLine(closed.said), Math.ceil(room / 2));
  if (stringWidth(closed.message) + stringWidth(said) <= room) return [closedLine(closed, canvas)];
  const message = truncate(closed.message, room * MOST_MESSAGE_ROWS);
  return wrapWords(paintClosed({ ...closed, message, said }, canvas), canvas.columns);
}

function paintClosed({ message, said, isCancelled = false }: ClosedQuestion, { paint }: Canvas) {
  const mark = isCancelled ? paint("red", "✖") : paint("green", "✔");
  return `${mark} ${paint("bold", message)} ${paint(isCancelled ? "dim" : "cyan", said)}`;
}

const BETWEEN = " · ";

/** What can be done, in rows of their own below: as many as are needed, but few on a low screen. */
function hintRows(
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

export interface Asides {
  /** There is more above the question than is shown. */
  readonly hasMore: boolean;
  /** What is added to the answer so far; absent where no note is taken. */
  readonly note?: string | undefined;
  /** The texts that were read to their end. */
  readonly read?: ReadonlySet<string>;
}

/** What is shown comes back as it was, afterwards. */
export type Aside =
  | {
      readonly type: "read_more";
      /** Before what is above the question. Any text. */
      readonly text?: string;
      /** The answer does not count before the text was read, or skipped on purpose. */
      readonly isRequired?: boolean;
    }
  | { readonly type: "add_note" };

export function findAside({ hasMore, note }: Asides, key: Key): Aside | undefined {
  if (key.type !== "named") return undefined;
  if (key.name === "ctrl-o" && hasMore) return { type: "read_more" };
  return key.name === "tab" && note !== undefined ? { type: "add_note" } : undefined;
}

export interface Hints {
  /** What else can be done here. */
  readonly own?: readonly string[];
  /** The key that shows all, by its name. */
  readonly readKey?: string;
}

/** Below a question: the note so far, and what can be done. */
export function footRows(
  { hasMore, note }: Asides,
  { own = [], readKey = "Ctrl-O" }: Hints,
  canvas: Canvas,
): readonly string[] {
  const hints = [
    ...own,
    ...(note === undefined ? [] : ["Tab note"]),
    ...(hasMore ? [`${readKey} shows all`] : []),
  ];
  const { columns, paint } = canvas;
  const noteRows =
    note === undefined || note === ""
      ? []
      : [paint("dim", truncate(`  Note: ${oneLine(note)}`, columns))];
  return [...noteRows, ...hintRows(hints, canvas)];
}
