/** A list in plain mode: numbered options, chosen by number or value. Pure. */
import { oneLine } from "../../util/index.ts";
import {
  choosing,
  isOwnAnswer,
  type ListedOption,
  matchingOptions,
  previewLines,
  type SelectEnding,
  type SelectList,
  type SelectState,
} from "./listed-options.ts";
import { accept, askAgain, type LineResult, type PlainQuestion } from "./plain-questions.ts";

export interface PlainSelected {
  readonly ending: SelectEnding;
  /** The options selected so far; the user's own answer is added to them. */
  readonly marked: readonly number[];
}

export function plainList(
  list: SelectList,
  { marked }: SelectState,
): Omit<PlainQuestion<PlainSelected>, "readLines"> {
  const { message, options, allowsOther = false } = list;
  const hasPreviews = options.some(({ preview }) => preview !== undefined);
  return {
    lines: [
      message,
      ...options.flatMap((_option, index) => [
        optionLine(list, marked, index),
        // Options that act are printed in full before they can be chosen.
        ...(list.acts === true ? detailLines(list, index) : []),
      ]),
    ],
    hint: hintFor(list, marked),
    ...(hasPreviews &&
      list.acts !== true && { commands: ["?1 for details of option 1, and so on"] }),
    cancelHint: `/cancel to ${list.escape ?? "cancel"}`,
    help: [
      'End with a period to choose by number: "1." is always option 1.',
      allowsOther
        ? 'Start with an equals sign to choose by value, or to give your own answer: "=something else".'
        : 'Start with an equals sign to choose by value: "=something".',
      "Type part of a value to list the options that contain it.",
    ],
    readLine: (line) => readList(list, marked, line.trim()),
  };
}

function optionLine(
  { options, isMultiple = false }: SelectList,
  marked: readonly number[],
  index: number,
): string {
  const { label = "", description } = options[index] ?? {};
  const mark = isMultiple && marked.includes(index) ? " (selected)" : "";
  return `${index + 1}. ${label}${mark}${description === undefined ? "" : `: ${description}`}`;
}

const TYPED = {
  one: {
    listed: "Type a number or value and press Enter.",
    orOther: "Type a number, a value or your own answer and press Enter.",
  },
  several: {
    listed: "Type numbers or values separated by commas and press Enter.",
    orOther: "Type numbers, values or your own answer, separated by commas, and press Enter.",
  },
} as const;

function hintFor(list: SelectList, marked: readonly number[]): string {
  const { options, isMultiple = false, allowsOther = false } = list;
  const typed = TYPED[isMultiple ? "several" : "one"][allowsOther ? "orOther" : "listed"];
  if (list.acts === true) return isMultiple ? `${typed} Type none for none.` : typed;
  if (isMultiple) {
    return marked.length === 0
      ? `${typed} Or just press Enter for none.`
      : `${typed} Or just press Enter for the selected ones. Type none for none.`;
  }
  const [first = -1] = marked;
  const suggested = options[first]?.label;
  return suggested === undefined
    ? typed
    : `${typed} Or just press Enter for ${first + 1}, ${suggested}.`;
}

function readList(
  list: SelectList,
  marked: readonly number[],
  typed: string,
): LineResult<PlainSelected> {
  const preview = /^\?\s*(\d+)$/.exec(typed);
  if (preview !== null) return askAgain(...detailsOf(list, Number(preview[1]) - 1));
  if (list.isMultiple === true) return readSeveral(list, marked, typed);
  const [first] = marked;
  if (typed === "") {
    return first === undefined || list.acts === true
      ? askAgain(hintFor(list, marked))
      : chosen([first]);
  }
  const match = matchOption(list, typed);
  switch (match.type) {
    case "option":
      return chosen([match.index]);
    case "other":
      return accept({ ending: { type: "other", text: match.text, isWhole: true }, marked });
    default:
      return askAgain(...explain(list, match));
  }
}

/** The typed options replace the selected ones. */
function readSeveral(
  list: SelectList,
  marked: readonly number[],
  typed: string,
): LineResult<PlainSelected> {
  if (typed === "") return list.acts === true ? askAgain(hintFor(list, marked)) : chosen(marked);
  // A value may itself contain a comma, or be "none".
  const whole = matchOption(list, typed);
  if (whole.type === "option") return chosen([whole.index]);
  if (typed.toLowerCase() === "none") return chosen([]);
  const indexes: number[] = [];
  let own: string | undefined;
  for (const part of splitTyped(typed)) {
    const match = matchOption(list, part);
    if (match.type === "option") indexes.push(match.index);
    else if (match.type === "other" && own === undefined) own = match.text;
    else if (match.type === "other") return askAgain("Type only one answer of your own at a time.");
    else return askAgain(...explain(list, match));
  }
  if (own === undefined) return chosen(indexes);
  return accept({ ending: { type: "other", text: own, isWhole: true }, marked: indexes });
}

