/**
 * The widget that shows a long text on the full screen. With `mustRead`, the user has to read or skip to
 * the end before the question can be answered.
 */
import { stripVTControlCharacters } from "node:util";
import stringWidth from "fast-string-width";
import { moreLines, truncate, wrapCode } from "../render/index.ts";
import type { Key } from "./key.ts";
import type { Canvas, Frame, Size, Step, Widget } from "./widget.ts";

export interface PagerState {
  /** The first visible row, at a width of `columns`. */
  readonly top: number;
  readonly columns: number;
  /** How many characters come before that row; unlike the row, this does not change with the width. */
  readonly before: number;
  /** The user has seen the last row. */
  readonly isRead: boolean;
  /** The user pressed a key that would decide, before the end was visible. */
  readonly isHurried?: boolean;
}

export type PagerEnding =
  | { readonly type: "left"; readonly isRead: boolean }
  | { readonly type: "cancelled" };

export interface PagerText {
  /** The lines may be painted. */
  readonly linesFor: (columns: number) => readonly string[];
  /** The pager cannot be left until its end was visible. */
  readonly mustRead?: boolean;
}

export const pagerStart: PagerState = { top: 0, columns: 0, before: 0, isRead: false };

export function pager({ linesFor, mustRead = false }: PagerText): Widget<PagerState, PagerEnding> {
  let wrapped: Wrapped | undefined;
  const wrapFor = (columns: number): Wrapped => {
    if (wrapped?.columns !== columns) wrapped = wrapLines(linesFor(columns), columns);
    return wrapped;
  };
  return {
    // Otherwise keys typed ahead could skip pages unseen.
    isDrawnBetweenKeys: true,
    update: (state, key, size) => {
      const text = wrapFor(size.columns);
      const placed = placeIn(text, state, size);
      const step = scroll({ text, size, mustRead }, placed, key);
      if ("ending" in step || step.state.top !== placed.top) return step;
      const isHurried = mustRead && !placed.isRead && key.type === "text" && key.text !== " ";
      return { state: isHurried && state.isHurried !== true ? { ...state, isHurried } : state };
    },
    view: (state, canvas) => {
      const text = wrapFor(canvas.columns);
      return viewScrolled({ text, mustRead }, placeIn(text, state, canvas), canvas);
    },
  };
}

interface Wrapped {
  readonly columns: number;
  readonly rows: readonly string[];
  /** For each row, how many characters come before it. */
  readonly starts: readonly number[];
}

function wrapLines(lines: readonly string[], columns: number): Wrapped {
  const rows = lines.flatMap((line) => wrapCode(line, columns));
  let before = 0;
  const starts = rows.map((row) => {
    const start = before;
    before += stripVTControlCharacters(row).replaceAll(/\s/g, "").length;
    return start;
  });
  return { columns, rows, starts };
}

/** After the width changes, starts at the row with the first character that may be unseen. */
function placeIn({ columns, rows, starts }: Wrapped, state: PagerState, size: Size): PagerState {
  let { top } = state;
  if (state.columns !== columns) {
    const start = starts.findLast((one) => one <= state.before) ?? 0;
    top = Math.max(0, starts.indexOf(start));
  }
  top = Math.min(top, lastTop(rows.length, size));
  const isAtEnd = top + pageOf(size) >= rows.length;
  return { ...state, top, columns, before: starts[top] ?? 0, isRead: state.isRead || isAtEnd };
}

interface Scrolling {
  readonly text: Wrapped;
  readonly size: Size;
  readonly mustRead: boolean;
}

function scroll(
  { text, size, mustRead }: Scrolling,
  state: PagerState,
  key: Key,
): Step<PagerState, PagerEnding> {
  const { top, isRead } = state;
  const page = pageOf(size);
  const last = lastTop(text.rows.length, size);
  const name = key.type === "named" ? key.name : key.text;
  if (mustRead && name === "ctrl-d") return { ending: { type: "cancelled" } };
  const isOver = mustRead && top === last && (name === " " || name === "page-down");
  const isLeft = isOver || name === "q" || name === "v" || name === "ctrl-o" || name === "ctrl-d";
  if (isLeft && (isRead || !mustRead)) return { ending: { type: "left", isRead } };
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
  const next = Math.min(Math.max(0, to[name] ?? top), last);
  return { state: { ...state, top: next, before: text.starts[next] ?? 0, isHurried: false } };
}

function viewScrolled(
  { text: { rows: all }, mustRead }: Pick<Scrolling, "text" | "mustRead">,
  { top, isRead, isHurried = false }: PagerState,
  canvas: Canvas,
): Frame {
  const page = pageOf(canvas);
  const shown = all.slice(top, top + page);
  if (canvas.rows < 2) return { rows: [shown[0] ?? ""], cursor: { row: 0, column: 0 } };
  const place = `${top + 1}-${top + shown.length} of ${all.length}`;
  const hidden = all.length - top - shown.length;
  const status = mustRead
    ? fitting(
        isRead ? endHints(place) : isHurried ? hurriedHints(hidden) : moreHints(place, hidden),
        canvas.columns,
      )
    : `${place} · ↑↓ PageUp PageDown Home End · q back`;
  const blank = Array.from({ length: page - shown.length }, () => "");
  return {
    rows: [
      ...shown,
      ...blank,
      canvas.paint(mustRead ? "bold" : "dim", truncate(status, canvas.columns)),
    ],
    cursor: { row: page, column: 0 },
  };
}

/** Longest first; the pager uses the first that fits. */
function moreHints(place: string, hidden: number): readonly string[] {
  const more = moreLines(hidden);
  return [
    `${more} · Space/PgDn continue · End skip to the end · Esc cancel · ${place}`,
    `${more} · Space/PgDn continue · End skip to the end · Esc cancel`,
    `${more} · Space continue · End skip`,
    `${more} · Space, End`,
  ];
}

function hurriedHints(hidden: number): readonly string[] {
  const first = "Read to the end first (End)";
  const more = moreLines(hidden);
  return [
    `${first} · ${more} · Space continue · Esc cancel`,
    `${first} · ${more}`,
    first,
    "Read on first (End)",
  ];
}

function endHints(place: string): readonly string[] {
  return [
    `End of text · Space go to the question · PgUp back · Esc cancel · ${place}`,
    "End of text · Space go to the question · PgUp back",
    "Space go to the question",
    "Space: question",
  ];
}

function fitting(texts: readonly string[], columns: number): string {
  return texts.find((text) => stringWidth(text) <= columns) ?? texts.at(-1) ?? "";
}

/** The last row is the status line. */
function pageOf({ rows }: Size): number {
  return Math.max(1, rows - 1);
}

function lastTop(count: number, size: Size): number {
  return Math.max(0, count - pageOf(size));
}
