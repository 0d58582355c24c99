/**
 * The turn loop: does the next missing step according to the record, until none is left. A new turn and one that
 * another process left differ only in their records.
 *
 *   request ─► stream the reply ─┬─► no calls: done, if its data fits the schema
 *                 ▲              └─► run its tools ─┬─► some wait for a person: waiting
 *                 └────────────── next cycle ◄──────┘
 */
import type { CallLimits } from "../../settings/config/index.ts";
import {
  type Attachment,
  canGoOn,
  type ConversationEvent,
  type ConversationStream,
  type Directory,
  endOf,
  lastTurn,
  lastTurnOf,
  type MessageFile,
  readTurnProgress,
  recordFiles,
  type StreamEntry,
  timestampFromDate,
  type Traceparent,
  type TurnProgress,
  type UndoneFile,
  undoneSince,
} from "../../record/conversation/index.ts";
import type { InquiryBackend } from "../answer-model/index.ts";
import type { Model, ToolChoice, ToolSchema } from "../../reach/provider/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import { type Clock, isNotLoaded, type JsonObject, loaderOf } from "../../util/index.ts";
import type { ToolCycle } from "./calls.ts";
import {
  assertNothingWaits,
  closeServerQuestions,
  closeTurnBefore,
  foreignTurnError,
  refusedQuestions,
  starterOf,
  type Starter,
  startNext,
  turnRunningError,
} from "./closing.ts";
import {
  causeOf,
  checkReply,
  type DataValidator,
  type Done,
  type InvalidData,
  readEnd,
} from "./data.ts";
import { canBeContinued, type Interruption, Interrupts } from "./interrupts.ts";
import { PromptQueue } from "./prompt-queue.ts";
import {
  type AnswerSource,
  type InterruptMenu,
  type Observer,
  type Prompter,
  type SteeringSource,
  type Toolbox,
} from "./ports.ts";
import type { Assistant } from "./reply.ts";
import { type DetachedDenial, type Redirection, TurnState } from "./memory.ts";
import { createJournal, type TurnJournal } from "./journal.ts";
import type { TurnContext } from "./context.ts";
import type { Policy } from "../policy/index.ts";
import type { ServerAsker } from "./server-questions.ts";
import type { CompactionSetup, ContextWindow } from "./window.ts";

/** Everything a turn needs. */
export interface TurnSetup {
  readonly conversation: ConversationWriter;
  readonly model: Model;
  readonly assistant: Assistant;
  readonly attachments?: readonly Attachment[];
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  /** Answers given beforehand. */
  readonly answers?: AnswerSource;
  /** Decides what is not asked. If absent, the tools' own settings decide. */
  readonly policy?: Policy;
  /** Absent in non-interactive runs. */
  readonly menu?: InterruptMenu;
  /** Messages of the user for the running turn. Without it, the turn takes none. */
  readonly steering?: SteeringSource;
  readonly inquiries: InquiryBackend;
  readonly clock: Clock;
  /** The maximum number of requests to the model. */
  readonly maxCycles: number;
  /** Limits of each call. The default limits apply if absent. */
  readonly limits?: CallLimits;
  readonly observer?: Observer;
  /** Resolves when the reader of the updates has room for more. The model's stream waits for it; the record does not. */
  readonly waitForReader?: () => Promise<void>;
  /** The name of the user, recorded with their decisions. */
  readonly userName?: string;
  /** Who holds which role. Without it, decisions that need known people cannot be asked. */
  readonly directory?: Directory;
  /** The name of the person who starts the turn, according to the program. */
  readonly startedBy?: string;
  /** Continue a turn even if someone else left it: see `ConversationWriter.isOwnTurn`. */
  readonly allowsForeignTurn?: boolean;
  /** Do not start another turn while the last one waits for a person. */
  readonly protectsPending?: boolean;
  /** Checks data that fits the JSON Schema, and may convert it. */
  readonly validateData?: DataValidator;
  readonly compaction?: CompactionSetup;
  /** Traces the turn. */
  readonly trace?: TraceTurn;
  /** The current traceparent of the turn, recorded with each request. */
  readonly traceparent?: () => Traceparent | undefined;
  /** False to end with the turn in which the user says what to do instead. Otherwise the next one follows. */
  readonly startsNext?: boolean;
}

/**
 * Runs a turn with parts that report what they do. `work` gets those parts, and must be called once. Throws what `work`
 * throws, and nothing else.
 */
