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
  PermissionDecision,
  PermissionRequestEvent,
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

/** The position of the turn start that is this many from the end; -1 if there are fewer. */
export function nthTurnStartFromEnd(entries: readonly StreamEntry[], count: number): number {
  let missing = count;
  return entries.findLastIndex((entry) => isTurnStart(entry) && (missing -= 1) === 0);
}

export function isTurnStart({ eventType }: StreamEntry): boolean {
  return eventType === "turn_start";
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

/** Whether the user sent it while its turn was running. */
export function isSteering(event: ConversationEvent | undefined): boolean {
  return event?.type === "chat_request" && event.isSteering === true;
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

/** A request to a person about a call, and the decision. At least one of them is present. */
export interface PermissionPair extends Partial<Pair<PermissionRequestEvent, PermissionDecision>> {
  /** Set if the decision, or the request, no longer counts. */
  readonly madeVoid?: DecisionVoid;
}

/** All requests of a turn with their responses. */
export interface Pairing<Request, Response> {
  /** One per request, in the order of requests. */
  readonly pairs: readonly Pair<Request, Response>[];
  /** Responses without an open request in the turn. */
  readonly orphans: readonly Response[];
}

/** The fields that say what an event is about, in memory or as JSON. */
export interface Foldable {
  readonly type: string;
  readonly id?: string | undefined;
  readonly toolCallId?: string | undefined;
  readonly callIndex?: number | undefined;
  readonly action?: string | undefined;
}

type OfType<Event, Type extends string> = Event & { readonly type: Type };

function isOf<Event extends Foldable, Type extends string>(
  event: Event,
  type: Type,
): event is OfType<Event, Type> {
  return event.type === type;
}

function isRequest<Event extends Foldable>(
  event: Event,
): event is OfType<Event, "inquiry_request" | "permission_request"> {
  return event.type === "inquiry_request" || event.type === "permission_request";
}

/** A question, or a decision about a call, with all that came of it. */
export interface PairedDecision<Event extends Foldable> {
  /** Absent if no one was asked. */
  readonly request?: OfType<Event, "inquiry_request" | "permission_request">;
  readonly response?: OfType<Event, "inquiry_response" | "permission_decision">;
  /** Set if a model was asked first, and passed it to a person. */
  readonly escalation?: OfType<Event, "inquiry_escalation">;
  /** Set if the answer, or the request, no longer counts. */
  readonly madeVoid?: OfType<Event, "decision_void">;
}

type Mutable<Fields> = { -readonly [Key in keyof Fields]: Fields[Key] };

/** In the order in which they were asked, or decided unasked. `events` must belong to one turn. */
export function pairDecisions(
  events: Iterable<ConversationEvent>,
): readonly (InquiryPair | PermissionPair)[];
export function pairDecisions<Event extends Foldable>(
  events: Iterable<Event>,
): readonly PairedDecision<Event>[];
export function pairDecisions<Event extends Foldable>(
  events: Iterable<Event>,
): readonly PairedDecision<Event>[] {
  const decisions: PairedDecision<Event>[] = [];
  const open: Mutable<PairedDecision<Event>>[] = [];
  /** The latest with each id. */
  const named = new Map<string, Mutable<PairedDecision<Event>>>();
  const add = (decision: PairedDecision<Event>, id: string | undefined) => {
    decisions.push(decision);
    if (id !== undefined) named.set(id, decision);
  };
  for (const event of events) {
    const decision = named.get(event.id ?? "");
    if (isRequest(event)) {
      const asked = { request: event };
      add(asked, event.id);
      open.push(asked);
    } else if (isOf(event, "inquiry_response") || isOf(event, "permission_decision")) {
      const index = open.findIndex(({ request }) => request !== undefined && ends(event, request));
      const [answered] = index === -1 ? [] : open.splice(index, 1);
      if (answered !== undefined) answered.response = event;
      else if (event.type === "permission_decision") add({ response: event }, event.id);
    } else if (decision !== undefined && isOf(event, "inquiry_escalation")) {
      decision.escalation = event;
    } else if (decision !== undefined && isOf(event, "decision_void")) {
      decision.madeVoid = event;
    }
  }
  return decisions;
}

/** Older versions recorded no id with a decision about a call. */
function ends(response: Foldable, request: Foldable): boolean {
  const isNamed = response.id === request.id;
  if (response.type === "inquiry_response") return request.type === "inquiry_request" && isNamed;
  return (
    request.type === "permission_request" &&
    request.toolCallId === response.toolCallId &&
    request.action === response.action &&
    (response.id === undefined || isNamed)
  );
}

/** A call with everything on record about it. */
export interface RecordedCall<Event extends Foldable = ConversationEvent> {
  readonly request: OfType<Event, "tool_call_request">;
  /** Its index among the turn's calls with the same id, counted from 0. */
  readonly callIndex: number;
  /** Absent while the call is open. */
  readonly response?: OfType<Event, "tool_call_response">;
  /** What happened between the two, in order. */
  readonly events: readonly Event[];
}

type OpenCall<Event extends Foldable> = Mutable<Omit<RecordedCall<Event>, "events">> & {
  readonly events: Event[];
};

/** Gathers the events of each call while they are read. Takes the events of one turn, in order. */
export class CallReader<Event extends Foldable = ConversationEvent> {
  readonly #calls: OpenCall<Event>[] = [];
  readonly #byId = new Map<string, OpenCall<Event>[]>();
  /** The call that each decision is about. */
  readonly #deciding = new Map<string, OpenCall<Event>>();

  /** In the order in which the model made them. They grow while more is read. */
  get calls(): readonly RecordedCall<Event>[] {
    return this.#calls;
  }

  /** Returns the call that the event belongs to, if any. */
  read(event: Event): RecordedCall<Event> | undefined {
    if (isOf(event, "tool_call_request")) return this.#start(event);
    if (isOf(event, "tool_call_response")) {
      const call = this.#named(event.id).find(isOpen);
      if (call !== undefined) call.response = event;
      return call;
    }
    const named = this.#named(event.toolCallId);
    const call = this.#callOf(event, named);
    call?.events.push(event);
    if (event.type === "attempt_start") {
      // Calls may share an id. Then it is unknown which of them has started, so it counts for each.
      for (const each of named) if (each !== call && isOpen(each)) each.events.push(event);
    }
    if (call !== undefined && event.id !== undefined) this.#deciding.set(event.id, call);
    return call;
  }

  #start(request: OfType<Event, "tool_call_request">): RecordedCall<Event> {
    const id = request.id ?? "";
    const named = this.#named(id);
    const call = { request, callIndex: named.length, events: [] };
    this.#calls.push(call);
    if (named.push(call) === 1) this.#byId.set(id, named);
    return call;
  }

  #callOf(event: Event, named: readonly OpenCall<Event>[]): OpenCall<Event> | undefined {
    if (event.type === "tool_step") return named[event.callIndex ?? 0];
    const deciding = isRequest(event) ? undefined : this.#deciding.get(event.id ?? "");
    return deciding ?? named.find(isOpen) ?? named.at(-1);
  }

  #named(id = ""): OpenCall<Event>[] {
    return this.#byId.get(id) ?? [];
  }
}

