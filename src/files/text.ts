/** Converts between the bytes of a file and its text. */

/** How a file encodes its text. */
interface TextFormat {
  readonly hasBom: boolean;
  /** Every line ends with CR LF. Files with mixed line endings are left as they are. */
  readonly isCrlf: boolean;
}

interface FormattedText {
  /** Without the byte order mark, and with LF for CR LF if every line has it. */
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

/** The body of a text, which keeps the format of its file whatever format a model writes in. */
export function toBody(text: string, { hasBom, isCrlf }: TextFormat): string {
  const withoutBom = hasBom && text.startsWith(BOM) ? text.slice(BOM.length) : text;
  return isCrlf ? withoutBom.replaceAll("\r\n", "\n") : withoutBom;
}

/** Undefined if the bytes are not UTF-8 text. Keeps a byte order mark. */
export function decodeUtf8(bytes: Uint8Array, isTruncated = false): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    // `stream` drops a character that was cut in two at the end.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: isTruncated,
    });
  } catch {
    return undefined;
  }
}
