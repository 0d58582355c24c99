/**
 * The widget of an interactive session's prompt: a message of one or several lines, with history, search and
 * completion. Unlike in a question, Escape and Ctrl-C do not end it.
 */
import { isEscape, type Key, type KeyName } from "./key.ts";
import {
  moveInHistory,
  leaveHistory,
  searchFurther,
  startSearch,
  stepInHistory,
  typeInSearch,
} from "./input-history.ts";
import {
  type CompletionMenu,
  emptyInput,
  type InputEnding,
  type InputOptions,
  type InputState,
  type Search,
} from "./input-state.ts";
import { viewInput } from "./input-view.ts";
import { bufferOf, editBuffer, type TextBuffer } from "./text-buffer.ts";
import type { Step, Widget } from "./widget.ts";

type InputStep = Step<InputState, InputEnding>;

export function inputLine(options: InputOptions): Widget<InputState, InputEnding> {
  return {
    takesCancelKeys: true,
    isMultiline: true,
    update: (state, key) => {
      const calm = { ...state, isLeaving: false, isCleared: false, isGoingBack: false };
      const { search } = state;
      if (search !== undefined) return updateSearch(options, { ...calm, search }, key);
      if (key.type !== "named") return edit(options, calm, key);
      if (options.hasWayBack === true && isPlainEscape(state, key)) return goBack(state);
      return updateByName(options, { ...calm, isLeaving: state.isLeaving }, key.name);
    },
    view: (state, canvas) => viewInput(options, state, canvas),
  };
}

function updateByName(options: InputOptions, given: InputState, name: KeyName): InputStep {
  const state = { ...given, isLeaving: false };
  const { buffer, menu } = state;
  switch (name) {
    case "enter":
      return menu?.isChosen === true ? accept(options, state, menu) : send(state);
    case "tab":
      return menu === undefined ? { state } : accept(options, state, menu);
    case "up":
    case "down":
      return menu === undefined
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
      return { state: { ...state, menu: undefined, search: startSearch(buffer) } };
    case "ctrl-y":
      return edit(options, state, { type: "paste", text: state.deleted });
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

/** Escape that does not close anything on the line itself. */
function isPlainEscape({ menu, position }: InputState, key: Key): boolean {
  return isEscape(key) && menu === undefined && position === undefined;
}

function goBack(state: InputState): InputStep {
  if (state.isGoingBack === true) return { ending: { type: "left" } };
  return { state: { ...state, isLeaving: false, isCleared: false, isGoingBack: true } };
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
  const edited = editBuffer(buffer, key) ?? buffer;
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
  if (completion === undefined || completion.candidates.length === 0) return undefined;
  // A single candidate that is typed in full completes nothing.
  const typed = buffer.text.slice(completion.from, buffer.cursor);
  const [first, second] = completion.candidates;
  if (second === undefined && first?.text === typed) return undefined;
  return { ...completion, active: 0, isChosen: false };
}

function moveInMenu(menu: CompletionMenu, name: "up" | "down"): CompletionMenu {
  const { length } = menu.candidates;
  const step = name === "up" ? length - 1 : 1;
  // The first candidate is active from the start, so the first arrow down only chooses it.
  const active = menu.isChosen || name === "up" ? (menu.active + step) % length : menu.active;
  return { ...menu, active, isChosen: true };
}

/** After the name of a folder, what is in it is offered next. */
function accept(options: InputOptions, state: InputState, menu: CompletionMenu): InputStep {
  const candidate = menu.candidates[menu.active];
  if (candidate === undefined) return { state: { ...state, menu: undefined } };
  const { text, cursor } = state.buffer;
  const rest = text.slice(cursor);
  const space = candidate.isOpenEnded === true || /^\s/.test(rest) ? "" : " ";
  const before = `${text.slice(0, menu.from)}${candidate.text}${space}`;
  const buffer = { text: before + rest, cursor: before.length };
  const isOpen = candidate.isOpenEnded === true;
  return { state: { ...state, buffer, menu: isOpen ? openMenu(options, buffer) : undefined } };
}

/** A backslash at the end breaks the line, unless it is doubled. */
export function endsInBreak(text: string): boolean {
  return (/\\*$/.exec(text)?.[0].length ?? 0) % 2 === 1;
}

function send(state: InputState): InputStep {
  const { text, cursor } = state.buffer;
  if (endsInBreak(text) && cursor === text.length) {
    return { state: { ...state, buffer: bufferOf(`${text.slice(0, -1)}\n`), menu: undefined } };
  }
  return text.trim() === "" ? { state } : { ending: { type: "sent", text } };
}

/** Clears the line; on an empty one, asks for another Ctrl-C, and then leaves. */
function interrupt(state: InputState): InputStep {
  const { buffer, isLeaving } = state;
  if (buffer.text === "" && isLeaving) return { ending: { type: "left" } };
  if (buffer.text === "") return { state: { ...state, isLeaving: true, menu: undefined } };
  const cleared = { ...emptyInput(), deleted: buffer.text, isCleared: true };
  return { state: cleared };
}

type Searching = InputState & { readonly search: Search };

/** Escape and Ctrl-C go back to the line as it was; every other key takes what was found. */
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
