/** Globs as regular expressions. The whole text has to match. */

/** Whether a text matches. */
export type TextTest = (text: string) => boolean;

/**
 * `*` and `?` stop at the separator, if there is one; `**` does not. `[a-z]`, `[!a-z]` and `{a,b}` are supported, and a
 * backslash escapes the next character. A leading dot is not special: a rule about all files covers hidden ones too.
 */
export function globToPattern(glob: string, separator: "/" | "." | undefined): string {
  const any = separator === undefined ? "." : `[^${separator}]`;
  let pattern = "";
  let depth = 0;
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob.charAt(at);
    if (character === "*") {
      const isDouble = glob.charAt(at + 1) === "*";
      if (isDouble) at += 1;
      const isFolders = isDouble && separator !== undefined && isAlone(glob, at, separator);
      if (isFolders) at += 1;
      pattern += isFolders ? `(?:.*${escaped(separator)})?` : isDouble ? ".*" : `${any}*`;
    } else if (character === "?") pattern += any;
    else if (character === "[") {
      const end = glob.indexOf("]", at + 2);
      if (end === -1) pattern += "\\[";
      else {
        const set = glob.slice(at + 1, end);
        const isNot = set.startsWith("!") || set.startsWith("^");
        const members = (isNot ? set.slice(1) : set).replaceAll(/[\\[\]^&~]/g, String.raw`\$&`);
        // A set never matches the separator.
        pattern += isNot ? `[^${members}${separator ?? ""}]` : `[${members}]`;
        at = end;
      }
    } else if (character === "{" && closes(glob, at)) {
      depth += 1;
      pattern += "(?:";
    } else if (character === "}" && depth > 0) {
      depth -= 1;
      pattern += ")";
    } else if (character === "," && depth > 0) pattern += "|";
    else if (character === "\\" && at + 1 < glob.length) {
      at += 1;
      pattern += escaped(glob.charAt(at));
    } else pattern += escaped(character);
  }
  return `^(?s:${pattern})$`;
}

/**
 * `**` between separators, or at the start before one: it also matches no folder at all. `at`: the index of its second
 * star.
 */
function isAlone(glob: string, at: number, separator: string): boolean {
  const before = at >= 2 ? glob.charAt(at - 2) : separator;
  return before === separator && glob.charAt(at + 1) === separator;
}

function closes(glob: string, at: number): boolean {
  let depth = 0;
  for (const character of glob.slice(at)) {
    if (character === "{") depth += 1;
    if (character === "}") depth -= 1;
    if (depth === 0) return true;
  }
  return false;
}

function escaped(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/, String.raw`\$&`);
}
