/** A text with everything that a terminal interprets, and a check for such text in jp's output. */

/** Sequences that jp never writes. */
const FRAGMENTS = [
  "\x1b[45m", // A color.
  "\x1b[3;7H", // Moves the cursor.
  "\x1b[?1000h", // Turns on mouse reports.
  "\x1b[21t", // Makes the terminal type its title.
  "\x1b]0;title\x07",
  "\x1b]8;;https://stranger.invalid/\x07",
  "\x1b]52;c;c3RyYW5nZXI=\x07", // Writes to the clipboard.
  "\x1bP+q544e\x1b\\",
  "\x1b_Gq\x1b\\",
  "\x1bc", // Resets the terminal.
  "\x9b2J",
  "\x9d0;title\x9c",
  "\x85",
  "\x07",
  "\b\b\b",
  "\x7f",
  "\u202e\u2066",
  "\u200b\u2060",
  "\u2028",
  "\ufeff",
];

/** The last words start a line if a line break gets through. */
export const HOSTILE = `x${FRAGMENTS.join("x")}\rFORGED\nFORGED`;

/** The same, longer than any line or screen. */
export const LONG = `${HOSTILE}${"z".repeat(5000)}${HOSTILE}`;

/** The sequences that jp writes. Links are limited to harmless schemes. */
const JP_SEQUENCES = [
  /\x1b\[H\x1b\[2J/g,
  /\x1b\[(?:[0-49]|2[2-9]|3[0-79]|9[0-7])(?:;\d+)*m/g,
  /\x1b\[\d*[ABCDGJK]/g,
  /\x1b\[(?:6n|>c)/g,
  /\x1b\[\?(?:25|1049|2004|2026)[hl]/g,
  /\x1b\]8;;(?:(?:https?|file|mailto):[!-~]*)?\x1b\\/g,
  /\x1b\]9;jp: [^\0-\x1f\x7f-\x9f]*\x07/g,
];

const INTERPRETED =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]/;

/** jp removes what it has drawn, and writes what follows in its place. */
const ERASED = /\r(?:\x1b\[\d+A)?\x1b\[K\x1b\[C\x1b\[J\r/g;

/** The first control character that jp did not write, with the text around it, or null. */
export function foreignIn(bytes: string): string | null {
  // A terminal gets both characters at the end of a line. jp writes the first alone to redraw a line.
  const drawn = bytes.replaceAll(ERASED, "");
  const own = drawn.replaceAll("\r\n", "\n").replaceAll(/\r(?!FORGED)/g, "");
  const rest = JP_SEQUENCES.reduce((text, sequence) => text.replaceAll(sequence, ""), own);
  const index = rest.search(INTERPRETED);
  return index === -1 ? null : JSON.stringify(rest.slice(Math.max(0, index - 30), index + 30));
}
