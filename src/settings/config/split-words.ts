/** Splits a line in shell notation into words. Separate from the schema, which is slow to load. */

/**
 * Splits a line into words like a shell: quotes group, and a backslash outside single quotes escapes the next character.
 * Undefined if a quote is not closed.
 */
export function splitWords(line: string): string[] | undefined {
  const { words, rest } = scanWords(line);
  return rest === "" ? words : undefined;
}

/** `rest` is the text after the last readable word. */
export function scanWords(line: string): { readonly words: string[]; readonly rest: string } {
  const words: string[] = [];
  const pattern = /\s*((?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+)/y;
  let position = 0;
  for (;;) {
    pattern.lastIndex = position;
    const match = pattern.exec(line);
    if (match === null) break;
    words.push(unquote(match[1] ?? ""));
    position = pattern.lastIndex;
  }
  return { words, rest: line.slice(position).trim() };
}

function unquote(word: string): string {
  const pieces = word.match(/'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^'"\\]+/g) ?? [];
  return pieces.map(unquotePiece).join("");
}

function unquotePiece(piece: string): string {
  if (piece.startsWith("'")) return piece.slice(1, -1);
  if (piece.startsWith('"')) return piece.slice(1, -1).replaceAll(/\\(["\\$`])/g, "$1");
  return piece.startsWith("\\") ? piece.slice(1) : piece;
}
