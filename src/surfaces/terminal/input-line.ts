/**
 * The prompt widget of an interactive session: a message of one or several lines, with history, search and completion.
 * Unlike at a question, Escape and Ctrl-C do not end it.
 */
import { isCancelKey, isEscape, type Key, type KeyName } from "./key.ts";
import {
  type Candidate,
  type Completion,
  type CompletionMenu,
  emptyInput,
  type InputEnding,
  type InputOptions,
  type InputState,
  type Search,
} from "./input-state.ts";
import { viewInput } from "./input-view.ts";
import {
  bufferOf,
  editBuffer,
  isOnFirstLine,
  isOnLastLine,
  pasteInto,
  replace,
  type TextBuffer,
  unfold,
} from "./text-buffer.ts";
import type { Step, Widget } from "./widget.ts";

type InputStep = Step<InputState, InputEnding>;

export function inputLine(options: InputOptions): Widget<InputState, InputEnding> {
  return {
    takesCancelKeys: true,
    isMultiline: true,
    update: (state, key) => {
      const calm = { ...state, isLeaving: false, isCleared: false };
      const { search } = state;
      if (search !== undefined) return updateSearch(options, { ...calm, search }, key);
      if (key.type !== "named") return edit(options, calm, key);
      if (options.hasWayBack === true && isWayBack(state, key)) return { ending: { type: "left" } };
      return updateByName(options, { ...calm, isLeaving: state.isLeaving }, key.name);
    },
    view: (state, canvas) => viewInput(options, state, canvas),
  };
}

function updateByName(options: InputOptions, given: InputState, name: KeyName): InputStep {
  const menu = given.menu && isOpen(given.menu) ? given.menu : undefined;
  const state = { ...given, menu, isLeaving: false };
  const { buffer } = state;
  switch (name) {
    case "enter":
      return menu === undefined ? send(state) : enter(options, state, menu);
    case "tab":
      return menu === undefined ? { state } : accept(options, state, menu);
    case "shift-tab":
      return options.mode === undefined ? { state } : { ending: { type: "next_mode" } };
    case "up":
    case "down":
      return menu === undefined || menu.candidates().length === 0
        ? { state: stepInHistory(options.history(), state, name) }
        : { state: { ...state, menu: moveInMenu(menu, name) } };
    case "escape":
      return { state: menu === undefined ? leaveHistory(state) : { ...state, menu: undefined } };
    case "ctrl-c":
      return interrupt(given);
    case "ctrl-d":
      return buffer.text === ""
        ? { ending: { type: "left" } }
        : edit(options, state, { type: "named", name });
    case "ctrl-r":
      return { state: { ...state, menu: undefined, search: { query: "", before: buffer } } };
    case "ctrl-y":
      return edit(options, state, { type: "paste", text: state.deleted });
    case "ctrl-o":
      return options.expands === true && (buffer.folds ?? []).length === 0
        ? { ending: { type: "expand" } }
        : { state: { ...state, buffer: unfold(buffer) } };
    case "ctrl-l":
      return { ending: { type: "clear_screen" } };
    case "ctrl-x":
    case "ctrl-g":
      return options.hasEditor() ? { ending: { type: "editor" } } : { state };
    case "ctrl-p":
    case "ctrl-n":
      return { state: moveInHistory(options.history(), state, name === "ctrl-p" ? -1 : 1) };
    default:
      return edit(options, state, { type: "named", name });
  }
}

/** Ctrl-C, or an Escape that closes nothing on the line itself. */
function isWayBack({ menu, position }: InputState, key: Key): boolean {
  const isBusy = (menu !== undefined && isOpen(menu)) || position !== undefined;
  return isCancelKey(key) && !(isBusy && isEscape(key));
}

const DELETING: ReadonlySet<KeyName> = new Set(["ctrl-k", "ctrl-u", "ctrl-w"]);
const MOVING: ReadonlySet<KeyName> = new Set([
  "left",
  "right",
  "word-left",
  "word-right",
  "home",
  "end",
  "ctrl-a",
  "ctrl-b",
  "ctrl-e",
  "ctrl-f",
]);

function edit(options: InputOptions, state: InputState, key: Key): InputStep {
  const { buffer } = state;
  const edited =
    key.type === "paste" ? pasteInto(buffer, key.text) : (editBuffer(buffer, key) ?? buffer);
  const isDeleting = key.type === "named" && DELETING.has(key.name);
  const count = buffer.text.length - edited.text.length;
  const deleted =
    isDeleting && count > 0
      ? buffer.text.slice(edited.cursor, edited.cursor + count)
      : state.deleted;
  const isMoving = key.type === "named" && MOVING.has(key.name);
  const menu = isMoving ? undefined : openMenu(options, edited);
  return { state: { ...state, buffer: edited, deleted, menu } };
}

function openMenu({ complete }: InputOptions, buffer: TextBuffer): CompletionMenu | undefined {
  const completion = complete(buffer);
  if (completion === undefined || !isOpen(completion)) return undefined;
  // A single candidate that is fully typed completes nothing.
  const [first, second] = completion.candidates();
  if (second === undefined && first?.text === typedWord(completion.from, buffer)) return undefined;
  return { ...completion, active: 0, isChosen: false };
}

/** Whether it has anything to show. */
export function isOpen({ candidates, note }: Completion): boolean {
  return candidates().length > 0 || note?.() !== undefined;
}

function typedWord(from: number, { text, cursor }: TextBuffer): string {
  return text.slice(from, cursor);
}

