/**
 * Answers pending decisions of a conversation, in any store: directly if no one has it open, or else through the
 * process that does.
 */
import {
  type AnswerEvent,
  type AnswerProblem,
  type ConversationEvent,
  type ConversationId,
  type Judgement,
  endOf,
  judgeOffered,
  lastTurnOf,
  type OfferedAnswer,
  refuse,
  type SecretAnswer,
  StreamEntry,
} from "../record/conversation/index.ts";
import { abortable } from "../util/index.ts";
import type { AnswerOptions, AnswerResult, ConversationStore, ConversationWriter } from "./port.ts";
import { LockedError } from "./storage-error.ts";

/**
 * An answer for the process that has the conversation open. Only the writer that holds the lock claims it, and then
 * decides about it. Claiming and withdrawing are atomic: exactly one of them succeeds.
 */
export interface Offer extends AsyncDisposable {
  /** Resolves when the offer may have been decided, or the lock may be free, since the last call. */
  changed(): Promise<void>;
  /** The reason, if it was refused. */
  findRefusal(): Promise<AnswerProblem | undefined>;
  /** Returns false if the other process has claimed it, and may have decided about it. */
  withdraw(): Promise<boolean>;
  /**
   * Removes its remains, once the lock is held here or its refusal is read. No one can claim it, or return it,
   * afterwards.
   */
  discard(): Promise<void>;
  /** Stops waiting, and withdraws it if it is still pending. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The store's side. Its `open` must throw a `LockedError` if the conversation is open elsewhere. */
export interface AnswerTarget extends Pick<ConversationStore, "open"> {
  /** The entries of the last turn, read without the lock. Throws `conversation_not_found`. */
  readLastTurn(id: ConversationId): Promise<readonly StreamEntry[]>;
  offer(id: ConversationId, offered: OfferedAnswer): Promise<Offer>;
  /**
   * Passes a secret from memory to memory to a writer whose `onSecret` waits for it. Absent if the store cannot. Throws
   * the signal's reason, unless the secret has already been sent.
   */
  deliver?(id: ConversationId, offered: SecretOffer, signal?: AbortSignal): Promise<SecretDelivery>;
}

/** An answer with its secret. */
export type SecretOffer = OfferedAnswer & { readonly secret: SecretAnswer };

/** The result of delivering a secret. */
export type SecretDelivery =
  | AnswerResult
  /** No one waits for it. If it was sent, only the record shows whether the writer has used it. */
  | { readonly type: "undecided"; readonly wasSent: boolean };

/**
 * Implements `ConversationStore.answer`: records the answer if no one has the conversation open, or else offers it to
 * the writer that does, and waits for the result.
 */
export async function answerPending(
  target: AnswerTarget,
  id: ConversationId,
  options: AnswerOptions & { readonly event: AnswerEvent },
): Promise<AnswerResult> {
  const { event, secret, askedAt, directory, signal, onWait, keepsOpen = false } = options;
  signal?.throwIfAborted();
  const offered = { event, ...(askedAt !== undefined && { askedAt }) };
  const known = directory === undefined ? {} : { directory };
  // If the secret cannot be delivered, it is left out, so that its answer is refused.
  if (secret !== undefined && canDeliver(target)) {
    return deliverSecret(target, id, { ...offered, ...known, secret, ...(signal && { signal }) });
  }
  const free = await openUnlessLocked(target, id);
  const answering = { offered: { ...offered, ...known }, keepsOpen };
  if (!(free instanceof LockedError)) return record(free, answering);
  const { holder } = free;
  const judged = await judgeLive(target, id, answering.offered);
  if (judged.type !== "fits") return judged;
  const offer = await target.offer(id, offered);
  try {
    onWait?.({ type: "offered", holder });
    let isTooLate = false;
    for (;;) {
      const result = await settle(target, id, { offer, ...answering });
      if (result !== undefined) return result;
      if (signal?.aborted === true) {
        if (await offer.withdraw()) signal.throwIfAborted();
        if (!isTooLate) onWait?.({ type: "claimed", holder });
        isTooLate = true;
      }
      await waitForChange(offer, signal);
    }
  } finally {
    // A failure here must not hide that the answer is recorded, or lose the writer that is kept open.
    await offer[Symbol.asyncDispose]().catch(() => undefined);
  }
}

function canDeliver(target: AnswerTarget): target is Required<AnswerTarget> {
  return target.deliver !== undefined;
}

/** Never waits for a writer: one that does not ask for the secret now would have nowhere to keep it. */
async function deliverSecret(
  target: Required<AnswerTarget>,
  id: ConversationId,
  { signal, directory, ...offered }: SecretOffer & Pick<AnswerOptions, "signal">,
): Promise<AnswerResult> {
  const before = await judgeLive(target, id, { ...offered, directory });
  if (before.type !== "fits") return before;
  const delivery = await target.deliver(id, offered, signal);
  if (delivery.type !== "undecided") return delivery;
  const after = await judgeLive(target, id, { ...offered, directory });
  return after.type === "fits"
    ? refuse({ code: "secret_not_asked" })
    : toResult(after, offered, delivery.wasSent);
}

/** The first abort counts as a change too. */
async function waitForChange(offer: Offer, signal: AbortSignal | undefined): Promise<void> {
  const changed = offer.changed();
  if (signal === undefined || signal.aborted) return changed;
  await abortable(changed, signal).catch(() => undefined);
}

interface Answering {
  readonly offered: OfferedAnswer;
  readonly keepsOpen: boolean;
}

interface Offering extends Answering {
  readonly offer: Offer;
}

/** Undefined until it is decided. */
async function settle(
  target: AnswerTarget,
  id: ConversationId,
  { offer, ...answering }: Offering,
): Promise<AnswerResult | undefined> {
  const { offered } = answering;
  const refusal = await offer.findRefusal();
  if (refusal !== undefined) {
    await offer.discard();
    return refusal;
  }
  const writer = await openUnlessLocked(target, id);
  if (!(writer instanceof LockedError)) {
    // The lock is held here, so no one else can claim the offer any more. A process that claimed it before has recorded
    // the answer by now, or never will.
    const wasClaimed = await releaseOnError(writer, async () => {
      const isWithdrawn = await offer.withdraw();
      await offer.discard();
      return !isWithdrawn;
    });
    return record(writer, answering, wasClaimed);
  }
  const judged = await judgeLive(target, id, offered);
  if (judged.type === "fits" || judged.type === "refused") return undefined;
  return toResult(judged, offered, !(await offer.withdraw()));
}

async function releaseOnError<Value>(
  writer: ConversationWriter,
  action: () => Promise<Value>,
): Promise<Value> {
  try {
    return await action();
  } catch (error) {
    await writer.release();
    throw error;
  }
}

async function judgeLive(
  target: AnswerTarget,
  id: ConversationId,
  offered: OfferedAnswer,
): Promise<Judgement> {
  return judgeOffered(lastTurnOf(await target.readLastTurn(id)), offered, true);
}

async function openUnlessLocked(
  target: AnswerTarget,
  id: ConversationId,
): Promise<ConversationWriter | LockedError> {
  try {
    return await target.open(id);
  } catch (error) {
    if (error instanceof LockedError) return error;
    throw error;
  }
}

/** Releases the writer, unless it should stay open and the answer is recorded. */
async function record(
  writer: ConversationWriter,
  { offered, keepsOpen }: Answering,
  wasClaimed = false,
): Promise<AnswerResult> {
  let isKept = false;
  try {
    const { event, result } = planAnswer(endOf(writer.stream), offered, wasClaimed);
    if (event !== undefined) await writer.append(event);
    isKept = keepsOpen && event !== undefined && result.type === "recorded";
    return isKept ? { type: "recorded", conversation: writer } : result;
  } finally {
    if (!isKept) await writer.release();
  }
}

/**
 * The events to append for an answer to the last turn, if any, and the result once that is done. No one else may write
 * meanwhile. `wasClaimed`: it may be on record already.
 */
export function planAnswer(
  entries: readonly StreamEntry[],
  offered: OfferedAnswer,
  wasClaimed: boolean,
): { readonly event?: ConversationEvent; readonly result: AnswerResult } {
  const judged = judgeOffered(lastTurnOf(entries), offered, false);
  if (judged.type !== "fits") return { result: toResult(judged, offered, wasClaimed) };
  if (judged.counted === undefined) return { event: offered.event, result: { type: "recorded" } };
  const { vote, ...counted } = judged.counted;
  return { event: vote, result: { type: "counted", ...counted } };
}

/** If the other process claimed the answer, and this very answer is on record, that process recorded it. */
function toResult(
  judged: Exclude<Judgement, { readonly type: "fits" }>,
  { event }: OfferedAnswer,
  wasClaimed: boolean,
): AnswerResult {
  if (judged.type === "repeated") {
    const { count, quorum, vote } = judged;
    const isCounted = wasClaimed && vote.timestamp === event.timestamp;
    return isCounted ? { type: "counted", count, quorum } : judged;
  }
  if (judged.type === "taken" && wasClaimed && judged.counted !== undefined) {
    return { type: "counted", ...judged.counted };
  }
  const isOwn = judged.type === "taken" && wasClaimed && isSame(judged.event, event);
  return isOwn ? { type: "recorded" } : judged;
}

function isSame(left: AnswerEvent, right: AnswerEvent): boolean {
  return (
    JSON.stringify(StreamEntry.fromEvent(left).raw) ===
    JSON.stringify(StreamEntry.fromEvent(right).raw)
  );
}
