/** The widget for choosing one or several options: arrows move, typing filters. */
import {
  moreLines,
  plain,
  textWidth,
  truncate,
  wrapCode,
  wrapVerbatim,
  wrapWords,
} from "../render/index.ts";
import { assertNever, oneLine } from "../../util/index.ts";
import { contextLines, previewContext } from "./context.ts";
import { isEnter, type Key, type KeyName } from "./key.ts";
import {
  choosing,
  isOwnAnswer,
  type ListedOption,
  matchingOptions,
  previewLines,
  type SelectEnding,
  type SelectList,
  type SelectState,
  untouchedList,
} from "./listed-options.ts";
import {
  type SideAction,
  type SideActions,
  findSideAction,
  footerRows,
  questionRows,
  stackRows,
} from "./question-rows.ts";
import { bufferOf, editBuffer } from "./text-buffer.ts";
import type { Canvas, Frame, Size, Step, Widget } from "./widget.ts";

export type ListEnding = SelectEnding | SideAction | { readonly type: "cancelled" };

type SelectStep = Step<SelectState, ListEnding>;

/** Below the options, for a widget that has the list as a part. */
export interface ListFoot {
  readonly rows: (canvas: Canvas) => readonly string[];
  /** Instead of the list's own. */
  readonly hints: readonly string[];
}

type OpenList = SelectList & {
  readonly sideActions: SideActions;
  readonly foot?: ListFoot | undefined;
};

export function selectList(
  list: SelectList,
  sideActions: SideActions,
  foot?: ListFoot,
): Widget<SelectState, ListEnding> {
  const open = { ...list, sideActions, foot };
  return {
    update: (state, key, size) => {
      const isReadKey = key.type === "named" && key.name === "ctrl-o";
      const preview = isReadKey ? findPreview(open, state, size) : undefined;
      const sideAction = preview ?? findSideAction(sideActions, key);
      if (sideAction !== undefined) return { ending: sideAction };
      if (isEnter(key) && list.acts === true && state.isTouched !== true) return { state };
      const step = touch(updateList(list, state, key), key);
      const text = "ending" in step ? findUnread(open, step.ending, size) : undefined;
      return text === undefined ? step : { ending: { ...readOption(text), isRequired: true } };
    },
    stepBack: (state) => (state.filter === "" ? undefined : filterBy(list, state, "")),
    view: (state, canvas) => viewSelect(open, state, canvas),
  };
}

/** Everything about the active option, for the pager. */
function findPreview(list: OpenList, state: SelectState, size: Size): SideAction | undefined {
  if (!rowsOf(list, state.filter).includes(state.active)) return undefined;
  const option = list.options[state.active];
  if (option === undefined) return undefined;
  const { isOptionCut } = viewSelect(list, state, { ...size, paint: plain });
  if (option.preview === undefined && !isOptionCut) return undefined;
  return readOption(optionText(list, option));
}

function readOption(text: string) {
  return { type: "read_more", text, style: "drawn" } as const;
}

function touch(step: SelectStep, key: Key): SelectStep {
  return "ending" in step || isEnter(key) ? step : { state: { ...step.state, isTouched: true } };
}

/** The text of a chosen option that did not fit on the screen and is unread. */
function findUnread(list: OpenList, ending: ListEnding, size: Size): string | undefined {
  if (ending.type !== "chosen" || list.isSkimmed === true) return undefined;
  const canvas = { ...size, paint: plain };
  return ending.indexes
    .filter((active) => viewSelect(list, { ...untouchedList, active }, canvas).isOptionCut)
    .map((index) => optionText(list, list.options[index] ?? { label: "" }))
    .find((text) => list.sideActions.read?.has(text) !== true);
}

