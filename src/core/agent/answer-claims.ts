/**
 * Everything that a turn waits for, and answers to it that come from elsewhere. Whoever answers first wins: a prompt here
 * claims what it decides before it records it, and an answer from elsewhere is claimed and recorded in here. A
 * secret from elsewhere is taken only by what waits for it here: it stays in memory, and the record says `redacted`.
 */
import {
  type AnswerEvent,
  deciderOf,
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

/** One thing that someone has to answer. Dispose of it once the answer is on record, or it no longer waits here. */
export class AnswerClaim implements Disposable {
  readonly #closed = Promise.withResolvers<void>();
  readonly #answered = new AbortController();
  /** Not called if it was answered elsewhere: whoever comes to it later has to see that. */
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

  /** To be called before an answer is recorded here. Returns false if one from elsewhere was first. */
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

  /** It must not be taken yet. Throws `write_failed`. */
  async answerWith({ event, secret }: OfferedAnswer, record: () => Promise<void>): Promise<void> {
    this.#secret = secret;
    this.#answer = record().then(() => event);
    await this.#answer;
    this.#answered.abort();
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

/** Where answers from elsewhere are recorded, and who is told. */
interface Recording {
  readonly journal: Journal;
  readonly observer?: Observer;
  /** Who may decide what is for a role. What others say of themselves is not enough. */
  readonly directory?: Directory;
}

/** Everything that a turn waits for right now. */
export class AnswerClaims {
  readonly #items = new Map<string, AnswerClaim>();
  /** What people who decide together say is recorded one after the other. */
  readonly #counting = new Map<string, Promise<void>>();
  #listenForSecrets: (() => Promise<Disposable> | undefined) | undefined;
  #isClosed = false;

  /** The same item for the same id, as long as it waits. It may have been answered elsewhere already. */
  open(id: string): AnswerClaim {
    const open = this.#items.get(id);
    if (open !== undefined) return open;
    const item = new AnswerClaim(() => {
      if (this.#items.get(id) === item) this.#items.delete(id);
    });
    this.#items.set(id, item);
    return item;
  }

  /** Calls read from the record know of every answer on it, so those need not be kept for them. */
  forgetAnswered(): void {
    for (const [id, item] of this.#items) {
      if (item.signal.aborted) this.#items.delete(id);
    }
  }

  /** Takes what others offer for the conversation, until disposed of. */
  listen(conversation: ConversationWriter, recording: Recording): Disposable {
    const take = (offered: OfferedAnswer) => this.take(offered, recording);
    this.#listenForSecrets = () => conversation.onSecret?.(take);
    return conversation.onAnswer(take);
  }

  /** Takes secrets too, until disposed of. To be called before one is asked for. */
  async listenForSecrets(): Promise<Disposable | undefined> {
    return this.#listenForSecrets?.();
  }

  /**
   * Records an answer from elsewhere, if it is the first that fits. Undefined if the turn ends before, or does not wait
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
        if (item.isClosed) this.#items.delete(id); // The same was asked again.
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

  /** Resolves when no one's word on it is being recorded. */
  async counted(id: string): Promise<void> {
    for (let one = this.#counting.get(id); one !== undefined; one = this.#counting.get(id)) {
      await one;
    }
  }

  /** Records what someone says. No one else's word may be on its way. Throws `write_failed`. */
  async count(id: string, record: () => Promise<void>): Promise<void> {
    const recorded = record();
    const settled = recorded.catch(() => undefined).then(() => void this.#counting.delete(id));
    this.#counting.set(id, settled);
    await recorded;
  }

  /** From here on, the record alone says what is answered. */
  close(): void {
    this.#isClosed = true;
    for (const item of this.#items.values()) item[Symbol.dispose]();
  }
}
