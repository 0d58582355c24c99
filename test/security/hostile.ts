/** One text with everything in it that a terminal acts on, and what of a screen's bytes is not ours. */

/** None of its sequences is one that we write ourselves. */
const FRAGMENTS = [
  "\x1b[45m", // A colour.
  "\x1b[3;7H", // Somewhere else on the screen.
  "\x1b[?1000h", // The mouse.
  "\x1b[21t", // Has the terminal type its title.
  "\x1b]0;title\x07",
  "\x1b]8;;https://stranger.invalid/\x07",
  "\x1b]52;c;c3RyYW5nZXI=\x07", // The clipboard.
  "\x1bP+q544e\x1b\\",
  "\x1b_Gq\x1b\\",
  "\x1bc", // A reset.
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

/** The last words stand at the beginning of a line if a line break is let through. */
export const HOSTILE = `x${FRAGMENTS.join("x")}\rFORGED\nFORGED`;

/** The same, longer than any line or screen. */
export const LONG = `${HOSTILE}${"z".repeat(5000)}${HOSTILE}`;

/** What we write ourselves. A link leads where it says, and to no stranger. */
const OWN = [
  /\x1b\[H\x1b\[2J/g,
  /\x1b\[(?:[0-49]|2[2-9]|3[0-79]|9[0-7])(?:;\d+)*m/g,
  /\x1b\[\d*[ABCDGJK]/g,
  /\x1b\[(?:6n|>c)/g,
  /\x1b\[\?(?:25|1049|2004|2026)[hl]/g,
  /\x1b\]8;;(?:(?:https?|file|mailto):[!-~]*)?\x1b\\/g,
  /\x1b\]9;jp: [^\0-\x1f\x7f-\x9f]*\x07/g,
];

const ACTED_ON =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]/;

/** What a terminal would act on although we did not write it, with what stands around it; else null. */
export function foreignIn(bytes: string): string | null {
  // Lines end in both characters on a terminal, and ours begin anew by the first.
  const own = bytes.replaceAll("\r\n", "\n").replaceAll(/\r(?!FORGED)/g, "");
  const rest = OWN.reduce((text, sequence) => text.replaceAll(sequence, ""), own);
  const index = rest.search(ACTED_ON);
  return index === -1 ? null : JSON.stringify(rest.slice(Math.max(0, index - 30), index + 30));
}
