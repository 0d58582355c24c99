/** A question that is answered in words, in one line or several. */
import type { Key } from "./key.ts";
import { layOutText, stackRows, wrapWords } from "./layout.ts";
import { hintRow, questionRows } from "./question-line.ts";
import { bufferOf, editBuffer, type TextBuffer } from "./text-buffer.ts";
import {
  type Canvas,
  end,
  type Frame,
  type ReadMore,
  type Step,
  wait,
  type Widget,
} from "./widget.ts";

export interface TextEntry {
  readonly message: string;
  /** What an empty answer stands for, on one harmless line. */
  readonly default?: string | undefined;
  /** What was wrong with the text that is being changed; harmless. */
  readonly problem?: string | undefined;
  readonly hasEditor: boolean;
  /** There is more above the question than is shown. */
  readonly hasMore: boolean;
}

export type TextEnding =
  | { readonly type: "entered"; readonly text: string }
  /** To go on with it in an editor. */
  | { readonly type: "editor" }
  | ReadMore
  | { readonly type: "cancelled" };

export function textEntry(entry: TextEntry): Widget<TextBuffer, TextEnding> {
  return {
    update: (buffer, key) => updateText(entry, buffer, key),
    view: (buffer, canvas) => viewText(entry, buffer, canvas),
  };
}

function updateText(
  { hasEditor, hasMore }: TextEntry,
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, TextEnding> {
  switch (key.type === "named" ? key.name : undefined) {
    case "enter":
      return end({ type: "entered", text: buffer.text });
    case "ctrl-x":
    case "ctrl-g":
      return hasEditor ? end({ type: "editor" }) : wait(buffer);
    case "ctrl-o":
      return hasMore ? end({ type: "read_more" }) : wait(buffer);
    case "ctrl-d":
      if (buffer.text === "") return end({ type: "cancelled" });
      break;
    default:
  }
  return wait(editBuffer(buffer, key) ?? buffer);
}

/** One line stands behind the question, several stand below it. */
function viewText(entry: TextEntry, buffer: TextBuffer, canvas: Canvas): Frame {
  const { message, default: suggested } = entry;
  const line = { message, ...(suggested !== undefined && { note: `(${suggested})` }) };
  const foot = footRows(entry, canvas);
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

function footRows({ problem, hasEditor, hasMore }: TextEntry, canvas: Canvas): readonly string[] {
  const { columns, paint } = canvas;
  const problemRows = problem === undefined ? [] : problem.split("\n");
  return [
    ...problemRows
      .flatMap((line) => wrapWords(line, columns - 2))
      .map((row) => paint("red", `  ${row}`)),
    hintRow(
      [
        "Enter sends",
        "Alt-Enter new line",
        ...(hasEditor ? ["Ctrl-X editor"] : []),
        ...(hasMore ? ["Ctrl-O shows all"] : []),
      ],
      canvas,
    ),
  ];
}
