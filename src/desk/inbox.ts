/**
 * What waits for people in one workspace. Kept up to date by watching its store: after a change, only the last turn of that
 * conversation is read again: at once, and if it changes again, after a moment. When everything is checked, only turns that
 * have changed are read, one at a time. Of a conversation in which nothing waits, nothing is kept.
 */
import { isDeepStrictEqual } from "node:util";
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  findAnswerTo,
  type InquiryId,
  isAnswer,
  lastTurnOf,
} from "../conversation/index.ts";
import { type PendingDecision, pendingInTurn } from "../runtime/index.ts";
import type { PendingTurn } from "../storage/index.ts";
import { type Clock, messageOf } from "../util/index.ts";
import { endToJson, pendingToJson } from "./decision-json.ts";
import { conversationToJson, EventCounter } from "./history.ts";
import type { DecisionJson, DeskChange } from "./wire.ts";
import type { DeskWorkspace } from "./workspace.ts";

/** Something that waits. */
export interface InboxItem {
  readonly inquiry: PendingDecision;
  readonly json: DecisionJson;
}

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
}

export class Inbox implements AsyncDisposable {
  readonly workspace: DeskWorkspace;
  readonly #listener: InboxListener;
  readonly #items = new Map<ConversationId, readonly InboxItem[]>();
  /** The state in which each turn was last found ready to go on. */
  readonly #ready = new Map<ConversationId, string>();
  /** Of each incomplete turn as it was last read, if the store has versions. */
  readonly #versions = new Map<ConversationId, string>();
  readonly #counter: EventCounter;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** What is to be read, but has not been begun: one conversation, or all. */
  readonly #scheduled = new Map<ConversationId | undefined, Promise<void>>();
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

  /** In the order of the turns. */
  items(): readonly InboxItem[] {
    return [...this.#items.values()].flat();
  }

  find(conversation: ConversationId, id: InquiryId): InboxItem | undefined {
    return this.#items.get(conversation)?.find(({ inquiry }) => inquiry.id === id);
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
    const scheduled = this.#scheduled.get(id);
    if (scheduled !== undefined) return scheduled;
    const read = this.#readAfter(this.#lastRead, id);
    this.#scheduled.set(id, read);
    this.#lastRead = read;
    return read;
  }

  async #readAfter(earlier: Promise<void>, id: ConversationId | undefined): Promise<void> {
    await earlier;
    this.#scheduled.delete(id);
    try {
      await (id === undefined ? this.#readAll() : this.#readTurn({ id }));
    } catch (error) {
      this.#report(id, messageOf(error));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#watching?.[Symbol.dispose]();
    await this.#lastRead;
  }

  async #readAll(): Promise<void> {
    const turns = await this.workspace.conversations.listPending({
      hasMetadata: true,
      isBrief: true,
    });
    const open = new Set(turns.map(({ id }) => id));
    for (const turn of turns) {
      if (turn.version === undefined) await this.#update(turn.id, turn);
      else if (this.#versions.get(turn.id) !== turn.version) await this.#readTurn(turn);
    }
    for (const id of [...this.#items.keys(), ...this.#ready.keys(), ...this.#versions.keys()]) {
      if (!open.has(id)) await this.#update(id, undefined);
    }
  }

  /** If it has changed since it had this version, the next check finds another one. */
  async #readTurn({ id, version }: Pick<PendingTurn, "id" | "version">): Promise<void> {
    const turns = await this.workspace.conversations.listPending({ id, hasMetadata: true });
    const turn = turns.find((each) => each.id === id);
    await this.#update(id, turn);
    if (version === undefined || turn?.problem !== undefined) return;
    this.#versions.set(id, version);
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
    const gone = before.filter((item) => findSame(after, item) === undefined);
    const end = gone.length === 0 ? [] : await this.#readEnd(id);
    if (after.length > 0) this.#items.set(id, after);
    else this.#items.delete(id);
    for (const { inquiry } of gone) {
      const { conversation, id: answered } = inquiry;
      const ref = { workspace: this.workspace.root, conversation, id: answered };
      const ended = endToJson(findAnswerTo(end, inquiry), findVoid(end, answered));
      this.#listener.emit({ type: "answered", data: { ...ref, ...ended } });
    }
    for (const item of after) {
      const isKnown = isDeepStrictEqual(findSame(before, item)?.json, item.json);
      if (!isKnown) this.#listener.emit({ type: "pending", data: item.json });
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
  #itemsIn(turn: PendingTurn, before: readonly InboxItem[]): readonly InboxItem[] {
    const { root: workspace } = this.workspace;
    const items = pendingInTurn(turn).map((inquiry) => ({
      inquiry,
      json: pendingToJson(inquiry, { workspace, title: turn.title }),
    }));
    const told = items.map((item) => findSame(before, item)?.json.is_live ?? item.json.is_live);
    const isOther = items.some(({ json }, index) => json.is_live !== told[index]);
    if (this.#isSettled(turn.id, isOther)) return items;
    return items.map(({ inquiry, json }, index) => ({
      inquiry,
      json: { ...json, is_live: told[index] === true },
    }));
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

/** A later question may have the same id. */
function findSame(items: readonly InboxItem[], { inquiry }: InboxItem): InboxItem | undefined {
  const { id, askedAt, kind } = inquiry;
  return items.find(
    ({ inquiry: other }) => other.id === id && other.askedAt === askedAt && other.kind === kind,
  );
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
