/**
 * Finds the folders of a conversation. In a workspace there may be two copies, one in it and one in the
 * user's own folder. As in the Rust original, the one that changed last is read.
 */
import { type Dirent, existsSync, lstatSync, readdirSync, type Stats, statSync } from "node:fs";
import path from "node:path";
import {
  type ConversationCreation,
  type ConversationId,
  newestOf,
} from "../../record/conversation/index.ts";
import { readError } from "../storage-error.ts";
import { isSettled } from "./fingerprint.ts";
import { fileIdCreation, fileIdToNumber, findIdInFolderName, isOlderThan } from "./file-id.ts";
import { assertNotLink } from "./safe-open.ts";
import { systemErrorCode } from "../../util/index.ts";

/** The folder that marks its parent as a workspace. */
export const WORKSPACE_FOLDER = ".jp";
export const EVENTS = "events.json";
export const METADATA = "metadata.json";
export const BASE_CONFIG = "base_config.json";
/** See `chain-file.ts`. */
export const CHAIN = "decisions.jsonl";
const ARCHIVE = ".archive";

/** `local`: the user's own conversations of a workspace. */
export type Root = "main" | "local";

export interface ConversationCopy {
  readonly root: Root;
  readonly folder: string;
  readonly isArchived: boolean;
  /** The folder is a symbolic link, if its listing says so. */
  readonly isLink?: boolean;
}

/** A conversation, and all of its copies. */
export interface ConversationCopies {
  readonly id: ConversationId;
  readonly copies: readonly ConversationCopy[];
}

/** The `conversations` folders. Only a workspace has a local one, and it may not exist yet. */
export interface ConversationRoots {
  readonly main: string;
  readonly local: string | undefined;
  readonly names: FolderNames;
}

export function listCopies(
  roots: ConversationRoots,
  which: "live" | "all",
): Map<ConversationId, ConversationCopy[]> {
  const copies = new Map<ConversationId, ConversationCopy[]>();
  for (const { root, isArchived, parent, listing } of listPlaces(roots, which)) {
    const { names, links } = listing;
    for (const name of names) {
      const id = findIdInFolderName(name);
      if (id === undefined) continue;
      const folder = `${parent}${path.sep}${name}`;
      const copy = { root, folder, isArchived, isLink: links.has(name) };
      const known = copies.get(id);
      if (known === undefined) copies.set(id, [copy]);
      else known.push(copy);
    }
  }
  return copies;
}

/** Like `listCopies`, but only the newest conversations, newest first, without reading all the others. */
export function listNewestCopies(
  roots: ConversationRoots,
  which: "live" | "all",
  { limit, before }: { readonly limit: number; readonly before?: ConversationCreation },
): readonly ConversationCopies[] {
  const folders = listPlaces(roots, which);
  const ids = new Set(folders.flatMap(({ listing }) => listing.newest(limit, before)));
  return newestOf([...ids], fileIdCreation, { limit }).map((id) => {
    const copies = folders.flatMap(({ root, isArchived, parent, listing }) =>
      listing.of(id).map((name) => ({ root, isArchived, folder: path.join(parent, name) })),
    );
    return { id, copies };
  });
}

export function copiesOf(
  roots: ConversationRoots,
  id: ConversationId,
): readonly ConversationCopy[] {
  const copies: ConversationCopy[] = [];
  for (const root of ["main", "local"] as const) {
    const live = roots[root];
    if (live === undefined) continue;
    for (const parent of [live, path.join(live, ARCHIVE)]) {
      const stats = lookAt(roots, root, parent);
      if (stats === undefined) break; // Then there is no archive in it either.
      for (const name of roots.names.list(parent, id, stats)) {
        const folder = `${parent}${path.sep}${name}`;
        copies.push({ root, isArchived: parent !== live, folder });
      }
    }
  }
  return copies;
}

/** Undefined if the folder does not exist. Throws `read_failed` if it is a link that may have come with a clone. */
function lookAt(roots: ConversationRoots, root: Root, folder: string): Stats | undefined {
  if (root === "local") return statSync(folder, { throwIfNoEntry: false });
  if (folder === roots.main) assertNotLink(path.dirname(folder));
  return assertNotLink(folder);
}

/** Like `copiesOf`, but finds a folder that is renamed or moved meanwhile too. */
export function findCopies(
  roots: ConversationRoots,
  id: ConversationId,
): readonly ConversationCopy[] {
  const found = copiesOf(roots, id);
  return found.length > 0 ? found : (listCopies(roots, "all").get(id) ?? []);
}