export type TraceTurn = (
  setup: TurnSetup,
  turn: { readonly isResumed: boolean },
  work: (traced: TurnSetup) => Promise<TurnEnd>,
) => Promise<TurnEnd>;

/** The request of the user that starts a turn. */
export interface TurnMessage {
  readonly content: string;
  /** JSON Schema that the final answer must match. */
  readonly schema?: JsonObject;
  readonly author?: string;
  /** Images and other files for the model, at most 20 MB together. They are recorded, and sent with every request. */
  readonly files?: readonly MessageFile[];
  /** False if the answer is not checked against the schema: replays behave as older versions did. */
  readonly isChecked?: boolean;
  /** Models no longer see the previous turn, which must be complete and stays on record. */
  readonly replacesTurn?: boolean;
  /** Changes that the user has undone since the last message: read from the record if absent. */
  readonly undone?: readonly UndoneFile[];
}

/** How a turn ended. */
export type TurnEnd =
  | Done
  /** The answer does not fit the schema of the message, although the model was told so and asked again. */
  | InvalidData
  /** The user stopped it. */
  | { readonly type: "stopped" }
  /** The user quit, or a signal or the embedding program ended it. It can be continued. */
  | { readonly type: "interrupted" }
  /** It cannot continue without a person. It can be resumed once there are answers. */
  | { readonly type: "waiting" }
  | { readonly type: "cycle_limit"; readonly cycles: number };

type ReplyEnd = Done | Interruption;

/** The user said no to something, and what to do instead: that message starts the next turn. */
interface Redirected extends Redirection {
  readonly type: "redirected";
}

/** Writers with a running turn: two turns would mix their events. */
const busy = new WeakSet<ConversationWriter>();

/** The events of a turn before its first request to the model. */
const UNASKED: ReadonlySet<ConversationEvent["type"]> = new Set(["turn_start", "chat_request"]);

/** One turn. Can be run or resumed once. */
export class Turn {
  #setup: TurnSetup;
  #journal: TurnJournal;
  readonly #interrupts: Interrupts;
  readonly #prompts = new PromptQueue();
  /** Set with the first request: a resumed turn may end before. */
  #window: ContextWindow | undefined;
  #state: TurnState | undefined;
  /** The turn was the user's own when it was started or continued. */
  #isOwn = false;

  constructor(setup: TurnSetup) {
    this.#setup = setup;
    this.#journal = createJournal(setup.conversation, setup.observer);
    this.#interrupts = new Interrupts(this.#prompts, setup.menu);
  }

  /** Handles Ctrl-C: the user chooses what happens to the current work. */
  interrupt(): void {
    this.#interrupts.press();
  }

  /** Stops the turn without asking, on behalf of the user, and keeps everything up to here. */
  stop(): void {
    this.#interrupts.stop();
  }

  /** Ends the turn cleanly. Unlike `interrupt`, this is not recorded as the user's decision. */
  leave(): void {
    this.#interrupts.interrupt();
  }

  get isLeaving(): boolean {
    return this.#interrupts.isLeaving;
  }

  /** Everything denied so far only because no person could be asked. */
  get denials(): readonly DetachedDenial[] {
    return this.#state?.denials ?? [];
  }

  /**
   * Starts a turn, and closes everything an incomplete one before it left open. Before it records anything, throws
   * `turn_running`, `turn_waiting`, `invalid_file`, and `incomplete_turn` or `nothing_to_replace` if the previous turn
   * cannot be replaced; then `ProviderError`, `write_failed`, and `foreign_turn` if another program changes the record
   * meanwhile.
   */
  async run(request: TurnMessage): Promise<TurnEnd> {
    return this.#alone(() => this.#start(request));
  }

  /** Continues the last turn on record. Throws like `run`. */
  async resume(): Promise<TurnEnd> {
    return this.#alone(() => this.#continue());
  }

