/**
 * The pending decisions of one workspace, kept up to date by watching its store. After a change, only the
 * conversation's last turn is read again: the first time at once, then after a short delay. Changes that arrive during
 * a read are batched into the next. A full check reads only turns that have changed.
 *
 * A store with a list of pending decisions has its pages; all that is kept of it is what was shown or has changed lately.
 * Of other stores, all that is pending is in memory. Nothing is stored for conversations without pending decisions.
 */
import {
  compareTimestamps,
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  findAnswerTo,
  findConversationId,
  type InquiryId,
  isAnswer,
  isDecisionRequest,
  lastTurnOf,
  parseConversationId,
  placesOf,
  type Timestamp,
  timestampFromDate,
} from "../../record/conversation/index.ts";
import { answeredToJson, decisionToJson } from "../render/index.ts";
import { type PendingDecision, pendingInTurn } from "../../assemble/index.ts";
import type { PendingPage, PendingPageQuery, PendingTurn } from "../../stores/index.ts";
import { type Clock, messageOf, sha256, shouldYield, yieldToEventLoop } from "../../util/index.ts";
import { conversationToJson, EventCounter } from "./history.ts";
import {
  compare,
  isListed,
  type ListItem,
  type ListPlace,
  mergePages,
  type PendingEntry,
  type PendingList,
  type PendingPages,
} from "./pending-list.ts";
import type { DecisionJson, DeskChange, PendingQuery } from "./wire.ts";
import type { DeskWorkspace } from "./workspace.ts";

/** How far the clocks of a desk and its server may be apart. */
const CLOCKS_MS = 10_000;
/** How many newly asked decisions a check looks for. */
const MAX_NEW = 200;
/** Turns in memory at once. */
const BATCH = 200;
/** Conversations of a store with a list that are remembered, besides those that the list leaves out. */
const MAX_KNOWN = 10_000;
/** Changes within this window are read and reported once. */
const MOMENT_MS = 50;
/** Recording an answer also opens a conversation, so `is_live` is reported only once it lasts. */
const LIVE_MS = 1000;

/** Receives a workspace's changes. Must not throw. */
export interface InboxListener {
  readonly emit: (change: DeskChange) => void;
  readonly onProblem: (problem: string) => void;
  /** Called once when all of a turn's questions are answered and no process has it open. */
  readonly onReady?: (id: ConversationId) => void;
  /** The pending decisions of all workspaces whose stores have no list of them. */
  readonly list: PendingList;
  /** Replaces `MAX_KNOWN`, for tests. */
  readonly maxKnown?: number;
}

export class Inbox implements AsyncDisposable, PendingPages {
  readonly workspace: DeskWorkspace;
  readonly #listener: InboxListener;
  readonly #items = new Map<ConversationId, readonly PendingEntry[]>();
  /** Conversations of a store with a list, as `#items` has them. The one that was read last is the last. */
  readonly #known = new Set<ConversationId>();
  /** Items that a client has read, and that no event has told of. */
  readonly #shown = new WeakSet<PendingEntry>();
  /** Turns that the list leaves out, as of the last page. */
  #unlisted: ReadonlySet<ConversationId> = new Set();
  readonly #startedAt: Timestamp;
  /** What was asked up to this time was pending at the start, or is known. */
  #newSince: Timestamp;
  /** The state in which each turn was last found ready to resume. */
  readonly #ready = new Map<ConversationId, string>();
  /** The version of each incomplete turn at its last read, if the store has versions. */
  readonly #versions = new Map<ConversationId, string>();
  readonly #counter: EventCounter;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** Conversations queued to be read. */
  readonly #due = new Set<ConversationId>();
  /** The next queued read and the next full check, until they start. */
  #nextDue: Promise<void> | undefined;
  #nextAll: Promise<void> | undefined;
  /** Conversations read a moment ago, and whether they have changed since. */
  readonly #resting = new Map<ConversationId, { hasChanged: boolean }>();
  /** Conversations whose `is_live` differs from the reported one, and whether it has differed long enough. */
  readonly #unsettled = new Map<ConversationId, { isSettled: boolean }>();
  #lastRead: Promise<void> = Promise.resolve();
  #watching: Disposable | undefined;
  #hasStarted = false;
  readonly #problems = new Map<ConversationId | undefined, string>();

