/** What the row of a conversation says of its last turn, so that those who look for work need not read records. */
import {
  type ConversationEvent,
  readTurnProgress,
  readyAt,
  type StreamEntry,
} from "../../conversation/index.ts";

export interface TurnState {
  /** Where the last turn starts in the record, if it is not complete. */
  readonly openTurn: number | undefined;
  /** In milliseconds since the epoch; 0 for now. Undefined while it waits for someone, or is complete. */
  readonly readyAt: number | undefined;
}

/** Follows the last turn of a record while it grows. */
export class LastTurn {
  #start: number | undefined;
  #events: ConversationEvent[] = [];
  #length = 0;

  /** All entries, or those from the last turn start on. */
  constructor(entries: readonly StreamEntry[], length: number) {
    this.#length = length - entries.length;
    this.add(entries);
  }

  /** As if these had not been added: for a write that fails. */
  copy(): LastTurn {
    const copy = new LastTurn([], this.#length);
    copy.#start = this.#start;
    copy.#events = this.#events.slice();
    return copy;
  }

  add(entries: readonly StreamEntry[]): void {
    for (const entry of entries) {
      if (entry.eventType === "turn_start") {
        this.#start = this.#length;
        this.#events = [];
      }
      const { event } = entry;
      if (event !== undefined && this.#start !== undefined) this.#events.push(event);
      this.#length += 1;
    }
  }

  state(): TurnState {
    const progress = this.#start === undefined ? undefined : readTurnProgress(this.#events);
    if (progress === undefined || progress.next === "done") {
      return { openTurn: undefined, readyAt: undefined };
    }
    return { openTurn: this.#start, readyAt: readyAt(progress) };
  }
}
