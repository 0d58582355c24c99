/** A list with numbers in front: what is chosen is typed, by number or by value. */
import { neutralize, oneLine } from "../render/index.ts";
import type { SelectEnding } from "./dialogue.ts";
import { again, type PlainQuestion, read, type Reading } from "./plain-questions.ts";
import { matching, type SelectList, type SelectState } from "./select-list.ts";

/** What was chosen, or a text of the person's own beside what was chosen already. */
export interface PlainSelected {
  readonly ending: SelectEnding;
  readonly marked: readonly number[];
}

export function plainList(list: SelectList, { marked }: SelectState): PlainQuestion<PlainSelected> {
  return {
    lines: [list.message, ...list.options.map((_option, index) => optionLine(list, marked, index))],
    hint: hintFor(list, marked),
    ...(hasPreviews(list) && { commands: ["?1 for more about option 1, and so on"] }),
    cancelling: "/cancel cancels",
    help: helpFor(list),
    read: (line) => readList(list, marked, line.trim()),
  };
}

function optionLine(
  { options, isMultiple = false }: SelectList,
  marked: readonly number[],
  index: number,
): string {
  const { label = "", description } = options[index] ?? {};
  const mark = isMultiple && marked.includes(index) ? " (marked)" : "";
  return `${index + 1}. ${label}${mark}${description === undefined ? "" : `: ${description}`}`;
}

function hintFor(list: SelectList, marked: readonly number[]): string {
  const { options, isMultiple = false, allowsOther = false } = list;
  const what = isMultiple
    ? "Type numbers or values, with commas between them, then Enter."
    : "Type a number or a value, then Enter.";
  const own = allowsOther ? " Or type an answer of your own." : "";
  const [first] = marked;
  if (isMultiple) {
    const alone = marked.length === 0 ? "none" : 'what is marked, "none" takes nothing';
    return `${what}${own} Enter alone takes ${alone}.`;
  }
  const suggested = first === undefined ? undefined : options[first]?.label;
  return suggested === undefined
    ? what + own
    : `${what}${own} Enter alone takes ${(first ?? 0) + 1}, ${suggested}.`;
}

function helpFor({ allowsOther = false }: SelectList): readonly string[] {
  return [
    "A number with a full stop behind it, 1. for example, is always the number of an option.",
    "What follows an equals sign is always a value" +
      (allowsOther ? ", or an answer of your own: =something else" : ": =something"),
    "A part of a value lists the options that have it in them.",
  ];
}

function hasPreviews({ options }: SelectList): boolean {
  return options.some(({ preview }) => preview !== undefined);
}

function readList(
  list: SelectList,
  marked: readonly number[],
  typed: string,
): Reading<PlainSelected> {
  const preview = /^\?\s*(\d+)$/.exec(typed);
  if (preview !== null) return again(...previewLines(list, Number(preview[1]) - 1));
  if (list.isMultiple === true) return readSeveral(list, marked, typed);
  const [first] = marked;
  if (typed === "") {
    return first === undefined ? again(hintFor(list, marked)) : chosen([first]);
  }
  const meant = findMeant(list, typed);
  switch (meant.type) {
    case "option":
      return chosen([meant.index]);
    case "other":
      return read({ ending: { type: "other", text: meant.text, isWhole: true }, marked });
    default:
      return again(...explain(list, meant));
  }
}

/** By what is typed, not in addition to what is marked; a text of one's own joins what was typed. */
function readSeveral(
  list: SelectList,
  marked: readonly number[],
  typed: string,
): Reading<PlainSelected> {
  if (typed === "") return chosen(marked);
  const whole = findMeant(list, typed);
  if (whole.type === "option") return chosen([whole.index]);
  if (typed.toLowerCase() === "none") return chosen([]);
  const indexes: number[] = [];
  let own: string | undefined;
  for (const part of partsOf(typed)) {
    const meant = findMeant(list, part);
    if (meant.type === "option") indexes.push(meant.index);
    else if (meant.type === "other" && own === undefined) own = meant.text;
    else if (meant.type === "other") return again("One answer of your own at a time, please.");
    else return again(...explain(list, meant));
  }
  if (own === undefined) return chosen(indexes);
  return read({ ending: { type: "other", text: own, isWhole: true }, marked: indexes });
}

