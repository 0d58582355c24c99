/** Lists the pending decisions of a store, and answers them from any process: for the command and for programs. */
import { directoryMissing } from "../core/agent/index.ts";
import {
  type AnswerEvent,
  argumentsOf,
  type AnswerProblem,
  type Claimant,
  type ConversationEvent,
  type ConversationId,
  type Decider,
  type DecisionSignature,
  type Directory,
  eventsOf,
  findAnswerTo,
  findConversationId,
  fitReply,
  identify,
  isAnswer,
  judge,
  judgedItem,
  knowledgeFor,
  knownPeople,
  lastTurnOf,
  peopleFor,
  type PendingItem,
  pendingOf,
  questionAbout,
  readTurnProgress,
  refuse,
  type Refused,
  type ReplyOrCancel,
  replyToEvent,
  type Ruling,
  SecretAnswer,
  signEvent,
  type Timestamp,
  timestampFromDate,
  withEscalation,
} from "../record/conversation/index.ts";
import type {
  AnswerOptions,
  AnswerResult,
  ConversationStore,
  PendingTurn,
} from "../stores/index.ts";
import type { InquiryQuestion, ToolOrigin } from "../record/tool/index.ts";
import { type Clock, isJpError, JpError, type JsonObject, systemClock } from "../util/index.ts";

/** A decision waiting for a person: a question, a permission, a delivery, or a call in doubt. */
export interface PendingDecision extends PendingItem {
  readonly conversation: ConversationId;
  /** The conversation's title, if it has one. */
  readonly title?: string;
  /** Every pending decision can be put as a question, even if no tool asked one. */
  readonly question: InquiryQuestion;
  /** The arguments the call runs with. Absent for a question from an older version. */
  readonly arguments?: JsonObject;
  /** The tool's source. Absent if an older version asked. */
  readonly origin?: ToolOrigin;
  /** The tool's working directory, relative to the workspace. */
  readonly folder?: string;
  /**
   * A process has the conversation open. `answerInquiry` can pass on a secret only then; `answerAndResume` always
   * can.
   */
  readonly isLive: boolean;
  /** The conversation's labels. */
  readonly labels: Readonly<Record<string, string>>;
}

/** A reply and its author. A secret goes only into the memory of the process that asks for it. */
export type DecisionAnswer = ReplyOrCancel &
  Omit<AnswerOptions, "askedAt" | "secret" | "directory"> & {
    /**
     * Pins the answer to the decision that was read: refused as `changed` if a different one is pending by now.
     * Without it, the answer is for the pending decision it is given with.
     */
    readonly digest?: string;
    /** How the person was reached, as recorded; `program` if absent. */
    readonly channel?: string;
    /** The name of the person, as recorded. */
    readonly userName?: string;
    /** The known people. Without it, decisions that need known people cannot be answered here. */
    readonly directory?: Directory;
    /** While no people are known, lets the person answering decide in their place: see `TurnOptions.ownerAlone`. */
    readonly ownerAlone?: boolean;
    /**
     * How the person was authenticated; `program` if absent. With `os_user`, the name is that of this process's user.
     */
    readonly auth?: Claimant["auth"];
    /** The person's own signature of exactly this answer, for decisions that require one. */
    readonly signature?: DecisionSignature;
    /** Signs if a signature is needed. */
    readonly signer?: Pick<Directory, "findSigner">;
    /** For tests: a clock other than the machine's. */
    readonly clock?: Clock;
  };

/** Filters for `listPending`. */
export interface ListPendingOptions {
  /** Only this conversation. */
  readonly conversation?: ConversationId;
  /** Only conversations with all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Called for each conversation whose last turn could not be fully read. Its decisions are listed as far as they are
   * known, so the list is complete only if this was not called.
   */
  readonly onProblem?: (problem: string, conversation: ConversationId) => void;
}

/** Lists pending decisions, oldest first. The cost does not depend on the number of complete conversations. */
export async function listPending(
  store: Pick<ConversationStore, "listPending">,
  { conversation, labels, onProblem }: ListPendingOptions = {},
): Promise<readonly PendingDecision[]> {
  const turns = await store.listPending({
    hasMetadata: true,
    ...(conversation !== undefined && { id: conversation }),
    ...(labels !== undefined && { labels }),
  });
  for (const { id, problem } of turns) if (problem !== undefined) onProblem?.(problem, id);
  const pending = turns.flatMap(pendingInTurn);
  return pending.toSorted((left, right) => (left.askedAt < right.askedAt ? -1 : 1));
}

/** Whether a process has the conversation open, and so receives the answers to its pending decisions. */
export async function isOpen(
  store: Pick<ConversationStore, "listPending">,
  id: ConversationId,
): Promise<boolean> {
  const [turn] = await store.listPending({ id, isBrief: true });
  return turn?.isLive === true;
}

