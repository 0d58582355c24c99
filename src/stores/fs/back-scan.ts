/**
 * Finds elements of a record by their bytes, from its end backwards, without parsing what is between them. This needs the
 * usual layout, where only elements are indented by two spaces.
 */
import { shouldYield, yieldToEventLoop } from "../../util/index.ts";
import type { ByteWindow } from "./byte-window.ts";

const TURN_START = Buffer.from('"turn_start"');
const COMPACTION = Buffer.from('"compaction"');
/** Part of the type of both kinds of delta. */
const DELTA = Buffer.from('config_delta"');
/** The text before a type in the usual layout: the end of another element, and the start of this one. */
const BEFORE_EVENT = /\n {2}\},\n {2}\{\n {4}"timestamp": "[^"\\\n]{0,40}",\n {4}"type": $/;
const BEFORE_FIRST = /^\[\n {2}\{\n {4}"timestamp": "[^"\\\n]{0,40}",\n {4}"type": $/;
const BEFORE_COMPACTION = /\n {2}\},\n {2}\{\n {4}"type": $/;
/** The longest possible match. */
const MAX_BEFORE = 100;
const MARGIN = 20;
/** Small, because the search often ends near the end of the file. */
const FIRST_BLOCK = 1 << 14;
/** Each read fits into the buffer that windows share. */
const MAX_BLOCK = (1 << 18) - MAX_BEFORE - MARGIN;
/** Programs escape only control characters. Escaped letters come from manual edits, if at all. */
const ESCAPED_ASCII = /\\u00[2-7]/;
const ESCAPE = Buffer.from("\\u00");

/** The finds in one piece of the file. Each position is that of the type of an element, in ascending order. */
export interface Found {
  readonly turnStarts: readonly number[];
  readonly compactions: readonly number[];
  /** Candidates only: a text may contain the word. */
  readonly deltas: readonly number[];
}

/** A part of a file. Nothing is found before `after`, which need not be the end of an element. */
interface Range {
  readonly after?: number;
  readonly before: number;
}

/**
 * Calls `see` with the finds of each piece, from the last one of a range to the first, until it returns true. Returns false
 * if there may be others: the text of a turn start occurs elsewhere too. Does not notice damage: it also finds unreadable
 * elements. Throws `read_failed`.
 */
export async function scanBack(
  window: ByteWindow,
  { after = 0, before }: Range,
  see: (found: Found) => boolean,
): Promise<boolean> {
  let length = FIRST_BLOCK;
  for (
    let end = before;
    end > Math.max(0, after);
    end -= length, length = Math.min(2 * length, MAX_BLOCK)
  ) {
    const start = Math.max(0, end - length);
    const offset = Math.max(0, start - MAX_BEFORE);
    const bytes = window.readAt(offset, Math.min(before, end + MARGIN) - offset);
    const piece = { bytes, offset, start, end };
    if (hasEscapedAscii(bytes)) return false;
    const turnStarts = [...positionsOf(TURN_START, piece)];
    if (!turnStarts.every((position) => startsTurn(textBefore(position, piece)))) return false;
    const compactions = [...positionsOf(COMPACTION, piece)].filter((position) =>
      BEFORE_COMPACTION.test(textBefore(position, piece)),
    );
    if (see({ turnStarts, compactions, deltas: [...positionsOf(DELTA, piece)] })) return true;
    if (shouldYield()) await yieldToEventLoop();
  }
  return true;
}

interface Piece {
  readonly bytes: Buffer;
  /** Of the bytes in the file. */
  readonly offset: number;
  /** Matches begin from here. */
  readonly start: number;
  /** And before this. */
  readonly end: number;
}

function* positionsOf(text: Buffer, { bytes, offset, start, end }: Piece): Generator<number> {
  for (let at = bytes.indexOf(text, start - offset); at !== -1; at = bytes.indexOf(text, at + 1)) {
    if (offset + at >= end) return;
    yield offset + at;
  }
}

function textBefore(position: number, { bytes, offset }: Piece): string {
  const at = position - offset;
  return bytes.toString("latin1", Math.max(0, at - MAX_BEFORE), at);
}

function startsTurn(before: string): boolean {
  return BEFORE_EVENT.test(before) || BEFORE_FIRST.test(before);
}

function hasEscapedAscii(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(ESCAPE); at !== -1; at = bytes.indexOf(ESCAPE, at + 1)) {
    if (ESCAPED_ASCII.test(bytes.toString("latin1", at, at + 5))) return true;
  }
  return false;
}
