/** Finds where a JSON value ends, byte by byte, without parsing it. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;
const SPACE = 0x20;
const NEWLINE = 0x0a;

/** The value is cut off by the end of the bytes. */
export const INCOMPLETE = -1;
/** No JSON value can begin like this. */
export const INVALID = -2;

/**
 * The position behind the value that starts at `from`. Brackets are counted and strings skipped;
 * whether the value is good JSON is for a parser to say.
 */
export function findElementEnd(bytes: Buffer, from: number, to: number): number {
  let depth = 0;
  for (let position = from; position < to; position += 1) {
    const byte = bytes[position] as number; // In bounds by the loop's condition.
    if (byte === QUOTE) {
      const end = findStringEnd(bytes, position + 1, to);
      if (end < 0) return end;
      position = end - 1;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      continue;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth < 0) return position; // The list around a bare number or word.
    } else if (depth > 0 || !isDelimiter(byte)) {
      continue;
    } else {
      return position;
    }
    if (depth === 0) return position + 1;
  }
  return INCOMPLETE;
}

/** The position behind the closing quote; `from` is behind the opening one. */
export function findStringEnd(bytes: Buffer, from: number, to: number): number {
  let quote = bytes.indexOf(QUOTE, from);
  while (quote !== -1 && quote < to && isEscaped(bytes, from, quote)) {
    quote = bytes.indexOf(QUOTE, quote + 1);
  }
  const isClosed = quote !== -1 && quote < to;
  // A raw line break inside a string: its closing quote is missing.
  if (bytes.subarray(from, isClosed ? quote : to).includes(NEWLINE)) return INVALID;
  return isClosed ? quote + 1 : INCOMPLETE;
}

function isEscaped(bytes: Buffer, from: number, quote: number): boolean {
  let first = quote;
  while (first > from && bytes[first - 1] === BACKSLASH) first -= 1;
  return (quote - first) % 2 === 1;
}

function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte <= SPACE;
}
