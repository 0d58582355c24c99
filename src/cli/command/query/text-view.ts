/** Shows a turn to a person: the reply, the calls, and a status line, in the order they happen. */
import type { TurnEnd, TurnUpdate } from "../../../core/agent/index.ts";
import {
  addUsage,
  type CallProgress,
  type Compaction,
  type ConversationEvent,
  describeCompaction,
  describeTurns,
  type InquiryId,
  isSteering,
  type Usage,
} from "../../../record/conversation/index.ts";
import {
  describeReplyFile,
  describeSources,
  describeUsage,
} from "../../../surfaces/render/index.ts";
import type { Pace, StatusLine } from "../../../surfaces/terminal/index.ts";
import { assertNever, type Clock, type Json, oneLine } from "../../../util/index.ts";
import { warn } from "../../context.ts";
import { CallView, type CallViewOptions, percentRead } from "./call-view.ts";
import { ReplyView, type ReplyViewOptions } from "./reply-view.ts";
import { sentLines } from "./unsent-text.ts";
import type { ShownCall, TurnView } from "./view.ts";

/** When the status line shows waiting for a model, receiving arguments, or running tools. */
export type ProgressSettings = Readonly<
  Record<"streaming" | "preparing" | "toolCall", Pace & { readonly isShown: boolean }>
>;

export interface TextViewOptions extends ReplyViewOptions, CallViewOptions {
  readonly status: StatusLine;
  readonly clock: Clock;
  readonly model: string;
  /** Settings of the status line: `style` in the config. */
  readonly progress: ProgressSettings;
  /** Prints token usage at the end. */
  readonly isVerbose: boolean;
  /** How to undo a compaction, in the user's terms. */
  readonly undo?: string;
}

export class TextView implements TurnView {
  readonly #options: TextViewOptions;
  readonly #reply: ReplyView;
  readonly #calls: CallView;
  #usage: Usage = {};
  /** Only the last one is the answer. */
  #document: { readonly data: Json } | undefined;
  /** When the current request to the model began. */
  #cycleSince: number | undefined;
  /** The model has replied something since then. */
  #hasSpoken = false;
  /** When the last piece of a reply arrived. */
  #lastPieceAt = 0;
  /** Characters received of the current reply. */
  #characters = 0;
  /** Tokens of this turn's finished replies. */
  #tokens = 0;
  #isEstimated = false;
  /** When the last prompt was closed. */
  #asideUntil = Number.NEGATIVE_INFINITY;
  /** Set while a code block waits for its highlighter. Everything after it waits too. */
  #waiting: Promise<void> | undefined;

  constructor(options: TextViewOptions) {
    this.#options = options;
    this.#reply = new ReplyView(options);
    this.#calls = new CallView(options);
  }

  /** Also renders a word to nowhere: the first run of the code is slow, and the model is still thinking. */
  async load(): Promise<void> {
    await this.#reply.load();
    const { output } = this.#options;
    const nowhere = { write: ignore, print: ignore, notice: ignore, noticePiece: ignore };
    const rehearsal = new TextView({
      ...this.#options,
      output: { ...output, ...nowhere, flush: ignore },
      status: { isBelow: false, set: ignore, clear: ignore, resume: ignore },
      isVerbose: false,
    });
    rehearsal.observe({ type: "message_delta", text: "A *word*.\n" });
    await rehearsal.end(undefined);
  }

  observe(update: TurnUpdate): void {
    this.#inOrder(() => this.#reply.begin(update.type));
    const at = this.#options.clock.now().getTime(); // It may be shown later.
    this.#inOrder(() => this.#speak(update));
    this.#inOrder(() => this.#show(update, at));
  }

  resume(calls: readonly CallProgress[]): void {
    for (const call of calls) this.#calls.resume(call, this.#options.clock.now().getTime());
  }

