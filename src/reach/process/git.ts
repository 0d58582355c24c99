/**
 * Git, run so that nothing runs that a repository names: it may have come from anywhere. No hooks, no file system monitor,
 * no fetches, no pager. Commands that read contents of files also have to switch off filters.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import path from "node:path";
import { findProgram, withoutRelativeFolders } from "./find-program.ts";

/** The program, and the environment that it gets. */
export interface FoundGit {
  readonly program: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Git extends FoundGit {
  readonly folder: string;
  readonly signal: AbortSignal;
  /** 4 MiB if absent. */
  readonly maxOutputBytes?: number;
}

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
/** A name of a branch is a path, and no path is longer. */
const MAX_SHORT_BYTES = 4096;

/** Undefined without git. */
export function findGit(variables: FoundGit["environment"]): FoundGit | undefined {
  const searchPath = withoutRelativeFolders(variables["PATH"]);
  const program = findProgram("git", searchPath);
  if (program === undefined) return undefined;
  return { program, environment: environmentOf(variables, searchPath) };
}

/**
 * The same for repositories on other machines, which only the user may name. Never prompts: neither for a password, nor for a
 * key, nor for a host.
 */
export function findRemoteGit(variables: FoundGit["environment"]): FoundGit | undefined {
  const found = findGit(variables);
  if (found === undefined) return undefined;
  const passed = REMOTE_VARIABLES.map((name) => [name, variables[name]] as const);
  const environment = {
    ...found.environment,
    ...Object.fromEntries(passed),
    GIT_ALLOW_PROTOCOL: "file:https:ssh",
    GIT_SSH_COMMAND: variables["GIT_SSH_COMMAND"] ?? "ssh -o BatchMode=yes",
    GIT_ASKPASS: "false",
    SSH_ASKPASS_REQUIRE: "never",
  };
  return { ...found, environment };
}

/** Where the user's keys and proxies are. */
const REMOTE_VARIABLES = [
  "SSH_AUTH_SOCK",
  ...["HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

/** Without variables that point git elsewhere, and without any way to reach another machine. */
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

/** The words before those of a command. */
export const SAFE_GIT_WORDS: readonly string[] = [
  "--no-pager",
  "--no-optional-locks",
  ...SAFE_SETTINGS.flatMap((setting) => ["-c", setting]),
];

/** What it prints. Rejects if it fails. */
export function runGit(git: Git, args: readonly string[]): Promise<string> {
  const { program, folder, environment, signal, maxOutputBytes = MAX_OUTPUT_BYTES } = git;
  const { execFile } = process.getBuiltinModule("node:child_process");
  return new Promise((resolve, reject) => {
    const options = {
      cwd: folder,
      env: environment,
      signal,
      killSignal: "SIGKILL",
      maxBuffer: maxOutputBytes,
    } as const;
    const words = [...SAFE_GIT_WORDS, ...args];
    execFile(program, words, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });
}

/** Where a folder's repository keeps its files: undefined outside one. Throws system errors. */
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

/** Undefined on Windows, which the types do not say. */
const FLAGS: Partial<Pick<typeof constants, "O_NONBLOCK">> = constants;

/** The start of one of its short files. A pipe would block. Throws system errors. */
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
