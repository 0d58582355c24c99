/** Decodes HTML character references in Markdown. */

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  apos: "'",
  copy: "©",
  gt: ">",
  hellip: "…",
  lt: "<",
  mdash: "—",
  nbsp: "\u{a0}",
  ndash: "–",
  quot: '"',
};

/** Leaves unknown references as they are. The result is text, and must be neutralized. */
export function decodeEntities(text: string): string {
  return text.replaceAll(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]+);/gi, (whole, name: string) =>
    name.startsWith("#")
      ? fromCode(name)
      : Object.hasOwn(NAMED, name)
        ? (NAMED[name] ?? whole)
        : whole,
  );
}

function fromCode(name: string): string {
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  const isCharacter = code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff);
  return isCharacter ? String.fromCodePoint(code) : "\u{fffd}";
}
