/** Implements the desk over one or more workspaces: pending decisions, answers to them, and resuming turns. */
import {
  type AnswerEvent,
  type ConversationId,
  deciderOf,
  describeWaysOut,
  type Directory,
  explainRefusal,
  findStranger,
  identify,
  type InquiryId,
  newNonce,
  peopleFor,
  type PendingItem,
  type RefusalCode,
  refuse,
  type Refused,
  type ReplyOrCancel,
  keptFileBaseName,
  STRANGER_CODES,
  toSignOf,
} from "../../record/conversation/index.ts";
import { decisionToJson, toDeciderJson } from "../render/index.ts";
import {
  answerInquiry,
  findForeignNotice,
  findModelFiles,
  type DecisionAnswer,
  isRefused,
  judgeAnswerTo,
  type PendingDecision,
} from "../../assemble/index.ts";
import type { AnswerResult, ConversationSummary } from "../../stores/index.ts";
import {
  type Clock,
  isJpError,
  JpError,
  messageOf,
  shouldYield,
  systemClock,
  yieldToEventLoop,
} from "../../util/index.ts";
import { EventLog } from "./event-log.ts";
import {
  findRecorded,
  type HistoryContext,
  listConversations,
  listInquiries,
  readConversation,
} from "./history.ts";
import { Inbox } from "./inbox.ts";
import {
  cursorBehind,
  type ListItem,
  type ListPlace,
  mergePages,
  type PendingEntry,
  type PendingPages,
  parsePendingCursor,
  PendingList,
} from "./pending-list.ts";
import type {
  ConversationRef,
  DeskFile,
  Desk,
  DeskAnswerResult,
  InquiryRef,
  Person,
  PreparedAnswer,
  ResumeResult,
  ResumeTurn,
  SignedReply,
} from "./port.ts";
import type {
  ConversationJson,
  ConversationPart,
  ConversationQuery,
  DecisionJson,
  DeskChange,
  DeskEvent,
  InquiryQuery,
  Page,
  PendingQuery,
  Right,
} from "./wire.ts";
import type { DeskWorkspace } from "./workspace.ts";

/** Options of a desk, all optional. */
export interface DeskOptions {
  /** Resumes turns. Without it, the desk only takes answers. */
  readonly resumeTurn?: ResumeTurn;
  /** Also resumes each turn once all its questions are answered, unless a process has it open. */
  readonly resumesAnswered?: boolean;
  /** Workspaces created since. Polled now and then; the desk serves them from then on. */
  readonly findNew?: () => Promise<readonly DeskWorkspace[]>;
  /** The people and their roles. Without it, decisions that need known people cannot be made here. */
  readonly directory?: Directory;
  /** Called about conversations that cannot be read and turns that cannot be resumed. */
  readonly onProblem?: (problem: string) => void;
  /** Replaces the system clock, for tests. */
  readonly clock?: Clock;
}

/** File watchers may miss changes, so pending decisions are also polled. */
const POLL_MS = 30_000;
/** How long a process with the conversation open may take to accept an answer. */
const ANSWER_TIMEOUT_MS = 30_000;
/** Pending decisions per page. */
const MAX_PAGE = 500;
/** A search ends its page after this many items, even if it finds few. */
const MAX_SEARCHED = 5000;

/** Reads the pending decisions and keeps them up to date until the desk is disposed of. */
export async function createDesk(
  workspaces: readonly DeskWorkspace[],
  options: DeskOptions = {},
): Promise<Desk> {
  const desk = new WorkspacesDesk(workspaces, options);
  await desk.start();
  return desk;
}

class WorkspacesDesk implements Desk {
  readonly #inboxes: Inbox[] = [];
  readonly #workspaces: DeskWorkspace[] = [];
  readonly #pending = new PendingList();
  readonly #log: EventLog;
  readonly #history: HistoryContext;
  readonly #options: DeskOptions;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #polling: Promise<void> = Promise.resolve();

  constructor(workspaces: readonly DeskWorkspace[], options: DeskOptions) {
    const { clock = systemClock, onProblem = () => undefined } = options;
    this.#options = options;
    this.#clock = clock;
    this.#log = new EventLog(clock);
    this.#history = { workspaces: this.#workspaces, onProblem };
    this.#workspaces.push(...workspaces);
  }