  constructor(workspace: DeskWorkspace, listener: InboxListener, clock: Clock) {
    this.workspace = workspace;
    this.#listener = listener;
    this.#clock = clock;
    this.#startedAt = timestampFromDate(clock.now());
    this.#newSince = timestampFromDate(new Date(clock.now().getTime() - CLOCKS_MS));
    this.#counter = new EventCounter(workspace.conversations);
  }

  /** Reads the pending decisions and starts watching for changes. */
  async start(): Promise<void> {
    this.#watching = this.workspace.conversations.watch(({ id }) => {
      // Clients that show the conversation have to read it again too.
      if (id !== undefined) return this.#notice(id);
      this.#listener.emit({ type: "reset", data: {} });
      void this.refresh();
    });
    await this.refresh();
    this.#hasStarted = true;
  }

  /** Whether the store has a list of what is pending. */
  get isPaged(): boolean {
    return this.workspace.conversations.listPendingPage !== undefined;
  }

  /** Nothing if the store has no list. */
  async after(
    place: ListPlace | undefined,
    count: number,
    query: PendingQuery,
  ): Promise<readonly ListItem[]> {
    const { root: workspace } = this.workspace;
    const id =
      query.conversation === undefined ? undefined : findConversationId(query.conversation);
    const isNowhere = (query.workspace ?? workspace) !== workspace || id !== query.conversation;
    if (!this.isPaged || isNowhere) return [];
    const page = await this.#readPage({
      limit: count,
      ...(place !== undefined && { after: startIn(workspace, place) }),
      ...(id !== undefined && { id }),
      ...(query.kind !== undefined && { kind: query.kind }),
    });
    const listed = page.places.map(({ id: conversation, ...each }) => ({
      ...each,
      conversation,
      workspace,
    }));
    const unlisted = page.unlisted.flatMap((turn) => this.#items.get(turn.id) ?? []);
    const isWanted = (item: PendingEntry) =>
      isListed(item, query) && (place === undefined || compare(item, place) > 0);
    return mergePages([listed, unlisted.filter(isWanted)], count);
  }

  /** Turns that the page leaves out are read, unless they are known. */
  async #readPage(query: PendingPageQuery): Promise<PendingPage> {
    const { conversations } = this.workspace;
    const page = (await conversations.listPendingPage?.(query)) ?? { places: [], unlisted: [] };
    if (query.id === undefined) this.#unlisted = new Set(page.unlisted.map(({ id }) => id));
    const isNew = ({ id, version }: PendingTurn) => this.#versions.get(id) !== version;
    const changed = page.unlisted.filter(isNew).map(({ id }) => id);
    if (changed.length > 0) await this.#readNext(() => this.#readTurns(changed));
    return page;
  }

  find(conversation: ConversationId, id: InquiryId): PendingEntry | undefined {
    return this.#items.get(conversation)?.find((item) => item.id === id);
  }

  isWaiting(conversation: ConversationId): boolean {
    return this.#items.has(conversation);
  }

  /** Reads the conversation if what is pending in it may be unknown. */
  async learn(id: ConversationId): Promise<void> {
    if (!this.isPaged) return this.refresh(id);
    for (const turn of await this.#listTurns([id])) this.#show(turn);
  }

  /** Reads it from the record, since it may be new. */
  async load(conversation: ConversationId, id: InquiryId): Promise<PendingDecision | undefined> {
    const { conversations } = this.workspace;
    const turns = await conversations.listPending({ id: conversation, hasMetadata: true });
    const turn = turns.find((each) => each.id === conversation);
    return turn && pendingInTurn(turn).find((inquiry) => inquiry.id === id);
  }

  /** The JSON of this workspace's items. Items that are no longer pending may be missing. */
  async read(items: readonly ListItem[]): Promise<ReadonlyMap<ListItem, DecisionJson>> {
    // Texts may be evicted meanwhile.
    const kept = new Map(items.map((item) => [item, this.#entryOf(item)?.text]));
    const missing = items.filter((item) => kept.get(item) === undefined);
    const ids = [...new Set(missing.map(({ conversation }) => conversation))];
    const turns = new Map((await this.#listTurns(ids)).map((turn) => [turn.id, turn]));
    for (const turn of this.isPaged ? turns.values() : []) this.#show(turn);
    const found = new Map<ListItem, DecisionJson>();
    for (const item of items) {
      const text = kept.get(item) ?? this.#textOf(item, turns.get(item.conversation));
      if (text === undefined) continue;
      const entry = this.#entryOf(item);
      if (entry !== undefined && !this.isPaged) this.#listener.list.use(entry, text);
      found.set(item, JSON.parse(text) as DecisionJson); // Written by this class.
    }
    return found;
  }

  #entryOf(item: ListItem): PendingEntry | undefined {
    return this.#items.get(item.conversation)?.find((entry) => isThis(entry, item));
  }

  #textOf(item: ListItem, turn: PendingTurn | undefined): string | undefined {
    const { root: workspace } = this.workspace;
    const inquiry = turn && placedIn(turn).find((each) => isThis(each, item))?.inquiry;
    if (inquiry === undefined) return undefined;
    const { isLive } = this.#entryOf(item) ?? inquiry;
    return JSON.stringify(decisionToJson(inquiry, { ...inquiry, workspace, isLive }));
  }

  /** Remembers what a client is about to see, so that it is told when that is answered. */
  #show(turn: PendingTurn): void {
    const { id, problem, version } = turn;
    if (problem !== undefined) return this.#report(id, problem);
    const before = this.#items.get(id) ?? [];
    const items = this.#itemsIn(turn, before).map(({ item }) => item);
    // What is gone meanwhile is told with the next change, and so is what others have not been told of.
    const added = items.filter((item) => !before.some((other) => isSame(other, item)));
    for (const item of added) this.#shown.add(item);
    if (added.length > 0) this.#items.set(id, [...before, ...added]);
    if (version !== undefined && !this.#known.has(id)) this.#versions.set(id, version);
    this.#remember(id);
  }

  /** Forgets others instead. If one of them changes, it is read as if it were new. */
  #remember(id: ConversationId): void {
    this.#known.delete(id);
    this.#known.add(id);
    const { maxKnown = MAX_KNOWN } = this.#listener;
    if (this.#known.size <= maxKnown + this.#unlisted.size) return;
    for (const other of this.#known) {
      this.#known.delete(other);
      if (this.#unlisted.has(other)) {
        this.#known.add(other);
        continue;
      }
      this.#items.delete(other);
      this.#versions.delete(other);
      return;
    }
  }

  /** Announces a change to this conversation, so that it is not read before then. */
  expectChange(id: ConversationId): void {
    const resting = this.#resting.get(id);
    if (resting === undefined) this.#rest(id, true);
    else resting.hasChanged = true;
  }

  /** Reads a changed conversation, unless it was read a moment ago. */
  #notice(id: ConversationId): void {
    if (this.#resting.has(id)) return this.expectChange(id);
    this.#rest(id, false);
    void this.refresh(id).then(() => this.#tellChanged(id));
  }

  #rest(id: ConversationId, hasChanged: boolean): void {
    this.#resting.set(id, { hasChanged });
    const wake = () => {
      const isDue = this.#resting.get(id)?.hasChanged === true && !this.#stop.signal.aborted;
      this.#resting.delete(id);
      if (isDue) this.#notice(id);
    };
    setTimeout(wake, MOMENT_MS).unref();
  }

  /** Reads one conversation again, or all pending decisions. Queued reads are shared. Never rejects. */
  refresh(id?: ConversationId): Promise<void> {
    if (id === undefined) {
      this.#nextAll ??= this.#readNext(() => {
        this.#nextAll = undefined;
        return this.#readAll();
      });
      return this.#nextAll;
    }
    this.#due.add(id);
    this.#nextDue ??= this.#readNext(() => {
      this.#nextDue = undefined;
      const ids = [...this.#due];
      this.#due.clear();
      return this.#readTurns(ids);
    });
    return this.#nextDue;
  }

  #readNext(read: () => Promise<void>): Promise<void> {
    const reading = this.#lastRead.then(read).catch((error: unknown) => {
      this.#report(undefined, messageOf(error));
    });
    this.#lastRead = reading;
    return reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#watching?.[Symbol.dispose]();
    await this.#lastRead;
  }

  async #readAll(): Promise<void> {
    const { changed, gone } = await this.#compareVersions();
    for (const id of gone) await this.#update(id, undefined);
    await this.#readTurns([...changed.keys()], changed);
  }

  /** The versions of changed turns, and the conversations that are no longer pending. Reads turns without a version. */
  async #compareVersions() {
    const turns = await this.#listBrief();
    const changed = new Map<ConversationId, string>();
    for (const turn of turns) {
      if (turn.version === undefined) await this.#update(turn.id, turn);
      else if (this.#versions.get(turn.id) !== turn.version) changed.set(turn.id, turn.version);
    }
    const open = new Set(turns.map(({ id }) => id));
    return { changed, gone: new Set(this.#kept().filter((id) => !open.has(id))) };
  }

  /** The conversations that something is stored for. */
  #kept(): readonly ConversationId[] {
    return [this.#items, this.#ready, this.#versions].flatMap((each) => [...each.keys()]);
  }

  /**
   * The turns to compare: all, or those that are kept, that the store's list leaves out, or that have asked since the last
   * check: notices of them may be lost while the connection is made.
   */
  async #listBrief(): Promise<readonly PendingTurn[]> {
    const { conversations } = this.workspace;
    const brief = { hasMetadata: true, isBrief: true };
    const hasReady = this.#listener.onReady !== undefined;
    const after = { askedAt: this.#newSince };
    const page = await conversations.listPendingPage?.({ limit: MAX_NEW, after, hasReady });
    if (page === undefined) return conversations.listPending(brief);
    const last = page.places.at(-1);
    if (page.places.length === MAX_NEW && last !== undefined) this.#newSince = last.askedAt;
    this.#unlisted = new Set(page.unlisted.map(({ id }) => id));
    const asked = page.places.map(({ id }) => id).filter((id) => !this.#items.has(id));
    const ids = [...new Set([...this.#kept(), ...asked])].filter((id) => !this.#unlisted.has(id));
    const kept = ids.length === 0 ? [] : await conversations.listPending({ ids, ...brief });
    return [...page.unlisted, ...kept];
  }

  /** If a turn changed after its version was listed, the next check sees another version. */
  async #readTurns(
    ids: readonly ConversationId[],
    versions?: ReadonlyMap<ConversationId, string>,
  ): Promise<void> {
    const batchFrom = (first: number) => ids.slice(first, first + BATCH);
    const list = (first: number) => {
      const listed = this.#listTurns(batchFrom(first));
      listed.catch(() => undefined); // The desk may have stopped meanwhile.
      return listed;
    };
    let next = list(0);
    for (let first = 0; first < ids.length && !this.#stop.signal.aborted; first += BATCH) {
      const turns = new Map((await next).map((turn) => [turn.id, turn]));
      next = list(first + BATCH); // Loads while this batch is processed.
      for (const id of batchFrom(first)) {
        if (shouldYield()) await yieldToEventLoop();
        const turn = turns.get(id);
        await this.#update(id, turn);
        const version = turn?.version ?? versions?.get(id);
        const isRead = version !== undefined && turn?.problem === undefined;
        if (isRead) this.#versions.set(id, version);
      }
    }
  }

  async #listTurns(ids: readonly ConversationId[]): Promise<readonly PendingTurn[]> {
    if (ids.length === 0) return [];
    const [id] = ids;
    const which = ids.length === 1 && id !== undefined ? { id } : { ids };
    return this.workspace.conversations.listPending({ ...which, hasMetadata: true });
  }

  /** Notifies clients that show the conversation. Never rejects. */
  async #tellChanged(id: ConversationId): Promise<void> {
    const { conversations, root } = this.workspace;
    try {
      const summary = await conversations.find(id);
      const data =
        summary === undefined
          ? ({ workspace: root, id, removed: true } as const)
          : { ...conversationToJson(root, summary), count: await this.#counter.count(id) };
      this.#listener.emit({ type: "conversation", data });
    } catch (error) {
      this.#report(id, messageOf(error));
    }
  }

  async #update(id: ConversationId, turn: PendingTurn | undefined): Promise<void> {
    this.#versions.delete(id);
    // Its pending decisions are kept, for lack of newer information.
    if (turn?.problem !== undefined) return this.#report(id, turn.problem);
    const before = this.#items.get(id) ?? [];
    const after = turn === undefined ? [] : this.#itemsIn(turn, before);
    const isGone = (item: PendingEntry) => !after.some(({ item: other }) => isSame(other, item));
    const gone = before.filter(isGone);
    const isNew = this.isPaged && this.#hasStarted && !this.#known.has(id);
    const end = gone.length > 0 || (isNew && turn === undefined) ? await this.#readEnd(id) : [];
    if (this.isPaged) this.#remember(id);
    else {
      for (const item of before) this.#listener.list.remove(item);
      for (const { item } of after) this.#listener.list.add(item);
    }
    if (after.length === 0) this.#items.delete(id);
    else {
      this.#items.set(
        id,
        after.map(({ item }) => item),
      );
    }
    for (const item of gone) {
      const { conversation, id: answered } = item;
      const ref = { workspace: this.workspace.root, conversation, id: answered };
      const ended = answeredToJson(findAnswerTo(end, item), findVoid(end, answered));
      this.#listener.emit({ type: "answered", data: { ...ref, ...ended } });
    }
    if (isNew) this.#tellEnded(id, turn === undefined ? end : [...eventsOf(turn.entries)]);
    for (const { item, json } of after) {
      const known = before.find((other) => isSame(other, item));
      const isKnown = known?.digest === item.digest && !this.#shown.has(known);
      // There are no listeners before the start.
      if (!isKnown && this.#hasStarted) this.#listener.emit({ type: "pending", data: json });
    }
    this.#updateReady(id, after.length === 0 ? turn : undefined);
  }

  /** It is not known what was pending before: tells of all that has ended since the start. */
  #tellEnded(conversation: ConversationId, events: readonly ConversationEvent[]): void {
    const { root: workspace } = this.workspace;
    for (const event of events) {
      if (compareTimestamps(event.timestamp, this.#startedAt) < 0) continue;
      const ended = endedBy(event, events);
      if (ended === undefined) continue;
      this.#listener.emit({ type: "answered", data: { workspace, conversation, ...ended } });
    }
  }

  /** Turns that were ready before the start are left for people to resume. */
  #updateReady(id: ConversationId, turn: PendingTurn | undefined): void {
    const state = turn && findReadyState(turn);
    if (state === undefined) {
      this.#ready.delete(id);
      return;
    }
    const isNew = this.#ready.get(id) !== state;
    this.#ready.set(id, state);
    if (isNew && this.#hasStarted) this.#listener.onReady?.(id);
  }

  /** Keeps the reported `is_live` until a new value has lasted for a while. */
  #itemsIn(turn: PendingTurn, before: readonly PendingEntry[]): readonly ReadItem[] {
    const pending = placedIn(turn).map(({ inquiry, order }) => {
      const known = before.find((item) => isSame(item, inquiry));
      return { inquiry, order, told: known?.isLive ?? inquiry.isLive };
    });
    const isOther = pending.some(({ inquiry, told }) => inquiry.isLive !== told);
    const isSettled = this.#isSettled(turn.id, isOther);
    return pending.map(({ inquiry, order, told }) =>
      this.#toItem({ ...inquiry, isLive: isSettled ? inquiry.isLive : told }, order),
    );
  }

  #toItem(inquiry: PendingDecision, order: number): ReadItem {
    const { id, kind, tool, toolCallId, conversation, askedAt, isLive } = inquiry;
    const { root: workspace } = this.workspace;
    const json = decisionToJson(inquiry, { ...inquiry, workspace });
    const text = JSON.stringify(json);
    const digest = sha256(text);
    const of = { id, kind, tool, toolCallId, conversation, askedAt, isLive, workspace };
    return { item: { ...of, order, digest, text: this.isPaged ? undefined : text }, json };
  }

  /** Whether to report it now. Otherwise it is checked again later. */
  #isSettled(id: ConversationId, isOther: boolean): boolean {
    const known = this.#unsettled.get(id);
    if (!isOther || known?.isSettled === true) {
      this.#unsettled.delete(id);
      return true;
    }
    if (known !== undefined) return false;
    const unsettled = { isSettled: false };
    this.#unsettled.set(id, unsettled);
    void this.#settle(id, unsettled);
    return false;
  }

  async #settle(id: ConversationId, unsettled: { isSettled: boolean }): Promise<void> {
    await this.#clock.sleep(LIVE_MS, this.#stop.signal).catch(() => undefined);
    unsettled.isSettled = true;
    const isWanted = this.#unsettled.get(id) === unsettled && !this.#stop.signal.aborted;
    if (isWanted) await this.refresh(id);
  }

  /** Reads two turns, since the next may have started already. Empty if the conversation is gone. */
  async #readEnd(id: ConversationId): Promise<readonly ConversationEvent[]> {
    const { conversations } = this.workspace;
    try {
      const last = await conversations.findLastTurns(id, 2);
      const { entries } = last ?? (await conversations.load(id)).stream;
      return [...eventsOf(entries)];
    } catch {
      return [];
    }
  }

  /** Reports each problem once. */
  #report(id: ConversationId | undefined, problem: string): void {
    if (this.#problems.get(id) === problem) return;
    this.#problems.set(id, problem);
    this.#listener.onProblem(problem);
  }
}

