/**
 * All files of a workspace that Git knows, before and after a command: their bytes, modes and links as on disk. Files that it
 * ignores are left out, except for those that it has known earlier in the turn.
 */
import {
  type BigIntStats,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import {
  arrayField,
  type Clock,
  findJson,
  isJsonArray,
  isJsonObject,
  type Json,
  randomName,
  shapeOf,
  shouldYield,
  stringField,
  systemClock,
  yieldToEventLoop,
} from "../../util/index.ts";
import { type Contents, OWNER_FILE } from "./contents.ts";
import { ABSENT, type EntryState, isSameState, stateToJson } from "./entry-state.ts";
import {
  filesIn,
  type GitNames,
  type GitPlace,
  ignoreRulesOf,
  isIgnoreFile,
  listNames,
  type UnkeptFolderReason,
  withoutSlash,
} from "./git-names.ts";
import { parsePathState, type PathState } from "./journal.ts";
import {
  findStats,
  identityOf,
  isInRealFolder,
  modeOf,
  readFound,
  readRepository,
} from "./work-tree.ts";

/** Beyond these, nothing is saved or can be undone. */
export interface SnapshotLimits {
  readonly files: number;
  readonly bytes: number;
}

export const SNAPSHOT_LIMITS: SnapshotLimits = { files: 50_000, bytes: 200 * 1024 * 1024 };

export interface Snapshot {
  /** The states of all files, of their parent folders, and of repositories inside the workspace. */
  readonly entries: ReadonlyMap<string, EntryState>;
  /** Names of ignored files and folders; folders end with a slash. Their state is unknown. */
  readonly ignored: ReadonlySet<string>;
  /** Changes with the rules for what Git ignores. */
  readonly rules: string;
  /** Set if Git could not list the files: only those that it listed earlier in the turn are here. */
  readonly problem?: UnkeptFolderReason;
}

export interface SnapshotOptions extends GitPlace {
  readonly contents: Contents;
  /** Caches the digests of unchanged files. */
  readonly indexFile: string;
  readonly signal: AbortSignal;
  /** Replaces the machine's clock in tests. */
  readonly clock?: Clock;
  readonly limits?: SnapshotLimits;
}

/** `known`: names that count although Git may no longer list them. Throws system errors, and the signal's reason. */
export async function takeSnapshot(
  known: ReadonlySet<string>,
  options: SnapshotOptions,
): Promise<Snapshot | UnkeptFolderReason> {
  const { root, limits = SNAPSHOT_LIMITS } = options;
  const listing = await listNames(options, options.signal);
  if (typeof listing === "string" && known.size === 0) return listing;
  const { files, repositories, ignored } = typeof listing === "string" ? NO_NAMES : listing;
  const names = new Set([...files, ...known]);
  const found = await findAll(names, options);
  if (names.size > limits.files || sizeOf(found) > limits.bytes) return "too_large";
  const nested = new Set([
    ...repositories,
    ...files.filter((name) => isRepository(root, name, found)),
  ]);
  const entries = await readEntries(withoutAll(names, nested), found, {
    ...options,
    isSaved: true,
  });
  for (const name of names) if (!found.stats.has(name)) entries.set(name, ABSENT);
  for (const name of nested) entries.set(name, readRepository(root, name));
  return {
    entries,
    ignored,
    rules: ignoreRulesOf(root, ignored),
    ...(typeof listing === "string" && { problem: listing }),
  };
}

const NO_NAMES: GitNames = { files: [], repositories: [], ignored: new Set() };

/** A path that differs from an earlier snapshot. */
export interface ChangedEntry {
  readonly path: string;
  readonly before: EntryState;
  readonly after: EntryState;
}

export interface Changes {
  readonly entries: readonly ChangedEntry[];
  /** The files that Git knows now. */
  readonly names: readonly string[];
  /** Why files that have been created since may be missing. */
  readonly problem?: UnkeptFolderReason;
}

/**
 * Includes files that Git started to ignore, or to list, since. Saves no contents, so that it works on a full disk. Throws
 * system errors, and the signal's reason.
 */
export async function findChanges(before: Snapshot, options: SnapshotOptions): Promise<Changes> {
  const listing = await listNames(options, options.signal);
  const { files, ignored } = typeof listing === "string" ? NO_NAMES : listing;
  const listed = before.problem === undefined ? files : [];
  const names = withoutAll(
    new Set([...before.entries.keys(), ...listed]),
    new Set([...before.entries].flatMap(([name, state]) => (isNested(state) ? [name] : []))),
  );
  const after = await readEntries(names, await findAll(names, options), options);
  const hidden =
    before.problem === undefined ? findHidden(before, { entries: after, ignored }, options) : [];
  if (typeof hidden !== "string") {
    const more = new Set(hidden);
    for (const [name, state] of await readEntries(more, await findAll(more, options), options)) {
      after.set(name, state);
    }
  }
  const problem = typeof hidden === "string" ? hidden : (problemOf(listing) ?? before.problem);
  return {
    entries: [...compare(before, after, options), ...findLost(before, ignored, options)],
    names: files,
    ...(problem !== undefined && { problem }),
  };
}

/** A folder that Git lists like a file is a submodule, unless a file was there. */
function isRepository(root: string, name: string, { stats }: FoundNames): boolean {
  return (
    stats.get(name)?.isDirectory() === true &&
    findStats(path.join(root, name, ".git")) !== undefined
  );
}

function problemOf(listing: GitNames | UnkeptFolderReason): UnkeptFolderReason | undefined {
  return typeof listing === "string" ? listing : undefined;
}

function compare(
  before: Snapshot,
  after: ReadonlyMap<string, EntryState>,
  { root }: SnapshotOptions,
): readonly ChangedEntry[] {
  const names = new Set([...before.entries.keys(), ...after.keys()]);
  return [...names].flatMap((name): ChangedEntry[] => {
    const old = before.entries.get(name);
    // It may have existed before.
    if (old === undefined && isUnseen(before, name)) return [];
    const now = isNested(old) ? readRepository(root, name) : (after.get(name) ?? ABSENT);
    if (isSameState(old ?? ABSENT, now)) return [];
    return [{ path: name, before: old ?? ABSENT, after: now }];
  });
}

/** Whether the snapshot says nothing about a name: it was ignored, or in a repository inside the workspace. */
function isUnseen({ entries, ignored }: Snapshot, name: string): boolean {
  const parts = name.split("/");
  const folders = parts.map((_part, index) => parts.slice(0, index).join("/"));
  return (
    ignored.has(name) ||
    ignored.has(`${name}/`) ||
    folders.some((folder) => ignored.has(`${folder}/`) || isNested(entries.get(folder)))
  );
}

/** The states after a command, and what Git ignores by then. */
type Later = Pick<Snapshot, "entries" | "ignored">;

/**
 * New files that Git ignores because its rules have changed as well. Others, such as those that a build makes, do not count.
 * A code if there are too many.
 */
function findHidden(
  before: Snapshot,
  later: Later,
  { root, limits = SNAPSHOT_LIMITS }: SnapshotOptions,
): readonly string[] | UnkeptFolderReason {
  const isChanged = haveRulesChanged(before, later, root);
  const hidden: string[] = [];
  let bytes = 0;
  for (const name of later.ignored) {
    if (before.ignored.has(name)) continue;
    const folder = name.endsWith("/") ? withoutSlash(name) : undefined;
    const isSelfIgnored =
      folder !== undefined && findStats(path.join(root, folder, ".gitignore")) !== undefined;
    if (!isChanged && !isSelfIgnored) continue;
    for (const file of folder === undefined ? [name] : filesIn(root, folder)) {
      if (before.entries.has(file) || isUnseen(before, file)) continue;
      bytes += Number(findStats(path.join(root, file))?.size ?? 0);
      hidden.push(file);
      if (hidden.length > limits.files || bytes > limits.bytes) return "too_large";
    }
  }
  return hidden;
}

function haveRulesChanged(before: Snapshot, later: Later, root: string): boolean {
  const stateIn = ({ entries }: Later, name: string) => entries.get(name) ?? ABSENT;
  const names = [...before.entries.keys(), ...later.entries.keys()].filter(isIgnoreFile);
  return (
    [...later.ignored].some((name) => isIgnoreFile(name) && !before.ignored.has(name)) ||
    before.rules !== ignoreRulesOf(root, before.ignored) ||
    names.some((name) => !isSameState(stateIn(before, name), stateIn(later, name)))
  );
}

/** Ignored files and folders that are gone. */
function findLost(
  before: Snapshot,
  ignored: ReadonlySet<string>,
  { root }: SnapshotOptions,
): readonly ChangedEntry[] {
  return [...before.ignored]
    .filter((name) => !ignored.has(name))
    .map(withoutSlash)
    .filter((name) => !before.entries.has(name))
    .filter((name) => findStats(path.join(root, name)) === undefined)
    .map((name) => ({
      path: name,
      before: { kind: "unkept", reason: "ignored", identity: "" },
      after: ABSENT,
    }));
}

function isNested(state: EntryState | undefined): boolean {
  return state?.kind === "unkept" && state.reason === "repository";
}

/** Names that are not behind a link, and where there is something. */
interface FoundNames {
  readonly stats: ReadonlyMap<string, BigIntStats>;
  /** Whether each parent folder is a folder, rather than a link. */
  readonly folders: ReadonlyMap<string, boolean>;
}

async function findAll(
  names: ReadonlySet<string>,
  { root, signal }: SnapshotOptions,
): Promise<FoundNames> {
  const found = new Map<string, BigIntStats>();
  const folders = new Map<string, boolean>();
  for (const name of names) {
    if (shouldYield()) await yieldToEventLoop();
    signal.throwIfAborted();
    if (!isInRealFolder(root, name, folders)) continue;
    const stats = findStats(path.join(root, name));
    if (stats !== undefined) found.set(name, stats);
  }
  return { stats: found, folders };
}

function sizeOf({ stats }: FoundNames): number {
  let bytes = 0;
  for (const one of stats.values()) if (one.isFile()) bytes += Number(one.size);
  return bytes;
}

function withoutAll(names: ReadonlySet<string>, left: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names].filter((name) => !left.has(name)));
}

