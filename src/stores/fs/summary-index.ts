/**
 * Caches the list view of each conversation, in one small file per workspace in the user's cache folder: a list of a
 * thousand conversations opens that file instead of two thousand. An entry is valid as long as both source files have
 * the same inode, size and times. For metadata, this is checked once an hour, since checking a thousand files takes as
 * long as everything else: jp updates the index when it changes metadata itself, and a new title renames the folder. A
 * file that is damaged, missing or someone else's counts as empty, and one that cannot be written stays as it is.
 */
import { lstatSync, readdirSync, renameSync, rmSync, type Stats, writeFileSync } from "node:fs";
import path from "node:path";
import {
  type ConversationMetadata,
  metadataToJson,
  parseMetadata,
  type Timestamp,
} from "../../record/conversation/index.ts";
import {
  type CacheEnvironment,
  type Clock,
  findJson,
  findUserCache,
  isJsonArray,
  isJsonObject,
  isUserCacheIn,
  type Json,
  type JsonObject,
  makeUserCache,
  randomName,
} from "../../util/index.ts";
import { type ConversationCopy, EVENTS, METADATA } from "./conversation-folders.ts";
import { readPrivate } from "./private-file.ts";
import { OWNER_FILE } from "./private-folder.ts";

/** The list view of a conversation, apart from what its folder's name and place say. */
export interface ReadSummary {
  /** Only if known: computing it a thousand times takes a good part of a list's time. */
  readonly createdAt?: Timestamp;
  readonly metadata: ConversationMetadata | undefined;
  readonly lastEventAt: Timestamp | undefined;
  readonly problem?: string | undefined;
}

const FOLDER = "lists";
/** Changes with the format of the file, or its sources. */
const VERSION = 2;
/** File times are coarse: a file that changed more recently may change again without a new time. */
const SETTLE_MS = 2000;
/** Longer metadata is read each time. */
const MAX_METADATA_BYTES = 4096;
/** How long metadata is used without checking whether another program has changed it. */
const CHECK_MS = 60 * 60 * 1000;
/** When an unused file of another workspace is removed. */
const OLD_MS = 30 * 24 * 60 * 60 * 1000;

/** The conversations in one folder, in columns: a thousand objects would take several times as long to parse. */
interface Columns {
  readonly names: Json[];
  readonly created: Json[];
  /** The state of each conversation's `events.json`, then of its `metadata.json`: inode, size, and both times. */
  readonly states: Json[];
  readonly lastEvents: Json[];
  readonly lastUses: Json[];
  readonly titles: Json[];
  /** The rest of the metadata, or null. */
  readonly others: Json[];
}

const COLUMNS = [
  "names",
  "created",
  "states",
  "lastEvents",
  "lastUses",
  "titles",
  "others",
] as const;
const STATES = 8;

/** The location of the index, and its workspace. */
export interface SummaryIndexOptions {
  readonly environment: CacheEnvironment;
  readonly clock: Clock;
  /** Its real path. */
  readonly workspace: string;
}

export class SummaryIndex {
  readonly #options: SummaryIndexOptions;
  readonly #now: number;
  /** By parent folder. */
  readonly #folders: Map<string, IndexedFolder>;
  /** Most conversations are in the same folder as the one before. */
  #last: { readonly parent: string; readonly folder: IndexedFolder } | undefined;

  private constructor(options: SummaryIndexOptions) {
    this.#options = options;
    this.#now = options.clock.now().getTime();
    const folder = findUserCache(options.environment, FOLDER);
    this.#folders = readIndex(folder, options.workspace);
  }

  /** Undefined if the cache would be inside the workspace, where a clone could bring it along. */
  static find(options: SummaryIndexOptions): SummaryIndex | undefined {
    const { workspace, environment } = options;
    return isUserCacheIn(workspace, environment) ? undefined : new SummaryIndex(options);
  }

