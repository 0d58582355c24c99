/** Reads the entries of a record before those that a stream has in memory. */
import type { QueryResultRow } from "pg";
import {
  type Checkpoint,
  checkpointOf,
  isAt,
  isTurnStart,
  nthTurnStartFromEnd,
  outlineAt,
  type StreamEntry,
  TurnCounter,
} from "../../record/conversation/index.ts";
import type {
  AroundReplaced,
  KnownPart,
  ReadAround,
  RecordOutline,
  UnreadSource,
} from "../abridged-part.ts";
import type { LastTurns } from "../port.ts";
import { type EarlierPart, RecordStream } from "../record-stream.ts";
import { IS_OTHER, IS_START, lastStartSql } from "./marks.ts";
import {
  type ConversationRow,
  entryOf,
  parseEntry,
  type ReadRecord,
  storedStreamOf,
  type WorkspaceRows,
} from "./workspace-rows.ts";

/** How many entries are read at once. */
const PIECE = 5000;
/** How many marked entries are read at once. Few records have more since their last compaction. */
const PAGE = 64;
/** A record from elsewhere may have any number of compactions that say nothing. */
const MAX_TRIED = 64;

/** An entry, and its place in the record. */
interface Placed {
  readonly seq: number;
  readonly entry: StreamEntry;
}

/** The result of `MARKS`. */
interface MarkRow {
  readonly others: readonly (readonly [seq: number, text: string])[] | null;
  /** Null if they were not counted. */
  readonly starts: number | null;
  readonly first: number | null;
}

const OF_RECORD = "tenant = $1 and conversation = $2";

/**
 * The last entries before a place that are neither certain turn starts nor certain other events. If these are all and none can
 * be a checkpoint, also counts the turn starts before that place.
 */
const MARKS = `with others as (
    select seq, entry from jp.events where ${OF_RECORD} and seq < $3 and ${IS_OTHER}
    order by seq desc limit ${PAGE}
  ), whole as (
    select count(*) < ${PAGE} and not coalesce(bool_or(strpos(entry, '"earlier":') > 0), false) as is_whole from others
  )
  select (select json_agg(json_build_array(seq, entry) order by seq desc) from others) as others,
    case when is_whole then (
      select count(*) from jp.events where ${OF_RECORD} and seq < $3 and ${IS_START}
    )::int end as starts,
    case when is_whole then (
      select min(seq) from jp.events where ${OF_RECORD} and seq < $3 and ${IS_START}
    ) end as first
  from whole`;

export class EarlierRows implements EarlierPart, UnreadSource {
  readonly known: KnownPart = {};
  readonly end: number;
  readonly #rows: WorkspaceRows;
  readonly #key: string;

  /** Covers the entries before `end`. */
  constructor(rows: WorkspaceRows, { key }: Pick<ConversationRow, "key">, end: number) {
    this.#rows = rows;
    this.#key = key;
    this.end = end;
  }

  /** They never change while someone else may read them, apart from `replaceEntries`. */
  async refresh(): Promise<boolean> {
    return true;
  }

  async *read(): AsyncGenerator<readonly StreamEntry[]> {
    for (let from = 0; from < this.end; from += PIECE) {
      yield await this.#readRange(from, Math.min(from + PIECE, this.end));
    }
  }

  async source(): Promise<UnreadSource> {
    return this;
  }

  maxTurns(position: number): number {
    return position;
  }

  async findCheckpoint(): Promise<RecordOutline | undefined> {
    const outline = await this.outline();
    return outline?.checkpoint && outline;
  }

