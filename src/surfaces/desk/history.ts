/** Reads conversations and their decisions, newest first and page by page. No record is held in memory as a whole. */
import {
  compareCreation,
  type ConversationCreation,
  type ConversationId,
  createTextFinder,
  eventToPlainJson,
  findConversationId,
  findTimestamp,
  inquiriesIn,
  type LoggedInquiry,
  TurnCounter,
} from "../../record/conversation/index.ts";
import { decisionToJson, matchesInquiryFilter, summaryToJson } from "../render/index.ts";
import { isOpen } from "../../assemble/index.ts";
import type { ConversationStore, ConversationSummary, RecordPiece } from "../../stores/index.ts";
import { JpError, type JsonObject, messageOf } from "../../util/index.ts";
import type {
  ConversationJson,
  ConversationPart,
  ConversationQuery,
  DecisionJson,
  InquiryQuery,
  Page,
} from "./wire.ts";
import type { DeskWorkspace } from "./workspace.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
/** A search ends its page after this many records, even if it finds few. */
const MAX_RECORDS = 1000;
/** Per part of a conversation. */
const MAX_EVENTS = 2000;
/** The maximum length of a part's or page's JSON. The first event or decision is included at any length. */
const MAX_LENGTH = 4 << 20;
const LISTED_AT_ONCE = 100;

/** A conversation as the desk lists it. */
export function conversationToJson(
  workspace: string,
  summary: ConversationSummary,
): ConversationJson {
  const { id, openTurn } = summary;
  const state = openTurn === undefined ? {} : { state: openTurn.type };
  return { ...summaryToJson(summary), workspace, id, ...state };
}

/** The context of list queries. */
export interface HistoryContext {
  readonly workspaces: readonly DeskWorkspace[];
  readonly onProblem: (problem: string) => void;
}

/** See `Desk.listConversations`. Throws `invalid_cursor`. */
export async function listConversations(
  { text, cursor, ...query }: ConversationQuery,
  context: HistoryContext,
): Promise<Page<ConversationJson>> {
  const limit = limitOf(query);
  const items: ConversationJson[] = [];
  let position = cursor === undefined ? undefined : parseCursor(cursor);
  let read = 0;
  const found = newestFirst(workspacesOf(query, context), { which: "live", position });
  for await (const each of found) {
    if (position !== undefined && (items.length >= limit || read >= MAX_RECORDS)) {
      return { items, next: cursorTo(position) };
    }
    read += 1;
    const { summary, workspace } = each;
    position = positionOf(each, 0);
    const isWanted = text === undefined || (await hasText(each, text, context));
    if (isWanted) items.push(conversationToJson(workspace.root, summary));
  }
  return { items };
}

/** See `Desk.listInquiries`. Throws `invalid_cursor`. */
export async function listInquiries(
  query: InquiryQuery,
  context: HistoryContext,
): Promise<Page<DecisionJson>> {
  const limit = limitOf(query);
  const items: DecisionJson[] = [];
  const start = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  let position = start;
  let read = 0;
  let length = 0;
  const only = query.conversation === undefined ? {} : { only: query.conversation };
  const workspaces = workspacesOf(query, context);
  for await (const found of newestFirst(workspaces, { which: "all", position, ...only })) {
    if (position !== undefined && read >= MAX_RECORDS) return { items, next: cursorTo(position) };
    read += 1;
    const { id, metadata } = found.summary;
    const { root, conversations } = found.workspace;
    const decisions = await readDecisions(found, context);
    const isLive =
      decisions.some(({ isPending }) => isPending) && (await isOpen(conversations, id));
    const place = { workspace: root, conversation: id, title: metadata?.title, isLive };
    const isPartial = start?.id === id && start.root === root;
    for (let index = isPartial ? start.rest : decisions.length; index > 0; index -= 1) {
      const decision = decisions[index - 1];
      const isWanted = decision !== undefined && matches(decision, query);
      const json = decision && decisionToJson(decision, place);
      if (json === undefined || !isWanted || !hasWords(json, query)) continue;
      const isFull = items.length >= limit || length > MAX_LENGTH;
      if (isFull) return { items, next: cursorTo(positionOf(found, index)) };
      items.push(json);
      length += JSON.stringify(json).length;
    }
    position = positionOf(found, 0);
  }
  return { items };
}

