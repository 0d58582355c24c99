/** Replaces pieces of a text, each of which is found exactly, or nothing is replaced at all. */
import { Refusal } from "./refusal.ts";

export interface Pattern {
  readonly old: string;
  readonly new: string;
  readonly replace_all?: boolean;
}

export interface PatchedText {
  readonly text: string;
  readonly replacements: number;
}

/** One after the other: a pattern sees what those before it made. Throws a refusal. */
export function applyPatterns(text: string, patterns: readonly Pattern[]): PatchedText {
  let patched: PatchedText = { text, replacements: 0 };
  for (const [index, pattern] of patterns.entries()) {
    const { text: next, replacements } = applyPattern(patched.text, pattern, index);
    patched = { text: next, replacements: patched.replacements + replacements };
  }
  if (patched.text === text) throw new Refusal("The patterns together change nothing.");
  return patched;
}

function applyPattern(text: string, pattern: Pattern, index: number): PatchedText {
  const name = `patterns[${index}].old`;
  if (pattern.old === "") throw new Refusal(`${name} is empty. fs_create_file writes whole files.`);
  const found = occurrences(text, pattern.old);
  const [at] = found;
  if (at === undefined) {
    throw new Refusal(
      `${name} was not found, so nothing was changed. It must be the exact text of the file, ` +
        "white space included, after the patterns before it were applied. Read the file again.",
    );
  }
  if (pattern.replace_all === true) {
    const pieces = text.split(pattern.old);
    return { text: pieces.join(pattern.new), replacements: pieces.length - 1 };
  }
  if (found.length > 1) {
    throw new Refusal(
      `${name} occurs more than once (${linesOf(text, found)}), so nothing was changed. ` +
        "Add the text around it until it is unique, or set replace_all.",
    );
  }
  const after = text.slice(at + pattern.old.length);
  return { text: text.slice(0, at) + pattern.new + after, replacements: 1 };
}

/** Overlapping ones too: there it is just as open which one is meant. The first few are enough. */
function occurrences(text: string, piece: string): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(piece); at >= 0 && found.length < 6;) {
    found.push(at);
    at = text.indexOf(piece, at + 1);
  }
  return found;
}

function linesOf(text: string, found: readonly number[]): string {
  const lines = found.slice(0, 5).map((at) => text.slice(0, at).split("\n").length);
  return `lines ${lines.join(", ")}${found.length > 5 ? " and more" : ""}`;
}
