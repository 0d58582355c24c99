/**
 * A turn for people: what is said, and what is done meanwhile, in the order in which it happens, with a
 * line at the end that says what is going on.
 */
import type { PermissionRequest, TurnEnd, TurnUpdate } from "../../../agent/index.ts";
import type { ConversationEvent, InquiryId } from "../../../conversation/index.ts";
import { oneLine } from "../../../render/index.ts";
import type { StatusLine } from "../../../terminal/index.ts";
import { assertNever, type Clock } from "../../../util/index.ts";
import { warn } from "../../context.ts";
import { CallView, type CallViewOptions } from "./call-view.ts";
import { SpeechView, type SpeechViewOptions } from "./speech-view.ts";
import { addUsage, describeUsage, type TotalUsage } from "./usage.ts";
import type { TurnView } from "./view.ts";

export interface TextViewOptions extends SpeechViewOptions, CallViewOptions {
  readonly status: StatusLine;
  readonly clock: Clock;
  readonly model: string;
  /** Tells what the turn has cost. */
  readonly isVerbose: boolean;
}

export class TextView implements TurnView {
  readonly #options: TextViewOptions;
  readonly #speech: SpeechView;
  readonly #calls: CallView;
  #usage: TotalUsage = {};
  /** Code waits for its highlighter; what follows waits for the code. */
  #waiting: Promise<void> | undefined;

  constructor(options: TextViewOptions) {
    this.#options = options;
    this.#speech = new SpeechView(options);
    this.#calls = new CallView(options);
  }

  observe(update: TurnUpdate): void {
    this.#inOrder(() => this.#speech.begin(update));
    const at = this.#options.clock.now().getTime(); // It may be shown later than it happens.
    this.#inOrder(() => this.#show(update, at));
  }

  async aside<Value>(action: () => Promise<Value>): Promise<Value> {
    // What is being said may go on afterwards, and must not lose its place: in a list, in code.
    if (this.#speech.isRecorded) this.#inOrder(() => this.#speech.end());
    await this.#waiting;
    this.#options.status.clear();
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    this.#wait(isOver); // What happens meanwhile is shown afterwards.
    try {
      return await action();
    } finally {
      this.#options.status.resume();
      resolve();
    }
  }

  showCall({ tool, arguments: given }: PermissionRequest): void {
    this.#calls.noteAnnounced({ name: tool, arguments: given });
  }

  showAsker(inquiryId: InquiryId): void {
    const asker = this.#calls.findAsker(inquiryId);
    if (asker !== undefined) this.#calls.announce(asker);
  }

  noteStop(): void {
    this.#calls.stop();
  }

  async end(end: TurnEnd | undefined): Promise<void> {
    this.#options.status.set(undefined);
    this.#inOrder(() => this.#speech.end());
    await this.#waiting;
    if (end?.type === "stopped") this.#note("Stopped.");
    if (this.#options.isVerbose) this.#note(describeUsage(this.#usage));
  }

  /** At once, unless something waits. */
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
    const isHeard = this.#speech.hears(update);
    if (isHeard) status.set(undefined);
    switch (update.type) {
      case "cycle_start":
        return status.set(`Waiting for ${oneLine(model)}`);
      case "reasoning_delta":
        return isHeard ? this.#speech.think(update.text) : undefined;
      case "message_delta":
        return isHeard ? this.#speech.speak(update.text) : undefined;
      case "tool_call_start":
        return status.set(`${oneLine(update.name)}(…)`);
      case "tool_call_delta":
        return status.set(oneLine(`${update.tool}: ${update.message}`));
      case "response_end":
        this.#usage = addUsage(this.#usage, update.usage);
        return undefined;
      case "retry_start": {
        const { error, retry, maxRetries, delayMs } = update;
        const when = delayMs < 1000 ? "at once" : `in ${Math.round(delayMs / 1000)} s`;
        const problem = error.message.replace(/[.:]?$/, "");
        this.#speech.breakLine();
        const text = `${problem}. Trying again ${when} (${retry}/${maxRetries}).`;
        return this.#print(() => warn(text, this.#options.output));
      }
      case "event":
        return this.#showEvent(update.event, at);
      default:
        return assertNever(update);
    }
  }

  #showEvent(event: ConversationEvent, at: number): void {
    switch (event.type) {
      case "chat_response":
        if (event.content.type === "structured") this.#speech.printDocument(event.content.data);
        return this.#speech.noteRecorded();
      case "tool_call_request":
        this.#calls.start(event, at);
        return this.#showRunning();
      case "tool_call_response":
        this.#printLines(this.#calls.end(event, at));
        return this.#showRunning();
      case "inquiry_request":
        return this.#calls.ask(event);
      case "inquiry_response":
        return this.#printLines(this.#calls.answer(event));
      case "permission_decision":
        return this.#printLines(this.#calls.decide(event, at));
      case "turn_start":
      case "chat_request":
        return undefined;
      default:
        return assertNever(event);
    }
  }

  #showRunning(): void {
    const { running } = this.#calls;
    this.#options.status.set(running?.names, running?.since);
  }

  #note(text: string): void {
    if (text !== "") this.#printLines([this.#options.output.paintNotice("dim", text)]);
  }

  #printLines(lines: readonly string[]): void {
    for (const line of lines) this.#print(() => this.#options.output.notice(line));
  }

  /** Beside the result, with nothing else in the way. */
  #print(print: () => void): void {
    this.#options.status.clear();
    print();
    this.#options.status.resume();
  }
}
