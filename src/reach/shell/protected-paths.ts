/**
 * Protects files of a workspace from commands: jp's, and those of Git that make it run programs. Some of them may not
 * exist yet, and most of Git's are in repositories: see there.
 */
import { readdirSync, realpathSync, rmSync } from "node:fs";
import path from "node:path";
import { isProtectedName } from "../files/index.ts";
import { messageOf } from "../../util/index.ts";
import { Cover, type CoverPlan, findStats, LinkError, type Mount } from "./cover.ts";
import { findRepositories, gitFileOf, isRepository, type Repository } from "./repositories.ts";
import { isInside, realPath, type SandboxPlace, type SandboxProblem } from "./sandbox-place.ts";
import { standIn } from "./stand-ins.ts";

export interface ProtectedPaths {
  /** Outer ones first. */
  readonly mounts: readonly Mount[];
  /** Outside the workspace: the repository of a linked worktree. */
  readonly readable: readonly string[];
  /**
   * Call it once, when the command has ended: removes the stand-ins, and anything the command created under a protected
   * name. Returns the names of the latter.
   */
  readonly release: () => readonly string[];
}

export interface Protection extends CoverPlan {
  readonly readable: readonly string[];
  /** Cannot be reserved. Anything created there is removed when the command has ended. */
  readonly watched: readonly string[];
  /** The folder of the workspace's own repository. */
  readonly own: string | undefined;
  /** The tops of all repositories. */
  readonly folders: readonly string[];
}

export interface ProtectOptions {
  /** Whether a command may write to repositories, except for what makes Git run programs. */
  readonly git: boolean;
}

/** Changes nothing. */
export async function planProtection(
  place: SandboxPlace,
  options: ProtectOptions,
): Promise<Protection | SandboxProblem> {
  const { root } = place;
  try {
    const names = protectedNames(root);
    const repositories = await findRepositories(place);
    const cover = new Cover(root);
    for (const name of names) {
      if (name !== ".git") cover.readOnly(path.join(root, name), "folder");
    }
    for (const repository of repositories) coverRepository(cover, repository, root, options);
    const own = repositories.find(({ folder }) => folder === root)?.own;
    if (own === undefined) {
      cover.readOnly(path.join(root, ".git"), "folder");
      coverBareNames(cover, root);
    }
    return {
      ...cover.plan(),
      readable: repositories.flatMap((repository) => findSharedFolder(repository, root) ?? []),
      watched: options.git ? repositories.flatMap(unreservedNames) : [],
      own,
      folders: repositories.map(({ folder }) => folder),
    };
  } catch (error) {
    return error instanceof LinkError
      ? { reason: "protected_link", detail: path.relative(root, error.link) }
      : { reason: "git_config", detail: messageOf(error) };
  }
}

/** Call it right after planning, and start the command right away. Throws if the workspace cannot be written. */
export function protectPaths(
  root: string,
  { mounts, readable, standIns, watched, own }: Protection,
): ProtectedPaths {
  // If its own repository loses its HEAD, Git may take the workspace itself for one.
  const bareHead = path.join(root, "HEAD");
  const isLost = () => own !== undefined && own !== root && !isRepository(own);
  const listed = () => {
    const names = protectedNames(root).filter((name) => name !== ".git" && name !== ".jp");
    const others = [...watched, bareHead].filter((file) => findStats(file) !== undefined);
    return [...names.map((name) => path.join(root, name)), ...others];
  };
  const before = new Set(listed());
  const guards = standIns.flatMap((missing) => standIn(missing) ?? []);
  return {
    mounts,
    readable,
    release: () => {
      for (const guard of guards) guard[Symbol.dispose]();
      const added = listed().filter((file) => !before.has(file) && (file !== bareHead || isLost()));
      for (const file of added) rmSync(file, { recursive: true, force: true });
      return added.map((file) => path.relative(root, file));
    },
  };
}

/** `.jp`, and the other names of jp and Git that exist. `.git` is in a repository, or stands for one that is missing. */
function protectedNames(root: string): readonly string[] {
  return [...new Set([".jp", ".git", ...readdirSync(root).filter(isProtectedName)])];
}