function splitTyped(typed: string): readonly string[] {
  const isNumbers = /^\d+\.?(\s+\d+\.?)*$/.test(typed);
  return typed
    .split(isNumbers ? /\s+/ : ",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function chosen(indexes: readonly number[]): LineResult<PlainSelected> {
  const ending = choosing(indexes);
  return accept({ ending, marked: ending.indexes });
}

function detailsOf(list: SelectList, index: number): readonly string[] {
  const option = list.options[index];
  if (option === undefined) return [`No option ${index + 1}. ${rangeOf(list)}`];
  if (option.preview === undefined) return [`Option ${index + 1} has no details.`];
  return previewLines(option.preview.trimEnd());
}

function detailLines({ options }: SelectList, index: number): readonly string[] {
  const { preview } = options[index] ?? {};
  return preview === undefined ? [] : previewLines(preview, true).map((line) => `   │ ${line}`);
}

function explain(
  list: SelectList,
  match: Extract<OptionMatch, { readonly type: "ambiguous" | "none" }>,
): readonly string[] {
  const typed = oneLine(match.typed);
  if (match.type === "ambiguous") {
    return [`${typed} is ambiguous. Type ${typed}. for the number or =${typed} for the value.`];
  }
  if (/^\d+\.?$/.test(typed)) return [`No option ${typed.replace(".", "")}. ${rangeOf(list)}`];
  const similar = matchingOptions(list, match.typed);
  if (similar.length === 0) return [`No option "${typed}". ${rangeOf(list)}`];
  return [
    `These options contain "${typed}". Type a number.`,
    ...similar.map((index) => optionLine(list, [], index)),
    ...(list.allowsOther === true ? [`Or type =${typed} to give that as your own answer.`] : []),
  ];
}

function rangeOf({ options }: SelectList): string {
  const last = options.length;
  return last < 2 ? "Type 1." : `Type a number from 1 to ${last}.`;
}

type OptionMatch =
  | { readonly type: "option"; readonly index: number }
  /** The user's own answer, where allowed. */
  | { readonly type: "other"; readonly text: string }
  /** Both the number of one option and the value of another. */
  | { readonly type: "ambiguous"; readonly typed: string }
  | { readonly type: "none"; readonly typed: string };

/** `2` is a number or a value, `2.` a number, `=2` a value. */
function matchOption(list: SelectList, typed: string): OptionMatch {
  const value = /^=\s*(.+)$/s.exec(typed)?.[1];
  if (value !== undefined) return matchValue(list, value);
  const position = /^(\d+)(\.?)$/.exec(typed);
  if (position === null) return matchText(list, typed);
  const [, digits = "", stop = ""] = position;
  const index = Number(digits) - 1;
  const isInRange = index >= 0 && index < list.options.length;
  const labelled = findByLabel(list, typed);
  if (stop === "" && labelled !== undefined && labelled !== index) {
    return isInRange ? { type: "ambiguous", typed } : { type: "option", index: labelled };
  }
  return isInRange ? { type: "option", index } : { type: "none", typed };
}

function matchValue(list: SelectList, value: string): OptionMatch {
  const index = findByLabel(list, value);
  if (index !== undefined) return { type: "option", index };
  return list.allowsOther === true
    ? { type: "other", text: value }
    : { type: "none", typed: value };
}

function matchText(list: SelectList, typed: string): OptionMatch {
  const index = findByLabel(list, typed);
  if (index !== undefined) return { type: "option", index };
  return isOwnAnswer(list, typed) ? { type: "other", text: typed } : { type: "none", typed };
}

/** An exact match, or the only match that ignores case. */
function findByLabel({ options }: SelectList, typed: string): number | undefined {
  const exact = options.findIndex((option) => namesOf(option).includes(typed));
  if (exact !== -1) return exact;
  const similar = options.flatMap((option, index) =>
    namesOf(option).some((name) => name.toLowerCase() === typed.toLowerCase()) ? [index] : [],
  );
  return similar.length === 1 ? similar[0] : undefined;
}

function namesOf({ label, typed = label }: ListedOption): readonly string[] {
  return [label, typed];
}
