/** Which option of a list was meant by what was typed. */
import type { SelectList } from "../select-rows.ts";
import { matching } from "../select-rows.ts";

export type Meant =
  | { readonly type: "option"; readonly index: number }
  /** An answer of the person's own, where that is allowed. */
  | { readonly type: "other"; readonly text: string }
  /** The number of one option, and the value of another. */
  | { readonly type: "unclear"; readonly typed: string }
  | { readonly type: "nothing"; readonly typed: string };

/** `2` is a number or a value, `2.` a number, `=2` a value. */
export function findMeant(list: SelectList, typed: string): Meant {
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