/** The pending decisions of one incomplete turn, in the order of its calls. */
export function pendingInTurn(turn: PendingTurn): readonly PendingDecision[] {
  const { id, entries, isLive, title, labels = {} } = turn;
  const { calls } = readTurnProgress(eventsOf(entries));
  return pendingOf({ calls }, isLive).map((item) => {
    const { kind, tool, toolCallId, request } = item;
    const { origin, folder } = request ?? {};
    const call = calls.find((each) => each.request.id === toolCallId);
    const shown = request?.type === "permission_request" ? request.arguments : undefined;
    const args = shown ?? item.arguments ?? (call && argumentsOf(call));
    const question =
      request?.type === "inquiry_request"
        ? withEscalation(request.question, item.escalation)
        : questionAbout(kind === "question" ? "permission" : kind, tool, {
            steps: call?.steps,
            check: request?.check,
          });
    return {
      ...item,
      conversation: id,
      ...(title !== undefined && { title }),
      isLive,
      labels,
      question,
      ...(args !== undefined && { arguments: args }),
      ...(origin !== undefined && { origin }),
      ...(folder !== undefined && { folder }),
    };
  });
}

/**
 * Finds a pending decision by its ID, `<conversation>/<id>`, or an unambiguous prefix of either. Throws
 * `inquiry_not_found`, `ambiguous_id`.
 */
export function findPending(pending: readonly PendingDecision[], id: string): PendingDecision {
  const names = (item: PendingDecision) => [item.id, fullIdOf(item)];
  const exact = pending.filter((item) => names(item).includes(id));
  const matching = pending.filter((item) => names(item).some((name) => name.startsWith(id)));
  const [found, ...others] = exact.length > 0 ? exact : matching;
  if (found === undefined || id === "") {
    throw new JpError("inquiry_not_found", `Nothing with the ID ${printable(id)} is waiting.`);
  }
  if (others.length === 0) return found;
  const listed = [found, ...others].map((item) => `  ${printable(fullIdOf(item))}`);
  throw new JpError("ambiguous_id", `${printable(id)} is ambiguous:\n${listed.join("\n")}`);
}

/**
 * Like `findPending`, in a whole store: skips labels, which would be read for every waiting conversation, and reads
 * only one conversation if the ID names it. Throws `inquiry_not_found`, `ambiguous_id`.
 */
export async function findPendingIn(
  store: Pick<ConversationStore, "listPending">,
  id: string,
  onProblem?: ListPendingOptions["onProblem"],
): Promise<PendingDecision> {
  const list = async (conversation?: ConversationId) => {
    const turns = await store.listPending(conversation === undefined ? {} : { id: conversation });
    for (const turn of turns) if (turn.problem !== undefined) onProblem?.(turn.problem, turn.id);
    return turns.flatMap(pendingInTurn);
  };
  const end = id.indexOf("/");
  const conversation = end === -1 ? undefined : findConversationId(id.slice(0, end));
  const named = conversation === undefined ? [] : await list(conversation);
  const isThere = named.some((item) => fullIdOf(item).startsWith(id));
  return findPending(isThere ? named : await list(), id);
}

function fullIdOf({ conversation, id }: PendingDecision): string {
  return `${conversation}/${id}`;
}

/** IDs come from providers and tools, and must not break a message's lines. */
export function printable(id: string): string {
  return /^[\u0021-\u007e]+$/.test(id) ? id : JSON.stringify(id);
}

/**
 * Answers a pending decision exactly once, even if others answer too: `recorded` means that this answer counts. The
 * turn continues where it runs, or when it is resumed. `id` is as for `findPending`, or a decision returned by
 * `listPending`; a late answer by `<conversation>/<id>` is `taken`. A secret is `refused` unless a process is asking
 * for it right now, in a store that can pass it on in memory, as the file and memory stores can. Throws
 * `inquiry_not_found`, `ambiguous_id`, `cannot_sign`, `directory_missing`, `write_failed`, and the signal's reason if
 * the answer was withdrawn in time.
 */
export async function answerInquiry(
  store: AnsweringStore,
  id: string | PendingDecision,
  answer: DecisionAnswer,
): Promise<AnswerResult> {
  const item = typeof id === "string" ? await findAnswerable(store, id) : id;
  if ("type" in item) return item;
  const { event, ruling, ...about } = judgeAnswerTo(item, answer);
  const { signal, onWait, keepsOpen } = answer;
  const isToSign = ruling.code === "unsigned" && answer.signer !== undefined;
  if (isRefused(ruling) && !isToSign) return refuse(ruling, item);
  const signed = isToSign ? await signEvent(event, answer.signer) : event;
  return store.answer(item.conversation, signed, {
    ...about,
    ...(signal !== undefined && { signal }),
    ...(onWait !== undefined && { onWait }),
    ...(keepsOpen !== undefined && { keepsOpen }),
  });
}

/** A store that takes answers. If it can, it looks up IDs of decisions that are no longer pending. */
export type AnsweringStore = Pick<ConversationStore, "listPending" | "answer"> &
  Partial<Pick<ConversationStore, "findLastTurns" | "load">>;

