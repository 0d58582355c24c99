/** Quotes text for a POSIX shell. */

/** One word, whatever is in it. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A command line for a person to copy: only words that need quotes have them. */
export function quoteCommand(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoteWord(word))).join(" ");
}
