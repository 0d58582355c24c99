/**
 * The turn loop: from one request of the user until the assistant has nothing left to do.
 *
 *   request ─► stream the reply ─┬─► no calls: done
 *                 ▲              └─► run its tools ─┐
 *                 └────────────── next cycle ◄──────┘
 */
import type { CallLimits } from "../config/index.ts";
import { type Attachment, eventsOf, timestampFromDate } from "../conversation/index.ts";
import type { InquiryBackend } from "../inquiry/index.ts";
import type { EndReason, Model, ToolChoice, ToolSchema } from "../provider/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { Clock, JsonObject } from "../util/index.ts";
import { ToolCycle } from "./calls.ts";
import { recordUnscopedQuestions } from "./inquiry.ts";
import { type Interruption, Interrupts, PromptQueue } from "./interrupts.ts";
import {
  type InterruptMenu,
  type Journal,
  type Observer,
  type Prompter,
  type Toolbox,
} from "./ports.ts";
import { type Assistant, streamReply } from "./reply.ts";
import { createJournal, type DetachedDenial, type TurnContext, TurnState } from "./state.ts";

/** Everything a turn needs. */
export interface TurnSetup {
  readonly conversation: ConversationWriter;
  readonly model: Model;
  readonly assistant: Assistant;
  readonly attachments?: readonly Attachment[];
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  /** Absent in non-interactive runs. */
  readonly menu?: InterruptMenu;
  readonly inquiries: InquiryBackend;
  readonly clock: Clock;
  /** The maximum number of requests to the model. */
  readonly maxCycles: number;
  /** Limits of each call. The default limits apply if absent. */
  readonly limits?: CallLimits;
  readonly observer?: Observer;
}

/** The request of the user that starts a turn. */
export interface TurnRequest {
  readonly content: string;
  /** JSON Schema that the final answer must match. */
  readonly schema?: JsonObject;
  readonly author?: string;
}

/** How a turn ended. */
export type TurnEnd =
  | { readonly type: "done"; readonly reason: EndReason }
  /** The user stopped it. */
  | { readonly type: "stopped" }
  /** The user quit, or a signal or the embedding program ended it. */
  | { readonly type: "interrupted" }
  | { readonly type: "cycle_limit"; readonly cycles: number };

/** One turn. Can be run once. */
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

  /** Handles Ctrl-C: the user chooses what happens to the current work. */
  interrupt(): void {
    this.#interrupts.press();
  }

  /** Ends the turn cleanly. Unlike `interrupt`, this is not recorded as the user's decision. */
  leave(): void {
    this.#interrupts.interrupt();
  }

  get isLeaving(): boolean {
    return this.#interrupts.isLeaving;
  }

  /** What has been denied so far only because no person could be asked. */
  get denials(): readonly DetachedDenial[] {
    return this.#state?.denials ?? [];
  }

  /** Throws `ProviderError` and `write_failed`. Everything up to the error is recorded. */
  async run(request: TurnRequest): Promise<TurnEnd> {
    const timestamp = timestampFromDate(this.#setup.clock.now());
    await this.#journal.record(
      { type: "turn_start", timestamp },
      { type: "chat_request", timestamp, ...request },
    );
    const context = this.#createContext();
    const stopRecording = recordUnscopedQuestions(context);
    try {
      return await this.#runCycles(context);
    } finally {
      await stopRecording();
    }
  }

  async #runCycles(context: TurnContext): Promise<TurnEnd> {
    const tools = await this.#openTools();
    if ("type" in tools) return toTurnEnd(tools);
    let { toolChoice } = this.#setup.assistant;
    for (let cycle = 1; cycle <= this.#setup.maxCycles; cycle += 1) {
      this.#setup.observer?.observe({ type: "cycle_start", cycle });
      const calls = new ToolCycle(context);
      const reply = await this.#streamReply(calls, tools, toolChoice);
      if (reply.type === "done" && calls.isEmpty) return reply;
      const interruption =
        reply.type === "done" ? await this.#runTools(calls) : await this.#dropCalls(calls, reply);
      if (interruption !== undefined && interruption.type !== "reply") {
        return toTurnEnd(interruption);
      }
      // The user's message replaces the results of stopped calls; without any, it is a request.
      const message = interruption?.message ?? "";
      if (message !== "" && !calls.isMessageDelivered) {
        const timestamp = timestampFromDate(this.#setup.clock.now());
        await this.#journal.record({ type: "chat_request", timestamp, content: message });
      }
      if (!calls.isEmpty) toolChoice = "auto"; // A demanded call is demanded only once.
    }
    return { type: "cycle_limit", cycles: this.#setup.maxCycles };
  }

  /** May start servers, so it can take long enough to be interrupted. */
  async #openTools(): Promise<readonly ToolSchema[] | Interruption> {
    const { value, interruption } = await this.#interrupts.during(
      { choices: ["continue", "stop"] },
      async ({ signal }) => {
        try {
          return await this.#setup.tools.schemas(signal);
        } catch (error) {
          if (signal.aborted) return [];
          throw error;
        }
      },
    );
    return interruption ?? value;
  }

  async #streamReply(
    calls: ToolCycle,
    tools: readonly ToolSchema[],
    toolChoice: ToolChoice,
  ): Promise<Extract<TurnEnd, { type: "done" }> | Interruption> {
    const choices = ["continue", "reply", "stop", "discard"] as const;
    try {
      const { value: reason, interruption } = await this.#interrupts.during(
        { choices, requiresMessage: true },
        (work) =>
          streamReply({
            ...this.#setup,
            journal: this.#journal,
            attachments: this.#setup.attachments ?? [],
            tools,
            toolChoice,
            signal: work.signal,
            isDiscarded: () => work.interruption?.type === "discard",
            onCall: (request) => calls.add(request),
          }),
      );
      if (interruption !== undefined) return interruption;
      return reason === "aborted" ? { type: "stop" } : { type: "done", reason };
    } catch (error) {
      calls.stop("interrupted"); // Closes their open questions.
      await calls.run().catch(() => undefined); // The first error is the one to report.
      throw error;
    }
  }

  async #runTools(calls: ToolCycle): Promise<Interruption | undefined> {
    const { interruption } = await this.#interrupts.during(
      {
        choices: ["continue", "reply", "stop", "restart"],
        onInterrupt: (chosen) => stopCalls(calls, chosen),
        onRestart: () => calls.restart(),
      },
      () => calls.run(),
    );
    return interruption;
  }

  /** The calls of an interrupted reply are recorded already, so each needs a response. */
  async #dropCalls(calls: ToolCycle, interruption: Interruption): Promise<Interruption> {
    stopCalls(calls, interruption);
    await calls.run();
    return interruption;
  }

  #createContext(): TurnContext {
    const { stream } = this.#journal;
    const start = stream.entries.findLastIndex(({ eventType }) => eventType === "turn_start");
    const state = TurnState.fromEvents(eventsOf(stream.entries.slice(start)));
    this.#state = state;
    return { ...this.#setup, journal: this.#journal, prompts: this.#prompts, state };
  }
}

function stopCalls(calls: ToolCycle, interruption: Interruption): void {
  if (interruption.type === "interrupted") calls.stop("interrupted");
  else calls.stop("user", interruption.type === "reply" ? interruption.message : "");
}

function toTurnEnd({ type }: Interruption): TurnEnd {
  return { type: type === "leave" || type === "interrupted" ? "interrupted" : "stopped" };
}
