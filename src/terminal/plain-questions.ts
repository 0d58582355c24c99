/** A question in lines of text: what is said, and what a line that was typed means. Pure. */
import { neutralize, oneLine, truncate } from "../render/index.ts";
import type { Chosen, Entered, TextRequest } from "./dialogue.ts";
import { type KeyMenu, keysOf } from "./key-menu.ts";

export interface PlainQuestion<Ending> {
  /** The question, and what there is to choose. Harmless. */
  readonly lines: readonly string[];
  /** What may be typed, in a sentence. */
  readonly hint: string;
  /** Words that are commands here and nowhere else, each with what it is for. */
  readonly commands?: readonly string[];
  /** What gives up, and what that does: `/cancel to leave`. */
  readonly cancelling: string;
  /** Said when help is asked for. */
  readonly help: readonly string[];
  readonly read: (line: string) => Reading<Ending>;
}

export type Reading<Ending> =
  | { readonly type: "end"; readonly ending: Ending }
  /** It means nothing here, or only asks for more: this is said, and another line is read. */
  | { readonly type: "again"; readonly lines: readonly string[] };

export function read<Ending>(ending: Ending): Reading<Ending> {
  return { type: "end", ending };
}

export function again(...lines: readonly string[]): Reading<never> {
  return { type: "again", lines };
}

/** `a, b or c`. */
function listWords(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}

export function plainMenu<Choice extends string>(
  menu: KeyMenu<Choice>,
): PlainQuestion<Chosen<Choice>> {
  const keys = keysOf(menu);
  const typed = `Type ${listWords(keys.map(spoken))}, then Enter.`;
  const alone = menu.default === undefined ? "" : ` Enter alone takes ${spoken(menu.default)}.`;
  return {
    lines: [menu.message],
    hint: typed + alone,
    cancelling: `/cancel to ${menu.escape}`,
    help: keys.map((key) => `${spoken(key)}: ${menu.choices[key] ?? ""}`),
    read: (line) => readKey(menu, line.trim()),
  };
}

const WORDS: Readonly<Record<string, string>> = { yes: "y", no: "n" };

function readKey<Choice extends string>(
  menu: KeyMenu<Choice>,
  typed: string,
): Reading<Chosen<Choice>> {
  const keys = keysOf(menu);
  const key = WORDS[typed.toLowerCase()] ?? typed;
  const choice = key === "" ? menu.default : keys.find((own) => own === key);
  if (choice !== undefined) return read({ type: "chosen", choice });
  const wanted = `Type ${listWords(keys.map(spoken))}.`;
  return again(key === "" ? wanted : `"${truncate(oneLine(key), 40)}" is no choice. ${wanted}`);
}

/** Small and capital letters sound the same. */
function spoken(key: string): string {
  return /^[A-Z]$/.test(key) ? `capital ${key}` : key;
}

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
