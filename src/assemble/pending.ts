/** Lists the pending decisions of a store, and answers them from any process: for the command and for programs. */
import { directoryMissing } from "../core/agent/index.ts";
import {
  type AnswerEvent,
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

/** A decision that waits for a person: a question, a permission, a delivery, or a call in doubt. */
export interface PendingDecision extends PendingItem {
  readonly conversation: ConversationId;
  /** The title of the conversation, if it has one. */
  readonly title?: string;
  /** Everything that waits can be put as a question, even where no tool has asked one. */
  readonly question: InquiryQuestion;
  /** The arguments that the call runs with. Absent for a question of an older version. */
  readonly arguments?: JsonObject;
  /** Where the tool comes from. Absent if an older version has asked. */
  readonly origin?: ToolOrigin;
  /** The folder that it runs in, relative to the workspace. */
  readonly folder?: string;
  /** A process has the conversation open. Only then can `answerInquiry` pass on a secret; `answerAndResume` always can. */
  readonly isLive: boolean;
  /** Those of the conversation. */
  readonly labels: Readonly<Record<string, string>>;
}

/** A reply, and whose it is. A secret goes from here to the memory of the process that asks for it, and nowhere else. */
export type DecisionAnswer = ReplyOrCancel &
  Omit<AnswerOptions, "askedAt" | "secret" | "directory"> & {
    /**
     * Pins the answer to what was read: refused as `changed` if something else waits by now. Without it, an answer is for
     * the pending decision that it is given with.
     */
    readonly digest?: string;
    /** How the person was reached, as recorded; `program` if absent. */
    readonly channel?: string;
    /** The name of the person, as recorded. */
    readonly userName?: string;
    /** Who is known. Without it, what takes people who are known cannot be answered here. */
    readonly directory?: Directory;
    /** As long as no one is known, whoever answers here decides in the place of people: see `TurnOptions.ownerAlone`. */
    readonly ownerAlone?: boolean;
    /** How it is known that it is this person; `program` if absent. With `os_user`, the name is that of who uses this process. */
    readonly auth?: Claimant["auth"];
    /** The person's own signature of exactly this answer, for what has to be signed. */
    readonly signature?: DecisionSignature;
    /** Makes the signature if one is needed. */
    readonly signer?: Pick<Directory, "findSigner">;
    /** For tests: a clock other than the machine's. */
    readonly clock?: Clock;
  };

/** What is listed. */
export interface ListPendingOptions {
  /** Only of this conversation. */
  readonly conversation?: ConversationId;
  /** Only of conversations that have all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Told of each conversation whose last turn could not be read whole. What it waits for is listed as far as it is known,
   * so nothing else waits only if this was not called.
   */
  readonly onProblem?: (problem: string, conversation: ConversationId) => void;
}

/** Lists what waits for a person, oldest first. Costs the same however many conversations are complete. */
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

/** Whether a process has the conversation open: it gets the answer to whatever waits there. */
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
    const { run } = call?.permissions ?? {};
    const shown = request?.type === "permission_request" ? request.arguments : undefined;
    const permitted = run?.decision?.arguments ?? run?.request?.arguments;
    const args = shown ?? item.arguments ?? permitted ?? call?.request.arguments;
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
 * Finds what waits by its id, `<conversation>/<id>`, or the beginning of either, if only one has it. Throws
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
 * As `findPending`, among everything that waits in a store: without the labels, which would be read of every conversation
 * that waits, and in only one of them if the id says which. Throws `inquiry_not_found`, `ambiguous_id`.
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

/** Ids come from providers and tools, and must not break the lines of a message. */
export function printable(id: string): string {
  return /^[\u0021-\u007e]+$/.test(id) ? id : JSON.stringify(id);
}

/**
 * Answers something that waits, exactly once, whoever else answers: `recorded` says that this answer counts. The
 * turn goes on where it runs, or when it is resumed. `id` is as for `findPending`, or what `listPending` returned; one that is
 * `<conversation>/<id>` may be late, and is `taken` then. A secret is `refused` unless a process asks for it right now, in a store
 * that can pass it on in memory: the stores of files and of memory can. Throws `inquiry_not_found`, `ambiguous_id`, `cannot_sign`,
 * `directory_missing`, `write_failed`, and the reason of the signal if the answer was withdrawn in time.
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

/** Where answers go. An id of something that no longer waits is looked up, if the store can. */
export type AnsweringStore = Pick<ConversationStore, "listPending" | "answer"> &
  Partial<Pick<ConversationStore, "findLastTurns" | "load">>;

/** An answer as it would be recorded, beside it what is not, and what the judge says of it now. */
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

/** Everything else may be different by the time that it is recorded. */
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

/** An answer by id may come late. Throws `inquiry_not_found`, `ambiguous_id`. */
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

/** How often to look whether something still waits. */
const LOOK_MS = 250;

/**
 * Resolves when it no longer waits, with what has answered it. Throws the reason of the signal, and what reading the
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
