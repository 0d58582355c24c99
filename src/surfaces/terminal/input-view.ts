/** Renders an input line. Pure. */
import stringWidth from "fast-string-width";
import { neutralize, oneLine } from "../../util/index.ts";
import { truncate, wrapWords } from "../render/index.ts";
import type { CompletionMenu, InputOptions, InputState } from "./input-state.ts";
import { footerRows, stackRows } from "./question-rows.ts";
import { layOutText, type TextBuffer } from "./text-buffer.ts";
import type { Canvas, Frame } from "./widget.ts";

const MARK = "> ";
/** For a line that Enter does not send at once. */
const AHEAD_MARK = "» ";
const MAX_CANDIDATES = 8;

export function viewInput(options: InputOptions, state: InputState, canvas: Canvas): Frame {
  const { buffer, search } = state;
  const mark = options.typedAhead === undefined ? MARK : AHEAD_MARK;
  const { rows: body, cursor } = messageRows(buffer, canvas, mark);
  if (search !== undefined) {
    const isMissing = search.query !== "" && search.found === undefined;
    const label = isMissing ? "No match in history:" : "Search history:";
    const row = truncate(`  ${label} ${neutralize(search.query)}`, canvas.columns);
    const foot = [row, ...hints(["Ctrl-R older", "Enter take it", "Esc go back"], canvas)];
    const { rows } = stackRows({ head: [], body, active: cursor.row, foot }, canvas.rows);
    return { rows, cursor: { row: rows.length - foot.length, column: stringWidth(row) } };
  }
  const foot = [...footOf(options, state, canvas), ...modeRows(options, canvas)];
  const { rows, activeRow } = stackRows({ head: [], body, active: cursor.row, foot }, canvas.rows);
  return { rows, cursor: { row: activeRow, column: cursor.column } };
}

/** The message after its mark, both while typing and once sent. */
export function messageRows(buffer: TextBuffer, { columns, paint }: Canvas, mark = MARK) {
  const indent = mark.length;
  const { rows, cursor } = layOutText(buffer, { columns, start: indent, indent });
  const [first = "", ...others] = rows;
  return { rows: [`${paint("bold", mark.trimEnd())} ${first}`.trimEnd(), ...others], cursor };
}

function footOf(options: InputOptions, state: InputState, canvas: Canvas): readonly string[] {
  const { buffer, menu, isLeaving, isCleared, position } = state;
  const { typedAhead, hasWayBack = false } = options;
  const listed = menu === undefined ? [] : menuRows(menu, canvas);
  if (listed.length > 0) return listed;
  if (isLeaving) return warning("Press Ctrl-C again to leave.", canvas);
  if (isCleared) return warning("Cleared. Ctrl-Y brings it back.", canvas);
  if (position !== undefined) return hints(["↑↓ history", "Enter send", "Esc go back"], canvas);
  if (typedAhead !== undefined)
    return buffer.text === "" ? [] : hints(typedAhead(buffer.text), canvas);
  if (hasWayBack) return hints(["Enter send", "Alt-Enter new line", "Esc go back"], canvas);
  if (buffer.folds !== undefined) return hints(FOLD_HINTS, canvas);
  if (buffer.text !== "") return [];
  return hints(emptyHints(options), canvas);
}

function modeRows({ mode }: InputOptions, { columns, paint }: Canvas): readonly string[] {
  const shown = mode?.();
  if (shown === undefined) return [];
  const { name, note = "Shift-Tab changes it" } = shown;
  const rows = wrapWords(`mode ${name} · ${note}`, Math.max(1, columns - 2));
  return rows.map((row) => paint("cyan", `  ${row}`));
}

function emptyHints({
  hasEditor,
  hasCommands = false,
  areHintsFolded = false,
}: InputOptions): readonly string[] {
  if (areHintsFolded) {
    return ["Enter send", ...(hasCommands ? ["/help keys and commands"] : []), "Ctrl-D leave"];
  }
  return [
    "Enter send",
    "Alt-Enter new line",
    ...(hasCommands ? ["/ commands", "! shell"] : []),
    "@ files",
    "↑ history",
    "Ctrl-R search",
    ...(hasEditor() ? ["Ctrl-X editor"] : []),
    "Ctrl-D leave",
  ];
}

const FOLD_HINTS = ["Enter send", "Ctrl-O open the paste", "Backspace remove it"];

function hints(own: readonly string[], canvas: Canvas): readonly string[] {
  return footerRows({ hasMore: false }, { own }, canvas);
}

function warning(text: string, { columns, paint }: Canvas): readonly string[] {
  return wrapWords(text, Math.max(1, columns - 2)).map((row) => paint("yellow", `  ${row}`));
}

/** As many candidates as fit around the active one, with the keys. Empty if there are none. */
function menuRows(menu: CompletionMenu, canvas: Canvas): readonly string[] {
  const { columns, rows, paint } = canvas;
  const { active } = menu;
  const candidates = menu.candidates();
  const note = menu.note?.();
  if (candidates.length === 0) return note === undefined ? [] : hints([note], canvas);
  const room = Math.max(1, Math.min(MAX_CANDIDATES, Math.floor(rows / 2)));
  const first = Math.max(0, Math.min(active - room + 1, candidates.length - room));
  const shown = candidates.slice(first, first + room);
  const width = Math.max(...shown.map(({ text }) => stringWidth(oneLine(text))));
  const listed = shown.map(({ text, description = "" }, index) => {
    const isActive = first + index === active;
    const label = oneLine(text);
    const gap = " ".repeat(width - stringWidth(label));
    const row = truncate(
      `${isActive ? "❯" : " "} ${label}${gap}  ${oneLine(description)}`.trimEnd(),
      columns,
    );
    return isActive ? paint("cyan", row) : row;
  });
  const { onEnter } = candidates[active] ?? {};
  const count = `${first + 1}–${first + shown.length} of ${candidates.length}`;
  const keys = [
    ...(shown.length < candidates.length ? [count] : []),
    ...(onEnter === undefined ? [] : [onEnter === "send" ? "Enter run" : "Enter take it"]),
    "Tab complete",
    "↑↓ choose",
    "Esc close",
    ...(note === undefined ? [] : [note]),
  ];
  return [...listed, ...hints(keys, canvas)];
}