  async start(): Promise<void> {
    this.#inboxes.push(...this.#workspaces.map((workspace) => this.#inboxOf(workspace)));
    await Promise.all(this.#inboxes.map((inbox) => inbox.start()));
    this.#pending.sort();
    this.#polling = this.#poll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#polling;
    await Promise.all(this.#inboxes.map((inbox) => inbox[Symbol.asyncDispose]()));
  }

  async listPending(query: PendingQuery = {}): Promise<Page<DecisionJson>> {
    const { text, cursor, limit = MAX_PAGE } = query;
    const items: DecisionJson[] = [];
    let place = cursor === undefined ? undefined : parsePendingCursor(cursor);
    for (let searched = 0; ;) {
      const count = Math.min(limit, MAX_PAGE) - items.length;
      const found = await this.#listAfter(place, count + 1, query);
      const page = found.slice(0, count);
      for (const json of await this.#readItems(page)) if (hasText(json, text)) items.push(json);
      const last = page.at(-1);
      if (last === undefined || found.length === page.length) return { items };
      place = last;
      searched += page.length;
      const isEnough = items.length >= limit || searched >= MAX_SEARCHED;
      if (isEnough) return { items, next: cursorBehind(last) };
      if (shouldYield()) await yieldToEventLoop();
    }
  }

  /** The first items after a place, from all workspaces. */
  async #listAfter(
    place: ListPlace | undefined,
    count: number,
    query: PendingQuery,
  ): Promise<readonly ListItem[]> {
    const lists: readonly PendingPages[] = [this.#pending, ...this.#inboxes];
    const pages = await Promise.all(lists.map((list) => list.after(place, count, query)));
    return mergePages(pages, count);
  }

  /** Keeps the order and drops items that are no longer pending. */
  async #readItems(items: readonly ListItem[]): Promise<readonly DecisionJson[]> {
    const read = await Promise.all(
      this.#inboxes.map((inbox) =>
        inbox.read(items.filter(({ workspace }) => workspace === inbox.workspace.root)),
      ),
    );
    return items.flatMap((item) => read.find((each) => each.has(item))?.get(item) ?? []);
  }

  async findInquiry(ref: InquiryRef): Promise<DecisionJson | undefined> {
    const { conversation, id } = ref;
    const found = await this.#locate(ref);
    if (found === undefined) return undefined;
    const item = await findItem(found.inbox, ref);
    const waiting = item && (await found.inbox.read([item])).get(item);
    if (waiting !== undefined) return waiting;
    const { workspace } = found.inbox;
    const { title } = found.summary.metadata ?? {};
    const recorded = await findRecorded(workspace, conversation, id);
    return recorded && decisionToJson(recorded, { workspace: workspace.root, conversation, title });
  }

  listInquiries(query: InquiryQuery): Promise<Page<DecisionJson>> {
    return listInquiries(query, this.#history);
  }

  listConversations(query: ConversationQuery): Promise<Page<ConversationJson>> {
    return listConversations(query, this.#history);
  }

  async readConversation(ref: ConversationRef, first = 0): Promise<ConversationPart | undefined> {
    const found = await this.#locate(ref);
    return found && readConversation(found.inbox.workspace, found.summary, first);
  }

  async readFile(ref: ConversationRef, digest: string): Promise<DeskFile | undefined> {
    const found = await this.#locate(ref);
    if (found === undefined) return undefined;
    const { conversations } = found.inbox.workspace;
    const [file] = await findModelFiles(conversations, ref.conversation, digest);
    const bytes =
      file?.digest === digest && (await conversations.readFile?.(ref.conversation, file));
    return file && bytes ? { name: keptFileBaseName(file), bytes } : undefined;
  }

  async answer(ref: InquiryRef, reply: SignedReply, person: Person): Promise<DeskAnswerResult> {
    const found = await this.#findAnswerable(ref, reply, person);
    if ("type" in found) return found;
    const { inbox, inquiry } = found;
    const { digest } = ref;
    const { directory } = this.#options;
    inbox.expectChange(ref.conversation);
    const result = await this.#record(inbox, inquiry, { reply, person, digest, directory });
    await inbox.refresh(ref.conversation);
    return result ?? findAnswered(inbox, ref);
  }

  async prepareAnswer(
    ref: InquiryRef,
    reply: ReplyOrCancel,
    person: Person,
  ): Promise<PreparedAnswer | DeskAnswerResult> {
    const found = await this.#findAnswerable(ref, reply, person);
    if ("type" in found) return found;
    const { directory } = this.#options;
    const { digest } = ref;
    const given = { reply, person, digest, directory };
    const { event, ruling } = judgeAnswerTo(found.inquiry, toAnswer(given, this.#clock));
    if (ruling.code === "changed") return { type: "changed", changed: [] };
    if (isRefused(ruling) && ruling.code !== "unsigned") return refusedBy(ruling, found.inquiry);
    const nonce = newNonce(this.#clock.now().getTime());
    const toSign = toSignOf(event, nonce);
    if (toSign !== undefined) return { type: "to_sign", toSign };
    return refusedBy({ code: "unsigned" }, found.inquiry);
  }

  /** The pending decision, if this person may give this reply as far as the desk knows. */
  async #findAnswerable(
    ref: InquiryRef,
    reply: ReplyOrCancel,
    person: Person,
  ): Promise<Answerable | DeskAnswerResult> {
    const inbox = this.#findWaiting(ref) ?? (await this.#locate(ref))?.inbox;
    if (inbox === undefined) return { type: "not_found" };
    const inquiry = await inbox.load(ref.conversation, ref.id);
    if (inquiry === undefined) {
      await inbox.refresh(ref.conversation);
      return findAnswered(inbox, ref);
    }
    const { asked_at: askedAt = inquiry.askedAt, digest } = ref;
    if (askedAt !== inquiry.askedAt) return { type: "answered" };
    const { directory } = this.#options;
    const forbidden = findForbidden(inquiry, { reply, person, directory }, this.#clock);
    if (forbidden !== undefined) return forbidden;
    const isUnread = !("isCancelled" in reply) && digest === undefined;
    if (isUnread && inquiry.digest !== undefined) return { type: "digest_required" };
    return { inbox, inquiry };
  }

  async resume(ref: ConversationRef, person: Person): Promise<ResumeResult | undefined> {
    const found = await this.#locate(ref);
    if (found === undefined) return undefined;
    const { inbox, summary } = found;
    await inbox.refresh(ref.conversation);
    const refusal = findRefusal(inbox, summary, person);
    if (refusal !== undefined) return { type: "refused", message: refusal };
    const { resumeTurn } = this.#options;
    if (resumeTurn === undefined) {
      return { type: "refused", message: "This desk does not run turns. Start it with --run." };
    }
    return resumeTurn({ conversation: ref.conversation, workspace: inbox.workspace.root });
  }

  subscribe(listener: (event: DeskEvent) => void, after?: number): Disposable {
    return this.#log.subscribe(listener, after);
  }

  /** Looks in memory only. Undefined if several workspaces match, or one may that is not in memory. */
  #findWaiting({ conversation, workspace, id }: InquiryRef): Inbox | undefined {
    const isOne = workspace !== undefined || this.#inboxes.length === 1;
    if (!isOne && this.#inboxes.some(({ isPaged }) => isPaged)) return undefined;
    const waiting = this.#inboxes.filter(
      (inbox) =>
        (workspace ?? inbox.workspace.root) === inbox.workspace.root &&
        inbox.find(conversation, id) !== undefined,
    );
    return waiting.length === 1 ? waiting[0] : undefined;
  }

  /** Throws `ambiguous_conversation`. */
  async #locate(ref: ConversationRef & { readonly id?: InquiryId }): Promise<Located | undefined> {
    const { conversation, workspace, id } = ref;
    const all: Located[] = [];
    for (const inbox of this.#inboxes) {
      if (workspace !== undefined && inbox.workspace.root !== workspace) continue;
      const summary = await inbox.workspace.conversations.find(conversation);
      if (summary !== undefined) all.push({ inbox, summary });
    }
    const waiting =
      all.length > 1 && id !== undefined ? await findAsking(all, conversation, id) : [];
    const [found, ...others] = waiting.length > 0 ? waiting : all;
    if (others.length === 0) return found;
    throw new JpError(
      "ambiguous_conversation",
      `Several workspaces have ${conversation}: say which.`,
    );
  }

  /** Undefined if it is no longer pending. */
  async #record(
    { workspace }: Inbox,
    inquiry: PendingDecision,
    given: Given,
  ): Promise<DeskAnswerResult | undefined> {
    const done = new AbortController();
    const isBusy = new AbortController();
    const signal = AbortSignal.any([isBusy.signal, this.#stop.signal]);
    this.#clock
      .sleep(ANSWER_TIMEOUT_MS, AbortSignal.any([done.signal, this.#stop.signal]))
      .then(() => isBusy.abort())
      .catch(() => undefined);
    try {
      const answer = { ...toAnswer(given, this.#clock), signal };
      const result = await answerInquiry(workspace.conversations, inquiry, answer);
      if (result.type !== "recorded") return toDeskResult(result);
      const notice = await findForeignNotice(workspace.conversations, inquiry);
      return { type: "recorded", ...(notice !== undefined && { notice }) };
    } catch (error) {
      if (signal.aborted && error === signal.reason) {
        const message = "The process that asked is busy. Try again later.";
        return { type: "refused", code: "busy", message };
      }
      const isGone = isJpError(error) && GONE.has(error.code);
      if (!isGone) throw error;
      return { type: "not_found" };
    } finally {
      done.abort();
    }
  }

  async #resumeAnswered(ref: ConversationRef): Promise<void> {
    const { resumeTurn, resumesAnswered = false, onProblem } = this.#options;
    if (!resumesAnswered || resumeTurn === undefined) return;
    try {
      const result = await resumeTurn(ref);
      if (result.type === "refused") onProblem?.(`${ref.conversation}: ${result.message}`);
    } catch (error) {
      onProblem?.(`${ref.conversation}: ${messageOf(error)}`);
    }
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#clock.sleep(POLL_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      await Promise.all(this.#inboxes.map((inbox) => inbox.refresh()));
      await this.#addNew();
    }
  }

  async #addNew(): Promise<void> {
    const { findNew, onProblem } = this.#options;
    try {
      for (const workspace of (await findNew?.()) ?? []) {
        const inbox = this.#inboxOf(workspace);
        this.#workspaces.push(workspace);
        this.#inboxes.push(inbox);
        await inbox.start();
        this.#log.emit({ type: "reset", data: {} });
      }
    } catch (error) {
      onProblem?.(messageOf(error));
    }
  }

  #inboxOf(workspace: DeskWorkspace): Inbox {
    const { onProblem = () => undefined, resumesAnswered = false } = this.#options;
    const onReady = (conversation: ConversationId) =>
      void this.#resumeAnswered({ conversation, workspace: workspace.root });
    const emit = (change: DeskChange) => this.#log.emit(change);
    const ready = resumesAnswered ? { onReady } : {};
    const listener = { emit, onProblem, ...ready, list: this.#pending };
    return new Inbox(workspace, listener, this.#clock);
  }
}

/** A pending decision and its inbox. */
interface Answerable {
  readonly inbox: Inbox;
  readonly inquiry: PendingDecision;
}

interface Located {
  readonly inbox: Inbox;
  readonly summary: ConversationSummary;
}

/** Those in which this decision is pending. */
async function findAsking(
  all: readonly Located[],
  conversation: ConversationId,
  id: InquiryId,
): Promise<readonly Located[]> {
  const asking: Located[] = [];
  for (const each of all) {
    if ((await each.inbox.load(conversation, id)) !== undefined) asking.push(each);
  }
  return asking;
}

function hasText({ tool, question }: DecisionJson, text: string | undefined): boolean {
  const searched = `${tool}\n${question.text}`.toLowerCase();
  return text === undefined || searched.includes(text.toLowerCase());
}

/** The answer as recorded. */
function toAnswer({ reply, person, digest, directory }: Given, clock: Clock): DecisionAnswer {
  return {
    ...reply,
    channel: "desk",
    userName: person.name,
    auth: authOf(person),
    clock,
    ...(directory !== undefined && { directory }),
    ...(digest !== undefined && { digest }),
  };
}

/** One person's reply to one decision. */
interface Given {
  readonly reply: SignedReply;
  readonly person: Person;
  /** The digest of the version they read. */
  readonly digest: string | undefined;
  readonly directory: Directory | undefined;
}

type Refusal = Extract<DeskAnswerResult, { readonly type: "forbidden" }>;

/** Why this person may not give this reply. Undefined if they may. */
function findForbidden(
  item: PendingDecision,
  { reply, person, directory }: Pick<Given, "reply" | "person" | "directory">,
  clock: Clock,
): Refusal | undefined {
  const { kind, acts } = item;
  // However a tool asks, these need the right to approve: acting, delivering a result, and redirecting the model.
  const isTelling = "redirects" in reply && reply.redirects;
  const right: Right = acts || kind === "delivery" || isTelling ? "approve" : "answer";
  if (!person.rights.includes(right)) {
    return { type: "forbidden", code: "forbidden", message: `This needs the right to ${right}.` };
  }
  const given = { reply, person, directory, digest: item.digest };
  const code = findStrangerCode(item, given, clock);
  if (code === undefined) return undefined;
  const why = explainRefusal(code, item);
  const wayOut = code === "no_people" ? ` ${describeWaysOut(item)}` : "";
  const message = `${why.charAt(0).toUpperCase()}${why.slice(1)}.${wayOut}`;
  return { type: "forbidden", code: "not_for_you", reason: code, message };
}

/** The person running the turn can always cancel it, but people at the desk run nothing. */
function findStrangerCode(
  item: PendingDecision,
  given: Given,
  clock: Clock,
): RefusalCode | undefined {
  const { reply, person, directory } = given;
  if (!("isCancelled" in reply)) {
    const { ruling } = judgeAnswerTo(item, toAnswer(given, clock));
    return isRefused(ruling) && STRANGER_CODES.has(ruling.code) ? ruling.code : undefined;
  }
  if (isAdministrator(person)) return undefined;
  // A cancelled question does not record who cancelled it.
  const people = peopleFor(item, directory);
  const claimant = { channel: "desk", name: person.name, auth: authOf(person) };
  return findStranger(item, identify(item, claimant, people), people);
}

function refusedBy(refused: Refused, item: PendingItem): DeskAnswerResult {
  const { code, reason: message } = refuse(refused, item);
  return { type: "refused", code, message };
}

/** The owner logged in with a link from their terminal, everyone else with a token. */
function authOf({ isOwner = false }: Person): "os_user" | "token" {
  return isOwner ? "os_user" : "token";
}

function isAdministrator({ rights }: Person): boolean {
  return rights.includes("administer");
}

/** Error codes that mean the conversation can no longer be answered. */
const GONE = new Set(["conversation_not_found", "conversation_archived"]);

/** Reads the conversation again if needed: the question may be new. */
async function findItem(inbox: Inbox, ref: InquiryRef): Promise<PendingEntry | undefined> {
  const known = inbox.find(ref.conversation, ref.id);
  if (known !== undefined) return known;
  await inbox.learn(ref.conversation);
  return inbox.find(ref.conversation, ref.id);
}

async function findAnswered(inbox: Inbox, ref: InquiryRef): Promise<DeskAnswerResult> {
  const recorded = await findRecorded(inbox.workspace, ref.conversation, ref.id);
  const { madeVoid, response } = recorded ?? {};
  // It was asked again.
  if (madeVoid !== undefined) return { type: "changed", changed: madeVoid.changed };
  return response === undefined ? { type: "not_found" } : answeredBy(response);
}

function answeredBy(event: AnswerEvent): DeskAnswerResult {
  const decider = deciderOf(event);
  return { type: "answered", ...(decider !== undefined && { by: toDeciderJson(decider) }) };
}

const CONFLICTS: ReadonlyMap<string, string> = new Map([
  ["other_workspace", "This was asked in another folder than the one that is served."],
]);

function toDeskResult(
  result: Exclude<AnswerResult, { readonly type: "recorded" }>,
): DeskAnswerResult | undefined {
  switch (result.type) {
    case "counted":
      return { type: "counted", count: result.count, quorum: result.quorum };
    case "repeated": {
      const { count, quorum } = result;
      const message = `You have said so already: ${count} of ${quorum} people have.`;
      return { type: "conflict", code: "already_counted", message };
    }
    case "taken":
      return answeredBy(result.event);
    case "not_pending":
      return undefined;
    case "overdue":
      return {
        type: "refused",
        code: "overdue",
        message: `The deadline has passed: ${result.deadline} UTC.`,
      };
    case "refused":
      return { type: "refused", code: result.code, message: result.reason };
    case "changed":
      return { type: "changed", changed: [] };
    default: {
      const { type: code } = result as { readonly type: string }; // Any other refusal by a store.
      return { type: "conflict", code, message: CONFLICTS.get(code) ?? "Cannot be answered here." };
    }
  }
}

/** Why the turn cannot be resumed. */
function findRefusal(
  inbox: Inbox,
  { id, openTurn, isArchived }: ConversationSummary,
  { rights }: Person,
): string | undefined {
  if (!rights.includes("answer")) return "This needs the right to answer.";
  if (isArchived) return "The conversation is archived.";
  if (openTurn === undefined) return "The turn is complete.";
  if (openTurn.type === "running") return "The turn is running.";
  return inbox.isWaiting(id) ? "The turn still waits for answers." : undefined;
}
