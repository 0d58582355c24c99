/** Characters written as HTML entities: those that models write, and numbers. */

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  apos: "'",
  copy: "©",
  gt: ">",
  hellip: "…",
  larr: "←",
  le: "≤",
  ge: "≥",
  ldquo: "“",
  lsquo: "‘",
  lt: "<",
  mdash: "—",
  middot: "·",
  nbsp: "\u00a0",
  ndash: "–",
  ne: "≠",
  quot: '"',
  rarr: "→",
  rdquo: "”",
  reg: "®",
  rsquo: "’",
  times: "×",
  trade: "™",
};

/** Unknown ones stay as they are. The result may hold any character: it is to be neutralised. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#\d{1,7}|[a-z]+);/gi, decode);
}

function decode(entity: string, hexadecimal?: string): string {
  const name = entity.slice(1, -1);
  if (!name.startsWith("#")) return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? entity) : entity;
  const code = hexadecimal === undefined ? Number(name.slice(1)) : Number.parseInt(hexadecimal, 16);
  const isCharacter = code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff);
  return isCharacter ? String.fromCodePoint(code) : "\u{fffd}";
}
