/**
 * The last turn of a conversation: its state in the row, so that workers need not read records to find work, and the
 * digest that its writers sign.
 */
import { createHash } from "node:crypto";
import {
  eventsOf,
  findPlaces,
  type PendingPlace,
  readTurnProgress,
  readyAt,
  type StreamEntry,
} from "../../record/conversation/index.ts";

export interface TurnState {
  /** The position of the last turn's start in the record, if it is not complete. */
  readonly openTurn: number | undefined;
  /** In milliseconds since the epoch; 0 for now. Undefined while it waits for someone, or is complete. */
  readonly readyAt: number | undefined;
  /** The places of its pending decisions, if the record alone says which they are: see `findPlaces`. */
  readonly places: readonly PendingPlace[] | undefined;
}

/** An entry with its recorded text. */
export interface StoredEntry {
  readonly entry: StreamEntry;
  readonly text: string;
}

/** The digest of a turn, from its start to an entry. */
export type TurnDigest = string & { readonly brand: "turn digest" };

/** The conversation of a turn. Part of the digest, so that one turn's signatures do not fit another. */
export interface TurnPlace {
  readonly tenant: string;
  readonly workspace: string;
  readonly conversation: string;
}

/** Tracks the last turn of a growing record. */
export class LastTurn {
  readonly #place: TurnPlace;
  #start: number | undefined;
  #entries: readonly StreamEntry[] = [];
  #length: number;
  #digest: TurnDigest | undefined;
  #state: TurnState | undefined;

  /** `length` entries precede what is added. */
  constructor(place: TurnPlace, length = 0) {
    this.#place = place;
    this.#length = length;
  }

  /** A copy with more entries. This one stays unchanged, in case the write fails. */
  with(added: readonly StoredEntry[]): LastTurn {
    const next = new LastTurn(this.#place, this.#length);
    const entries = [...this.#entries];
    next.#start = this.#start;
    next.#digest = this.#digest;
    for (const { entry, text } of added) {
      if (entry.eventType === "turn_start") {
        next.#start = next.#length;
        next.#digest = this.#emptyDigest(next.#length);
        entries.length = 0;
      }
      if (next.#digest !== undefined) {
        next.#digest = hash(next.#digest, text);
        entries.push(entry);
      }
      next.#length += 1;
    }
    next.#entries = entries;
    return next;
  }

  #emptyDigest(start: number): TurnDigest {
    const { tenant, workspace, conversation } = this.#place;
    return hash("", JSON.stringify([tenant, workspace, conversation, start]));
  }

  /** Undefined if there is no turn. */
  get digest(): TurnDigest | undefined {
    return this.#digest;
  }

  /** The number of entries of the record. */
  get length(): number {
    return this.#length;
  }

  get state(): TurnState {
    this.#state ??= this.#read();
    return this.#state;
  }

  #read(): TurnState {
    const progress =
      this.#start === undefined ? undefined : readTurnProgress(eventsOf(this.#entries));
    if (progress === undefined || progress.next === "done") {
      return { openTurn: undefined, readyAt: undefined, places: [] };
    }
    const places = findPlaces(progress, this.#entries);
    return { openTurn: this.#start, readyAt: readyAt(progress), places };
  }
}

function hash(before: string, text: string): TurnDigest {
  const digest = createHash("sha256").update(`${before}\n${text}`).digest("hex");
  return digest as TurnDigest; // The only place that creates one.
}
