/** Finds where a JSON value ends, byte by byte, without parsing it. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;
const SPACE = 0x20;

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
  let position = from;
  for (;;) {
    const quote = bytes.indexOf(QUOTE, position);
    const end = quote === -1 || quote >= to ? to : quote;
    // A raw line break inside a string: its closing quote is missing.
    const newline = bytes.indexOf(0x0a, position);
    if (newline !== -1 && newline < end) return INVALID;
    if (end === to) return INCOMPLETE;
    let backslashes = 0;
    while (bytes[quote - 1 - backslashes] === BACKSLASH && quote - backslashes > from) {
      backslashes += 1;
    }
    if (backslashes % 2 === 0) return quote + 1;
    position = quote + 1;
  }
}

function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte <= SPACE;
}
