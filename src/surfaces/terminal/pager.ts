/**
 * Shows a text longer than the screen, either full-screen or above a question. The user has to read or skip to the end
 * before answering.
 */
import { stripVTControlCharacters } from "node:util";
import stringWidth from "fast-string-width";
import { moreLines, plain, truncateWords, wrapCode } from "../render/index.ts";
import type { Key } from "./key.ts";
import type { Canvas, Frame, Size, Step, Widget } from "./widget.ts";

export interface PagerState {
  /** The first visible row, at a width of `columns`. */
  readonly top: number;
  readonly columns: number;
  /** The number of characters before that row, which unlike the row does not change with the width. */
  readonly before: number;
  /** The last row has been visible. */
  readonly isRead: boolean;
  /** The user pressed a deciding key before the end was visible. */
  readonly isHurried?: boolean;
}

export type PagerEnding =
  | { readonly type: "left"; readonly isRead: boolean }
  | { readonly type: "cancelled" };

export interface PagerText {
  /** Lines may contain styles. */
  readonly linesFor: (columns: number) => readonly string[];
  /** The pager cannot be left before its end was visible. */
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
    // Otherwise keys typed ahead could skip unseen pages.
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

export interface ReadingState<State> {
  readonly own: State;
  readonly text: PagerState;
}

/** The minimum rows for a text above a widget, including the one that says how much is missing. */
export const MIN_TEXT_ROWS = 4;

/**
 * Shows the beginning of a text above a widget. Until the end of the text has been visible (pressing `End` is enough),
 * the widget can end only as `canEndUnread` allows, and scroll keys scroll the text unless the widget has typed input.
 */
export function withTextAbove<State, Ending>(
  { linesFor }: Pick<PagerText, "linesFor">,
  widget: Widget<State, Ending>,
): Widget<ReadingState<State>, Ending> {
  let wrapped: Wrapped | undefined;
  let isDrawnUnread = true;
  const wrapFor = (columns: number): Wrapped => {
    if (wrapped?.columns !== columns) wrapped = wrapLines(linesFor(columns), columns);
    return wrapped;
  };
  const place = ({ own, text }: ReadingState<State>, size: Size, below: number) => {
    const room = { ...size, rows: Math.max(2, size.rows - below) };
    return { own, room, text: placeIn(wrapFor(size.columns), text, room) };
  };
  const placeAbove = (state: ReadingState<State>, size: Size) =>
    place(state, size, widget.view(state.own, { ...size, paint: plain }).rows.length);
  return {
    // Otherwise keys typed ahead could skip unseen pages.
    get isDrawnBetweenKeys() {
      return isDrawnUnread;
    },
    joinKeys: (keys) => widget.joinKeys?.(keys) ?? keys,
    isSettling: ({ own }) => widget.isSettling?.(own) === true,
    settle: (state, size) => {
      const step = widget.settle?.(state.own, size);
      return step === undefined ? { state } : applyStep(widget, placeAbove(state, size), step);
    },
    holdsWork: ({ own }) => widget.holdsWork?.(own) === true,
    stepBack: ({ own, text }) => {
      const before = widget.stepBack?.(own);
      return before === undefined ? undefined : { own: before, text };
    },
    update: (state, key, size) => {
      const { own, room, text } = placeAbove(state, size);
      const name = key.type === "named" ? key.name : key.text;
      const isPageKey = name === "page-up" || name === "page-down";
      const isFree = name === "end" || widget.stepBack?.(own) === undefined;
      if (isPageKey || (!text.isRead && isFree && isScrollKey(name))) {
        const all = wrapFor(size.columns);
        const step = scroll({ text: all, size: room, mustRead: false }, text, key);
        return { state: { own, text: "state" in step ? placeIn(all, step.state, room) : text } };
      }
      return applyStep(widget, { own, text }, widget.update(own, key, size));
    },
    view: (state, canvas) => {
      const { rows: below, cursor, isCut = false } = widget.view(state.own, canvas);
      const { room, text } = place(state, canvas, below.length);
      isDrawnUnread = !text.isRead;
      const { rows } = wrapFor(canvas.columns);
      const shown = rows.slice(text.top, text.top + pageOf(room));
      const status = fitting(statusAbove(text, shown.length, rows.length), canvas.columns);
      const above = [...shown, canvas.paint(text.isRead ? "dim" : "bold", status)];
      return {
        rows: [...above, ...below],
        cursor: { ...cursor, row: above.length + cursor.row },
        isCut,
      };
    },
  };
}

/** Before the text is read, most endings only tell the user to read it. */
function applyStep<State, Ending>(
  widget: Widget<State, Ending>,
  { own, text }: ReadingState<State>,
  step: Step<State, Ending>,
): Step<ReadingState<State>, Ending> {
  if ("state" in step) return { state: { own: step.state, text } };
  if (text.isRead || widget.canEndUnread?.(step.ending) === true) return step;
  return { state: { own: widget.stepBack?.(own) ?? own, text: { ...text, isHurried: true } } };
}

const SCROLL_KEYS: ReadonlySet<string> = new Set(
  "up down enter page-up page-down home end".split(" ").concat(" "),
);

function isScrollKey(name: string): boolean {
  return SCROLL_KEYS.has(name);
}

function statusAbove(
  { top, isRead, isHurried = false }: PagerState,
  shown: number,
  all: number,
): readonly string[] {
  const more = moreLines(all - top - shown);
  if (isRead) {
    const place = `${top + 1}-${top + shown} of ${all}`;
    return [`${place} · PgUp PgDn scroll`, place];
  }
  if (isHurried) return [`${READ_FIRST} · ${more}`, READ_FIRST, READ_ON];
  return [`${more} · End shows the rest · Space next page`, `${more} · End, Space`, more];
}

interface Wrapped {
  readonly columns: number;
  readonly rows: readonly string[];
  /** The number of characters before each row. */
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

/** After a width change, starts at the row with the first possibly unseen character. */
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
      canvas.paint(mustRead ? "bold" : "dim", truncateWords(status, canvas.columns)),
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
  const more = moreLines(hidden);
  return [
    `${READ_FIRST} · ${more} · Space continue · Esc cancel`,
    `${READ_FIRST} · ${more}`,
    READ_FIRST,
    READ_ON,
  ];
}

const READ_FIRST = "Read to the end first (End)";
const READ_ON = "Read on first (End)";

function endHints(place: string): readonly string[] {
  return [
    `End of text · Space go to the question · PgUp back · Esc cancel · ${place}`,
    "End of text · Space go to the question · PgUp back",
    "Space go to the question",
    "Space: question",
  ];
}

function fitting(texts: readonly string[], columns: number): string {
  const last = texts.at(-1) ?? "";
  return texts.find((text) => stringWidth(text) <= columns) ?? truncateWords(last, columns);
}

/** The last row is the status line. */
function pageOf({ rows }: Size): number {
  return Math.max(1, rows - 1);
}

function lastTop(count: number, size: Size): number {
  return Math.max(0, count - pageOf(size));
}
