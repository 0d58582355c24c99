/**
 * The rules of a `.gitignore`, as gitignore(5) describes them. Not supported: Git's own lists, and named classes such as
 * `[[:alpha:]]`, whose lines never match.
 *
 * Matching a pattern takes at most its length times the length of the path. A cloned repository may
 * have a `.gitignore` that is meant to hang us, and globs translated to regular expressions, as the
 * `ignore` package does it, take exponential time in the number of `**`.
 */

export interface IgnoreRules {
  /**
   * `path` is relative to the folder of the rules, with forward slashes. Does not look at its parent folders. Undefined
   * if no rule matches.
   */
  isIgnored(path: string, isFolder: boolean): boolean | undefined;
}

interface Rule {
  readonly glob: Glob;
  readonly isNegated: boolean;
  readonly isForFolders: boolean;
  /** If false, the pattern is compared with the last name of a path only. */
  readonly isAnchored: boolean;
  /** Set if only files and folders with this name match. */
  readonly name?: string;
}

/** The position of the last rule for each name. */
function lastByName(
  rules: readonly (Rule & { readonly position: number })[],
): ReadonlyMap<string, number> {
  return new Map(
    rules.flatMap(({ name, position }) => (name === undefined ? [] : [[name, position]])),
  );
}

export function parseIgnoreRules(text: string): IgnoreRules {
  const rules = text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .flatMap(parseRule)
    .map((rule, position) => ({ ...rule, position }));
  // For rules that name a file, a lookup is enough, even for many.
  const names = lastByName(rules.filter(({ isForFolders }) => !isForFolders));
  const folderNames = lastByName(rules);
  const patterns = rules.filter(({ name }) => name === undefined);
  return {
    isIgnored: (path, isFolder) => {
      const segments = path.split("/");
      const last = segments.slice(-1);
      const named = (isFolder ? folderNames : names).get(last[0] ?? "") ?? -1;
      const matching = patterns.findLast(
        ({ glob, position, isForFolders, isAnchored }) =>
          position > named && (isFolder || !isForFolders) && glob(isAnchored ? segments : last),
      );
      const rule = matching ?? rules[named];
      return rule && !rule.isNegated;
    },
  };
}

function parseRule(line: string): readonly Rule[] {
  const text = trimTrailingSpaces(line);
  if (text === "" || text.startsWith("#")) return [];
  const isNegated = text.startsWith("!");
  const pattern = isNegated ? text.slice(1) : text;
  const isForFolders = pattern.endsWith("/");
  const body = isForFolders ? pattern.slice(0, -1) : pattern;
  const glob = compileGlob(body.replace(/^\//, "").split("/"));
  if (glob === undefined) return [];
  const isAnchored = body.includes("/");
  const isName = !isAnchored && !SPECIAL.test(body);
  return [{ glob, isNegated, isForFolders, isAnchored, ...(isName && { name: body }) }];
}

/** Keeps a space that a backslash escapes. */
function trimTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end -= 1;
  let backslashes = 0;
  while (line[end - 1 - backslashes] === "\\") backslashes += 1;
  return line.slice(0, backslashes % 2 === 1 ? end + 1 : end);
}

export type Glob = (segments: readonly string[]) => boolean;

/** Characters that make a name a pattern. */
const SPECIAL = /[*?[\\]/;

/** Matches any number of items, including none. */
const ANY = Symbol("any");

type CharacterTest = (character: string) => boolean;
/** A literal name, or a pattern. */
type Segment = string | readonly (CharacterTest | typeof ANY)[];

/** Compiles the segments of a pattern. Undefined for a pattern that cannot match. */
export function compileGlob(pattern: readonly string[]): Glob | undefined {
  const parts: (Segment | typeof ANY)[] = [];
  for (const [index, text] of pattern.entries()) {
    if (text === "**" && pattern.length > 1) {
      // A trailing `**` matches everything inside, so at least one name.
      parts.push(ANY, ...(index === pattern.length - 1 ? [[ANY] as const] : []));
      continue;
    }
    const segment = compileSegment(text);
    if (segment === undefined) return undefined;
    parts.push(segment);
  }
  return (segments) => matchSequence(parts, segments, matchSegment);
}

function matchSegment(segment: Segment, text: string): boolean {
  if (typeof segment === "string") return segment === text;
  return matchSequence(segment, charactersOf(text), (test, character) => test(character));
}

/** Cached for the latest text: many patterns are compared with the same name. */
let split: { readonly text: string; readonly characters: readonly string[] } | undefined;

function charactersOf(text: string): readonly string[] {
  if (split?.text !== text) split = { text, characters: Array.from(text) };
  return split.characters;
}

/** Backtracks to the last `ANY` only: earlier ones never need to match more than they did. */
function matchSequence<Part, Item>(
  pattern: readonly (Part | typeof ANY)[],
  items: readonly Item[],
  matches: (part: Part, item: Item) => boolean,
): boolean {
  let at = 0;
  let item = 0;
  let retry: { readonly at: number; readonly item: number } | undefined;
  while (item < items.length) {
    const part = pattern[at];
    if (part === ANY) {
      retry = { at, item };
      at += 1;
    } else if (at < pattern.length && matches(part as Part, items[item] as Item)) {
      // Both are in range, and the part is not ANY.
      at += 1;
      item += 1;
    } else if (retry !== undefined) {
      retry = { at: retry.at, item: retry.item + 1 };
      at = retry.at + 1;
      item = retry.item;
    } else {
      return false;
    }
  }
  return pattern.slice(at).every((part) => part === ANY);
}

function compileSegment(text: string): Segment | undefined {
  if (!SPECIAL.test(text)) return text;
  const characters = Array.from(text);
  const segment: (CharacterTest | typeof ANY)[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") {
      segment.push(ANY);
    } else if (character === "?") {
      segment.push(() => true);
    } else if (character === "[") {
      const set = compileSet(characters, at);
      if (set === undefined) return undefined;
      segment.push(set.test);
      at = set.end;
    } else {
      if (character === "\\") at += 1;
      const literal = characters[at];
      if (literal === undefined) return undefined;
      segment.push((other) => other === literal);
    }
  }
  return segment;
}

interface CharacterSet {
  readonly test: CharacterTest;
  /** The position of its closing bracket. */
  readonly end: number;
}

/** `[abc]`, `[a-z]`, `[!a]`; a closing bracket in first position is a literal. */
function compileSet(characters: readonly string[], start: number): CharacterSet | undefined {
  const isNegated = characters[start + 1] === "!" || characters[start + 1] === "^";
  const first = start + (isNegated ? 2 : 1);
  const ranges: (readonly [from: string, to: string])[] = [];
  for (let at = first; at < characters.length;) {
    if (characters[at] === "]" && at > first) {
      const isInRange = (other: string) =>
        ranges.some(([from, to]) => codeOf(from) <= codeOf(other) && codeOf(other) <= codeOf(to));
      return { test: (other) => isInRange(other) !== isNegated, end: at };
    }
    if (characters[at] === "[" && characters[at + 1] === ":") return undefined;
    const from = readCharacter(characters, at);
    const isRange =
      characters[from.next] === "-" && !["]", undefined].includes(characters[from.next + 1]);
    const to = isRange ? readCharacter(characters, from.next + 1) : from;
    ranges.push([from.character, to.character]);
    at = to.next;
  }
  return undefined;
}

function readCharacter(characters: readonly string[], at: number) {
  const start = characters[at] === "\\" ? at + 1 : at;
  return { character: characters[start] ?? "", next: start + 1 };
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? -1;
}
