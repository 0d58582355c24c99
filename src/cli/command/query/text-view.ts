/**
 * For people: the answer on standard output, as rendered Markdown on a terminal and as it is elsewhere;
 * thoughts, calls and questions on standard error, a line each.
 */
import type { PermissionRequest, TurnEnd, TurnUpdate } from "../../../agent/index.ts";
import type { ToolSettings } from "../../../config/index.ts";
import type {
  ConversationEvent,
  InquiryId,
  InquiryRequest,
  ToolCallRequest,
  ToolCallResponse,
} from "../../../conversation/index.ts";
import {
  createMarkdownStream,
  describeCall,
  type MarkdownStream,
  neutralize,
  oneLine,
  renderCallLine,
  renderInquiryLine,
  renderResultLines,
  truncate,
} from "../../../render/index.ts";
import type { Output, StatusLine } from "../../../terminal/index.ts";
import { assertNever, type Clock } from "../../../util/index.ts";
import { addUsage, describeUsage, type TotalUsage } from "./usage.ts";
import type { TurnView } from "./view.ts";

export interface TextViewOptions {
  readonly output: Output;
  readonly status: StatusLine;
  readonly clock: Clock;
  readonly model: string;
  readonly tools: ReadonlyMap<string, ToolSettings>;
  readonly showsReasoning: boolean;
  readonly showsCalls: boolean;
  /** The answer is a document: it is printed whole. */
  readonly isStructured: boolean;
  /** Tells what the turn has cost. */
  readonly isVerbose: boolean;
}

interface RunningCall {
  readonly request: ToolCallRequest;
  readonly since: number;
}

/** What is being said at the moment. */
interface Speech {
  readonly type: "message" | "reasoning";
  /** Its last line has ended. */
  isLineOver: boolean;
  /** It is on record. Only if its connection broke does it go on. */
  isRecorded: boolean;
}

/** Columns of a screen that nobody knows. */
const USUAL_WIDTH = 80;

export class TextView implements TurnView {
  readonly #options: TextViewOptions;
  readonly #calls = new Map<string, RunningCall>();
  readonly #inquiries = new Map<string, InquiryRequest>();
  #speech: Speech | undefined;
  #markdown: MarkdownStream | undefined;
  #usage: TotalUsage = {};
  /** The call of which was said last that it wants something. */
  #announced = "";
  /** Code waits for its highlighter; what follows waits for the code. */
  #waiting: Promise<void> | undefined;

  constructor(options: TextViewOptions) {
    this.#options = options;
  }

  observe(update: TurnUpdate): void {
    const speech = this.#speechOf(update);
    this.#inOrder(() => this.#begin(speech, update));
    const at = this.#now(); // It may be shown later than it happens.
    this.#inOrder(() => this.#show(update, at));
  }

  async aside<Value>(action: () => Promise<Value>): Promise<Value> {
    // What is being said may go on afterwards, and must not lose its place: in a list, in code.
    if (this.#speech?.isRecorded === true) this.#inOrder(() => this.#endSpeech());
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
    this.#announce(describeCall({ name: tool, arguments: given }));
  }

  showAsker(inquiryId: InquiryId): void {
    const { toolCallId = "" } = this.#inquiries.get(inquiryId) ?? {};
    const call = this.#calls.get(toolCallId);
    if (call !== undefined && this.#isShown(call.request.name)) {
      this.#announce(describeCall(call.request));
    }
  }

  /** Once for what follows: several questions of a call may come one after the other. */
  #announce(call: string): void {
    if (call === this.#announced) return;
    this.#announced = call;
    const { output } = this.#options;
    // The screen is somebody else's for now: what is going on must not come back onto it.
    output.notice(output.paintNotice("cyan", truncate(`• ${call}`, output.noticeWidth)));
  }

  async end(end: TurnEnd | undefined): Promise<void> {
    this.#options.status.set(undefined);
    this.#inOrder(() => this.#endSpeech());
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

  #show(update: TurnUpdate, at: number): Promise<void> | void {
    const { status, model } = this.#options;
    switch (update.type) {
      case "cycle_start":
        return status.set(`Waiting for ${oneLine(model)}`);
      case "reasoning_delta":
        return this.#think(update.text);
      case "message_delta":
        return this.#speak(update.text);
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
        if (this.#speech !== undefined) this.#breakLine(this.#speech);
        return this.#warn(`${problem}. Trying again ${when} (${retry}/${maxRetries}).`);
      }
      case "event":
        return this.#showEvent(update.event, at);
      default:
        return assertNever(update);
    }
  }

  #showEvent(event: ConversationEvent, at: number): Promise<void> | void {
    switch (event.type) {
      case "chat_response":
        if (event.content.type === "structured") this.#printDocument(event.content.data);
        if (this.#speech !== undefined) this.#speech.isRecorded = true;
        return undefined;
      case "tool_call_request":
        this.#calls.set(event.id, { request: event, since: at });
        return this.#showRunning();
      case "tool_call_response":
        return this.#endCall(event, at);
      case "inquiry_request":
        this.#inquiries.set(event.id, event);
        return undefined;
      case "inquiry_response": {
        const request = this.#inquiries.get(event.id);
        // Whoever was asked has seen it.
        const isSeen =
          event.outcome === "cancelled"
            ? event.reason === "user"
            : event.answeredBy?.kind === "user";
        if (request === undefined || isSeen || this.#isHidden(request)) return undefined;
        return this.#line(`  ${renderInquiryLine(request, event, this.#lineOptions(2))}`);
      }
      case "permission_decision": {
        const call = this.#calls.get(event.toolCallId);
        // The time somebody took to decide is not the tool's.
        if (call !== undefined && event.action === "run") {
          this.#calls.set(event.toolCallId, { ...call, since: at });
        }
        return undefined;
      }
      case "turn_start":
      case "chat_request":
        return undefined;
      default:
        return assertNever(event);
    }
  }

  /** What is heard of it, if it is to be heard. */
  #speechOf({ type }: TurnUpdate): "message" | "reasoning" | undefined {
    const { showsReasoning, isStructured } = this.#options;
    if (type === "reasoning_delta" && showsReasoning) return "reasoning";
    return type === "message_delta" && !isStructured ? "message" : undefined;
  }

  #think(text: string): void {
    const { output, showsReasoning, status } = this.#options;
    if (!showsReasoning) return;
    status.set(undefined);
    output.noticePiece(output.paintNotice("dim", neutralize(text)));
    this.#noteLineEnd(text);
  }