  /** Throws `turn_running` if another turn runs on the same writer. */
  async #alone(work: () => Promise<TurnEnd>): Promise<TurnEnd> {
    const { conversation } = this.#setup;
    if (busy.has(conversation)) throw turnRunningError(conversation.id);
    busy.add(conversation);
    const ended = Promise.withResolvers<void>();
    const listening = conversation.onRelease?.(() => {
      this.leave();
      return ended.promise;
    });
    try {
      return await work();
    } finally {
      busy.delete(conversation);
      listening?.[Symbol.dispose]();
      ended.resolve();
    }
  }

  async #traced(isResumed: boolean, work: () => Promise<TurnEnd>): Promise<TurnEnd> {
    const { trace } = this.#setup;
    if (trace === undefined) return work();
    return trace(this.#setup, { isResumed }, (traced) => {
      this.#setup = traced;
      this.#journal = createJournal(traced.conversation, traced.observer, traced.traceparent);
      return work();
    });
  }

  async #start(message: TurnMessage): Promise<TurnEnd> {
    const { protectsPending = false } = this.#setup;
    if (protectsPending) assertNothingWaits(this.#setup.conversation, message);
    return this.#traced(false, () => this.#begin(message));
  }

  async #begin(message: TurnMessage): Promise<TurnEnd> {
    const before = endOf(this.#journal.stream);
    await this.#journal.record(...startTurn(before, message, this.#setup));
    this.#isOwn = this.#setup.conversation.isOwnTurn;
    return this.#advance(new TurnState());
  }

  async #continue(): Promise<TurnEnd> {
    const { conversation, clock, allowsForeignTurn = false } = this.#setup;
    const { next, hasServerQuestions } = this.#progress();
    if (next === "done") {
      return readEnd(lastTurn(this.#journal), this.#setup.validateData);
    }
    if (!conversation.isOwnTurn && !allowsForeignTurn) throw foreignTurnError(conversation);
    this.#isOwn = conversation.isOwnTurn;
    const timestamp = timestampFromDate(clock.now());
    return this.#traced(true, async () => {
      this.#journal.recordWithNext({ type: "turn_resume", timestamp });
      if (hasServerQuestions) await this.#closeServerQuestions();
      const events = lastTurn(this.#journal);
      return this.#advance(TurnState.fromEvents(events, this.#journal.conversation));
    });
  }

  /** Another process has asked them, on connections that are gone. */
  async #closeServerQuestions(): Promise<void> {
    const left = closeServerQuestions(lastTurn(this.#journal), this.#setup.clock);
    if (left.length > 0) await this.#journal.record(...left);
  }

  /** Does the next missing step according to the record. A user's message in place of a yes starts another turn. */
  async #advance(first: TurnState): Promise<TurnEnd> {
    for (let state = first; ; state = new TurnState(state)) {
      const end = await this.#advanceTurn(state);
      if (end.type !== "redirected") return end;
      if (this.#setup.startsNext === false) {
        const stopped = { type: "stopped" } as const;
        await this.#recordEnd(stopped);
        return stopped;
      }
      await this.#journal.record(...startNext(lastTurn(this.#journal), end, this.#setup));
    }
  }

  async #advanceTurn(state: TurnState): Promise<TurnEnd | Redirected> {
    const { conversation } = this.#setup;
    const context = this.#createContext(state);
    const { waiting } = context.state;
    const offers = waiting.listen(conversation, context);
    const stopAsking = handleUnscopedQuestions(context);
    try {
      const end = await this.#runCycles(context);
      if (end.type !== "redirected") await this.#recordEnd(end);
      await this.#journal.settle();
      return end;
    } finally {
      offers[Symbol.dispose]();
      waiting.close();
      await stopAsking();
    }
  }

  /** Only if the rest of the record does not show that the turn is over. */
  async #recordEnd(end: TurnEnd): Promise<void> {
    if (end.type !== "done" && end.type !== "stopped" && end.type !== "invalid_data") return;
    if (this.#progress().next === "done") return;
    const timestamp = timestampFromDate(this.#setup.clock.now());
    const reason = end.type === "stopped" ? "stopped" : "done";
    await this.#journal.record({ type: "turn_end", timestamp, reason, ...causeOf(end) });
  }

  /** Throws `foreign_turn` if another program has changed the record: otherwise a tool could permit its own next call. */
  #readProgress({ state }: TurnContext): TurnProgress {
    const { conversation } = this.#setup;
    if (this.#isOwn && !conversation.isOwnTurn) throw foreignTurnError(conversation);
    state.waiting.forgetAnswered();
    return this.#progress();
  }

  #progress(): TurnProgress {
    return readTurnProgress(lastTurn(this.#journal));
  }

  async #runCycles(context: TurnContext): Promise<TurnEnd | Redirected> {
    let progress = this.#readProgress(context);
    const tools = await this.#openTools().catch(async (error: unknown) => {
      if (!isNotLoaded(error)) await this.#discardUnasked();
      throw error;
    });
    if ("type" in tools) {
      if (tools.type === "stop") await this.#dropCalls(await openCycle(context, progress), tools);
      return toTurnEnd(tools);
    }
    let toolChoice: ToolChoice = progress.hasCalls ? "auto" : this.#setup.assistant.toolChoice;
    let previous: ToolCycle | undefined;
    for (let cycle = 1; cycle <= this.#setup.maxCycles;) {
      if (progress.next === "done") return { type: "done", reason: "stop" };
      const { redirection } = context.state;
      if (redirection !== undefined && progress.next !== "calls") {
        return { type: "redirected", ...redirection };
      }
      let reply: ReplyEnd = { type: "done", reason: "stop" };
      if (progress.next === "request") {
        this.#setup.observer?.observe({ type: "cycle_start", cycle });
        cycle += 1;
        reply = await this.#streamReply(tools, toolChoice);
        progress = this.#readProgress(context);
      }
      const calls = await openCycle(context, progress, previous);
      previous = undefined;
      if (reply.type === "done" && calls === undefined) {
        const end = await this.#checkData(reply);
        if (end !== undefined) return end;
        progress = this.#readProgress(context);
        continue;
      }
      const interruption =
        reply.type === "done" ? await this.#runTools(calls) : await this.#dropCalls(calls, reply);
      if (interruption !== undefined && interruption.type !== "reply") {
        return toTurnEnd(interruption);
      }
      // The user's message replaces the results of stopped calls; without any, it is a request.
      const content = interruption?.message ?? "";
      if (content !== "" && calls?.isMessageDelivered !== true) {
        const timestamp = timestampFromDate(this.#setup.clock.now());
        await this.#journal.record({ type: "chat_request", timestamp, content });
      }
      if (calls !== undefined) toolChoice = "auto"; // A demanded call is demanded only once.
      progress = this.#readProgress(context);
      if (progress.next !== "calls") continue;
      // Calls that others answered meanwhile can continue, and those behind them. The rest has been asked, and waits.
      const answered = progress.calls.filter(canGoOn);
      if (answered.every((call) => calls?.isHeldUp(call) === true)) return { type: "waiting" };
      previous = calls;
      progress = { ...progress, calls: answered };
    }
    return { type: "cycle_limit", cycles: this.#setup.maxCycles };
  }

  /** The message has not reached the model, so there is nothing to continue. It stays on record, and can be sent again. */
  async #discardUnasked(): Promise<void> {
    const isUnasked = lastTurn(this.#journal).every(({ type }) => UNASKED.has(type));
    if (!isUnasked) return;
    const timestamp = timestampFromDate(this.#setup.clock.now());
    await this.#journal.record({ type: "turn_end", timestamp, reason: "discarded" });
  }

  /** May start servers, so it can take long and has to be interruptible. */
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

  /** Its calls are on record once it has ended. */
  async #streamReply(tools: readonly ToolSchema[], toolChoice: ToolChoice): Promise<ReplyEnd> {
    const { value: reason, interruption } = await this.#interrupts.during(
      { choices: ["continue", "reply", "stop", "discard"], requiresMessage: true },
      async (work) => {
        const window = await this.#openWindow();
        if (!work.signal.aborted) await this.#recordSteering();
        return window.stream({
          ...this.#setup,
          journal: this.#journal,
          attachments: this.#setup.attachments ?? [],
          tools,
          toolChoice,
          signal: work.signal,
          isDiscarded: () => work.interruption?.type === "discard",
        });
      },
    );
    if (interruption !== undefined) return interruption;
    return reason === "aborted" ? { type: "stop" } : { type: "done", reason };
  }

  /** Only with results: a model that is asked anew, or asked to correct its answer, is not told anything else. */
  async #recordSteering(): Promise<void> {
    const { steering, clock } = this.#setup;
    if (steering === undefined || !this.#progress().hasResults) return;
    const messages = steering.take();
    if (messages.length === 0) return;
    const timestamp = timestampFromDate(clock.now());
    const mark = { type: "chat_request", timestamp, isSteering: true } as const;
    await this.#journal.record(...messages.map((message) => ({ ...mark, ...message })));
    steering.onRecorded?.();
  }

  /** Throws `module_not_loaded`. */
  async #openWindow(): Promise<ContextWindow> {
    const { ContextWindow } = await loadWindow();
    this.#window ??= new ContextWindow({ ...this.#setup, journal: this.#journal });
    return this.#window;
  }

  /** The end of the turn, or undefined if its data does not fit and the model must be asked again. */
  async #checkData(reply: Done): Promise<TurnEnd | undefined> {
    const { value: end, interruption } = await this.#interrupts.during(
      { choices: ["continue", "stop"] },
      ({ signal }) => checkReply(reply, lastTurn(this.#journal), { ...this.#setup, signal }),
    );
    if (interruption !== undefined) return toTurnEnd(interruption);
    if (end.type !== "chat_request") return end;
    await this.#journal.record(end);
    return undefined;
  }

  async #runTools(calls: ToolCycle | undefined): Promise<Interruption | undefined> {
    const { interruption } = await this.#interrupts.during(
      {
        choices: ["continue", "reply", "stop", "restart"],
        onInterrupt: (chosen, message) => stopCalls(calls, chosen, message),
        onRestart: () => calls?.restart(),
      },
      async () => calls?.run(),
    );
    return interruption;
  }

  /** Calls already on record need a response, even if none of them runs. */
  async #dropCalls(
    calls: ToolCycle | undefined,
    interruption: Interruption,
  ): Promise<Interruption> {
    stopCalls(calls, interruption, interruption.type === "reply" ? interruption.message : "");
    await calls?.run();
    return interruption;
  }

  #createContext(state: TurnState): TurnContext {
    this.#state = state;
    const journal = this.#journal;
    const view = (stream: ConversationStream) => this.#window?.view(stream) ?? stream;
    return { ...this.#setup, journal, prompts: this.#prompts, state, view, allowsLater: true };
  }
}

