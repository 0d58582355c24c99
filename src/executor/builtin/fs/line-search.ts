/** Finds the lines of a text that hold a piece of text. Expressions have a file of their own. */

export interface LineMatch {
  /** Both counted from 0. */
  readonly line: number;
  readonly column: number;
}

/** What a text is searched with. */
export interface LineSearch extends AsyncDisposable {
  /** The first matches, one per line, at most so many. Throws a refusal, and what the signal says. */
  find(text: string, most: number): Promise<readonly LineMatch[]>;
}

/** The same wherever lines are counted: a line is without its line end, CR LF or LF. */
export function splitLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

export function createLiteralSearch(piece: string): LineSearch {
  return {
    find: (text, most) => Promise.resolve(text.includes(piece) ? find(text, piece, most) : []),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function find(text: string, piece: string, most: number): readonly LineMatch[] {
  const matches: LineMatch[] = [];
  for (const [line, content] of splitLines(text).entries()) {
    const column = content.indexOf(piece);
    if (column < 0) continue;
    matches.push({ line, column });
    if (matches.length === most) break;
  }
  return matches;
}