/** The last decision with this id, decided or not. */
export async function findRecorded(
  { conversations }: DeskWorkspace,
  conversation: ConversationId,
  wanted: string,
): Promise<LoggedInquiry | undefined> {
  let found: LoggedInquiry | undefined;
  for await (const decision of inquiriesIn(entriesIn(conversations, conversation))) {
    if (decision.id === wanted) found = decision;
  }
  return found;
}

/** See `Desk.readConversation`. */
export async function readConversation(
  { conversations, root }: DeskWorkspace,
  summary: ConversationSummary,
  first: number,
): Promise<ConversationPart> {
  const events: JsonObject[] = [];
  let count = 0;
  let length = 0;
  for await (const { entries } of conversations.scan(summary.id)) {
    for (const entry of entries) {
      if (entry.eventType === undefined) continue;
      if (count >= first && events.length < MAX_EVENTS && length < MAX_LENGTH) {
        const json = entry.event === undefined ? entry.raw : eventToPlainJson(entry.event);
        length += JSON.stringify(json).length;
        if (length <= MAX_LENGTH || events.length === 0) events.push(json);
      }
      count += 1;
    }
  }
  return { conversation: conversationToJson(root, summary), count, first, events };
}

/** Counts a conversation's events. Reads only what follows the turns it has already counted. */
export class EventCounter {
  readonly #store: ConversationStore;
  /** The last started turn, and the number of events before it. */
  readonly #counted = new Map<ConversationId, { readonly turn: number; readonly count: number }>();

  constructor(store: ConversationStore) {
    this.#store = store;
  }

