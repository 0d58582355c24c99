/** Walks the files below a folder in a fixed order, leaving out ignored and protected ones. */
import { type Dirent, readdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import path from "node:path";
import { shouldYield, yieldToEventLoop } from "../../util/index.ts";
import { FileError, notFoundError, toFileError } from "./file-error.ts";
import { openFile } from "./open-file.ts";
import { type Folder, openFolder } from "./folder.ts";
import { type IgnoreRules, parseIgnoreRules } from "./ignore-rules.ts";
import {
  findProtectedFolders,
  formatPath,
  hasGitNames,
  isProtectedName,
  type ResolvedPath,
  toPosix,
} from "./resolve-path.ts";

/** A file or link found by a walk. */
export interface FoundFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  /** `path` on one line, for messages. */
  readonly displayPath: string;
  /** Open until the next file is requested. */
  readonly folder: Folder;
  readonly name: string;
  readonly isLink: boolean;
  /** The walk started at this file instead of finding it in a folder. */
  readonly isStart: boolean;
}

export interface WalkOptions {
  readonly signal: AbortSignal;
  /** Called for each folder that cannot be read; for the first, the walk throws instead. */
  readonly onUnreadable: (displayPath: string) => void;
}

/** Skipped, unless the walk starts there. */
const SKIPPED_FOLDER = "node_modules";

const IGNORE_FILE = ".gitignore";
/** The total size of the rules for a path, because it is compared with each of them. */
const MAX_IGNORE_BYTES = 64 * 1024;

/**
 * Files come before folders, each sorted by name. Links are reported, not followed. If the start is a file, it is the
 * only one found.
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
    yield { ...pathsOf(first), folder, name, isLink: false, isStart: true };
    return;
  }
  const { signal } = options;
  const hidden = await findProtectedFolders(root);
  const pending = [{ next: first, above: await readIgnoreFilesAbove(root, first) }];
  for (let each = pending.pop(); each !== undefined; each = pending.pop()) {
    const { next, above } = each;
    signal.throwIfAborted();
    const listed = await listFolder(root, next, { above, hidden, signal });
    signal.throwIfAborted();
    if (listed instanceof Error) {
      if (next === first || !(listed instanceof FileError)) throw listed;
      options.onUnreadable(formatPath(next));
      continue;
    }
    await using folder = listed.folder;
    const prefix = prefixOf(next);
    for (const entry of listed.files) {
      const { name } = entry;
      const file = prefix + name;
      const paths = { path: file, displayPath: formatPath(file) };
      yield { ...paths, folder, name, isLink: entry.isSymbolicLink(), isStart: false };
    }
    for (const { name } of listed.folders.toReversed())
      pending.push({ next: path.join(next, name), above: listed.ignoreFiles });
  }
}

function pathsOf(relative: string): Pick<FoundFile, "path" | "displayPath"> {
  return { path: toPosix(relative), displayPath: formatPath(relative) };
}

/** The prefix of all paths in a folder, relative to the root and with forward slashes. */
function prefixOf(relative: string): string {
  return relative === "" ? "" : `${toPosix(relative)}/`;
}

interface ListedFolder {
  readonly folder: Folder;
  readonly files: readonly Dirent[];
  readonly folders: readonly Dirent[];
  /** From the root to this folder. */
  readonly ignoreFiles: readonly IgnoreFile[];
}

interface Filter {
  /** The ignore files of the parent folders. */
  readonly above: readonly IgnoreFile[];
  readonly hidden: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** A `.gitignore`. */
interface IgnoreFile {
  /** The prefix of all paths in its folder, relative to the root and with forward slashes. */
  readonly prefix: string;
  readonly rules: IgnoreRules;
  readonly size: number;
}

async function listFolder(
  root: string,
  relative: string,
  { above, hidden, signal }: Filter,
): Promise<ListedFolder | Error> {
  let folder: Folder | undefined;
  try {
    folder = await openFolder(path.join(root, relative));
    // Synchronous, like `openFolder`: with very many folders, most of the time would be spent waiting.
    const all = readdirSync(folder.path, { withFileTypes: true });
    const isHidden = hidden.has(folder.realPath) || hasGitNames(all.map(({ name }) => name));
    const hasRules = all.some((entry) => entry.name === IGNORE_FILE && entry.isFile());
    const ignoreFiles = hasRules ? await withIgnoreFile(above, folder, relative) : above;
    const prefix = prefixOf(relative);
    const wanted: Dirent[] = [];
    for (const entry of isHidden ? [] : all) {
      // A clone may contain very many files and rules. Ctrl-C must still work.
      if (shouldYield()) await yieldToEventLoop();
      if (signal.aborted) break;
      const { name } = entry;
      if (name === SKIPPED_FOLDER || isProtectedName(name)) continue;
      if (!isIgnored(prefix + name, entry.isDirectory(), ignoreFiles)) wanted.push(entry);
    }
    wanted.sort((a, b) => (a.name < b.name ? -1 : 1));
    return {
      folder,
      files: wanted.filter((entry) => entry.isFile() || entry.isSymbolicLink()),
      folders: wanted.filter((entry) => entry.isDirectory()),
      ignoreFiles,
    };
  } catch (error) {
    await folder?.[Symbol.asyncDispose]();
    return toFileError("list", formatPath(relative), error);
  }
}

/** The innermost folder's rules take precedence, unless none of them matches. */
function isIgnored(file: string, isFolder: boolean, files: readonly IgnoreFile[]): boolean {
  for (const { prefix, rules } of files.toReversed()) {
    const decided = rules.isIgnored(file.slice(prefix.length), isFolder);
    if (decided !== undefined) return decided;
  }
  return false;
}

/** Reads the ignore files of the start's parent folders, from the root down. */
async function readIgnoreFilesAbove(root: string, first: string): Promise<readonly IgnoreFile[]> {
  if (first === "") return [];
  const names = first.split(path.sep);
  let files: readonly IgnoreFile[] = [];
  for (const index of names.keys()) {
    const relative = path.join(...names.slice(0, index));
    try {
      await using folder = await openFolder(path.join(root, relative));
      files = await withIgnoreFile(files, folder, relative === "." ? "" : relative);
    } catch {
      // The folder can be entered but not read.
    }
  }
  return files;
}

/** Adds the folder's ignore file. One that is unreadable, a link or huge counts as empty. */
async function withIgnoreFile(
  above: readonly IgnoreFile[],
  folder: Folder,
  relative: string,
): Promise<readonly IgnoreFile[]> {
  try {
    const named = { displayPath: IGNORE_FILE, access: "read" } as const;
    await using handle = await openFile(folder, IGNORE_FILE, named);
    const { size } = await handle.stat();
    const total = above.reduce((sum, file) => sum + file.size, size);
    if (total > MAX_IGNORE_BYTES) return above;
    const rules = parseIgnoreRules(await handle.readFile("utf8"));
    const prefix = prefixOf(relative);
    return [...above, { prefix, rules, size }];
  } catch {
    return above;
  }
}
