/**
 * One reply of the model, heard to its end. A connection that breaks is made again, and what was said
 * until then is kept and continued.
 */
import {
  type Attachment,
  type ChatResponse,
  type ConversationStream,
  intoParts,
  type Section,
  StreamEntry,
  type ThreadParts,
  type ToolCallRequest,
} from "../conversation/index.ts";
import {
  type CachePolicy,
  type EndReason,
  type Model,
  type ModelEvent,
  type ModelParameters,
  ProviderError,
  retryDelay,
  type RetryPolicy,
  type StreamLimits,
  type ToolChoice,
  type ToolSchema,
  watchStream,
} from "../provider/index.ts";
import { assertNever, type Clock, findJson, type JsonObject } from "../util/index.ts";
import { type Journal, type Observer, timestampOf } from "./ports.ts";

/** Who answers, what it is told before everything else, and how it is asked. */
export interface Assistant {
  readonly systemPrompt?: string;
  readonly sections: readonly Section[];
  readonly parameters: ModelParameters;
  readonly toolChoice: ToolChoice;
  readonly cache: CachePolicy;
  readonly request: RetryPolicy & StreamLimits;
  /** Goes on by itself when a reply has reached its limit. */
  readonly isChained?: boolean;
}

export interface Hearing extends Omit<ReplyParts, "isStructured"> {
  readonly model: Model;
  readonly assistant: Assistant;
  readonly attachments: readonly Attachment[];
  readonly tools: readonly ToolSchema[];
  readonly toolChoice: ToolChoice;
  readonly signal: AbortSignal;
  /** After an abort: whether what was heard of an unfinished text is forgotten. */
  readonly isDiscarded: () => boolean;
}

const CONTINUE =
  "[Your reply broke off before its end. Go on exactly where it stopped; do not repeat anything.]";

/** A model that always says too much, or breaks off again and again, is not heard for ever. */
const MOST_CONTINUATIONS = 10;

/** Throws `ProviderError` when nothing more is to be tried, and `write_failed`. */
export async function hearReply(hearing: Hearing): Promise<EndReason | "aborted"> {
  const { assistant, signal, clock, observer } = hearing;
  let retries = 0;
  let continuations = 0;
  for (;;) {
    const parts = threadParts(hearing);
    const isStructured = parts.schema !== undefined;
    const recorder = new ReplyRecorder({ ...hearing, isStructured });
    const error = await hearOnce(hearing, parts, recorder);
    // Half of a document is of no use.
    if (signal.aborted ? hearing.isDiscarded() : isStructured) recorder.drop();
    await recorder.end();
    // The record cannot be written, or the program has a mistake: nothing makes up for that.
    if (error !== undefined && !(error instanceof ProviderError)) throw error;
    if (signal.aborted) return "aborted";
    // Calls that were made before it broke off are run; the model then goes on from their results.
    if (recorder.hasCalls) return "tool_calls";
    // The document was whole before the connection broke.
    if (recorder.hasDocument) return recorder.reason ?? "stop";
    if (error === undefined) {
      const { reason = "other" } = recorder;
      const goesOn = reason === "length" && assistant.isChained === true && !isStructured;
      if (!goesOn || continuations === MOST_CONTINUATIONS) return reason;
      continuations += 1;
      continue;
    }
    if (recorder.isOnRecord && continuations < MOST_CONTINUATIONS) {
      continuations += 1;
      retries = 0;
    }
    const delayMs = retryDelay(assistant.request, retries, error);
    if (delayMs === undefined) throw error;
    retries += 1;
    const { maxRetries } = assistant.request;
    observer?.observe({ type: "retry_start", error, retry: retries, maxRetries, delayMs });
    await clock.sleep(delayMs, signal).catch(() => undefined);
  }
}

/** What went wrong; undefined if the reply has come to its end, or is no longer wanted. */
async function hearOnce(
  { model, assistant, tools, toolChoice, signal, clock }: Hearing,
  parts: ThreadParts,
  recorder: ReplyRecorder,
): Promise<unknown> {
  const { parameters, cache, request: limits } = assistant;
  const request = { parts, tools, toolChoice, parameters, cache, signal };
  try {
    for await (const event of watchStream({ model, request, limits, clock })) {
      await recorder.take(event);
    }
    return undefined;
  } catch (error) {
    return signal.aborted && error === signal.reason ? undefined : error;
  }
}

