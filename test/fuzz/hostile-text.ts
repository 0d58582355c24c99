/** Generators of hostile text, and of mutations of text. */
import * as fc from "fast-check";

/** Characters and sequences that confuse parsers, terminals and people. */
const HOSTILE_PIECES: readonly string[] = [
  // Terminal sequences, complete and truncated.
  "\u001b[2J",
  "\u001b[31m",
  "\u001b[6n",
  "\u001b]8;;http://evil\u0007",
  "\u001b]0;title\u001b\\",
  "\u001bP1$r0m\u001b\\",
  "\u001b[?1049h",
  "\u001b[",
  "\u001b]",
  "\u001b",
  "\u009b2J",
  "\u0007",
  "\b\b\b",
  "\u007f",
  "\0",
  // Marks that reverse, hide or join text.
  "\u202e",
  "\u2066",
  "\u2069",
  "\u200b",
  "\u200d",
  "\u2028",
  "\ufeff",
  "\u{e0041}",
  "e\u0301\u0301\u0301",
  "👩🏽\u200d💻",
  "日本",
  "\ud800",
  "\udfff",
  // Line endings.
  "\r\n",
  "\r",
  "\n",
  "\t",
  "\u0085",
  // Names of built-in members, and the syntax of JSON and other formats.
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  '"',
  "'",
  "\\",
  "\\u0000",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "=",
  "#",
  "&a",
  "*a",
  "${x}",
  "{{ x }}",
  "../",
  "%00",
];

export const hostilePiece: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...HOSTILE_PIECES) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 4 }) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  },
);

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 40, arbitrary: fc.array(hostilePiece, { maxLength: 6 }).map((all) => all.join("")) },
  { weight: 4, arbitrary: fc.constant("") },
  {
    weight: 1,
    arbitrary: fc
      .tuple(hostilePiece, fc.integer({ min: 1, max: 3000 }))
      .map(([piece, count]) => piece.repeat(count).slice(0, 9000)),
  },
);

type Damage = (text: string, at: number, end: number) => string;

/** `at` and `end` are positions in the text, in order. */
const anyDamage: fc.Arbitrary<Damage> = fc.oneof(
  fc.constantFrom<Damage>(
    (text, at) => text.slice(0, at),
    (text, at, end) => text.slice(0, at) + text.slice(end),
    (text, at, end) => text.slice(0, end) + text.slice(at),
    (text, at, end) =>
      text.slice(0, at) + Array.from(text.slice(at, end)).toReversed().join("") + text.slice(end),
    (text) => text.replaceAll("\n", "\r\n"),
    (text) => `\ufeff${text}`,
    (text, at, end) => text.slice(0, at) + text.slice(at, end).toUpperCase() + text.slice(end),
  ),
  hostilePiece.map(
    (piece): Damage =>
      (text, at) =>
        text.slice(0, at) + piece + text.slice(at),
  ),
  hostilePiece.map(
    (piece): Damage =>
      (text, at, end) =>
        text.slice(0, at) + piece + text.slice(end),
  ),
);

/** The text, unchanged or with a few parts cut, doubled, reversed or replaced. */
export function damagedText(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const place = fc.double({ min: 0, max: 1, noNaN: true });
  const damages = fc.array(fc.tuple(anyDamage, place, place), { maxLength: 3 });
  return fc.tuple(text, damages).map(([whole, all]) => all.reduce(damage, whole));
}

function damage(text: string, [apply, one, other]: readonly [Damage, number, number]): string {
  const [at, end] = [one, other].map((share) => Math.floor(share * text.length));
  return apply(text, Math.min(at ?? 0, end ?? 0), Math.max(at ?? 0, end ?? 0));
}

/** The text in pieces, split anywhere, even within a character or a sequence. */
export function inPieces(text: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> {
  const lengths = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 6 });
  return fc.tuple(text, lengths).map(([whole, cycle]) => {
    const pieces: string[] = [];
    for (let start = 0, index = 0; start < whole.length; index += 1) {
      const length = Math.max(1, cycle[index % cycle.length] ?? 1);
      pieces.push(whole.slice(start, start + length));
      start += length;
    }
    return pieces;
  });
}
