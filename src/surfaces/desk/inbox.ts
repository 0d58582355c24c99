/**
 * What waits for people in one workspace. Kept up to date by watching its store: after a change, only the last turn of that
 * conversation is read again: at once, and if it changes again, after a moment. What changes while others are read is then read
 * together. When everything is checked, only turns that have changed are read. Of a conversation in which nothing waits, nothing
 * is kept.
 */
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  findAnswerTo,
  type InquiryId,
  isAnswer,
  lastTurnOf,
} from "../../record/conversation/index.ts";
import { answeredToJson, decisionToJson } from "../render/index.ts";
import { type PendingDecision, pendingInTurn } from "../../assemble/index.ts";
import type { PendingTurn } from "../../stores/index.ts";
import { type Clock, messageOf, sha256, shouldYield, yieldToEventLoop } from "../../util/index.ts";
import { conversationToJson, EventCounter } from "./history.ts";
import type { PendingEntry, PendingList } from "./pending-list.ts";
import type { DecisionJson, DeskChange } from "./wire.ts";
import type { DeskWorkspace } from "./workspace.ts";

/** How many turns are in memory at once. */
const BATCH = 200;
/** What changes within such a moment is read, and told, once. */
const MOMENT_MS = 50;
/** Recording an answer opens a conversation too. So that it is open is told only if it stays open. */
const LIVE_MS = 1000;

/** Told of what happens in a workspace. Must not throw. */
export interface InboxListener {
  readonly emit: (change: DeskChange) => void;
  readonly onProblem: (problem: string) => void;
  /** Everything that a turn has waited for is answered, and no process has it open. Told once. */
  readonly onReady: (id: ConversationId) => void;
  /** What waits in all workspaces. */
  readonly list: PendingList;
}

export class Inbox implements AsyncDisposable {
  readonly workspace: DeskWorkspace;
  readonly #listener: InboxListener;
  readonly #items = new Map<ConversationId, readonly PendingEntry[]>();
  #lastOrder = 0;
  /** The state in which each turn was last found ready to go on. */
  readonly #ready = new Map<ConversationId, string>();
  /** Of each incomplete turn as it was last read, if the store has versions. */
  readonly #versions = new Map<ConversationId, string>();
  readonly #counter: EventCounter;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** The conversations that are to be read, but have not been begun. */
  readonly #due = new Set<ConversationId>();
  /** When those are read, and all: if that has not begun. */
  #nextDue: Promise<void> | undefined;
  #nextAll: Promise<void> | undefined;
  /** Those that were read a moment ago, and whether they have changed since. */
  readonly #resting = new Map<ConversationId, { hasChanged: boolean }>();
  /** Those that a process has opened or left, unlike what is told of them, and whether that was long enough ago. */
  readonly #unsettled = new Map<ConversationId, { isSettled: boolean }>();
  #lastRead: Promise<void> = Promise.resolve();
  #watching: Disposable | undefined;
  #hasStarted = false;
  readonly #problems = new Map<ConversationId | undefined, string>();

  constructor(workspace: DeskWorkspace, listener: InboxListener, clock: Clock) {
    this.workspace = workspace;
    this.#listener = listener;
    this.#clock = clock;
    this.#counter = new EventCounter(workspace.conversations);
  }

