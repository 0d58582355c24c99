/**
 * One turn: what a person says, and everything until the assistant has nothing more to do.
 *
 *   request ─► hear the reply ─┬─► no calls: done
 *                 ▲            └─► run its tools ─┐
 *                 └───────────── next cycle ◄─────┘
 */
import type { CallLimits } from "../config/index.ts";
import { type Attachment, eventsOf, type Timestamp } from "../conversation/index.ts";
import type { InquiryBackend } from "../inquiry/index.ts";
import type { EndReason, Model, ToolChoice, ToolSchema } from "../provider/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { Clock, JsonObject } from "../util/index.ts";
import { ToolCycle } from "./calls.ts";
import { StrayQuestions } from "./inquiry.ts";
import { type InterruptDecision, Interrupts, PromptQueue } from "./interrupts.ts";
import {
  createJournal,
  type InterruptMenu,
  type Journal,
  type Observer,
  type Prompter,
  timestampOf,
  type Toolbox,
  type TurnParts,
} from "./ports.ts";
import { type Assistant, hearReply } from "./reply.ts";
import { type DetachedDenial, TurnState } from "./state.ts";

/** What a turn is made of. */
export interface TurnSetup {
  readonly conversation: ConversationWriter;
  readonly model: Model;
  readonly assistant: Assistant;
  readonly attachments?: readonly Attachment[];
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  /** Absent where nobody can choose. */
  readonly menu?: InterruptMenu;
  readonly inquiries: InquiryBackend;
  readonly clock: Clock;
  /** The most requests to the model. */
  readonly maxCycles: number;
  /** Of every call; the usual ones if absent. */
  readonly limits?: CallLimits;
  readonly observer?: Observer;
}

/** What a person says. */
export interface TurnRequest {
  readonly content: string;
  /** JSON Schema of the answer that is wanted. */
  readonly schema?: JsonObject;
  readonly author?: string;
}

/** How a turn ended. */
export type TurnEnd =
  | { readonly type: "done"; readonly reason: EndReason }
  /** The person wanted no more of it. */
  | { readonly type: "stopped" }
  /** The person wants to leave, or it was ended from outside: by a signal, or by the program. */
  | { readonly type: "interrupted" }
  | { readonly type: "cycle_limit"; readonly cycles: number };

/** What ends what is under way. */
type Interruption = Exclude<InterruptDecision, { type: "continue" | "restart" }>;

/** One turn. It is run once. */
export class Turn {
  readonly #setup: TurnSetup;
  readonly #journal: Journal;
  readonly #interrupts: Interrupts;
  readonly #prompts = new PromptQueue();
  #state: TurnState | undefined;

  constructor(setup: TurnSetup) {
    this.#setup = setup;
    this.#journal = createJournal(setup.conversation, setup.observer);
    this.#interrupts = new Interrupts(this.#prompts, setup.menu);
  }

  /** Ctrl-C: the person chooses what becomes of what is under way. */
  interrupt(): void {
    this.#interrupts.press();
  }

  /** Ends the turn in good order. It is not put down to the person: that is what `interrupt` is for. */
  leave(): void {
    this.#interrupts.interrupt();
  }

  /** It is being ended. */
  get isLeaving(): boolean {
    return this.#interrupts.isLeaving;
  }

  /** What was denied so far, only because no one could be asked. */
  get denials(): readonly DetachedDenial[] {
    return this.#state?.denials ?? [];
  }

  /** Everything that happened is on record, also when it throws: `ProviderError`, `write_failed`. */
  async run(request: TurnRequest): Promise<TurnEnd> {
    await this.#journal.record({ type: "turn_start", timestamp: this.#now() });
    await this.#say(request);
    const parts = this.#turnParts();
    const strays = new StrayQuestions(parts);
    try {
      return await this.#goThrough(parts);
    } finally {
      await strays.end();
    }
  }

  async #goThrough(parts: TurnParts): Promise<TurnEnd> {
    const tools = await this.#openTools();
    if ("type" in tools) return tools;
    let { toolChoice } = this.#setup.assistant;
    for (let cycle = 1; cycle <= this.#setup.maxCycles; cycle += 1) {
      this.#setup.observer?.observe({ type: "cycle_start", cycle });
      const calls = new ToolCycle(parts);
      const reply = await this.#hear(calls, tools, toolChoice);
      if (reply.type === "done" && calls.isEmpty) return reply;
      const interruption =
        reply.type === "done" ? await this.#runTools(calls) : await this.#dropCalls(calls, reply);
      if (interruption?.type === "reply") await this.#pass(interruption.message, calls);
      else if (interruption !== undefined) return endBy(interruption);
      if (!calls.isEmpty) toolChoice = "auto"; // What was demanded once was done.
    }
    return { type: "cycle_limit", cycles: this.#setup.maxCycles };
  }

