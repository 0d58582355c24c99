/**
 * The widget for a question decided by a key; yes-or-no questions also accept words.
 *
 * A key is held until nothing follows it: it decides on Enter, or when no other key comes for a while. If another
 * character follows at once, it was the beginning of words, which are a no, never a yes. A key that covers more than the
 * question never decides by waiting: the line says what it covers until Enter confirms it, or another key makes words of
 * it. Pasted text and keys that arrive together decide nothing either: only a single key, optionally with Enter, does.
 */
import { wrapVerbatim, wrapWords } from "../render/index.ts";
import { assertNever } from "../../util/index.ts";
import { isEnter, type Key } from "./key.ts";
import {
  type Chosen,
  describeKeys,
  describeWords,
  findChoice,
  findCoverage,
  type KeyMenu,
  readWords,
  type SaidNo,
  takesWords,
} from "./key-menu.ts";
import {
  findSideAction,
  footerRows,
  type Hints,
  questionRows,
  type SideAction,
  type SideActions,
} from "./question-rows.ts";
import { bufferOf, editBuffer, type TextBuffer } from "./text-buffer.ts";
import type { Canvas, Frame, Size, Step, Widget } from "./widget.ts";

export interface DecisionState {
  /** The words typed so far, or the held key. */
  readonly line: TextBuffer;
  /** The line is a single key that has not decided yet. */
  readonly isHeld: boolean;
  readonly place: Place;
  readonly isHelpShown: boolean;
  /** A key was pressed, so Enter no longer takes the default. */
  readonly isTouched: boolean;
  /** Text was pasted: until the line is empty again, letters are words. */
  readonly isPasted: boolean;
  /** Why the line did not decide. */
  readonly problem?: string;
}

/** `no`: the answer is no, and words may follow. `reason`: the words are only its reason. */
type Place = "keys" | "no" | "reason";

export type DecisionEnding<Choice extends string> =
  | Chosen<Choice>
  | SaidNo
  | SideAction
  | { readonly type: "cancelled" };

export const undecided: DecisionState = {
  line: bufferOf(""),
  isHeld: false,
  place: "keys",
  isHelpShown: false,
  isTouched: false,
  isPasted: false,
};

const REASON = "Enter no, for this reason";
const HELP_KEY = "?";
const READ_KEY = "v";
const PRESS_Y = "To say yes, clear the line and press y alone.";
const SAY_MORE = "One letter is not enough for a reason. ? shows the keys.";

export function decisionLine<Choice extends string>(
  menu: KeyMenu<Choice>,
  sideActions: SideActions,
): Widget<DecisionState, DecisionEnding<Choice>> {
  const line = new DecisionLine(menu, sideActions);
  return {
    joinKeys,
    holdsWork: ({ line: { text }, isHeld }) => !isHeld && text.trim() !== "",
    stepBack: ({ line: { text }, place, isHelpShown }) =>
      place === "keys" && text === "" ? undefined : { ...undecided, isHelpShown, isTouched: true },
    canEndUnread: (ending) =>
      ending.type === "said_no" ||
      ending.type === "cancelled" ||
      (ending.type === "chosen" &&
        (ending.choice === menu.noKey ||
          menu.choices.some(({ key, isNo }) => isNo === true && key === ending.choice))),
    isSettling: (state) => line.isSettling(state),
    settle: (state, size) => line.settle(state, size),
    update: (state, key, size) => line.update(state, key, size),
    view: (state, canvas) => line.view(state, canvas),
  };
}

/** Words that begin with these keys. */
export function beginWords(keys: readonly Key[]): DecisionState {
  const line = keys.reduce((before, key) => editBuffer(before, key) ?? before, bufferOf(""));
  return { ...undecided, line, isTouched: true };
}

type DecisionStep<Choice extends string> = Step<DecisionState, DecisionEnding<Choice>>;

class DecisionLine<Choice extends string> {
  readonly #menu: KeyMenu<Choice>;
  readonly #sideActions: SideActions;

  constructor(menu: KeyMenu<Choice>, sideActions: SideActions) {
    this.#menu = menu;
    this.#sideActions = sideActions;
  }

