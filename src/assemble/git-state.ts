/**
 * A repository's state: its branch from git's files, the rest by running git. The repository may have come from
 * anywhere, so nothing named in its own config may run: no hooks, file system monitor, filters, fetches or pager.
 */
import path from "node:path";
import { findGit, findGitFolder, type Git, readGitFile, runGit } from "../reach/process/index.ts";

/** Where and with which environment to run git. */
export interface GitQuery {
  readonly folder: string;
  /** The workspace. Default: the folder. */
  readonly root?: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Stops git. */
  readonly signal?: AbortSignal;
}

export interface Checkout {
  /** Undefined if no branch is checked out. */
  readonly branch?: string;
}

/** The state of a repository. */
export interface GitState extends Checkout {
  readonly upstream?: string;
  readonly ahead: number;
  readonly behind: number;
  /** Files that differ from the last commit. */
  readonly changed: number;
  readonly untracked: number;
}

/** If git takes longer, the model does without it. */
const TIMEOUT_MS = 1500;
/** Git writes this branch to `HEAD` if it keeps its branches in tables. */
const ELSEWHERE = ".invalid";

/** Runs nothing. Undefined outside a repository, or if its files do not show the branch. */
export function findCheckout(folder: string): Checkout | undefined {
  try {
    const gitFolder = findGitFolder(path.resolve(folder));
    if (gitFolder === undefined) return undefined;
    const head = readGitFile(path.join(gitFolder, "HEAD")).trim();
    if (/^[0-9a-f]{40,64}$/.test(head)) return {};
    const [, branch] = /^ref: refs\/heads\/(.+)$/.exec(head) ?? [];
    return branch === undefined || branch === ELSEWHERE ? undefined : { branch };
  } catch {
    return undefined;
  }
}

/** Undefined outside a repository, without git, or if git fails or takes too long. */
export async function findGitState(query: GitQuery): Promise<GitState | undefined> {
  const { folder, root = folder, variables } = query;
  const found = findGit({ root, variables });
  if (found === undefined) return undefined;
  const late = AbortSignal.timeout(TIMEOUT_MS);
  const signal = query.signal === undefined ? late : AbortSignal.any([late, query.signal]);
  const git = { ...found, folder, signal };
  try {
    const filters = await findFilters(git);
    const args = ["status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=all"];
    return parseStatus(await runGit(git, [...filters.flatMap(withoutFilter), ...args]));
  } catch {
    return undefined;
  }
}

/**
 * All filter programs that git would run on file contents, including the user's own: some, such as Git LFS, run
 * programs named in the repository's config.
 */
async function findFilters(git: Git): Promise<readonly string[]> {
  const args = ["config", "--null", "--name-only", "--get-regexp", "^filter\\."];
  const listed = await runGit(git, args).catch((error: unknown) => {
    if (isNothingFound(error)) return "";
    throw error;
  });
  // A name may be empty or contain dots.
  const names = listed.split("\0").flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)];
}

function isNothingFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === 1;
}

/** A name with an equals sign cannot be disabled this way, so this throws and git does not run. */
function withoutFilter(name: string): readonly string[] {
  if (name.includes("=")) throw new Error("a filter whose name cannot be written");
  const settings = ["clean=", "process=", "required=false"];
  return settings.flatMap((setting) => ["-c", `filter.${name}.${setting}`]);
}

/** Parses the porcelain v2 format, whose entries end with NUL. */
export function parseStatus(text: string): GitState {
  const state = { ahead: 0, behind: 0, changed: 0, untracked: 0 };
  const names: { branch?: string; upstream?: string } = {};
  const entries = text.split("\0");
  for (let index = 0; index < entries.length; index += 1) {
    const [kind = "", key = "", ...rest] = (entries[index] ?? "").split(" ");
    const value = rest.join(" ");
    if (kind === "#" && key === "branch.head" && value !== "(detached)") names.branch = value;
    if (kind === "#" && key === "branch.upstream") names.upstream = value;
    if (kind === "#" && key === "branch.ab") {
      const [, ahead, behind] = /^\+(\d+) -(\d+)$/.exec(value) ?? [];
      state.ahead = Number(ahead ?? 0);
      state.behind = Number(behind ?? 0);
    }
    if (kind === "1" || kind === "2" || kind === "u") state.changed += 1;
    if (kind === "?") state.untracked += 1;
    if (kind === "2") index += 1; // The old name of a renamed file follows.
  }
  return { ...names, ...state };
}
