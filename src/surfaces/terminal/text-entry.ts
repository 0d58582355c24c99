/** Typed answers, drawn and in plain mode: text of one or several lines, and secrets, which are hidden. */
import { neutralize } from "../../util/index.ts";
import { wrapWords } from "../render/index.ts";
import {
  type Aborted,
  asContext,
  type Dialogue,
  type NoAnswer,
  type Passage,
  Prompt,
} from "./dialogue.ts";
import { isEnter, type Key } from "./key.ts";
import { accept, type LineResult, type PlainQuestion } from "./plain-questions.ts";
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

export interface TextRequest {
  readonly message: string;
  /** The text to edit. The user must see all of it first, unless `isTextSeen`. */
  readonly text?: string;
  readonly isTextSeen?: boolean;
  /** Describes an empty answer: one line, neutralized. */
  readonly default?: string | undefined;
  /** The problem with the edited text; neutralized. */
  readonly problem?: string | undefined;
  /** Describes Escape, if it does not cancel the question. */
  readonly escape?: string | undefined;
  /** File extension for the editor: `.md`. */
  readonly extension?: string;
}

export interface Entered {
  readonly type: "entered";
  readonly text: string;
}

/** Reads text, typed here or in the user's editor. */
export async function enterText(
  request: TextRequest,
  dialogue: Dialogue,
): Promise<Entered | NoAnswer> {
  let { text = "", problem } = request;
  for (;;) {
    const entry = { ...request, problem, hasEditor: dialogue.hasEditor };
    const prompt = new Prompt<TextBuffer, Submitted | ToEditor>(bufferOf(text), {
      passages: () => passagesOf(request),
      drawn: (sideActions) => textEntry({ ...entry, unsent: dialogue.fetchable }, sideActions),
      plain: (buffer) => plainText(entry, buffer),
    });
    const ending = await dialogue.ask(prompt);
    const { text: typed } = prompt.state;
    const { fetchable: unsent } = dialogue;
    if (unsent !== "" && typed.includes(unsent)) dialogue.noteFetched();
    if (ending.type === "aborted" && typed !== (request.text ?? "")) dialogue.unsent = typed;
    if (ending.type === "submitted") return { type: "entered", text: typed };
    if (ending.type !== "editor") return ending;
    ({ text, problem } = await dialogue.edit(prompt.state.text, request.extension));
  }
}

/** Asks for a note to send with the answer. Cancelling keeps the previous note. */
export async function enterNote(dialogue: Dialogue): Promise<void> {
  const text = dialogue.note ?? "";
  dialogue.note = undefined; // A note cannot have a note.
  const entered = await enterText({ message: "Note:", text, escape: "go back" }, dialogue);
  dialogue.note = entered.type === "entered" ? entered.text.trim() : text;
}

/** Reads JSON and repeats until `check` accepts it. Undefined if the user goes back with Escape or an empty text. */
export async function enterJson<Valid extends object>(
  request: Pick<TextRequest, "message" | "text" | "isTextSeen">,
  check: (text: string) => Promise<Valid | { readonly problem: string }>,
  dialogue: Dialogue,
): Promise<Valid | Aborted | undefined> {
  let asked: TextRequest = { ...request, extension: ".json", escape: "go back" };
  for (;;) {
    const entered = await enterText(asked, dialogue);
    if (entered.type === "aborted") return entered;
    if (entered.type === "cancelled" || entered.text.trim() === "") return undefined;
    const { text } = entered;
    const checked = await check(text);
    if (!("problem" in checked)) return checked;
    // From now on, the text is the user's own.
    asked = { ...asked, text, isTextSeen: true, problem: neutralize(checked.problem) };
  }
}

export const NOT_AN_OBJECT = "Not a JSON object.";

/** Reads text without showing any of it, not even its length. */
export async function enterSecret(
  message: string,
  dialogue: Dialogue,
): Promise<Entered | NoAnswer> {
  const prompt = new Prompt<TextBuffer, Submitted>(bufferOf(""), {
    isSecret: true,
    passages: () => passagesOf({ message }),
    drawn: (sideActions) => secretEntry({ message }, sideActions),
    plain: () => ({
      lines: [message],
      hint: "Your input is hidden. Press Enter to submit it, or Ctrl-C to cancel.",
      isSecret: true,
      readLine: submit,
    }),
  });
  const ending = await dialogue.ask(prompt);
  return ending.type === "submitted" ? { type: "entered", text: prompt.state.text } : ending;
}

