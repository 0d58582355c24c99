/**
 * The list of rules that a yes may save, and of how long they hold. Digits and arrows choose either and decide nothing;
 * Enter takes both. Any other key shows that the user is typing words, so the list ends with all keys typed there.
 */
import { wrapVerbatim } from "../render/index.ts";
import { joinKeys } from "./decision-line.ts";
import type { NoAnswer } from "./dialogue.ts";
import { isEnter, type Key } from "./key.ts";
import { type SelectList, type SelectState, untouchedList } from "./listed-options.ts";
import { accept, askAgain, type PlainQuestion } from "./plain-questions.ts";
import type { SideAction, SideActions } from "./question-rows.ts";
import { type ListEnding, selectList } from "./select-list.ts";
import type { Canvas, Step, Widget } from "./widget.ts";

export interface GrantList {
  readonly message: string;
  /** One line each, verbatim. The last one stands for a rule that the user writes. */
  readonly rules: readonly string[];
  readonly lifetimes: readonly string[];
}

export interface GrantListState {
  /** Indexes of what is highlighted. */
  readonly rule: number;
  readonly lifetime: number;
  /** Digits typed since the list was drawn: they are a part of the words if other keys follow. */
  readonly digits: readonly Key[];
}

export type GrantListEnding =
  | { readonly type: "chosen"; readonly rule: number; readonly lifetime: number }
  /** The keys typed at the list, in their order. */
  | { readonly type: "words"; readonly keys: readonly Key[] };

type Ending = GrantListEnding | SideAction | Extract<NoAnswer, { readonly type: "cancelled" }>;

/** Further rules have no digit: arrows reach them. */
const MAX_RULE_DIGITS = 5;
const ARROWS: ReadonlySet<string> = new Set(["up", "down", "left", "right"]);

export function grantList(
  list: GrantList,
  sideActions: SideActions,
): Widget<GrantListState, Ending> {
  return {
    joinKeys: joinMoves,
    update: (state, key, size) => {
      if (key.type === "text" && isDigit(key)) return { state: moveTo(list, state, key) };
      const name = key.type === "named" ? key.name : undefined;
      if (name === "left" || name === "right") {
        const { length } = list.lifetimes;
        const lifetime = (state.lifetime + (name === "left" ? length - 1 : 1)) % length;
        return { state: { ...state, lifetime } };
      }
      const isOfList = isEnter(key) || name === "ctrl-o" || name === "ctrl-d";
      if (!isOfList && name !== "up" && name !== "down") {
        return { ending: { type: "words", keys: [...state.digits, key] } };
      }
      const inner = selectList(toSelect(list), sideActions, footOf(list, state));
      return toStep(state, inner.update(toSelected(state), key, size));
    },
    view: (state, canvas) =>
      selectList(toSelect(list), sideActions, footOf(list, state)).view(toSelected(state), canvas),
  };
}

/** Digits and arrows that arrive together move like single ones. With anything else, digits are words. */
function joinMoves(keys: readonly Key[]): readonly Key[] {
  const areMoves = keys.every(
    (key) => isDigit(key) || (key.type === "named" && ARROWS.has(key.name)),
  );
  return areMoves || keys.every(({ type }) => type === "named") ? keys : joinKeys(keys);
}

function isDigit(key: Key): boolean {
  return key.type === "text" && /^\d$/.test(key.text);
}

function moveTo(
  list: GrantList,
  state: GrantListState,
  key: Extract<Key, { readonly type: "text" }>,
): GrantListState {
  const chosen = readDigit(list, Number(key.text));
  return { ...state, ...chosen, digits: [...state.digits, key] };
}

/** What a digit stands for: a rule or, after those, how long. */
function readDigit(list: GrantList, digit: number): Partial<GrantListState> {
  const { rules, lifetimes } = list;
  const rule = digit - 1;
  if (rules[rule] !== undefined && digit <= MAX_RULE_DIGITS) return { rule };
  const lifetime = digit - firstLifetimeDigit(list);
  return lifetimes[lifetime] === undefined ? {} : { lifetime };
}

