/** A list to choose from as it is seen. */
import { oneLine, truncate, wrapWords } from "../../render/index.ts";
import { type Asides, footRows } from "./aside.ts";
import { contextLines, previewContext } from "./context-preview.ts";
import { stackRows, wrapCode } from "./layout.ts";
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
export const MOST_PREVIEW_ROWS = 8;

export function viewSelect(
  list: SelectList & { readonly asides: Asides },
  state: SelectState,
  canvas: Canvas,
): Frame {
  const { columns, rows: height, paint } = canvas;
  const question = questionRows(list, bufferOf(state.filter), canvas);
  const rows = rowsOf(list, state.filter);
  const at = rows.indexOf(state.active);
  const labels = rows.map((index) => {
    const label = truncate(labelOf(list, state, index), columns - 2);
    return index === state.active ? paint("cyan", `❯ ${label}`) : `  ${label}`;
  });
  const option = at === -1 ? undefined : list.options[state.active];
  const { rows: preview, hasMore } = previewRows(option, canvas);
  const asides = { ...list.asides, hasMore: list.asides.hasMore || hasMore };
  const foot = [
    ...descriptionRows(option, canvas),
    ...preview,
    ...footRows(asides, { own: hintsFor(list, at, rows.length) }, canvas),
  ];
  const none = paint("yellow", truncate(`  ${nothingFor(state.filter)}`, columns));
  const stacked = stackRows(
    {
      head: question.rows,
      body: labels.length === 0 ? [none] : labels,
      active: Math.max(0, at),
      foot,
    },
    Math.min(height, question.rows.length + PAGE + foot.length),
  );
  return { rows: stacked.rows, cursor: question.cursor };
}

function labelOf(list: SelectList, { filter, marked }: SelectState, index: number): string {
  const typed = oneLine(typedOther(list, filter));
  const label = list.options[index]?.label ?? (typed === "" ? "Other…" : `Other: ${typed}`);
  if (list.isMultiple !== true) return label;
  return `${marked.includes(index) ? "[x]" : "[ ]"} ${label}`;
}

function nothingFor(filter: string): string {
  return filter === "" ? "There is nothing to choose." : `No option contains "${oneLine(filter)}".`;
}

function descriptionRows(
  option: ListedOption | undefined,
  { columns, paint }: Canvas,
): readonly string[] {
  if (option?.description === undefined) return [];
  return wrapWords(option.description, columns - 4).map((row) => paint("dim", `    ${row}`));
}

function previewRows(
  option: ListedOption | undefined,
  canvas: Canvas,
): { readonly rows: readonly string[]; readonly hasMore: boolean } {
  const { preview = "" } = option ?? {};
  if (preview.trim() === "") return { rows: [], hasMore: false };
  const columns = canvas.columns - 4;
  const rows = Math.max(1, Math.min(MOST_PREVIEW_ROWS, Math.floor(canvas.rows / 3)));
  const { shown, hasMore } = previewContext(contextLines(preview, canvas), {
    ...canvas,
    columns,
    rows,
  });
  const bar = canvas.paint("dim", "│");
  const wrapped = shown.flatMap((line) => wrapCode(line, columns));
  return { rows: wrapped.map((row) => `  ${bar} ${row}`), hasMore };
}

function hintsFor({ isMultiple = false }: SelectList, at: number, count: number) {
  return [
    ...(count > PAGE ? [`${at + 1} of ${count}`] : []),
    "↑↓ move",
    "type to filter",
    ...(isMultiple ? ["Space marks", "Enter sends"] : ["Enter chooses"]),
  ];
}