function isOpen({ response }: { readonly response?: unknown }): boolean {
  return response === undefined;
}

/** An event that belongs to no call, or a call with all of its events. */
export type Block<Event extends Foldable = ConversationEvent> =
  | { readonly type: "event"; readonly event: Event }
  | { readonly type: "call"; readonly call: RecordedCall<Event> };

/** Folds the events of a turn into blocks for readers: each call with its events, in place of its request. */
export function toBlocks<Event extends Foldable>(events: Iterable<Event>): readonly Block<Event>[] {
  const reader = new CallReader<Event>();
  const blocks: Block<Event>[] = [];
  for (const event of events) {
    const call = reader.read(event);
    if (call === undefined) blocks.push({ type: "event", event });
    else if (call.request === event) blocks.push({ type: "call", call });
  }
  return blocks;
}

/** `events` must belong to one turn. */
export function pairInquiries(events: Iterable<ConversationEvent>): InquiryPairing {
  const all = [...events];
  const pairs = pairDecisions(all).filter(isInquiry);
  const closing = new Set(pairs.map(({ response }) => response));
  const responses = all.filter((event) => event.type === "inquiry_response");
  return { pairs, orphans: responses.filter((response) => !closing.has(response)) };
}

/** Whether it is a question, not a decision about a call. */
export function isInquiry(decision: InquiryPair | PermissionPair): decision is InquiryPair {
  return decision.request?.type === "inquiry_request";
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
