/** Reads the part of a record's file that an open stream does not have in memory. */
import type { StreamEntry } from "../../record/conversation/index.ts";
import { loaderOf } from "../../util/index.ts";
import type { KnownPart, UnreadSource } from "../abridged-part.ts";
import type { EarlierPart } from "../record-stream.ts";
import { damagedError, readError } from "../storage-error.ts";
import { endsElement, readEntries } from "./event-reader.ts";

/** The file of the record. */
export interface EarlierSource {
  /** It may be moved. */
  readonly file: string;
  /** Called before it is read. Returns false if it has changed: then another stream has replaced this one. */
  refresh(): Promise<boolean>;
}

/** The part of a record's file that is not read yet. */
export interface UnreadPart {
  readonly end: number;
  readonly known: KnownPart;
}

export class EarlierInFile implements EarlierPart {
  readonly #source: EarlierSource;
  readonly #unread: UnreadPart;

  constructor(source: EarlierSource, unread: UnreadPart) {
    this.#source = source;
    this.#unread = unread;
  }

  get known(): KnownPart {
    return this.#unread.known;
  }

  refresh(): Promise<boolean> {
    return this.#source.refresh();
  }

  read(): Iterable<readonly StreamEntry[]> {
    return this.readNow();
  }

  *readNow(): Generator<readonly StreamEntry[]> {
    for (const { entries, problems } of readEntries(this.#locate(), { before: this.#unread.end })) {
      const [problem] = problems;
      if (problem !== undefined) throw damagedError(problem);
      yield entries;
    }
  }

  async source(): Promise<UnreadSource> {
    const { sourceBefore } = await loadOutline();
    return sourceBefore(this.#locate(), this.#unread.end);
  }

  /** Does not use the fingerprint: an append may be in progress. */
  #locate(): string {
    const { file } = this.#source;
    if (endsElement(file, this.#unread.end)) return file;
    throw readError(file, new Error("another program has changed it"));
  }
}

/** Only long records have a part that is not read. Throws `module_not_loaded`. */
const loadOutline = loaderOf(() => import("./outline.ts"));
