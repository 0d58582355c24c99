/** The widgets for typed answers: text of one or several lines, and secrets, which are hidden. */
import { wrapWords } from "../render/index.ts";
import type { TextRequest } from "./dialogue.ts";
import { isEnter, type Key } from "./key.ts";
import {
  findSideAction,
  footerRows,
  type QuestionLine,
  questionRows,
  type SideAction,
  type SideActions,
  type Stack,
  stackRows,
} from "./question-rows.ts";
import { bufferOf, editBuffer, layOutText, type TextBuffer } from "./text-buffer.ts";
import type { Canvas, Frame, Step, Widget } from "./widget.ts";

export type TextEntry = Pick<TextRequest, "message" | "text" | "default" | "problem" | "escape"> & {
  readonly hasEditor: boolean;
};

/** The text itself is in the buffer. */
interface Submitted {
  readonly type: "submitted";
}

export type TextEnding =
  | Submitted
  /** Continue in the user's editor. */
  | { readonly type: "editor" }
  | SideAction
  | { readonly type: "cancelled" };

export function textEntry(
  entry: TextEntry,
  sideActions: SideActions,
): Widget<TextBuffer, TextEnding> {
  return {
    holdsWork: ({ text }) => text !== (entry.text ?? ""),
    update: (buffer, key) => {
      const sideAction = findSideAction(sideActions, key);
      return sideAction === undefined ? updateText(entry, buffer, key) : { ending: sideAction };
    },
    view: (buffer, canvas) => {
      const { message, default: suggested } = entry;
      const line = { message, ...(suggested !== undefined && { suffix: `(${suggested})` }) };
      const foot = [
        ...problemRows(entry, canvas),
        ...footerRows(sideActions, hintsFor(entry), canvas),
      ];
      const { isCut, isTextCut, ...frame } = viewText({ line, foot }, buffer, canvas);
      // Users need not read their own typing.
      const isUnchanged = buffer.text === (entry.text ?? "");
      return { ...frame, isCut: isCut || (isTextCut && isUnchanged) };
    },
  };
}

function updateText(
  { hasEditor }: TextEntry,
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, TextEnding> {
  const isEditorKey = key.type === "named" && (key.name === "ctrl-x" || key.name === "ctrl-g");
  if (isEditorKey) return hasEditor ? { ending: { type: "editor" } } : { state: buffer };
  return editOrEnd(buffer, key);
}

/** Enter submits the text. Ctrl-D cancels if there is none. */
function editOrEnd(
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, Submitted | { readonly type: "cancelled" }> {
  const name = key.type === "named" ? key.name : undefined;
  if (name === "enter") return { ending: { type: "submitted" } };
  if (name === "ctrl-d" && buffer.text === "") return { ending: { type: "cancelled" } };
  return { state: editBuffer(buffer, key) ?? buffer };
}

interface Surroundings {
  readonly line: QuestionLine;
  readonly foot: readonly string[];
}

interface TextFrame extends Frame {
  readonly isCut: boolean;
  readonly isTextCut: boolean;
}

/** Rows that a long question must leave for the typed text. */
const MIN_TEXT_ROWS = 3;

/** A single line follows the question; several lines go below it. */
function viewText({ line, foot }: Surroundings, buffer: TextBuffer, canvas: Canvas): TextFrame {
  const room = canvas.rows - foot.length;
  if (!buffer.text.includes("\n")) {
    const whole = questionRows(line, buffer, { ...canvas, rows: room });
    const least = Math.min(MIN_TEXT_ROWS, whole.rows.length - whole.height);
    const question = questionRows(line, buffer, { ...canvas, rows: room - least });
    // Typed text starts in the question's last row.
    const above = question.height - 1;
    return stackFrame(
      {
        head: question.rows.slice(0, above),
        body: question.rows.slice(above),
        active: question.cursor.row - above,
        foot,
      },
      { canvas, cursorColumn: question.cursor.column, isCut: question.isCut },
    );
  }
  const question = questionRows(line, bufferOf(""), { ...canvas, rows: room - MIN_TEXT_ROWS });
  const place = { columns: canvas.columns, start: 2, indent: 2 };
  const {
    rows: [first = "", ...others],
    cursor,
  } = layOutText(buffer, place);
  const body = [`  ${first}`, ...others];
  return stackFrame(
    { head: question.rows, body, active: cursor.row, foot },
    { canvas, cursorColumn: cursor.column, isCut: question.isCut },
  );
}

interface Drawn {
  readonly canvas: Canvas;
  readonly cursorColumn: number;
  readonly isCut: boolean;
}

function stackFrame(stack: Stack, { canvas, cursorColumn, isCut }: Drawn): TextFrame {
  const { rows, activeRow } = stackRows(stack, canvas.rows);
  const { head, body, foot } = stack;
  const isTextCut = rows.length < head.length + body.length + foot.length;
  return { rows, cursor: { row: activeRow, column: cursorColumn }, isCut, isTextCut };
}

function problemRows({ problem }: TextEntry, { columns, paint }: Canvas): readonly string[] {
  const lines = problem === undefined ? [] : problem.split("\n");
  return lines
    .flatMap((line) => wrapWords(line, columns - 2))
    .map((row) => paint("red", `  ${row}`));
}

function hintsFor({ escape, hasEditor }: TextEntry) {
  return {
    own: [
      "Enter submit",
      "Alt-Enter new line",
      ...(hasEditor ? ["Ctrl-X editor"] : []),
      ...(escape === undefined ? [] : [`Esc ${escape}`]),
    ],
  };
}

export interface SecretEntry {
  readonly message: string;
}

export type SecretEnding = Submitted | SideAction | { readonly type: "cancelled" };

export function secretEntry(
  entry: SecretEntry,
  sideActions: SideActions,
): Widget<TextBuffer, SecretEnding> {
  return {
    holdsWork: ({ text }) => text !== "",
    update: (buffer, key) => updateSecret(sideActions, buffer, key),
    view: ({ text }, canvas) => viewSecret({ ...entry, isTyped: text !== "" }, sideActions, canvas),
  };
}

function updateSecret(
  sideActions: SideActions,
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, SecretEnding> {
  if (key.type === "paste") {
    // Text copied from a file often ends with a line break that is not part of the secret.
    const text = key.text.replace(/\n+$/, "");
    return { state: editBuffer(buffer, { type: "paste", text }) ?? buffer };
  }
  const sideAction = findSideAction(sideActions, key);
  if (sideAction !== undefined) return { ending: sideAction };
  return editOrEnd(buffer, isEnter(key) ? ENTER : key);
}

const ENTER: Key = { type: "named", name: "enter" };

interface ShownSecret extends SecretEntry {
  readonly isTyped: boolean;
}

/** Shows only whether something was typed, so that people see that their keys arrive: not even its length. */
function viewSecret(
  { message, isTyped }: ShownSecret,
  sideActions: SideActions,
  canvas: Canvas,
): Frame {
  const own = isTyped
    ? ["input is hidden", "something typed", "Enter submit"]
    : ["input is hidden", "Enter submit"];
  const foot = footerRows(sideActions, { own }, canvas);
  const room = { ...canvas, rows: canvas.rows - foot.length };
  const { rows, cursor, isCut } = questionRows({ message }, bufferOf(""), room);
  return { rows: [...rows, ...foot], cursor, isCut };
}