  update(before: DecisionState, key: Key, size: Size): DecisionStep<Choice> {
    const { problem: _problem, ...rest } = before;
    const state: DecisionState = { ...rest, isTouched: true };
    switch (key.type) {
      case "text":
        return { state: this.#type(state, key) };
      case "paste":
        return { state: this.#addWords({ ...state, isPasted: true }, key) };
      case "named":
        return this.#press(before, state, { key, size });
      default:
        return assertNever(key);
    }
  }

  isSettling({ line: { text }, isHeld }: DecisionState): boolean {
    return isHeld && findCoverage(this.#menu, text) === undefined;
  }

  /** Called when nothing has followed the held key. */
  settle(state: DecisionState, size: Size): DecisionStep<Choice> {
    const { text } = state.line;
    if (text === this.#menu.noKey) {
      return { state: { ...state, line: bufferOf(""), isHeld: false, place: "no" } };
    }
    return this.#takeHeld(state, size);
  }

  #takeHeld(state: DecisionState, { columns, rows }: Size): DecisionStep<Choice> {
    const { text } = state.line;
    const released = { ...state, line: bufferOf(""), isHeld: false };
    const covers = findCoverage(this.#menu, text);
    if (covers !== undefined && this.#sideActions.read?.has(covers) !== true) {
      // The question and the keys have a row each.
      const isCut = coverageRows(text, covers, columns).length > rows - 2;
      if (isCut)
        return { ending: { type: "read_more", text: covers, style: "drawn", isRequired: true } };
    }
    if (text === READ_KEY && this.#sideActions.hasMore) return { ending: { type: "read_more" } };
    const choice = findChoice(this.#menu, text);
    return choice === undefined
      ? { state: { ...released, isHelpShown: true } }
      : { ending: { type: "chosen", choice } };
  }

  get #sendsWords(): boolean {
    return this.#menu.sendsWords !== false;
  }

  #type(state: DecisionState, key: Extract<Key, { readonly type: "text" }>): DecisionState {
    const { line, place, isPasted } = state;
    const isKey =
      key.text === HELP_KEY ||
      findChoice(this.#menu, key.text) !== undefined ||
      (key.text === READ_KEY && this.#sideActions.hasMore);
    if (place !== "keys" || line.text !== "" || isPasted || !isKey) {
      return this.#addWords(state, key);
    }
    const isHelpShown = state.isHelpShown || key.text === HELP_KEY;
    return { ...state, line: bufferOf(key.text), isHeld: true, isHelpShown };
  }

  #addWords(state: DecisionState, key: Key): DecisionState {
    const released = { ...state, isHeld: false };
    if (!takesWords(this.#menu)) {
      return { ...released, line: bufferOf(""), isHelpShown: true, isPasted: false };
    }
    return { ...released, line: editBuffer(state.line, key) ?? state.line };
  }

  #press(
    before: DecisionState,
    state: DecisionState,
    { key, size }: { readonly key: NamedKey; readonly size: Size },
  ): DecisionStep<Choice> {
    const { line, isHeld, place } = state;
    const isEmpty = line.text === "";
    const sideAction = findSideAction(this.#sideActions, key);
    const isAside = sideAction?.type === "read_more" || (isEmpty && place === "keys");
    if (sideAction !== undefined && isAside) return { ending: sideAction };
    switch (key.name) {
      case "enter":
        return this.#enter(before, state, size);
      case "new-line":
        if (isHeld || (isEmpty && place === "keys")) return this.#enter(before, state, size);
        break;
      case "tab":
        if (!takesWords(this.#menu)) break;
        return { state: openReason(state) };
      case "ctrl-d":
        if (isEmpty) return { ending: { type: "cancelled" } };
        break;
      default:
    }
    const edited = isEmpty ? undefined : editBuffer(line, key);
    if (edited === undefined) return { state: { ...state, isHelpShown: place === "keys" } };
    const isPasted = state.isPasted && edited.text !== "";
    return { state: { ...state, line: edited, isHeld: false, isPasted } };
  }

  #enter(before: DecisionState, state: DecisionState, size: Size): DecisionStep<Choice> {
    if (state.isHeld) return this.#takeHeld(state, size);
    const { default: suggested, noKey } = this.#menu;
    const text = state.line.text.trim();
    if (text !== "") return this.#say(state, text);
    if (state.place === "no" && noKey !== undefined) {
      return { ending: { type: "chosen", choice: noKey } };
    }
    if (state.place === "reason") return { state: { ...state, place: "keys" } };
    if (suggested !== undefined && !before.isTouched) {
      const isWide = findCoverage(this.#menu, suggested) !== undefined;
      if (isWide) return { state: { ...state, line: bufferOf(suggested), isHeld: true } };
      return { ending: { type: "chosen", choice: suggested } };
    }
    return { state: { ...state, isHelpShown: true } };
  }

  #say(state: DecisionState, text: string): DecisionStep<Choice> {
    if (state.place === "reason") return { ending: { type: "said_no", text, isMessage: false } };
    const meaning = readWords(text);
    switch (meaning.type) {
      case "no": {
        const { noKey } = this.#menu;
        return noKey === undefined
          ? { state: { ...state, isHelpShown: true } }
          : { ending: { type: "chosen", choice: noKey } };
      }
      case "words":
        return { ending: { type: "said_no", text: meaning.text, isMessage: this.#sendsWords } };
      default:
        return { state: { ...state, problem: meaning.type === "yes" ? PRESS_Y : SAY_MORE } };
    }
  }

  view(state: DecisionState, canvas: Canvas): Frame {
    const { line, isHeld, place, isHelpShown, problem } = state;
    const isTyping = !isHeld && (line.text !== "" || place !== "keys");
    const { hasMore } = this.#sideActions;
    const covers = isHeld ? findCoverage(this.#menu, line.text) : undefined;
    const isConfirming = covers !== undefined;
    // While there are words, the keys edit them.
    const footer = isTyping
      ? footerRows({ hasMore }, typingHints(place, line.text === "", this.#sendsWords), canvas)
      : isConfirming
        ? footerRows({ hasMore }, this.#confirmingHints, canvas)
        : footerRows(this.#sideActions, this.#hints(state), canvas);
    const help = isHelpShown && !isTyping && !isConfirming ? this.#helpRows(canvas) : [];
    const { columns, paint } = canvas;
    const problems = problem === undefined ? [] : wrapWords(problem, columns - 2);
    const warnings = isConfirming ? coverageRows(line.text, covers, columns) : problems;
    const below = [...warnings.map((row) => paint("yellow", `  ${row}`)), ...help, ...footer];
    const room = { ...canvas, rows: canvas.rows - below.length };
    const question = { message: this.#menu.message, suffix: SUFFIXES[place] };
    const { rows, cursor, isCut } = questionRows(question, line, room);
    return { rows: [...rows, ...below], cursor, isCut };
  }

  get #confirmingHints(): Hints {
    const words = takesWords(this.#menu) ? ["any other key begins words"] : [];
    return { own: ["Enter confirm", ...words, "Esc back"] };
  }

  #hints({ isTouched }: DecisionState): Hints {
    const { choices, default: suggested, besides = [] } = this.#menu;
    const { note } = this.#sideActions;
    const why = takesWords(this.#menu) && note === undefined ? ["Tab say why"] : [];
    const others = besides.flatMap(({ key, label }) =>
      label === undefined ? [] : `${key} ${label}`,
    );
    const named = choices.flatMap(({ key, label, short = label }) =>
      label === undefined || short === undefined
        ? []
        : [{ key, label, short, onEnter: key === suggested && !isTouched ? " (Enter)" : "" }],
    );
    const hintsWith = (words: "label" | "short") => [
      ...named.map(({ key, onEnter, ...choice }) => `${key} ${choice[words]}${onEnter}`),
      ...others,
      ...why,
    ];
    const last = [`${HELP_KEY} more`];
    return { own: hintsWith("label"), short: hintsWith("short"), readKey: READ_KEY, last };
  }

  #helpRows({ columns }: Canvas): readonly string[] {
    const { note } = this.#sideActions;
    const words = [
      [
        "words",
        this.#sendsWords ? "no, and send them as your next message" : "no, with this reason",
      ],
      ["Tab", note === undefined ? "no, with a reason" : "add a note to the answer"],
    ];
    const lines = [
      ...describeKeys(this.#menu).map(({ key, help }) => [key, help]),
      ...(takesWords(this.#menu) ? words : note === undefined ? [] : words.slice(1)),
      ["Esc", this.#menu.escape],
    ];
    const width = Math.max(...lines.map(([key = ""]) => key.length));
    return lines.flatMap(([key = "", does = ""]) =>
      wrapWords(does, columns - width - 4).map(
        (row, index) => `  ${(index === 0 ? key : "").padEnd(width)}  ${row}`,
      ),
    );
  }
}

/** What a key covers, in full. */
function coverageRows(key: string, covers: string, columns: number): readonly string[] {
  return wrapVerbatim(`${key}: ${covers}`, Math.max(1, columns - 3));
}

type NamedKey = Extract<Key, { readonly type: "named" }>;

const SUFFIXES: Readonly<Record<Place, string>> = {
  keys: "",
  no: "No:",
  reason: "No, because:",
};

/** Keeps the words typed so far, but drops a held key. */
function openReason(state: DecisionState): DecisionState {
  if (state.place === "reason") return { ...state, place: "no" };
  return {
    ...state,
    isHeld: false,
    place: "reason",
    line: state.isHeld ? bufferOf("") : state.line,
  };
}

function typingHints(place: Place, isEmpty: boolean, sendsWords: boolean): Hints {
  if (sendsWords && place === "reason") {
    return isEmpty
      ? { own: ["type the reason", "Tab say what to do instead", "Esc back"] }
      : {
          own: [REASON, "Tab send it as your next message", "Esc back"],
          short: [REASON, "Tab send it", "Esc back"],
        };
  }
  if (isEmpty) {
    const words = describeWords(sendsWords);
    return { own: [`waits for Enter (no) or words (${words})`, "Esc back"] };
  }
  if (!sendsWords) return { own: [REASON, "Esc clear"] };
  return {
    own: ["Enter no, and send it as your message", "Tab only as the reason", "Esc clear"],
    short: ["Enter no, and send it", "Tab only as reason", "Esc clear"],
  };
}

/** See `Widget.joinKeys`. */
export function joinKeys(keys: readonly Key[]): readonly Key[] {
  const [first, second] = keys;
  if (second === undefined) return keys;
  if (keys.length === 2 && first?.type === "text" && isEnter(second)) return keys;
  const joined: Key[] = [];
  let text = "";
  let hasText = false;
  const flush = () => {
    if (hasText) joined.push({ type: "paste", text });
    text = "";
    hasText = false;
  };
  for (const [index, key] of keys.entries()) {
    const isLast = index === keys.length - 1;
    if (key.type !== "named") {
      text += key.text;
      hasText = true;
    } else if (isEnter(key) && !(isLast && hasText)) {
      text += "\n";
      hasText = true;
    } else {
      flush();
      joined.push(key);
    }
  }
  flush();
  return joined;
}
