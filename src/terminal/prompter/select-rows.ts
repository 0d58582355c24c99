/** What there is to choose from, and which of it is in the list while somebody types. */
import { neutralize } from "../../render/index.ts";

export interface SelectList {
  readonly message: string;
  readonly options: readonly ListedOption[];
  /** The last row leads to a text of the person's own. */
  readonly allowsOther?: boolean | undefined;
  /** Options are marked, and sent together. */
  readonly isMultiple?: boolean | undefined;
}

export interface ListedOption {
  /** One harmless line. */
  readonly label: string;
  /** Harmless. */
  readonly description?: string;
  /** Any text. */
  readonly preview?: string;
}

export interface SelectState {
  readonly filter: string;
  /** Of the row: an index of `options`, or the next one for a text of the person's own. */
  readonly active: number;
  /** Indexes of `options`, where several can be chosen. */
  readonly marked: readonly number[];
}

/** More rows than these are scrolled. */
export const PAGE = 10;

/** Of the options that have the filter in them, and of the way out. */
export function rowsOf(list: SelectList, filter: string): readonly number[] {
  const { options, allowsOther = false } = list;
  return [...matching(list, filter), ...(allowsOther ? [options.length] : [])];
}

/** The indexes of the options that have the filter in them. */
export function matching({ options }: SelectList, filter: string): readonly number[] {
  const wanted = neutralize(filter).toLowerCase();
  return options.flatMap(({ label }, index) =>
    label.toLowerCase().includes(wanted) ? [index] : [],
  );
}

/** What was typed is an answer itself if no option has it in it. Empty if it is none. */
export function typedOther(list: SelectList, filter: string): string {
  return list.allowsOther === true && matching(list, filter).length === 0 ? filter.trim() : "";
}
