/**
 * Reads the last turns of a record from the end of its file, and parses nothing before them. This needs the usual
 * layout, where only elements are indented by two spaces. If the file looks different, the result is undefined: then
 * only a full read is certain.
 */
import {
  isTurnStart,
  lastTurnStart,
  nthTurnStartFromEnd,
  type StreamEntry,
} from "../../record/conversation/index.ts";
import { loaderOf, shouldYield, yieldToEventLoop } from "../../util/index.ts";
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
  const { scanBack } = await loadScan();
  let earlier = entries.slice(0, start).filter(isTurnStart).length;
  const isCertain = await scanBack(window, { before: offset }, ({ turnStarts }) => {
    earlier += turnStarts.length;
    return false;
  });
  if (first === undefined || !isCertain) return undefined;
  // Events before the first turn start form a turn too.
  const firstTurn = isTurnStart(first) ? earlier : earlier + 1;
  return { entries: entries.slice(start), firstTurn };
}

/** Only long records have turns before those that are read. Throws `module_not_loaded`. */
const loadScan = loaderOf(() => import("./back-scan.ts"));

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
  /** A list of its own. */
  readonly entries: StreamEntry[];
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

function isEvent({ eventType }: StreamEntry): boolean {
  return eventType !== undefined;
}

/** Undefined if the file does not begin in the usual layout. */
function findFirstEvent(file: string): StreamEntry | undefined {
  for (const { entries, isScanned } of readEntries(file)) {
    const first = entries.find(isEvent);
    if (isScanned || first !== undefined) return isScanned ? undefined : first;
  }
  return undefined;
}