/**
 * Reads the copies that `find` returns, and again if one of them was renamed or moved meanwhile: a new title renames
 * the folder. `known`: what it returned just now. Throws what `find` and `read` throw.
 */
export async function readCopies<Value>(
  find: () => readonly ConversationCopy[],
  read: (copies: readonly ConversationCopy[]) => Promise<Value> | Value,
  known?: readonly ConversationCopy[],
): Promise<Value> {
  for (let rounds = 1; ; rounds += 1) {
    const copies = (rounds === 1 ? known : undefined) ?? find();
    const isOver = () => rounds === MAX_ROUNDS || copies.every(({ folder }) => existsSync(folder));
    try {
      const value = await read(copies);
      if (isOver()) return value;
    } catch (error) {
      if (isOver()) throw error;
    }
  }
}

/** Programs that rename without a pause must not block a reader forever. */
const MAX_ROUNDS = 100;

/** The live copies in folders of this name, without reading all the others. */
export function liveCopiesNamed(
  roots: ConversationRoots,
  name: string,
): readonly ConversationCopy[] {
  return (["main", "local"] as const).flatMap((root): ConversationCopy[] => {
    if (roots[root] === undefined) return [];
    const folder = path.join(parentFolder(roots, root, false), name);
    const isThere = lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
    return isThere ? [{ root, folder, isArchived: false }] : [];
  });
}

/** A place that may hold copies. */
type Place = Pick<ConversationCopy, "root" | "isArchived">;

function places(roots: ConversationRoots, which: "live" | "all"): readonly Place[] {
  return (["main", "local"] as const).flatMap((root): Place[] => {
    if (roots[root] === undefined) return [];
    const live = { root, isArchived: false };
    return which === "live" ? [live] : [live, { root, isArchived: true }];
  });
}

/**
 * Lists the places until two rounds in a row find the same conversations: a single one may miss a folder that is
 * renamed, or moved from one place to another.
 */
function listPlaces(roots: ConversationRoots, which: "live" | "all") {
  const all = places(roots, which).map((place) => {
    return { ...place, parent: parentFolder(roots, place.root, place.isArchived) };
  });
  const list = () => all.map((place) => ({ ...place, listing: roots.names.listing(place.parent) }));
  let listed = list();
  for (let rounds = 1; rounds < MAX_ROUNDS; rounds += 1) {
    const before = listed;
    listed = list();
    if (listed.every(({ listing }, index) => before[index]?.listing.hasSameIds(listing))) break;
  }
  return listed;
}

/** The live copies, or all of them if the conversation is archived. */
export function currentCopies(copies: readonly ConversationCopy[]): readonly ConversationCopy[] {
  const live = copies.filter((copy) => !copy.isArchived);
  return live.length > 0 ? live : copies;
}

/**
 * The parent of a conversation's folder. The main one must not be a link, which may have come with a clone of a
 * workspace; the one in the user's own folder may. Throws `read_failed`.
 */
export function parentFolder(roots: ConversationRoots, root: Root, isArchived: boolean): string {
  const folder = roots[root];
  if (folder === undefined) throw new Error("there is no folder for local conversations");
  if (root === "main") [path.dirname(folder), folder].forEach(assertNotLink);
  if (!isArchived) return folder;
  const archive = path.join(folder, ARCHIVE);
  if (root === "main") assertNotLink(archive);
  return archive;
}

/** The copy in which one of these files changed last. On a tie, the user's own. */
export function latestCopy(
  copies: readonly ConversationCopy[],
  ...files: readonly string[]
): ConversationCopy | undefined {
  if (copies.length < 2) return copies[0];
  return copies
    .map((copy) => ({ copy, changed: lastChange(copy.folder, files) }))
    .toSorted((left, right) => right.changed - left.changed || localFirst(left.copy, right.copy))[0]
    ?.copy;
}

/** The parents of all folders that `list` reads for these. */
export function parentFolders(
  roots: ConversationRoots,
  which: "live" | "archived" | "all",
): readonly string[] {
  return places(roots, which === "live" ? "live" : "all")
    .filter(({ isArchived }) => which !== "archived" || isArchived)
    .map(({ root, isArchived }) => parentFolder(roots, root, isArchived));
}

