/** Quotes text for a POSIX shell. */

/** Quotes any text as one word. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A command line for a person to copy: quotes only the words that need it. */
export function quoteCommand(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoteWord(word))).join(" ");
}