  #speak(text: string): void {
    const { output, isStructured, status } = this.#options;
    if (isStructured) return;
    status.set(undefined);
    if (!output.isTerminal) output.write(text);
    else (this.#markdown ??= this.#startMarkdown()).push(text);
    this.#noteLineEnd(text);
  }

  /** What is on record is over, unless the connection broke: then it is continued. */
  #begin(type: Speech["type"] | undefined, update: TurnUpdate): Promise<void> | void {
    if (this.#speech?.isRecorded === true && update.type === "retry_start") {
      this.#speech.isRecorded = false;
      return undefined;
    }
    const isOver = this.#speech?.isRecorded === true && update.type !== "response_end";
    if (type === undefined && !isOver) return undefined;
    if (this.#speech?.type === type && !isOver) return undefined;
    const ended = this.#endSpeech();
    if (type !== undefined) this.#speech = { type, isLineOver: true, isRecorded: false };
    return ended;
  }

  /** On a screen something else is about to be printed below what is being said. */
  #breakLine({ type, isLineOver }: Speech): void {
    const { output } = this.#options;
    if (isLineOver || (type === "message" && !output.isTerminal)) return;
    output.noticePiece("\n");
  }

  #noteLineEnd(text: string): void {
    if (this.#speech !== undefined && text !== "") this.#speech.isLineOver = text.endsWith("\n");
  }

  #endSpeech(): Promise<void> | void {
    const { output } = this.#options;
    const speech = this.#speech;
    this.#speech = undefined;
    if (speech === undefined) return undefined;
    if (this.#markdown !== undefined && speech.type === "message") {
      const ended = this.#markdown.end();
      this.#markdown = undefined;
      return ended;
    }
    if (speech.isLineOver) return undefined;
    return speech.type === "message" ? output.write("\n") : output.notice("");
  }

  #startMarkdown(): MarkdownStream {
    const { output } = this.#options;
    return createMarkdownStream({
      paint: output.paint,
      width: Number.isFinite(output.lineWidth) ? output.lineWidth : USUAL_WIDTH,
      hyperlinks: output.hasColors,
      write: (text) => output.write(text),
    });
  }

  #printDocument(data: unknown): void {
    const { output } = this.#options;
    output.write(
      `${output.isTerminal ? neutralize(JSON.stringify(data, null, 2)) : JSON.stringify(data)}\n`,
    );
  }

  #endCall(response: ToolCallResponse, at: number): void {
    const call = this.#calls.get(response.id);
    this.#calls.delete(response.id);
    this.#announced = "";
    if (call !== undefined && this.#isShown(call.request.name)) {
      const note = `${((at - call.since) / 1000).toFixed(1)}s`;
      const style = this.#options.tools.get(call.request.name)?.style;
      const resultLines = (response.isError ? style?.errorLines : style?.inlineLines) ?? 0;
      this.#line(renderCallLine(call.request, response, { ...this.#lineOptions(), note }));
      const lines = renderResultLines(response, { ...this.#lineOptions(), resultLines });
      for (const line of resultLines === 0 ? [] : lines) this.#line(line);
    }
    this.#showRunning();
  }

  #showRunning(): void {
    const running = [...this.#calls.values()];
    const names = running.map(({ request }) => oneLine(request.name)).join(", ");
    const first = Math.min(...running.map(({ since }) => since));
    this.#options.status.set(names === "" ? undefined : names, names === "" ? undefined : first);
  }

  #isShown(tool: string): boolean {
    return this.#options.showsCalls && this.#options.tools.get(tool)?.style.isHidden !== true;
  }

  #isHidden({ toolCallId = "" }: InquiryRequest): boolean {
    const call = this.#calls.get(toolCallId);
    return call !== undefined && !this.#isShown(call.request.name);
  }

  #warn(text: string): void {
    const { paintNotice } = this.#options.output;
    this.#line(`${paintNotice("yellow", "warning")}: ${oneLine(text)}`);
  }

  #note(text: string): void {
    if (text !== "") this.#line(this.#options.output.paintNotice("dim", text));
  }

  #line(text: string): void {
    this.#options.status.clear();
    this.#options.output.notice(text);
    this.#options.status.resume();
  }

  #lineOptions(indent = 0) {
    const { output } = this.#options;
    return { paint: output.paintNotice, width: output.noticeWidth - indent };
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}