  async aside<Value>(action: (endReply: () => Promise<void>) => Promise<Value>): Promise<Value> {
    // An unfinished block continues afterwards, inside its list or code block.
    if (this.#reply.isRecorded) this.#inOrder(() => this.#reply.end());
    await this.#waiting;
    this.#options.status.clear();
    this.#reply.breakLine();
    let release = this.#hold();
    const endReply = async () => {
      release();
      this.#inOrder(() => this.#reply.end());
      await this.#waiting;
      this.#options.status.clear();
      release = this.#hold();
    };
    try {
      return await action(endReply);
    } finally {
      this.#asideUntil = this.#options.clock.now().getTime();
      this.#options.status.resume();
      release();
    }
  }

  /** Holds back updates until the returned function is called. */
  #hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wait(promise);
    return resolve;
  }

  showCall({ tool, arguments: given, inquiryId }: ShownCall): void {
    this.#calls.noteAnnounced({ name: tool, arguments: given }, inquiryId);
  }

  showAsker(inquiryId: InquiryId): void {
    const asker = this.#calls.findAsker(inquiryId);
    if (asker !== undefined) this.#calls.announce(asker);
  }

  noteStop(): void {
    this.#calls.stop();
  }

  expand(): void {
    const at = this.#options.clock.now().getTime();
    this.#inOrder(() => {
      const { shortened } = this.#options;
      const lines = this.#reply.isFolded ? [] : (shortened?.lines ?? []);
      if (shortened === undefined || lines.length === 0) {
        return this.#print(() => this.#reply.toggleReasoning(at));
      }
      shortened.lines = [];
      return this.#printLines(lines);
    });
  }

  async end(end: TurnEnd | undefined): Promise<void> {
    const { status } = this.#options;
    status.set(undefined);
    this.#inOrder(() => this.#reply.end());
    await this.#waiting;
    status.set(undefined); // Updates released when a prompt closed have set it again.
    if (this.#document !== undefined) this.#reply.printDocument(this.#document.data);
    this.#printLines(this.#calls.leave());
    if (end?.type === "stopped") this.#note("Stopped.");
    if (this.#options.isVerbose) this.#note(describeTokens(this.#usage));
  }

  /** Runs the action at once, or after what is already waiting. */
  #inOrder(action: () => Promise<void> | void): void {
    if (this.#waiting === undefined) {
      const waiting = action() ?? undefined;
      if (waiting === undefined) return;
      this.#wait(waiting);
    } else {
      this.#wait(this.#waiting.then(action));
    }
  }

  #wait(waiting: Promise<void>): void {
    const own = waiting.finally(() => {
      if (this.#waiting === own) this.#waiting = undefined;
    });
    this.#waiting = own;
  }

  #show(update: TurnUpdate, at: number): void {
    const { status, model } = this.#options;
    const isShown = this.#reply.shows(update.type);
    if (update.type === "reasoning_delta" || update.type === "message_delta") {
      this.#characters += update.text.length;
      this.#lastPieceAt = at;
    }
    if (isShown) this.#showStreaming(update.type);
    switch (update.type) {
      case "cycle_start":
        this.#cycleSince = at;
        this.#hasSpoken = false;
        return this.#setStatus("streaming", `Waiting for ${oneLine(model)}`);
      case "prompt_progress": {
        const text = `Waiting for ${oneLine(model)} (${percentRead(update)}% read)`;
        return this.#setStatus("streaming", text, this.#cycleSince);
      }
      case "reasoning_delta":
        return this.#showReasoning(update.text, isShown, at);
      case "message_delta":
        this.#hasSpoken = true;
        return isShown ? this.#reply.showText(update.text) : undefined;
      case "tool_call_start":
        return this.#calls.isInStatus(update.name)
          ? this.#setStatus("preparing", `${oneLine(update.name)}(…)`)
          : undefined;
      case "tool_progress":
        this.#calls.progress(update.toolCallId, update.message);
        return this.#showRunning();
      case "response_end":
        this.#usage = addUsage(this.#usage, update.usage);
        this.#countTokens(update.usage);
        return undefined;
      case "retry_start":
      case "notice":
        return this.#warnAbout(update, at);
      case "inquiry_update":
        return this.#showInquiry(update, at);
      case "summary_start":
        return status.set(`Summarizing ${update.turns} with ${oneLine(update.model)}`);
      case "compaction":
        return this.#note(describeNewCompaction(update.compaction, this.#options.undo));
      case "answered_elsewhere":
        return this.#note(describeElsewhere(update));
      case "context_use": // It has a row of its own.
        return undefined;
      case "event":
        return this.#showEvent(update.event, at);
      default:
        return assertNever(update);
    }
  }

  /** Tools such as `tell_user` speak on the assistant's behalf. */
  #speak(update: TurnUpdate): Promise<void> | void {
    if (update.type !== "event" || update.event.type !== "tool_call_response") return undefined;
    const text = this.#calls.speech(update.event);
    if (text === "") return undefined;
    this.#options.status.set(undefined);
    return this.#reply.say(text);
  }

  #showInquiry(asked: Extract<TurnUpdate, { readonly type: "inquiry_update" }>, at: number): void {
    const { update } = asked;
    if (update.type === "retry_start" || update.type === "notice") this.#warnAbout(update, at);
    if (update.type === "response_end") this.#usage = addUsage(this.#usage, update.usage);
    this.#calls.askModel(asked, at);
    this.#showRunning();
  }

  #warnAbout(
    update: Extract<TurnUpdate, { readonly type: "retry_start" | "notice" }>,
    at: number,
  ): void {
    const waitedMs = Math.max(0, this.#asideUntil - at); // Time spent waiting for a prompt to close.
    const text = update.type === "notice" ? update.message : describeRetry(update, waitedMs);
    if (text === "") return;
    this.#reply.breakLine();
    this.#print(() => warn(text, this.#options.output));
  }

  #showEvent(event: ConversationEvent, at: number): void {
    switch (event.type) {
      case "chat_response":
        if (event.content.type === "structured") this.#document = event.content;
        return this.#reply.noteRecorded();
      case "chat_request":
        this.#document = undefined;
        if (event.correction !== undefined) this.#note(ASKS_AGAIN);
        if (isSteering(event)) this.#printLines(sentLines(event.content));
        return undefined;
      case "tool_call_request":
        this.#document = undefined;
        this.#calls.start(event, at);
        return this.#showRunning();
      case "tool_call_response":
        this.#printLines(this.#calls.end(event, at));
        return this.#showRunning();
      case "inquiry_request":
      case "permission_request":
        return this.#calls.ask(event, at);
      case "inquiry_response":
        this.#printLines(this.#calls.answer(event, at));
        return this.#showRunning();
      case "decision_void":
        return this.#calls.makeVoid(event, at);
      case "permission_decision":
        this.#printLines(this.#calls.decide(event, at));
        return this.#showRunning();
      case "reply_sources":
        this.#printLines(describeSources(event));
        return this.#showRunning();
      case "reply_file":
        this.#printLines([describeReplyFile(event)]);
        return this.#showRunning();
      case "turn_start":
      case "inquiry_escalation":
      case "decision_vote":
      case "attempt_start":
      case "tool_step":
      case "reply_failure":
      case "turn_resume":
      case "turn_end":
      case "token_usage":
      case "turn_undo":
        return undefined;
      default:
        return assertNever(event);
    }
  }

  #showRunning(): void {
    const { running } = this.#calls;
    this.#setStatus("toolCall", running?.text, running?.since);
  }

  #setStatus(kind: keyof ProgressSettings, text: string | undefined, since?: number): void {
    const { isShown, ...pace } = this.#options.progress[kind];
    this.#options.status.set(isShown ? text : undefined, since, pace);
  }

  /** Shows the model, elapsed time, size, and whether data still arrives, if the status line need not make room. */
  #showStreaming(type: TurnUpdate["type"]): void {
    const { status, model, clock } = this.#options;
    if (!status.isBelow) return status.set(undefined);
    const details = () => {
      const quietMs = clock.now().getTime() - this.#lastPieceAt;
      return [
        this.#tokenText(),
        // Showing both would leave no room for the key that stops it.
        ...(quietMs >= QUIET_MS
          ? [`nothing for ${Math.floor(quietMs / 1000)} s`]
          : this.#reply.isFolded
            ? ["Ctrl-O shows it"]
            : []),
      ]
        .map((detail) => ` · ${detail}`)
        .join("");
    };
    const name = oneLine(model);
    const text = type === "reasoning_delta" ? `${name} thinks` : name;
    const { isShown, ...pace } = this.#options.progress.streaming;
    status.set(isShown ? text : undefined, this.#cycleSince, { ...pace, details });
  }

  #tokenText(): string {
    const estimate = Math.ceil(this.#characters / CHARACTERS_PER_TOKEN);
    const count = this.#tokens + estimate;
    return `${this.#isEstimated || estimate > 0 ? "~" : ""}${count} tokens`;
  }

  #countTokens({ output }: Usage): void {
    this.#isEstimated ||= output === undefined;
    this.#tokens += output ?? Math.ceil(this.#characters / CHARACTERS_PER_TOKEN);
    this.#characters = 0;
  }

  /** Shows reasoning in full or folded, or only that the model is reasoning. */
  #showReasoning(text: string, isShown: boolean, at: number): void {
    const { reasoning, status } = this.#options;
    const since = this.#hasSpoken ? at : (this.#cycleSince ?? at);
    this.#hasSpoken = true;
    if (isShown) this.#reply.showReasoning(text, at, since);
    else if (reasoning.type === "progress") status.set("Reasoning");
  }

  #note(text: string): void {
    if (text !== "") this.#printLines([this.#options.output.paintNotice("dim", text)]);
  }

  #printLines(lines: readonly string[]): void {
    for (const line of lines) this.#print(() => this.#options.output.notice(line));
  }

  /** Prints with the status line cleared. */
  #print(print: () => void): void {
    this.#options.status.clear();
    print();
    this.#options.status.resume();
  }
}

