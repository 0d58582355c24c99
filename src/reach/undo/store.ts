/**
 * The states before the changes of the last turns, in the user's own folder outside the workspace:
 *
 *   contents/ab/cdef…        the bytes of files, each once, by their digest
 *   turns/00000042-<id>.jsonl  the journal of one turn of one conversation
 *   index.json               which files have not changed since they were last read
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { randomName, sha256 } from "../../util/index.ts";
import {
  Contents,
  listNames,
  OWNER_FILE,
  OWNER_FOLDER,
  removeTorn,
  syncFolder,
} from "./contents.ts";
import { Journal, type JournalLine, readJournal, type TurnLine } from "./journal.ts";
import { type KeptTurn, toKeptTurn } from "./kept-turn.ts";
import { readIndex, snapshotFromBytes } from "./snapshot.ts";

/** Turns beyond these limits are dropped, oldest first. */
export interface StoreLimits {
  readonly turns: number;
  readonly bytes: number;
}

export const STORE_LIMITS: StoreLimits = { turns: 100, bytes: 500 * 1024 * 1024 };

export interface UndoPlace {
  /** The user's folder for this workspace. */
  readonly folder: string;
  /** The workspace. Its real path is recorded. */
  readonly root: string;
  readonly limits?: StoreLimits;
}

/** A journal and its lines so far. */
export interface OpenJournal {
  readonly journal: Journal;
  readonly lines: readonly (JournalLine | undefined)[];
}

const JOURNAL = /^(\d{8,})-(.+)\.jsonl$/;
/** Marks a conversation whose turns were dropped. */
const DROPPED = ".dropped";
/** Scanning all contents takes a while, so it is not done for each turn. */
const TURNS_BETWEEN_PRUNES = 10;

export class UndoStore {
  readonly contents: Contents;
  readonly indexFile: string;
  /** The real path of the workspace. */
  readonly root: string;
  readonly #turns: string;
  readonly #limits: StoreLimits;

  constructor({ folder, root, limits = STORE_LIMITS }: UndoPlace) {
    const { realpathSync } = process.getBuiltinModule("node:fs");
    this.root = realpathSync(root);
    // Clones of a workspace share the user's folder for it.
    const own = path.join(folder, "undo", sha256(this.root).slice(0, 16));
    this.contents = new Contents(path.join(own, "contents"));
    this.indexFile = path.join(own, "index.json");
    this.#turns = path.join(own, "turns");
    this.#limits = limits;
  }

  /** Opens a turn's journal, creating it if necessary. Throws system errors. */
  async openJournal(conversation: string, turn: string): Promise<OpenJournal> {
    await this.#makeFolder();
    const last = this.#journals(conversation).at(-1);
    if (last !== undefined) {
      const lines = readJournal(last);
      if (findHeader(lines)?.turn === turn)
        return { journal: new Journal(last, lines.length), lines };
    }
    const header: TurnLine = { type: "turn", conversation, turn, root: this.root };
    const file = await this.#createFile(conversation, header);
    return { journal: new Journal(file, 1), lines: [header] };
  }

