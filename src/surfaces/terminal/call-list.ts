/**
 * The widget for several calls that need permission: a list above an ordinary question, which decides the chosen ones
 * or all.
 *
 * A yes covers only calls that were shown in full. A call that is cut off, or has to be decided alone, is marked with
 * `[!]` and can only be opened.
 */
import { moreLines, plain, wrapVerbatim, wrapWords } from "../render/index.ts";
import {
  type DecisionEnding,
  decisionLine,
  type DecisionState,
  undecided,
} from "./decision-line.ts";
import { isEnter, type Key } from "./key.ts";
import type { KeyMenu } from "./key-menu.ts";
import {
  approve,
  type CallList,
  type CallListEnding,
  type CallListState,
  deny,
  describeCalls,
  idsOf,
  type ListedCall,
} from "./listed-calls.ts";
import { type SideAction, type SideActions, stackRows } from "./question-rows.ts";
import type { Canvas, Frame, Size, Step, Widget } from "./widget.ts";

/** Includes the words typed so far. */
export interface OpenCallList extends CallListState {
  readonly decision: DecisionState;
}

type Ending = CallListEnding | SideAction | { readonly type: "cancelled" };

type CallStep = Step<OpenCallList, Ending>;

export function callList(list: CallList, sideActions: SideActions): Widget<OpenCallList, Ending> {
  const widget = new CallListWidget(list, sideActions);
  const still = decisionLine(widget.menuFor(undecidedList(list), WIDE), sideActions);
  return {
    // Otherwise keys typed ahead could skip unseen calls.
    get isDrawnBetweenKeys() {
      return widget.hasUnseen;
    },
    joinKeys: (keys) => still.joinKeys?.(keys) ?? keys,
    holdsWork: ({ decision }) => still.holdsWork?.(decision) === true,
    stepBack: (state) => {
      const decision = still.stepBack?.(state.decision);
      if (decision !== undefined) return { ...state, decision };
      return state.chosen.length === 0 ? undefined : { ...state, chosen: [] };
    },
    isSettling: ({ decision }) => still.isSettling?.(decision) === true,
    settle: (state, size) => widget.settle(state, size),
    update: (state, key, size) => widget.update(state, key, size),
    view: (state, canvas) => widget.view(state, canvas),
  };
}

export function undecidedList({ calls }: CallList): OpenCallList {
  return { active: calls[0]?.id ?? "", chosen: [], seen: [], decision: undecided };
}

const WIDE: Size = { columns: 80, rows: 24 };

/** Rows per call: longer ones have to be opened. */
const MAX_CALL_ROWS = 3;
const MARGIN = "❯ [ ] ".length;

type Choice = "y" | "n";

class CallListWidget {
  readonly #list: CallList;
  readonly #sideActions: SideActions;
  /** Applies to the last drawn frame. */
  hasUnseen = true;

  constructor(list: CallList, sideActions: SideActions) {
    this.#list = list;
    this.#sideActions = sideActions;
  }