function threadParts({ assistant, attachments, journal, clock }: Hearing): ThreadParts {
  const { systemPrompt, sections } = assistant;
  const thread = {
    ...(systemPrompt !== undefined && { systemPrompt }),
    sections,
    attachments,
    stream: journal.stream,
  };
  const parts = intoParts(thread);
  // A reply has to be asked for: what breaks off is continued at our word, which is not on record.
  if (parts.events.at(-1)?.type !== "chat_response") return parts;
  return intoParts({ ...thread, stream: withRequest(journal.stream, clock) });
}

function withRequest(stream: ConversationStream, clock: Clock): ConversationStream {
  const request = StreamEntry.fromEvent({
    type: "chat_request",
    timestamp: timestampOf(clock),
    content: CONTINUE,
  });
  return { ...stream, entries: [...stream.entries, request] };
}

interface ReplyParts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly observer?: Observer | undefined;
  /** The reply is to be JSON. */
  readonly isStructured: boolean;
  /** A call that is on record. */
  readonly onCall: (request: ToolCallRequest) => void;
}

type TextKind = "message" | "reasoning";

export class ReplyRecorder {
  readonly #parts: ReplyParts;
  #open: { readonly kind: TextKind; text: string } | undefined;
  #isOnRecord = false;
  #hasCalls = false;
  #hasDocument = false;
  #reason: EndReason | undefined;

  constructor(parts: ReplyParts) {
    this.#parts = parts;
  }

  /** Whether any of it is on record: then another try begins further on. */
  get isOnRecord(): boolean {
    return this.#isOnRecord;
  }

  /** Whether the JSON that was wanted is on record. */
  get hasDocument(): boolean {
    return this.#hasDocument;
  }

  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  /** Why it ended; undefined while it has not, and if it broke off. */
  get reason(): EndReason | undefined {
    return this.#reason;
  }

  async take(event: ModelEvent): Promise<void> {
    switch (event.type) {
      case "reasoning_delta":
      case "message_delta":
        return this.#add(event.type === "message_delta" ? "message" : "reasoning", event.text);
      case "reasoning_end":
        return this.#end("reasoning", event.metadata);
      case "message_end":
        return this.#end("message", event.metadata);
      case "tool_call_delta":
        return undefined;
      case "tool_call_start":
        return this.#parts.observer?.observe(event);
      case "tool_call_request":
        await this.end();
        return this.#call(event);
      case "response_end":
        await this.end();
        this.#reason = event.reason;
        return this.#parts.observer?.observe(event);
      default:
        return assertNever(event);
    }
  }

  /** Records what there is of a text that is not complete. */
  async end(): Promise<void> {
    if (this.#open !== undefined) await this.#end(this.#open.kind);
  }

  /** Forgets what there is of a text that is not complete. */
  drop(): void {
    this.#open = undefined;
  }

  async #add(kind: TextKind, text: string): Promise<void> {
    if (this.#open?.kind !== kind) {
      await this.end();
      this.#open = { kind, text: "" };
    }
    this.#open.text += text;
    this.#parts.observer?.observe({ type: `${kind}_delta`, text });
  }

  /**
   * Without any text there may still be a signature, which the provider wants back. An end that comes
   * late for one kind leaves a text of the other open.
   */
  async #end(kind: TextKind, metadata?: JsonObject): Promise<void> {
    const open = this.#open?.kind === kind ? this.#open : undefined;
    const text = open?.text ?? "";
    if (open !== undefined) this.#open = undefined;
    if (text === "" && metadata === undefined) return;
    const content = this.#contentOf(kind, text);
    await this.#parts.journal.record({
      type: "chat_response",
      timestamp: timestampOf(this.#parts.clock),
      content,
      ...(metadata !== undefined && { metadata }),
    });
    this.#isOnRecord = true;
    this.#hasDocument ||= content.type === "structured";
  }

  #contentOf(kind: TextKind, text: string): ChatResponse["content"] {
    const data = kind === "message" && this.#parts.isStructured ? findJson(text) : undefined;
    return data === undefined ? { type: kind, text } : { type: "structured", data };
  }

  async #call(event: Extract<ModelEvent, { type: "tool_call_request" }>): Promise<void> {
    const request: ToolCallRequest = { ...event, timestamp: timestampOf(this.#parts.clock) };
    await this.#parts.journal.record(request);
    this.#isOnRecord = true;
    this.#hasCalls = true;
    this.#parts.onCall(request);
  }
}
