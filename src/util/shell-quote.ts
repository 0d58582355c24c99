/** A text as one word of a POSIX shell, whatever is in it. */

export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
