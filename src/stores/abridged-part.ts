/** Finds the outline of a part of a record that is not read, and reads only what models see of it. */
import {
  type Checkpoint,
  checkpointOf,
  type CompactionRange,
  type ConversationStream,
  findReplaced,
  isAt,
  isTurnStart,
  lastTurnIndex,
  lastTurnStart,
  nthTurnStartFromEnd,
  outlineAt,
  type StreamEntry,
  type StreamOutline,
  toAbridged,
} from "../record/conversation/index.ts";

/** Results that streams of the same unread part share. */
export interface KnownPart {
  outline?: Promise<RecordOutline | undefined>;
  abridged?: Promise<AbridgedPart | undefined>;
}

/** A checkpoint, and where it is. */
export interface PlacedCheckpoint extends Checkpoint {
  /** Its position: everything that counts before it is before this. */
  readonly position: number;
}

/** An outline of a part of a record. */
export interface RecordOutline extends StreamOutline {
  /** The last one. */
  readonly checkpoint?: PlacedCheckpoint;
}

/**
 * How a store reads a part of a record that is not in memory. Positions grow with the record; which they are is up to the
 * store. Undefined means that only a full read is certain. All methods throw `read_failed`.
 */
export interface UnreadSource {
  /** The position where the part ends. */
  readonly end: number;
  /** The number of turns for which there is room before a position. */
  maxTurns(position: number): number;
  outline(): Promise<RecordOutline | undefined>;
  /** An outline with a checkpoint. */
  findCheckpoint(): Promise<RecordOutline | undefined>;
  readAround(around: AroundReplaced): Promise<ReadAround | undefined>;
}

/** Turns that summaries replace, and what has to be read around them. */
export interface AroundReplaced {
  readonly replaced: CompactionRange;
  /** How many turns before the position are read, too. */
  readonly turns: number;
  readonly position: number;
}

export interface ReadAround {
  /** The turns before those that are replaced. */
  readonly head: readonly StreamEntry[];
  /** From the turn after them, up to the position. */
  readonly middle: readonly StreamEntry[];
  /** From the position to the end. */
  readonly tail: readonly StreamEntry[];
}

/** The entries that models see of an unread part, and of the first entries after it. */
export interface AbridgedPart {
  readonly entries: readonly StreamEntry[];
  /** How many entries after the part that includes. */
  readonly included: number;
}

/** A record of which only the end is in memory. */
interface Ending {
  readonly source: UnreadSource;
  readonly known: KnownPart;
  readonly entries: readonly StreamEntry[];
}

/** The outline up to an entry in memory. */
interface KnownOutline extends StreamOutline {
  /** The first entry in memory that is not in it. */
  readonly index: number;
  /** The checkpoint at its end, if there is one. */
  readonly checkpoint?: Checkpoint;
  /** The position of the checkpoint, or the end of the unread part. */
  readonly position?: number | undefined;
}

/** Undefined if all of the part has to be read. Throws `read_failed`. */
export async function findOutline(ending: Ending): Promise<StreamOutline | undefined> {
  const { source, known: shared, entries } = ending;
  const known = findInMemory(ending) ?? toKnown(await (shared.outline ??= source.outline()));
  if (known === undefined) return undefined;
  const after = entries.slice(known.index);
  return {
    deltas: [...known.deltas, ...after.filter(isNoEvent)],
    lastTurn: known.lastTurn + after.filter(isTurnStart).length,
  };
}

/** The outline of a record that is in memory. */
export function outlineOf(entries: readonly StreamEntry[]): StreamOutline {
  return { deltas: entries.filter(isNoEvent), lastTurn: lastTurnIndex(entries) };
}

/** Undefined if all of the part has to be read. Throws `read_failed`. */
export async function abridge(
  ending: Ending & { readonly stream: Pick<ConversationStream, "createdAt"> },
): Promise<AbridgedPart | undefined> {
  const { source, known: shared, entries, stream } = ending;
  const known = findInMemory(ending) ?? toKnown(await (shared.outline ?? source.findCheckpoint()));
  const { checkpoint, index = 0, position = 0 } = known ?? {};
  const replaced = checkpoint && findReplaced(checkpoint);
  if (checkpoint === undefined || replaced === undefined) return undefined;
  const turns = checkpoint.earlier.lastTurn - replaced.toTurn;
  const before = entries.slice(0, index);
  const start = nthTurnStartFromEnd(before, turns);
  const missing = start === -1 ? turns - before.filter(isTurnStart).length : 0;
  const read = await source.readAround({ replaced, turns: missing, position });
  if (read === undefined) return undefined;
  const { head, tail } = read;
  const middle = [...read.middle, ...before.slice(Math.max(start, 0))];
  const abridged = toAbridged(stream, { checkpoint, replaced, head, middle, tail });
  return { entries: abridged, included: index };
}

function findInMemory({ entries, source }: Ending): KnownOutline | undefined {
  const index = entries.findLastIndex((entry) => checkpointOf(entry) !== undefined);
  const entry = entries[index];
  const checkpoint = entry && checkpointOf(entry);
  if (checkpoint === undefined) return undefined;
  const start = entries[lastTurnStart(entries.slice(0, index))]?.event;
  const { end } = source;
  // All turns before the checkpoint but the one that it is in start before the end of the part, at most.
  if (!isAt(checkpoint, start?.timestamp, source.maxTurns(end))) return undefined;
  return { ...outlineAt(checkpoint), checkpoint, index, position: end };
}

function toKnown(outline: RecordOutline | undefined): KnownOutline | undefined {
  if (outline === undefined) return undefined;
  const { checkpoint, ...rest } = outline;
  const position = checkpoint?.position;
  return { ...rest, index: 0, ...(checkpoint && { checkpoint, position }) };
}

function isNoEvent({ eventType }: StreamEntry): boolean {
  return eventType === undefined;
}
