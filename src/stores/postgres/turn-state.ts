/** The state of the last turn in a conversation's row, so that workers need not read records to find work. */
import {
  type ConversationEvent,
  readTurnProgress,
  readyAt,
  type StreamEntry,
} from "../../record/conversation/index.ts";
import { emptyDigest, extendDigest, type TurnDigest, type TurnPlace } from "./turn-keys.ts";

export interface TurnState {
  /** The position of the last turn's start in the record, if it is not complete. */
  readonly openTurn: number | undefined;
  /** In milliseconds since the epoch; 0 for now. Undefined while it waits for someone, or is complete. */
  readonly readyAt: number | undefined;
}

/** An entry with its recorded text. */
export interface StoredEntry {
  readonly entry: StreamEntry;
  readonly text: string;
}

/** Tracks the last turn of a growing record. */
export class LastTurn {
  readonly #conversation: Omit<TurnPlace, "seq">;
  #start: number | undefined;
  #events: readonly ConversationEvent[] = [];
  #length: number;
  #digest: TurnDigest | undefined;

  /** `length` entries precede what is added. */
  constructor(conversation: Omit<TurnPlace, "seq">, length = 0) {
    this.#conversation = conversation;
    this.#length = length;
  }

  /** A copy with more entries. This one stays unchanged, in case the write fails. */
  with(added: readonly StoredEntry[]): LastTurn {
    const next = new LastTurn(this.#conversation, this.#length);
    const events = [...this.#events];
    next.#start = this.#start;
    next.#digest = this.#digest;
    for (const { entry, text } of added) {
      if (entry.eventType === "turn_start") {
        next.#start = next.#length;
        next.#digest = emptyDigest({ ...this.#conversation, seq: next.#length });
        events.length = 0;
      }
      if (next.#digest !== undefined) {
        next.#digest = extendDigest(next.#digest, text);
        if (entry.event !== undefined) events.push(entry.event);
      }
      next.#length += 1;
    }
    next.#events = events;
    return next;
  }

  /** For the same conversation, with other entries. */
  restarted(entries: readonly StoredEntry[]): LastTurn {
    return new LastTurn(this.#conversation).with(entries);
  }

  /** Undefined if there is no turn. */
  get digest(): TurnDigest | undefined {
    return this.#digest;
  }

  get state(): TurnState {
    const progress = this.#start === undefined ? undefined : readTurnProgress(this.#events);
    if (progress === undefined || progress.next === "done") {
      return { openTurn: undefined, readyAt: undefined };
    }
    return { openTurn: this.#start, readyAt: readyAt(progress) };
  }
}
