/**
 * The stream of a record that is open. Opened at its end, it reads the turns before only once they are needed: a call that
 * was answered can run without them. It does not know where the record is, and writes nothing.
 */
import {
  type ConversationStream,
  createStream,
  type StoredStream,
  type StreamEntry,
} from "../../conversation/index.ts";
import { type JsonObject, shouldYield, yieldToEventLoop } from "../../util/index.ts";

/** The file of the record. Both throw `read_failed` and `record_damaged`. */
export interface EarlierSource {
  /** Reads the entries before a position, piece by piece. */
  readEarlier(end: number): Iterable<readonly StreamEntry[]>;
  /** Before they are read. Returns false if the record has changed: then another stream has taken the place of this one. */
  refresh(): Promise<boolean>;
}

/** Its accessors are not copied along with the rest, so a changed copy has only the entries that it is given. */
export class RecordStream implements ConversationStream {
  readonly createdAt: ConversationStream["createdAt"];
  readonly baseConfig: JsonObject;
  readonly #source: EarlierSource;
  #entries: StreamEntry[];
  /** Where the part ends that is not read yet. */
  #unreadEnd: number | undefined;

  constructor(stored: StoredStream, source: EarlierSource, unreadEnd?: number) {
    const { createdAt, baseConfig, entries } = createStream(stored);
    this.createdAt = createdAt;
    this.baseConfig = baseConfig;
    this.#entries = entries.slice();
    this.#unreadEnd = unreadEnd;
    this.#source = source;
  }

  get entries(): readonly StreamEntry[] {
    if (this.#unreadEnd !== undefined) {
      const earlier: StreamEntry[] = [];
      for (const batch of this.#source.readEarlier(this.#unreadEnd)) append(earlier, batch);
      this.#complete(earlier);
    }
    return this.#entries;
  }

  get end(): readonly StreamEntry[] | undefined {
    return this.isWhole ? undefined : this.lastEntries;
  }

  /** From the last turn start on, or all that are read. */
  get lastEntries(): readonly StreamEntry[] {
    const start = this.#entries.findLastIndex(({ eventType }) => eventType === "turn_start");
    return start <= 0 ? this.#entries : this.#entries.slice(start);
  }

  get isWhole(): boolean {
    return this.#unreadEnd === undefined;
  }

  async load(): Promise<void> {
    if (this.#unreadEnd === undefined) return;
    if (!(await this.#source.refresh())) return;
    const earlier: StreamEntry[] = [];
    for (const batch of this.#source.readEarlier(this.#unreadEnd)) {
      append(earlier, batch);
      if (shouldYield()) await yieldToEventLoop();
    }
    this.#complete(earlier);
  }

  append(added: readonly StreamEntry[]): void {
    append(this.#entries, added);
  }

  /** Unless someone else has been faster. */
  #complete(earlier: StreamEntry[]): void {
    if (this.#unreadEnd === undefined) return;
    append(earlier, this.#entries);
    this.#entries = earlier;
    this.#unreadEnd = undefined;
  }
}

/** There may be too many for one call. */
function append(entries: StreamEntry[], added: readonly StreamEntry[]): void {
  for (const entry of added) entries.push(entry);
}
