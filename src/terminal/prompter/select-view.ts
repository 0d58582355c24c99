/** A list to choose from as it is seen. */
import { oneLine, truncate, wrapCode, wrapWords } from "../../render/index.ts";
import { type Asides, footRows } from "./aside.ts";
import { contextLines, moreLines, previewContext } from "./context-preview.ts";
import { stackRows } from "./layout.ts";
import { questionRows } from "./question-line.ts";
import {
  type ListedOption,
  PAGE,
  rowsOf,
  type SelectList,
  type SelectState,
  typedOther,
} from "./select-rows.ts";
import { bufferOf } from "./text-buffer.ts";
import type { Canvas, Frame } from "./widget.ts";

/** Of the preview of the active option. On a low screen there are fewer. */
const MOST_PREVIEW_ROWS = 8;
/** Rows that a long question leaves to the list. */
const LEAST_LIST_ROWS = 3;

interface SelectFrame extends Frame {
  /** Not all of the active option is seen. */
  readonly isOptionCut: boolean;
}

export function viewSelect(
  list: SelectList & { readonly asides: Asides },
  state: SelectState,
  canvas: Canvas,
): SelectFrame {
  const { columns, rows: height, paint } = canvas;
  const rows = rowsOf(list, state.filter);
  const at = rows.indexOf(state.active);
  const option = at === -1 ? undefined : list.options[state.active];
  const active = at === -1 ? NO_ROWS : activeRows(list, state, canvas);
  const details = detailRows(option, canvas);
  const hasMore = list.asides.hasMore || details.isCut || active.isCut;
  const asides = { ...list.asides, hasMore };
  const foot = [
    ...details.rows,
    ...footRows(asides, { own: hintsFor(list, at, rows.length) }, canvas),
  ];
  const labels = rows.flatMap((index) =>
    index === state.active
      ? active.rows.map((row) => paint("cyan", row))
      : [truncate(`  ${labelOf(list, state, index)}`, columns)],
  );
  const none = paint("yellow", truncate(`  ${nothingFor(state.filter)}`, columns));
  const room = height - foot.length - Math.min(LEAST_LIST_ROWS, labels.length);
  const question = questionRows(list, bufferOf(state.filter), { ...canvas, rows: room });
  const stacked = stackRows(
    {
      head: question.rows,
      body: labels.length === 0 ? [none] : labels,
      active: Math.max(0, at),
      activeHeight: active.rows.length,
      foot,
    },
    Math.min(
      height,
      question.rows.length + PAGE + Math.max(0, active.rows.length - 1) + foot.length,
    ),
  );
  return {
    rows: stacked.rows,
    cursor: question.cursor,
    isCut: question.isCut,
    isOptionCut: active.isCut || details.isCut || stacked.rows.length > height,
  };
}

/** All that an option says about itself; in one row of the list there is only its beginning. */
export function optionText({ label, description, preview }: ListedOption): string {
  return [label, description, preview].filter((text) => text !== undefined).join("\n");
}

interface CutRows {
  readonly rows: readonly string[];
  readonly isCut: boolean;
}

const NO_ROWS: CutRows = { rows: [], isCut: false };

/** An option is seen whole when it can be chosen; of what the person has typed the beginning will do. */
function activeRows(list: SelectList, state: SelectState, canvas: Canvas): CutRows {
  const room = canvas.columns - 2;
  const label = labelOf(list, state, state.active);
  if (list.options[state.active] === undefined) {
    return { rows: [`❯ ${truncate(label, room)}`], isCut: false };
  }
  const mark = list.isMultiple === true ? label.slice(0, MARK_WIDTH) : "";
  const wrapped = wrapWords(label.slice(mark.length), room - mark.length);
  const { rows, isCut } = cutRows(wrapped, canvas);
  const indent = " ".repeat(2 + mark.length);
  return {
    rows: rows.map((row, index) =>
      truncate(index === 0 ? `❯ ${mark}${row}` : indent + row, canvas.columns),
    ),
    isCut,
  };
}

/** A third of the screen at most. */
function cutRows(rows: readonly string[], { rows: height }: Canvas): CutRows {
  const most = Math.max(2, Math.floor(height / 3));
  if (rows.length <= most) return { rows, isCut: false };
  const shown = rows.slice(0, most - 1);
  return { rows: [...shown, moreLines(rows.length - shown.length)], isCut: true };
}

function labelOf(list: SelectList, { filter, marked }: SelectState, index: number): string {
  const typed = oneLine(typedOther(list, filter));
  const label = list.options[index]?.label ?? (typed === "" ? "Other…" : `Other: ${typed}`);
  if (list.isMultiple !== true) return label;
  return `${marked.includes(index) ? "[x]" : "[ ]"} ${label}`;
}

const MARK_WIDTH = "[x] ".length;

function nothingFor(filter: string): string {
  return filter === "" ? "There is nothing to choose." : `No option contains "${oneLine(filter)}".`;
}

function detailRows(option: ListedOption | undefined, canvas: Canvas): CutRows {
  const described = descriptionRows(option, canvas);
  const preview = previewRows(option, canvas);
  return { rows: [...described.rows, ...preview.rows], isCut: described.isCut || preview.isCut };
}

function descriptionRows(option: ListedOption | undefined, canvas: Canvas): CutRows {
  if (option?.description === undefined) return { rows: [], isCut: false };
  const { rows, isCut } = cutRows(wrapWords(option.description, canvas.columns - 4), canvas);
  return { rows: rows.map((row) => canvas.paint("dim", `    ${row}`)), isCut };
}

function previewRows(option: ListedOption | undefined, canvas: Canvas): CutRows {
  const { preview = "" } = option ?? {};
  if (preview.trim() === "") return { rows: [], isCut: false };
  const columns = canvas.columns - 4;
  const rows = Math.max(1, Math.min(MOST_PREVIEW_ROWS, Math.floor(canvas.rows / 3)));
  const { shown, hasMore } = previewContext(contextLines(preview, canvas), {
    ...canvas,
    columns,
    rows,
  });
  const bar = canvas.paint("dim", "│");
  const wrapped = shown.flatMap((line) => wrapCode(line, columns));
  return { rows: wrapped.map((row) => `  ${bar} ${row}`), isCut: hasMore };
}

function hintsFor({ isMultiple = false }: SelectList, at: number, count: number) {
  return [
    ...(count > PAGE ? [`${at + 1} of ${count}`] : []),
    "↑↓ move",
    "type to filter",
    ...(isMultiple ? ["Space marks", "Enter sends"] : ["Enter chooses"]),
  ];
}