/** An item with its JSON. */
interface ReadItem {
  readonly item: PendingEntry;
  readonly json: DecisionJson;
}

/** A pending decision, and its place in its turn. */
interface PlacedDecision extends Pick<ListItem, "kind" | "askedAt" | "order"> {
  readonly inquiry: PendingDecision;
}

function placedIn(turn: PendingTurn): readonly PlacedDecision[] {
  const pending = pendingInTurn(turn);
  const places = placesOf(pending, turn.entries);
  return pending.flatMap((inquiry, index) => {
    const place = places[index];
    return place === undefined ? [] : [{ ...place, inquiry }];
  });
}

/** Whether both are at the same place of their turn. */
function isThis(left: Placed, right: Placed): boolean {
  return left.order === right.order && left.askedAt === right.askedAt && left.kind === right.kind;
}

type Placed = Pick<ListItem, "kind" | "askedAt" | "order">;

/** Before all ids. */
const FIRST_ID = parseConversationId("jp-c0");

/** Where a page of this workspace starts: at one time, those of one workspace come after those of another. */
function startIn(workspace: string, { askedAt, ...place }: ListPlace) {
  if (workspace < place.workspace) return { askedAt };
  if (workspace > place.workspace) return { askedAt, id: FIRST_ID, order: -1 };
  return { askedAt, id: place.conversation, order: place.order };
}

