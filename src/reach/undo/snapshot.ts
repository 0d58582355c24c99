/**
 * All files of a workspace that Git tracks or would add, before and after a command: their bytes, modes and links as on
 * disk. Git only lists the names, and never runs anything that a repository names. Ignored files are left out.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findGit, findGitFolder, runGit } from "../process/index.ts";
import { isProtectedName } from "../files/index.ts";
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
  systemClock,
  yieldToEventLoop,
} from "../../util/index.ts";
import { type Contents, OWNER_FILE } from "./contents.ts";
import { ABSENT, type EntryState, isSameState, stateToJson } from "./entry-state.ts";
import { parsePathState, type PathState } from "./journal.ts";
import { findStats, identityOf, isInRealFolder, modeOf, readFound } from "./work-tree.ts";

/** Beyond these, nothing is saved or can be undone. */
export interface SnapshotLimits {
  readonly files: number;
  readonly bytes: number;
}

export const SNAPSHOT_LIMITS: SnapshotLimits = { files: 50_000, bytes: 200 * 1024 * 1024 };

/** Why nothing is saved before a command. */
export type UnkeptFolderReason =
  /** The folder is not in a Git work tree. */
  | "not_git"
  /** Git is missing, or fails. */
  | "git_failed"
  /** There are too many files or bytes. */
  | "too_large";

/** The states of all files and their parent folders. */
export interface Snapshot {
  readonly entries: ReadonlyMap<string, EntryState>;
  /** Names of ignored files and folders; folders end with a slash. Their state is unknown. */
  readonly ignored: ReadonlySet<string>;
}

export interface SnapshotOptions {
  /** The real path of the workspace. */
  readonly root: string;
  readonly contents: Contents;
  /** Caches the digests of unchanged files. */
  readonly indexFile: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Replaces the machine's clock in tests. */
  readonly clock?: Clock;
  readonly limits?: SnapshotLimits;
}

interface Listing {
  readonly files: readonly string[];
  readonly ignored: ReadonlySet<string>;
}

const MAX_LIST_BYTES = 256 * 1024 * 1024;

/** Whether files could be saved, as far as known without reading them. */
export function checkFolder({
  root,
  variables,
}: Pick<SnapshotOptions, "root" | "variables">): UnkeptFolderReason | undefined {
  try {
    if (findGitFolder(root) === undefined) return "not_git";
    return findGit(variables) === undefined ? "git_failed" : undefined;
  } catch {
    return "git_failed";
  }
}

/** Throws system errors, and the signal's reason. */
export async function takeSnapshot(
  options: SnapshotOptions,
): Promise<Snapshot | UnkeptFolderReason> {
  const listing = await listFiles(options);
  if (typeof listing === "string") return listing;
  if (isTooLarge(options.root, listing.files, options.limits)) return "too_large";
  const entries = await readEntries(listing.files, options);
  return { entries, ignored: listing.ignored };
}

/** A path that differs from an earlier snapshot. */
export interface ChangedEntry {
  readonly path: string;
  readonly before: EntryState;
  readonly after: EntryState;
}

/** Includes files that Git started to ignore, or to list, since. Throws like `takeSnapshot`. */
export async function findChanges(
  before: Snapshot,
  options: SnapshotOptions,
): Promise<readonly ChangedEntry[]> {
  const listing = await listFiles(options);
  const listed = typeof listing === "string" ? [] : listing.files;
  const names = new Set([...before.entries.keys(), ...listed]);
  const after = await readEntries([...names], options);
  for (const name of after.keys()) names.add(name);
  return [...names].flatMap((name): ChangedEntry[] => {
    const [old, now] = [before.entries.get(name) ?? ABSENT, after.get(name) ?? ABSENT];
    if (isSameState(old, now)) return [];
    // It may have existed before.
    if (old.kind === "absent" && isIgnoredIn(before, name)) return [];
    return [{ path: name, before: old, after: now }];
  });
}

function isIgnoredIn({ ignored }: Snapshot, name: string): boolean {
  const parts = name.split("/");
  return (
    ignored.has(name) ||
    ignored.has(`${name}/`) ||
    parts.some((_part, index) => ignored.has(`${parts.slice(0, index).join("/")}/`))
  );
}

/** The files that `git add` would include, and those it would ignore. */
async function listFiles({
  root,
  variables,
  signal,
}: Pick<SnapshotOptions, "root" | "variables" | "signal">): Promise<Listing | UnkeptFolderReason> {
  try {
    const problem = checkFolder({ root, variables });
    const found = findGit(variables);
    if (problem !== undefined || found === undefined) return problem ?? "git_failed";
    const git = { ...found, folder: root, signal, maxOutputBytes: MAX_LIST_BYTES };
    const list = ["ls-files", "-z", "--others", "--exclude-standard"];
    const [files, ignored] = await Promise.all([
      runGit(git, [...list, "--cached"]),
      runGit(git, [...list, "--ignored", "--directory"]),
    ]);
    return { files: toNames(files).filter(isKeptName), ignored: new Set(toNames(ignored)) };
  } catch {
    signal.throwIfAborted();
    return "git_failed";
  }
}

function toNames(text: string): readonly string[] {
  return [...new Set(text.split("\0"))].filter((name) => name !== "");
}

/** Leaves out jp's files, which change all the time, and nested repositories. */
function isKeptName(name: string): boolean {
  return !name.endsWith("/") && !name.split("/").some(isProtectedName);
}

function isTooLarge(
  root: string,
  files: readonly string[],
  limits: SnapshotLimits = SNAPSHOT_LIMITS,
): boolean {
  if (files.length > limits.files) return true;
  let bytes = 0;
  for (const name of files) {
    const stats = findStats(path.join(root, name));
    if (stats?.isFile() === true) bytes += Number(stats.size);
    if (bytes > limits.bytes) return true;
  }
  return false;
}

/** Includes the parent folders of the files. */
async function readEntries(
  files: readonly string[],
  { root, contents, indexFile, signal, clock = systemClock }: SnapshotOptions,
): Promise<ReadonlyMap<string, EntryState>> {
  const index = readIndex(indexFile);
  const next = new Map<string, IndexedFile>();
  const entries = new Map<string, EntryState>();
  const folders = new Map<string, boolean>();
  for (const name of files) {
    if (shouldYield()) await yieldToEventLoop();
    signal.throwIfAborted();
    if (!isInRealFolder(root, name, folders)) continue;
    const file = path.join(root, name);
    const stats = findStats(file);
    if (stats === undefined) continue;
    const identity = `${identityOf(stats)}:${modeOf(stats)}`;
    const known = index.get(name);
    const isKnown = known?.identity === identity && contents.has(known.digest);
    const readAt = clock.now().getTime();
    const state: EntryState = isKnown
      ? { kind: "file", mode: modeOf(stats), size: Number(stats.size), digest: known.digest }
      : await readFound(file, stats, { contents, isDurable: false });
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
  writeIndex(indexFile, next);
  return entries;
}

/** The resolution of the coarsest file system clock. */
const TICK_MS = 2000;

interface IndexedFile {
  readonly identity: string;
  readonly digest: string;
}

/** Empty if it is missing or unreadable: then all files are read. */
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
  writeFileSync(temporary, JSON.stringify(Object.fromEntries(entries)), { mode: OWNER_FILE });
  renameSync(temporary, file);
}

/** The format in which it is stored while the command runs. */
export function snapshotToBytes({ entries, ignored }: Snapshot): Buffer {
  const json: Json = {
    entries: [...entries].map(([name, state]) => ({ path: name, state: stateToJson(state) })),
    ignored: [...ignored],
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
  };
}