  update(before: OpenCallList, key: Key, size: Size): CallStep {
    const state = this.#withSeen(before, size);
    const { line, place, isHeld } = state.decision;
    const isFree = place === "keys" && line.text === "" && !isHeld;
    return (
      (isFree ? this.#moveOrOpen(state, key, size) : undefined) ??
      this.#apply(state, this.#question(state, size).update(state.decision, key, size), size)
    );
  }

  settle(state: OpenCallList, size: Size): CallStep {
    const step = this.#question(state, size).settle?.(state.decision, size);
    return step === undefined ? { state } : this.#apply(this.#withSeen(state, size), step, size);
  }

  /** Undefined for the question's own keys. */
  #moveOrOpen(before: OpenCallList, key: Key, size: Size): CallStep | undefined {
    const { calls } = this.#list;
    const { problem: _problem, ...decision } = before.decision;
    const state = { ...before, decision };
    const at = this.#at(state);
    const { id } = calls[at] ?? { id: "" };
    if (isEnter(key)) return { ending: { type: "opened", id } };
    const name = key.type === "named" ? key.name : key.text;
    const page = Math.max(1, this.#visible(state, size).length - 1);
    const last = calls.length - 1;
    const to = (index: number): CallStep => {
      const { id: active } = calls[Math.max(0, Math.min(last, index))] ?? { id };
      return { state: { ...state, active } };
    };
    switch (name) {
      case "right":
        return { ending: { type: "opened", id } };
      case "up":
        return to(at - 1);
      case "down":
        return to(at + 1);
      case "page-up":
        return to(at - page);
      case "page-down":
        return to(at + page);
      case "home":
        return to(0);
      case "end":
        return to(last);
      case " ": {
        const { chosen } = state;
        const others = chosen.filter((each) => each !== id);
        const isChosen = others.length < chosen.length;
        return { state: { ...state, chosen: isChosen ? others : [...others, id] } };
      }
      default:
        return undefined;
    }
  }

  #apply(
    state: OpenCallList,
    step: Step<DecisionState, DecisionEnding<Choice>>,
    size: Size,
  ): CallStep {
    if ("state" in step) return { state: { ...state, decision: step.state } };
    const { ending } = step;
    const calls = this.#targets(state);
    switch (ending.type) {
      case "chosen":
        return ending.choice === "n" ? { ending: deny(calls) } : this.#approve(state, calls, size);
      case "said_no":
        return { ending: deny(calls, ending) };
      default:
        return { ending };
    }
  }