function firstLifetimeDigit({ rules }: GrantList): number {
  return Math.min(rules.length, MAX_RULE_DIGITS) + 1;
}

/** It acts, so nothing is cut; but Enter takes what is highlighted. */
function toSelect({ message, rules }: GrantList): SelectList {
  const options = rules.map((rule, index) => ({
    label: index < MAX_RULE_DIGITS ? `${index + 1}: ${rule}` : rule,
  }));
  return { message, options, acts: true };
}

function toSelected({ rule }: GrantListState): SelectState {
  return { ...untouchedList, active: rule, isTouched: true };
}

function toStep(
  state: GrantListState,
  step: Step<SelectState, ListEnding>,
): Step<GrantListState, Ending> {
  if ("state" in step) return { state: { ...state, rule: step.state.active } };
  const { ending } = step;
  if (ending.type === "other") return { state }; // It takes no other answer.
  const { rule, lifetime } = state;
  return { ending: ending.type === "chosen" ? { type: "chosen", rule, lifetime } : ending };
}

function footOf(list: GrantList, { rule, lifetime }: GrantListState) {
  const isWritten = rule === list.rules.length - 1;
  const enter = isWritten ? "Enter write it" : "Enter yes, with this rule";
  return {
    rows: (canvas: Canvas) => lifetimeRows(list, lifetime, canvas),
    hints: ["↑↓ which", "←→ how long", "or digits", enter, "Esc back"],
  };
}

const HOW_LONG = "For how long:";

/** As many as fit in a row. The highlighted one has the mark of the list above. */
function lifetimeRows(
  list: GrantList,
  active: number,
  { columns, paint }: Canvas,
): readonly string[] {
  const first = firstLifetimeDigit(list);
  const items = list.lifetimes.map((label, index) => {
    const isActive = index === active;
    const text = `${isActive ? "❯" : " "} ${first + index}: ${label}`;
    return { text, painted: isActive ? paint("cyan", text) : text };
  });
  const rows = [{ width: HOW_LONG.length + 2, text: `  ${HOW_LONG}` }];
  for (const { text, painted } of items) {
    const last = rows.at(-1);
    const width = text.length + 1;
    if (last !== undefined && last.width + width < columns) {
      last.width += width;
      last.text += ` ${painted}`;
    } else {
      const wrapped = wrapVerbatim(text, Math.max(1, columns - 1));
      rows.push(...wrapped.map((row) => ({ width: row.length, text: row })));
    }
  }
  return rows.map(({ text }) => text);
}

/** A line is the number of a rule, of how long, or of both. */
export function plainGrantList(
  list: GrantList,
  state: GrantListState,
): PlainQuestion<GrantListEnding, GrantListState> {
  const { message, rules, lifetimes } = list;
  const first = rules.length + 1;
  const usual = lifetimes[state.lifetime] ?? "";
  const hint =
    `Type the number of a rule and press Enter, such as 1: it holds for ${usual}. ` +
    `Or type it with the number of how long, such as 1 ${first}.`;
  return {
    lines: [
      message,
      ...rules.map((rule, index) => `${index + 1}. ${rule}`),
      HOW_LONG,
      ...lifetimes.map((label, index) => `${first + index}. ${label}`),
    ],
    hint,
    cancelHint: "/cancel to go back",
    readLine: (line) => {
      const [rule = Number.NaN, howLong = first + state.lifetime, ...others] = line
        .trim()
        .split(/[\s,]+/)
        .map(Number);
      const lifetime = howLong - first;
      const isKnown = rules[rule - 1] !== undefined && lifetimes[lifetime] !== undefined;
      if (!isKnown || others.length > 0) return askAgain(hint);
      const chosen = { rule: rule - 1, lifetime };
      return accept({ type: "chosen", ...chosen }, { ...state, ...chosen });
    },
  };
}
