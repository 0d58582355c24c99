/**
 * The turns before the last one as a model sees them, worked out once for all requests that start with them: a turn adds to
 * them when the next one begins. What the last turn does to them, with a compaction or by replacing one, is not known here:
 * then there are none, and everything is worked out anew.
 */
import type { StreamEntry } from "./entry.ts";
import { isProviderVisibleType, type ProviderEvent } from "./event.ts";
import { compactionsOf, isReplacing } from "./projection.ts";
import type { ConversationStream } from "./stream.ts";
import { lastTurnIndex } from "./turns.ts";

export interface SettledTurns {
  /** Everything before the last turn. */
  readonly entries: Beginning<StreamEntry>;
  readonly events: Beginning<ProviderEvent>;
  /** The events of a turn earlier, with which these start. */
  readonly before?: Beginning<ProviderEvent>;
}

/**
 * By the first entry of a record. The latest, and those that it was made of: a question to another model adds a turn of its
 * own to a copy.
 */
const known = new WeakMap<StreamEntry, readonly SettledTurns[]>();

/** The events that a model sees of a stream. */
type ToEvents = (stream: ConversationStream) => readonly ProviderEvent[];

/** Undefined if there are no turns before the last one, or it is not only an addition to them. */
export function findSettledTurns(
  stream: ConversationStream,
  toEvents: ToEvents,
): SettledTurns | undefined {
  const { entries } = stream;
  const end = lastTurnStart(entries, entries.length);
  if (end <= 0 || !isAddition(entries.slice(end))) return undefined;
  const same = recall(entries, end);
  if (same !== undefined) return same;
  const start = lastTurnStart(entries, end);
  const turn = entries.slice(Math.max(start, 0), end);
  const base = start > 0 && isAddition(turn) ? recall(entries, start) : undefined;
  const settled =
    base === undefined
      ? settle(stream, end, toEvents)
      : {
          entries: base.entries.continueWith(turn),
          events: base.events.continueWith(toEvents({ ...stream, entries: turn })),
          before: base.events,
        };
  const [first] = entries;
  if (settled === undefined || first === undefined) return settled;
  known.set(first, base === undefined ? [settled] : [settled, base]);
  return settled;
}

/** Undefined if what follows could change them, or how they are sent. */
function settle(
  all: ConversationStream,
  end: number,
  toEvents: ToEvents,
): SettledTurns | undefined {
  const entries = all.entries.slice(0, end);
  const stream = { ...all, entries };
  const next = lastTurnIndex(entries) + 1;
  if (compactionsOf(stream).some(({ toTurn }) => toTurn >= next)) return undefined;
  const events = toEvents(stream);
  // Without a request, a model sees nothing of them.
  const isSeen = events.some(({ type }) => type === "chat_request");
  return isSeen
    ? { entries: new Beginning(entries), events: new Beginning([...events]) }
    : undefined;
}

function recall(entries: readonly StreamEntry[], end: number): SettledTurns | undefined {
  const [first] = entries;
  const all = (first && known.get(first)) ?? [];
  return all.find((one) => one.entries.length === end && one.entries.isStartOf(entries));
}

/** Whether a turn leaves those before it as they are, and starts with a request, as each does that jp has recorded. */
function isAddition(turn: readonly StreamEntry[]): boolean {
  const first = turn.find(
    ({ eventType, event }) => isProviderVisibleType(eventType) && event !== undefined,
  );
  return first?.eventType === "chat_request" && !turn.some(changesEarlier);
}

function changesEarlier(entry: StreamEntry): boolean {
  if (entry.eventType === undefined) return entry.content.kind === "compaction";
  return isReplacing(entry);
}

/** The last one before a position; -1 if there is none. */
function lastTurnStart(entries: readonly StreamEntry[], end: number): number {
  for (let index = end - 1; index >= 0; index -= 1) {
    if (entries[index]?.eventType === "turn_start") return index;
  }
  return -1;
}

/**
 * The first items of a list that grows. Whoever continues it adds to the same list, unless someone else already has: a copy
 * of a long record for each of its turns would cost more than the turn.
 */
export class Beginning<Item> {
  readonly length: number;
  readonly #list: Item[];

  /** Adds to the list that it is given. */
  constructor(list: Item[], length = list.length) {
    this.#list = list;
    this.length = length;
  }

  /** These items and others, of which this one stays the beginning. */
  continueWith(items: readonly Item[]): Beginning<Item> {
    const list = this.#isLongest ? this.#list : this.#list.slice(0, this.length);
    for (const item of items) list.push(item); // There may be too many for one call.
    return new Beginning(list);
  }

  /** The items from this position on. */
  from(position: number): readonly Item[] {
    return this.#list.slice(position, this.length);
  }

  /** These items, between others. Copies all at once, which spreading thousands of them does not. */
  between(before: readonly Item[], after: readonly Item[]): Item[] {
    return before.concat(this.#isLongest ? this.#list : this.from(0), after);
  }

  /** Whether the list starts with the same items. In a loop: calling a function for each would take ten times as long. */
  isStartOf(list: readonly Item[]): boolean {
    for (let index = 0; index < this.length; index += 1) {
      if (list[index] !== this.#list[index]) return false;
    }
    return true;
  }

  get #isLongest(): boolean {
    return this.#list.length === this.length;
  }
}
