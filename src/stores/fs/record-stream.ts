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
} from "../../record/conversation/index.ts";
import { type JsonObject, loaderOf, shouldYield, yieldToEventLoop } from "../../util/index.ts";
import { damagedError, readError } from "../storage-error.ts";
import type { UnreadPart } from "./abridged-part.ts";
import { endsElement, readEntries } from "./event-reader.ts";

/** The file of the record. */
export interface EarlierSource {
  /** It may be moved. */
  readonly file: string;
  /** Called before it is read. Returns false if it has changed: then another stream has replaced this one. */
  refresh(): Promise<boolean>;
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
  readonly #source: EarlierSource;
  /** All, those after `#unread`, or those that models see. */
  #entries: StreamEntry[];
  #unread: UnreadPart | undefined;
  #abridged: AbridgedStart | undefined;
  /** The number of entries that were handed over: another stream may add to them. */
  #handedOver: number | undefined;

  /** Adds to the list of entries that it is given. */
  constructor(
    { entries, ...stored }: StoredStream & { readonly entries: StreamEntry[] },
    source: EarlierSource,
    unread?: UnreadPart,
  ) {
    const { createdAt, baseConfig, entries: all } = createStream({ ...stored, entries });
    this.createdAt = createdAt;
    this.baseConfig = baseConfig;
    this.#entries = all === entries ? entries : [...all];
    this.#unread = unread;
    this.#source = source;
  }

  get entries(): readonly StreamEntry[] {
    if (this.#unread !== undefined) {
      const earlier: StreamEntry[] = [];
      for (const batch of readEarlier(this.#locate())) append(earlier, batch);
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

  get isWhole(): boolean {
    return this.#unread === undefined;
  }

  async load(): Promise<void> {
    if (!this.isWhole && (await this.#source.refresh())) await this.#readAll();
  }

  async loadVisible(): Promise<void> {
    if (this.isWhole || !(await this.#source.refresh())) return;
    if (!(await this.abridge())) await this.#readAll();
  }

  /** Reads only what models see. Returns false if all of it has to be read for that. */
  async abridge(): Promise<boolean> {
    const unread = this.#unread;
    if (unread === undefined) return false;
    if (this.#abridged !== undefined) return true;
    const { abridge } = await loadParts();
    unread.abridged ??= abridge({ ...this.#locate(), entries: this.#entries, stream: this });
    const part = await unread.abridged;
    if (part === undefined) return false;
    if (this.#abridged === undefined && !this.isWhole) {
      const { entries, included } = part;
      const instead = this.#entries.slice(0, included);
      this.#abridged = { length: entries.length, instead };
      this.#entries = [...entries, ...this.#entries.slice(included)];
    }
    return true;
  }

  async outline(): Promise<StreamOutline | undefined> {
    const unread = this.#unread;
    if (unread === undefined) return undefined;
    const { findOutline, outlineOf } = await loadParts();
    const isAbridged = unread.abridged !== undefined && (await this.abridge());
    if (isAbridged) return outlineOf(this.#entries);
    if (!(await this.#source.refresh())) return undefined;
    const outline = await findOutline({ ...this.#locate(), entries: this.#entries });
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

  async #readAll(): Promise<void> {
    const earlier: StreamEntry[] = [];
    for (const batch of readEarlier(this.#locate())) {
      append(earlier, batch);
      if (shouldYield()) await yieldToEventLoop();
    }
    this.#complete(earlier);
  }

  /** Does not use the fingerprint: an append may be in progress. */
  #locate(): { readonly file: string; readonly unread: UnreadPart } {
    const { file } = this.#source;
    const unread = this.#unread ?? { end: 0 };
    if (endsElement(file, unread.end)) return { file, unread };
    throw readError(file, new Error("another program has changed it"));
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

function* readEarlier({
  file,
  unread,
}: {
  readonly file: string;
  readonly unread: UnreadPart;
}): Generator<readonly StreamEntry[]> {
  for (const { entries, problems } of readEntries(file, { before: unread.end })) {
    const [problem] = problems;
    if (problem !== undefined) throw damagedError(problem);
    yield entries;
  }
}

/** There may be too many for one `push`. */
function append(entries: StreamEntry[], added: readonly StreamEntry[]): void {
  for (const entry of added) entries.push(entry);
}