  /** Reads what waits, and from then on what changes. */
  async start(): Promise<void> {
    this.#watching = this.workspace.conversations.watch(({ id }) => {
      // Anyone who shows a conversation has to read it again too.
      if (id !== undefined) return this.#notice(id);
      this.#listener.emit({ type: "reset", data: {} });
      void this.refresh();
    });
    await this.refresh();
    this.#hasStarted = true;
  }

  find(conversation: ConversationId, id: InquiryId): PendingEntry | undefined {
    return this.#items.get(conversation)?.find((item) => item.id === id);
  }

  isWaiting(conversation: ConversationId): boolean {
    return this.#items.has(conversation);
  }

  /** As the record has it now. It may have been asked just now. */
  async load(conversation: ConversationId, id: InquiryId): Promise<PendingDecision | undefined> {
    const { conversations } = this.workspace;
    const turns = await conversations.listPending({ id: conversation, hasMetadata: true });
    const turn = turns.find((each) => each.id === conversation);
    return turn && pendingInTurn(turn).find((inquiry) => inquiry.id === id);
  }

  /** The JSON of items of this workspace. Those that wait no more may be missing. */
  async read(items: readonly PendingEntry[]): Promise<ReadonlyMap<PendingEntry, DecisionJson>> {
    const kept = new Map(items.map((item) => [item, item.text])); // Others may take its place meanwhile.
    const missing = items.filter(({ text }) => text === undefined);
    const ids = [...new Set(missing.map(({ conversation }) => conversation))];
    const turns = new Map((await this.#listTurns(ids)).map((turn) => [turn.id, turn]));
    const found = new Map<PendingEntry, DecisionJson>();
    for (const item of items) {
      const text = kept.get(item) ?? this.#textOf(item, turns.get(item.conversation));
      if (text === undefined) continue;
      if (this.#items.get(item.conversation)?.includes(item)) this.#listener.list.use(item, text);
      found.set(item, JSON.parse(text) as DecisionJson); // As it was written here.
    }
    return found;
  }

  #textOf(item: PendingEntry, turn: PendingTurn | undefined): string | undefined {
    const { root: workspace } = this.workspace;
    const inquiry = turn && pendingInTurn(turn).find((each) => isSame(item, each));
    if (inquiry === undefined) return undefined;
    const { isLive } = item;
    return JSON.stringify(decisionToJson(inquiry, { ...inquiry, workspace, isLive }));
  }

  /** Says that this conversation is about to change, so that it is not read in between. */
  expectChange(id: ConversationId): void {
    const resting = this.#resting.get(id);
    if (resting === undefined) this.#rest(id, true);
    else resting.hasChanged = true;
  }

  /** It has changed: reads it, unless it was read a moment ago. */
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

  /** Reads one conversation again, or everything that waits. Reads that have not begun are shared. Never rejects. */
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

  /** The versions of turns that have changed, and those that wait no more. Reads whatever has no version. */
  async #compareVersions() {
    const turns = await this.workspace.conversations.listPending({
      hasMetadata: true,
      isBrief: true,
    });
    const changed = new Map<ConversationId, string>();
    for (const turn of turns) {
      if (turn.version === undefined) await this.#update(turn.id, turn);
      else if (this.#versions.get(turn.id) !== turn.version) changed.set(turn.id, turn.version);
    }
    const open = new Set(turns.map(({ id }) => id));
    const known = [this.#items, this.#ready, this.#versions].flatMap((each) => [...each.keys()]);
    return { changed, gone: new Set(known.filter((id) => !open.has(id))) };
  }

  /** If one has changed since it had its version, the next check finds another one. */
  async #readTurns(
    ids: readonly ConversationId[],
    versions?: ReadonlyMap<ConversationId, string>,
  ): Promise<void> {
    const batchFrom = (first: number) => ids.slice(first, first + BATCH);
    const list = (first: number) => {
      const listed = this.#listTurns(batchFrom(first));
      listed.catch(() => undefined); // The desk may have stopped by then.
      return listed;
    };
    let next = list(0);
    for (let first = 0; first < ids.length && !this.#stop.signal.aborted; first += BATCH) {
      const turns = new Map((await next).map((turn) => [turn.id, turn]));
      next = list(first + BATCH); // Comes while these are worked on.
      for (const id of batchFrom(first)) {
        if (shouldYield()) await yieldToEventLoop();
        const turn = turns.get(id);
        await this.#update(id, turn);
        const version = versions?.get(id);
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

  /** For those who show the conversation. Never rejects. */
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
    // What waited there still does, as far as is known.
    if (turn?.problem !== undefined) return this.#report(id, turn.problem);
    const before = this.#items.get(id) ?? [];
    const after = turn === undefined ? [] : this.#itemsIn(turn, before);
    const isGone = (item: PendingEntry) => !after.some(({ item: other }) => isSame(other, item));
    const gone = before.filter(isGone);
    const end = gone.length === 0 ? [] : await this.#readEnd(id);
    for (const item of before) this.#listener.list.remove(item);
    for (const { item } of after) this.#listener.list.add(item);
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
    for (const { item, json } of after) {
      const isKnown = before.find((other) => isSame(other, item))?.digest === item.digest;
      // Before that, no one can listen.
      if (!isKnown && this.#hasStarted) this.#listener.emit({ type: "pending", data: json });
    }
    this.#updateReady(id, after.length === 0 ? turn : undefined);
  }

  /** Turns that were ready before the start are left to people. */
  #updateReady(id: ConversationId, turn: PendingTurn | undefined): void {
    const state = turn && findReadyState(turn);
    if (state === undefined) {
      this.#ready.delete(id);
      return;
    }
    const isNew = this.#ready.get(id) !== state;
    this.#ready.set(id, state);
    if (isNew && this.#hasStarted) this.#listener.onReady(id);
  }

  /** With `is_live` as it was told before, unless it has been something else for a while. */
  #itemsIn(turn: PendingTurn, before: readonly PendingEntry[]): readonly ReadItem[] {
    const pending = pendingInTurn(turn).map((inquiry) => {
      const known = before.find((item) => isSame(item, inquiry));
      return { inquiry, known, told: known?.isLive ?? inquiry.isLive };
    });
    const isOther = pending.some(({ inquiry, told }) => inquiry.isLive !== told);
    const isSettled = this.#isSettled(turn.id, isOther);
    return pending.map(({ inquiry, known, told }) => {
      const isLive = isSettled ? inquiry.isLive : told;
      if (known === undefined) this.#lastOrder += 1;
      const order = known?.order ?? this.#lastOrder;
      return this.#toItem({ ...inquiry, isLive }, order);
    });
  }

  #toItem(inquiry: PendingDecision, order: number): ReadItem {
    const { id, kind, tool, toolCallId, conversation, askedAt, isLive } = inquiry;
    const { root: workspace } = this.workspace;
    const json = decisionToJson(inquiry, { ...inquiry, workspace });
    const text = JSON.stringify(json);
    const digest = sha256(text);
    const of = { id, kind, tool, toolCallId, conversation, askedAt, isLive, workspace };
    return { item: { ...of, order, digest, text }, json };
  }

  /** Whether to tell of it now. If not, it is looked at again later. */
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

  /** The next turn may have started already. Empty if the conversation is gone. */
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

  /** Each problem once, however often it is found. */
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

type Compared = Pick<PendingEntry, "id" | "askedAt" | "kind">;

/** A later question may have the same id. */
function isSame(left: Compared, right: Compared): boolean {
  return left.id === right.id && left.askedAt === right.askedAt && left.kind === right.kind;
}

/** What has changed, if it no longer counts for that reason. */
function findVoid(turn: readonly ConversationEvent[], id: InquiryId) {
  const voids = turn.filter((event) => event.type === "decision_void");
  return voids.findLast((event) => event.id === id)?.changed;
}

/** Different for each answer. Undefined unless an answer is the last that happened, and no process has it. */
function findReadyState({ entries, isLive }: PendingTurn): string | undefined {
  const turn = lastTurnOf(entries);
  const last = turn.at(-1);
  if (isLive || last === undefined || !isAnswer(last)) return undefined;
  return `${turn.length} ${last.timestamp}`;
}