/** Throws `module_not_loaded`. */
export const loadWindow = loaderOf(() => import("./window.ts"));

/**
 * Asks questions that any of several calls may have asked, and records those that belong to no running call, which their
 * executor has already refused. The returned function stops that and waits for the last write; it throws `write_failed`.
 */
export function handleUnscopedQuestions(context: TurnContext): () => Promise<void> {
  const { tools, journal, state, clock } = context;
  const writes: Promise<void>[] = [];
  const add = (write: Promise<void>) => {
    write.catch(() => undefined); // Thrown when recording stops.
    writes.push(write);
  };
  const unsubscribe = tools.onUnscopedQuestions?.((refused) => {
    add(journal.record(...refusedQuestions(refused, state, clock)));
  });
  let asker: Promise<ServerAsker> | undefined;
  const stopAsking = tools.onServerQuestions?.((asked) => {
    asker ??= loadServerAsker().then(({ ServerAsker }) => new ServerAsker(context));
    add(asker.then((each) => each.ask(asked)).finally(() => asked.cancel()));
  });
  return async () => {
    unsubscribe?.();
    stopAsking?.();
    await Promise.all(writes);
  };
}

/** Throws `module_not_loaded`. */
const loadServerAsker = loaderOf(() => import("./server-questions.ts"));

