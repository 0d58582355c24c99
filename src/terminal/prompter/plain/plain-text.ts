/** A question that is answered in words: a line, several lines, or a text from an editor. */
import { neutralize } from "../../../render/index.ts";
import type { Entered, TextRequest } from "../dialogue.ts";
import { type PlainQuestion, read, type Reading } from "./plain-question.ts";

export interface PlainText extends TextRequest {
  readonly hasEditor: boolean;
}

export type PlainTextEnding =
  | Entered
  | { readonly type: "several_lines" }
  /** To go on with it in an editor. */
  | { readonly type: "editor" };

/** In several lines, this one ends them; two of them stand for one. */
export const LAST_LINE = ".";

export function plainText(entry: PlainText): PlainQuestion<PlainTextEnding> {
  const { message, text = "", problem, escape, hasEditor } = entry;
  return {
    lines: [
      message,
      ...(text === "" ? [] : ["The text so far:", ...linesOf(text), "That was the text."]),
      ...(problem === undefined ? [] : problem.split("\n")),
    ],
    hint: hintFor(entry),
    commands: [
      "/lines for several lines",
      ...(hasEditor ? ["/edit for your editor"] : []),
      ...(text === "" ? [] : ["/empty for an empty text"]),
    ],
    cancelling: `/cancel ${escape ?? "cancels"}`,
    help: [
      `After /lines every line belongs to the text, until one that has only a full stop in it.`,
      "There, a line with two full stops stands for a line with one.",
    ],
    read: (line) => readText(entry, line),
  };
}

export function severalLines(lines: readonly string[]): string {
  return lines.map((line) => (line === LAST_LINE.repeat(2) ? LAST_LINE : line)).join("\n");
}

function hintFor({ text = "", default: suggested }: PlainText): string {
  const typed = "Type your answer, then Enter.";
  if (text !== "") return `${typed} Enter alone keeps the text as it is.`;
  return suggested === undefined ? typed : `${typed} Enter alone takes: ${suggested}`;
}

function readText({ text = "", hasEditor }: PlainText, line: string): Reading<PlainTextEnding> {
  switch (line.trim()) {
    case "/lines":
      return read({ type: "several_lines" });
    case "/edit":
      return read(hasEditor ? { type: "editor" } : { type: "entered", text: line });
    case "/empty":
      return read({ type: "entered", text: text === "" ? line : "" });
    default:
      return read({ type: "entered", text: line === "" ? text : line });
  }
}

function linesOf(text: string): readonly string[] {
  return neutralize(text).split("\n");
}
