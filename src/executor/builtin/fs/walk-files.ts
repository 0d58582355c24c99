/** Walks the files below a folder in a fixed order, leaving out ignored and protected ones. */
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { FileError, notFoundError, toFileError } from "./file-error.ts";
import { openFile } from "./files.ts";
import { type Folder, openFolder } from "./folder.ts";
import { type IgnoreRules, parseIgnoreRules } from "./ignore-rules.ts";
import {
  findProtectedFolders,
  formatPath,
  hasGitNames,
  isProtectedName,
  type ResolvedPath,
} from "./resolve-path.ts";

/** A file or a link that a walk has found. */
export interface FoundFile {
  readonly displayPath: string;
  /** Open until the next file is requested. */
  readonly folder: Folder;
  readonly name: string;
  readonly isLink: boolean;
  /** The walk started at this file, rather than finding it in a folder. */
  readonly isStart: boolean;
}

export interface WalkOptions {
  readonly signal: AbortSignal;
  /** Called with each folder that cannot be read, except the first, where the walk throws. */
  readonly onUnreadable: (displayPath: string) => void;
}

/** Left out, unless the walk starts there. */
const SKIPPED_FOLDER = "node_modules";

const MAX_IGNORE_BYTES = 64 * 1024;

/**
 * Files come before folders, each sorted by name. Links are reported, not followed. A start that is a
 * file is the only one found.
 */
export async function* walkFiles(
  start: ResolvedPath,
  options: WalkOptions,
): AsyncGenerator<FoundFile, void, undefined> {
  const { root, realPath, displayPath } = start;
  if (start.missing.length > 0) throw notFoundError(displayPath);
  const stats = await stat(realPath).catch((error: unknown) => {
    throw toFileError("list", displayPath, error);
  });
  const first = path.relative(root, realPath);
  if (!stats.isDirectory()) {
    await using folder = await openFolder(path.dirname(realPath));
    const name = path.basename(realPath);
    yield { displayPath: formatPath(first), folder, name, isLink: false, isStart: true };
    return;
  }
  const filter = { rules: await readIgnoreRules(root), hidden: await findProtectedFolders(root) };
  const pending = [first];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    options.signal.throwIfAborted();
    const listed = await listFolder(root, next, filter);
    if (listed instanceof Error) {
      if (next === first || !(listed instanceof FileError)) throw listed;
      options.onUnreadable(formatPath(next));
      continue;
    }
    await using folder = listed.folder;
    for (const entry of listed.files) {
      const { name } = entry;
      const file = formatPath(path.join(next, name));
      yield { displayPath: file, folder, name, isLink: entry.isSymbolicLink(), isStart: false };
    }
    for (const { name } of listed.folders.toReversed()) pending.push(path.join(next, name));
  }
}

interface ListedFolder {
  readonly folder: Folder;
  readonly files: readonly Dirent[];
  readonly folders: readonly Dirent[];
}

interface Filter {
  readonly rules: IgnoreRules;
  readonly hidden: ReadonlySet<string>;
}

async function listFolder(
  root: string,
  relative: string,
  { rules, hidden }: Filter,
): Promise<ListedFolder | Error> {
  let folder: Folder | undefined;
  try {
    folder = await openFolder(path.join(root, relative));
    const all = await readdir(folder.path, { withFileTypes: true });
    const isHidden = hidden.has(folder.realPath) || hasGitNames(all.map(({ name }) => name));
    const toPosix = (name: string) => path.join(relative, name).split(path.sep).join("/");
    const wanted = (isHidden ? [] : all)
      .filter(({ name }) => name !== SKIPPED_FOLDER && !isProtectedName(name))
      .filter((entry) => !rules.isIgnored(toPosix(entry.name), entry.isDirectory()))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return {
      folder,
      files: wanted.filter((entry) => entry.isFile() || entry.isSymbolicLink()),
      folders: wanted.filter((entry) => entry.isDirectory()),
    };
  } catch (error) {
    await folder?.[Symbol.asyncDispose]();
    return toFileError("list", formatPath(relative), error);
  }
}

/** The root's `.gitignore`. One that cannot be read, is a link or is huge counts as empty. */
async function readIgnoreRules(root: string): Promise<IgnoreRules> {
  try {
    await using folder = await openFolder(root);
    const name = ".gitignore";
    await using handle = await openFile(folder, name, { displayPath: name, access: "read" });
    const { size } = await handle.stat();
    return parseIgnoreRules(size > MAX_IGNORE_BYTES ? "" : await handle.readFile("utf8"));
  } catch {
    return parseIgnoreRules("");
  }
}
