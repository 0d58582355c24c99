/** What waits, kept up to date by events. Pure: the page draws it. */
import type { AnsweredJson, DecisionJson, DeskChange, Page } from "../wire.ts";
import { type Item, keyOf, readItem } from "./item.ts";

/** What waits, and what was answered while the page was open. */
export interface InboxState {
  readonly isLoaded: boolean;
  /** Oldest first. */
  readonly items: readonly Item[];
  /** The cursor of what comes after them, if more is waiting than was loaded. */
  readonly next?: string | undefined;
  /** By the key of the item; the latest last. */
  readonly answered: ReadonlyMap<string, EndedItem>;
}

/** Something that no longer waits, and why. */
export interface EndedItem extends Ended {
  readonly item: Item | undefined;
  /** Whether an event has said so. Until then, an event from before may still come. */
  readonly isTold: boolean;
}

/** Who has decided, or what has changed so that it is asked again. */
export type Ended = Pick<AnsweredJson, "answered_by" | "void">;

export const EMPTY_INBOX: InboxState = { isLoaded: false, items: [], answered: new Map() };

/** Of these the page remembers by whom they were answered. */
const MAX_ANSWERED = 200;

/**
 * Replaces the list by what the server has listed. `before` is the state when the list was requested: what was
 * answered since then may still be in the list, and what came since then may be missing.
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

/** Adds what the server has listed behind it. */
export function withMore(
  state: InboxState,
  before: InboxState,
  page: Page<DecisionJson>,
): InboxState {
  if (state.next !== before.next) return state; // The list was replaced meanwhile.
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

/** The state after a response has said that this item was answered. Events may say so earlier or later. */
export function withAnswered(state: InboxState, item: Item, ended: Ended): InboxState {
  const known = state.answered.get(item.key);
  const isTold = known?.isTold === true && known.item?.asked_at === item.asked_at;
  return withEnd(state, item.key, { ...ended, item, isTold });
}

/** Whether an event says that something waits which a response has called answered since. */
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

/** The item, and the open questions of the same call, which are answered as one form. */
export function formOf(items: readonly Item[], item: Item): readonly Item[] {
  const key = formKey(item);
  const form = items.filter((other) => formKey(other) === key);
  return form.some((other) => other.key === item.key) ? form : [item];
}

/** The items in order, with the questions of each form together. */
export function toForms(items: readonly Item[]): readonly (readonly [Item, ...Item[]])[] {
  const forms = new Map<string, [Item, ...Item[]]>();
  for (const item of items) {
    const form = forms.get(formKey(item));
    if (form === undefined) forms.set(formKey(item), [item]);
    else form.push(item);
  }
  return [...forms.values()];
}

function formKey({ kind, tool_call_id: callId, workspace, conversation, key }: Item): string {
  const isAlone = kind !== "question" || callId === undefined;
  return isAlone ? key : JSON.stringify([workspace, conversation, "call", callId]);
}

function sorted(items: readonly Item[]): readonly Item[] {
  return items.toSorted((left, right) => (left.asked_at < right.asked_at ? -1 : 1));
}
