/**
 * Scans a list element by element, keeps the bytes of each, and skips damage. Slower than
 * `JSON.parse`, so it is used only where that failed or the exact bytes matter.
 */
import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";
import type { ByteWindow } from "./byte-window.ts";

export interface ScannedElement {
  readonly element?: JsonObject;
  /** The element's bytes in the file. Valid until the next element is read. */
  readonly span?: Buffer;
  readonly problem?: RecordProblem;
  /** The offset after the last good element so far. The list can be closed there. */
  readonly end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
const NEWLINE = 0x0a;
const COMMA = 0x2c;
/** In the usual layout, only the last and first lines of an element begin like this. */
const ELEMENT_CLOSES = Buffer.from("\n  }");
const ELEMENT_OPENS = Buffer.from("\n  {");

/**
 * Starts at the opening bracket if the window is at the start of the file, otherwise at an element.
 * `end` is the offset after the previous element.
 */
export function* scanElements(
  window: ByteWindow,
  end = 0,
): Generator<ScannedElement, void, undefined> {
  if (window.offset === 0 && !enterList(window)) {
    yield wholeFileProblem(window);
    return;
  }
  let lastEnd = end === 0 ? window.offset : end;
  let isDamaged = false;
  for (;;) {
    const start = findValue(window);
    if (window.bytes[start] === CLOSE_BRACKET && (!isDamaged || isLast(window, start))) {
      return yield* afterList(window, start + 1, lastEnd);
    }
    window.advance(start);
    const length = findLength(window);
    const element =
      length === undefined ? undefined : parseElement(window.bytes.subarray(0, length));
    if (length !== undefined && element !== undefined) {
      lastEnd = window.offset + length;
      yield { element, span: window.bytes.subarray(0, length), end: lastEnd };
      window.advance(length);
      continue;
    }
    const damage = findDamage(window, length);
    if (damage === undefined) return yield endProblem(window, lastEnd);
    yield { problem: damagedProblem(window, damage), end: lastEnd };
    isDamaged = true;
    window.advance(damage);
  }
}

/** Skips the opening bracket, and a byte order mark before it. */
function enterList(window: ByteWindow): boolean {
  const start = findValue(window);
  if (window.bytes[start] !== OPEN_BRACKET) return false;
  window.advance(start + 1);
  return true;
}

/** The position of the next byte that is neither whitespace nor a comma, or the length of `bytes`. */
function findValue(window: ByteWindow, from = 0): number {
  let position = from;
  for (;;) {
    const { bytes } = window;
    while (position < bytes.length && isBetweenValues(bytes[position])) position += 1;
    if (position < bytes.length || window.isAtEnd) return position;
    window.fill();
  }
}

function isBetweenValues(byte: number | undefined): boolean {
  return byte === COMMA || (byte !== undefined && byte <= 0x20 && byte !== 0) || isMark(byte);
}

/** The three bytes of a byte order mark. None of them can start a value. */
function isMark(byte: number | undefined): boolean {
  return byte === 0xef || byte === 0xbb || byte === 0xbf;
}

/** The length of the first value; undefined if it has no end. */
function findLength(window: ByteWindow): number | undefined {
  for (;;) {
    const end = findElementEnd(window.bytes, 0, window.bytes.length);
    if (end > 0) return end;
    if (end !== INCOMPLETE || window.isAtEnd) return undefined;
    window.fill();
  }
}

function parseElement(span: Buffer): JsonObject | undefined {
  if (!isUtf8(span)) return undefined;
  try {
    const value: unknown = JSON.parse(span.toString("utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * How many bytes to skip: to the end of the value, to the next line that closes an element, or to
 * the next that opens one, whichever comes first. Undefined if the rest of the file is lost.
 */
function findDamage(window: ByteWindow, length: number | undefined): number | undefined {
  for (;;) {
    const close = window.bytes.indexOf(ELEMENT_CLOSES);
    const open = window.bytes.indexOf(ELEMENT_OPENS, 1);
    const ends = [length, close === -1 ? undefined : close + ELEMENT_CLOSES.length, open];
    const found = ends.filter((end) => end !== undefined && end > 0) as number[]; // Filtered.
    if (found.length > 0) return Math.min(...found);
    if (window.isAtEnd) return undefined;
    window.fill();
  }
}

/** After damage, a bracket may belong to the rest of an element. The list's own begins a line, or has nothing after it. */
function isLast(window: ByteWindow, bracket: number): boolean {
  const [before] = window.readAt(window.offset + bracket - 1, 1);
  return before === NEWLINE || findValue(window, bracket + 1) === window.bytes.length;
}

/** Bytes after the closing bracket come from a write that was rolled back, or from manual edits. */
function* afterList(
  window: ByteWindow,
  from: number,
  end: number,
): Generator<ScannedElement, void, undefined> {
  if (findValue(window, from) === window.bytes.length) return;
  fillToEnd(window);
  yield { problem: tornProblem(window, end), end };
}

/**
 * Torn if the bytes look like the start of one of our own writes, or are all zero. Only then is it
 * certain that cutting them off loses at most one append.
 */
function endProblem(window: ByteWindow, end: number): ScannedElement {
  fillToEnd(window);
  const isNothing = window.bytes.every((byte) => byte === 0);
  const beginning = window.readAt(end, 8).toString("latin1");
  // A page that never reached the disk reads as zeros.
  const isOurs = /^(?:\0|,?\n {2}\{(?:\n|\0|$))/.test(beginning);
  if (isNothing || isOurs) return { problem: tornProblem(window, end), end };
  return { problem: damagedProblem(window, window.bytes.length), end };
}

function fillToEnd(window: ByteWindow): void {
  while (!window.isAtEnd) window.fill();
}

function wholeFileProblem(window: ByteWindow): ScannedElement {
  fillToEnd(window);
  const isEmpty = window.bytes.every((byte) => byte === 0 || isBetweenValues(byte));
  if (isEmpty) return { problem: emptyProblem(window), end: 0 };
  return { problem: damagedProblem(window, window.bytes.length, "not a list of events"), end: 0 };
}

function emptyProblem({ file, bytes }: ByteWindow): RecordProblem {
  const { length } = bytes;
  const message =
    length === 0 ? "it is empty" : `it has no events, only zeros or white space (${count(length)})`;
  return { type: "torn", file, offset: 0, length, message };
}

function tornProblem(window: ByteWindow, offset: number): RecordProblem {
  const length = window.offset + window.bytes.length - offset;
  const message = `the last write was cut off: ${count(length)} after the last complete event`;
  return { type: "torn", file: window.file, offset, length, message };
}

function damagedProblem(
  window: ByteWindow,
  length: number,
  what = "unreadable event",
): RecordProblem {
  const { file, offset } = window;
  return {
    type: "damaged",
    file,
    offset,
    length,
    message: `${what} at byte ${offset} (${count(length)})`,
  };
}

function count(bytes: number): string {
  return bytes === 1 ? "1 byte" : `${bytes} bytes`;
}

/** The bytes end before the value does. */
export const INCOMPLETE = -1;
/** No JSON value can start like this. */
export const INVALID = -2;

/**
 * The position after the value that starts at `from`. Counts brackets and skips strings; does not
 * check that the value is valid JSON.
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

/** The position after the closing quote. `from` is after the opening one. */
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
