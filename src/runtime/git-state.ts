/**
 * The state of a repository: its branch from git's files, the rest by asking git. The repository may have come from
 * anywhere, so nothing that its own config names may run: no hooks, no file system monitor, no filters, no fetches, no
 * pager.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import path from "node:path";
import { findProgram, withoutRelativeFolders } from "../process/index.ts";

/** Where git is asked, and with which environment. */
export interface GitQuery {
  readonly folder: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Ends the search. */
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

/** A model gets its answer without it if git takes longer. */
const TIMEOUT_MS = 1500;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
/** A name of a branch is a path, and no path is longer. */
const MAX_HEAD_BYTES = 4096;
/** The branch that git writes to `HEAD` if it keeps its branches in tables. */
const ELSEWHERE = ".invalid";

/** Where a folder's repository keeps its files: undefined outside one. */
function findGitFolder(folder: string): string | undefined {
  const found = path.join(folder, ".git");
  const stats = statSync(found, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return found;
  if (stats?.isFile() === true) {
    const [, link] = /^gitdir: ([^\r\n]+)\r?\n?$/.exec(readShortFile(found)) ?? [];
    return link === undefined ? undefined : path.resolve(folder, link);
  }
  const parent = path.dirname(folder);
  return parent === folder ? undefined : findGitFolder(parent);
}

/** Runs nothing. Undefined outside a repository, and if its files do not say. */
export function findCheckout(folder: string): Checkout | undefined {
  try {
    const gitFolder = findGitFolder(path.resolve(folder));
    if (gitFolder === undefined) return undefined;
    const head = readShortFile(path.join(gitFolder, "HEAD")).trim();
    if (/^[0-9a-f]{40,64}$/.test(head)) return {};
    const [, branch] = /^ref: refs\/heads\/(.+)$/.exec(head) ?? [];
    return branch === undefined || branch === ELSEWHERE ? undefined : { branch };
  } catch {
    return undefined;
  }
}

/** Undefined on Windows, which the types do not say. */
const FLAGS: Partial<Pick<typeof constants, "O_NONBLOCK">> = constants;

/** A pipe would block. Throws system errors. */
function readShortFile(file: string): string {
  const fd = openSync(file, constants.O_RDONLY | (FLAGS.O_NONBLOCK ?? 0));
  try {
    if (!fstatSync(fd).isFile()) throw new Error("not a regular file");
    const buffer = Buffer.alloc(MAX_HEAD_BYTES);
    return buffer.toString("utf8", 0, readSync(fd, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(fd);
  }
}

/** Undefined outside a repository, without git, and if git fails or takes too long. */
export async function findGitState(query: GitQuery): Promise<GitState | undefined> {
  const searchPath = withoutRelativeFolders(query.variables["PATH"]);
  const program = findProgram("git", searchPath);
  if (program === undefined) return undefined;
  const late = AbortSignal.timeout(TIMEOUT_MS);
  const signal = query.signal === undefined ? late : AbortSignal.any([late, query.signal]);
  const git = { program, searchPath, ...query, signal };
  try {
    const filters = await findFilters(git);
    const args = ["status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=all"];
    return parseStatus(await runGit(git, [...filters.flatMap(withoutFilter), ...args]));
  } catch {
    return undefined;
  }
}

interface Git extends GitQuery {
  readonly program: string;
  readonly searchPath: string;
  readonly signal: AbortSignal;
}

/**
 * All programs that git would run on contents of files. Also the user's own: some, such as Git LFS, run what the
 * repository's config names.
 */
async function findFilters(git: Git): Promise<readonly string[]> {
  const args = ["config", "--null", "--name-only", "--get-regexp", "^filter\\."];
  const listed = await runGit(git, args).catch((error: unknown) => {
    if (isNothingFound(error)) return "";
    throw error;
  });
  // A name may be empty, and contain dots.
  const names = listed.split("\0").flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)];
}

function isNothingFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === 1;
}

/** A name with an equals sign cannot be switched off this way. Throws for it: git is not asked then. */
function withoutFilter(name: string): readonly string[] {
  if (name.includes("=")) throw new Error("a filter whose name cannot be written");
  const settings = ["clean=", "process=", "required=false"];
  return settings.flatMap((setting) => ["-c", `filter.${name}.${setting}`]);
}

const SAFE_SETTINGS = ["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat"];

function runGit(git: Git, args: readonly string[]): Promise<string> {
  const { program, folder, signal } = git;
  const settings = SAFE_SETTINGS.flatMap((setting) => ["-c", setting]);
  const { execFile } = process.getBuiltinModule("node:child_process");
  return new Promise((resolve, reject) => {
    const options = {
      cwd: folder,
      env: environmentOf(git),
      signal,
      killSignal: "SIGKILL",
      maxBuffer: MAX_OUTPUT_BYTES,
    } as const;
    const words = ["--no-pager", "--no-optional-locks", ...settings, ...args];
    execFile(program, words, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });
}

/** Without variables that point git elsewhere, and without any way to reach another machine. */
function environmentOf({ variables, searchPath }: Git) {
  const { HOME, USERPROFILE, XDG_CONFIG_HOME } = variables;
  return {
    HOME,
    USERPROFILE,
    XDG_CONFIG_HOME,
    PATH: searchPath,
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
  };
}

/** Reads version 2 of the porcelain format, whose entries end with NUL. */
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
