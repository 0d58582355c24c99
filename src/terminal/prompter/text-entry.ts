/** A question that is answered in words, in one line or several. */
import { wrapWords } from "../../render/index.ts";
import { type Aside, type Asides, findAside, footRows } from "./aside.ts";
import type { Entered, TextRequest } from "./dialogue.ts";
import type { Key } from "./key.ts";
import { layOutText, stackRows } from "./layout.ts";
import { type QuestionLine, questionRows } from "./question-line.ts";
import { bufferOf, editBuffer, type TextBuffer } from "./text-buffer.ts";
import { type Canvas, end, type Frame, type Step, wait, type Widget } from "./widget.ts";

export type TextEntry = Pick<TextRequest, "message" | "default" | "problem" | "escape"> & {
  readonly hasEditor: boolean;
};

export type TextEnding =
  | Entered
  /** To go on with it in an editor. */
  | { readonly type: "editor" }
  | Aside
  | { readonly type: "cancelled" };

export function textEntry(entry: TextEntry, asides: Asides): Widget<TextBuffer, TextEnding> {
  return {
    update: (buffer, key) => {
      const aside = findAside(asides, key);
      return aside === undefined ? updateText(entry, buffer, key) : end(aside);
    },
    view: (buffer, canvas) => {
      const { message, default: suggested } = entry;
      const line = { message, ...(suggested !== undefined && { suffix: `(${suggested})` }) };
      const foot = [...problemRows(entry, canvas), ...footRows(asides, hintsFor(entry), canvas)];
      return viewText({ line, foot }, buffer, canvas);
    },
  };
}

function updateText(
  { hasEditor }: TextEntry,
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, TextEnding> {
  switch (key.type === "named" ? key.name : undefined) {
    case "enter":
      return end({ type: "entered", text: buffer.text });
    case "ctrl-x":
    case "ctrl-g":
      return hasEditor ? end({ type: "editor" }) : wait(buffer);
    case "ctrl-d":
      if (buffer.text === "") return end({ type: "cancelled" });
      break;
    default:
  }
  return wait(editBuffer(buffer, key) ?? buffer);
}

interface Surroundings {
  readonly line: QuestionLine;
  readonly foot: readonly string[];
}

/** One line stands behind the question, several stand below it. */
function viewText({ line, foot }: Surroundings, buffer: TextBuffer, canvas: Canvas): Frame {
  if (!buffer.text.includes("\n")) {
    const { rows: body, cursor } = questionRows(line, buffer, canvas);
    const { rows, activeRow } = stackRows(
      { head: [], body, active: cursor.row, foot },
      canvas.rows,
    );
    return { rows, cursor: { row: activeRow, column: cursor.column } };
  }
  const { rows: head } = questionRows(line, bufferOf(""), canvas);
  const place = { columns: canvas.columns, start: 2, indent: 2 };
  const {
    rows: [first = "", ...others],
    cursor,
  } = layOutText(buffer, place);
  const body = [`  ${first}`, ...others];
  const { rows, activeRow } = stackRows({ head, body, active: cursor.row, foot }, canvas.rows);
  return { rows, cursor: { row: activeRow, column: cursor.column } };
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
      "Enter sends",
      "Alt-Enter new line",
      ...(hasEditor ? ["Ctrl-X editor"] : []),
      ...(escape === undefined ? [] : [`Esc ${escape}`]),
    ],
  };
}
