/** Questions in plain mode: the printed lines, and how typed lines are read. Here, those decided by a key. Pure. */
import { oneLine } from "../../util/index.ts";
import { truncate } from "../render/index.ts";
import {
  type Chosen,
  describeKeys,
  describeWords,
  findChoice,
  findCoverage,
  type KeyMenu,
  keyOfWord,
  readWords,
  type SaidNo,
  takesWords,
} from "./key-menu.ts";

/** What is printed of a question. */
export interface PrintedQuestion {
  /** The question and its choices, neutralized. */
  readonly lines: readonly string[];
  /** A sentence that says what to type. */
  readonly hint: string;
  /** Commands specific to this question: `/lines for several lines`. */
  readonly commands?: readonly string[];
  /** Describes `/cancel` here: `/cancel to go back`. */
  readonly cancelHint?: string;
  /** Printed when the user types `?`. */
  readonly help?: readonly string[];
  /** Lines that arrive at once are a paste, and form one text. */
  readonly takesPaste?: boolean;
  /** The line is not echoed, and none is a command. */
  readonly isSecret?: boolean;
}

export interface PlainQuestion<Ending, State = never> extends PrintedQuestion {
  readonly readLine: (line: string) => LineResult<Ending, State>;
  /** Reads a text of several lines, where one is accepted. */
  readonly readLines?: (text: string) => { readonly ending: Ending; readonly state: State };
}

export type LineResult<Ending, State = never> =
  | { readonly type: "end"; readonly ending: Ending; readonly state?: State }
  /** Not an answer: print these lines and read another. */
  | { readonly type: "again"; readonly lines: readonly string[] };

/** The state is that of the prompt, where the line changes it. */
export function accept<Ending, State = never>(
  ending: Ending,
  state?: State,
): LineResult<Ending, State> {
  return { type: "end", ending, ...(state !== undefined && { state }) };
}

export function askAgain(...lines: readonly string[]): LineResult<never> {
  return { type: "again", lines };
}

/** Reads the whole line. Where the menu takes words, those that are not a key are a no. */
export function plainMenu<Choice extends string>(
  menu: KeyMenu<Choice>,
): PlainQuestion<Chosen<Choice> | SaidNo> {
  const { message, escape, default: suggested, sendsWords = true } = menu;
  const hasWords = takesWords(menu);
  const wanted = `Type ${namesOf(menu)}`;
  const words = describeWords(sendsWords);
  return {
    lines: [message, ...linesOf(menu)],
    hint: `${wanted} and press Enter${hasWords ? `, or say ${words}` : ""}.${onEnter(menu)}`,
    ...(hasWords && { commands: [WHY_COMMAND] }),
    cancelHint: `/cancel to ${escape}`,
    help: describeKeys(menu).map(({ key, help }) => `${spellKey(key)}: ${help}`),
    takesPaste: hasWords,
    readLine: (line) => {
      const typed = line.trim();
      const choice = typed === "" ? suggested : findTyped(menu, typed);
      if (choice !== undefined) return accept({ type: "chosen", choice });
      if (hasWords && !looksLikeChoice(menu, typed)) {
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

/** The lines that decide besides the keys, and what they decide. */
function linesOf<Choice extends string>({ choices }: KeyMenu<Choice>): readonly string[] {
  return choices.flatMap(({ key, isLine, help }) =>
    isLine === true && help !== undefined ? `${key}: ${help}` : [],
  );
}

const ALL = "all";

/** The choice that the whole line stands for. */
function findTyped<Choice extends string>(
  menu: KeyMenu<Choice>,
  typed: string,
): Choice | undefined {
  // Other menus have a key with another meaning.
  const isAll = typed.toLowerCase() === ALL && findCoverage(menu, "a") !== undefined;
  return findChoice(menu, isAll ? "a" : (keyOfWord(typed) ?? typed));
}

/** Meant as one of the choices rather than as words, but none of them. */
function looksLikeChoice<Choice extends string>(menu: KeyMenu<Choice>, typed: string): boolean {
  const [key = "", ...numbers] = typed.split(/\s+/);
  const areNumbers = numbers.length > 0 && numbers.every((number) => /^\d+$/.test(number));
  return typed.toLowerCase() === ALL || (areNumbers && findChoice(menu, key) !== undefined);
}

/** Omits choices that are only in the help. */
function namesOf<Choice extends string>({ choices }: KeyMenu<Choice>): string {
  const named = choices.filter(({ label }) => label !== undefined);
  return joinWithOr(
    named.map(({ key, label = "" }) => (keyOfWord(label) === key ? label : `${key} (${label})`)),
  );
}

function onEnter<Choice extends string>({ choices, default: suggested }: KeyMenu<Choice>): string {
  if (suggested === undefined) return "";
  const { label, covers } = choices.find(({ key }) => key === suggested) ?? {};
  const what = label === undefined && covers !== undefined ? ` (${covers})` : "";
  return ` Or just press Enter for ${spellKey(suggested)}${what}.`;
}

/** Screen readers read `y` and `Y` alike. */
function spellKey(key: string): string {
  return /^[A-Z]$/.test(key) ? `capital ${key}` : key;
}

/** `a, b or c`. */
function joinWithOr(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}