/** In a repository: what Git reads as config, runs, or follows to other folders with config. */
const GIT_NAMES = ["config", "config.worktree", "commondir", "gitdir", "modules", "worktrees"];
const ATTRIBUTES = path.join("info", "attributes");
/** What a commit changes in the folder that linked worktrees share. */
const SHARED_NAMES = ["objects", "refs", "logs"];

function coverRepository(
  cover: Cover,
  repository: Repository,
  root: string,
  { git }: ProtectOptions,
): void {
  const { folder, own, common, configured } = repository;
  cover.readOnly(path.join(folder, ".git"), "folder");
  const folders = own === undefined || common === undefined ? [] : [...new Set([own, common])];
  for (const each of folders) {
    const isWithin = isInside(root, each);
    if (isWithin && !git && each !== root) cover.readOnly(each, "folder");
    else if (isWithin) coverGitFolder(cover, each);
  }
  if (git && own !== undefined && findSharedFolder(repository, root) !== undefined) {
    for (const name of SHARED_NAMES) cover.writable(path.join(common ?? own, name));
    coverGitFolder(cover, own);
  }
  for (const file of configured.files.flatMap(withTarget)) cover.readOnly(file, "file");
  const hooks = [...configured.hooks, ...folders.map((each) => path.join(each, "hooks"))];
  for (const each of hooks.flatMap(withTarget)) coverHooks(cover, each, [...folders, root]);
}

/** `within`: folders that cannot be covered whole. */
function coverHooks(cover: Cover, hooks: string, within: readonly string[]): void {
  const base = within.find((folder) => isInside(folder, hooks));
  if (base === undefined) return;
  if (base === hooks) throw new Error(`core.hooksPath is ${hooks}, which commands change.`);
  const [first = ""] = path.relative(base, hooks).split(path.sep);
  cover.readOnly(path.join(base, first), "folder");
  for (const name of namesIn(hooks)) {
    const [, target] = withTarget(path.join(hooks, name));
    if (target !== undefined) cover.readOnly(target, "file");
  }
}

/** Lets a command change a repository, except for what makes Git run programs. */
function coverGitFolder(cover: Cover, own: string): void {
  cover.writable(own);
  cover.writable(path.join(own, "info"));
  for (const name of [...GIT_NAMES, ATTRIBUTES]) {
    const file = path.join(own, name);
    if (findStats(file) !== undefined) cover.readOnly(file, "file");
  }
}

/** Git would fail if empty files stood in for these. */
function unreservedNames({ own, common = own }: Repository): readonly string[] {
  if (own === undefined || common === undefined) return [];
  const names = ["config", "config.worktree", "commondir", ATTRIBUTES];
  return [...new Set([own, common])].flatMap((each) => names.map((name) => path.join(each, name)));
}

/**
 * Without a repository in `.git`, Git takes the workspace itself for one if it has these three: so one of them is
 * reserved. `HEAD` is the last choice, because `git diff HEAD` fails beside a file of that name.
 */
function coverBareNames(cover: Cover, root: string): void {
  const names = ["refs", "objects", "HEAD"].map((name) => path.join(root, name));
  const free =
    names.find((file) => findStats(file) === undefined) ??
    names.find((file) => findStats(file)?.isDirectory() !== true);
  if (free !== undefined) cover.readOnly(free, "file");
}

/**
 * A worktree's `.git` is a file that names a folder elsewhere. It counts only if that folder names this worktree in turn:
 * a file in a clone could name any folder.
 */
function findSharedFolder({ folder, own, common }: Repository, root: string): string | undefined {
  if (folder !== root || own === undefined || common === undefined) return undefined;
  if (own === common || isInside(root, common)) return undefined;
  const isOurs = gitFileOf(own) === path.join(folder, ".git");
  return isOurs && path.dirname(path.dirname(own)) === common ? realPath(common) : undefined;
}

/** With where it leads to through links, if that differs. */
function withTarget(file: string): readonly string[] {
  const missing: string[] = [];
  for (let at = file; at !== path.dirname(at); at = path.dirname(at)) {
    const real = findRealPath(at);
    if (real !== undefined) return [...new Set([file, path.join(real, ...missing)])];
    missing.unshift(path.basename(at));
  }
  return [file];
}

function findRealPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
