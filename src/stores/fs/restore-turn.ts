/**
 * Compares a partly unreadable record with the copy of its open turn in the user's own folder, and plans what the copy
 * can restore. Reads and writes nothing itself.
 */
import { lastTurnStart, StreamEntry } from "../../record/conversation/index.ts";
import { parseJson, isJsonObject, withoutLoneSurrogates } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";

/** A problem, and after how many entries it occurs. */
export interface PlacedProblem {
  readonly problem: RecordProblem;
  readonly after: number;
}

/** The readable part of a record. */
export interface ReadRecord {
  readonly entries: readonly StreamEntry[];
  readonly placed: readonly PlacedProblem[];
}

/** The open turn as written by this user's processes, one entry per line. */
export interface TurnCopy {
  /** Empty if there is an open turn, but no copy of it. */
  readonly lines: readonly string[];
  /** How many of them belong to the last write, which may not have reached the record. */
  readonly lastWrite: number;
}

/** The record with its open turn: `kept` entries of its own, then the lines of the copy. */
export interface RestoredTurn {
  readonly kept: number;
  readonly lines: readonly string[];
  readonly entries: readonly StreamEntry[];
}

/** The line of an entry in a copy, identical to what the record has once it is read again. */
export function lineOf(entry: StreamEntry): string {
  return withoutLoneSurrogates(entry.toText());
}

/** Whether nothing suggests a loss. */
export function isWhole({ entries, placed }: ReadRecord): boolean {
  return placed.length === 0 && entries.length > 0;
}

/**
 * Adds a problem for a list without events, if the copy has acknowledged writes. A list of other events may be another
 * version of the record, put there by a program like git: then the turn is not lost, just not in this version.
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
 * Undefined if the record has lost nothing that the copy has, except perhaps the write in progress; or if it is unclear
 * where the turn belongs.
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

/** The lines at the end of the record, in their order: most of the copy, if only some of it is damaged. */
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

/**
 * Whether lines of the copy also occur further up, with something else in between. Turn starts are skipped: turns may
 * start at the same time, so their starts may be equal.
 */
function hasLines(entries: readonly StreamEntry[], lines: readonly string[]): boolean {
  const known = new Set(lines);
  return entries.slice(lastTurnStart(entries) + 1).some((entry) => known.has(lineOf(entry)));
}

/** Why it is unknown whether the last turn is open; undefined if it was read in full, or only its last write is torn. */
export function findDoubt({ entries, placed }: ReadRecord, isMarked: boolean) {
  const start = lastTurnStart(entries);
  const doubted = placed.find(
    ({ problem, after }) =>
      after > start && (problem.type === "damaged" || (isMarked && !isTornEnd(problem))),
  );
  return doubted?.problem;
}

/** None of our writes leaves a file without its first byte: then everything is lost, not just the end of a write. */
function isTornEnd({ type, offset }: RecordProblem): boolean {
  return type === "torn" && offset > 0;
}

function objectOf(line: string) {
  const element = parseJson(line);
  if (!isJsonObject(element)) throw new Error("a line of a copy is an object");
  return element;
}
