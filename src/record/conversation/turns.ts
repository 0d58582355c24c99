/**
 * Splits a record into turns, and pairs requests with responses within a turn. A turn runs from one
 * `turn_start` to the next; events before the first one, as in old records, form a turn too. A turn
 * has no id, only a position.
 */
import type { JsonObject } from "../../util/index.ts";
import type { StreamEntry } from "./entry.ts";
import type {
  ChatRequest,
  ConversationEvent,
  DecisionVoid,
  InquiryEscalation,
  InquiryRequest,
  InquiryResponse,
  ToolCallRequest,
  ToolCallResponse,
} from "./event.ts";
import { type ConversationStream, endOf, eventsOf } from "./stream.ts";

/** The events of one turn. */
export interface RecordedTurn {
  /** Counted from 0. Users see it counted from 1. */
  readonly index: number;
  /** The last of several turns that a summary stands for. */
  readonly lastIndex?: number;
  readonly events: readonly ConversationEvent[];
}

/** Unreadable events are omitted. */
export function turnsOf(entries: Iterable<StreamEntry>): RecordedTurn[] {
  const splitter = new TurnSplitter();
  return [...splitter.read(entries), ...splitter.end()];
}

/** The position of the last turn start; -1 if there is none. */
export function lastTurnStart(entries: readonly StreamEntry[]): number {
  return entries.findLastIndex(({ eventType }) => eventType === "turn_start");
}

/** The entries from the last turn start, or all. */
export function lastTurnEntries(entries: readonly StreamEntry[]): readonly StreamEntry[] {
  const start = lastTurnStart(entries);
  return start <= 0 ? entries : entries.slice(start);
}

/** The events from the last turn start; none if there is no turn start. */
export function lastTurnOf(entries: readonly StreamEntry[]): readonly ConversationEvent[] {
  const start = lastTurnStart(entries);
  if (start === -1) return [];
  return entries.slice(start).flatMap(({ event }) => (event === undefined ? [] : [event]));
}

/** The events of the last turn on record. Events before the first turn start form a turn too. */
export function lastTurn({
  stream,
}: {
  readonly stream: ConversationStream;
}): readonly ConversationEvent[] {
  return [...eventsOf(lastTurnEntries(endOf(stream)))];
}

/** The schema of the structured output requested by the last turn, from its first request. */
export function findSchema(stream: ConversationStream): JsonObject | undefined {
  for (const event of eventsOf(lastTurnEntries(endOf(stream)))) {
    if (event.type === "chat_request") return event.schema;
  }
  return undefined;
}

/**
 * The request of the user in a turn, with everything they added to it later. Undefined if they asked nothing. `events`
 * must belong to one turn.
 */
export function findRequest(events: readonly ConversationEvent[]): ChatRequest | undefined {
  const [first, ...others] = events
    .filter((event) => event.type === "chat_request")
    .filter(({ correction }) => correction === undefined);
  if (first === undefined || others.length === 0) return first;
  return { ...first, content: [first, ...others].map(({ content }) => content).join("\n\n") };
}

/**
 * Whether models no longer see the turn at this position: the user has undone it, or the next turn replaced it and was
 * not undone itself.
 */
export function isReplaced(turns: readonly RecordedTurn[], position: number): boolean {
  const undone = undoneTurns(turns);
  if (undone.has(position)) return true;
  const next = turns[position + 1]?.events ?? [];
  return (
    next.some((event) => event.type === "chat_request" && event.replacesTurn === true) &&
    !undone.has(position + 1)
  );
}

/** A cache: the same list is queried once for each of its turns. */
const knownUndone = new WeakMap<readonly RecordedTurn[], ReadonlySet<number>>();

/** The positions of the turns that were undone with their messages. */
function undoneTurns(turns: readonly RecordedTurn[]): ReadonlySet<number> {
  const known = knownUndone.get(turns);
  if (known !== undefined) return known;
  const starts = new Set(
    turns.flatMap(({ events }) =>
      events.flatMap((event) =>
        event.type === "turn_undo" && event.hidesTurn === true ? [event.turn] : [],
      ),
    ),
  );
  const found = turns.flatMap(({ events: [first] }, position) =>
    first?.type === "turn_start" && starts.has(first.timestamp) ? [position] : [],
  );
  const undone = new Set(starts.size === 0 ? [] : found);
  knownUndone.set(turns, undone);
  return undone;
}

/** Splits entries that are read in batches. The first may not be the record's first. */
export class TurnSplitter {
  readonly #counter = new TurnCounter();
  readonly #firstTurn: number;
  #turn: { readonly index: number; readonly events: ConversationEvent[] } | undefined;

  /** `firstTurn`: the index of the turn that the entries start in. */
  constructor(firstTurn = 0) {
    this.#firstTurn = firstTurn;
  }

  /** The turns that are complete now. */
  read(entries: Iterable<StreamEntry>): readonly RecordedTurn[] {
    const turns: RecordedTurn[] = [];
    for (const { eventType, event } of entries) {
      if (eventType === undefined) continue;
      const index = this.#firstTurn + this.#counter.next(eventType);
      if (this.#turn?.index !== index) {
        turns.push(...this.end());
        this.#turn = { index, events: [] };
      }
      if (event !== undefined) this.#turn.events.push(event);
    }
    return turns;
  }

