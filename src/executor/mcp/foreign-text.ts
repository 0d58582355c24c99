/** Words of a server, cut to what a person can be expected to read. They stay foreign all the same. */

const LONGEST_LINE = 200;
const LONGEST_TEXT = 4000;

/** One line; what would break it becomes a space. May be empty. */
export function shortLine(text: string): string {
  return cut(text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), LONGEST_LINE);
}

export function shortText(text: string): string {
  return cut(text.trim(), LONGEST_TEXT);
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const start = text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, ""); // Half a character.
  return `${start}…`;
}