/** An answer as it would be recorded, its unrecorded parts, and the current ruling on it. */
export interface JudgedAnswer extends Pick<AnswerOptions, "secret" | "directory"> {
  readonly event: AnswerEvent;
  readonly askedAt: Timestamp;
  readonly ruling: Ruling;
}

/** Throws `directory_missing`. */
export function judgeAnswerTo(item: PendingDecision, answer: DecisionAnswer): JudgedAnswer {
  const { digest = item.digest, clock = systemClock, signature } = answer;
  const directory = knownPeople(answer).directory;
  const result = item.request?.type === "permission_request" ? item.request.result : undefined;
  const at = timestampFromDate(clock.now());
  const by = deciderOf(item, answer);
  const plain = replyToEvent({ ...item, digest, result }, answer, { by, at });
  const event = signature === undefined ? plain : { ...plain, signature };
  const asked = { ...judgedItem(item), question: item.question };
  const misfit = "isCancelled" in answer ? undefined : fitReply(item, answer);
  const ruling = misfit ?? judge(asked, event, knowledgeFor(asked, event, directory));
  if (ruling.code === "directory_missing") throw directoryMissing();
  const known = directory === undefined ? {} : { directory };
  return { event, askedAt: item.askedAt, ruling, ...known, ...secretOf(item, answer) };
}

/** Any other ruling may have changed by the time the answer is recorded. */
export function isRefused(ruling: Ruling): ruling is Refused {
  return !OPEN_CODES.has(ruling.code);
}

const OPEN_CODES: ReadonlySet<Ruling["code"]> = new Set([
  "decides",
  "counts",
  "repeated",
  "changed",
  "overdue",
]);

/** An answer by ID may be late. Throws `inquiry_not_found`, `ambiguous_id`. */
export async function findAnswerable(
  store: Omit<AnsweringStore, "answer">,
  id: string,
): Promise<PendingDecision | Extract<AnswerProblem, { type: "taken" }>> {
  try {
    return await findPendingIn(store, id);
  } catch (error) {
    const end = id.indexOf("/");
    const conversation = end === -1 ? undefined : findConversationId(id.slice(0, end));
    if (!isJpError(error) || error.code !== "inquiry_not_found" || conversation === undefined) {
      throw error;
    }
    const turn = await readLastTurn(store, conversation).catch(() => []);
    const event = turn.findLast((each) => isAnswer(each) && each.id === id.slice(end + 1));
    if (event === undefined || !isAnswer(event)) throw error;
    return { type: "taken", event };
  }
}

/** The person who answers. */
export function deciderOf(item: PendingItem, answer: DecisionAnswer): Decider {
  const { channel = "program", userName: name, auth = "program" } = answer;
  return identify(item, { channel, name, auth }, peopleFor(item, knownPeople(answer).directory));
}

/** How often to check whether a decision is still pending. */
const LOOK_MS = 250;

/**
 * Resolves with the answer once the decision is no longer pending. Throws the signal's reason, and what reading the
 * conversation throws.
 */
export async function untilAnswered(
  store: Pick<ConversationStore, "findLastTurns" | "load">,
  item: PendingDecision,
  { clock = systemClock, signal }: { readonly clock?: Clock; readonly signal: AbortSignal },
): Promise<AnswerEvent | undefined> {
  for (;;) {
    await clock.sleep(LOOK_MS, signal);
    const turn = await readLastTurn(store, item.conversation);
    const waiting = pendingOf(readTurnProgress(turn), true);
    if (!waiting.some(({ id, askedAt }) => id === item.id && askedAt === item.askedAt)) {
      return findAnswerTo(turn, item);
    }
  }
}

async function readLastTurn(
  store: Partial<Pick<ConversationStore, "findLastTurns" | "load">>,
  conversation: ConversationId,
): Promise<readonly ConversationEvent[]> {
  const found = await store.findLastTurns?.(conversation, 1);
  const { entries } = found ?? (await store.load?.(conversation))?.stream ?? { entries: [] };
  return lastTurnOf(entries);
}

function secretOf(
  { question }: PendingDecision,
  reply: ReplyOrCancel,
): Pick<AnswerOptions, "secret"> {
  if ("isCancelled" in reply || question.answerType.type !== "secret") return {};
  const { answer, note } = reply;
  return typeof answer === "string" ? { secret: new SecretAnswer(answer, note) } : {};
}

/**
 * Why no process continues an answered turn by itself, and how it continues. Undefined if one may: the process that asked, or
 * a worker of the store.
 */
export async function findForeignNotice(
  conversations: Pick<ConversationStore, "load" | "work">,
  { conversation: id, isLive }: Pick<PendingDecision, "conversation" | "isLive">,
): Promise<string | undefined> {
  if (isLive || conversations.work !== undefined) return undefined;
  const { isOwnTurn } = await conversations.load(id, { only: "end" });
  if (isOwnTurn) return undefined;
  return (
    "Someone else started this turn, or another program has changed its record since. It continues only once you " +
    `agree on a terminal: jp query --continue-turn --id ${id}`
  );
}
