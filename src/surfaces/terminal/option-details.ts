/** An option's details: description and preview below a list, and everything in the pager. */
import {
  moreLines,
  truncate,
  verbatimLines,
  verbatimProseLines,
  wrapCode,
  wrapWords,
} from "../render/index.ts";
import { contextLines, previewContext } from "./context.ts";
import type { ListedOption, SelectList } from "./dialogue.ts";
import type { Canvas } from "./widget.ts";

/** The rows below the list. */
export function detailRows(
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
export function optionText(
  { acts = false }: SelectList,
  { label, description, preview }: ListedOption,
): string {
  const lines = preview === undefined ? [] : (acts ? verbatimLines : verbatimProseLines)(preview);
  return [label, description, ...lines].filter((text) => text !== undefined).join("\n");
}

export interface CutRows {
  readonly rows: readonly string[];
  readonly isCut: boolean;
}

export const NO_ROWS: CutRows = { rows: [], isCut: false };

/** At most a third of the screen. */
export function cutRows(rows: readonly string[], { rows: height }: Canvas): CutRows {
  const most = Math.max(2, Math.floor(height / 3));
  if (rows.length <= most) return { rows, isCut: false };
  const shown = rows.slice(0, most - 1);
  return { rows: [...shown, moreLines(rows.length - shown.length)], isCut: true };
}
