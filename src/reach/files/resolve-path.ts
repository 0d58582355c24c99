/**
 * Resolves paths that a model wrote: they must stay inside the workspace and away from Git's and jp's files. `folder.ts`
 * keeps the result valid while it is used.
 */
import { lstat, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { FileError, toFileError } from "./file-error.ts";
import { systemErrorCode } from "../../util/index.ts";

/** A path inside the root, without links. */
export interface ResolvedPath {
  /** Relative to the root, on one line, for messages. */
  readonly displayPath: string;
  /** The root without symbolic links. */
  readonly root: string;
  /** The part that exists, without symbolic links. */
  readonly realPath: string;
  /** The names below `realPath` that do not exist. */
  readonly missing: readonly string[];
  /** The path itself is a symbolic link to something inside the root. */
  readonly isLink: boolean;
}

/** A file in a folder; some of the folders may have to be created first. */
export interface FileTarget {
  readonly displayPath: string;
  /** Unique per file, for questions: also names the file that a symbolic link leads to. */
  readonly questionPath: string;
  /** Like `displayPath`, but for the file itself if the path leads through a symbolic link. */
  readonly realDisplayPath: string;
  /** It exists and is free of symbolic links. */
  readonly folder: string;
  readonly newFolders: readonly string[];
  readonly name: string;
  readonly isLink: boolean;
}

/** Throws a `FileError` for protected paths, and for paths that are or lead outside the root. */
export async function resolvePath(root: string, requested: string): Promise<ResolvedPath> {
  if (requested === "") {
    throw new FileError("The path is empty. Give a path relative to the workspace root.");
  }
  if (requested.includes("\0")) throw new FileError("The path contains a NUL character.");
  const realRoot = await realpath(root);
  const relative = toRelative([path.resolve(root), realRoot], requested);
  const displayPath = formatPath(relative);
  try {
    const absolute = path.join(realRoot, relative);
    const { realPath, missing } = await findRealPath(absolute, displayPath);
    if (!isInside(realRoot, realPath)) {
      throw new FileError(
        `${displayPath} leads outside the workspace through a symbolic link. ` +
          "Only files inside the workspace can be used.",
      );
    }
    const names = [relative, path.relative(realRoot, path.join(realPath, ...missing))];
    if (names.some(hasProtectedName) || (await isInProtectedFolder(realRoot, realPath))) {
      throw new FileError(
        `${displayPath} is protected: the files of Git and jp (.git, .jp, .jp.*) cannot be read ` +
          "or changed.",
      );
    }
    const isLink = await isSymbolicLink(absolute);
    return { displayPath, root: realRoot, realPath, missing, isLink };
  } catch (error) {
    throw toFileError("use", displayPath, error);
  }
}

/** Like `resolvePath`, for a file to write or delete. */
export async function resolveTarget(root: string, requested: string): Promise<FileTarget> {
  const resolved = await resolvePath(root, requested);
  if (/[/\\]$/.test(requested)) {
    throw new FileError(`${resolved.displayPath}/ names a folder, not a file.`);
  }
  return toTarget(resolved);
}

export function toTarget(resolved: ResolvedPath): FileTarget {
  const { displayPath, root, realPath, missing, isLink } = resolved;
  const file = formatPath(path.relative(root, path.join(realPath, ...missing)));
  // You approve a change to a file, not to the name of a link.
  const questionPath =
    file === displayPath ? file : `${quotePath(displayPath)} (a link to ${quotePath(file)})`;
  const common = { displayPath, questionPath, realDisplayPath: file, isLink };
  const name = missing.at(-1);
  if (name !== undefined) {
    return { ...common, folder: realPath, newFolders: missing.slice(0, -1), name };
  }
  if (realPath === root) throw new FileError(`${displayPath} is a folder, not a file.`);
  const folder = path.dirname(realPath);
  return { ...common, folder, newFolders: [], name: path.basename(realPath) };
}

/**
 * A path on one line, for messages and questions. Quotes names with line breaks, so that they cannot forge a line, names
 * that are not UTF-8, whose bytes are escaped, and names that start like a quoted one: no two paths look the same.
 */
export function formatPath(relative: string): string {
  const text = toPosix(relative);
  if (!/^"|[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text)) return text;
  // JSON escapes the half pair that stands for a byte.
  return JSON.stringify(text).replaceAll(
    /\\(?:udc([89a-f][\da-f])|.)/g,
    (escape: string, byte?: string) => (byte === undefined ? escape : `\\x${byte}`),
  );
}

function quotePath(formatted: string): string {
  return formatted.startsWith('"') ? formatted : JSON.stringify(formatted);
}

/** Converts to forward slashes. */
export function toPosix(relative: string): string {
  if (relative === "") return ".";
  return path.sep === "/" ? relative : relative.split(path.sep).join("/");
}

/** Resolves `..` before symbolic links, so that the checked path is the one that is used. */
function toRelative(roots: readonly string[], requested: string): string {
  for (const root of roots) {
    const absolute = path.resolve(root, requested);
    if (isInside(root, absolute)) return path.relative(root, absolute);
  }
  throw new FileError(
    `${formatPath(requested)} is outside the workspace. Use a path relative to the workspace root.`,
  );
}

/**
 * The path of a file in a folder, with forward slashes. Undefined if it is outside. Both must be free of symbolic links.
 */
export function findRelative(folder: string, file: string): string | undefined {
  return isInside(folder, file) ? toPosix(path.relative(folder, file)) : undefined;
}

function isInside(root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

async function findRealPath(
  absolute: string,
  displayPath: string,
): Promise<Pick<ResolvedPath, "realPath" | "missing">> {
  const missing: string[] = [];
  for (let existing = absolute; ; existing = path.dirname(existing)) {
    try {
      return { realPath: await realpath(existing), missing };
    } catch (error) {
      const code = systemErrorCode(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
      if (await isSymbolicLink(existing)) {
        throw new FileError(
          `${displayPath} leads through a symbolic link whose target is missing.`,
        );
      }
      missing.unshift(path.basename(existing));
    }
  }
}

async function isSymbolicLink(file: string): Promise<boolean> {
  return lstat(file).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
}

function hasProtectedName(relative: string): boolean {
  return relative.split(/[/\\]/).some(isProtectedName);
}

/**
 * Git's and jp's files hold credentials and other conversations, and decide what runs later. File systems may ignore
 * case, trailing dots, streams (`:`) and zero-width characters.
 */
export function isProtectedName(name: string): boolean {
  const plain = name
    .replaceAll(/\p{Cf}/gu, "")
    .replace(/:.*$/s, "")
    .replace(/[. ]+$/, "")
    .toLowerCase();
  return plain === ".git" || plain === ".jp" || plain.startsWith(".jp.");
}

/** Also covers `.git` and `.jp` that are links, and a `.git` file that names another folder. */
async function isInProtectedFolder(root: string, realPath: string): Promise<boolean> {
  const names = path.relative(root, realPath).split(path.sep).filter(Boolean);
  const folders = [
    root,
    ...names.map((_name, index) => path.join(root, ...names.slice(0, index + 1))),
  ];
  const targets = await findProtectedFolders(root);
  if (folders.some((folder) => targets.has(folder))) return true;
  for (const folder of folders) if (await isGitFolder(folder)) return true;
  return false;
}

/** The real paths of the root's `.git` and `.jp`. */
export async function findProtectedFolders(root: string): Promise<ReadonlySet<string>> {
  const targets = [".git", ".jp"].map((name) => realpath(path.join(root, name)).catch(() => root));
  const found = new Set(await Promise.all(targets));
  found.delete(root); // A link to the root itself would protect the whole workspace.
  return found;
}

const GIT_NAMES = ["HEAD", "commondir", "objects", "refs"];

/** Recognizes a Git directory by its entries: a `.git` file can give it any name. */
export function hasGitNames(names: readonly string[]): boolean {
  const [head, common, objects, refs] = GIT_NAMES.map((name) =>
    names.some((other) => other.toLowerCase() === name.toLowerCase()),
  );
  return head === true && (common === true || (objects === true && refs === true));
}

async function isGitFolder(folder: string): Promise<boolean> {
  const exists = (name: string) =>
    stat(path.join(folder, name)).then(
      () => true,
      () => false,
    );
  const found = await Promise.all(GIT_NAMES.map(exists));
  return hasGitNames(GIT_NAMES.filter((_name, index) => found[index]));
}
