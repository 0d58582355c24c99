/** A long text on the whole screen, to be read and left again. */
import { truncate } from "../../render/index.ts";
import type { Key } from "./key.ts";
import { wrapCode } from "./layout.ts";
import { type Canvas, end, type Frame, type Size, type Step, wait, type Widget } from "./widget.ts";

export interface ScrollState {
  /** The first row that is seen. */
  readonly top: number;
}

export interface ScrollEnding {
  readonly type: "left";
}

/** The lines may be painted. They are made anew for every width. */
export function scrollView(
  linesFor: (columns: number) => readonly string[],
): Widget<ScrollState, ScrollEnding> {
  let wrapped: { readonly columns: number; readonly rows: readonly string[] } | undefined;
  const rowsFor = (columns: number) => {
    if (wrapped?.columns !== columns) {
      wrapped = { columns, rows: linesFor(columns).flatMap((line) => wrapCode(line, columns)) };
    }
    return wrapped.rows;
  };
  return {
    update: (state, key, size) =>
      scroll(state, key, { ...size, count: rowsFor(size.columns).length }),
    view: (state, canvas) => viewScrolled(rowsFor(canvas.columns), state, canvas),
  };
}

interface ScrollSize extends Size {
  readonly count: number;
}

function scroll({ top }: ScrollState, key: Key, size: ScrollSize): Step<ScrollState, ScrollEnding> {
  const page = pageOf(size);
  const last = Math.max(0, size.count - page);
  const name = key.type === "named" ? key.name : key.text;
  const isLeft = name === "q" || name === "v" || name === "ctrl-o" || name === "ctrl-d";
  if (isLeft) return end({ type: "left" });
  const to: Readonly<Record<string, number>> = {
    up: top - 1,
    down: top + 1,
    enter: top + 1,
    "page-up": top - page,
    "page-down": top + page,
    " ": top + page,
    home: 0,
    end: last,
  };
  return wait({ top: Math.min(Math.max(0, to[name] ?? top), last) });
}

function viewScrolled(all: readonly string[], { top }: ScrollState, canvas: Canvas): Frame {
  const page = pageOf(canvas);
  const first = Math.min(top, Math.max(0, all.length - page));
  const shown = all.slice(first, first + page);
  const status = `${first + 1}-${first + shown.length} of ${all.length} · ↑↓ PageUp PageDown Home End · q goes back`;
  const blank = Array.from({ length: page - shown.length }, () => "");
  return {
    rows: [...shown, ...blank, canvas.paint("dim", truncate(status, canvas.columns))],
    cursor: { row: page, column: 0 },
  };
}

/** The last row of the screen says where we are. */
function pageOf({ rows }: Size): number {
  return Math.max(1, rows - 1);
}
