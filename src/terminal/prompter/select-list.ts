/** One of several: arrows move, typing narrows the list down. */
import { oneLine, truncate } from "../../render/index.ts";
import { assertNever } from "../../util/index.ts";
import type { Key, KeyName } from "./key.ts";
import { stackRows, wrapWords } from "./layout.ts";
import { hintRow, questionRows } from "./question-line.ts";
import { bufferOf, editBuffer } from "./text-buffer.ts";
import {
  type Canvas,
  end,
  type Frame,
  type ReadMore,
  type Step,
  wait,
  type Widget,
} from "./widget.ts";

export interface SelectList {
  readonly message: string;
  readonly options: readonly ListedOption[];
  /** There is more above the question than is shown. */
  readonly hasMore: boolean;
}

/** Both harmless, the label on one line. */
export interface ListedOption {
  readonly label: string;
  readonly description?: string;
}

export interface SelectState {
  readonly filter: string;
  /** An index of `options`. */
  readonly active: number;
}

export type SelectEnding =
  | { readonly type: "chosen"; readonly index: number }
  | ReadMore
  | { readonly type: "cancelled" };

/** More than these are scrolled. */
export const PAGE = 10;

export function selectList(list: SelectList): Widget<SelectState, SelectEnding> {
  return {
    update: (state, key) => updateList(list, state, key),
    view: (state, canvas) => viewList(list, state, canvas),
  };
}

function updateList(
  list: SelectList,
  state: SelectState,
  key: Key,
): Step<SelectState, SelectEnding> {
  switch (key.type) {
    case "text":
      return wait(narrow(list, state, state.filter + key.text));
    case "paste":
      return wait(narrow(list, state, state.filter + oneLine(key.text)));
    case "named":
      return updateByName(list, state, key.name);
    default:
      return assertNever(key);
  }
}

function updateByName(
  list: SelectList,
  state: SelectState,
  name: KeyName,
): Step<SelectState, SelectEnding> {
  const matches = matching(list, state.filter);
  switch (name) {
    case "enter":
    case "new-line":
      return matches.length === 0 ? wait(state) : end({ type: "chosen", index: state.active });
    case "ctrl-d":
      return end({ type: "cancelled" });
    case "ctrl-o":
      return list.hasMore ? end({ type: "read_more" }) : wait(state);
    case "backspace":
    case "ctrl-w":
    case "ctrl-u": {
      const edited = editBuffer(bufferOf(state.filter), { type: "named", name });
      return wait(narrow(list, state, edited?.text ?? ""));
    }
    default:
      return wait({ ...state, active: move(matches, state.active, name) });
  }
}

/** The active option stays active while it matches. */
function narrow(list: SelectList, { active }: SelectState, filter: string): SelectState {
  const matches = matching(list, filter);
  return { filter, active: matches.includes(active) ? active : (matches[0] ?? active) };
}

function move(matches: readonly number[], active: number, name: KeyName): number {
  const at = matches.indexOf(active);
  const last = matches.length - 1;
  const to: Partial<Record<KeyName, number>> = {
    up: at === 0 ? last : at - 1,
    down: at === last ? 0 : at + 1,
    "page-up": Math.max(0, at - PAGE),
    "page-down": Math.min(last, at + PAGE),
    home: 0,
    end: last,
  };
  return matches[to[name] ?? at] ?? active;
}

/** The indexes of the options that have the filter in them. */
function matching({ options }: SelectList, filter: string): readonly number[] {
  const wanted = filter.toLowerCase();
  return options.flatMap(({ label }, index) =>
    label.toLowerCase().includes(wanted) ? [index] : [],
  );
}

function viewList(list: SelectList, { filter, active }: SelectState, canvas: Canvas): Frame {
  const { columns, rows, paint } = canvas;
  const question = questionRows(list, bufferOf(filter), canvas);
  const matches = matching(list, filter);
  const at = matches.indexOf(active);
  const labels = matches.map((index) => {
    const label = truncate(list.options[index]?.label ?? "", columns - 2);
    return index === active ? paint("cyan", `❯ ${label}`) : `  ${label}`;
  });
  const none =
    filter === "" ? "There is nothing to choose." : `No option contains "${oneLine(filter)}".`;
  const foot = [
    ...(at === -1 ? [] : descriptionRows(list.options[active], canvas)),
    hintRow(hintsFor(list, at, matches.length), canvas),
  ];
  const body = labels.length === 0 ? [paint("yellow", truncate(`  ${none}`, columns))] : labels;
  const stacked = stackRows(
    { head: question.rows, body, active: Math.max(0, at), foot },
    Math.min(rows, question.rows.length + PAGE + foot.length),
  );
  return { rows: stacked.rows, cursor: question.cursor };
}

function descriptionRows(
  option: ListedOption | undefined,
  { columns, paint }: Canvas,
): readonly string[] {
  if (option?.description === undefined) return [];
  return wrapWords(option.description, columns - 4).map((row) => paint("dim", `    ${row}`));
}

function hintsFor({ hasMore }: SelectList, at: number, count: number): readonly string[] {
  return [
    ...(count > PAGE ? [`${at + 1} of ${count}`] : []),
    "↑↓ move",
    "type to filter",
    "Enter chooses",
    ...(hasMore ? ["Ctrl-O shows all"] : []),
  ];
}
