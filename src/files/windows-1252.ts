/** Recognizes text in Windows-1252, which contains Latin-1 (ISO 8859-1), among bytes that are not UTF-8. */

/** Bytes that no such text has: controls other than tab, line breaks and form feed, and those without a meaning. */
const NEVER = /[\0-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]/;
/** Letters outside ASCII: more would be another encoding, such as that of a Cyrillic text, or no text. */
const MAX_SHARE = 0.4;
/** A character in UTF-8: such a text is UTF-8 with an error in it. */
const UTF8_CHARACTER = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/;

/** Undefined if the bytes do not look like it. They must not be UTF-8. */
export function decodeWindows1252(bytes: Buffer): string | undefined {
  const text = bytes.toString("latin1");
  if (NEVER.test(text) || UTF8_CHARACTER.test(text)) return undefined;
  const outside = text.match(/[\x80-\xff]/g)?.length ?? 0;
  if (outside > text.length * MAX_SHARE) return undefined;
  return new TextDecoder("windows-1252").decode(bytes);
}
