/**
 * Where a path that a model wrote really is, and that this is inside the root. Opening what is there,
 * safe from a change after this check, is `folder.ts`.
 */
import { lstat, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { explainFailure, Refusal, systemCode } from "./file-error.ts";

export interface Place {
  /** As errors and results name it: relative to the root, on one line. */
  readonly shown: string;
  /** The root without symbolic links. */
  readonly root: string;
  /** The part that exists, without symbolic links. */
  readonly real: string;
  /** What is not there, below it. */
  readonly missing: readonly string[];
  /** The last name of the path is a symbolic link, to something inside the root. */
  readonly isLink: boolean;
}

/** A name in a folder; the folder may have to be made first. */
export interface Target {
  readonly shown: string;
  /** As questions name it: also where it really is, if a symbolic link leads there. */
  readonly asked: string;
  /** Exists, without symbolic links. */
  readonly folder: string;
  readonly newFolders: readonly string[];
  readonly name: string;
  /** The path named a symbolic link to this. */
  readonly isLink: boolean;
}

/** Throws a refusal for everything that is, or leads, outside the root, or is protected. */
export async function findPlace(root: string, requested: string): Promise<Place> {
  if (requested === "") throw new Refusal("The path is empty. Name a file relative to the root.");
  if (requested.includes("\0")) throw new Refusal("The path contains a NUL character.");
  const realRoot = await realpath(root);
  const relative = toRelative([path.resolve(root), realRoot], requested);
  const shown = showPath(relative);
  try {
    const absolute = path.join(realRoot, relative);
    const { real, missing } = await findReal(absolute, shown);
    if (!isInside(realRoot, real)) {
      throw new Refusal(
        `${shown} leads outside the workspace through a symbolic link. Only files inside it can be used.`,
      );
    }
    const names = [relative, path.relative(realRoot, path.join(real, ...missing))];
    if (names.some(hasProtectedName) || (await isInProtectedFolder(realRoot, real))) {
      throw protectedPath(shown);
    }
    return { shown, root: realRoot, real, missing, isLink: await isSymbolicLink(absolute) };
  } catch (error) {
    throw explainFailure("use", shown, error);
  }
}

/** The same for a file that will be written or deleted. */
export async function findWritableTarget(root: string, requested: string): Promise<Target> {
  const place = await findPlace(root, requested);
  if (/[/\\]$/.test(requested)) throw new Refusal(`${place.shown}/ names a folder, not a file.`);
  return toTarget(place);
}

export function toTarget(place: Place): Target {
  const { shown, root, real, missing, isLink } = place;
  const name = missing.at(-1);
  const named = { shown, asked: askedPath(place), isLink };
  if (name !== undefined) return { ...named, folder: real, newFolders: missing.slice(0, -1), name };
  if (real === root) throw new Refusal(`${shown} is a folder, not a file.`);
  return { ...named, folder: path.dirname(real), newFolders: [], name: path.basename(real) };
}

/** A yes is for the file that changes, not for the name of a link to it. */
function askedPath({ shown, root, real, missing }: Place): string {
  const file = showPath(path.relative(root, path.join(real, ...missing)));
  return file === shown ? shown : `${shown} (a link to ${file})`;
}

/** Relative to the root, with forward slashes. A name with line breaks cannot forge a line. */
export function showPath(relative: string): string {
  const shown = relative === "" ? "." : relative.split(path.sep).join("/");
  return /[\p{Cc}\u2028\u2029]/u.test(shown) ? JSON.stringify(shown) : shown;
}

/** `..` is resolved before symbolic links are, so that what is checked is what is used. */
function toRelative(roots: readonly string[], requested: string): string {
  for (const root of roots) {
    const absolute = path.resolve(root, requested);
    if (isInside(root, absolute)) return path.relative(root, absolute);
  }
  throw new Refusal(
    `${showPath(requested)} is outside the workspace. Use a path inside it, relative to its root.`,
  );
}

function isInside(root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

async function findReal(absolute: string, shown: string): Promise<Pick<Place, "real" | "missing">> {
  const missing: string[] = [];
  for (let existing = absolute; ; existing = path.dirname(existing)) {
    try {
      return { real: await realpath(existing), missing };
    } catch (error) {
      const code = systemCode(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
      if (await isSymbolicLink(existing)) {
        throw new Refusal(`${shown} leads through a symbolic link to something that is not there.`);
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

/** Any name on the way counts, as file systems see it that ignore case and other things. */
function hasProtectedName(relative: string): boolean {
  return relative.split(/[/\\]/).some(isProtectedName);
}

/** Without a difference of case, trailing dots, streams (`:`), and characters that have no width. */
export function isProtectedName(name: string): boolean {
  const plain = name
    .replaceAll(/\p{Cf}/gu, "")
    .replace(/:.*$/s, "")
    .replace(/[. ]+$/, "")
    .toLowerCase();
  return plain === ".git" || plain === ".jp" || plain.startsWith(".jp.");
}

/** Inside of where `.git` and `.jp` lead, or of what git would take for a repository's own folder. */
async function isInProtectedFolder(root: string, real: string): Promise<boolean> {
  const folders = foldersTo(root, real);
  const targets = await protectedFolders(root);
  if (folders.some((folder) => targets.has(folder))) return true;
  for (const folder of folders) if (await isGitFolder(folder)) return true;
  return false;
}

/** Where `.git` and `.jp` at the root really are. */
export async function protectedFolders(root: string): Promise<ReadonlySet<string>> {
  const targets = [".git", ".jp"].map((name) => realpath(path.join(root, name)).catch(() => root));
  const found = new Set(await Promise.all(targets));
  found.delete(root); // Else there would be nothing left to work with.
  return found;
}

const GIT_NAMES = ["HEAD", "commondir", "objects", "refs"];

/** A `.git` that is a file names any folder as the repository's: it is told by the names in it. */
export function hasGitNames(names: readonly string[]): boolean {
  const [head, common, objects, refs] = GIT_NAMES.map((name) =>
    names.some((other) => other.toLowerCase() === name.toLowerCase()),
  );
  return head === true && (common === true || (objects === true && refs === true));
}

function protectedPath(shown: string): Refusal {
  return new Refusal(
    `${shown} is protected: the version control's and the assistant's own files (.git, .jp, .jp.*) ` +
      "can be neither read nor changed.",
  );
}

async function isGitFolder(folder: string): Promise<boolean> {
  const found = await Promise.all(GIT_NAMES.map((name) => exists(path.join(folder, name))));
  return hasGitNames(GIT_NAMES.filter((_name, index) => found[index]));
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

/** From the root down to the place, both included. */
function foldersTo(root: string, real: string): readonly string[] {
  const names = path.relative(root, real).split(path.sep).filter(Boolean);
  return [root, ...names.map((_name, index) => path.join(root, ...names.slice(0, index + 1)))];
}
