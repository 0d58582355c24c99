/** Menus and text questions in plain mode: the printed lines, and how typed lines are read. Pure. */
import { neutralize, oneLine } from "../../util/index.ts";
import { truncate } from "../render/index.ts";
import { readWords } from "./decision-line.ts";
import type { Chosen, Entered, KeyMenu, SaidNo, TextRequest } from "./dialogue.ts";

export interface PlainQuestion<Ending> {
  /** The question and its choices, neutralized. */
  readonly lines: readonly string[];
  /** A sentence that says what to type. */
  readonly hint: string;
  /** Commands specific to this question: `/lines for several lines`. */
  readonly commands?: readonly string[];
  /** Describes `/cancel` here: `/cancel to go back`. */
  readonly cancelHint: string;
  /** Printed when the user types `?`. */
  readonly help: readonly string[];
  readonly readLine: (line: string) => LineResult<Ending>;
}

export type LineResult<Ending> =
  | { readonly type: "end"; readonly ending: Ending }
  /** Not an answer: print these lines and read another. */
  | { readonly type: "again"; readonly lines: readonly string[] };

export function accept<Ending>(ending: Ending): LineResult<Ending> {
  return { type: "end", ending };
}

export function askAgain(...lines: readonly string[]): LineResult<never> {
  return { type: "again", lines };
}

/** Reads the whole line. Where the menu takes words, those that are not a key are a no. */
export function plainMenu<Choice extends string>(
  menu: KeyMenu<Choice>,
): PlainQuestion<Chosen<Choice> | SaidNo> {
  const { message, choices, escape, noKey, sendsWords = true } = menu;
  const takesWords = noKey !== undefined;
  const wanted = `Type ${namesOf(menu)}`;
  const words = sendsWords ? "what to do instead" : "why not";
  return {
    lines: [message],
    hint: `${wanted} and press Enter${takesWords ? `, or say ${words}` : ""}.${onEnter(menu)}`,
    ...(takesWords && { commands: [WHY_COMMAND] }),
    cancelHint: `/cancel to ${escape}`,
    help: choices.flatMap(({ key, label, help = label }) =>
      help === undefined ? [] : [`${spellKey(key)}: ${help}`],
    ),
    readLine: (line) => {
      const typed = line.trim();
      const choice = findChoice(menu, typed);
      if (choice !== undefined) return accept({ type: "chosen", choice });
      if (takesWords) {
        return readNo(typed, sendsWords) ?? askAgain(`${wanted}, or say in a few words ${words}.`);
      }
      const problem = typed === "" ? "" : `"${truncate(oneLine(typed), 40)}" is not a choice. `;
      return askAgain(`${problem}${wanted}.`);
    },
  };
}

const WHY = "/why";

/** The command for a reason that does not become the next message. */
export const WHY_COMMAND = `${WHY} and words to say no for a reason`;

/** A no in words. Undefined for any other line. */
export function readNo(typed: string, isMessage: boolean): LineResult<SaidNo> | undefined {
  if (typed === WHY) return askAgain(`Type the reason after ${WHY}, on the same line.`);
  if (typed.startsWith(`${WHY} `)) {
    const text = typed.slice(WHY.length).trim();
    return accept({ type: "said_no", text, isMessage: false });
  }
  const meaning = readWords(typed);
  if (meaning.type !== "words") return undefined;
  return accept({ type: "said_no", text: meaning.text, isMessage });
}

/** Omits choices that are only in the help. */
function namesOf<Choice extends string>({ choices }: KeyMenu<Choice>): string {
  const named = choices.filter(({ label }) => label !== undefined);
  return joinWithOr(
    named.map(({ key, label = "" }) => (WORDS[label] === key ? label : `${key} (${label})`)),
  );
}

function onEnter<Choice extends string>({ default: suggested }: KeyMenu<Choice>): string {
  return suggested === undefined ? "" : ` Or just press Enter for ${spellKey(suggested)}.`;
}

function findChoice<Choice extends string>(
  { choices, default: suggested }: KeyMenu<Choice>,
  typed: string,
): Choice | undefined {
  if (typed === "") return suggested;
  const key = WORDS[typed.toLowerCase()] ?? typed;
  return choices.find((own) => own.key === key)?.key;
}

const WORDS: Readonly<Record<string, string>> = { yes: "y", no: "n" };

/** Screen readers read `y` and `Y` alike. */
function spellKey(key: string): string {
  return /^[A-Z]$/.test(key) ? `capital ${key}` : key;
}

/** `a, b or c`. */
function joinWithOr(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}

export interface PlainText extends TextRequest {
  readonly hasEditor: boolean;
}

export type PlainTextEnding =
  | Entered
  | { readonly type: "several_lines" }
  /** Continue in the user's editor. */
  | { readonly type: "editor" };

export function plainText(entry: PlainText): PlainQuestion<PlainTextEnding> {
  const { message, text = "", problem, escape = "cancel", hasEditor } = entry;
  return {
    lines: [
      message,
      ...(text === "" ? [] : ["Current text:", ...neutralize(text).split("\n"), "End of text."]),
      ...(problem === undefined ? [] : problem.split("\n")),
    ],
    hint: hintFor(entry),
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
    readLine: (line) => {
      switch (line.trim()) {
        case "/lines":
          return accept({ type: "several_lines" });
        case "/edit":
          return accept(hasEditor ? { type: "editor" } : { type: "entered", text: line });
        case "/empty":
          return accept({ type: "entered", text: text === "" ? line : "" });
        default:
          return accept({ type: "entered", text: line === "" ? text : line });
      }
    },
  };
}

function hintFor({ text = "", default: suggested }: PlainText): string {
  const typed = "Type your answer and press Enter.";
  if (text !== "") return `${typed} Or just press Enter to keep the text.`;
  return suggested === undefined ? typed : `${typed} Or just press Enter for: ${suggested}`;
}

/** Ends a multi-line text; doubled, it is a line of the text. */
export const END_LINE = ".";

export function joinTypedLines(lines: readonly string[]): string {
  return lines.map((line) => (line === END_LINE.repeat(2) ? END_LINE : line)).join("\n");
}