  async count(id: ConversationId): Promise<number> {
    const counted = this.#counted.get(id);
    const since = counted && (await this.#readSince(id, counted.turn));
    const start = since === undefined || counted === undefined ? { turn: 0, count: 0 } : counted;
    const turns = new TurnCounter();
    let { turn, count } = start;
    let before = count;
    for await (const { entries } of since ?? this.#store.scan(id)) {
      for (const { eventType } of entries) {
        if (eventType === undefined) continue;
        const index = start.turn + turns.next(eventType);
        if (index !== turn) [turn, before] = [index, count];
        count += 1;
      }
    }
    if (this.#counted.size >= MAX_RECORDS) this.#counted.clear();
    this.#counted.set(id, { turn, count: before });
    return count;
  }

  /** Undefined if the store cannot read from this turn on quickly. */
  async #readSince(id: ConversationId, turn: number): Promise<readonly RecordPiece[] | undefined> {
    const last = await this.#store.findLastTurns(id, 1);
    if (last === undefined || last.firstTurn < turn) return undefined;
    if (last.firstTurn === turn) return [last];
    const more = await this.#store.findLastTurns(id, last.firstTurn - turn + 1);
    return more?.firstTurn === turn ? [more] : undefined;
  }
}

function limitOf({ limit = DEFAULT_LIMIT }: { readonly limit?: number }): number {
  return Math.min(Math.max(1, limit), MAX_LIMIT);
}

function workspacesOf(
  { workspace }: { readonly workspace?: string },
  { workspaces }: HistoryContext,
): readonly DeskWorkspace[] {
  return workspace === undefined ? workspaces : workspaces.filter(({ root }) => root === workspace);
}

async function hasText(
  { workspace, summary }: Found,
  text: string,
  { onProblem }: HistoryContext,
): Promise<boolean> {
  const isIn = searchFor(text);
  const find = createTextFinder();
  if (isIn(summary.metadata?.title)) return true;
  try {
    for await (const { entries } of workspace.conversations.scan(summary.id)) {
      const isFound = entries.some(({ event }) => isIn(event && find(event)?.text));
      if (isFound) return true;
    }
  } catch (error) {
    onProblem(messageOf(error));
  }
  return false;
}

/** Ignores case unless the text has upper-case letters, like `jp conversation grep`. */
function searchFor(text: string): (searched: string | undefined) => boolean {
  const isLower = text === text.toLowerCase();
  return (searched = "") => (isLower ? searched.toLowerCase() : searched).includes(text);
}

function matches(decision: LoggedInquiry, { kind, outcome, by }: InquiryQuery): boolean {
  return matchesInquiryFilter(decision, {
    kind: kind && [kind],
    outcome: outcome === undefined ? undefined : [outcome],
    by: by === undefined ? undefined : [by],
  });
}

function hasWords({ label, tool, question }: DecisionJson, { text }: InquiryQuery): boolean {
  if (text === undefined) return true;
  return [label, tool, question.text, question.context].some(searchFor(text));
}

/** Reports conversations that cannot be read. */
async function readDecisions(
  { workspace, summary }: Found,
  { onProblem }: HistoryContext,
): Promise<readonly LoggedInquiry[]> {
  const decisions: LoggedInquiry[] = [];
  try {
    const onUnreadable = ({ message }: Error) =>
      onProblem(`${summary.id}: cannot read an inquiry: ${message}`);
    const entries = entriesIn(workspace.conversations, summary.id);
    for await (const decision of inquiriesIn(entries, onUnreadable)) decisions.push(decision);
  } catch (error) {
    onProblem(messageOf(error));
  }
  return decisions;
}

async function* entriesIn(store: ConversationStore, id: ConversationId) {
  for await (const { entries } of store.scan(id)) yield entries;
}

interface Found {
  readonly workspace: DeskWorkspace;
  readonly summary: ConversationSummary;
}

/** Where the next page starts: after this conversation, or with its first `rest` decisions. */
interface Position extends ConversationCreation {
  readonly root: string;
  readonly rest: number;
}

function positionOf({ workspace, summary }: Found, rest: number): Position {
  const { id, createdAt } = summary;
  return { id, createdAt, root: workspace.root, rest };
}

function cursorTo({ id, createdAt, root, rest }: Position): string {
  return `${id}/${createdAt}/${rest}/${root}`;
}

function parseCursor(cursor: string): Position {
  const [, name = "", time, rest, root = ""] =
    /^([^/]*)\/([^/]*)\/(\d{1,9})\/(.*)$/s.exec(cursor) ?? [];
  const id = findConversationId(name);
  const createdAt = findTimestamp(time);
  if (id === undefined || createdAt === undefined) {
    throw new JpError("invalid_cursor", "The cursor is invalid.");
  }
  return { id, createdAt, root, rest: Number(rest) };
}

interface NewestOptions {
  readonly which: "live" | "all";
  readonly position: Position | undefined;
  /** Only this conversation. */
  readonly only?: string;
}

/** The conversations of all workspaces, newest first. */
async function* newestFirst(
  workspaces: readonly DeskWorkspace[],
  options: NewestOptions,
): AsyncGenerator<Found> {
  const at = workspaces.findIndex(({ root }) => root === options.position?.root);
  const lists = workspaces.map((each, index) => {
    const isGiven = index < at || (index === at && options.position?.rest === 0);
    return listFrom(each, options, isGiven);
  });
  const heads = await Promise.all(lists.map((list) => list.next()));
  for (;;) {
    let newest = -1;
    for (const [index, head] of heads.entries()) if (isNewer(head, heads[newest])) newest = index;
    const head = heads[newest];
    const list = lists[newest];
    if (head === undefined || head.done === true || list === undefined) return;
    yield head.value;
    heads[newest] = await list.next();
  }
}

type Head = IteratorResult<Found, undefined>;

/** The first of several with the same timestamp is the newest. */
function isNewer(head: Head, other: Head | undefined): boolean {
  if (head.done === true) return false;
  if (other === undefined || other.done === true) return true;
  return compareCreation(head.value.summary, other.value.summary) > 0;
}

/** One workspace's conversations. `isGiven`: the position's conversation was on an earlier page. */
async function* listFrom(
  workspace: DeskWorkspace,
  { which, position, only }: NewestOptions,
  isGiven: boolean,
): AsyncGenerator<Found, undefined> {
  const { conversations } = workspace;
  if (only !== undefined) {
    const id = findConversationId(only);
    const summary = id && (await conversations.find(id));
    const order = summary && position && compareCreation(summary, position);
    const isLeft = order === undefined || order < 0 || (order === 0 && !isGiven);
    if (summary && isLeft) yield { workspace, summary };
    return undefined;
  }
  let before: ConversationCreation | undefined = position;
  if (position !== undefined && !isGiven) {
    const summary = await conversations.find(position.id);
    const isListed = summary !== undefined && (which === "all" || !summary.isArchived);
    if (isListed && compareCreation(summary, position) === 0) yield { workspace, summary };
  }
  for (;;) {
    const older = before === undefined ? {} : { before };
    const listed = await conversations.list({ which, limit: LISTED_AT_ONCE, ...older });
    const sorted = listed.toSorted((left, right) => compareCreation(right, left));
    for (const summary of sorted) yield { workspace, summary };
    before = sorted.at(-1);
    if (sorted.length < LISTED_AT_ONCE || before === undefined) return undefined;
  }
}