  /** Reads nothing before a checkpoint, apart from the start of its turn. */
  async outline(): Promise<RecordOutline | undefined> {
    const others: Placed[] = [];
    let tried = 0;
    for await (const { found, starts, first } of this.#readMarks()) {
      for (const [index, { seq, entry }] of found.entries()) {
        if (isTurnStart(entry)) return undefined; // Others may have written more that are not counted.
        const checkpoint = tried < MAX_TRIED ? checkpointOf(entry) : undefined;
        if (checkpoint === undefined) continue;
        tried += 1;
        if (!(await this.#isAt(checkpoint, seq))) continue;
        const after = [...others, ...found.slice(0, index)];
        return this.#outlineFrom({ ...checkpoint, position: seq }, after);
      }
      others.push(...found);
      if (starts !== undefined) return this.#wholeOutline(others, starts, first);
    }
    const { starts, first } = await this.#countStarts(0);
    return this.#wholeOutline(others, starts, first);
  }

  /** Pages from the end backwards. */
  async *#readMarks(): AsyncGenerator<{
    readonly found: readonly Placed[];
    readonly starts: number | undefined;
    readonly first: number | undefined;
  }> {
    let before: number | undefined = this.end;
    while (before !== undefined) {
      const row: MarkRow | undefined = await this.#findMarks(before);
      const found = (row?.others ?? []).map(([seq, text]) => ({ seq, entry: parseEntry(text) }));
      // Later pages count only what is before them.
      const starts = before === this.end ? (row?.starts ?? undefined) : undefined;
      yield { found, starts, first: row?.first ?? undefined };
      before = found.length < PAGE ? undefined : found.at(-1)?.seq;
    }
  }

  async #findMarks(before: number): Promise<MarkRow | undefined> {
    const values = [this.#rows.tenant, this.#key, before];
    const statement = { name: "jp_marks", text: MARKS, values };
    return (await this.#rows.database.query<MarkRow & QueryResultRow>(statement))[0];
  }

  async #outlineFrom(
    checkpoint: Checkpoint & { readonly position: number },
    others: readonly Placed[],
  ): Promise<RecordOutline> {
    const before = outlineAt(checkpoint);
    const { starts } = await this.#countStarts(checkpoint.position);
    const deltas = [...before.deltas, ...deltasIn(others)];
    return { deltas, lastTurn: before.lastTurn + starts, checkpoint };
  }

  async #wholeOutline(
    others: readonly Placed[],
    starts: number,
    first: number | undefined,
  ): Promise<RecordOutline | undefined> {
    if (first === undefined) return undefined;
    const isOpened = await this.#hasEvents(others, first);
    return { deltas: deltasIn(others), lastTurn: starts - (isOpened ? 0 : 1) };
  }