  async #say(request: TurnRequest): Promise<void> {
    await this.#journal.record({ type: "chat_request", timestamp: this.#now(), ...request });
  }

  /** Servers may have to be started for it, and one can get tired of waiting. */
  async #openTools(): Promise<readonly ToolSchema[] | TurnEnd> {
    const opening = new AbortController();
    let interruption: Interruption | undefined;
    const onChoice = (choice: InterruptDecision) => {
      if (choice.type === "continue" || choice.type === "restart") return;
      interruption = choice;
      opening.abort();
    };
    try {
      const schemas = await this.#interrupts.during(
        { choices: ["continue", "stop"], onChoice },
        () => this.#setup.tools.schemas(opening.signal),
      );
      return interruption === undefined ? schemas : endBy(interruption);
    } catch (error) {
      if (interruption === undefined) throw error;
      return endBy(interruption);
    }
  }

  async #hear(
    calls: ToolCycle,
    tools: readonly ToolSchema[],
    toolChoice: ToolChoice,
  ): Promise<Extract<TurnEnd, { type: "done" }> | Interruption> {
    const listening = new AbortController();
    let interruption: Interruption | undefined;
    const onChoice = (choice: InterruptDecision) => {
      // Without a word there is nothing to reply to.
      const isNothing = choice.type === "reply" && choice.message.trim() === "";
      if (choice.type === "continue" || choice.type === "restart" || isNothing) return;
      interruption = choice;
      listening.abort();
    };
    const choices = ["continue", "reply", "stop", "discard"] as const;
    const hear = () =>
      hearReply({
        ...this.#setup,
        journal: this.#journal,
        attachments: this.#setup.attachments ?? [],
        tools,
        toolChoice,
        signal: listening.signal,
        isDiscarded: () => interruption?.type === "discard",
        onCall: (request) => calls.add(request),
      });
    try {
      const reason = await this.#interrupts.during({ choices, onChoice }, hear);
      // A choice counts also if it came with the last word of the reply.
      if (interruption !== undefined) return interruption;
      return reason === "aborted" ? { type: "stop" } : { type: "done", reason };
    } catch (error) {
      calls.stop("interrupted"); // No question of theirs stays open.
      await calls.run().catch(() => undefined); // If the record fails, that is told already.
      throw error;
    }
  }

  /** How the person has interrupted them, unless they were left to end by themselves. */
  async #runTools(calls: ToolCycle): Promise<Interruption | undefined> {
    let interruption: Interruption | undefined;
    const onChoice = (choice: InterruptDecision) => {
      if (choice.type === "continue") return;
      if (choice.type === "restart") return calls.restart();
      interruption = choice;
      stopCalls(calls, choice);
    };
    const choices = ["continue", "reply", "stop", "restart"] as const;
    await this.#interrupts.during({ choices, onChoice }, () => calls.run());
    return interruption;
  }

  /** Calls of a reply that was cut short are on record, and must not stay without an end. */
  async #dropCalls(calls: ToolCycle, interruption: Interruption): Promise<Interruption> {
    stopCalls(calls, interruption);
    await calls.run();
    return interruption;
  }

  /** What the person said goes to the calls that it has ended; without any, it is a request. */
  async #pass(message: string, calls: ToolCycle): Promise<void> {
    if (message !== "" && !calls.isMessageTold) await this.#say({ content: message });
  }

  #turnParts(): TurnParts {
    const { stream } = this.#journal;
    const start = stream.entries.findLastIndex(({ eventType }) => eventType === "turn_start");
    const state = TurnState.fromEvents(eventsOf(stream.entries.slice(start)));
    this.#state = state;
    return { ...this.#setup, journal: this.#journal, prompts: this.#prompts, state };
  }

  #now(): Timestamp {
    return timestampOf(this.#setup.clock);
  }
}

function stopCalls(calls: ToolCycle, interruption: Interruption): void {
  if (interruption.type === "interrupted") calls.stop("interrupted");
  else calls.stop("user", interruption.type === "reply" ? interruption.message : "");
}

function endBy({ type }: Interruption): TurnEnd {
  return { type: type === "leave" || type === "interrupted" ? "interrupted" : "stopped" };
}