interface ReadOptions extends SnapshotOptions {
  /** Whether to save contents, and to note in the index which files were read. */
  readonly isSaved?: boolean;
}

/** Includes the parent folders of the files. */
async function readEntries(
  names: ReadonlySet<string>,
  { stats: found, folders }: FoundNames,
  { root, contents, indexFile, signal, clock = systemClock, isSaved = false }: ReadOptions,
): Promise<Map<string, EntryState>> {
  const index = names.size === 0 ? NO_INDEX : readIndex(indexFile);
  const next = new Map<string, IndexedFile>();
  const entries = new Map<string, EntryState>();
  for (const name of names) {
    const stats = found.get(name);
    if (stats === undefined) continue;
    if (shouldYield()) await yieldToEventLoop();
    signal.throwIfAborted();
    const identity = `${identityOf(stats)}:${modeOf(stats)}`;
    const known = index.get(name);
    const isKnown = known?.identity === identity && (!isSaved || contents.has(known.digest));
    const readAt = clock.now().getTime();
    const state: EntryState = isKnown
      ? { kind: "file", mode: modeOf(stats), size: Number(stats.size), digest: known.digest }
      : await readFound(path.join(root, name), stats, {
          isDurable: false,
          ...(isSaved && { contents }),
        });
    entries.set(name, state);
    // A file that was just written could be written again within one tick of its clock.
    const isSettled =
      Number(stats.ctimeMs) + TICK_MS < readAt && Number(stats.mtimeMs) + TICK_MS < readAt;
    if (state.kind === "file" && isSettled) next.set(name, { identity, digest: state.digest });
  }
  for (const [folder, isReal] of folders) {
    const stats = isReal ? findStats(path.join(root, folder)) : undefined;
    if (stats?.isDirectory() === true) entries.set(folder, { kind: "folder", mode: modeOf(stats) });
  }
  if (isSaved) writeIndex(indexFile, next);
  return entries;
}

