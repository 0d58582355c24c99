/**
 * Turns: what stands between one `turn_start` and the next. Records from before there was such an
 * event are one turn; so are events before the first one. A turn has no id, only its position.
 */
import type { StreamEntry } from "./entry.ts";
import type { ConversationEvent } from "./event.ts";

/** The events of one turn. */
export interface Turn {
  /** From 0. People count from 1. */
  readonly index: number;
  readonly events: readonly ConversationEvent[];
}

/** The record, turn by turn. Events that cannot be read are left out. */
export function turnsOf(entries: Iterable<StreamEntry>): Turn[] {
  const turns: Turn[] = [];
  let events: ConversationEvent[] = [];
  const counter = new TurnCounter();
  for (const { eventType, event } of entries) {
    if (eventType === undefined) continue;
    const index = counter.next(eventType);
    if (turns.length === 0 || index > turns.length - 1) {
      events = [];
      turns.push({ index, events });
    }
    if (event !== undefined) events.push(event);
  }
  return turns;
}

/**
 * Tells the turn of each event of a stream, for readers that do not hold the whole of it. Events that
 * cannot be read count too: all readers number the turns alike.
 */
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