function updateList(list: SelectList, state: SelectState, key: Key): SelectStep {
  switch (key.type) {
    case "text":
      return list.isMultiple === true && key.text === " "
        ? toggleMark(list, state)
        : { state: filterBy(list, state, state.filter + key.text) };
    case "paste": {
      const line = key.text.replaceAll(/\s+/g, " ").trim();
      return { state: filterBy(list, state, state.filter + line) };
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
      return { ending: { type: "cancelled" } };
    case "ctrl-a":
      return { state: list.isMultiple === true ? toggleAllMarks(list, state) : state };
    case "backspace":
    case "ctrl-w":
    case "ctrl-u": {
      const edited = editBuffer(bufferOf(state.filter), { type: "named", name });
      return { state: filterBy(list, state, edited?.text ?? "") };
    }
    default:
      return { state: { ...state, active: move(rowsOf(list, state.filter), state.active, name) } };
  }
}

/** "Other" is chosen with Enter even where options are selected with Space. */
function choose(list: SelectList, state: SelectState): SelectStep {
  const { filter, active, marked } = state;
  const isListed = rowsOf(list, filter).includes(active);
  if (isListed && active === list.options.length) return { ending: otherEnding(list, filter) };
  if (list.isMultiple === true) return { ending: choosing(marked) };
  return isListed ? { ending: choosing([active]) } : { state };
}

function otherEnding(list: SelectList, filter: string): SelectEnding {
  const text = typedOther(list, filter);
  return text === ""
    ? { type: "other", text: filter.trim(), isWhole: false }
    : { type: "other", text, isWhole: true };
}

function toggleMark(list: SelectList, state: SelectState): SelectStep {
  const { filter, active, marked } = state;
  // The user is typing a multi-word answer.
  if (typedOther(list, filter) !== "") return { state: filterBy(list, state, `${filter} `) };
  if (!rowsOf(list, filter).includes(active)) return { state };
  if (active === list.options.length) return { ending: otherEnding(list, filter) };
  const others = marked.filter((index) => index !== active);
  const isNumbered = findNumbered(list, filter) !== undefined;
  return {
    state: {
      ...state,
      filter: isNumbered ? "" : filter,
      marked: marked.includes(active) ? others : [...others, active],
    },
  };
}

/** Selects all listed options, or none if all are selected. */
function toggleAllMarks(list: SelectList, state: SelectState): SelectState {
  const { filter, marked } = state;
  const matches = listedOptions(list, filter);
  const others = marked.filter((index) => !matches.includes(index));
  const areMarked = matches.every((index) => marked.includes(index));
  return { ...state, marked: areMarked ? others : [...others, ...matches] };
}

/** The active option stays active while it matches. "Other" becomes active only if no option matches. */
function filterBy(list: SelectList, state: SelectState, filter: string): SelectState {
  const { active } = state;
  const numbered = findNumbered(list, filter);
  if (numbered !== undefined) return { ...state, filter, active: numbered };
  const stays = matchingOptions(list, filter).includes(active);
  return { ...state, filter, active: stays ? active : (rowsOf(list, filter)[0] ?? active) };
}

function move(rows: readonly number[], active: number, name: KeyName): number {
  const at = rows.indexOf(active);
  const last = rows.length - 1;
  const to: Partial<Record<KeyName, number>> = {
    up: at === 0 ? last : at - 1,
    down: at === last ? 0 : at + 1,
    "page-up": Math.max(0, at - PAGE_SIZE),
    "page-down": Math.min(last, at + PAGE_SIZE),
    home: 0,
    end: last,
  };
  return rows[to[name] ?? at] ?? active;
}

/** Rows that a long question must leave for the list. */
const MIN_LIST_ROWS = 3;

interface SelectFrame extends Frame {
  /** Part of the active option is hidden. */
  readonly isOptionCut: boolean;
}

function viewSelect(list: OpenList, state: SelectState, canvas: Canvas): SelectFrame {
  const { columns, rows: height, paint } = canvas;
  const rows = rowsOf(list, state.filter);
  const at = rows.indexOf(state.active);
  const option = at === -1 ? undefined : list.options[state.active];
  const active = at === -1 ? NO_ROWS : activeRows(list, state, canvas);
  const beside = descriptionBeside(option, active.rows, columns);
  const details = detailRows(option, { isDescribed: beside === "", acts: list.acts }, canvas);
  const hasMore = list.sideActions.hasMore || details.isCut || active.isCut;
  const sideActions = { ...list.sideActions, hasMore };
  const own = list.foot?.hints ?? hintsFor(list, state, { at, count: rows.length });
  const foot = [
    ...details.rows,
    ...(list.foot?.rows(canvas) ?? []),
    ...footerRows(sideActions, { own }, canvas),
  ];
  const shown = rows.map((index) =>
    index === state.active
      ? active.rows.map((row) => paint("cyan", row) + (beside && paint("dim", beside)))
      : inactiveRows(list, state, { index, canvas }),
  );
  const labels = shown.flat();
  const none = paint("yellow", truncate(`  ${emptyMessage(state.filter)}`, columns));
  const room = height - foot.length - Math.min(MIN_LIST_ROWS, labels.length);
  const question = questionRows(list, bufferOf(state.filter), { ...canvas, rows: room });
  const stacked = stackRows(
    {
      head: question.rows,
      body: labels.length === 0 ? [none] : labels,
      active: shown.slice(0, Math.max(0, at)).flat().length,
      activeHeight: active.rows.length,
      foot,
    },
    Math.min(
      height,
      question.rows.length + PAGE_SIZE + Math.max(0, active.rows.length - 1) + foot.length,
    ),
  );
  return {
    rows: stacked.rows,
    cursor: question.cursor,
    isCut: question.isCut,
    isOptionCut: active.isCut || details.isCut || stacked.rows.length > height,
  };
}

/** Shows as much of the description as fits. Where the answer acts, no label is cut to look like another. */
function inactiveRows(
  list: SelectList,
  state: SelectState,
  { index, canvas: { columns, paint } }: { readonly index: number; readonly canvas: Canvas },
): readonly string[] {
  const whole = `  ${labelOf(list, state, index)}`;
  if (list.acts === true && textWidth(whole) > columns) {
    return wrapVerbatim(whole.trimStart(), columns - 2).map((row) => `  ${row}`);
  }
  const label = truncate(whole, columns);
  const { description } = list.options[index] ?? {};
  const room = columns - textWidth(label) - SEPARATOR.length;
  if (description === undefined || room < MIN_DESCRIPTION_WIDTH) return [label];
  return [label + paint("dim", SEPARATOR + truncate(description, room))];
}

const SEPARATOR = " - ";
const MIN_DESCRIPTION_WIDTH = 10;

/** A selectable option is shown in full; text that the user typed may be truncated. */
function activeRows(list: SelectList, state: SelectState, canvas: Canvas): CutRows {
  const room = canvas.columns - 2;
  const label = labelOf(list, state, state.active);
  if (list.options[state.active] === undefined) {
    return { rows: [`❯ ${truncate(label, room)}`], isCut: false };
  }
  const mark = list.isMultiple === true ? label.slice(0, MARK_WIDTH) : "";
  const wrapped = wrapVerbatim(label.slice(mark.length), room - mark.length);
  const { rows, isCut } = cutRows(wrapped, canvas);
  const indent = " ".repeat(2 + mark.length);
  return {
    rows: rows.map((row, index) =>
      truncate(index === 0 ? `❯ ${mark}${row}` : indent + row, canvas.columns),
    ),
    isCut,
  };
}

function labelOf(list: SelectList, { filter, marked }: SelectState, index: number): string {
  const typed = oneLine(typedOther(list, filter));
  const label = list.options[index]?.label ?? (typed === "" ? "Other…" : `Other: ${typed}`);
  if (list.isMultiple !== true) return label;
  return `${marked.includes(index) ? "[x]" : "[ ]"} ${label}`;
}

const MARK_WIDTH = "[x] ".length;

function emptyMessage(filter: string): string {
  return filter === "" ? "No options." : `No matches for "${oneLine(filter)}".`;
}

/** The active option's description, if all of it fits after the label. */
function descriptionBeside(
  option: ListedOption | undefined,
  label: readonly string[],
  columns: number,
): string {
  const [row = "", ...others] = label;
  const { description = "" } = option ?? {};
  const text = SEPARATOR + description;
  const fits = textWidth(row) + textWidth(text) <= columns && !description.includes("\n");
  return description !== "" && others.length === 0 && fits ? text : "";
}

/** The rows below the list. */
function detailRows(
  option: ListedOption | undefined,
  { isDescribed, acts = false }: { isDescribed: boolean; acts: boolean | undefined },
  canvas: Canvas,
): CutRows {
  const described = isDescribed ? descriptionRows(option, canvas) : NO_ROWS;
  const preview = previewRows(option, canvas, acts);
  return { rows: [...described.rows, ...preview.rows], isCut: described.isCut || preview.isCut };
}

function descriptionRows(option: ListedOption | undefined, canvas: Canvas): CutRows {
  if (option?.description === undefined) return { rows: [], isCut: false };
  const { rows, isCut } = cutRows(wrapWords(option.description, canvas.columns - 4), canvas);
  return {
    rows: rows.map((row) => canvas.paint("dim", truncate(`    ${row}`, canvas.columns))),
    isCut,
  };
}

function previewRows(option: ListedOption | undefined, canvas: Canvas, acts: boolean): CutRows {
  const { preview = "" } = option ?? {};
  if (acts ? preview === "" : preview.trim() === "") return { rows: [], isCut: false };
  const columns = canvas.columns - 4;
  const rows = Math.max(1, Math.min(MAX_PREVIEW_ROWS, Math.floor(canvas.rows / 3)));
  const lines = contextLines(preview, { ...canvas, columns }, acts ? "verbatim" : "prose");
  const { shown, hasMore } = previewContext(lines, { ...canvas, columns, rows });
  const bar = canvas.paint("dim", "│");
  const wrapped = shown.flatMap((line) => wrapCode(line, columns));
  return { rows: wrapped.map((row) => `  ${bar} ${row}`), isCut: hasMore };
}

/** For the active option; fewer on a small screen. */
const MAX_PREVIEW_ROWS = 8;
/** The full option; the list shows only its beginning. */
function optionText({ acts }: SelectList, { label, description, preview }: ListedOption): string {
  const lines = preview === undefined ? [] : previewLines(preview, acts);
  return [label, description, ...lines].filter((text) => text !== undefined).join("\n");
}

interface CutRows {
  readonly rows: readonly string[];
  readonly isCut: boolean;
}

const NO_ROWS: CutRows = { rows: [], isCut: false };

/** At most a third of the screen. */
function cutRows(rows: readonly string[], { rows: height }: Canvas): CutRows {
  const most = Math.max(2, Math.floor(height / 3));
  if (rows.length <= most) return { rows, isCut: false };
  const shown = rows.slice(0, most - 1);
  return { rows: [...shown, moreLines(rows.length - shown.length)], isCut: true };
}

function hintsFor(
  { isMultiple = false, escape, acts = false }: SelectList,
  { isTouched = false }: SelectState,
  { at, count }: { readonly at: number; readonly count: number },
) {
  const enter = isMultiple ? "Enter submit" : "Enter select";
  return [
    ...(count > PAGE_SIZE ? [`${at + 1} of ${count}`] : []),
    "↑↓ move",
    "type to filter",
    ...(isMultiple ? ["Space select"] : []),
    acts && !isTouched ? `then ${enter}` : enter,
    ...(escape === undefined ? [] : [`Esc ${escape}`]),
  ];
}

/** Longer lists scroll. */
const PAGE_SIZE = 10;

/** The indexes of the listed options and "Other". */
function rowsOf(list: SelectList, filter: string): readonly number[] {
  const { options, allowsOther = false } = list;
  return [...listedOptions(list, filter), ...(allowsOther ? [options.length] : [])];
}

/** A number selects instead of filtering. */
function listedOptions(list: SelectList, filter: string): readonly number[] {
  return matchingOptions(list, findNumbered(list, filter) === undefined ? filter : "");
}

/** The option with the typed number, unless the number is also a label, as in plain mode. */
function findNumbered({ options }: SelectList, filter: string): number | undefined {
  const index = /^\d+$/.test(filter) ? Number(filter) - 1 : -1;
  const isLabel = options.some(({ label }) => label === filter);
  return options[index] === undefined || isLabel ? undefined : index;
}

/** The typed text if no option contains it, so that it is the user's own answer; otherwise empty. */
function typedOther(list: SelectList, filter: string): string {
  const isNumbered = findNumbered(list, filter) !== undefined;
  return !isNumbered && isOwnAnswer(list, filter) ? filter.trim() : "";
}
