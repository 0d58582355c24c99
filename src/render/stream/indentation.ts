/** Where a line of Markdown is being read: what is left of it, and its column, which tabs depend on. */

export interface Cursor {
  readonly rest: string;
  readonly column: number;
}

const TAB_STOP = 4;

/** How many columns of white space the rest begins with. */
export function indentOf({ rest, column }: Cursor): number {
  let width = 0;
  for (const character of rest) {
    if (character === " ") width += 1;
    else if (character === "\t") width += TAB_STOP - ((column + width) % TAB_STOP);
    else break;
  }
  return width;
}

/** Takes that many columns of white space, or as many as there are; a tab may be taken in part. */
export function takeIndent({ rest, column }: Cursor, columns: number): Cursor {
  let offset = 0;
  let taken = 0;
  while (taken < columns) {
    const character = rest[offset];
    if (character !== " " && character !== "\t") break;
    const width = character === " " ? 1 : TAB_STOP - ((column + taken) % TAB_STOP);
    offset += 1;
    taken += width;
  }
  const tooMany = Math.max(0, taken - columns);
  return { rest: " ".repeat(tooMany) + rest.slice(offset), column: column + taken - tooMany };
}

/** Takes characters that are not white space. */
export function take({ rest, column }: Cursor, count: number): Cursor {
  return { rest: rest.slice(count), column: column + count };
}

export function isBlank({ rest }: Cursor): boolean {
  return !/[^ \t]/.test(rest);
}