  /** The last turn, if there is one. */
  end(): readonly RecordedTurn[] {
    return this.#turn === undefined ? [] : [this.#turn];
  }
}

/**
 * Numbers the turns for readers that do not hold the whole stream. Counts unreadable events too, so that all readers
 * agree.
 */
export class TurnCounter {
  #index = 0;
  #isEmpty = true;

  /** The index of the turn that the next event belongs to. */
  next(type: ConversationEvent["type"]): number {
    if (type === "turn_start" && !this.#isEmpty) this.#index += 1;
    this.#isEmpty = false;
    return this.#index;
  }
}

/** The index of the last turn of the entries. */
export function lastTurnIndex(entries: Iterable<StreamEntry>): number {
  const counter = new TurnCounter();
  let index = 0;
  for (const { eventType } of entries) if (eventType !== undefined) index = counter.next(eventType);
  return index;
}

interface Identified {
  readonly id: string;
}

/** A request and the response that closed it. */
export interface Pair<Request, Response> {
  readonly request: Request;
  /** Absent if the request is still open. */
  readonly response?: Response;
}

/** A question and its outcome. */
export interface InquiryPair extends Pair<InquiryRequest, InquiryResponse> {
  /** Set if a model was asked first, and passed it to a person. */
  readonly escalation?: InquiryEscalation;
  /** Set if the answer, or the request, no longer counts. */
  readonly madeVoid?: DecisionVoid;
}

/** All requests of a turn with their responses. */
export interface Pairing<Request, Response> {
  /** One per request, in the order of requests. */
  readonly pairs: readonly Pair<Request, Response>[];
  /** Responses without an open request in the turn. */
  readonly orphans: readonly Response[];
}

/** `events` must belong to one turn. */
export function pairInquiries(events: Iterable<ConversationEvent>): InquiryPairing {
  const matcher = new Matcher<InquiryRequest, InquiryResponse>();
  const escalations = new Map<string, InquiryEscalation>();
  const voids = new Map<string, DecisionVoid>();
  for (const event of events) {
    if (event.type === "inquiry_request") matcher.open(event);
    if (event.type === "inquiry_escalation") escalations.set(event.id, event);
    if (event.type === "inquiry_response") matcher.close(event);
    if (event.type === "decision_void") voids.set(event.id, event);
  }
  const { pairs, orphans } = matcher.result();
  if (escalations.size === 0 && voids.size === 0) return { pairs, orphans };
  return {
    pairs: pairs.map((pair) => {
      const escalation = escalations.get(pair.request.id);
      const madeVoid = voids.get(pair.request.id);
      return {
        ...pair,
        ...(escalation !== undefined && { escalation }),
        ...(madeVoid !== undefined && { madeVoid }),
      };
    }),
    orphans,
  };
}

interface InquiryPairing extends Pairing<InquiryRequest, InquiryResponse> {
  readonly pairs: readonly InquiryPair[];
}

/**
 * Selects the entries of some turns, and all config. Compactions refer to turns by number, so they are kept only if they
 * still cover the same ones.
 */
export function keepTurns({
  from,
  to,
}: Readonly<Record<"from" | "to", number>>): (entry: StreamEntry) => boolean {
  const counter = new TurnCounter();
  return (entry) => {
    const { eventType, content } = entry;
    if (eventType === undefined && content.kind === "compaction")
      return from === 0 && content.compaction.toTurn <= to;
    if (eventType === undefined) return true;
    const turn = counter.next(eventType);
    return from <= turn && turn <= to;
  };
}

/** `events` must belong to one turn. */
export function pairToolCalls(
  events: Iterable<ConversationEvent>,
): Pairing<ToolCallRequest, ToolCallResponse> {
  const matcher = new Matcher<ToolCallRequest, ToolCallResponse>();
  for (const event of events) {
    if (event.type === "tool_call_request") matcher.open(event);
    if (event.type === "tool_call_response") matcher.close(event);
  }
  return matcher.result();
}

/** Pairs by id. If several requests share an id, the oldest open one is closed first. */
export class Matcher<Request extends Identified, Response extends Identified> {
  readonly #pairs: { request: Request; response?: Response }[] = [];
  readonly #orphans: Response[] = [];
  /** Positions of the open requests of each id, oldest first. */
  readonly #open = new Map<string, number[]>();

  open(request: Request): void {
    const position = this.#pairs.push({ request }) - 1;
    const positions = this.#open.get(request.id);
    if (positions === undefined) this.#open.set(request.id, [position]);
    else positions.push(position);
  }

  close(response: Response): void {
    const position = this.#open.get(response.id)?.shift();
    const pair = position === undefined ? undefined : this.#pairs[position];
    if (pair === undefined) this.#orphans.push(response);
    else pair.response = response;
  }

  result(): Pairing<Request, Response> {
    return { pairs: this.#pairs, orphans: this.#orphans };
  }
}
