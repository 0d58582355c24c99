/**
 * Turns: what stands between one `turn_start` and the next. Records from before there was such an
 * event are one turn; so are events before the first one. A turn has no id, only its position.
 */
import type { StreamEntry } from "./entry.ts";
import type { ConversationEvent } from "./event.ts";
import { eventsOf } from "./stream.ts";

export interface Turn {
  /** From 0. People count from 1. */
  readonly index: number;
  readonly events: readonly ConversationEvent[];
}

export function turnsOf(entries: Iterable<StreamEntry>): Turn[] {
  const turns: Turn[] = [];
  let events: ConversationEvent[] = [];
  const counter = new TurnCounter();
  for (const event of eventsOf(entries)) {
    if (counter.next(event.type) > turns.length) {
      turns.push({ index: turns.length, events });
      events = [];
    }
    events.push(event);
  }
  if (events.length > 0) turns.push({ index: turns.length, events });
  return turns;
}

/** Tells the turn of each event of a stream, for readers that do not hold the whole of it. */
export class TurnCounter {
  #index = 0;
  #isEmpty = true;

  /** The index of the turn that the next event belongs to. */
  next(type: ConversationEvent["type"]): number {
    if (type === "turn_start" && !this.#isEmpty) this.#index += 1;
    this.#isEmpty = false;
    return this.#index;
  }
}
