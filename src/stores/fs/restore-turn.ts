/**
 * Compares a record that could not be read whole with the copy of its open turn in the user's own folder, and says what
 * the copy can restore. Reads and writes nothing itself.
 */
import { StreamEntry } from "../../record/conversation/index.ts";
import { parseJson, isJsonObject, withoutLoneSurrogates } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";

/** A problem, and where it is: after so many entries. */
export interface PlacedProblem {
  readonly problem: RecordProblem;
  readonly after: number;
}

/** All that could be read of a record. */
export interface ReadRecord {
  readonly entries: readonly StreamEntry[];
  readonly placed: readonly PlacedProblem[];
}

/** What this user's processes have written of the open turn, one entry per line. */
export interface TurnCopy {
  /** Empty if there is an open turn that the copy does not have. */
  readonly lines: readonly string[];
  /** How many of them are of the last write, which may not have reached the record. */
  readonly lastWrite: number;
}

/** The record with its open turn: so many of its own entries, then the lines of the copy. */
export interface RestoredTurn {
  readonly kept: number;
  readonly lines: readonly string[];
  readonly entries: readonly StreamEntry[];
}

/** The line of an entry in a copy: what is in the record once it is read again. */
export function lineOf(entry: StreamEntry): string {
  return withoutLoneSurrogates(entry.toText());
}

/** Nothing in it says that it may have lost something. */
export function isWhole({ entries, placed }: ReadRecord): boolean {
  return placed.length === 0 && entries.length > 0;
}

/**
 * With the problem of a list without events, if the copy has writes that were acknowledged. A list of other events may be
 * another version of the record, which a program like git has put there: the turn is not lost then, only not in this one.
 */
export function withLoss<Read extends ReadRecord>(
  file: string,
  read: Read,
  copy: TurnCopy | undefined,
): Read & { readonly problems: readonly RecordProblem[] } {
  const { entries, placed } = read;
  const isLost =
    entries.length === 0 && placed.length === 0 && copy && copy.lines.length > copy.lastWrite;
  if (isLost !== true) return { ...read, problems: placed.map(({ problem }) => problem) };
  const message = "it has no events, although a turn is open";
  const problem: RecordProblem = { type: "damaged", file, offset: 0, length: 0, message };
  return { ...read, placed: [{ problem, after: 0 }], problems: [problem] };
}

/**
 * Undefined if the record has lost nothing that the copy has, except perhaps for the write that was under way; or if it is
 * unclear where the turn belongs.
 */
export function planRestore(
  { entries, placed }: ReadRecord,
  copy: TurnCopy | undefined,
): RestoredTurn | undefined {
  if (copy === undefined || copy.lines.length === 0 || placed.length === 0) return undefined;
  const { lines } = copy;
  const found = matchEnd(entries, lines);
  const kept = entries.length - found.length;
  const isPrefix = found.every((line, index) => line === index);
  const isTornOnly = placed.every(({ problem }) => isTornEnd(problem));
  const isUnderWay = isPrefix && found.length >= lines.length - copy.lastWrite;
  if (found.length === lines.length || (isTornOnly && isUnderWay)) return undefined;
  const hasStart = found[0] === 0;
  if (placed.some(({ after }) => after < kept || (hasStart && after === kept))) return undefined;
  if (hasLines(entries.slice(0, kept), lines)) return undefined;
  const restored = lines.map((line) => StreamEntry.fromJson(objectOf(line)));
  return { kept, lines, entries: [...entries.slice(0, kept), ...restored] };
}

/** The lines that the record ends with, in their order: most of the copy, if only some of it is damaged. */
function matchEnd(entries: readonly StreamEntry[], lines: readonly string[]): readonly number[] {
  const found: number[] = [];
  let before = lines.length;
  for (const entry of entries.toReversed()) {
    const line = before === 0 ? -1 : lines.lastIndexOf(lineOf(entry), before - 1);
    if (line === -1) break;
    found.unshift(line);
    before = line;
  }
  return found;
}

/** Something else stands between the lines of the copy. Turns may start at the same time, so their starts may be the same. */
function hasLines(entries: readonly StreamEntry[], lines: readonly string[]): boolean {
  const known = new Set(lines);
  const start = entries.findLastIndex(({ eventType }) => eventType === "turn_start");
  return entries.slice(start + 1).some((entry) => known.has(lineOf(entry)));
}

/** Why it is not known whether the last turn is open; undefined if it was read whole, or only its last write is torn. */
export function findDoubt({ entries, placed }: ReadRecord, isMarked: boolean) {
  const start = entries.findLastIndex(({ eventType }) => eventType === "turn_start");
  const doubted = placed.find(
    ({ problem, after }) =>
      after > start && (problem.type === "damaged" || (isMarked && !isTornEnd(problem))),
  );
  return doubted?.problem;
}

/** No write of ours leaves a file without its first byte: that is not the end of a write, but the loss of all of them. */
function isTornEnd({ type, offset }: RecordProblem): boolean {
  return type === "torn" && offset > 0;
}

function objectOf(line: string) {
  const element = parseJson(line);
  if (!isJsonObject(element)) throw new Error("a line of a copy is an object");
  return element;
}
