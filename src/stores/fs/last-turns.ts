/**
 * Reads the last turns of a record from the end of its file, and parses nothing before them. This needs the usual
 * layout, where only elements are indented by two spaces. If the file looks different, the result is undefined: then
 * only a full read is certain.
 */
import {
  lastTurnStart,
  type StreamEntry,
  type StreamOutline,
} from "../../record/conversation/index.ts";
import { shouldYield, yieldToEventLoop } from "../../util/index.ts";
import type { LastTurns } from "../port.ts";
import { ByteWindow } from "./byte-window.ts";
import { ENDING_LENGTH, findAppendPoint } from "./event-layout.ts";
import { BETWEEN, ELEMENT_CLOSES, parseList, readEntries } from "./event-reader.ts";

/** The last turn is often short, so the first pieces are too. */
const FIRST_PIECE = 1 << 13;
const MAX_GROWTH = 128;
/** Files up to this many bytes are read at once. */
const SHORT = 1 << 16;

/** `count` is at least 1. `firstPiece` is in bytes. Throws `read_failed`. */
export async function findLastTurns(
  file: string,
  count: number,
  firstPiece = FIRST_PIECE,
): Promise<LastTurns | undefined> {
  using window = new ByteWindow(file);
  const tail = await readTail(window, count, firstPiece);
  if (tail === undefined) return undefined;
  const { entries, offset } = tail;
  const start = nthTurnStartFromEnd(entries, count);
  if (start === -1) return { entries, firstTurn: 0 };
  const first = offset === 0 ? entries.find(isEvent) : findFirstEvent(file);
  const starts = await findTurnStarts(window, offset);
  if (first === undefined || starts === undefined) return undefined;
  const earlier = starts.length + entries.slice(0, start).filter(isTurnStart).length;
  // Events before the first turn start form a turn too.
  const firstTurn = isTurnStart(first) ? earlier : earlier + 1;
  return { entries: entries.slice(start), firstTurn };
}

/**
 * The entries from the last turn start; empty without one. Unlike `findLastTurns`, reads nothing before. Undefined and
 * throws like it.
 */
export async function findLastTurn(file: string): Promise<readonly StreamEntry[] | undefined> {
  const end = await findRecordEnd(file);
  if (end === undefined) return undefined;
  const start = lastTurnStart(end.entries);
  return start === -1 ? [] : end.entries.slice(start);
}

/** The end of a record: its last turn, and possibly entries before it. */
export interface RecordEnd {
  readonly entries: readonly StreamEntry[];
  /** The end of the element before them; 0 if there is none. */
  readonly offset: number;
}

/** Without a turn start, the whole record. Undefined and throws like `findLastTurns`. */
export async function findRecordEnd(file: string): Promise<RecordEnd | undefined> {
  using window = new ByteWindow(file);
  const { size } = window;
  return await readTail(window, 1, size <= SHORT ? size : FIRST_PIECE);
}

/** Reads pieces from the end backwards, until they contain this many turn starts. */
async function readTail(
  window: ByteWindow,
  count: number,
  firstPiece: number,
): Promise<RecordEnd | undefined> {
  const { size } = window;
  const ending = window.readAt(Math.max(0, size - ENDING_LENGTH), ENDING_LENGTH);
  if (findAppendPoint(size, ending.toString("latin1")) === undefined) return undefined;
  const pieces: (readonly StreamEntry[])[] = [];
  let missing = count;
  let end = size;
  let length = firstPiece;
  while (missing > 0 && end > 0) {
    const start = Math.max(0, end - length);
    const bytes = window.readAt(start, end - start);
    const cut = start === 0 ? 0 : bytes.indexOf(BETWEEN);
    // A single element may be longer than any piece.
    if (cut === -1 || length < firstPiece * MAX_GROWTH) length *= 2;
    if (cut === -1) continue;
    const piece = parsePiece(bytes, { cut, isFirst: start === 0, isLast: end === size });
    if (piece === undefined) return undefined;
    pieces.unshift(piece);
    missing -= piece.filter(isTurnStart).length;
    end = start === 0 ? 0 : start + cut + ELEMENT_CLOSES;
    if (shouldYield()) await yieldToEventLoop();
  }
  return { entries: pieces.flat(), offset: end };
}

/**
 * The elements after the cut. If it is not between two elements of the record, but of a list inside
 * one, more brackets are closed than opened, and this is not JSON.
 */
function parsePiece(
  bytes: Buffer,
  { cut, isFirst, isLast }: { cut: number; isFirst: boolean; isLast: boolean },
): readonly StreamEntry[] | undefined {
  const elements = bytes.subarray(isFirst ? 0 : cut + BETWEEN.length - 1);
  return parseList(elements, isFirst ? "" : "[", isLast ? "" : "]");
}

/** -1 if there are fewer. */
function nthTurnStartFromEnd(entries: readonly StreamEntry[], count: number): number {
  let missing = count;
  return entries.findLastIndex((entry) => isTurnStart(entry) && (missing -= 1) === 0);
}

function isEvent({ eventType }: StreamEntry): boolean {
  return eventType !== undefined;
}

function isTurnStart({ eventType }: StreamEntry): boolean {
  return eventType === "turn_start";
}

/** Finds a text in overlapping pieces of a file. */
class Search {
  readonly #text: Buffer;
  /** Positions before this one are not reported again. */
  #next = 0;

  constructor(text: string) {
    this.#text = Buffer.from(text);
  }

  get length(): number {
    return this.#text.length;
  }

