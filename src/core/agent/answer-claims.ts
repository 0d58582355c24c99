/**
 * Everything a turn is waiting for, and the answers that arrive from elsewhere. The first answer wins: a prompt here
 * claims its decision before recording it, and an answer from elsewhere is claimed and recorded in here. A secret from
 * elsewhere is accepted only while this turn waits for it: it stays in memory, and the record says `redacted`.
 */
import {
  type AnswerEvent,
  type Decider,
  deciderOf,
  describeDecider,
  type Directory,
  endOf,
  type Fits,
  judgeOffered,
  lastTurnOf,
  type OfferedAnswer,
  type SecretAnswer,
} from "../../record/conversation/index.ts";
import type { AnswerResult, ConversationWriter } from "../../stores/index.ts";
import type { Journal, Observer } from "./ports.ts";
import type { ClosingReason } from "./stop-cause.ts";

/** The abort reason for a question that someone has answered elsewhere. */
export class AnsweredElsewhere extends DOMException implements ClosingReason {
  readonly notice: string;

  constructor(by: Decider | undefined) {
    const who = by === undefined ? "" : ` by ${describeDecider(by)}`;
    const notice = `This question was answered elsewhere${who}.`;
    super(notice, "AbortError");
    this.notice = notice;
  }
}

/** A pending decision. Dispose of it once the answer is on record, or it no longer waits here. */
export class AnswerClaim implements Disposable {
  readonly #closed = Promise.withResolvers<void>();
  readonly #answered = new AbortController();
  /** Not called after an answer from elsewhere: later readers of the claim have to see that answer. */
  readonly #onClose: () => void;
  #answer: Promise<AnswerEvent> | undefined;
  #secret: SecretAnswer | undefined;
  #isTakenHere = false;
  #isClosed = false;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  /** Aborted when an answer from elsewhere is on record. */
  get signal(): AbortSignal {
    return this.#answered.signal;
  }

  /** The answer from elsewhere, once it is on record. Undefined if there is none. Throws `write_failed`. */
  get elsewhere(): Promise<AnswerEvent> | undefined {
    return this.#answer;
  }

  /** The secret of an answer from elsewhere that is recorded as `redacted`. */
  get secret(): SecretAnswer | undefined {
    return this.#secret;
  }

  /** Call this before recording an answer here. Returns false if one from elsewhere was first. */
  takeHere(): boolean {
    if (this.#answer !== undefined) return false;
    this.#isTakenHere = true;
    return true;
  }

  get isTaken(): boolean {
    return this.#isTakenHere || this.#answer !== undefined;
  }

  /** Resolves when the answer is on record, or no one here can give one any more. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** The claim must still be free. Throws `write_failed`. */
  async answerWith({ event, secret }: OfferedAnswer, record: () => Promise<void>): Promise<void> {
    this.#secret = secret;
    this.#answer = record().then(() => event);
    await this.#answer;
    this.#answered.abort(new AnsweredElsewhere(deciderOf(event)));
    this[Symbol.dispose]();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    if (this.#answer === undefined) this.#onClose();
    this.#closed.resolve();
  }
}

/** Where answers from elsewhere are recorded and reported. */
interface Recording {
  readonly journal: Journal;
  readonly observer?: Observer;
  /** Who holds which role. A name that someone claims for themselves is not enough. */
  readonly directory?: Directory;
}

/** Everything that a turn waits for right now. */
export class AnswerClaims {
  readonly #items = new Map<string, AnswerClaim>();
  /** Votes on the same decision are recorded one at a time. */
  readonly #counting = new Map<string, Promise<void>>();
  #listenForSecrets: (() => Promise<Disposable> | undefined) | undefined;
  #isClosed = false;

  /** Returns the open claim for this id, if there is one. It may have been answered elsewhere already. */
  open(id: string): AnswerClaim {
    const open = this.#items.get(id);
    if (open !== undefined) return open;
    const item = new AnswerClaim(() => {
      if (this.#items.get(id) === item) this.#items.delete(id);
    });
    this.#items.set(id, item);
    return item;
  }

  /** Calls that are read from the record already see every recorded answer, so these claims are not needed for them. */
  forgetAnswered(): void {
    for (const [id, item] of this.#items) {
      if (item.signal.aborted) this.#items.delete(id);
    }
  }

  /** Accepts answers that others offer for the conversation, until disposed of. */
  listen(conversation: ConversationWriter, recording: Recording): Disposable {
    const take = (offered: OfferedAnswer) => this.take(offered, recording);
    this.#listenForSecrets = () => conversation.onSecret?.(take);
    return conversation.onAnswer(take);
  }

  /** Also accepts secrets, until disposed of. Call this before asking for one. */
  async listenForSecrets(): Promise<Disposable | undefined> {
    return this.#listenForSecrets?.();
  }

  /**
   * Records an answer from elsewhere, if it is the first that fits. Undefined if the turn ends first, or does not wait
   * for the secret.
   */
  async take(
    offered: OfferedAnswer,
    { journal, observer, directory }: Recording,
  ): Promise<AnswerResult | undefined> {
    const { event, secret } = offered;
    while (!this.#isClosed) {
      const turn = lastTurnOf(endOf(journal.stream));
      const judged = judgeOffered(turn, { ...offered, directory }, true);
      if (judged.type !== "fits") return judged;
      const { id, tool, toolCallId } = judged.item;
      const item = secret === undefined ? this.open(id) : this.#items.get(id);
      if (item === undefined) return undefined; // No one here could pass the secret on.
      if (item.isTaken) {
        if (item.isClosed) this.#items.delete(id); // It was asked again.
        else await item.closed;
        continue;
      }
      if (judged.counted !== undefined) {
        const counting = this.#counting.get(id);
        if (counting === undefined) return this.#takeVote(id, judged.counted, journal);
        await counting;
        continue;
      }
      await item.answerWith(offered, () => journal.record(event));
      const by = deciderOf(event);
      const answered = { type: "answered_elsewhere", inquiryId: id, toolCallId, tool } as const;
      observer?.observe({ ...answered, ...(by && { by }) });
      return { type: "recorded" };
    }
    return undefined;
  }

  async #takeVote(
    id: string,
    { vote, count, quorum }: NonNullable<Fits["counted"]>,
    journal: Journal,
  ): Promise<AnswerResult> {
    await this.count(id, () => journal.record(vote));
    return { type: "counted", count, quorum };
  }

  /** Resolves when no vote on it is being recorded. */
  async counted(id: string): Promise<void> {
    for (let one = this.#counting.get(id); one !== undefined; one = this.#counting.get(id)) {
      await one;
    }
  }

  /** Records a vote. No other vote may be in flight. Throws `write_failed`. */
  async count(id: string, record: () => Promise<void>): Promise<void> {
    const recorded = record();
    const settled = recorded.catch(() => undefined).then(() => void this.#counting.delete(id));
    this.#counting.set(id, settled);
    await recorded;
  }

  /** From here on, only the record decides what is answered. */
  close(): void {
    this.#isClosed = true;
    for (const item of this.#items.values()) item[Symbol.dispose]();
  }
}