function moveInMenu(menu: CompletionMenu, name: "up" | "down"): CompletionMenu {
  const { length } = menu.candidates();
  const step = name === "up" ? length - 1 : 1;
  // The first candidate is active from the start, so the first down arrow only selects it.
  const active = menu.isChosen || name === "up" ? (menu.active + step) % length : menu.active;
  return { ...menu, active, isChosen: true };
}

/** Takes the active candidate if the user selected it, or if its `onEnter` says so and no candidate is fully typed. */
function enter(options: InputOptions, state: InputState, menu: CompletionMenu): InputStep {
  const candidates = menu.candidates();
  const candidate = candidates[menu.active];
  const typed = typedWord(menu.from, state.buffer);
  const isTyped = candidates.some((one) => isWhole(one, typed));
  const isMeant = menu.isChosen || (candidate?.onEnter !== undefined && !isTyped);
  if (candidate === undefined || !isMeant) return send(state);
  const step = accept(options, state, menu);
  return candidate.onEnter === "send" && "state" in step ? send(step.state) : step;
}

/** A folder may be typed without its trailing slash. */
function isWhole({ text }: Candidate, typed: string): boolean {
  return text === typed || text === `${typed}/`;
}

/** After a folder's name, its contents are offered next. */
function accept(options: InputOptions, state: InputState, menu: CompletionMenu): InputStep {
  const candidate = menu.candidates()[menu.active];
  if (candidate === undefined) return { state }; // Still being looked up.
  const { text, cursor } = state.buffer;
  const space = candidate.isOpenEnded === true || /^\s/.test(text.slice(cursor)) ? "" : " ";
  const buffer = replace(state.buffer, menu.from, `${candidate.text}${space}`);
  const next = candidate.isOpenEnded === true ? openMenu(options, buffer) : undefined;
  return { state: { ...state, buffer, menu: next } };
}

/** A trailing backslash breaks the line, unless it is doubled. */
export function endsInBreak(text: string): boolean {
  return (/\\*$/.exec(text)?.[0].length ?? 0) % 2 === 1;
}

function send(state: InputState): InputStep {
  const { buffer } = state;
  const { text, cursor, folds = [] } = buffer;
  const isPasted = folds.some(({ end }) => end === cursor);
  if (endsInBreak(text) && cursor === text.length && !isPasted) {
    const broken = replace(buffer, cursor - 1, "\n");
    return { state: { ...state, buffer: broken, menu: undefined } };
  }
  if (text.trim() === "") return { state };
  return { ending: { type: "sent", text, ...(folds.length > 0 && { shown: buffer }) } };
}

/** Clears the line. On an empty one, asks for another Ctrl-C, which leaves. */
function interrupt(state: InputState): InputStep {
  const { buffer, isLeaving } = state;
  if (buffer.text === "" && isLeaving) return { ending: { type: "left" } };
  if (buffer.text === "") return { state: { ...state, isLeaving: true, menu: undefined } };
  const cleared = { ...emptyInput(), deleted: buffer.text, isCleared: true };
  return { state: cleared };
}

const NEW = "new";

/** Moves within the text, and from its first or last line into the history. */
function stepInHistory(
  history: readonly string[],
  state: InputState,
  name: "up" | "down",
): InputState {
  const isAtEdge = name === "up" ? isOnFirstLine(state.buffer) : isOnLastLine(state.buffer);
  if (isAtEdge) return moveInHistory(history, state, name === "up" ? -1 : 1);
  return { ...state, buffer: editBuffer(state.buffer, { type: "named", name }) ?? state.buffer };
}

function moveInHistory(history: readonly string[], state: InputState, step: -1 | 1): InputState {
  const { position = history.length } = state;
  const next = position + step;
  if (next < 0 || next > history.length) return state;
  return showEntry(history, state, next === history.length ? undefined : next);
}

/** The text that the user has typed, even while the line shows an entry of the history. */
export function typedText(
  { buffer, search, position, edits }: InputState,
  history: readonly string[],
): string {
  const { text } = search?.before ?? buffer;
  const isEntry = position !== undefined && text === history[position];
  return isEntry ? (edits[NEW]?.text ?? "") : text;
}

/** Returns to the new message, unchanged. */
function leaveHistory(state: InputState): InputState {
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

type Searching = InputState & { readonly search: Search };

/** Escape and Ctrl-C restore the line; every other key accepts the match. */
function updateSearch(options: InputOptions, state: Searching, key: Key): InputStep {
  const { search, ...rest } = state;
  const history = options.history();
  if (key.type !== "named") return { state: typeInSearch(history, state, search.query + key.text) };
  switch (key.name) {
    case "ctrl-r":
      return { state: searchFurther(history, state, -1) };
    case "ctrl-s":
      return { state: searchFurther(history, state, 1) };
    case "backspace":
      return { state: typeInSearch(history, state, search.query.slice(0, -1)) };
    case "escape":
    case "ctrl-c":
    case "ctrl-g":
      return { state: { ...rest, buffer: search.before } };
    case "enter":
    case "tab":
      return { state: rest };
    default:
      return edit(options, rest, key);
  }
}

/** Restarts at the newest entry. */
function typeInSearch(history: readonly string[], state: Searching, typed: string): InputState {
  const { before } = state.search;
  const query = typed.replaceAll(/\s+/g, " ");
  const found = query === "" ? undefined : find(history, query, { from: history.length, step: -1 });
  const buffer = found === undefined ? before : bufferOf(history[found] ?? "");
  return { ...state, buffer, search: { query, found, before } };
}

/** Stays in place if there is no other match. */
function searchFurther(history: readonly string[], state: Searching, step: -1 | 1): InputState {
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
