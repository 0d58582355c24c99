/** A question that is answered in words, in one line or several. */
import { wrapWords } from "../render/index.ts";
import type { Entered, TextRequest } from "./dialogue.ts";
import type { Key } from "./key.ts";
import {
  type Aside,
  type Asides,
  findAside,
  footRows,
  type QuestionLine,
  questionRows,
} from "./question-rows.ts";
import {
  bufferOf,
  editBuffer,
  layOutText,
  type Stack,
  stackRows,
  type TextBuffer,
} from "./text-buffer.ts";
import { type Canvas, end, type Frame, type Step, wait, type Widget } from "./widget.ts";

export type TextEntry = Pick<TextRequest, "message" | "text" | "default" | "problem" | "escape"> & {
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
      const { isCut, isTextCut, ...frame } = viewText({ line, foot }, buffer, canvas);
      // What the person has typed need not be read.
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

interface TextFrame extends Frame {
  readonly isCut: boolean;
  readonly isTextCut: boolean;
}

/** Rows that a long question leaves to what is typed. */
const LEAST_ROWS = 3;

/** One line stands behind the question, several stand below it. */
function viewText({ line, foot }: Surroundings, buffer: TextBuffer, canvas: Canvas): TextFrame {
  const room = canvas.rows - foot.length;
  if (!buffer.text.includes("\n")) {
    const whole = questionRows(line, buffer, { ...canvas, rows: room });
    const least = Math.min(LEAST_ROWS, whole.rows.length - whole.height);
    const question = questionRows(line, buffer, { ...canvas, rows: room - least });
    // What is typed begins in the last row of the question.
    const above = question.height - 1;
    return stackFrame(
      {
        head: question.rows.slice(0, above),
        body: question.rows.slice(above),
        active: question.cursor.row - above,
        foot,
      },
      { canvas, column: question.cursor.column, isCut: question.isCut },
    );
  }
  const question = questionRows(line, bufferOf(""), { ...canvas, rows: room - LEAST_ROWS });
  const place = { columns: canvas.columns, start: 2, indent: 2 };
  const {
    rows: [first = "", ...others],
    cursor,
  } = layOutText(buffer, place);
  const body = [`  ${first}`, ...others];
  return stackFrame(
    { head: question.rows, body, active: cursor.row, foot },
    { canvas, column: cursor.column, isCut: question.isCut },
  );
}

interface Drawn {
  readonly canvas: Canvas;
  /** Of the cursor. */
  readonly column: number;
  readonly isCut: boolean;
}

function stackFrame(stack: Stack, { canvas, column, isCut }: Drawn): TextFrame {
  const { rows, activeRow } = stackRows(stack, canvas.rows);
  const { head, body, foot } = stack;
  const isTextCut = rows.length < head.length + body.length + foot.length;
  return { rows, cursor: { row: activeRow, column }, isCut, isTextCut };
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

export interface SecretEntry {
  readonly message: string;
}

export type SecretEnding = Entered | Aside | { readonly type: "cancelled" };

export function secretEntry(entry: SecretEntry, asides: Asides): Widget<TextBuffer, SecretEnding> {
  return {
    update: (buffer, key) => updateSecret(asides, buffer, key),
    view: (_buffer, canvas) => viewSecret(entry, asides, canvas),
  };
}

function updateSecret(
  asides: Asides,
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, SecretEnding> {
  if (key.type === "paste") {
    // What is copied from a file ends with a line break that is no part of it.
    const text = key.text.replace(/\n+$/, "");
    return wait(editBuffer(buffer, { type: "paste", text }) ?? buffer);
  }
  const aside = findAside(asides, key);
  if (aside !== undefined) return end(aside);
  switch (key.type === "named" ? key.name : undefined) {
    case "enter":
    case "new-line":
      return end({ type: "entered", text: buffer.text });
    case "ctrl-d":
      if (buffer.text === "") return end({ type: "cancelled" });
      break;
    default:
  }
  return wait(editBuffer(buffer, key) ?? buffer);
}

function viewSecret({ message }: SecretEntry, asides: Asides, canvas: Canvas): Frame {
  const foot = footRows(
    asides,
    { own: ["nothing is shown of what you type", "Enter sends"] },
    canvas,
  );
  const room = { ...canvas, rows: canvas.rows - foot.length };
  const { rows, cursor, isCut } = questionRows({ message }, bufferOf(""), room);
  return { rows: [...rows, ...foot], cursor, isCut };
}
