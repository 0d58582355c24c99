/** Navigates and searches an input line's history. Pure. */
import type { InputState, Search } from "./input-state.ts";
import {
  bufferOf,
  editBuffer,
  isOnFirstLine,
  isOnLastLine,
  type TextBuffer,
} from "./text-buffer.ts";

const NEW = "new";

/** Moves within the text, and from its first or last line into the history. */
export function stepInHistory(
  history: readonly string[],
  state: InputState,
  name: "up" | "down",
): InputState {
  const isAtEdge = name === "up" ? isOnFirstLine(state.buffer) : isOnLastLine(state.buffer);
  if (isAtEdge) return moveInHistory(history, state, name === "up" ? -1 : 1);
  return { ...state, buffer: editBuffer(state.buffer, { type: "named", name }) ?? state.buffer };
}

export function moveInHistory(
  history: readonly string[],
  state: InputState,
  step: -1 | 1,
): InputState {
  const { position = history.length } = state;
  const next = position + step;
  if (next < 0 || next > history.length) return state;
  return showEntry(history, state, next === history.length ? undefined : next);
}

/** Returns to the new message, unchanged. */
export function leaveHistory(state: InputState): InputState {
  return state.position === undefined ? state : showEntry([], state, undefined);
}

function showEntry(
  history: readonly string[],
  state: InputState,
  position: number | undefined,
): InputState {
  const edits = { ...state.edits, [String(state.position ?? NEW)]: state.buffer };
  const shown = edits[String(position ?? NEW)] ?? bufferOf(history[position ?? -1] ?? "");
  const buffer = { ...shown, cursor: shown.text.length };
  return { ...state, position, edits, buffer, menu: undefined };
}

export function startSearch(before: TextBuffer): Search {
  return { query: "", before };
}

/** Restarts at the newest entry. */
export function typeInSearch(
  history: readonly string[],
  state: InputState & { readonly search: Search },
  typed: string,
): InputState {
  const { before } = state.search;
  const query = typed.replaceAll(/\s+/g, " ");
  const found = query === "" ? undefined : find(history, query, { from: history.length, step: -1 });
  const buffer = found === undefined ? before : bufferOf(history[found] ?? "");
  return { ...state, buffer, search: { query, found, before } };
}

/** Stays in place if there is no other match. */
export function searchFurther(
  history: readonly string[],
  state: InputState & { readonly search: Search },
  step: -1 | 1,
): InputState {
  const { query, found: from = history.length, before } = state.search;
  if (query === "") return state;
  const found = find(history, query, { from, step });
  if (found === undefined) return state;
  return { ...state, buffer: bufferOf(history[found] ?? ""), search: { query, found, before } };
}

/** The nearest entry that contains the words and differs from the one at `from`. */
function find(
  history: readonly string[],
  query: string,
  { from, step }: { readonly from: number; readonly step: -1 | 1 },
): number | undefined {
  const wanted = query.toLowerCase();
  for (let index = from + step; index >= 0 && index < history.length; index += step) {
    const entry = history[index] ?? "";
    const isMatch = entry.toLowerCase().replaceAll(/\s+/g, " ").includes(wanted);
    if (isMatch && entry !== history[from]) return index;
  }
  return undefined;
}
