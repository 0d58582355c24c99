/**
 * Protects files of a workspace from commands: jp's, and those of Git that make it run programs. Some of them may not
 * exist yet. A sandbox can only protect existing paths, so empty folders stand in for them while a command runs.
 */
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  type Stats,
} from "node:fs";
import path from "node:path";
import { isProtectedName } from "../files/index.ts";
import { guardFolder } from "../process/index.ts";

export interface ProtectedPaths {
  /** Mounted on themselves, so that a command cannot rename them. Their contents may change. */
  readonly pinned: readonly string[];
  readonly readOnly: readonly string[];
  /** Outside the workspace: the repository of a linked worktree. */
  readonly readable: readonly string[];
  /**
   * Call it once, when the command has ended: removes the stand-ins, and anything the command created under a protected
   * name. Returns the names of the latter.
   */
  readonly release: () => readonly string[];
}

/** Whether one of them is a link, which a command could replace. */
export function hasProtectedLink(root: string): boolean {
  return protectedIn(root).some((file) => findStats(file)?.isSymbolicLink() === true);
}

function protectedIn(root: string): readonly string[] {
  const names = readdirSync(root).filter(isProtectedName);
  return [...new Set([".git", ".jp", ...names])].map((name) => path.join(root, name));
}

export function protectPaths(root: string): ProtectedPaths {
  const [git, jp] = [path.join(root, ".git"), path.join(root, ".jp")];
  const repository = findStats(path.join(git, "HEAD")) === undefined ? undefined : git;
  const removeAdded = watchNames(root, repository);
  const folders = [jp, repository === undefined ? git : path.join(git, "hooks")];
  const standIns = folders.flatMap((folder) => standIn(folder) ?? []);
  const own = repository === undefined ? [] : gitPaths(repository, root);
  const files = [...protectedIn(root).filter((file) => file !== repository), ...own];
  return {
    pinned: repository === undefined ? [] : [repository],
    readOnly: files.filter((file) => findStats(file) !== undefined),
    readable: findCommonFolder(git, root),
    release: () => {
      for (const folder of standIns) folder[Symbol.dispose]();
      return removeAdded();
    },
  };
}

/** Paths that Git reads as config, runs, or follows to other folders with config. */
const GIT_NAMES = ["config", "config.worktree", "commondir", "hooks", "modules", "worktrees"];

function gitPaths(git: string, root: string): readonly string[] {
  const hooks = findHooksFolder(git, root);
  return [
    ...GIT_NAMES.map((name) => path.join(git, name)),
    ...(hooks === undefined ? [] : [hooks]),
  ];
}

/** Set if the config puts the hooks in a folder of the workspace. */
function findHooksFolder(git: string, root: string): string | undefined {
  const config = readText(path.join(git, "config"));
  const value = /^[ \t]*hookspath[ \t]*=[ \t]*"?([^"\r\n#;]+)/im.exec(config)?.[1]?.trim();
  if (value === undefined) return undefined;
  const folder = path.resolve(root, value);
  return folder.startsWith(`${root}${path.sep}`) && isFolder(folder) ? folder : undefined;
}

/**
 * A worktree's `.git` is a file that names a folder elsewhere. It counts only if that folder names this worktree in turn:
 * a file in a clone could name any folder.
 */
function findCommonFolder(git: string, root: string): readonly string[] {
  const named = /^gitdir: (.+)$/m.exec(isFile(git) ? readText(git) : "")?.[1];
  if (named === undefined) return [];
  const folder = path.resolve(root, named);
  const common = path.resolve(folder, readText(path.join(folder, "commondir")).trim());
  const isOurs = path.resolve(readText(path.join(folder, "gitdir")).trim()) === git;
  return isOurs && path.dirname(path.dirname(folder)) === common && isFolder(common)
    ? [realpathSync(common)]
    : [];
}

interface StandIn {
  readonly guard: Disposable;
  /** The number of running commands that need it: the last one removes it. */
  users: number;
}

const standIns = new Map<string, StandIn>();

/** Undefined if the folder exists. */
function standIn(folder: string): Disposable | undefined {
  const entry = standIns.get(folder) ?? makeStandIn(folder);
  if (entry === undefined) return undefined;
  entry.users += 1;
  return {
    [Symbol.dispose]: () => {
      entry.users -= 1;
      if (entry.users > 0) return;
      standIns.delete(folder);
      entry.guard[Symbol.dispose]();
    },
  };
}

function makeStandIn(folder: string): StandIn | undefined {
  if (findStats(folder) !== undefined) return undefined;
  const entry = { guard: guardFolder(folder), users: 0 };
  mkdirSync(folder, { mode: 0o700 });
  standIns.set(folder, entry);
  return entry;
}

/** Other protected names cannot be reserved. Anything created there is removed when the command has ended. */
function watchNames(root: string, git: string | undefined): () => readonly string[] {
  const list = () => [
    ...readdirSync(root)
      .filter((name) => isProtectedName(name) && name !== ".git" && name !== ".jp")
      .map((name) => path.join(root, name)),
    ...(git === undefined
      ? []
      : ["commondir", "config.worktree"].map((name) => path.join(git, name))),
  ];
  const before = new Set(list().filter((file) => findStats(file) !== undefined));
  return () => {
    const added = list().filter((file) => !before.has(file) && findStats(file) !== undefined);
    for (const file of added) rmSync(file, { recursive: true, force: true });
    return added.map((file) => path.relative(root, file));
  };
}

/** Also undefined if the parent is not a folder, or cannot be read. */
function findStats(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch {
    return undefined;
  }
}

function isFile(file: string): boolean {
  return findStats(file)?.isFile() === true;
}

function isFolder(file: string): boolean {
  return findStats(file)?.isDirectory() === true;
}

/** Empty if it cannot be read. */
function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
