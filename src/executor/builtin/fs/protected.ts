/**
 * What the file tools neither read, list nor change: the files of version control and of the assistant.
 * They hold credentials and other conversations, and decide what is run later. A name tells most of
 * them; what it cannot tell is a folder that `.git` or `.jp` only leads to.
 */
import { realpath, stat } from "node:fs/promises";
import path from "node:path";
import { Refusal } from "./refusal.ts";

/** Any name on the way counts, as file systems see it that ignore case and other things. */
export function hasProtectedName(relative: string): boolean {
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
export async function isInProtectedFolder(root: string, real: string): Promise<boolean> {
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

export function protectedPath(shown: string): Refusal {
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
