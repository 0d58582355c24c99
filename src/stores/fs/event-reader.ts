/**
 * Reads the array in `events.json` in pieces of bounded size. A file in the usual layout is split
 * between two elements and parsed piece by piece with `JSON.parse`. Anything else, such as a file
 * edited by hand or a torn end, is scanned element by element. Reports problems, never repairs them.
 */
import { isUtf8 } from "node:buffer";
import { StreamEntry } from "../../record/conversation/index.ts";
import { isJsonObject } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";
import { ByteWindow } from "./byte-window.ts";
import { scanElements } from "./element-scan.ts";

export interface EntryBatch {
  readonly entries: readonly StreamEntry[];
  readonly problems: readonly RecordProblem[];
  /** True if `JSON.parse` failed: the file is not in the layout that programs write. */
  readonly isScanned: boolean;
}

/** Ends one element and starts the next. */
export const BETWEEN = Buffer.from("\n  },\n  {");
/** The length of the part that belongs to the first of them. */
export const ELEMENT_CLOSES = "\n  }".length;
/** From there to one space before the next element: `parsePiece` puts a bracket there. */
const TO_NEXT_ELEMENT = BETWEEN.length - ELEMENT_CLOSES - 2;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;
const SPACE = 0x20;

/** A writer that never stops must not block a reader forever. */
const MAX_REREADS = 100;

/** A part of a file. */
interface Part {
  /** The end of an element, or 0. */
  readonly after?: number;
  /** The end of any element but the last. */
  readonly before?: number;
}

/**
 * Needs no lock: a writer only replaces the end of the list, so an unparsable end is read again if the file has changed
 * meanwhile. Throws `read_failed`.
 */
export function* readEntries(
  file: string,
  { after = 0, before = Number.POSITIVE_INFINITY }: Part = {},
): Generator<EntryBatch> {
  if (after >= before) return;
  using window = new ByteWindow(file);
  if (after > 0) window.seek(after + TO_NEXT_ELEMENT);
  let end = after;
  let { version } = window;
  let rereads = 0;
  for (;;) {
    window.fill();
    const isLast = window.offset + window.bytes.length > before;
    const cut = isLast
      ? before - window.offset - ELEMENT_CLOSES
      : window.isAtEnd
        ? -1
        : window.bytes.lastIndexOf(BETWEEN);
    if (cut === -1 && !window.isAtEnd) continue;
    const entries = parsePiece(window, cut === -1 ? undefined : cut + ELEMENT_CLOSES);
    if (entries === undefined) {
      const { version: now } = window;
      if (now === version || rereads === MAX_REREADS) break;
      version = now;
      rereads += 1;
      window.restart();
      continue;
    }
    yield { entries, problems: [], isScanned: false };
    if (window.isAtEnd || isLast) return;
    end = window.offset + cut + ELEMENT_CLOSES;
    window.advance(cut + ELEMENT_CLOSES + TO_NEXT_ELEMENT);
  }
  for (const { element, problem, end: elementEnd } of scanElements(window, end)) {
    if (elementEnd > before) return;
    const entries = element === undefined ? [] : [StreamEntry.fromJson(element)];
    yield { entries, problems: problem === undefined ? [] : [problem], isScanned: true };
  }
}

/** Whether an element ends at this position, and another one follows. Throws `read_failed`. */
export function endsElement(file: string, position: number): boolean {
  using window = new ByteWindow(file);
  return window.readAt(position - ELEMENT_CLOSES, BETWEEN.length).equals(BETWEEN);
}

/**
 * Parses the elements before the comma at `end`, or all that are left. Temporarily replaces the space
 * before and the comma after with brackets, which makes the piece a list without copying it.
 */
function parsePiece(
  window: ByteWindow,
  end: number | undefined,
): readonly StreamEntry[] | undefined {
  const { bytes, offset } = window;
  if (offset > 0) bytes[0] = OPENING_BRACKET;
  if (end !== undefined) bytes[end] = CLOSING_BRACKET;
  const entries = parseList(bytes.subarray(0, end === undefined ? undefined : end + 1));
  if (offset > 0) bytes[0] = SPACE;
  if (end !== undefined) bytes[end] = COMMA;
  return entries;
}

/** Undefined if the bytes are not UTF-8, or not a list of objects once wrapped in brackets. */
export function parseList(
  bytes: Buffer,
  opening = "",
  closing = "",
): readonly StreamEntry[] | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const value: unknown = JSON.parse(opening + bytes.toString("utf8") + closing);
    if (!Array.isArray(value) || !value.every(isJsonObject)) return undefined;
    const entries: StreamEntry[] = [];
    for (const element of value) entries.push(StreamEntry.fromJson(element));
    return entries;
  } catch {
    return undefined;
  }
}
