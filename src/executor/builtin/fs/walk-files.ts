/** The files below a folder, in a fixed order, without what nobody wants to see. Follows no links. */
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { explainFailure, notThere, Refusal } from "./file-error.ts";
import { openFile } from "./files.ts";
import { type Folder, openFolder } from "./folder.ts";
import { type IgnoreRules, parseIgnoreRules } from "./ignore-rules.ts";
import { hasGitNames, isProtectedName, type Place, protectedFolders, showPath } from "./place.ts";

export interface FoundFile {
  /** As it is shown. */
  readonly shown: string;
  /** Open until the next file is asked for. */
  readonly folder: Folder;
  readonly name: string;
  readonly isLink: boolean;
  /** It was asked for by its name; else it was found on the way. */
  readonly isNamed: boolean;
}

export interface WalkOptions {
  readonly signal: AbortSignal;
  /** A folder below the first one that cannot be read. */
  readonly onUnreadable: (shown: string) => void;
}

/** Left out wherever it is met; who names it gets what is in it. */
const SKIPPED = "node_modules";

const MOST_IGNORE_BYTES = 64 * 1024;

/** The place itself, if it is a file. Files come before folders, each in the order of their names. */
export async function* walkFiles(
  place: Place,
  options: WalkOptions,
): AsyncGenerator<FoundFile, void, undefined> {
  if (place.missing.length > 0) throw notThere(place.shown);
  const stats = await stat(place.real).catch((error: unknown) => {
    throw explainFailure("list", place.shown, error);
  });
  if (!stats.isDirectory()) return yield* oneFile(place);
  const rules = await readIgnoreRules(place.root);
  const hidden = await protectedFolders(place.root);
  const start = path.relative(place.root, place.real);
  const waiting = [start];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    options.signal.throwIfAborted();
    const listed = await listFolder({ root: place.root, relative: next, rules, hidden });
    if (listed instanceof Error) {
      // What changes or cannot be read below is told; the rest is still worth having.
      if (next === start || !(listed instanceof Refusal)) throw listed;
      options.onUnreadable(showPath(next));
      continue;
    }
    await using folder = listed.folder;
    for (const entry of listed.files) {
      const shown = showPath(path.join(next, entry.name));
      yield { shown, folder, name: entry.name, isLink: entry.isSymbolicLink(), isNamed: false };
    }
    for (const { name } of listed.folders.toReversed()) waiting.push(path.join(next, name));
  }
}

async function* oneFile({ root, real }: Place): AsyncGenerator<FoundFile, void, undefined> {
  await using folder = await openFolder(path.dirname(real));
  const shown = showPath(path.relative(root, real));
  yield { shown, folder, name: path.basename(real), isLink: false, isNamed: true };
}

interface ListedFolder {
  readonly folder: Folder;
  readonly files: readonly Dirent[];
  readonly folders: readonly Dirent[];
}

interface ListRequest {
  readonly root: string;
  readonly relative: string;
  readonly rules: IgnoreRules;
  readonly hidden: ReadonlySet<string>;
}

async function listFolder(request: ListRequest): Promise<ListedFolder | Error> {
  const { root, relative, rules, hidden } = request;
  let folder: Folder | undefined;
  try {
    folder = await openFolder(path.join(root, relative));
    const all = await readdir(folder.path, { withFileTypes: true });
    const isHidden = hidden.has(folder.real) || hasGitNames(all.map(({ name }) => name));
    const wanted = (isHidden ? [] : all)
      .filter(({ name }) => name !== SKIPPED && !isProtectedName(name))
      .filter((entry) => !rules.isIgnored(posixJoin(relative, entry.name), entry.isDirectory()))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return {
      folder,
      files: wanted.filter((entry) => entry.isFile() || entry.isSymbolicLink()),
      folders: wanted.filter((entry) => entry.isDirectory()),
    };
  } catch (error) {
    await folder?.[Symbol.asyncDispose]();
    return explainFailure("list", showPath(relative), error);
  }
}

function posixJoin(relative: string, name: string): string {
  return path.join(relative, name).split(path.sep).join("/");
}

/** A list that cannot be read, is a link, or is huge, counts as none. */
async function readIgnoreRules(root: string): Promise<IgnoreRules> {
  try {
    await using folder = await openFolder(root);
    const shown = ".gitignore";
    await using handle = await openFile(folder, shown, { shown, access: "read" });
    const { size } = await handle.stat();
    return parseIgnoreRules(size > MOST_IGNORE_BYTES ? "" : await handle.readFile("utf8"));
  } catch {
    return parseIgnoreRules("");
  }
}