function partsOf(typed: string): readonly string[] {
  const isNumbers = /^\d+\.?(\s+\d+\.?)*$/.test(typed);
  return typed
    .split(isNumbers ? /\s+/ : ",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function chosen(indexes: readonly number[]): Reading<PlainSelected> {
  const sorted = [...new Set(indexes)].toSorted((one, two) => one - two);
  return read({ ending: { type: "chosen", indexes: sorted }, marked: sorted });
}

function previewLines(list: SelectList, index: number): readonly string[] {
  const option = list.options[index];
  if (option === undefined) return [`There is no option ${index + 1}.`];
  if (option.preview === undefined) return [`There is no more about option ${index + 1}.`];
  return neutralize(option.preview.trimEnd()).split("\n");
}

function explain(
  list: SelectList,
  meant: Extract<Meant, { readonly type: "unclear" | "nothing" }>,
): readonly string[] {
  const typed = oneLine(meant.typed);
  if (meant.type === "unclear") {
    return [
      `${typed} could mean two things. Type ${typed}. for the number, =${typed} for the value.`,
    ];
  }
  if (/^\d+\.?$/.test(typed))
    return [`There is no option ${typed.replace(".", "")}. ${rangeOf(list)}`];
  const similar = matching(list, meant.typed);
  if (similar.length === 0) return [`There is no option "${typed}". ${rangeOf(list)}`];
  return [
    `These have "${typed}" in them. Type a number.`,
    ...similar.map((index) => optionLine(list, [], index)),
    ...(list.allowsOther === true ? [`Or =${typed} for an answer of your own.`] : []),
  ];
}

function rangeOf({ options }: SelectList): string {
  const last = options.length;
  return last < 2 ? "Type 1." : `Type a number from 1 to ${last}.`;
}

type Meant =
  | { readonly type: "option"; readonly index: number }
  /** An answer of the person's own, where that is allowed. */
  | { readonly type: "other"; readonly text: string }
  /** The number of one option, and the value of another. */
  | { readonly type: "unclear"; readonly typed: string }
  | { readonly type: "nothing"; readonly typed: string };

/** `2` is a number or a value, `2.` a number, `=2` a value. */
function findMeant(list: SelectList, typed: string): Meant {
  const value = /^=\s*(.+)$/s.exec(typed)?.[1];
  if (value !== undefined) return findValue(list, value);
  const position = /^(\d+)(\.?)$/.exec(typed);
  if (position === null) return findByWords(list, typed);
  const [, digits = "", stop = ""] = position;
  const index = Number(digits) - 1;
  const isThere = index >= 0 && index < list.options.length;
  const named = findLabel(list, typed);
  if (stop === "" && named !== undefined && named !== index) {
    return isThere ? { type: "unclear", typed } : { type: "option", index: named };
  }
  return isThere ? { type: "option", index } : { type: "nothing", typed };
}

function findValue(list: SelectList, value: string): Meant {
  const index = findLabel(list, value);
  if (index !== undefined) return { type: "option", index };
  return list.allowsOther === true
    ? { type: "other", text: value }
    : { type: "nothing", typed: value };
}

/** Words that other options have in them may be the beginning of one, and are no answer. */
function findByWords(list: SelectList, typed: string): Meant {
  const index = findLabel(list, typed);
  if (index !== undefined) return { type: "option", index };
  const isOther = list.allowsOther === true && matching(list, typed).length === 0;
  return isOther ? { type: "other", text: typed } : { type: "nothing", typed };
}

/** As it is written, else in other letters if only one is like that. */
function findLabel({ options }: SelectList, typed: string): number | undefined {
  const exact = options.findIndex(({ label }) => label === typed);
  if (exact !== -1) return exact;
  const similar = options.flatMap(({ label }, index) =>
    label.toLowerCase() === typed.toLowerCase() ? [index] : [],
  );
  return similar.length === 1 ? similar[0] : undefined;
}
