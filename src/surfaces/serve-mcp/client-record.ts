/**
 * The conversation that records one client's questions. Created with the first call, and locked only while a call is
 * open. Each call is a turn without a user's request: the start, the call, the permission, the questions and answers,
 * the result. Overlapping calls share a turn, like the calls of one reply.
 */
import { createJournal, type Journal, PromptQueue, TurnState } from "../../core/agent/index.ts";
import { type ConversationId, timestampFromDate } from "../../record/conversation/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import { isJpError } from "../../util/index.ts";
import type { ServeSetup } from "./setup.ts";

export interface OpenCall {
  /** Unique across conversations, because the ids of questions are derived from it. */
  readonly id: string;
  readonly journal: Journal;
  readonly state: TurnState;
}

interface OpenTurn extends Pick<OpenCall, "journal" | "state"> {
  readonly conversation: ConversationWriter;
}

export class ClientRecord {
  /** Asks the client's user one question at a time. */
  readonly prompts = new PromptQueue();
  readonly #setup: ServeSetup;
  #conversation: ConversationId | undefined;
  #turn: Promise<OpenTurn> | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #calls = 0;
  #openCalls = 0;

  constructor(setup: ServeSetup) {
    this.#setup = setup;
  }

  get isInUse(): boolean {
    return this.#openCalls > 0;
  }

  /**
   * Runs `work` with the conversation open, and unlocks it after the last open call. A new conversation's title
   * includes `client`. Throws what the store throws.
   */
  async during<Value>(client: string, work: (call: OpenCall) => Promise<Value>): Promise<Value> {
    this.#openCalls += 1;
    try {
      this.#turn ??= this.#startTurn(client);
      const { conversation, journal, state } = await this.#turn;
      this.#calls += 1;
      const id = `call_${conversation.id.slice("jp-c".length)}_${this.#calls}`;
      return await work({ id, journal, state });
    } finally {
      this.#openCalls -= 1;
      if (this.#openCalls === 0) await this.#endTurn();
    }
  }

  async #startTurn(client: string): Promise<OpenTurn> {
    await this.#lastTurn;
    const conversation = await this.#openConversation(client);
    this.#conversation = conversation.id;
    const journal = createJournal(conversation);
    const timestamp = timestampFromDate(this.#setup.clock.now());
    await journal.record({ type: "turn_start", timestamp });
    return { conversation, journal, state: new TurnState() };
  }

  async #openConversation(client: string): Promise<ConversationWriter> {
    const { conversations, newConversation } = this.#setup;
    const create = () =>
      conversations.create({ ...newConversation, title: `Questions of ${client}` });
    if (this.#conversation === undefined) return create();
    try {
      return await conversations.open(this.#conversation);
    } catch (error) {
      // The user has removed or archived it.
      const isGone = ["conversation_not_found", "conversation_archived"];
      if (isJpError(error) && isGone.includes(error.code)) return create();
      throw error;
    }
  }

  async #endTurn(): Promise<void> {
    const ended = this.#turn;
    this.#turn = undefined;
    this.#lastTurn = Promise.resolve(ended).then(
      (turn) => turn?.conversation.release(),
      () => undefined, // It could not be opened, as its calls have reported.
    );
    await this.#lastTurn;
  }
}
