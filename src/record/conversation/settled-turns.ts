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
  /** How many entries there are before the last turn. */
  readonly length: number;
  /** The same list as long as the entries are the same. */
  readonly events: readonly ProviderEvent[];
  /** The list of a turn earlier, with which this one starts. */
  readonly before?: readonly ProviderEvent[];
}

interface KnownTurns extends SettledTurns {
  /** The entries that they were made of, and possibly more: a turn later adds its own to the same list. */
  readonly entries: StreamEntry[];
}

/**
 * By the first entry of a record. The latest, and those that it was made of: a question to another model adds a turn of its
 * own to a copy. No more, since each is as long as the record.
 */
const known = new WeakMap<StreamEntry, readonly KnownTurns[]>();

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
      ? settle(stream, entries.slice(0, end), toEvents)
      : {
          length: end,
          entries: withTurn(base, turn),
          events: base.events.concat(toEvents({ ...stream, entries: turn })),
          before: base.events,
        };
  const [first] = entries;
  if (settled === undefined || first === undefined) return settled;
  known.set(first, base === undefined ? [settled] : [settled, base]);
  return settled;
}

/** Copies only what another turn has been added to: a list is as long as the record. */
function withTurn({ entries, length }: KnownTurns, turn: readonly StreamEntry[]): StreamEntry[] {
  const all = entries.length === length ? entries : entries.slice(0, length);
  for (const entry of turn) all.push(entry); // There may be too many for one call.
  return all;
}

/** Undefined if what follows could change them, or how they are sent. */
function settle(
  all: ConversationStream,
  entries: StreamEntry[],
  toEvents: ToEvents,
): KnownTurns | undefined {
  const stream = { ...all, entries };
  const next = lastTurnIndex(entries) + 1;
  if (compactionsOf(stream).some(({ toTurn }) => toTurn >= next)) return undefined;
  const events = toEvents(stream);
  // Without a request, a model sees nothing of them.
  const isSeen = events.some(({ type }) => type === "chat_request");
  return isSeen ? { length: entries.length, entries, events } : undefined;
}

function recall(entries: readonly StreamEntry[], end: number): KnownTurns | undefined {
  const [first] = entries;
  const all = (first && known.get(first)) ?? [];
  return all.find((one) => one.length === end && startsWith(entries, one));
}

/** A loop: there may be thousands, and calling a function for each takes ten times as long. */
function startsWith(all: readonly StreamEntry[], { entries, length }: KnownTurns): boolean {
  for (let index = 0; index < length; index += 1) {
    if (all[index] !== entries[index]) return false;
  }
  return true;
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