/** The text itself is the prompt's state. */
interface Submitted {
  readonly type: "submitted";
}

const SUBMITTED: Submitted = { type: "submitted" };

/** Continue in the user's editor. */
interface ToEditor {
  readonly type: "editor";
}

type Cancelled = Extract<NoAnswer, { readonly type: "cancelled" }>;

function passagesOf({
  message,
  default: suggested = "",
  text = "",
  isTextSeen = false,
}: TextRequest): readonly Passage[] {
  const questions = [message, ...(suggested === "" ? [] : [`Default: ${suggested}`])];
  return [
    ...questions.map((question): Passage => ({ type: "question", text: question })),
    ...(text === "" ? [] : [{ ...asContext(text), isSeen: isTextSeen }]),
  ];
}

function plainText(
  entry: TextEntry,
  { text }: TextBuffer,
): PlainQuestion<Submitted | ToEditor, TextBuffer> {
  const { message, problem, escape = "cancel", hasEditor } = entry;
  return {
    lines: [
      message,
      ...(text === "" ? [] : ["Current text:", ...neutralize(text).split("\n"), "End of text."]),
      ...(problem === undefined ? [] : problem.split("\n")),
    ],
    hint: plainHint(entry, text),
    commands: [
      "/lines to type several lines",
      ...(hasEditor ? ["/edit to open your editor"] : []),
      ...(text === "" ? [] : ["/empty for an empty text"]),
    ],
    cancelHint: `/cancel to ${escape}`,
    help: [
      "After /lines, everything you type is part of the text, up to a line that is only a period.",
      "To get a line that is only a period, type two periods.",
    ],
    readLines: (typed) => ({ ending: SUBMITTED, state: bufferOf(typed) }),
    readLine: (line) => {
      switch (line.trim()) {
        case "/edit":
          return hasEditor ? accept({ type: "editor" }) : submit(line);
        case "/empty":
          return submit(text === "" ? line : "");
        default:
          return submit(line === "" ? text : line);
      }
    },
  };
}

function submit(typed: string): LineResult<Submitted, TextBuffer> {
  return accept(SUBMITTED, bufferOf(typed));
}

function plainHint({ default: suggested }: TextEntry, text: string): string {
  const typed = "Type your answer and press Enter.";
  if (text !== "") return `${typed} Or just press Enter to keep the text.`;
  return suggested === undefined ? typed : `${typed} Or just press Enter for: ${suggested}`;
}

export type TextEntry = Pick<TextRequest, "message" | "text" | "default" | "problem" | "escape"> & {
  readonly hasEditor: boolean;
  /** Text typed for an earlier prompt that was taken away: Up fetches it. */
  readonly unsent?: string;
};

export type TextEnding = Submitted | ToEditor | SideAction | Cancelled;

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
        ...footerRows(sideActions, hintsFor(entry, buffer), canvas),
      ];
      const { isCut, isTextCut, ...frame } = viewText({ line, foot }, buffer, canvas);
      // Users need not read their own typing.
      const isUnchanged = buffer.text === (entry.text ?? "");
      return { ...frame, isCut: isCut || (isTextCut && isUnchanged) };
    },
  };
}

function updateText(
  { hasEditor, unsent = "" }: TextEntry,
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, TextEnding> {
  const isUp = key.type === "named" && key.name === "up";
  if (isUp && buffer.text === "" && unsent !== "") return { state: bufferOf(unsent) };
  const isEditorKey = key.type === "named" && (key.name === "ctrl-x" || key.name === "ctrl-g");
  if (isEditorKey) return hasEditor ? { ending: { type: "editor" } } : { state: buffer };
  return editOrEnd(buffer, key);
}

/** Enter submits the text. Ctrl-D cancels if there is none. */
function editOrEnd(buffer: TextBuffer, key: Key): Step<TextBuffer, Submitted | Cancelled> {
  const name = key.type === "named" ? key.name : undefined;
  if (name === "enter") return { ending: SUBMITTED };
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

function hintsFor({ escape, hasEditor, unsent = "" }: TextEntry, { text }: TextBuffer) {
  return {
    own: [
      "Enter submit",
      ...(unsent !== "" && text === "" ? ["↑ what was not sent"] : []),
      "Alt-Enter new line",
      ...(hasEditor ? ["Ctrl-X editor"] : []),
      ...(escape === undefined ? [] : [`Esc ${escape}`]),
    ],
  };
}

export interface SecretEntry {
  readonly message: string;
}

export type SecretEnding = Submitted | SideAction | Cancelled;

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
