/** Where pending decisions stand in the list of all of them, which is sorted by time across conversations. */
import type { StreamEntry } from "./entry.ts";
import type { Timestamp } from "./timestamp.ts";
import { type PendingItem, pendingOf, type TurnProgress } from "./turn-progress.ts";

/** A pending decision's place in the list, within its conversation. It stays the same while the turn grows. */
export interface PendingPlace extends Pick<PendingItem, "kind"> {
  readonly askedAt: Timestamp;
  /** The index of its request in the turn; of the call, if no one has been asked yet. */
  readonly order: number;
}

/** The places of pending items, in their order. `turn` starts at the turn's start. */
export function placesOf(
  items: readonly PendingItem[],
  turn: readonly StreamEntry[],
): readonly PendingPlace[] {
  return items.map(({ kind, askedAt, request, toolCallId }) => {
    const order = turn.findIndex(({ event }) => {
      if (request !== undefined) return event === request;
      const isCall = event?.type === "tool_call_request" && event.id === toolCallId;
      return isCall && event.timestamp === askedAt;
    });
    return { kind, askedAt, order };
  });
}

/**
 * The places of all that is pending in an incomplete turn. Undefined if that depends on whether a process has the
 * conversation open, such as while a tool runs: then only the record says it.
 */
export function findPlaces(
  progress: Pick<TurnProgress, "calls">,
  turn: readonly StreamEntry[],
): readonly PendingPlace[] | undefined {
  const [places = [], whileLive] = [false, true].map((isLive) =>
    placesOf(pendingOf(progress, isLive), turn),
  );
  const orders = new Set(places.map(({ order }) => order));
  const isCertain = orders.size === places.length && !orders.has(-1);
  return isCertain && areSamePlaces(places, whileLive) ? places : undefined;
}

/** Whether both lists have the same places. */
export function areSamePlaces(
  left: readonly PendingPlace[] | undefined,
  right: readonly PendingPlace[] | undefined,
): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
