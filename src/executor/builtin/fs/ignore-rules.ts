/**
 * What the `.gitignore` at the root says, read as gitignore(5) has it. Not read: such files in other
 * folders, git's own lists, and named character classes such as `[[:alpha:]]`, whose lines never match.
 */
import { compileGlob, type Glob } from "./glob.ts";

export interface IgnoreRules {
  /** `path` is relative to the root, with forward slashes. Of a folder, all that is below is meant. */
  isIgnored(path: string, isFolder: boolean): boolean;
}

interface Rule {
  readonly glob: Glob;
  readonly isNegated: boolean;
  readonly isForFolders: boolean;
  /** Else the last name of a path is looked at, wherever it is. */
  readonly isAnchored: boolean;
}

export function parseIgnoreRules(text: string): IgnoreRules {
  const rules = text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .flatMap(parseRule);
  return {
    isIgnored: (path, isFolder) => {
      const segments = path.split("/");
      const last = rules.findLast((rule) => matches(rule, segments, isFolder));
      return last !== undefined && !last.isNegated;
    },
  };
}

function parseRule(line: string): readonly Rule[] {
  const text = withoutTrailingSpaces(line);
  if (text === "" || text.startsWith("#")) return [];
  const isNegated = text.startsWith("!");
  const pattern = isNegated ? text.slice(1) : text;
  const isForFolders = pattern.endsWith("/");
  const body = isForFolders ? pattern.slice(0, -1) : pattern;
  const glob = compileGlob(body.replace(/^\//, "").split("/"));
  if (glob === undefined) return [];
  return [{ glob, isNegated, isForFolders, isAnchored: body.includes("/") }];
}

function matches(rule: Rule, segments: readonly string[], isFolder: boolean): boolean {
  if (rule.isForFolders && !isFolder) return false;
  return rule.glob(rule.isAnchored ? segments : segments.slice(-1));
}

/** A space after a backslash stays, unless the backslash is after one itself. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end -= 1;
  let backslashes = 0;
  while (line[end - 1 - backslashes] === "\\") backslashes += 1;
  return line.slice(0, backslashes % 2 === 1 ? end + 1 : end);
}