/** One line: what is hidden from the model, and how to undo that. */
export function describeNewCompaction(
  compaction: Compaction,
  undo = "jp conversation compact --reset",
): string {
  const why = compaction.isAutomatic === true ? ": the context window is filling up" : "";
  const what = `Compacted ${describeTurns(compaction)} (${describeCompaction(compaction)})${why}.`;
  return `${what} To undo: ${undo}`;
}

/** Empty if the provider reported nothing. */
function describeTokens(usage: Usage): string {
  const text = describeUsage(usage, usage.cost === undefined ? {} : { cost: usage.cost });
  return text === "" ? "" : `Tokens: ${text}`;
}

function ignore(): void {}

/** A model that is silent for longer may have stalled. */
const QUIET_MS = 5000;
/** Roughly the average for English text. */
const CHARACTERS_PER_TOKEN = 4;

const ASKS_AGAIN = "The answer does not fit the schema. Asking again.";

/**
 * Empty for a retry that happened while a prompt was open, and for all but the first while a server is starting,
 * which takes many tries.
 */
function describeRetry(
  { error, retry, maxRetries, delayMs }: Extract<TurnUpdate, { readonly type: "retry_start" }>,
  waitedMs: number,
): string {
  const leftMs = delayMs - waitedMs;
  if (waitedMs > 0 && leftMs <= 0) return "";
  const problem = error.message.replace(/[.:]?$/, "");
  if (error.kind === "starting") return retry === 1 ? `${problem}. Waiting up to a minute.` : "";
  const when = leftMs < 1000 ? "at once" : `in ${Math.round(leftMs / 1000)} s`;
  return `${problem}. Trying again ${when} (${retry}/${maxRetries}).`;
}

function describeElsewhere({
  tool,
  by,
}: Extract<TurnUpdate, { readonly type: "answered_elsewhere" }>): string {
  if (by?.kind !== "user") return `${oneLine(tool)}: cancelled elsewhere.`;
  const who = by.name === undefined ? by.channel : `${by.name}, ${by.channel}`;
  return `${oneLine(tool)}: answered elsewhere (${oneLine(who)}).`;
}