/** A decision that an event has ended, if someone was asked. */
function endedBy(event: ConversationEvent, events: readonly ConversationEvent[]) {
  const isVoid = event.type === "decision_void";
  if (!isVoid && !isAnswer(event)) return undefined;
  const { id } = event;
  const isAsked = events.some((each) => isDecisionRequest(each) && each.id === id);
  if (id === undefined || !isAsked) return undefined;
  return {
    id,
    ...(isVoid ? answeredToJson(undefined, event.changed) : answeredToJson(event, undefined)),
  };
}

type Compared = Pick<PendingEntry, "id" | "askedAt" | "kind">;

/** A later question may have the same id. */
function isSame(left: Compared, right: Compared): boolean {
  return left.id === right.id && left.askedAt === right.askedAt && left.kind === right.kind;
}

/** The codes of what changed, if the decision was voided. */
function findVoid(turn: readonly ConversationEvent[], id: InquiryId) {
  const voids = turn.filter((event) => event.type === "decision_void");
  return voids.findLast((event) => event.id === id)?.changed;
}

/** Different for each answer. Undefined unless an answer is the last event and no process has the conversation open. */
function findReadyState({ entries, isLive }: PendingTurn): string | undefined {
  const turn = lastTurnOf(entries);
  const last = turn.at(-1);
  if (isLive || last === undefined || !isAnswer(last)) return undefined;
  return `${turn.length} ${last.timestamp}`;
}
