/** The Git repositories that a command has made in a workspace: Git there runs what their config names. */
import { lstat, readdir } from "node:fs/promises";
import path from "node:path";

/** More folders than this are not searched: then some repositories may be missing. */
const MAX_FOLDERS = 10_000;
/** Packages are many, and are installed without their repositories. */
const SKIPPED = new Set([".git", "node_modules"]);
/** The clock of a file system may be behind by this. */
const CLOCK_STEP_MS = 10;

/** Their folders below the workspace, made since then. */
export async function findNewRepositories(
  root: string,
  sinceMs: number,
): Promise<readonly string[]> {
  const found: string[] = [];
  let folders = [root];
  for (let count = 0; folders.length > 0 && count < MAX_FOLDERS;) {
    const searched = folders.slice(0, MAX_FOLDERS - count);
    count += searched.length;
    const below = await Promise.all(
      searched.map(async (folder) => {
        const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
        const names = new Set(entries.map(({ name }) => name));
        const isBare = ["HEAD", "objects", "refs"].every((name) => names.has(name));
        const mark = names.has(".git") ? ".git" : isBare ? "objects" : undefined;
        const isNew = mark !== undefined && (await isMadeSince(path.join(folder, mark), sinceMs));
        if (isNew && folder !== root) found.push(folder);
        return entries
          .filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name))
          .map((entry) => path.join(folder, entry.name));
      }),
    );
    folders = below.flat();
  }
  return found.toSorted();
}

/** By the change time, where the file system does not record the birth. */
async function isMadeSince(file: string, sinceMs: number): Promise<boolean> {
  const stats = await lstat(file).catch(() => undefined);
  if (stats === undefined) return false;
  const { birthtimeMs, ctimeMs } = stats;
  return (birthtimeMs > 0 ? birthtimeMs : ctimeMs) >= sinceMs - CLOCK_STEP_MS;
}