function lastChange(folder: string, files: readonly string[]): number {
  const times = files.map(
    (file) => lstatSync(path.join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  return Math.max(...times);
}

function localFirst(left: ConversationCopy, right: ConversationCopy): number {
  return Number(right.root === "local") - Number(left.root === "local");
}

/** A snapshot of the folders in a folder, including links. */
class Listing {
  readonly names: readonly string[];
  /** The names of symbolic links. */
  readonly links: ReadonlySet<string>;
  #byId: ReadonlyMap<ConversationId, readonly string[]> | undefined;
  #newest: readonly ConversationId[] | undefined;

  constructor(entries: readonly Dirent[]) {
    const names: string[] = [];
    const links = new Set<string>();
    for (const entry of entries) {
      if (entry.isSymbolicLink()) links.add(entry.name);
      else if (!entry.isDirectory()) continue;
      names.push(entry.name);
    }
    this.names = names;
    this.links = links;
  }

  of(id: ConversationId): readonly string[] {
    return this.#namesById().get(id) ?? [];
  }

  /** The newest ids, or the newest before this one, at most `limit`. */
  newest(limit: number, before?: ConversationCreation): readonly ConversationId[] {
    this.#newest ??= newestOf([...this.#namesById().keys()], fileIdCreation, { limit: Infinity });
    const start = before === undefined ? 0 : this.#newest.findIndex(isOlderThan(before));
    return start === -1 ? [] : this.#newest.slice(start, start + limit);
  }

  hasSameIds(other: Listing): boolean {
    if (other === this) return true;
    const [ids, others] = [this.#namesById(), other.#namesById()];
    return ids.size === others.size && [...ids.keys()].every((id) => others.has(id));
  }

  #namesById(): ReadonlyMap<ConversationId, readonly string[]> {
    if (this.#byId === undefined) {
      const byId = Map.groupBy(this.names, (name) => findIdInFolderName(name) ?? NO_ID);
      byId.delete(NO_ID);
      this.#byId = byId;
    }
    return this.#byId;
  }
}

/** For folders that are not conversations. */
const NO_ID = "" as ConversationId;

interface FolderState {
  readonly changed: number;
  /** The listing is cached, or can be. */
  readonly isCached: boolean;
}

/**
 * Lists the folders in a folder, cached until it changes: loops over all conversations look up each of them. Includes
 * links, so that opening one reports the problem.
 */
export class FolderNames {
  readonly #known = new Map<string, { readonly changed: number; readonly listing: Listing }>();

  /** With an id, only the folders of this conversation. Empty if the folder does not exist. `stats`: its current state. */
  list(folder: string, only?: ConversationId, stats = statOf(folder)): readonly string[] {
    if (stats === undefined) return [];
    const state = this.#stateOf(folder, stats);
    if (only === undefined) return this.#listingAt(folder, state).names;
    return state.isCached ? this.#listingAt(folder, state).of(only) : listFoldersOf(folder, only);
  }

  /** Empty if the folder does not exist. */
  listing(folder: string): Listing {
    const stats = statOf(folder);
    return stats === undefined
      ? new Listing([])
      : this.#listingAt(folder, this.#stateOf(folder, stats));
  }

  #listingAt(folder: string, { changed, isCached }: FolderState): Listing {
    const known = this.#known.get(folder);
    if (known?.changed === changed) return known.listing;
    const listing = new Listing(listEntries(folder));
    if (isCached) this.#known.set(folder, { changed, listing });
    return listing;
  }

  #stateOf(folder: string, { mtimeMs: changed }: Stats): FolderState {
    return {
      changed,
      isCached: isSettled(changed) || this.#known.get(folder)?.changed === changed,
    };
  }
}

function statOf(folder: string): Stats | undefined {
  return statSync(folder, { throwIfNoEntry: false });
}

function listEntries(folder: string): readonly Dirent[] {
  return readFolder(folder, () => readdirSync(folder, { withFileTypes: true }));
}

/** Reading only names is several times faster, and few of them start with the digits of an id. */
function listFoldersOf(folder: string, id: ConversationId): readonly string[] {
  const digits = String(fileIdToNumber(id));
  return readFolder(folder, () =>
    readdirSync(folder).filter(
      (name) =>
        name.includes(digits) &&
        findIdInFolderName(name) === id &&
        isFolderOrLink(path.join(folder, name)),
    ),
  );
}

/** Empty if the folder does not exist. Throws `read_failed`. */
function readFolder<Item>(folder: string, read: () => readonly Item[]): readonly Item[] {
  try {
    return read();
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT" || systemErrorCode(error) === "ENOTDIR") return [];
    throw readError(folder, error);
  }
}

function isFolderOrLink(file: string): boolean {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  return stats !== undefined && (stats.isDirectory() || stats.isSymbolicLink());
}
