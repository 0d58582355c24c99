/** What waits for a person in a store, and answering it from any process: for the command and for programs. */
import { rerunDecision, rerunQuestion } from "../agent/index.ts";
import {
  type AnswerEvent,
  type ConversationId,
  type Decider,
  eventsOf,
  findAnswerTo,
  type InquiryOutcome,
  lastTurnOf,
  type PendingItem,
  pendingOf,
  type PermissionDecision,
  readTurnProgress,
  SecretAnswer,
  timestampFromDate,
} from "../conversation/index.ts";
import type {
  AnswerOptions,
  AnswerResult,
  ConversationStore,
  PendingTurn,
} from "../storage/index.ts";
import { explainMisfit, type InquiryQuestion, isOther } from "../tool/index.ts";
import { type Clock, JpError, type Json, type JsonObject, systemClock } from "../util/index.ts";

/** Something that waits for a person: a question, a permission, a delivery or a doubt. */
export interface PendingInquiry extends PendingItem {
  readonly conversation: ConversationId;
  /** Everything that waits can be put as a question, even where no tool has asked one. */
  readonly question: InquiryQuestion;
  /** What the tool would run with. Absent for a question. */
  readonly arguments?: JsonObject;
  /** A process has the conversation open. Only then can a secret be answered from another one. */
  readonly isLive: boolean;
}

/** What a person says to something that waits. */
export type InquiryReply =
  | {
      /**
       * True or false for a permission or a delivery; `run`, `skip` or a result for a call in doubt. A secret goes
       * from here to the memory of the process that asks for it, and nowhere else.
       */
      readonly answer: Json;
      /** A note to the answer, or the reason for a no. */
      readonly note?: string;
      /** It holds until the turn ends. */
      readonly isRemembered?: boolean;
      /** For a delivery: what the model sees instead of the result. */
      readonly content?: string;
    }
  | { readonly isCancelled: true };

/** A reply, and whose it is. */
export type InquiryAnswer = InquiryReply &
  Omit<AnswerOptions, "askedAt" | "secret"> & {
    /** How the person was reached, as recorded; `program` if absent. */
    readonly channel?: string;
    /** The name of the person, as recorded. */
    readonly userName?: string;
    /** For tests: a clock other than the machine's. */
    readonly clock?: Clock;
  };

/** Told of each conversation that cannot be read, and is left out. */
export interface ListPendingOptions {
  readonly onProblem?: (problem: string) => void;
}

/** Lists what waits for a person, oldest first. Costs the same however many conversations are complete. */
export async function listPending(
  store: Pick<ConversationStore, "listPending">,
  { onProblem }: ListPendingOptions = {},
): Promise<readonly PendingInquiry[]> {
  const turns = await store.listPending();
  for (const { problem } of turns) if (problem !== undefined) onProblem?.(problem);
  const pending = turns.flatMap(pendingInTurn);
  return pending.toSorted((left, right) => (left.askedAt < right.askedAt ? -1 : 1));
}

/** What one incomplete turn waits for, in the order of its calls. */
export function pendingInTurn({ id, entries, isLive }: PendingTurn): readonly PendingInquiry[] {
  return pendingOf(readTurnProgress(eventsOf(entries)), isLive).map((item) => ({
    ...item,
    conversation: id,
    isLive,
    ...questionOf(item),
  }));
}

/**
 * Finds what waits by its id, `<conversation>/<id>`, or the beginning of either, if only one has it. Throws
 * `inquiry_not_found`, `ambiguous_id`.
 */