  /** Events before the first turn start form a turn too. `others` are all that are no certain events. */
  async #hasEvents(others: readonly Placed[], first: number): Promise<boolean> {
    const before = others.filter(({ seq }) => seq < first);
    if (before.some(({ entry }) => isEvent(entry))) return true;
    if (before.length === first) return false;
    for (let from = 0; from < first; from += PAGE) {
      const read = await this.#readRange(from, Math.min(from + PAGE, first));
      if (read.some(isEvent)) return true;
    }
    return false;
  }

  /** Whether a compaction says the truth, as far as the start of its turn shows. */
  async #isAt(checkpoint: Checkpoint, seq: number): Promise<boolean> {
    const [row] = await this.#rows.database.query<{
      readonly start: string;
      readonly others: readonly string[] | null;
    }>({
      name: "jp_turn_of",
      text: `with start as (
          select seq, entry from jp.events where ${OF_RECORD} and seq = ${lastStartSql("$1", "$2", "$3")}
        )
        select start.entry as start, (
          select json_agg(entry) from jp.events where ${OF_RECORD} and seq > start.seq and seq < $3 and ${IS_OTHER}
        ) as others
        from start`,
      values: [this.#rows.tenant, this.#key, seq],
    });
    if (row === undefined || (row.others ?? []).some((text) => isTurnStart(parseEntry(text))))
      return false;
    return isAt(checkpoint, parseEntry(row.start).event?.timestamp, this.maxTurns(seq));
  }

  async #countStarts(from: number): Promise<{ starts: number; first: number | undefined }> {
    const [row] = await this.#rows.database.query<{ starts: number; first: number | null }>({
      name: "jp_starts",
      text: `select count(*)::int as starts, min(seq) as first from jp.events
        where ${OF_RECORD} and seq >= $3 and seq < $4 and ${IS_START}`,
      values: [this.#rows.tenant, this.#key, from, this.end],
    });
    return { starts: row?.starts ?? 0, first: row?.first ?? undefined };
  }

  async readAround({ replaced, turns, position }: AroundReplaced): Promise<ReadAround | undefined> {
    const head = await this.#readHead(replaced.fromTurn);
    const start = turns === 0 ? position : await this.#findStart(position, turns);
    if (head === undefined || start === undefined) return undefined;
    const middle = await this.#readRange(start, position);
    // Others may have written turn starts that were not counted.
    if (middle.filter(isTurnStart).length !== turns) return undefined;
    return { head, middle, tail: await this.#readRange(position, this.end) };
  }

  /** The entries of the first turns. */
  async #readHead(turns: number): Promise<readonly StreamEntry[] | undefined> {
    const head: StreamEntry[] = [];
    if (turns === 0) return head;
    const counter = new TurnCounter();
    for (let from = 0, count = PAGE; from < this.end; from += count, count *= 2) {
      for (const entry of await this.#readRange(from, Math.min(from + count, this.end))) {
        if (entry.eventType !== undefined && counter.next(entry.eventType) >= turns) return head;
        head.push(entry);
      }
    }
    return undefined;
  }

  /** Where a turn starts, counted backwards from a position. */
  async #findStart(position: number, turns: number): Promise<number | undefined> {
    const [row] = await this.#rows.database.query<{ readonly seq: number }>({
      name: "jp_nth_start",
      text: `select seq from jp.events where ${OF_RECORD} and seq < $3 and ${IS_START}
        order by seq desc offset $4 limit 1`,
      values: [this.#rows.tenant, this.#key, position, turns - 1],
    });
    return row?.seq;
  }

  async #readRange(from: number, end: number): Promise<readonly StreamEntry[]> {
    const range = { key: this.#key, length: end };
    return (await this.#rows.readEntries(range, { from })).map(entryOf);
  }

  /** See `ConversationStore.findLastTurns`. */
  async findLastTurns(count: number): Promise<LastTurns | undefined> {
    const from = (await this.#findStart(this.end, count)) ?? 0;
    const read = await this.#readRange(from, this.end);
    const start = nthTurnStartFromEnd(read, count);
    if (start === -1) return { entries: read, firstTurn: 0 };
    const before = new EarlierRows(this.#rows, { key: this.#key }, from + start);
    const firstTurn = await before.#countTurns();
    return firstTurn === undefined ? undefined : { entries: read.slice(start), firstTurn };
  }

  /** Relies on no compaction. Undefined if only a full read is certain. */
  async #countTurns(): Promise<number | undefined> {
    const others: Placed[] = [];
    for await (const { found } of this.#readMarks()) others.push(...found);
    if (others.some(({ entry }) => isTurnStart(entry))) return undefined;
    const { starts, first = this.end } = await this.#countStarts(0);
    return starts + ((await this.#hasEvents(others, first)) ? 1 : 0);
  }
}

/** The stream of a record of which all or the end was read. */
export function streamOf(
  rows: WorkspaceRows,
  row: ConversationRow,
  { entries, from }: Pick<ReadRecord, "entries" | "from">,
): RecordStream {
  const earlier = from === 0 ? undefined : new EarlierRows(rows, row, from);
  return new RecordStream({ ...storedStreamOf(row, entries), entries: [...entries] }, earlier);
}

/** In their order. Compactions, and what others have written, are among them. */
function deltasIn(others: readonly Placed[]): readonly StreamEntry[] {
  return others
    .map(({ entry }) => entry)
    .filter((entry) => !isEvent(entry))
    .toReversed();
}

function isEvent({ eventType }: StreamEntry): boolean {
  return eventType !== undefined;
}