/** Throws `module_not_loaded`. */
export const loadCalls = loaderOf(() => import("./calls.ts"));

/** Undefined if nothing is to be run, as after most replies: the code for it is not even loaded. Throws `module_not_loaded`. */
async function openCycle(
  context: TurnContext,
  { calls }: TurnProgress,
  previous?: ToolCycle,
): Promise<ToolCycle | undefined> {
  if (calls.length === 0) return undefined;
  const { ToolCycle } = await loadCalls();
  return new ToolCycle(context, calls, previous);
}

function stopCalls(
  calls: ToolCycle | undefined,
  interruption: Interruption,
  message: string | Promise<string>,
): void {
  if (canBeContinued(interruption)) calls?.stop("interrupted");
  else calls?.stop("user", message);
}

function toTurnEnd(interruption: Interruption): TurnEnd {
  return { type: canBeContinued(interruption) ? "interrupted" : "stopped" };
}

/** `before` are the last entries of the record, including the last turn. Throws `nothing_to_replace`, `incomplete_turn`. */
export function startTurn(
  before: readonly StreamEntry[],
  { files = [], isChecked = true, ...message }: TurnMessage,
  { clock, ...starter }: Starter,
): readonly ConversationEvent[] {
  const recorded = files.length > 0 && { files: recordFiles(files) };
  const check = isChecked && message.schema !== undefined && { isChecked };
  const timestamp = timestampFromDate(clock.now());
  const last = lastTurnOf(before);
  const { undone = undoneSince(last, message.replacesTurn === true) } = message;
  return [
    ...closeTurnBefore(message, last, clock),
    { type: "turn_start", timestamp },
    {
      type: "chat_request",
      timestamp,
      ...message,
      ...starterOf(starter),
      ...recorded,
      ...check,
      ...(undone.length > 0 && { undone }),
    },
  ];
}
