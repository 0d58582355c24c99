/** Converts between the bytes of a file and its text. */

/** How a file encodes its text. */
interface TextFormat {
  readonly hasBom: boolean;
  /** Every line ends with CR LF. Mixed line endings are left as they are. */
  readonly isCrlf: boolean;
}

interface FormattedText {
  /** Has no byte order mark, and LF for CR LF if every line uses it. */
  readonly body: string;
  readonly format: TextFormat;
}

const BOM = "\uFEFF";

/** Undefined if the bytes are not UTF-8 text. */
export function parseText(bytes: Uint8Array): FormattedText | undefined {
  const text = decodeUtf8(bytes);
  if (text === undefined) return undefined;
  const isCrlf = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  const format = { hasBom: text.startsWith(BOM), isCrlf };
  return { body: toBody(text, format), format };
}

/** The inverse of `parseText`, byte for byte. */
export function toBytes({ body, format }: FormattedText): Buffer {
  const text = format.isCrlf ? body.replaceAll("\n", "\r\n") : body;
  return Buffer.from(format.hasBom ? `${BOM}${text}` : text);
}

/** Converts a text to the body format of its file, whichever format a model writes in. */
export function toBody(text: string, { hasBom, isCrlf }: TextFormat): string {
  const withoutBom = hasBom && text.startsWith(BOM) ? text.slice(BOM.length) : text;
  return isCrlf ? withoutBom.replaceAll("\r\n", "\n") : withoutBom;
}

/** Undefined if the bytes are not UTF-8 text. Keeps a byte order mark. */
export function decodeUtf8(bytes: Uint8Array, isTruncated = false): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    // `stream` drops a character split at the end.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: isTruncated,
    });
  } catch {
    return undefined;
  }
}

/** Bytes that never occur in Windows-1252 text: controls other than tab, line breaks and form feed, and unassigned ones. */
const NEVER = /[\0-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]/;
/** The largest share of letters outside ASCII: more suggest another encoding, such as a Cyrillic one, or no text. */
const MAX_SHARE = 0.4;
/** A character in UTF-8: the text is probably UTF-8 with an error. */
const UTF8_CHARACTER = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/;

/** Undefined if the bytes do not look like Windows-1252, which contains Latin-1 (ISO 8859-1). They must not be UTF-8. */
export function decodeWindows1252(bytes: Buffer): string | undefined {
  const text = bytes.toString("latin1");
  if (NEVER.test(text) || UTF8_CHARACTER.test(text)) return undefined;
  const outside = text.match(/[\x80-\xff]/g)?.length ?? 0;
  if (outside > text.length * MAX_SHARE) return undefined;
  return new TextDecoder("windows-1252").decode(bytes);
}
