/** Finds the outline of a part of a record that is not read, and reads only what models see of it. */
import {
  type Checkpoint,
  checkpointOf,
  type ConversationStream,
  findReplaced,
  isAt,
  lastTurnIndex,
  lastTurnStart,
  outlineAt,
  type StreamEntry,
  type StreamOutline,
  toAbridged,
} from "../../record/conversation/index.ts";
import { isTurnStart, nthTurnStartFromEnd } from "./last-turns.ts";
import { findCheckpoint, outlineBefore, readAround, type RecordOutline } from "./outline.ts";

/** The part of a record that is not read yet. What is known of it is shared by all streams of the same part. */
export interface UnreadPart {
  readonly end: number;
  outline?: Promise<RecordOutline | undefined>;
  abridged?: Promise<AbridgedPart | undefined>;
}

/** The entries that models see of an unread part, and of the first entries after it. */
export interface AbridgedPart {
  readonly entries: readonly StreamEntry[];
  /** How many entries after the part that includes. */
  readonly included: number;
}

/** A record of which only the end is in memory. */
interface Ending {
  readonly file: string;
  readonly unread: UnreadPart;
  readonly entries: readonly StreamEntry[];
}

/** The outline up to an entry in memory. */
interface KnownOutline extends StreamOutline {
  /** The first entry in memory that is not in it. */
  readonly index: number;
  /** The checkpoint at its end, if there is one. */
  readonly checkpoint?: Checkpoint;
  /** The end of the element before the checkpoint, or of the unread part. */
  readonly position?: number | undefined;
}

/** Undefined if all of the part has to be read. Throws `read_failed`. */
export async function findOutline(ending: Ending): Promise<StreamOutline | undefined> {
  const { file, unread, entries } = ending;
  const known =
    findInMemory(ending) ?? toKnown(await (unread.outline ??= outlineBefore(file, unread.end)));
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
  const { file, unread, entries, stream } = ending;
  const { end, outline } = unread;
  const known = findInMemory(ending) ?? toKnown(await (outline ?? findCheckpoint(file, end)));
  const { checkpoint, index = 0, position = 0 } = known ?? {};
  const replaced = checkpoint && findReplaced(checkpoint);
  if (checkpoint === undefined || replaced === undefined) return undefined;
  const turns = checkpoint.earlier.lastTurn - replaced.toTurn;
  const before = entries.slice(0, index);
  const start = nthTurnStartFromEnd(before, turns);
  const missing = start === -1 ? turns - before.filter(isTurnStart).length : 0;
  const read = await readAround(file, { replaced, turns: missing, position, end });
  if (read === undefined) return undefined;
  const { head, tail } = read;
  const middle = [...read.middle, ...before.slice(Math.max(start, 0))];
  const abridged = toAbridged(stream, { checkpoint, replaced, head, middle, tail });
  return { entries: abridged, included: index };
}

function findInMemory({ entries, unread: { end } }: Ending): KnownOutline | undefined {
  const index = entries.findLastIndex((entry) => checkpointOf(entry) !== undefined);
  const entry = entries[index];
  const checkpoint = entry && checkpointOf(entry);
  if (checkpoint === undefined) return undefined;
  const start = entries[lastTurnStart(entries.slice(0, index))]?.event;
  if (!isAt(checkpoint, start?.timestamp, end)) return undefined;
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
