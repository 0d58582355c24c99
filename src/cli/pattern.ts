/** The patterns of a search: literal and in smart case, unless the user says otherwise. */
import { usageError } from "./exit-status.ts";

export interface PatternFlags {
  readonly regex?: boolean;
  readonly ignoreCase?: boolean;
  readonly caseSensitive?: boolean;
}

export interface Pattern {
  /** Whether any of the patterns is in the text. */
  test(text: string): boolean;
  /** Every place in the line that matches, passed through `mark`. */
  highlight(line: string, mark: (match: string) => string): string;
}

/** Throws `usage` for a pattern that is no regular expression. */
export function createPattern(patterns: readonly string[], flags: PatternFlags): Pattern {
  const isLower = patterns.every((pattern) => pattern === pattern.toLowerCase());
  const ignoresCase = flags.ignoreCase ?? (flags.caseSensitive === true ? false : isLower);
  const sources = patterns.map((pattern) => (flags.regex === true ? pattern : literal(pattern)));
  const all = compile(sources, ignoresCase ? "gi" : "g");
  // Looking for one literal text is what strings do fastest.
  const [only] = patterns.length === 1 && flags.regex !== true && !ignoresCase ? patterns : [];
  const once = new RegExp(all.source, all.flags.replace("g", ""));
  return {
    test: only === undefined ? (text) => once.test(text) : (text) => text.includes(only),
    highlight: (line, mark) => line.replaceAll(all, (match) => (match === "" ? "" : mark(match))),
  };
}

/** By characters, not by halves of them; but what is valid only without that is taken too. */
function compile(sources: readonly string[], flags: string): RegExp {
  const modes = [`${flags}u`, flags];
  const mode = modes.find((one) => sources.every((source) => isValid(source, one)));
  if (mode !== undefined) return new RegExp(sources.map((one) => `(?:${one})`).join("|"), mode);
  const wrong = sources.find((source) => !isValid(source, flags)) ?? "";
  throw usageError(
    `Not a regular expression: ${wrong}`,
    "Leave --regex out to search for it as it is.",
  );
}

function isValid(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