  /** Oldest first, without those that `findDamaged` lists. */
  listTurns(conversation: string): readonly KeptTurn[] {
    return this.#journals(conversation).flatMap((file) => {
      const turn = toKeptTurn(file, readJournal(file));
      return turn === undefined || turn.root !== this.root ? [] : [turn];
    });
  }

  /** Journals that do not say which turn they belong to. */
  findDamaged(conversation: string): readonly string[] {
    return this.#journals(conversation).filter(
      (file) => findHeader(readJournal(file)) === undefined,
    );
  }

  /** Whether older turns of the conversation were dropped. */
  hasDropped(conversation: string): boolean {
    return listNames(this.#turns).includes(`${nameOf(conversation)}${DROPPED}`);
  }

  journalOf({ file }: KeptTurn): Journal {
    return new Journal(file, readJournal(file).length);
  }

  /** Drops the oldest turns beyond the limits, and contents that only they need. Throws system errors. */
  prune(now: Date): void {
    removeTorn(this.#turns, now);
    const files = this.#journals();
    for (const file of files.slice(0, Math.max(0, files.length - this.#limits.turns))) {
      this.#drop(file);
    }
    const rest = this.#journals();
    while (this.contents.prune(this.#used(rest), now) > this.#limits.bytes) {
      const [oldest] = rest;
      // Contents that only the index needs can be read again.
      if (rest.length <= 1 || oldest === undefined) {
        rmSync(this.indexFile, { force: true });
        this.contents.prune(this.#used(rest), now);
        return;
      }
      this.#drop(oldest);
      rest.shift();
    }
  }

  async #makeFolder(): Promise<void> {
    const first = mkdirSync(this.#turns, { recursive: true, mode: OWNER_FOLDER });
    if (first === undefined) return;
    for (let made = this.#turns; ; made = path.dirname(made)) {
      await syncFolder(path.dirname(made));
      if (made === path.resolve(first) || made === path.dirname(made)) break;
    }
  }

  #drop(file: string): void {
    const [, , name = ""] = JOURNAL.exec(path.basename(file)) ?? [];
    writeFileSync(path.join(this.#turns, `${name}${DROPPED}`), "", { mode: OWNER_FILE });
    rmSync(file, { force: true });
  }

  /** The digests of all contents that these turns and the index need. */
  #used(files: readonly string[]): ReadonlySet<string> {
    const used = new Set([...readIndex(this.indexFile).values()].map(({ digest }) => digest));
    const addState = (state: { readonly kind: string; readonly digest?: string }) => {
      if (state.digest !== undefined) used.add(state.digest);
    };
    for (const file of files) {
      const lines = readJournal(file);
      const ended = new Set(lines.flatMap((line) => (line?.type === "tree_end" ? [line.id] : [])));
      for (const line of lines) {
        if (line?.type === "keep") addState(line.before);
        if (line?.type === "names") used.add(line.names);
        if (line?.type === "undo_start") for (const { state } of line.replaced) addState(state);
        if (line?.type !== "tree" || ended.has(line.id)) continue;
        used.add(line.manifest);
        try {
          const { entries } = snapshotFromBytes(this.contents.get(line.manifest));
          for (const state of entries.values()) addState(state);
        } catch {
          // It is missing or damaged.
        }
      }
    }
    return used;
  }

  /** A journal exists only with its first line: one that is empty was emptied. */
  async #createFile(conversation: string, header: TurnLine): Promise<string> {
    const last = this.#journals().at(-1);
    const number = Number(JOURNAL.exec(path.basename(last ?? ""))?.[1] ?? 0) + 1;
    if (number % TURNS_BETWEEN_PRUNES === 0) this.prune(new Date());
    const name = `${String(number).padStart(8, "0")}-${nameOf(conversation)}.jsonl`;
    const file = path.join(this.#turns, name);
    const temporary = path.join(this.#turns, `${randomName()}.tmp`);
    try {
      await new Journal(temporary, 0).append([header]);
      renameSync(temporary, file);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
    await syncFolder(this.#turns);
    return file;
  }

  /** The journals of one conversation, or of all, oldest first. */
  #journals(conversation?: string): string[] {
    const name = conversation && nameOf(conversation);
    return listNames(this.#turns)
      .filter((file) => {
        const [, , owner] = JOURNAL.exec(file) ?? [];
        return owner !== undefined && (name === undefined || owner === name);
      })
      .map((file) => path.join(this.#turns, file));
  }
}

function findHeader(lines: readonly (JournalLine | undefined)[]): TurnLine | undefined {
  return lines.find((line) => line?.type === "turn");
}

/** Ids become file names. */
function nameOf(conversation: string): string {
  return /^[\w-]{1,64}$/.test(conversation) ? conversation : sha256(conversation).slice(0, 32);
}
