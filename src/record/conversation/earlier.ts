/**
 * A compaction says what a reader has to know of the record before it: how many turns there are, how the config has changed,
 * and which compactions still count. With that, turns that a summary replaces need not be read for a request. In memory they
 * are turns without events, so that turns keep their numbers, and models see the same.
 */
import type { JsonObject } from "../../util/index.ts";
import type { CompactionRange } from "./compaction.ts";
import { type Compaction, EARLIER, type EarlierRecord, StreamEntry } from "./entry.ts";
import { isProviderVisible } from "./event.ts";
import { compactionsOf, project } from "./projection.ts";
import type { ConversationStream, StreamOutline } from "./stream.ts";
import type { Timestamp } from "./timestamp.ts";
import { lastTurnIndex, lastTurnStart, TurnCounter } from "./turns.ts";

/** In characters. With more, there is nothing to gain. */
const MAX_LENGTH = 1 << 16;

/** The compaction as it is recorded at the end of this stream. */
export function withEarlier(compaction: Compaction, stream: ConversationStream): Compaction {
  const { entries } = stream;
  const start = entries[lastTurnStart(entries)]?.event;
  if (start === undefined) return compaction;
  const all = [...compactionsOf(stream), compaction];
  const kept = entries.flatMap((entry) =>
    isConfigDelta(entry) || counts(entry, all) ? [entry.raw] : [],
  );
  const lastTurn = lastTurnIndex(entries);
  const earlier = { lastTurn, lastTurnAt: start.timestamp, entries: kept.map(withoutEarlier) };
  const recorded = { ...compaction, earlier };
  const isShort = JSON.stringify(earlier).length <= MAX_LENGTH;
  return isShort && isSeenTheSame(recorded, stream) ? recorded : compaction;
}

/**
 * Whether models see the same without the turns that summaries replace. Not if one of them has replaced or undone a turn
 * before them.
 */
function isSeenTheSame(compaction: Compaction, stream: ConversationStream): boolean {
  const entry = StreamEntry.fromCompaction(compaction);
  const checkpoint = checkpointOf(entry);
  const replaced = checkpoint && findReplaced(checkpoint);
  if (checkpoint === undefined || replaced === undefined) return true;
  const head: StreamEntry[] = [];
  const middle: StreamEntry[] = [];
  const counter = new TurnCounter();
  for (const each of stream.entries) {
    if (each.eventType === undefined) continue;
    const turn = counter.next(each.eventType);
    if (turn < replaced.fromTurn) head.push(each);
    else if (turn > replaced.toTurn) middle.push(each);
  }
  const abridged = toAbridged(stream, { checkpoint, replaced, head, middle, tail: [entry] });
  const whole = [...stream.entries, entry];
  return (
    describeSeen({ ...stream, entries: abridged }) === describeSeen({ ...stream, entries: whole })
  );
}

/** Without times: a summary has that of the turns that it replaces. */
function describeSeen(stream: ConversationStream): string {
  const events = project(stream).entries.flatMap(({ event }) =>
    event !== undefined && isProviderVisible(event) ? [{ ...event, timestamp: undefined }] : [],
  );
  return JSON.stringify(events);
}

/** `all` in the order in which they apply. */
function counts({ eventType, content }: StreamEntry, all: readonly Compaction[]): boolean {
  if (eventType !== undefined || content.kind !== "compaction") return false;
  const { compaction: own } = content;
  return !all.slice(all.indexOf(own) + 1).some((later) => overrides(later, own));
}

function overrides(later: Compaction, own: Compaction): boolean {
  if (later.fromTurn > own.fromTurn || own.toTurn > later.toTurn) return false;
  if (later.summary !== undefined) return true;
  const policies = ["summary", "reasoning", "toolCalls"] as const;
  return policies.every((policy) => own[policy] === undefined || later[policy] !== undefined);
}

function isConfigDelta({ eventType, content }: StreamEntry): boolean {
  return eventType === undefined && DELTAS.has(content.kind);
}

