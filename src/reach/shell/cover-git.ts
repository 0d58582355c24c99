/** Covers a workspace's repositories: what Git reads as config, what it runs, and what leads it to other folders with config. */
import { readdirSync, readlinkSync } from "node:fs";
import path from "node:path";
import { type Cover, findStats, isFree } from "./cover.ts";
import { gitFileOf, type Repository } from "./repositories.ts";
import { isInside, realPath } from "./sandbox-place.ts";

export interface CoverOptions {
  /** Whether a command may write to repositories, except for what makes Git run programs. */
  readonly git: boolean;
}

const GIT_NAMES = ["config", "config.worktree", "commondir", "gitdir", "modules", "worktrees"];
const ATTRIBUTES = path.join("info", "attributes");
/** What a commit changes in the folder that linked worktrees share. */
const SHARED_NAMES = ["objects", "refs", "logs"];

export function coverRepository(cover: Cover, repository: Repository, { git }: CoverOptions): void {
  const { root } = cover;
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
export function unreservedNames({ own, common = own }: Repository): readonly string[] {
  if (own === undefined || common === undefined) return [];
  const names = ["config", "config.worktree", "commondir", ATTRIBUTES];
  return [...new Set([own, common])].flatMap((each) => names.map((name) => path.join(each, name)));
}

/**
 * Without a repository in `.git`, Git takes the workspace itself for one if it has `HEAD`, and `objects` and `refs` there or
 * in the folder that `commondir` names. So `commondir` is reserved, and one of these two. `HEAD` is the last choice, because
 * `git diff HEAD` fails beside a file of that name.
 */
export function coverBareNames(cover: Cover): void {
  const at = (name: string) => path.join(cover.root, name);
  const folders = [at("refs"), at("objects")];
  const reserved =
    folders.find(isFree) ?? folders.find((file) => findStats(file)?.isDirectory() !== true);
  if (reserved !== undefined && isFree(at("commondir"))) {
    cover.readOnly(reserved, "file");
    cover.readOnly(at("commondir"), "file");
  } else if (isFree(at("HEAD"))) {
    cover.readOnly(at("HEAD"), "file");
  } else {
    throw new Error("The workspace has files of a repository, and is none.");
  }
}

/**
 * A worktree's `.git` is a file that names a folder elsewhere. It counts only if that folder names this worktree in turn:
 * a file in a clone could name any folder.
 */
export function findSharedFolder(
  { folder, own, common }: Repository,
  root: string,
): string | undefined {
  if (folder !== root || own === undefined || common === undefined) return undefined;
  if (own === common || isInside(root, common)) return undefined;
  const isOurs = gitFileOf(own) === path.join(folder, ".git");
  return isOurs && path.dirname(path.dirname(own)) === common ? realPath(common) : undefined;
}

/** With where it leads to through links, even if nothing is there, if that differs. */
function withTarget(file: string): readonly string[] {
  return [...new Set([file, targetOf(file)])];
}

const MAX_LINKS = 16;

function targetOf(file: string, links = 0): string {
  const missing: string[] = [];
  for (let at = file; at !== path.dirname(at); at = path.dirname(at)) {
    const stats = findStats(at);
    if (stats?.isSymbolicLink() === true && links < MAX_LINKS) {
      const target = path.resolve(path.dirname(at), readlinkSync(at));
      return targetOf(path.join(target, ...missing), links + 1);
    }
    if (stats !== undefined) return path.join(realPath(at), ...missing);
    missing.unshift(path.basename(at));
  }
  return file;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
