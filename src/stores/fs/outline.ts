/**
 * Says what is in a part of a record without parsing most of it, and reads records in which summaries replace turns. Undefined
 * means that only a full read is certain.
 */
import {
  checkpointOf,
  isAt,
  outlineAt,
  type StreamEntry,
  TurnCounter,
} from "../../record/conversation/index.ts";
import { shouldYield, yieldToEventLoop } from "../../util/index.ts";
import type {
  AroundReplaced,
  PlacedCheckpoint,
  ReadAround,
  RecordOutline,
  UnreadSource,
} from "../abridged-part.ts";
import { type Found, scanBack } from "./back-scan.ts";
import { ByteWindow } from "./byte-window.ts";
import { BETWEEN, ELEMENT_CLOSES, parseList, readEntries } from "./event-reader.ts";

/** Long enough for most elements. */
const FIRST_REACH = 1 << 13;

/** In bytes. The start of a turn takes more. */
const MIN_TURN = 50;

/** The part of a record before an offset, where an element must end. Each position is that of the end of an element. */
export function sourceBefore(file: string, end: number): UnreadSource {
  return {
    end,
    maxTurns,
    outline: () => outlineBefore(file, end),
    findCheckpoint: () => findCheckpoint(file, end),
    readAround: (around) => readAround(file, end, around),
  };
}

function maxTurns(offset: number): number {
  return offset / MIN_TURN;
}

/**
 * An outline of the record before an offset, where an element must end. Reads nothing before a checkpoint. Parses only
 * elements that look like config deltas or compactions, and those before the first turn. Throws `read_failed`.
 */
async function outlineBefore(file: string, end: number): Promise<RecordOutline | undefined> {
  using window = new ByteWindow(file);
  const outliner = new Outliner(window, end);
  const isCertain = await scanBack(window, { before: end }, (found) => outliner.see(found));
  return isCertain ? outliner.result() : undefined;
}

/** In bytes. With more after a compaction, hardly anything would be saved. */
const MAX_SEARCHED = 1 << 24;

/** A record from elsewhere may have any number of compactions that say nothing. */
const MAX_TRIED = 64;

/** The last checkpoint before an offset, where an element must end. Throws `read_failed`. */
async function findCheckpoint(file: string, end: number): Promise<RecordOutline | undefined> {
  using window = new ByteWindow(file);
  const outliner = new Outliner(window, end);
  const range = { after: end - MAX_SEARCHED, before: end };
  const isCertain = await scanBack(window, range, (found) => outliner.see(found));
  return isCertain && outliner.isDone ? outliner.result() : undefined;
}

/** Puts together what is found, from the end backwards. */
class Outliner {
  readonly #window: ByteWindow;
  readonly #end: number;
  /** Positions in descending order. */
  readonly #starts: number[] = [];
  readonly #deltas: number[] = [];
  /** A checkpoint whose turn has not been found yet, and how many turns start after it. */
  #open: { readonly checkpoint: PlacedCheckpoint; readonly starts: number } | undefined;
  #isDone = false;
  /** How many compactions have been looked at. */
  #tried = 0;

  constructor(window: ByteWindow, end: number) {
    this.#window = window;
    this.#end = end;
  }

