/** One or several of a list: arrows move, typing narrows the list down. */
import { plain } from "../../render/index.ts";
import { assertNever } from "../../util/index.ts";
import { type Aside, type Asides, findAside } from "./aside.ts";
import type { SelectEnding } from "./dialogue.ts";
import type { Key, KeyName } from "./key.ts";
import {
  matching,
  PAGE,
  rowsOf,
  type SelectList,
  type SelectState,
  typedOther,
} from "./select-rows.ts";
import { optionText, viewSelect } from "./select-view.ts";
import { bufferOf, editBuffer } from "./text-buffer.ts";
import { end, type Size, type Step, wait, type Widget } from "./widget.ts";

type ListEnding = SelectEnding | Aside | { readonly type: "cancelled" };

type SelectStep = Step<SelectState, ListEnding>;

type OpenList = SelectList & { readonly asides: Asides };

export function selectList(list: SelectList, asides: Asides): Widget<SelectState, ListEnding> {
  const open = { ...list, asides };
  return {
    update: (state, key, size) => {
      const isReadKey = key.type === "named" && key.name === "ctrl-o";
      const preview = isReadKey ? findPreview(open, state, size) : undefined;
      const aside = preview ?? findAside(asides, key);
      if (aside !== undefined) return end(aside);
      const step = updateList(list, state, key);
      const text = step.type === "end" ? findUnread(open, step.ending, size) : undefined;
      return text === undefined ? step : end({ type: "read_more", text, isRequired: true });
    },
    view: (state, canvas) => viewSelect(open, state, canvas),
  };
}

/** All of what is shown of the active option, before all that is above the question. */
function findPreview(list: OpenList, state: SelectState, size: Size): Aside | undefined {
  if (!rowsOf(list, state.filter).includes(state.active)) return undefined;
  const option = list.options[state.active];
  if (option === undefined) return undefined;
  const { isOptionCut } = viewSelect(list, state, { ...size, paint: plain });
  if (option.preview === undefined && !isOptionCut) return undefined;
  return { type: "read_more", text: optionText(option) };
}

/** What an option that is chosen says about itself, if it does not fit and was not read. */
function findUnread(list: OpenList, ending: ListEnding, size: Size): string | undefined {
  if (ending.type !== "chosen") return undefined;
  const canvas = { ...size, paint: plain };
  return ending.indexes
    .filter((active) => viewSelect(list, { filter: "", active, marked: [] }, canvas).isOptionCut)
    .map((index) => optionText(list.options[index] ?? { label: "" }))
    .find((text) => list.asides.read?.has(text) !== true);
}

function updateList(list: SelectList, state: SelectState, key: Key): SelectStep {
  switch (key.type) {
    case "text":
      return list.isMultiple === true && key.text === " "
        ? mark(list, state)
        : wait(narrow(list, state, state.filter + key.text));
    case "paste": {
      const line = key.text.replaceAll(/\s+/g, " ").trim();
      return wait(narrow(list, state, state.filter + line));
    }
    case "named":
      return updateByName(list, state, key.name);
    default:
      return assertNever(key);
  }
}

function updateByName(list: SelectList, state: SelectState, name: KeyName): SelectStep {
  switch (name) {
    case "enter":
    case "new-line":
      return choose(list, state);
    case "ctrl-d":
      return end({ type: "cancelled" });
    case "ctrl-a":
      return wait(list.isMultiple === true ? markAll(list, state) : state);
    case "backspace":
    case "ctrl-w":
    case "ctrl-u": {
      const edited = editBuffer(bufferOf(state.filter), { type: "named", name });
      return wait(narrow(list, state, edited?.text ?? ""));
    }
    default:
      return wait({ ...state, active: move(rowsOf(list, state.filter), state.active, name) });
  }
}

/** The way out is chosen like an option, also where options are only marked. */
function choose(list: SelectList, state: SelectState): SelectStep {
  const { filter, active, marked } = state;
  const isThere = rowsOf(list, filter).includes(active);
  if (isThere && active === list.options.length) return end(otherEnding(list, filter));
  if (list.isMultiple === true) {
    return end({ type: "chosen", indexes: marked.toSorted((one, two) => one - two) });
  }
  return isThere ? end({ type: "chosen", indexes: [active] }) : wait(state);
}

function otherEnding(list: SelectList, filter: string): SelectEnding {
  const text = typedOther(list, filter);
  return text === ""
    ? { type: "other", text: filter.trim(), isWhole: false }
    : { type: "other", text, isWhole: true };
}

function mark(list: SelectList, state: SelectState): SelectStep {
  const { filter, active, marked } = state;
  // A text of several words is being typed.
  if (typedOther(list, filter) !== "") return wait(narrow(list, state, `${filter} `));
  if (!rowsOf(list, filter).includes(active)) return wait(state);
  if (active === list.options.length) return end(otherEnding(list, filter));
  const others = marked.filter((index) => index !== active);
  return wait({ ...state, marked: marked.includes(active) ? others : [...others, active] });
}

/** All that are in the list, or none of them if they all are marked. */
function markAll(list: SelectList, state: SelectState): SelectState {
  const { filter, marked } = state;
  const matches = matching(list, filter);
  const others = marked.filter((index) => !matches.includes(index));
  const areMarked = matches.every((index) => marked.includes(index));
  return { ...state, marked: areMarked ? others : [...others, ...matches] };
}

/** The active option stays active while it matches. The way out is for when nothing does. */
function narrow(list: SelectList, state: SelectState, filter: string): SelectState {
  const { active } = state;
  const stays = matching(list, filter).includes(active);
  return { ...state, filter, active: stays ? active : (rowsOf(list, filter)[0] ?? active) };
}

function move(rows: readonly number[], active: number, name: KeyName): number {
  const at = rows.indexOf(active);
  const last = rows.length - 1;
  const to: Partial<Record<KeyName, number>> = {
    up: at === 0 ? last : at - 1,
    down: at === last ? 0 : at + 1,
    "page-up": Math.max(0, at - PAGE),
    "page-down": Math.min(last, at + PAGE),
    home: 0,
    end: last,
  };
  return rows[to[name] ?? at] ?? active;
}
