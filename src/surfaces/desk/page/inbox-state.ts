/** The pending decisions, kept up to date by events. Pure: the page draws it. */
import type { AnsweredJson, DecisionJson, DeskChange, Page } from "../wire.ts";
import { findLoneReason } from "../../../record/conversation/index.ts";
import { canRemember } from "./draft.ts";
import { type Item, keyOf, readItem } from "./item.ts";

/** The pending decisions, and those answered while the page was open. */
export interface InboxState {
  readonly isLoaded: boolean;
  /** Oldest first. */
  readonly items: readonly Item[];
  /** The cursor of the next items, if more are pending than were loaded. */
  readonly next?: string | undefined;
  /** Keyed by item, latest last. */
  readonly answered: ReadonlyMap<string, EndedItem>;
}

/** An item that is no longer pending, and why. */
export interface EndedItem extends Ended {
  readonly item: Item | undefined;
  /** Whether an event has confirmed it. Until then, an older event may still arrive. */
  readonly isTold: boolean;
}

/** Who decided, or what changed so that it is asked again. */
export type Ended = Pick<AnsweredJson, "answered_by" | "void">;

export const EMPTY_INBOX: InboxState = { isLoaded: false, items: [], answered: new Map() };

/** How many answered items the page remembers. */
const MAX_ANSWERED = 200;

/**
 * Replaces the list with the server's. `before` is the state at the time of the request: items answered since may still
 * be in the list, and new items may be missing.
 */
export function withList(
  state: InboxState,
  before: InboxState,
  { items: list, next }: Page<DecisionJson>,
): InboxState {
  const isGone = ({ key }: Item) => state.answered.has(key) && !before.answered.has(key);
  const listed = list.flatMap((json) => readItem(json) ?? []).filter((item) => !isGone(item));
  const keys = new Set(listed.map(({ key }) => key));
  const earlier = new Set(before.items.map(({ key }) => key));
  const since = state.items.filter(({ key }) => !keys.has(key) && !earlier.has(key));
  return { ...state, isLoaded: true, next, items: sorted([...listed, ...since]) };
}

/** Appends the next page of the server's list. */
export function withMore(
  state: InboxState,
  before: InboxState,
  page: Page<DecisionJson>,
): InboxState {
  if (state.next !== before.next) return state; // The list was replaced in the meantime.
  const { items, next } = withList(state, { ...before, items: [] }, page);
  return { ...state, items, next };
}

/** The state after an event. */
export function withEvent(state: InboxState, { type, data }: DeskChange): InboxState {
  if (type === "pending") {
    const item = readItem(data);
    if (item === undefined || isOutdated(state, item)) return state;
    const others = state.items.filter(({ key }) => key !== item.key);
    const answered = new Map(state.answered);
    answered.delete(item.key); // A later question may have the same id.
    return { ...state, items: sorted([...others, item]), answered };
  }
  if (type !== "answered") return state;
  const key = keyOf(data);
  const item = state.items.find((each) => each.key === key) ?? state.answered.get(key)?.item;
  return withEnd(state, key, { ...data, item, isTold: true });
}

/** The state after a response reported this item as answered. The event may come earlier or later. */
export function withAnswered(state: InboxState, item: Item, ended: Ended): InboxState {
  const known = state.answered.get(item.key);
  const isTold = known?.isTold === true && known.item?.asked_at === item.asked_at;
  return withEnd(state, item.key, { ...ended, item, isTold });
}

/** Whether the event is older than a response that reported the item as answered. */
function isOutdated({ items, answered }: InboxState, item: Item): boolean {
  const known = answered.get(item.key);
  const isSame = known?.item?.asked_at === item.asked_at; // A later question may have the same id.
  return known?.isTold === false && isSame && !items.some(({ key }) => key === item.key);
}

function withEnd(state: InboxState, key: string, ended: EndedItem): InboxState {
  const answered = new Map(state.answered);
  const known = answered.get(key);
  answered.delete(key);
  answered.set(key, { ...known, ...ended });
  const [oldest] = answered.keys();
  if (answered.size > MAX_ANSWERED && oldest !== undefined) answered.delete(oldest);
  return { ...state, items: state.items.filter((each) => each.key !== key), answered };
}

/** Items that are answered together: the questions of one call, or several calls. */
export type Form = readonly [Item, ...Item[]];

/** The form with this item. */
export function formOf(items: readonly Item[], item: Item): Form {
  return toForms(items).find((form) => form.some(({ key }) => key === item.key)) ?? [item];
}

/** The items in order, grouped by form. */
export function toForms(items: readonly Item[]): readonly Form[] {
  const alone = items.map((item): Form => [item]);
  const ofCalls = group(alone, ([item]) => callKey(item), Infinity);
  const ofTurns = group(ofCalls, (form) => sharedKey(form, ({ conversation }) => conversation));
  return group(ofTurns, (form) => sharedKey(form, sameCall));
}

/** A card with more would be hard to read. */
const MAX_CALLS = 20;

/** Joins the forms with the same key at the place of the first. Those without one stay alone. */
function group(
  forms: readonly Form[],
  keyOfForm: (form: Form) => string | undefined,
  max = MAX_CALLS,
): readonly Form[] {
  const joined: [Item, ...Item[]][] = [];
  const byKey = new Map<string, [Item, ...Item[]]>();
  for (const form of forms) {
    const key = keyOfForm(form);
    const known = key === undefined ? undefined : byKey.get(key);
    if (known !== undefined && known.length < max) known.push(...form);
    else {
      const first: [Item, ...Item[]] = [...form];
      joined.push(first);
      if (key !== undefined) byKey.set(key, first);
    }
  }
  return joined;
}

/** The questions of one call are a form, however many there are. */
function callKey({ kind, tool_call_id: callId, workspace, conversation }: Item) {
  const isAlone = kind !== "question" || callId === undefined;
  return isAlone ? undefined : JSON.stringify([workspace, conversation, callId]);
}

/**
 * For a single yes or no that may cover other calls, as its terms on record say, and for the same people. As on a
 * terminal, a call outside of the sandbox and one that has changed are decided alone.
 */
function sharedKey([item, ...others]: Form, by: (item: Item) => unknown): string | undefined {
  const { acts, for: person, for_any: forAny, kind, workspace } = item;
  const isAlone = !acts || !canRemember(item) || findLoneReason(item) !== undefined;
  if (others.length > 0 || isAlone) return undefined;
  return JSON.stringify([workspace, kind, person, forAny, by(item)]);
}

/** What the narrowest rule about the call would cover. A question is about more than its call. */
function sameCall({ kind, key, tool, origin, folder, arguments: given }: Item): unknown {
  return kind === "permission" ? [tool, origin, folder, given] : key;
}

/** Whether these are several calls, each of which can be answered alone. */
export function areCalls([first, second]: readonly Item[]): boolean {
  if (first === undefined || second === undefined) return false;
  return first.kind !== "question" || first.tool_call_id !== second.tool_call_id;
}

function sorted(items: readonly Item[]): readonly Item[] {
  return items.toSorted((left, right) => (left.asked_at < right.asked_at ? -1 : 1));
}
