/**
 * What the `.gitignore` at the root says, read as gitignore(5) has it. Not read: such files in other
 * folders, git's own lists, and named character classes such as `[[:alpha:]]`, whose lines never match.
 */
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

type Glob = (segments: readonly string[]) => boolean;

/** Any number of things, none included. */
const MANY = Symbol("many");

type OneOf = (character: string) => boolean;
type Segment = readonly (OneOf | typeof MANY)[];

/** A pattern, cut at its slashes. Undefined for what never matches anything. */
function compileGlob(pattern: readonly string[]): Glob | undefined {
  const parts: (Segment | typeof MANY)[] = [];
  for (const [index, text] of pattern.entries()) {
    if (text === "**" && pattern.length > 1) {
      // At the end it stands for what is inside, at least one name; else for no folder as well.
      parts.push(MANY, ...(index === pattern.length - 1 ? [[MANY] as const] : []));
      continue;
    }
    const segment = compileSegment(text);
    if (segment === undefined) return undefined;
    parts.push(segment);
  }
  return (segments) =>
    matchSequence(parts, segments, (part, text) =>
      matchSequence(part, Array.from(text), (isOne, character) => isOne(character)),
    );
}

/** `MANY` takes nothing at first, and one thing more each time that the rest does not fit. */
function matchSequence<Part, Item>(
  pattern: readonly (Part | typeof MANY)[],
  items: readonly Item[],
  fits: (part: Part, item: Item) => boolean,
): boolean {
  let at = 0;
  let item = 0;
  let retry: { readonly at: number; readonly item: number } | undefined;
  while (item < items.length) {
    const part = pattern[at];
    if (part === MANY) {
      retry = { at, item };
      at += 1;
    } else if (at < pattern.length && fits(part as Part, items[item] as Item)) {
      // Both are in range, and the part is not MANY.
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
  return pattern.slice(at).every((part) => part === MANY);
}

function compileSegment(text: string): Segment | undefined {
  const characters = Array.from(text);
  const segment: (OneOf | typeof MANY)[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") {
      segment.push(MANY);
    } else if (character === "?") {
      segment.push(() => true);
    } else if (character === "[") {
      const set = compileSet(characters, at);
      if (set === undefined) return undefined;
      segment.push(set.isOne);
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
  readonly isOne: OneOf;
  /** Where its closing bracket is. */
  readonly end: number;
}

/** `[abc]`, `[a-z]`, `[!a]`; a bracket that comes first is one of the characters. */
function compileSet(characters: readonly string[], start: number): CharacterSet | undefined {
  const isNegated = characters[start + 1] === "!" || characters[start + 1] === "^";
  const first = start + (isNegated ? 2 : 1);
  const ranges: (readonly [from: string, to: string])[] = [];
  for (let at = first; at < characters.length;) {
    if (characters[at] === "]" && at > first) {
      const isOne = (other: string) => ranges.some(([from, to]) => isBetween(other, from, to));
      return { isOne: (other) => isOne(other) !== isNegated, end: at };
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

function isBetween(character: string, from: string, to: string): boolean {
  const code = codeOf(character);
  return codeOf(from) <= code && code <= codeOf(to);
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? -1;
}
