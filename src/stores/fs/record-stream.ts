/**
 * The stream of an open record. Opened at its end, it reads earlier turns only when they are needed: a call that was
 * answered can run without them. It does not know where the record is, and writes nothing.
 */
import {
  type ConversationStream,
  createStream,
  lastTurnEntries,
  type StoredStream,
  type StreamEntry,
  type StreamOutline,
} from "../../record/conversation/index.ts";
import { type JsonObject, shouldYield, yieldToEventLoop } from "../../util/index.ts";

/** The file of the record. All methods throw `read_failed` and `record_damaged`. */
export interface EarlierSource {
  /** Reads the entries before a position, piece by piece. */
  readEarlier(end: number): Iterable<readonly StreamEntry[]>;
  /** An outline of the record before a position. Undefined if that requires reading it. */
  outlineEarlier(end: number): Promise<StreamOutline | undefined>;
  /** Called before they are read. Returns false if the record has changed: then another stream has replaced this one. */
  refresh(): Promise<boolean>;
}

/** The part of a record that is not read yet. */
export interface UnreadPart {
  readonly end: number;
  /** Its outline, shared by all streams of the same part. */
  outline?: Promise<StreamOutline | undefined>;
}

/** Spreading it does not copy its accessors, so a changed copy has only the entries it is given. */
export class RecordStream implements ConversationStream {
  readonly createdAt: ConversationStream["createdAt"];
  readonly baseConfig: JsonObject;
  readonly #source: EarlierSource;
  #entries: StreamEntry[];
  #unread: UnreadPart | undefined;

  constructor(stored: StoredStream, source: EarlierSource, unread?: UnreadPart) {
    const { createdAt, baseConfig, entries } = createStream(stored);
    this.createdAt = createdAt;
    this.baseConfig = baseConfig;
    this.#entries = entries.slice();
    this.#unread = unread;
    this.#source = source;
  }

  get entries(): readonly StreamEntry[] {
    if (this.#unread !== undefined) {
      const earlier: StreamEntry[] = [];
      for (const batch of this.#source.readEarlier(this.#unread.end)) append(earlier, batch);
      this.#complete(earlier);
    }
    return this.#entries;
  }

  get end(): readonly StreamEntry[] | undefined {
    return this.isWhole ? undefined : this.lastEntries;
  }

  /** The entries from the last turn start, or all that are read. */
  get lastEntries(): readonly StreamEntry[] {
    return lastTurnEntries(this.#entries);
  }

  get isWhole(): boolean {
    return this.#unread === undefined;
  }

  async load(): Promise<void> {
    const unread = this.#unread;
    if (unread === undefined || !(await this.#source.refresh())) return;
    const earlier: StreamEntry[] = [];
    for (const batch of this.#source.readEarlier(unread.end)) {
      append(earlier, batch);
      if (shouldYield()) await yieldToEventLoop();
    }
    this.#complete(earlier);
  }

  async outline(): Promise<StreamOutline | undefined> {
    if (this.#unread === undefined) return undefined;
    this.#unread.outline ??= this.#outlineEarlier(this.#unread.end);
    const earlier = await this.#unread.outline;
    if (earlier === undefined || this.isWhole) return undefined;
    const deltas = this.#entries.filter(({ eventType }) => eventType === undefined);
    const starts = this.#entries.filter(({ eventType }) => eventType === "turn_start");
    return {
      deltas: [...earlier.deltas, ...deltas],
      lastTurn: earlier.lastTurn + starts.length,
    };
  }

  async #outlineEarlier(end: number): Promise<StreamOutline | undefined> {
    return (await this.#source.refresh()) ? this.#source.outlineEarlier(end) : undefined;
  }

  append(added: readonly StreamEntry[]): void {
    append(this.#entries, added);
  }

  /** Takes back what was not stored after all. */
  drop(added: readonly StreamEntry[]): void {
    const dropped = new Set(added);
    this.#entries = this.#entries.filter((entry) => !dropped.has(entry));
  }

  /** Does nothing if another call was faster. */
  #complete(earlier: StreamEntry[]): void {
    if (this.#unread === undefined) return;
    append(earlier, this.#entries);
    this.#entries = earlier;
    this.#unread = undefined;
  }
}

/** There may be too many for one `push`. */
function append(entries: StreamEntry[], added: readonly StreamEntry[]): void {
  for (const entry of added) entries.push(entry);
}