export function findPending(pending: readonly PendingInquiry[], id: string): PendingInquiry {
  const names = (item: PendingInquiry) => [item.id, fullIdOf(item)];
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

function fullIdOf({ conversation, id }: PendingInquiry): string {
  return `${conversation}/${id}`;
}

/** Ids come from providers and tools, and must not break the lines of a message. */
export function printable(id: string): string {
  return /^[\u0021-\u007e]+$/.test(id) ? id : JSON.stringify(id);
}

/**
 * Answers something that waits, exactly once, whoever else answers: `recorded` says that this answer counts. The
 * turn goes on where it runs, or when it is resumed. `id` is as for `findPending`, or what `listPending` returned.
 * A secret is `refused` unless a process asks for it right now, in a store that can pass it on in memory: the stores of
 * files and of memory can. Throws `inquiry_not_found`, `ambiguous_id`, `write_failed`, and the reason of the signal if
 * the answer was withdrawn in time.
 */
export async function answerInquiry(
  store: Pick<ConversationStore, "listPending" | "answer">,
  id: string | PendingInquiry,
  answer: InquiryAnswer,
): Promise<AnswerResult> {
  const item = typeof id === "string" ? findPending(await listPending(store), id) : id;
  const { signal, onWait, keepsOpen } = answer;
  const misfit = findMisfit(item, answer);
  if (misfit !== undefined) return { type: "refused", reason: misfit };
  return store.answer(item.conversation, toEvent(item, answer), {
    askedAt: item.askedAt,
    ...secretOf(item, answer),
    ...(signal !== undefined && { signal }),
    ...(onWait !== undefined && { onWait }),
    ...(keepsOpen !== undefined && { keepsOpen }),
  });
}

/** How often to look whether something still waits. */
const LOOK_MS = 250;

/**
 * Resolves when it no longer waits, with what has answered it. Throws the reason of the signal, and what reading the
 * conversation throws.
 */
export async function untilAnswered(
  store: Pick<ConversationStore, "findLastTurns" | "load">,
  item: PendingInquiry,
  { clock = systemClock, signal }: { readonly clock?: Clock; readonly signal: AbortSignal },
): Promise<AnswerEvent | undefined> {
  for (;;) {
    await clock.sleep(LOOK_MS, signal);
    const { entries } =
      (await store.findLastTurns(item.conversation, 1)) ??
      (await store.load(item.conversation)).stream;
    const turn = lastTurnOf(entries);
    const waiting = pendingOf(readTurnProgress(turn), true);
    if (!waiting.some(({ id, askedAt }) => id === item.id && askedAt === item.askedAt)) {
      return findAnswerTo(turn, item);
    }
  }
}

/** What the type of the answer says. The rest is checked where it is recorded. */
function findMisfit({ question }: PendingInquiry, reply: InquiryReply): string | undefined {
  const { answerType } = question;
  return "isCancelled" in reply ? undefined : explainMisfit(answerType, reply.answer);
}

function secretOf(
  { question }: PendingInquiry,
  reply: InquiryReply,
): Pick<AnswerOptions, "secret"> {
  if ("isCancelled" in reply || question.answerType.type !== "secret") return {};
  const { answer, note } = reply;
  return typeof answer === "string" ? { secret: new SecretAnswer(answer, note) } : {};
}

/** Permissions, deliveries and doubts in words that fit their answers. */
function questionOf(item: PendingItem): Pick<PendingInquiry, "question" | "arguments"> {
  const { kind, tool, request } = item;
  if (request?.type === "inquiry_request") return { question: request.question };
  const shown = request?.arguments ?? item.arguments;
  const args = shown === undefined ? {} : { arguments: shown };
  if (kind === "in_doubt") return { question: rerunQuestion(tool, shown), ...args };
  const text = kind === "delivery" ? `Show the model the result of ${tool}?` : `Run ${tool}?`;
  const base = { exclusive: true, persistence: "none" } as const;
  return { question: { text, answerType: { type: "boolean" }, ...base }, ...args };
}

const ACTIONS = { permission: "run", delivery: "deliver", in_doubt: "rerun" } as const;

function toEvent(item: PendingInquiry, answer: InquiryAnswer): AnswerEvent {
  const { kind, id, tool, toolCallId } = item;
  const { clock = systemClock, channel = "program", userName } = answer;
  const timestamp = timestampFromDate(clock.now());
  const scope =
    "answer" in answer && answer.isRemembered === true ? { scope: "turn" as const } : {};
  const name = userName === undefined ? {} : { name: userName };
  const decidedBy: Decider = { kind: "user", channel, ...scope, ...name };
  if (kind === "question") {
    const outcome = toOutcome(item.question, decidedBy, answer);
    return { type: "inquiry_response", timestamp, id, ...outcome };
  }
  const about = { toolCallId, tool, action: ACTIONS[kind], decidedBy };
  return { type: "permission_decision", timestamp, ...about, ...toDecision(item, answer) };
}

function toOutcome(
  { answerType }: InquiryQuestion,
  answeredBy: Decider,
  reply: InquiryReply,
): InquiryOutcome {
  if ("isCancelled" in reply) return { outcome: "cancelled", reason: "user" };
  if (answerType.type === "secret") return { outcome: "redacted", answeredBy };
  const { answer, note } = reply;
  const isOwn = answerType.type === "select" && isOther(answerType, answer);
  const given = { answer, ...(note !== undefined && { note }), ...(isOwn && { isOther: true }) };
  return { outcome: "answered", ...given, answeredBy };
}

type Decision = Pick<PermissionDecision, "decision" | "reason" | "result">;

function toDecision({ kind, request }: PendingInquiry, reply: InquiryReply): Decision {
  if ("isCancelled" in reply) return { decision: "denied" };
  const { answer, note, content } = reply;
  if (kind === "in_doubt") {
    return rerunDecision(typeof answer === "string" ? answer : JSON.stringify(answer));
  }
  const reason = note === undefined ? {} : { reason: note };
  if (answer !== true) return { decision: "denied", ...reason };
  const waiting = request?.type === "permission_request" ? request.result : undefined;
  const isEdited = content !== undefined && content !== waiting?.content;
  if (!isEdited) return { decision: "approved", ...reason };
  return { decision: "edited", ...reason, result: { isError: waiting?.isError ?? false, content } };
}
