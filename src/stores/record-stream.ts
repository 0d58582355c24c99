/**
 * The stream of an open record. Opened at its end, it reads earlier turns only when they are needed: a call that was
 * answered can run without them. It writes nothing.
 */
import {
  type ConversationStream,
  createStream,
  lastTurnEntries,
  type StoredStream,
  type StreamEntry,
  type StreamOutline,
} from "../record/conversation/index.ts";
import { type JsonObject, loaderOf, shouldYield, yieldToEventLoop } from "../util/index.ts";
import type { AbridgedPart, KnownPart, UnreadSource } from "./abridged-part.ts";
import { notLoadedError } from "./storage-error.ts";

/** The entries of a record before those in memory. */
export interface EarlierPart {
  /** What is known of them is shared by all streams of the same part. */
  readonly known: KnownPart;
  /** Called before they are read later on. Returns false if the record has changed: then another stream has replaced this one. */
  refresh(): Promise<boolean>;
  /** Reads them in order. Throws `read_failed`, `record_damaged`. */
  read(): AsyncIterable<readonly StreamEntry[]> | Iterable<readonly StreamEntry[]>;
  /** The same at once. Absent if the store cannot do that. */
  readNow?(): Iterable<readonly StreamEntry[]>;
  /** Throws `read_failed`. */
  source(): Promise<UnreadSource>;
}

/** The first entries, if only what models see was read. */
interface AbridgedStart {
  readonly length: number;
  /** What was in memory in their place. */
  readonly instead: readonly StreamEntry[];
}

/** Spreading it does not copy its accessors, so a changed copy has only the entries it is given. */
export class RecordStream implements ConversationStream {
  readonly createdAt: ConversationStream["createdAt"];
  readonly baseConfig: JsonObject;
  /** All, those after `#unread`, or those that models see. */
  #entries: StreamEntry[];
  #unread: EarlierPart | undefined;
  #abridged: AbridgedStart | undefined;
  /** The number of entries that were handed over: another stream may add to them. */
  #handedOver: number | undefined;

  /** Adds to the list of entries that it is given. */
  constructor(
    { entries, ...stored }: StoredStream & { readonly entries: StreamEntry[] },
    unread?: EarlierPart,
  ) {
    const { createdAt, baseConfig, entries: all } = createStream({ ...stored, entries });
    this.createdAt = createdAt;
    this.baseConfig = baseConfig;
    this.#entries = all === entries ? entries : [...all];
    this.#unread = unread;
  }

  get entries(): readonly StreamEntry[] {
    const unread = this.#unread;
    if (unread !== undefined) {
      if (unread.readNow === undefined) throw notLoadedError();
      const earlier: StreamEntry[] = [];
      for (const batch of unread.readNow()) append(earlier, batch);
      this.#complete(earlier);
    }
    return this.#own;
  }

  get #own(): readonly StreamEntry[] {
    if (this.#handedOver !== undefined) {
      this.#entries = this.#entries.slice(0, this.#handedOver);
      this.#handedOver = undefined;
    }
    return this.#entries;
  }

  get visible(): ConversationStream {
    if (this.isWhole || this.#abridged === undefined) return this;
    const { createdAt, baseConfig } = this;
    return { createdAt, baseConfig, entries: this.#entries };
  }

  get end(): readonly StreamEntry[] | undefined {
    return this.isWhole ? undefined : this.lastEntries;
  }

  /** The entries from the last turn start, or all that are read. */
  get lastEntries(): readonly StreamEntry[] {
    return lastTurnEntries(this.#own);
  }

  get mustLoad(): boolean {
    return this.#unread !== undefined && this.#unread.readNow === undefined;
  }

  get isWhole(): boolean {
    return this.#unread === undefined;
  }

  async load(): Promise<void> {
    const unread = this.#unread;
    if (unread !== undefined && (await unread.refresh())) await this.#readAll(unread);
  }

  async loadVisible(): Promise<void> {
    const unread = this.#unread;
    if (unread === undefined || !(await unread.refresh())) return;
    if (!(await this.abridge())) await this.#readAll(unread);
  }

  /** Reads only what models see. Returns false if all of it has to be read for that. */
  async abridge(): Promise<boolean> {
    const unread = this.#unread;
    if (unread === undefined) return false;
    if (this.#abridged !== undefined) return true;
    unread.known.abridged ??= this.#abridge(unread);
    const part = await unread.known.abridged;
    if (part === undefined) return false;
    if (this.#abridged === undefined && !this.isWhole) {
      const { entries, included } = part;
      const instead = this.#entries.slice(0, included);
      this.#abridged = { length: entries.length, instead };
      this.#entries = [...entries, ...this.#entries.slice(included)];
    }
    return true;
  }

  async #abridge(unread: EarlierPart): Promise<AbridgedPart | undefined> {
    const { abridge } = await loadParts();
    const source = await unread.source();
    return abridge({ source, known: unread.known, entries: this.#entries, stream: this });
  }

  async outline(): Promise<StreamOutline | undefined> {
    const unread = this.#unread;
    if (unread === undefined) return undefined;
    const { findOutline, outlineOf } = await loadParts();
    const { known } = unread;
    const isAbridged = known.abridged !== undefined && (await this.abridge());
    if (isAbridged) return outlineOf(this.#entries);
    if (!(await unread.refresh())) return undefined;
    const source = await unread.source();
    const outline = await findOutline({ source, known, entries: this.#entries });
    return this.isWhole ? undefined : outline;
  }

  append(added: readonly StreamEntry[]): void {
    append(this.#entries, added);
  }

  /**
   * All entries, for a stream that continues this one: a copy is as long as the record. Nothing may be appended here
   * afterwards.
   */
  handOver(): StreamEntry[] {
    const { entries } = this;
    this.#handedOver = entries.length;
    return this.#entries;
  }

  /** Takes back what was not stored after all. */
  drop(added: readonly StreamEntry[]): void {
    const dropped = new Set(added);
    this.#entries = this.#entries.filter((entry) => !dropped.has(entry));
  }

  async #readAll(unread: EarlierPart): Promise<void> {
    const earlier: StreamEntry[] = [];
    for await (const batch of unread.read()) {
      append(earlier, batch);
      if (shouldYield()) await yieldToEventLoop();
    }
    this.#complete(earlier);
  }

  /** Does nothing if another call was faster. */
  #complete(earlier: StreamEntry[]): void {
    if (this.#unread === undefined) return;
    const { length, instead } = this.#abridged ?? { length: 0, instead: [] };
    append(earlier, instead);
    append(earlier, this.#entries.slice(length));
    this.#entries = earlier;
    this.#unread = undefined;
  }
}

/** Only long records have a part that is not read. Throws `module_not_loaded`. */
const loadParts = loaderOf(() => import("./abridged-part.ts"));

/** There may be too many for one `push`. */
function append(entries: StreamEntry[], added: readonly StreamEntry[]): void {
  for (const entry of added) entries.push(entry);
}
