/**
 * The repositories of a workspace in which the user's Git runs programs by itself: its own, those of the submodules that
 * the index names, even if they are not checked out, and its linked worktrees.
 */
import { existsSync, lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { decodeFileName } from "../files/index.ts";
import { findGit, type Git, readGitFile, runGitForBytes } from "../process/index.ts";
import { type ConfiguredPaths, findConfiguredPaths, withUserConfig } from "./git-config.ts";
import { isInside, type SandboxPlace } from "./sandbox-place.ts";

export interface Repository {
  /** The top of its work tree. */
  readonly folder: string;
  /** The folder with its own files. Undefined if a submodule is not checked out. */
  readonly own?: string;
  /** The folder that it shares with other worktrees; `own` if there are none. */
  readonly common?: string;
  readonly configured: ConfiguredPaths;
}

/** Rejects if Git cannot read its config or an index. */
export async function findRepositories(place: SandboxPlace): Promise<readonly Repository[]> {
  const git = gitFor(place);
  const top = findTop(place.root) ?? { folder: place.root };
  const found = new Map<string, Repository>();
  const add = async ({ folder, own }: Pick<Repository, "folder" | "own">): Promise<void> => {
    if (found.has(folder)) return;
    const common = own === undefined ? undefined : commonOf(own);
    const isTop = folder === top.folder;
    const repository = {
      folder,
      ...(own !== undefined && common !== undefined && { own, common }),
      configured: NOTHING,
    };
    found.set(folder, repository);
    // A submodule that is not checked out has no config.
    if (git !== undefined && (isTop || own !== undefined)) {
      const configured = await findConfiguredPaths({ ...git, folder });
      found.set(folder, { ...repository, configured });
    }
    if (git === undefined || own === undefined || common === undefined) return;
    const submodules = await listSubmodules({ ...git, folder: isTop ? place.root : folder });
    const inner = [...submodules.map(toSubmodule), ...linkedWorktrees(common)];
    await Promise.all(inner.filter((each) => isInside(place.root, each.folder)).map(add));
  };
  await add(top);
  return [...found.values()];
}

const NOTHING: ConfiguredPaths = { files: [], hooks: [] };

/** The work trees of submodules that Git's index names in the workspace. Rejects if the index cannot be read. */
export async function findSubmodules(place: SandboxPlace): Promise<readonly string[]> {
  const git = gitFor(place);
  const isInRepository = findTop(place.root)?.own !== undefined;
  return git === undefined || !isInRepository ? [] : listSubmodules({ ...git, folder: place.root });
}

function gitFor({ root, variables }: SandboxPlace): Omit<Git, "folder"> | undefined {
  const git = findGit({ root, variables });
  if (git === undefined) return undefined;
  const { signal } = new AbortController();
  const environment = withUserConfig(git, variables);
  return { ...git, environment, signal, maxOutputBytes: MAX_LIST_BYTES };
}

const MAX_LIST_BYTES = 256 * 1024 * 1024;
const SUBMODULE = /^160000 /;

async function listSubmodules(git: Git): Promise<readonly string[]> {
  const list = await runGitForBytes(git, ["-c", "safe.directory=*", "ls-files", "--stage", "-z"]);
  const rows = decodeFileName(list).split("\0");
  const names = rows.filter((row) => SUBMODULE.test(row)).map((row) => row.split("\t")[1] ?? "");
  if (names.some((name) => !name.isWellFormed())) {
    throw new Error("A submodule has a name that is not UTF-8.");
  }
  return [...new Set(names)].map((name) => path.join(git.folder, name));
}

function toSubmodule(folder: string): Pick<Repository, "folder" | "own"> {
  const own = ownFolder(folder);
  return { folder, ...(own !== undefined && { own }) };
}

/** The folder that has `.git`: this one, or a parent of it. */
function findTop(folder: string): Pick<Repository, "folder" | "own"> | undefined {
  const own = ownFolder(folder) ?? (isRepository(folder) ? folder : undefined);
  if (own !== undefined) return { folder, own };
  const parent = path.dirname(folder);
  return parent === folder ? undefined : findTop(parent);
}

/** The folder that `.git` is, or names. Undefined if there is no repository. */
function ownFolder(folder: string): string | undefined {
  const git = path.join(folder, ".git");
  const named = readLine(git, /^gitdir: (.+)$/);
  const own = named === undefined ? git : path.resolve(folder, named);
  return isRepository(own) ? own : undefined;
}

function commonOf(own: string): string {
  const named = readLine(path.join(own, "commondir"), /^(.+)$/);
  return named === undefined ? own : path.resolve(own, named);
}

/** By the names that Git looks for. */
export function isRepository(own: string): boolean {
  const common = commonOf(own);
  return (
    existsLink(path.join(own, "HEAD")) &&
    ["objects", "refs"].every((name) => existsSync(path.join(common, name)))
  );
}

function existsLink(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // A parent is not a folder.
  }
}

/** Those that exist. */
function linkedWorktrees(common: string): readonly Pick<Repository, "folder" | "own">[] {
  const folder = path.join(common, "worktrees");
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const own = path.join(folder, name);
    const git = gitFileOf(own);
    return git !== undefined && existsSync(git) ? [{ folder: path.dirname(git), own }] : [];
  });
}

/** The `.git` file that belongs to a linked worktree's own folder. */
export function gitFileOf(own: string): string | undefined {
  const named = readLine(path.join(own, "gitdir"), /^(.+)$/);
  return named === undefined ? undefined : path.resolve(own, named);
}

function readLine(file: string, pattern: RegExp): string | undefined {
  try {
    return pattern.exec(readGitFile(file).trimEnd())?.[1];
  } catch {
    return undefined;
  }
}
