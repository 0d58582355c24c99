/**
 * Finds the folders of a conversation. In a workspace there may be two copies, one in it and one in the
 * user's own folder. As in the Rust original, the one that changed last is read.
 */
import { lstatSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import {
  type ConversationId,
  conversationIdToNumber,
  findIdInFolderName,
} from "../../conversation/index.ts";
import { readError } from "../storage-error.ts";
import { assertNotLink } from "./safe-open.ts";
import { systemErrorCode } from "../../util/index.ts";

export const EVENTS = "events.json";
export const METADATA = "metadata.json";
export const BASE_CONFIG = "base_config.json";
const ARCHIVE = ".archive";

/** `local`: the user's own conversations of a workspace. */
export type Root = "main" | "local";

export interface ConversationCopy {
  readonly root: Root;
  readonly folder: string;
  readonly isArchived: boolean;
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
  for (const [id, copy] of eachCopy(roots, which)) {
    const known = copies.get(id);
    if (known === undefined) copies.set(id, [copy]);
    else known.push(copy);
  }
  return copies;
}

export function copiesOf(
  roots: ConversationRoots,
  id: ConversationId,
): readonly ConversationCopy[] {
  // A cheap filter first: loops over all conversations look up each of them.
  const digits = String(conversationIdToNumber(id));
  const found = eachCopy(roots, "all", (name) => name.includes(digits));
  return [...found].filter(([other]) => other === id).map(([, copy]) => copy);
}

/** The live copies in folders of this name, without a look at all the others. */
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

function* eachCopy(
  roots: ConversationRoots,
  which: "live" | "all",
  isWanted: (name: string) => boolean = () => true,
): Generator<readonly [ConversationId, ConversationCopy]> {
  for (const root of ["main", "local"] as const) {
    for (const isArchived of [false, true]) {
      if (isArchived && which === "live") continue;
      yield* listRoot(roots, { root, isArchived }, isWanted);
    }
  }
}

/** The live copies, or all of them if the conversation is archived. */
export function currentCopies(copies: readonly ConversationCopy[]): readonly ConversationCopy[] {
  const live = copies.filter((copy) => !copy.isArchived);
  return live.length > 0 ? live : copies;
}

/**
 * The parent of a conversation's folder. The main one must not be a link, which may have come
 * with a clone of a workspace; in the user's own folder it may. Throws `read_failed`.
 */
export function parentFolder(roots: ConversationRoots, root: Root, isArchived: boolean): string {
  const folder = roots[root];
  if (folder === undefined) throw new Error("there is no folder for local conversations");
  const parent = isArchived ? path.join(folder, ARCHIVE) : folder;
  if (root === "main") [path.dirname(folder), folder, parent].forEach(assertNotLink);
  return parent;
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

function listRoot(
  roots: ConversationRoots,
  { root, isArchived }: Pick<ConversationCopy, "root" | "isArchived">,
  isWanted: (name: string) => boolean,
) {
  if (roots[root] === undefined) return [];
  const parent = parentFolder(roots, root, isArchived);
  return roots.names
    .list(parent)
    .filter(isWanted)
    .flatMap((name) => {
      const id = findIdInFolderName(name);
      const copy: ConversationCopy = { root, folder: `${parent}${path.sep}${name}`, isArchived };
      return id === undefined ? [] : [[id, copy] as const];
    });
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

interface Listing {
  readonly changed: number;
  readonly names: readonly string[];
}

/** File times are coarse: a folder that changed more recently may change again without a new time. */
const SETTLE_MS = 2000;

/**
 * Lists the folders in a folder, cached until it changes: loops over all conversations look up each
 * of them. Includes links, so that opening one reports what is wrong with it.
 */
export class FolderNames {
  readonly #listings = new Map<string, Listing>();

  /** Empty if the folder does not exist. */
  list(folder: string): readonly string[] {
    const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
    if (changed === undefined) return [];
    const known = this.#listings.get(folder);
    if (known?.changed === changed) return known.names;
    const names = listFolders(folder);
    if (Date.now() - changed > SETTLE_MS) this.#listings.set(folder, { changed, names });
    return names;
  }
}

function listFolders(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map((entry) => entry.name);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT" || systemErrorCode(error) === "ENOTDIR") return [];
    throw readError(folder, error);
  }
}
