/** Continues incomplete turns: after an answer to a pending decision, or all that can continue without one. */
import type { AnswerSource, GivenReply } from "../core/agent/index.ts";
import {
  type ConversationId,
  endOf,
  eventsOf,
  findAnswerTo,
  judgeOffered,
  lastTurnOf,
  type PendingItem,
  readTurnProgress,
  readyAt,
  refuse,
} from "../record/conversation/index.ts";
import type {
  AnswerResult,
  ConversationStore,
  ConversationWriter,
  PendingTurn,
} from "../stores/index.ts";
import { isJpError, type Json, systemClock, toError } from "../util/index.ts";
import {
  answerInquiry,
  type AnsweringStore,
  type DecisionAnswer,
  deciderOf,
  findAnswerable,
  isRefused,
  judgeAnswerTo,
  type PendingDecision,
} from "./pending.ts";
import { resumeTurn } from "./turn.ts";
import type { ResumeOptions, TurnResult } from "./turn-options.ts";

/** The result of an answer, and of the turn that waited for it. */
export type AnsweredTurn<Data = Json> =
  | {
      readonly type: "recorded";
      /** Absent if another process has the conversation open: the turn continues there. */
      readonly turn?: TurnResult<Data>;
    }
  | Exclude<AnswerResult, { readonly type: "recorded" }>;

/**
 * Answers a pending decision like `answerInquiry`, and resumes its turn here, unless another process runs it. A
 * secret is passed on in memory, even if no process was waiting for it. Throws like both; if the turn fails, the
 * answer is on record, and `recover` continues the turn.
 */
// oxlint-disable-next-line max-params -- the parameters of `answerInquiry`, and those of `resumeTurn`
export async function answerAndResume<Data = Json>(
  store: AnsweringStore & Pick<ConversationStore, "open">,
  id: string | PendingDecision,
  answer: DecisionAnswer,
  options: ResumeOptions<Data>,
): Promise<AnsweredTurn<Data>> {
  const item = typeof id === "string" ? await findAnswerable(store, id) : id;
  if ("type" in item) return item;
  const isSecret = item.question.answerType.type === "secret" && !("isCancelled" in answer);
  if (isSecret) return passSecret(store, { item, answer }, options);
  const result = await answerInquiry(store, item, { ...answer, keepsOpen: true });
  if (result.type !== "recorded") return result;
  const { conversation } = result;
  return conversation === undefined
    ? { type: "recorded" }
    : { type: "recorded", turn: await finish(conversation, options) };
}

async function finish<Data>(
  conversation: ConversationWriter,
  options: ResumeOptions<Data>,
): Promise<TurnResult<Data>> {
  await using open = conversation;
  return await resumeTurn(open, options);
}

/** Only a running turn can use a secret: the one that has the conversation open, or one resumed here. */
async function passSecret<Data>(
  store: AnsweringStore & Pick<ConversationStore, "open">,
  { item, answer }: { readonly item: PendingDecision; readonly answer: DecisionAnswer },
  options: ResumeOptions<Data>,
): Promise<AnsweredTurn<Data>> {
  const { ruling, ...offered } = judgeAnswerTo(item, answer);
  if (isRefused(ruling) && ruling.code !== "unsigned") return refuse(ruling, item);
  const opened = await openUnlessLocked(store, item.conversation);
  if (opened === undefined) return answerInquiry(store, item, answer);
  await using conversation = opened;
  const judged = judgeOffered(lastTurnOf(endOf(conversation.stream)), offered, true);
  if (judged.type !== "fits") return judged;
  const secret = offered.secret?.reveal() ?? { answer: "" }; // A matching reply has a secret.
  const reply = { ...secret, decidedBy: deciderOf(judged.item, answer) };
  const answers = givenTo(judged.item, reply, options.answers);
  const turn = await resumeTurn(conversation, { ...options, answers });
  const isRecorded = findAnswerTo(turn.events, item) !== undefined;
  return isRecorded ? { type: "recorded", turn } : { type: "changed" };
}

/** Gives the reply to its decision, and to no other. */
function givenTo(
  { toolCallId, digest }: PendingItem,
  reply: GivenReply,
  others: AnswerSource | undefined,
): AnswerSource {
  return {
    isComplete: others?.isComplete ?? false,
    find: (asked) => {
      const isMeant = asked.toolCallId === toolCallId && asked.digest === digest;
      return isMeant ? reply : others?.find(asked);
    },
  };
}

async function openUnlessLocked(
  store: Pick<ConversationStore, "open">,
  id: ConversationId,
): Promise<ConversationWriter | undefined> {
  try {
    return await store.open(id, { only: "end" });
  } catch (error) {
    if (isJpError(error) && error.code === "conversation_locked") return undefined;
    throw error;
  }
}

/** How to continue what was left. */
export interface RecoverOptions<Data = Json> extends ResumeOptions<Data> {
  /** Only turns of conversations with all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** How many turns run concurrently; 4 if absent. */
  readonly concurrency?: number;
}

/** The result of recovering a turn. */
export type RecoveredTurn<Data = Json> = { readonly conversation: ConversationId } & (
  | { readonly type: "resumed"; readonly turn: TurnResult<Data> }
  /** Such as a `ProviderError`. It can be retried, unless the error says otherwise. */
  | { readonly type: "failed"; readonly error: Error }
);

const CONCURRENCY = 4;

/**
 * Continues every incomplete turn that can continue: for the start of a service. Turns that wait for an answer, or
 * that another process has open, are neither opened nor changed. Once the signal is aborted, no further turn is
 * started. Returns the results, and throws only if the store cannot list turns.
 */
export async function recover<Data = Json>(
  store: Pick<ConversationStore, "listPending" | "open">,
  options: RecoverOptions<Data>,
): Promise<readonly RecoveredTurn<Data>[]> {
  const { labels, concurrency = CONCURRENCY, ...others } = options;
  const { clock = systemClock, signal } = options;
  const turns = await store.listPending(labels === undefined ? {} : { labels });
  const left = turns.filter((turn) => !turn.isLive && isReady(turn, clock.now()));
  const results: RecoveredTurn<Data>[] = [];
  const work = async () => {
    for (let turn = left.shift(); turn !== undefined; turn = left.shift()) {
      if (signal?.aborted === true) return;
      const result = await recoverTurn(store, turn.id, others);
      if (result !== undefined) results.push(result);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, concurrency) }, work));
  return results;
}

/** Some part of it is neither done nor waiting for a person, or a deadline has passed. */
function isReady({ entries, problem }: PendingTurn, now: Date): boolean {
  if (problem !== undefined) return true; // Opening it may repair it.
  const time = readyAt(readTurnProgress(eventsOf(entries)));
  return time !== undefined && time <= now.getTime();
}

/** Undefined if another process has opened it meanwhile. */
async function recoverTurn<Data>(
  store: Pick<ConversationStore, "open">,
  conversation: ConversationId,
  options: ResumeOptions<Data>,
): Promise<RecoveredTurn<Data> | undefined> {
  try {
    const opened = await openUnlessLocked(store, conversation);
    if (opened === undefined) return undefined;
    return { conversation, type: "resumed", turn: await finish(opened, options) };
  } catch (error) {
    return { conversation, type: "failed", error: toError(error) };
  }
}
