/** The desk's latest events, for listeners that reconnect after missing some. */
import type { Clock } from "../../util/index.ts";
import type { DeskChange, DeskEvent } from "./wire.ts";

/** A listener that missed more than this reads everything again. */
const MAX_EVENTS = 1000;
/** Total length of the events' JSON. The last event is kept even if it is longer. */
const MAX_LENGTH = 4 << 20;
/** More than are ever emitted in a millisecond, so that ids keep growing across restarts. */
const IDS_PER_MS = 1000;

/** Numbers events and passes them to all listeners. */
export class EventLog {
  readonly #events: LoggedEvent[] = [];
  /** Total length of the stored events. */
  #length = 0;
  readonly #listeners = new Set<(event: DeskEvent) => void>();
  /** Older events have been dropped. */
  #first: number;
  #last: number;

  constructor(clock: Clock) {
    this.#last = clock.now().getTime() * IDS_PER_MS;
    this.#first = this.#last + 1;
  }

  emit(change: DeskChange): void {
    this.#last += 1;
    const event = { id: this.#last, ...change };
    const { length } = JSON.stringify(change.data);
    this.#events.push({ event, length });
    this.#length += length;
    while (this.#isTooLong()) this.#length -= this.#events.shift()?.length ?? 0;
    this.#first = this.#events[0]?.event.id ?? this.#first;
    for (const listener of this.#listeners) listener(event);
  }

  /** First replays the events that the listener missed, or sends `reset` if they are no longer stored. */
  subscribe(listener: (event: DeskEvent) => void, after: number = this.#last): Disposable {
    const own = (event: DeskEvent) => listener(event); // A listener may be registered twice.
    const isKnown = after >= this.#first - 1 && after <= this.#last;
    if (!isKnown) own({ id: this.#last, type: "reset", data: {} });
    const missed = isKnown ? this.#events.filter(({ event }) => event.id > after) : [];
    for (const { event } of missed) own(event);
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  #isTooLong(): boolean {
    const { length: count } = this.#events;
    return count > MAX_EVENTS || (count > 1 && this.#length > MAX_LENGTH);
  }
}

interface LoggedEvent {
  readonly event: DeskEvent;
  /** The length of its JSON. */
  readonly length: number;
}
