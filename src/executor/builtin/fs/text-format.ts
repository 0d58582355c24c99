/** How a text is written in a file: its byte order mark and its line ends, apart from what it says. */

export interface TextFormat {
  readonly hasMark: boolean;
  /** Every line ends with CR LF. Files that mix line ends are taken as they are. */
  readonly isCrlf: boolean;
}

export interface FormattedText {
  /** Without the mark; with LF alone where every line ends with CR LF. */
  readonly body: string;
  readonly format: TextFormat;
}

const MARK = "\uFEFF";

/** Undefined for what is not text in UTF-8. */
export function parseText(bytes: Uint8Array): FormattedText | undefined {
  const text = decodeUtf8(bytes);
  if (text === undefined) return undefined;
  const hasMark = text.startsWith(MARK);
  const isCrlf = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  const unmarked = hasMark ? text.slice(MARK.length) : text;
  return { body: isCrlf ? toLf(unmarked) : unmarked, format: { hasMark, isCrlf } };
}

/** The opposite: the same body in the same format gives the same bytes. */
export function toBytes({ body, format }: FormattedText): Buffer {
  const text = format.isCrlf ? body.replaceAll("\n", "\r\n") : body;
  return Buffer.from(format.hasMark ? `${MARK}${text}` : text);
}

/** Text of a model as the body of a file: the file's format is kept, whatever the model wrote. */
export function toBody(text: string, { hasMark, isCrlf }: TextFormat): string {
  const unmarked = hasMark && text.startsWith(MARK) ? text.slice(MARK.length) : text;
  return isCrlf ? toLf(unmarked) : unmarked;
}

/** Undefined for what is not text in UTF-8. A mark is kept. */
export function decodeUtf8(bytes: Uint8Array, isCut = false): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    // Of a character that was cut in two, nothing is decoded.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: isCut,
    });
  } catch {
    return undefined;
  }
}

function toLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
