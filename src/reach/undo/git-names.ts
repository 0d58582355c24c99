/** The names of a workspace's files, as Git knows them. Git runs nothing that a repository names. */
import { readdirSync } from "node:fs";
import path from "node:path";
import { decodeFileName, isProtectedName, toSystemPath } from "../files/index.ts";
import {
  findGit,
  findGitFolder,
  type GitPlaces,
  readGitFile,
  runGitForBytes,
} from "../process/index.ts";
import { messageOf } from "../../util/index.ts";
import { findStats, identityOf } from "./work-tree.ts";

/** Why nothing, or not everything, is saved before a command. */
export type UnkeptFolderReason =
  /** The folder is not in a Git work tree. */
  | "not_git"
  /** Git is missing, or fails. */
  | "git_failed"
  /** Git cannot read its index, which has the names of the files that it tracks. */
  | "index_damaged"
  /** There are too many files or bytes. */
  | "too_large";

/** Relative to the workspace, with forward slashes. */
export interface GitNames {
  /** The files that Git tracks or would add. A submodule that it tracks is listed as a file is. */
  readonly files: readonly string[];
  /** Repositories inside the workspace that it does not track. */
  readonly repositories: readonly string[];
  /** Ignored files and folders; folders end with a slash. */
  readonly ignored: ReadonlySet<string>;
}

/** `root` is the real path of the workspace. */
export type GitPlace = GitPlaces;

const MAX_LIST_BYTES = 256 * 1024 * 1024;

/** Whether files could be saved, as far as known without reading them. */
export function checkFolder({ root, variables }: GitPlace): UnkeptFolderReason | undefined {
  try {
    if (findGitFolder(root) === undefined) return "not_git";
    return findGit({ root, variables }) === undefined ? "git_failed" : undefined;
  } catch {
    return "git_failed";
  }
}

/** Throws the signal's reason. */
export async function listNames(
  place: GitPlace,
  signal: AbortSignal,
): Promise<GitNames | UnkeptFolderReason> {
  try {
    const problem = checkFolder(place);
    const found = findGit(place);
    if (problem !== undefined || found === undefined) return problem ?? "git_failed";
    const git = { ...found, folder: place.root, signal, maxOutputBytes: MAX_LIST_BYTES };
    const list = ["ls-files", "-z", "--others", "--exclude-standard"];
    const [listed, ignored] = await Promise.all([
      runGitForBytes(git, [...list, "--cached"]),
      runGitForBytes(git, [...list, "--ignored", "--directory"]),
    ]);
    const names = toNames(listed).filter(isKeptName);
    return {
      files: names.filter((name) => !name.endsWith("/")),
      repositories: names.filter((name) => name.endsWith("/")).map(withoutSlash),
      ignored: new Set(toNames(ignored).filter(isKeptName)),
    };
  } catch (error) {
    signal.throwIfAborted();
    return INDEX_ERROR.test(messageOf(error)) ? "index_damaged" : "git_failed";
  }
}

/** In Git's words, which are not translated here. */
const INDEX_ERROR = /index file|bad (?:index|signature)|unordered stage entries|index uses/;

function toNames(list: Buffer): readonly string[] {
  return [...new Set(decodeFileName(list).split("\0"))].filter((name) => name !== "");
}

/** Leaves out jp's files, which change all the time. */
function isKeptName(name: string): boolean {
  return !name.split("/").some(isProtectedName);
}

export function withoutSlash(name: string): string {
  return name.endsWith("/") ? name.slice(0, -1) : name;
}

export function isIgnoreFile(name: string): boolean {
  return path.posix.basename(name) === ".gitignore";
}

/**
 * Changes with everything that decides what Git ignores, except for files of the user's own and for the `.gitignore`
 * files that Git lists.
 */
export function ignoreRulesOf(root: string, ignored: ReadonlySet<string>): string {
  const hidden = [...ignored].filter(isIgnoreFile).map((name) => path.join(root, name));
  return [...findRuleFiles(root), ...hidden]
    .map((file) => {
      const stats = findStats(file);
      return stats === undefined ? "" : identityOf(stats);
    })
    .join("\n");
}

function findRuleFiles(root: string): readonly string[] {
  try {
    const own = findGitFolder(root);
    if (own === undefined) return [];
    const shared = path.join(own, "commondir");
    const folder =
      findStats(shared) === undefined ? own : path.resolve(own, readGitFile(shared).trim());
    return [path.join(folder, "info", "exclude"), path.join(folder, "config")];
  } catch {
    return []; // Git fails then too.
  }
}

/** The files in a folder, without those of jp, of Git and of nested repositories. */
export function* filesIn(root: string, folder: string): Generator<string> {
  const entries = readdirSync(toSystemPath(path.join(root, folder)), {
    withFileTypes: true,
    encoding: "buffer",
  });
  const named = entries.map((entry) => ({ entry, name: decodeFileName(entry.name) }));
  if (named.some(({ name }) => name === ".git")) return;
  for (const { entry, name } of named) {
    if (isProtectedName(name)) continue;
    const file = path.posix.join(folder, name);
    if (entry.isDirectory()) yield* filesIn(root, file);
    else yield file;
  }
}
