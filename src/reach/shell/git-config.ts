/** The files of a workspace that Git reads as config or runs as hooks, because the user's config of any level says so. */
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import { decodeFileName } from "../files/index.ts";
import { type FoundGit, type Git, runGitForBytes } from "../process/index.ts";

/** Absolute paths, of which some may be missing. */
export interface ConfiguredPaths {
  readonly files: readonly string[];
  readonly hooks: readonly string[];
}

/** Git with the config of the user's own Git, also of variables. */
export function withUserConfig(
  git: FoundGit,
  variables: FoundGit["environment"],
): FoundGit["environment"] {
  const own = Object.entries(variables).filter(([name]) => name.startsWith("GIT_CONFIG"));
  return { ...git.environment, ...Object.fromEntries(own) };
}

/**
 * Reads the config for the repository of a folder, which has to be the top of a work tree, if it is in one. Includes count
 * even if their condition is not met now: a command could meet it. Rejects if Git cannot read its config.
 */
export async function findConfiguredPaths(git: Git): Promise<ConfiguredPaths> {
  const files = new Set<string>();
  const hooks = new Set<string>();
  const read = async (words: readonly string[]): Promise<void> => {
    const list = ["config", "--list", "--includes", "--show-origin", "-z", ...words];
    const entries = parseEntries(decodeFileName(await runGitForBytes(git, list)));
    const included = new Set<string>();
    for (const { origin, key, value } of entries) {
      const file = origin === undefined ? undefined : path.resolve(git.folder, origin);
      if (file !== undefined) files.add(file);
      if (value === "") continue;
      const base = file === undefined ? git.folder : path.dirname(file);
      if (INCLUDE.test(key)) included.add(path.resolve(base, withHome(value, git)));
      if (key === "core.hookspath") hooks.add(path.resolve(git.folder, withHome(value, git)));
    }
    for (const file of included) {
      if (files.has(file)) continue;
      files.add(file);
      if (existsSync(file)) await read(["--file", file]);
    }
  };
  await read([]);
  return { files: [...files], hooks: [...hooks] };
}

const INCLUDE = /^include(?:if\..*)?\.path$/s;

interface ConfigEntry {
  /** The file that has it; undefined for a variable or an option. */
  readonly origin: string | undefined;
  readonly key: string;
  readonly value: string;
}

/** Pairs of an origin, and a key with its value on further lines. */
function parseEntries(list: string): readonly ConfigEntry[] {
  const parts = list.split("\0");
  return parts.flatMap((text, index): ConfigEntry[] => {
    if (index % 2 === 0) return [];
    const origin = /^file:(.*)$/s.exec(parts[index - 1] ?? "")?.[1];
    const end = text.indexOf("\n");
    return [
      {
        origin,
        key: (end === -1 ? text : text.slice(0, end)).toLowerCase(),
        value: end === -1 ? "" : text.slice(end + 1),
      },
    ];
  });
}

/** `~/x`, and `~me/x` for the user that runs jp. */
function withHome(value: string, { environment: { HOME = "" } }: Git): string {
  const [, name, rest] = /^~([^/]*)(\/.*)$/s.exec(value) ?? [];
  if (rest === undefined) return value;
  if (name === "") return path.join(HOME, rest);
  try {
    const { username, homedir } = userInfo();
    return name === username ? path.join(homedir, rest) : value;
  } catch {
    return value; // The system does not know its name.
  }
}