  /** Calls that need a look stay open. */
  #approve(state: OpenCallList, calls: readonly ListedCall[], size: Size): CallStep {
    const ending = approve(calls, (call) => isShownWhole(call, size));
    if (ending.type !== "approved") return { ending };
    const unseen = ending.ids.filter((id) => !state.seen.includes(id)).length;
    if (unseen === 0) return { ending };
    const what = unseen === 1 ? "One call has" : `${unseen} calls have`;
    const problem = `${what} not been on the screen yet: ↓ or Page Down shows more.`;
    return { state: { ...state, decision: { ...undecided, isTouched: true, problem } } };
  }

  view(state: OpenCallList, canvas: Canvas): Frame {
    const { rows, question } = this.#layOut(state, canvas);
    const { seen } = this.#withSeen(state, canvas);
    this.hasUnseen = this.#list.calls.some(({ id }) => !seen.includes(id));
    const above = rows.length - question.rows.length;
    const cursor = { ...question.cursor, row: above + question.cursor.row };
    return { rows, cursor, isCut: question.isCut === true };
  }

  /** The keys and their current effects in words. */
  menuFor(state: OpenCallList, size: Size): KeyMenu<Choice> {
    const { calls, escape, sendsWords = true } = this.#list;
    const targets = this.#targets(state);
    const covered = targets.filter((call) => isShownWhole(call, size)).length;
    const isAll = targets.length === calls.length;
    const yes =
      covered === 0 ? "look at the first" : `yes to ${covered === calls.length ? "all" : covered}`;
    const no = `no to ${isAll ? "all" : targets.length}`;
    const chosen = targets.length === 1 ? "the chosen call" : `the ${targets.length} chosen calls`;
    return {
      message: state.chosen.length === 0 ? describeCalls(calls) : `Run ${chosen}?`,
      choices: [
        { key: "y", label: yes },
        { key: "n", label: no },
      ],
      besides: [
        { key: "Space", label: "choose", help: "choose calls: then y and n are for those" },
        {
          key: "Enter",
          label: "show in full",
          help: "show the call in full, and decide about it alone",
        },
        { key: "↑↓", help: "move; also Page Up, Page Down, Home and End" },
      ],
      noKey: "n",
      sendsWords,
      escape,
    };
  }

  #question(state: OpenCallList, size: Size) {
    return decisionLine(this.menuFor(state, size), this.#sideActions);
  }

  /** The chosen calls, or all. */
  #targets({ chosen }: CallListState): readonly ListedCall[] {
    const { calls } = this.#list;
    const some = calls.filter(({ id }) => chosen.includes(id));
    return some.length === 0 ? calls : some;
  }

  #at({ active }: CallListState): number {
    return Math.max(
      0,
      this.#list.calls.findIndex(({ id }) => id === active),
    );
  }

  /** The rows of the screen, and the calls that are fully visible. */
  #layOut(state: OpenCallList, canvas: Canvas) {
    const { calls } = this.#list;
    const at = this.#at(state);
    const blocks = calls.map((call, index) =>
      callRows(call, { ...state, isActive: index === at }, canvas),
    );
    const body: string[] = [];
    const starts = blocks.map((rows) => body.push(...rows) - rows.length);
    const question = this.#question(state, canvas).view(state.decision, canvas);
    const isLong = body.length + question.rows.length > canvas.rows;
    const foot = [...this.#notes(at, isLong, canvas), ...question.rows];
    const active = starts[at] ?? 0;
    const activeHeight = blocks[at]?.length ?? 1;
    const stack = { head: [], body, active, activeHeight, foot };
    const { rows, activeRow } = stackRows(stack, canvas.rows);
    const first = active - activeRow;
    const end = first + rows.length - foot.length;
    const visible = calls.filter((_call, index) => {
      const [start = 0, { length }] = [starts[index], blocks[index] ?? []];
      return start >= first && start + length <= end;
    });
    return { rows, question, visible: rows.length > canvas.rows ? [] : visible };
  }

  /** The position in a scrolling list, and the meaning of the mark. */
  #notes(at: number, isLong: boolean, canvas: Canvas): readonly string[] {
    const { calls } = this.#list;
    const isMarked = calls.some((call) => !isShownWhole(call, canvas));
    return [
      ...(isLong ? [`Call ${at + 1} of ${calls.length} · ↑↓ and Page Down move`] : []),
      ...(isMarked ? ["[!] needs a look first: Enter shows it in full."] : []),
    ].flatMap((note) =>
      wrapWords(note, canvas.columns - 2).map((row) => canvas.paint("dim", `  ${row}`)),
    );
  }

  #visible(state: OpenCallList, size: Size): readonly ListedCall[] {
    return this.#layOut(state, { ...size, paint: plain }).visible;
  }

  #withSeen(state: OpenCallList, size: Size): OpenCallList {
    const visible = idsOf(this.#visible(state, size));
    const added = visible.filter((id) => !state.seen.includes(id));
    return added.length === 0 ? state : { ...state, seen: [...state.seen, ...added] };
  }
}

/** Whether the list shows everything that a yes would cover. */
function isShownWhole(call: ListedCall, { columns }: Size): boolean {
  return !call.isDecidedAlone && !call.isUnclear && linesOf(call, columns).length <= MAX_CALL_ROWS;
}

function linesOf({ line }: ListedCall, columns: number): readonly string[] {
  return wrapVerbatim(line, Math.max(1, columns - MARGIN - 1));
}

function callRows(
  call: ListedCall,
  { chosen, isActive }: Pick<CallListState, "chosen"> & { readonly isActive: boolean },
  canvas: Canvas,
): readonly string[] {
  const { columns, paint } = canvas;
  const lines = linesOf(call, columns);
  const hidden = lines.length - MAX_CALL_ROWS + 1;
  const shown =
    lines.length <= MAX_CALL_ROWS
      ? lines
      : [...lines.slice(0, MAX_CALL_ROWS - 1), moreLines(hidden)];
  const isWhole = isShownWhole(call, canvas);
  const mark = chosen.includes(call.id) ? "[x]" : isWhole ? "[ ]" : "[!]";
  return shown.map((row, index) => {
    const margin = index === 0 ? `${isActive ? "❯" : " "} ${mark} ` : " ".repeat(MARGIN);
    return isActive ? paint("cyan", margin + row) : margin + row;
  });
}