  /** The matches in these bytes, which start at the offset. */
  *in(bytes: Buffer, offset: number): Generator<number> {
    let at = Math.max(0, this.#next - offset) - 1;
    while ((at = bytes.indexOf(this.#text, at + 1)) !== -1) yield at;
    this.#next = Math.max(this.#next, offset + bytes.length - this.#text.length + 1);
  }
}

const TURN_START = '"turn_start"';
/** Part of the type of both kinds of delta. */
const DELTA = 'config_delta"';
/** The text before it in the usual layout: the end of another element, and the start of this one. */
const BEFORE = /\n {2}\},\n {2}\{\n {4}"timestamp": "[^"\\\n]{0,40}",\n {4}"type": $/;
const BEFORE_FIRST = /^\[\n {2}\{\n {4}"timestamp": "[^"\\\n]{0,40}",\n {4}"type": $/;
/** The longest possible match. */
const MAX_BEFORE = 100;
/** Programs escape only control characters. Escaped letters come from manual edits, if at all. */
const ESCAPED_ASCII = /\\u00[2-7]/;
const ESCAPE = Buffer.from("\\u00");

/**
 * Finds the turn starts before an offset by their bytes, and returns their positions. Undefined if their text also
 * occurs elsewhere. Does not notice damage: it also finds unreadable turn starts. `see` gets each piece of the file;
 * the pieces overlap.
 */
async function findTurnStarts(
  window: ByteWindow,
  end: number,
  see?: (bytes: Buffer, offset: number) => void,
): Promise<readonly number[] | undefined> {
  const turnStart = new Search(TURN_START);
  const starts: number[] = [];
  for (;;) {
    window.fill();
    const { offset } = window;
    const bytes = window.bytes.subarray(0, end - offset);
    for (const at of turnStart.in(bytes, offset)) {
      const before = bytes.toString("latin1", Math.max(0, at - MAX_BEFORE), at);
      const isFirst = offset === 0 && at < MAX_BEFORE;
      if (!(isFirst ? BEFORE_FIRST : BEFORE).test(before)) return undefined;
      starts.push(offset + at);
    }
    see?.(bytes, offset);
    if (hasEscapedAscii(bytes)) return undefined;
    if (window.isAtEnd || offset + window.bytes.length >= end) return starts;
    window.advance(Math.max(0, bytes.length - MAX_BEFORE - turnStart.length));
    if (shouldYield()) await yieldToEventLoop();
  }
}

/**
 * An outline of the record before an offset, where an element must end. Parses only elements that look like config
 * deltas, and those before the first turn. Undefined if that is not enough. Throws `read_failed`.
 */
export async function outlineBefore(file: string, end: number): Promise<StreamOutline | undefined> {
  using window = new ByteWindow(file);
  const delta = new Search(DELTA);
  /** Candidates only: a text may contain the word. */
  const found: number[] = [];
  const starts = await findTurnStarts(window, end, (bytes, offset) => {
    for (const at of delta.in(bytes, offset)) found.push(offset + at);
  });
  const [first] = starts ?? [];
  if (starts === undefined || first === undefined) return undefined;
  const opening = readElementsBefore(window, first);
  const deltas = readElementsAt(window, found, end);
  if (opening === undefined || deltas === undefined) return undefined;
  // Events before the first turn start form a turn too.
  const lastTurn = starts.length - (opening.some(isEvent) ? 0 : 1);
  return { deltas, lastTurn };
}

/** The elements before the one at a position. */
function readElementsBefore(
  window: ByteWindow,
  position: number,
): readonly StreamEntry[] | undefined {
  const bytes = window.readAt(0, position);
  const cut = bytes.lastIndexOf(BETWEEN);
  return cut === -1 ? [] : parseList(bytes.subarray(0, cut + ELEMENT_CLOSES), "", "]");
}

/** The elements at these positions, each once. */
function readElementsAt(
  window: ByteWindow,
  positions: readonly number[],
  end: number,
): readonly StreamEntry[] | undefined {
  const all: (readonly StreamEntry[])[] = [];
  let read = 0;
  for (const position of positions) {
    if (position < read) continue;
    const found = readElementAt(window, position, end);
    if (found === undefined) return undefined;
    all.push(found.entries);
    read = found.end;
  }
  return all.flat();
}

/** The element at a position, and its end. If the file has several on one line, all of them. */
function readElementAt(
  window: ByteWindow,
  position: number,
  limit: number,
): { readonly entries: readonly StreamEntry[]; readonly end: number } | undefined {
  for (let reach = FIRST_PIECE; ; reach *= 2) {
    const from = Math.max(0, position - reach);
    const bytes = window.readAt(from, Math.min(limit, position + reach) - from);
    const before = bytes.lastIndexOf(BETWEEN, position - from);
    const after = bytes.indexOf(BETWEEN, position - from);
    const isFirst = before === -1 && from === 0;
    const isLast = after === -1 && position + reach >= limit;
    if ((before === -1 && !isFirst) || (after === -1 && !isLast)) continue;
    const end = isLast ? bytes.length : after + ELEMENT_CLOSES;
    const elements = bytes.subarray(isFirst ? 0 : before + BETWEEN.length - 1, end);
    const entries = parseList(elements, isFirst ? "" : "[", "]");
    return entries && { entries, end: from + end };
  }
}

function hasEscapedAscii(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(ESCAPE); at !== -1; at = bytes.indexOf(ESCAPE, at + 1)) {
    if (ESCAPED_ASCII.test(bytes.toString("latin1", at, at + 5))) return true;
  }
  return false;
}

/** Undefined if the file does not begin in the usual layout. */
function findFirstEvent(file: string): StreamEntry | undefined {
  for (const { entries, isScanned } of readEntries(file)) {
    const first = entries.find(isEvent);
    if (isScanned || first !== undefined) return isScanned ? undefined : first;
  }
  return undefined;
}
