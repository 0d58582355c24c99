/**
 * Keeps the digests of long files in one file. It is only a cache: a damaged file counts as empty, nothing is synced, and
 * of two processes that write at once, one may lose what it has added.
 */
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import {
  safeReadFlags,
  isJsonObject,
  type JsonObject,
  parseJson,
  randomName,
  sha256,
} from "../../util/index.ts";

/** The facts about a file that follow from its content. */
export interface KeptContent {
  /** Absent if the file is too long to be read. */
  readonly sha256?: string;
  /** The rest of its first line, after `#!`. */
  readonly script?: string;
}

const CACHE_FILE = "file-digests.json";
const caches = new Map<string, DigestCache>();

/** One per data folder and process. Without a data folder, its entries last as long as the process. */
export function digestCacheIn(dataFolder: string | undefined): DigestCache {
  const file = dataFolder === undefined ? undefined : path.join(dataFolder, CACHE_FILE);
  const cache = caches.get(file ?? "") ?? new DigestCache(file);
  caches.set(file ?? "", cache);
  return cache;
}

/** The oldest entries are dropped. */
const MAX_ENTRIES = 500;
const MAX_CACHE_BYTES = 1024 * 1024;

export class DigestCache {
  readonly #file: string | undefined;
  #entries: ReadonlyMap<string, KeptContent> | undefined;
  readonly #reading = new Map<string, Promise<KeptContent>>();

  constructor(file?: string) {
    this.#file = file;
  }

  /** Reads the file once. */
  find(state: string): KeptContent | undefined {
    this.#entries ??= this.#read();
    return this.#entries.get(state);
  }

  /** Never throws: without the entry, a later process reads the file again. */
  keep(state: string, entry: KeptContent): void {
    // Another process may have added entries.
    const all = [...this.#read(), ...(this.#entries ?? []), [state, entry] as const];
    this.#entries = new Map([...new Map(all)].slice(-MAX_ENTRIES));
    this.#write(this.#entries);
  }

  /** Calls of one reply often run the same program: while it is being read, the others wait for the result. */
  readOnce(state: string, read: () => Promise<KeptContent>): Promise<KeptContent> {
    const running = this.#reading.get(state);
    if (running !== undefined) return running;
    const started = read().finally(() => this.#reading.delete(state));
    this.#reading.set(state, started);
    return started;
  }

  #read(): ReadonlyMap<string, KeptContent> {
    try {
      return this.#file === undefined ? new Map() : parseEntries(readOwn(this.#file));
    } catch {
      return new Map(); // There is none, or it is damaged.
    }
  }

  #write(entries: ReadonlyMap<string, KeptContent>): void {
    if (this.#file === undefined) return;
    const temporary = `${this.#file}.${randomName()}.tmp`;
    try {
      mkdirSync(path.dirname(this.#file), { recursive: true, mode: 0o700 });
      writeFileSync(temporary, formatEntries(entries), { flag: "wx", mode: 0o600 });
      renameSync(temporary, this.#file);
    } catch {
      removeQuietly(temporary);
    }
  }
}

function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It stays behind.
  }
}

/** Throws system errors, and if someone else could have written the file. */
function readOwn(file: string): string {
  const fd = openSync(file, safeReadFlags());
  try {
    const stats = fstatSync(fd);
    const isOwn = process.getuid === undefined || stats.uid === process.getuid();
    const isPrivate = process.getuid === undefined || (stats.mode & 0o077) === 0;
    if (!stats.isFile() || !isOwn || !isPrivate || stats.size > MAX_CACHE_BYTES) {
      throw new Error("the file cannot be used");
    }
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

/** One line with the digest of the rest, then the entries as JSON. */
function formatEntries(entries: ReadonlyMap<string, KeptContent>): string {
  const json = JSON.stringify(Object.fromEntries(entries));
  return `${sha256(json)}\n${json}`;
}

/** Throws if the text is damaged. */
function parseEntries(text: string): ReadonlyMap<string, KeptContent> {
  const end = text.indexOf("\n");
  const json = text.slice(end + 1);
  const parsed = parseJson(json);
  if (sha256(json) !== text.slice(0, end) || !isJsonObject(parsed)) throw new Error("damaged");
  return new Map(
    Object.entries(parsed).flatMap(([state, entry]) =>
      isJsonObject(entry) ? [[state, parseEntry(entry)] as const] : [],
    ),
  );
}

function parseEntry({ sha256: digest, script }: JsonObject): KeptContent {
  return {
    ...(typeof digest === "string" && { sha256: digest }),
    ...(typeof script === "string" && { script }),
  };
}