  /** The summary of a conversation with only this copy. `read` reads it if it is not cached, or out of date. */
  summarize({ folder, isLink }: ConversationCopy, read: () => ReadSummary): ReadSummary {
    if (isLink === true) return read();
    const end = folder.lastIndexOf(path.sep);
    const events = lstatSync(`${folder}${path.sep}${EVENTS}`, IF_THERE);
    if (events === undefined) return read();
    const indexed = this.#folderOf(folder.slice(0, end));
    const name = folder.slice(end + 1);
    const seen = indexed.isDue(this.#now) ? undefined : indexed.find({ name, events });
    if (seen !== undefined) return seen;
    const metadata = lstatSync(`${folder}${path.sep}${METADATA}`, IF_THERE);
    if (metadata === undefined) return read();
    const current = { name, events, metadata };
    const known = indexed.isDue(this.#now) ? indexed.find(current) : undefined;
    if (known !== undefined) return known;
    const now = this.#options.clock.now().getTime();
    const summary = read();
    if (summary.problem === undefined && canIndex(current, now)) indexed.add(current, summary);
    return summary;
  }

  /** Saves changes, once all conversations in these folders were summarized. Other folders are unchanged. */
  save(parents: readonly string[]): void {
    const isChanged = (parent: string) => {
      const folder = this.#folders.get(parent);
      return folder !== undefined && (folder.isChanged || folder.isDue(this.#now));
    };
    const changed = parents.filter(isChanged);
    for (const parent of changed) {
      const folder = this.#folderOf(parent);
      const checked = folder.isDue(this.#now) ? this.#now : folder.checked;
      this.#folders.set(parent, new IndexedFolder(folder.listed(), checked));
    }
    if (changed.length > 0) this.#write();
  }

  /** Call this after removing a conversation, so that its title does not stay behind. */
  forget(folder: string): void {
    if (this.#folders.get(path.dirname(folder))?.forget(path.basename(folder)) === true)
      this.#write();
  }

  #folderOf(parent: string): IndexedFolder {
    if (this.#last?.parent === parent) return this.#last.folder;
    const folder = this.#folders.get(parent) ?? new IndexedFolder(emptyColumns(), this.#now);
    this.#folders.set(parent, folder);
    this.#last = { parent, folder };
    return folder;
  }

  /** Not synced: a file damaged by a power failure is ignored. */
  #write(): void {
    const { environment, workspace } = this.#options;
    const folder = makeUserCache(environment, FOLDER);
    if (folder === undefined) return;
    const file = fileOf(folder, workspace);
    const temporary = `${file}.${randomName()}.tmp`;
    try {
      const folders = Array.from(this.#folders, ([parent, { known, checked }]) => ({
        parent,
        checked,
        ...known,
      }));
      const text = JSON.stringify({ version: VERSION, workspace, folders });
      if (lstatSync(file, IF_THERE) === undefined) removeOld(folder);
      writeFileSync(temporary, text, { mode: OWNER_FILE, flag: "wx" });
      renameSync(temporary, file);
    } catch {
      rmSync(temporary, { force: true });
    }
  }
}

/** The current state of a conversation's folder. */
interface CurrentFolder {
  readonly name: string;
  readonly events: Stats;
  readonly metadata: Stats;
}

type SeenFolder = Omit<CurrentFolder, "metadata"> & Partial<Pick<CurrentFolder, "metadata">>;

class IndexedFolder {
  readonly known: Columns;
  /** When all metadata was last checked, in milliseconds since the epoch. */
  readonly checked: number;
  /** The rows that were up to date. */
  readonly #kept: number[] = [];
  readonly #added = emptyColumns();
  /** The expected next row, if conversations are listed in the same order as before. */
  #next = 0;
  /** Built once they are not. */
  #rows: Map<Json, number> | undefined;

  constructor(known: Columns, checked: number) {
    this.known = known;
    this.checked = checked;
  }

  /** Whether metadata must be checked again. A time in the future is not trusted. */
  isDue(now: number): boolean {
    return Math.abs(now - this.checked) > CHECK_MS;
  }

  get isChanged(): boolean {
    return this.#added.names.length > 0 || this.#kept.length !== this.known.names.length;
  }

  /** The correct value of `known`. */
  listed(): Columns {
    const columns = emptyColumns();
    for (const row of this.#kept) addRow(columns, this.known, row);
    for (const row of this.#added.names.keys()) addRow(columns, this.#added, row);
    return columns;
  }

  /** Undefined if not cached or out of date. Without metadata, that counts as unchanged. */
  find(current: SeenFolder): ReadSummary | undefined {
    const row = this.#rowOf(current.name);
    const known = row !== -1 && this.#isSame(row, current) ? this.#summaryAt(row) : undefined;
    if (known !== undefined) this.#kept.push(row);
    return known;
  }

  forget(name: string): boolean {
    const row = this.known.names.indexOf(name);
    if (row === -1) return false;
    for (const column of COLUMNS) {
      const width = column === "states" ? STATES : 1;
      this.known[column].splice(row * width, width);
    }
    this.#rows = undefined;
    return true;
  }

  #rowOf(name: string): number {
    const { names } = this.known;
    if (names[this.#next] !== name) {
      this.#rows ??= new Map(names.map((each, row) => [each, row]));
      this.#next = this.#rows.get(name) ?? names.length;
    }
    const row = this.#next;
    this.#next += 1;
    return row < names.length ? row : -1;
  }

  #isSame(row: number, { events, metadata }: SeenFolder): boolean {
    const { states } = this.known;
    if (!isState(states, row * STATES, events)) return false;
    return metadata === undefined || isState(states, row * STATES + 4, metadata);
  }

  /** Undefined if `add` did not store it. */
  #summaryAt(row: number): ReadSummary | undefined {
    const { created, lastEvents, lastUses, titles, others } = this.known;
    const createdAt = created[row];
    const lastActivatedAt = lastUses[row];
    const lastEventAt = lastEvents[row];
    const title = titles[row];
    if (!isTime(createdAt) || !isTime(lastActivatedAt) || !isTime(lastEventAt)) return undefined;
    if (typeof title === "string" && others[row] === null) {
      return { createdAt, metadata: { title, lastActivatedAt }, lastEventAt };
    }
    try {
      const rest = isJsonObject(others[row]) ? others[row] : {};
      const json = { ...rest, last_activated_at: lastActivatedAt };
      const metadata = parseMetadata(title === null ? json : { ...json, title });
      return { createdAt, metadata, lastEventAt };
    } catch {
      return undefined;
    }
  }

  add({ name, events, metadata }: CurrentFolder, summary: ReadSummary): void {
    const { createdAt, lastEventAt } = summary;
    if (summary.metadata === undefined || createdAt === undefined || lastEventAt === undefined)
      return;
    const {
      title = null,
      last_activated_at: used = null,
      ...rest
    } = metadataToJson(summary.metadata);
    const added = this.#added;
    added.names.push(name);
    added.states.push(...stateOf(events), ...stateOf(metadata));
    added.created.push(createdAt);
    added.lastEvents.push(lastEventAt);
    added.lastUses.push(used);
    added.titles.push(title);
    added.others.push(Object.keys(rest).length === 0 ? null : rest);
  }
}

const IF_THERE = { throwIfNoEntry: false } as const;

function stateOf({ ino, size, mtimeMs, ctimeMs }: Stats): readonly number[] {
  return [ino, size, mtimeMs, ctimeMs];
}

function isState(states: readonly Json[], at: number, stats: Stats): boolean {
  return (
    states[at] === stats.ino &&
    states[at + 1] === stats.size &&
    states[at + 2] === stats.mtimeMs &&
    states[at + 3] === stats.ctimeMs
  );
}

function canIndex({ events, metadata }: CurrentFolder, now: number): boolean {
  const { max } = Math;
  const changed = max(events.mtimeMs, events.ctimeMs, metadata.mtimeMs, metadata.ctimeMs);
  return now - changed > SETTLE_MS && metadata.size <= MAX_METADATA_BYTES;
}

/** A cheap check: only jp writes it, and parsing it as a time is slow. */
function isTime(value: Json | undefined): value is Timestamp {
  return typeof value === "string" && value.length >= 19 && value[4] === "-" && value[16] === ":";
}

function emptyColumns(): Columns {
  return {
    names: [],
    created: [],
    states: [],
    lastEvents: [],
    lastUses: [],
    titles: [],
    others: [],
  };
}

function addRow(columns: Columns, from: Columns, row: number): void {
  for (const column of COLUMNS) {
    const width = column === "states" ? STATES : 1;
    columns[column].push(...from[column].slice(row * width, (row + 1) * width));
  }
}

/** Named by a simple hash of the path, because cryptography is slow to load. The file contains the path. */
function fileOf(folder: string, workspace: string): string {
  let hash = 0n;
  for (const byte of Buffer.from(workspace))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  return path.join(folder, `${hash.toString(16).padStart(16, "0")}.json`);
}

/** The prime of FNV-1a. */
const PRIME = 0x1_00_00_00_01_b3n;

/** Removes files of workspaces that are gone, for example. */
function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const other = path.join(folder, name);
    const age = Date.now() - lstatSync(other).mtimeMs;
    if (age > OLD_MS) rmSync(other, { force: true });
  }
}

/** Empty if the file is missing, not the user's own, or not written by jp. */
function readIndex(folder: string | undefined, workspace: string): Map<string, IndexedFolder> {
  const folders = new Map<string, IndexedFolder>();
  if (folder === undefined) return folders;
  const index = findJson(findText(fileOf(folder, workspace)));
  if (!isJsonObject(index) || index["version"] !== VERSION) return folders;
  if (index["workspace"] !== workspace || !isJsonArray(index["folders"])) return folders;
  for (const json of index["folders"]) {
    const columns = isJsonObject(json) ? findColumns(json) : undefined;
    const { parent, checked } = isJsonObject(json) ? json : {};
    if (typeof parent !== "string" || typeof checked !== "number" || columns === undefined) {
      return new Map();
    }
    folders.set(parent, new IndexedFolder(columns, checked));
  }
  return folders;
}

function findText(file: string): string {
  try {
    return readPrivate(file);
  } catch {
    return "";
  }
}

/** The columns' contents are checked on use. */
function findColumns(json: JsonObject): Columns | undefined {
  const { names } = json;
  if (!isJsonArray(names)) return undefined;
  const isWhole = COLUMNS.every((name) => {
    const column = json[name];
    return isJsonArray(column) && column.length === names.length * (name === "states" ? STATES : 1);
  });
  return isWhole ? (json as unknown as Columns) : undefined; // Checked column by column.
}