  /** A checkpoint was found. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Returns true once nothing before it matters. */
  see({ turnStarts, compactions, deltas }: Found): boolean {
    this.#deltas.push(...deltas.toReversed());
    const marks = [
      ...turnStarts.map((position) => ({ position, isStart: true })),
      ...compactions.map((position) => ({ position, isStart: false })),
    ].toSorted((one, other) => other.position - one.position);
    for (const { position, isStart } of marks) {
      if (isStart) this.#seeStart(position);
      else this.#open ??= this.#findCheckpoint(position);
      if (this.#isDone) return true;
    }
    return false;
  }

  #seeStart(position: number): void {
    const { checkpoint } = this.#open ?? {};
    if (checkpoint !== undefined) {
      const [entry] = readElementAt(this.#window, position, this.#end)?.entries ?? [];
      const room = maxTurns(checkpoint.position);
      this.#isDone = isAt(checkpoint, entry?.event?.timestamp, room);
      if (this.#isDone) return;
      this.#open = undefined;
    }
    this.#starts.push(position);
  }

  #findCheckpoint(position: number) {
    this.#tried += 1;
    if (this.#tried > MAX_TRIED) return undefined;
    const found = readElementAt(this.#window, position, this.#end);
    const [entry] = found?.entries ?? [];
    const checkpoint = entry && checkpointOf(entry);
    if (found === undefined || checkpoint === undefined) return undefined;
    return {
      checkpoint: { ...checkpoint, position: found.start },
      starts: this.#starts.length,
    };
  }

  result(): RecordOutline | undefined {
    const { checkpoint, starts } = (this.#isDone ? this.#open : undefined) ?? {};
    const from = checkpoint?.position ?? 0;
    const candidates = this.#deltas.filter((position) => position > from).toReversed();
    const deltas = readElementsAt(this.#window, candidates, this.#end);
    if (deltas === undefined) return undefined;
    if (checkpoint !== undefined) {
      const before = outlineAt(checkpoint);
      const lastTurn = before.lastTurn + (starts ?? 0);
      return { deltas: [...before.deltas, ...deltas], lastTurn, checkpoint };
    }
    const first = this.#starts.at(-1);
    const opening = first === undefined ? undefined : readElementsBefore(this.#window, first);
    if (opening === undefined) return undefined;
    // Events before the first turn start form a turn too.
    return { deltas, lastTurn: this.#starts.length - (opening.some(isEvent) ? 0 : 1) };
  }
}

/** Throws `read_failed`. */
async function readAround(
  file: string,
  end: number,
  { replaced, turns, position }: AroundReplaced,
): Promise<ReadAround | undefined> {
  const head = await readHead(file, replaced.fromTurn);
  const start = turns === 0 ? position : await findStartOfTurn(file, position, turns);
  if (head === undefined || start === undefined) return undefined;
  const middle = await readPart(file, { after: start, before: position });
  const tail = await readPart(file, { after: position, before: end });
  return middle && tail && { head, middle, tail };
}

/** The entries of the first turns. */
async function readHead(file: string, turns: number): Promise<readonly StreamEntry[] | undefined> {
  const head: StreamEntry[] = [];
  if (turns === 0) return head;
  const counter = new TurnCounter();
  for (const { entries, isScanned } of readEntries(file)) {
    if (isScanned) return undefined;
    for (const entry of entries) {
      if (entry.eventType !== undefined && counter.next(entry.eventType) >= turns) return head;
      head.push(entry);
    }
    if (shouldYield()) await yieldToEventLoop();
  }
  return undefined;
}

/** The end of the element before the start of a turn, counted backwards from a position. */
async function findStartOfTurn(
  file: string,
  position: number,
  turns: number,
): Promise<number | undefined> {
  using window = new ByteWindow(file);
  let missing = turns;
  let type: number | undefined;
  const isCertain = await scanBack(window, { before: position }, ({ turnStarts }) => {
    type = turnStarts.at(-missing);
    missing -= turnStarts.length;
    return missing <= 0;
  });
  if (!isCertain || type === undefined) return undefined;
  return readElementAt(window, type, position)?.start;
}

async function readPart(
  file: string,
  part: { readonly after: number; readonly before: number },
): Promise<readonly StreamEntry[] | undefined> {
  const all: StreamEntry[] = [];
  for (const { entries, isScanned } of readEntries(file, part)) {
    if (isScanned) return undefined;
    for (const entry of entries) all.push(entry);
    if (shouldYield()) await yieldToEventLoop();
  }
  return all;
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

interface ReadElement {
  /** One, or all of a line if the file has several on it. */
  readonly entries: readonly StreamEntry[];
  /** The end of the element before; 0 if there is none. */
  readonly start: number;
  readonly end: number;
}

/** The element at a position. */
function readElementAt(
  window: ByteWindow,
  position: number,
  limit: number,
): ReadElement | undefined {
  for (let reach = FIRST_REACH; ; reach *= 2) {
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
    const start = isFirst ? 0 : from + before + ELEMENT_CLOSES;
    return entries && { entries, start, end: from + end };
  }
}

function isEvent({ eventType }: StreamEntry): boolean {
  return eventType !== undefined;
}
