/**
 * Runs Git without running anything that a repository names, because it may come from anywhere: no hooks, no file system
 * monitor, no fetches, no pager. Commands that read file contents must also disable filters.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import path from "node:path";
import { findProgram, searchPathOutside } from "./find-program.ts";
import { quoteWord } from "./shell-quote.ts";

/** The program and its environment. */
export interface FoundGit {
  readonly program: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Git extends FoundGit {
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Default: 4 MiB. */
  readonly maxOutputBytes?: number;
}

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
/** A branch name is a path, and no path is longer. */
const MAX_SHORT_BYTES = 4096;

export interface GitPlaces {
  /** The workspace, which provides neither Git nor a program that it starts. */
  readonly root: string;
  /** The user's environment. */
  readonly variables: FoundGit["environment"];
}

/** Undefined if git is not installed. */
export function findGit({ root, variables }: GitPlaces): FoundGit | undefined {
  const places = { root, searchPath: variables["PATH"] };
  const program = findProgram("git", places);
  if (program === undefined) return undefined;
  return { program, environment: environmentOf(variables, searchPathOutside(places)) };
}

/** Like `findGit`, for remote repositories, which only the user may name. Never prompts for a password, a key or a host. */
export function findRemoteGit(places: GitPlaces): FoundGit | undefined {
  const found = findGit(places);
  if (found === undefined) return undefined;
  const { root, variables } = places;
  const ssh = findProgram("ssh", { root, searchPath: variables["PATH"] });
  const passed = REMOTE_VARIABLES.map((name) => [name, variables[name]] as const);
  const environment = {
    ...found.environment,
    ...Object.fromEntries(passed),
    GIT_ALLOW_PROTOCOL: "file:https:ssh",
    GIT_SSH_COMMAND: variables["GIT_SSH_COMMAND"] ?? sshCommand(ssh),
    GIT_ASKPASS: "false",
    SSH_ASKPASS_REQUIRE: "never",
  };
  return { ...found, environment };
}

/** Git would also find an `ssh` that is a link into the workspace. */
function sshCommand(program: string | undefined): string {
  return program === undefined ? "false" : `${quoteWord(program)} -o BatchMode=yes`;
}

/** These locate the user's keys and proxies. */
const REMOTE_VARIABLES = [
  "SSH_AUTH_SOCK",
  ...["HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

/** Leaves out variables that point git elsewhere, and disables access to other machines. */
function environmentOf(variables: FoundGit["environment"], searchPath: string) {
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

const SAFE_SETTINGS = ["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat"];

/** The options before a command. */
export const SAFE_GIT_WORDS: readonly string[] = [
  "--no-pager",
  "--no-optional-locks",
  ...SAFE_SETTINGS.flatMap((setting) => ["-c", setting]),
];

/** Returns its output. Rejects if it fails. */
export async function runGit(git: Git, args: readonly string[]): Promise<string> {
  return (await runGitForBytes(git, args)).toString("utf8");
}

/** Like `runGit`, for output with file names, which may not be UTF-8. */
export function runGitForBytes(git: Git, args: readonly string[]): Promise<Buffer> {
  const { program, folder, environment, signal, maxOutputBytes = MAX_OUTPUT_BYTES } = git;
  const { execFile } = process.getBuiltinModule("node:child_process");
  return new Promise((resolve, reject) => {
    const options = {
      cwd: folder,
      env: environment,
      signal,
      killSignal: "SIGKILL",
      maxBuffer: maxOutputBytes,
      encoding: "buffer",
    } as const;
    const words = [...SAFE_GIT_WORDS, ...args];
    execFile(program, words, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });
}

/** The folder with a repository's own files; undefined outside a repository. Throws system errors. */
export function findGitFolder(folder: string): string | undefined {
  const found = path.join(folder, ".git");
  const stats = statSync(found, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return found;
  if (stats?.isFile() === true) {
    const [, link] = /^gitdir: ([^\r\n]+)\r?\n?$/.exec(readGitFile(found)) ?? [];
    return link === undefined ? undefined : path.resolve(folder, link);
  }
  const parent = path.dirname(folder);
  return parent === folder ? undefined : findGitFolder(parent);
}

/** Undefined on Windows, contrary to the types. */
const FLAGS: Partial<Pick<typeof constants, "O_NONBLOCK">> = constants;

/** Reads the start of one of Git's short files. A pipe would block. Throws system errors. */
export function readGitFile(file: string): string {
  const fd = openSync(file, constants.O_RDONLY | (FLAGS.O_NONBLOCK ?? 0));
  try {
    if (!fstatSync(fd).isFile()) throw new Error("not a regular file");
    const buffer = Buffer.alloc(MAX_SHORT_BYTES);
    return buffer.toString("utf8", 0, readSync(fd, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(fd);
  }
}
