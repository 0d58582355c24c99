/** The rows of a question: while open, with its hints, and once answered. */
import stringWidth from "fast-string-width";
import { oneLine } from "../../util/index.ts";
import {
  type ContextStyle,
  moreLines,
  textWidth,
  truncate,
  truncateWords,
  wrapVerbatim,
  wrapWords,
} from "../render/index.ts";
import type { Key } from "./key.ts";
import { type LaidOutText, layOutText, type TextBuffer } from "./text-buffer.ts";
import type { Canvas } from "./widget.ts";

export interface QuestionLine {
  /** One line, neutralized. */
  readonly message: string;
  /** Shown after it: keys, or a default. */
  readonly suffix?: string;
}

/** The trace of an answered or cancelled question on the screen. */
export interface ClosedQuestion {
  readonly message: string;
  /** Any text; truncated to fit. */
  readonly summary: string;
  readonly isCancelled?: boolean;
  /** The answer was no, so the action does not happen. */
  readonly isNo?: boolean;
}

/** The question and its answer, where both are listed. */
export function answerLine({ message, summary }: ClosedQuestion): string {
  return `${message} ${oneLine(summary)}`;
}

export interface QuestionRows extends LaidOutText {
  /** The question's own rows; typed text starts in the last of them. */
  readonly height: number;
  /** Only the beginning of the question fits. */
  readonly isCut: boolean;
}