const DELTAS: ReadonlySet<string> = new Set(["config_delta", "own_config_delta"]);

/** The element of a record as it was before jp said in it what comes earlier. */
function withoutEarlier({ [EARLIER]: _earlier, ...element }: JsonObject): JsonObject {
  return element;
}

/** Where a reader can stop: a compaction that says what comes earlier. */
export interface Checkpoint {
  readonly entry: StreamEntry;
  readonly earlier: EarlierRecord;
}

/** Undefined if the entry is none. */
export function checkpointOf(entry: StreamEntry): Checkpoint | undefined {
  const content = entry.eventType === undefined ? entry.content : undefined;
  const earlier = content?.kind === "compaction" ? content.compaction.earlier : undefined;
  return earlier && { entry, earlier };
}

/**
 * Whether it says the truth about what is before it, as far as the start of its turn shows, and the number of turns for which
 * there is room: a fork may lack turns, and a record that comes with a clone may say anything.
 */
export function isAt(
  { earlier }: Checkpoint,
  startOfTurn: Timestamp | undefined,
  maxTurns: number,
): boolean {
  return earlier.lastTurnAt === startOfTurn && earlier.lastTurn <= maxTurns;
}

/** The outline of the record up to the checkpoint. */
export function outlineAt({ earlier }: Checkpoint): StreamOutline {
  const entries = entriesOf(earlier);
  return { deltas: entries.filter(isConfigDelta), lastTurn: earlier.lastTurn };
}

function entriesOf({ entries }: EarlierRecord): readonly StreamEntry[] {
  return entries
    .map((element) => StreamEntry.fromJson(element))
    .filter((entry) => isConfigDelta(entry) || entry.content.kind === "compaction");
}

/** The longest run of turns before the checkpoint's own that summaries replace. Undefined if there are none. */
export function findReplaced({ entry, earlier }: Checkpoint): CompactionRange | undefined {
  const all = [...entriesOf(earlier), entry].flatMap(({ content }) =>
    content.kind === "compaction" && content.compaction.summary !== undefined
      ? [content.compaction]
      : [],
  );
  let longest: CompactionRange | undefined;
  let run: CompactionRange | undefined;
  for (const range of all.toSorted((one, other) => one.fromTurn - other.fromTurn)) {
    const fromTurn = Math.max(range.fromTurn, 0);
    const last = Math.min(range.toTurn, earlier.lastTurn - 1);
    if (last < fromTurn) continue;
    run =
      run !== undefined && fromTurn <= run.toTurn + 1
        ? { fromTurn: run.fromTurn, toTurn: Math.max(run.toTurn, last) }
        : { fromTurn, toTurn: last };
    if (longest === undefined || lengthOf(run) > lengthOf(longest)) longest = run;
  }
  return longest;
}

function lengthOf({ fromTurn, toTurn }: CompactionRange): number {
  return toTurn - fromTurn + 1;
}

/** The parts of a record that are read where turns between them are replaced. */
export interface Abridged {
  readonly checkpoint: Checkpoint;
  readonly replaced: CompactionRange;
  /** The turns before those that are replaced. */
  readonly head: readonly StreamEntry[];
  /** From the turn after them, up to the checkpoint. */
  readonly middle: readonly StreamEntry[];
  /** The checkpoint, and what comes after it. */
  readonly tail: readonly StreamEntry[];
}

/** All entries that matter for a request, with turns without events where summaries replace them. */
export function toAbridged(
  { createdAt }: Pick<ConversationStream, "createdAt">,
  { checkpoint, replaced, head, middle, tail }: Abridged,
): StreamEntry[] {
  const empty = StreamEntry.fromEvent({ type: "turn_start", timestamp: createdAt });
  return [
    ...entriesOf(checkpoint.earlier),
    ...head.filter(isEvent),
    ...Array.from({ length: lengthOf(replaced) }, () => empty),
    ...middle.filter(isEvent),
    ...tail,
  ];
}

function isEvent({ eventType }: StreamEntry): boolean {
  return eventType !== undefined;
}
