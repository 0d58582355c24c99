/**
 * The model of a list: its options, which of them typed text means, and which text is the user's own answer.
 * `select-list.ts` draws it, `plain-list.ts` prints it. Pure.
 */
import { neutralize } from "../../util/index.ts";
import { verbatimLines, verbatimProseLines } from "../render/index.ts";

export interface SelectList {
  readonly message: string;
  readonly options: readonly ListedOption[];
  /** Adds a last row for an unlisted answer. */
  readonly allowsOther?: boolean | undefined;
  /** Several options can be selected and are submitted together. */
  readonly isMultiple?: boolean | undefined;
  /** Describes Escape, if it does not cancel the question. */
  readonly escape?: string | undefined;
  /** The answer acts: Enter alone does not choose, and previews are shown verbatim. */
  readonly acts?: boolean | undefined;
  /** An option can be chosen before all its details were on the screen: nothing depends on them. */
  readonly isSkimmed?: boolean | undefined;
}

export interface ListedOption {
  /** One line, neutralized. */
  readonly label: string;
  /** The text the user may type for it, if different. */
  readonly typed?: string;
  /** Neutralized. */
  readonly description?: string;
  /** Any text. */
  readonly preview?: string;
  /** Also matched by the filter: any text. Its words match in any order. */
  readonly searched?: string;
}

export interface SelectState {
  readonly filter: string;
  /** Index of the active option; `options.length` stands for "Other". */
  readonly active: number;
  /** Indexes of the selected options, where several can be selected. */
  readonly marked: readonly number[];
  /** A key other than Enter was pressed, so the user has made a choice. */
  readonly isTouched?: boolean;
}

export type SelectEnding =
  /** In option order. */
  | { readonly type: "chosen"; readonly indexes: readonly number[] }
  /** `isWhole`: the user typed the complete answer; otherwise `text` is only its beginning. */
  | { readonly type: "other"; readonly text: string; readonly isWhole: boolean };

/** Nothing is typed or selected. */
export const untouchedList: SelectState = { filter: "", active: 0, marked: [] };

/** The ending with these options, each once. */
export function choosing(indexes: readonly number[]) {
  const sorted = [...new Set(indexes)].toSorted((one, two) => one - two);
  return { type: "chosen", indexes: sorted } as const;
}

/** The options that contain the text. */
export function matchingOptions({ options }: SelectList, text: string): readonly number[] {
  const wanted = neutralize(text).toLowerCase();
  const words = wanted.split(/\s+/);
  return options.flatMap(({ label, typed = label, searched }, index) => {
    const isNamed = [label, typed].some((name) => name.toLowerCase().includes(wanted));
    const all = searched && `${label}\n${searched}`.toLowerCase();
    return isNamed || (all && words.every((word) => all.includes(word))) ? [index] : [];
  });
}

/** Text contained in an option may be meant as that option, so it is not taken as an answer. */
export function isOwnAnswer(list: SelectList, text: string): boolean {
  return list.allowsOther === true && matchingOptions(list, text).length === 0;
}

/** Verbatim where the answer acts. */
export function previewLines(preview: string, acts = false): readonly string[] {
  return acts ? verbatimLines(preview) : verbatimProseLines(preview);
}
