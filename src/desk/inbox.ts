/**
 * What waits for people in one workspace. Kept up to date by watching its store: after a change, only the last turn of that
 * conversation is read again. When everything is checked, only turns that have changed are read, one at a time. Of a
 * conversation in which nothing waits, nothing is kept.
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
import { messageOf } from "../util/index.ts";
import { endToJson, pendingToJson } from "./decision-json.ts";
import { conversationToJson, EventCounter } from "./history.ts";
import type { DecisionJson, DeskChange } from "./wire.ts";
import type { DeskWorkspace } from "./workspace.ts";

/** Something that waits. */
export interface InboxItem {
  readonly inquiry: PendingDecision;
  readonly json: DecisionJson;
}

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
  /** What is to be read, but has not been begun: one conversation, or all. */
  readonly #scheduled = new Map<ConversationId | undefined, Promise<void>>();
  #lastRead: Promise<void> = Promise.resolve();
  #watching: Disposable | undefined;
  #hasStarted = false;
  readonly #problems = new Map<ConversationId | undefined, string>();

  constructor(workspace: DeskWorkspace, listener: InboxListener) {
    this.workspace = workspace;
    this.#listener = listener;
    this.#counter = new EventCounter(workspace.conversations);
  }

  /** Reads what waits, and from then on what changes. */
  async start(): Promise<void> {
    this.#watching = this.workspace.conversations.watch(({ id }) => {
      // Anyone who shows a conversation has to read it again too.
      if (id === undefined) this.#listener.emit({ type: "reset", data: {} });
      void this.refresh(id);
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
      await (id === undefined ? this.#readAll() : this.#readOne(id));
    } catch (error) {
      this.#report(id, messageOf(error));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching?.[Symbol.dispose]();
    await this.#lastRead;
  }

  async #readAll(): Promise<void> {
    const turns = await this.workspace.conversations.listPending({
      hasTitles: true,
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
    const turns = await this.workspace.conversations.listPending({ id, hasTitles: true });
    const turn = turns.find((each) => each.id === id);
    await this.#update(id, turn);
    if (version === undefined || turn?.problem !== undefined) return;
    this.#versions.set(id, version);
  }

  async #readOne(id: ConversationId): Promise<void> {
    const { conversations, root } = this.workspace;
    await this.#readTurn({ id });
    const summary = await conversations.find(id);
    if (summary === undefined) {
      const gone = { workspace: root, id, removed: true } as const;
      return this.#listener.emit({ type: "conversation", data: gone });
    }
    const count = await this.#counter.count(id);
    const data = { ...conversationToJson(root, summary), count };
    this.#listener.emit({ type: "conversation", data });
  }

  async #update(id: ConversationId, turn: PendingTurn | undefined): Promise<void> {
    this.#versions.delete(id);
    // What waited there still does, as far as is known.
    if (turn?.problem !== undefined) return this.#report(id, turn.problem);
    const before = this.#items.get(id) ?? [];
    const after = turn === undefined ? [] : this.#itemsIn(turn);
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

  #itemsIn(turn: PendingTurn): readonly InboxItem[] {
    const { root: workspace } = this.workspace;
    return pendingInTurn(turn).map((inquiry) => ({
      inquiry,
      json: pendingToJson(inquiry, { workspace, title: turn.title }),
    }));
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