/** The resolution of the coarsest file system clock. */
const TICK_MS = 2000;

interface IndexedFile {
  readonly identity: string;
  readonly digest: string;
}

const NO_INDEX: ReadonlyMap<string, IndexedFile> = new Map();

/** Empty if it is missing or damaged: then all files are read, and it is written anew. */
export function readIndex(file: string): ReadonlyMap<string, IndexedFile> {
  const index = new Map<string, IndexedFile>();
  const value = existsSync(file) ? findJson(readFileSync(file, "utf8")) : undefined;
  if (!isJsonObject(value)) return index;
  for (const [name, entry] of Object.entries(value)) {
    const [identity, digest] = isJsonArray(entry) ? entry : [];
    if (typeof identity === "string" && typeof digest === "string") {
      index.set(name, { identity, digest });
    }
  }
  return index;
}

function writeIndex(file: string, index: ReadonlyMap<string, IndexedFile>): void {
  const entries = [...index].map(([name, { identity, digest }]) => [name, [identity, digest]]);
  const temporary = `${file}.${randomName()}.tmp`;
  try {
    writeFileSync(temporary, JSON.stringify(Object.fromEntries(entries)), { mode: OWNER_FILE });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true }); // The disk may be full.
    throw error;
  }
}

/** The format in which it is stored while the command runs. */
export function snapshotToBytes({ entries, ignored, ...rest }: Snapshot): Buffer {
  const json: Json = {
    entries: [...entries].map(([name, state]) => ({ path: name, state: stateToJson(state) })),
    ignored: [...ignored],
    ...rest,
  };
  return Buffer.from(JSON.stringify(json));
}

/** Throws `ShapeError`. */
export function snapshotFromBytes(bytes: Buffer): Snapshot {
  const shape = shapeOf(findJson(bytes.toString("utf8")));
  const entries = arrayField(shape, "entries").map(parsePathState);
  const ignored = arrayField(shape, "ignored").filter((name) => typeof name === "string");
  return {
    entries: new Map(entries.map(({ path: name, state }: PathState) => [name, state])),
    ignored: new Set(ignored),
    rules: stringField(shape, "rules"),
    ...(shape.value["problem"] !== undefined && { problem: "git_failed" }),
  };
}