/** The question in at most `canvas.rows`, followed by the whole typed text. */
export function questionRows(
  { message, suffix = "" }: QuestionLine,
  typed: TextBuffer,
  { columns, rows: maxRows, paint }: Canvas,
): QuestionRows {
  const all = headRows({ message, suffix }, { columns: columns - 1, paint });
  const isCut = all.length > Math.max(1, maxRows);
  const head = isCut ? cutHead(all, suffix, { columns, rows: maxRows, paint }) : all;
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

/** Line breaks within the message lose none of its spaces. */
function headRows(
  { message, suffix }: Required<QuestionLine>,
  { columns, paint }: Pick<Canvas, "columns" | "paint">,
): readonly string[] {
  const [first = "", ...others] = wrapVerbatim(message, columns, 2);
  const asked = [
    `${paint("green", "?")} ${paint("bold", first)}`,
    ...others.map((row) => paint("bold", row)),
  ];
  if (suffix === "") return asked;
  const last = others.at(-1) ?? `? ${first}`;
  if (textWidth(last) + 1 + textWidth(suffix) <= columns) {
    return [...asked.slice(0, -1), `${asked.at(-1) ?? ""} ${paint("dim", suffix)}`];
  }
  return [...asked, ...wrapVerbatim(suffix, columns).map((row) => paint("dim", row))];
}

/** The beginning of the question, and a last row that says how much is missing. */
function cutHead(
  all: readonly string[],
  suffix: string,
  { columns, rows, paint }: Canvas,
): readonly string[] {
  const shown = all.slice(0, Math.max(0, rows - 1));
  const more = moreLines(all.length - shown.length);
  const shortSuffix = truncate(suffix, columns - 2 - stringWidth(more));
  return [...shown, paint("dim", truncate(`${more} ${shortSuffix}`.trimEnd(), columns - 1))];
}

/** The user's options besides answering. */
export interface SideActions {
  /** Not everything above the question is visible. */
  readonly hasMore: boolean;
  /** The note so far; absent if the question takes none. */
  readonly note?: string | undefined;
  /** Texts that the user has read to the end. */
  readonly read?: ReadonlySet<string>;
  /** The user has seen the keys often enough: those that fit in one row remain. */
  readonly areHintsFolded?: boolean | undefined;
}

/** Done on another screen; the widget then resumes. */
export type SideAction =
  | {
      readonly type: "read_more";
      /** Shown before all other text. Any text. */
      readonly text?: string;
      readonly style?: ContextStyle;
      /** The answer does not count until the user has read or skipped the text. */
      readonly isRequired?: boolean;
    }
  | { readonly type: "add_note" };

export function findSideAction({ hasMore, note }: SideActions, key: Key): SideAction | undefined {
  if (key.type !== "named") return undefined;
  if (key.name === "ctrl-o" && hasMore) return { type: "read_more" };
  return key.name === "tab" && note !== undefined ? { type: "add_note" } : undefined;
}

export interface Hints {
  /** The widget's own hints. */
  readonly own?: readonly string[];
  /** Used instead if the hints do not all fit. */
  readonly short?: readonly string[];
  /** The key that shows the full text. */
  readonly readKey?: string;
  /** Further hints of the widget, after all others. */
  readonly last?: readonly string[];
}

/** Below a question: the note so far, and the keys. */
export function footerRows(
  { hasMore, note, areHintsFolded = false }: SideActions,
  { own = [], short = own, readKey = "Ctrl-O", last = [] }: Hints,
  canvas: Canvas,
): readonly string[] {
  const others = [
    ...(note === undefined ? [] : [note === "" ? "Tab add note" : "Tab edit note"]),
    ...(hasMore ? [`${readKey} show all`] : []),
    ...last,
  ];
  const { columns, paint } = canvas;
  const noteRows =
    note === undefined || note === ""
      ? []
      : [paint("dim", truncate(`  Note: ${oneLine(note)}`, columns))];
  const hints = { whole: [...own, ...others], short: [...short, ...others] };
  return [
    ...noteRows,
    ...(areHintsFolded ? foldedRow(hints, others.length, canvas) : hintRows(hints, canvas)),
  ];
}

interface WrittenHints {
  readonly whole: readonly string[];
  readonly short: readonly string[];
}

/** The last ones, such as the key for help, stay; before them, as many as fit. */
function foldedRow(
  { whole, short }: WrittenHints,
  lastCount: number,
  { columns, paint }: Canvas,
): readonly string[] {
  const room = Math.max(1, columns - 2);
  const isWhole = joinHints(whole, room).length === 1;
  const hints = isWhole ? [...whole] : [...short];
  const isTooLong = () => stringWidth(hints.join(HINT_SEPARATOR)) > room;
  while (hints.length > Math.max(1, lastCount) && isTooLong()) {
    hints.splice(hints.length - lastCount - 1, 1);
  }
  return [paint("dim", `  ${truncateWords(hints.join(HINT_SEPARATOR), room)}`)];
}

const HINT_SEPARATOR = " · ";

/** As many rows as the hints need, but at most a sixth of the screen. */
function hintRows(
  { whole: hints, short }: WrittenHints,
  { columns, rows: height, paint }: Canvas,
): readonly string[] {
  const maxRows = Math.max(1, Math.floor(height / 6));
  const room = Math.max(1, columns - 2);
  const whole = joinHints(hints, room);
  const rows = whole.length > maxRows ? joinHints(short, room) : whole;
  const shown = rows.slice(0, maxRows);
  const overflow = rows.slice(maxRows - 1).join(HINT_SEPARATOR);
  if (rows.length > maxRows) shown[maxRows - 1] = truncateWords(overflow, room);
  return shown.map((row) => paint("dim", `  ${row}`));
}

function joinHints(hints: readonly string[], room: number): readonly string[] {
  const rows: string[] = [];
  for (const hint of hints) {
    const last = rows.at(-1);
    const longer = last === undefined ? hint : last + HINT_SEPARATOR + hint;
    if (last !== undefined && stringWidth(longer) <= room) rows[rows.length - 1] = longer;
    else rows.push(...wrapWords(hint, room));
  }
  return rows;
}

/** Always one row. A long question leaves half of it to the answer. */
export function closedLine(closed: ClosedQuestion, canvas: Canvas): string {
  const room = canvas.columns - 3;
  const answer = oneLine(closed.summary);
  const answerRoom = Math.max(room - stringWidth(closed.message), Math.ceil(room / 2));
  const summary = truncate(answer, answerRoom);
  const message = truncate(closed.message, room - stringWidth(summary));
  return paintClosed({ ...closed, message, summary }, canvas);
}

/** Enough to keep the question's subject, such as a file name. */
const MAX_MESSAGE_ROWS = 5;

/** One row if the question fits beside half a row of answer; otherwise as many as it needs. */
export function closedRows(closed: ClosedQuestion, canvas: Canvas): readonly string[] {
  const room = canvas.columns - 3;
  const summary = truncate(oneLine(closed.summary), Math.ceil(room / 2));
  const width = stringWidth(closed.message) + stringWidth(summary);
  if (width <= room) return [closedLine(closed, canvas)];
  const message = truncate(closed.message, room * MAX_MESSAGE_ROWS);
  return wrapWords(paintClosed({ ...closed, message, summary }, canvas), canvas.columns);
}

function paintClosed(
  { message, summary, isCancelled = false, isNo = false }: ClosedQuestion,
  { paint }: Canvas,
) {
  const mark = isCancelled || isNo ? paint("red", "✖") : paint("green", "✔");
  return `${mark} ${paint("bold", message)} ${paint(isCancelled ? "dim" : "cyan", summary)}`;
}

export interface Stack {
  readonly head: readonly string[];
  /** May be longer than the available space. */
  readonly body: readonly string[];
  /** The body's row that must be visible, and its height. */
  readonly active: number;
  readonly activeHeight?: number;
  readonly foot: readonly string[];
}

/** Cuts a body that is too long to the rows around the active one. */
export function stackRows({ head, body, active, activeHeight = 1, foot }: Stack, height: number) {
  const room = Math.max(1, activeHeight, height - head.length - foot.length);
  const first = Math.max(0, Math.min(active - Math.floor(room / 2), body.length - room));
  const rows = [...head, ...body.slice(first, first + room), ...foot];
  return { rows, activeRow: head.length + active - first };
}
