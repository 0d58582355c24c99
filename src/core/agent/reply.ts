/**
 * Streams one reply of the model and records it. If the connection breaks, the reply is retried, and continues after
 * the part already recorded.
 */
import {
  type Attachment,
  type ChatResponse,
  type ConversationEvent,
  type ConversationStream,
  describeFile,
  intoParts,
  isReported,
  type NamedSource,
  type ReplyFile,
  type Section,
  StreamEntry,
  type ThreadParts,
  type Timestamp,
  timestampFromDate,
  type ToolCallRequest,
  type Usage,
  visibleOf,
} from "../../record/conversation/index.ts";
import {
  type CachePolicy,
  type EndReason,
  isNews,
  lengthLimitError,
  type Model,
  type ModelEvent,
  type ModelParameters,
  type ModelRequest,
  ProviderError,
  RetryCounter,
  type RetryPolicy,
  type StreamLimits,
  type ToolChoice,
  type ToolSchema,
  watchStream,
} from "../../reach/provider/index.ts";
import { abortable, assertNever, type Clock, findJson, type JsonObject } from "../../util/index.ts";
import { CONTINUE_REPLY } from "./model-texts.ts";
import type { TurnJournal } from "./journal.ts";
import type { Journal, Observer } from "./ports.ts";

/** The instructions of an assistant, and how its model is asked. */
export interface Assistant {
  readonly systemPrompt?: string;
  readonly sections: readonly Section[];
  /** The model's environment: see `TurnOptions.surroundings`. */
  readonly surroundings?: string;
  readonly parameters: ModelParameters;
  readonly toolChoice: ToolChoice;
  readonly cache: CachePolicy;
  readonly request: RetryPolicy & StreamLimits;
  /** Continues by itself when a reply reaches its length limit. */
  readonly isChained?: boolean;
}

export interface ReplyRequest extends Omit<RecorderOptions, "isStructured"> {
  readonly journal: TurnJournal;
  readonly model: Model;
  readonly assistant: Assistant;
  readonly attachments: readonly Attachment[];
  readonly tools: readonly ToolSchema[];
  readonly toolChoice: ToolChoice;
  readonly signal: AbortSignal;
  /** The part of the conversation that the model sees, apart from compactions; everything if absent. */
  readonly view?: (stream: ConversationStream) => ConversationStream;
  /** See `TurnSetup`. */
  readonly waitForReader?: () => Promise<void>;
  /** After an abort: whether to drop the unfinished text instead of recording it. */
  readonly isDiscarded: () => boolean;
}

/** Stops a model that never finishes. */
const MAX_CONTINUATIONS = 10;

/** Throws `ProviderError` after the last retry, and `write_failed`. */
export async function streamReply(request: ReplyRequest): Promise<EndReason | "aborted"> {
  const { assistant, signal, clock, observer } = request;
  const retries = new RetryCounter(assistant.request);
  let continuations = 0;
  for (;;) {
    const parts = createParts(request);
    const isStructured = parts.schema !== undefined;
    const recorder = new ReplyRecorder({ ...request, isStructured });
    const error = (await streamOnce(request, parts, recorder)) ?? cutCall(request, recorder);
    // Half of a JSON document is useless.
    if (signal.aborted ? request.isDiscarded() : isStructured) recorder.discard();
    await recorder.flush();
    // A failed write or a bug: retrying does not help.
    if (error !== undefined && !(error instanceof ProviderError)) throw error;
    if (signal.aborted) return "aborted";
    if (recorder.hasCalls) return "tool_calls";
    // The document was complete before the connection broke.
    if (recorder.hasStructuredData) return recorder.reason ?? "stop";
    if (error === undefined) {
      const { reason = "other" } = recorder;
      const isContinued = reason === "length" && assistant.isChained === true && !isStructured;
      if (!isContinued || continuations === MAX_CONTINUATIONS) return reason;
      continuations += 1;
      continue;
    }
    const retry = retries.next(error);
    if (retry === undefined) throw error;
    observer?.observe({ type: "retry_start", ...retry });
    await clock.sleep(retry.delayMs, signal).catch(() => undefined);
  }
}

/** A reply that reached its length limit in the middle of a call counts as broken off. */
function cutCall({ model }: ReplyRequest, { reason, hasCutCalls }: ReplyRecorder) {
  return reason === "length" && hasCutCalls ? lengthLimitError(model.id) : undefined;
}

/** Returns what went wrong, or undefined if the reply ended or was aborted. */
async function streamOnce(
  { model, assistant, tools, toolChoice, signal, clock, observer, waitForReader }: ReplyRequest,
  parts: ThreadParts,
  recorder: ReplyRecorder,
): Promise<unknown> {
  const { parameters, cache, request: limits } = assistant;
  const observe: ModelRequest["observe"] = (update) => {
    if (isNews(update)) observer?.observe(update);
  };
  const request = { parts, tools, toolChoice, parameters, cache, signal, observe };
  try {
    for await (const event of watchStream({ model, request, limits, clock })) {
      await recorder.add(event);
      // What follows the end of the reply does not wait.
      if (event.type === "response_end") continue;
      await (waitForReader && abortable(waitForReader(), signal));
    }
    return undefined;
  } catch (error) {
    return signal.aborted && error === signal.reason ? undefined : error;
  }
}

/** The last request built from a record. It is measured before it is sent. */
interface MadeParts extends Pick<ReplyRequest, "assistant" | "attachments"> {
  readonly length: number;
  readonly parts: ThreadParts;
}

/** The fields of a reply request from which its parts are made. */
export type PartsRequest = Pick<ReplyRequest, "assistant" | "attachments" | "clock" | "view"> & {
  readonly journal: Pick<Journal, "stream">;
};

/** Keyed by the entries of the record, which only grow. */
const lastMade = new WeakMap<readonly StreamEntry[], MadeParts>();

/** The request as the model gets it. Built once until something is added: a record may have a hundred thousand events. */
export function createParts(request: PartsRequest): ThreadParts {
  const { assistant, attachments, journal, view = (all) => all } = request;
  const stream = view(visibleOf(journal.stream));
  const { entries } = stream;
  const last = lastMade.get(entries);
  const isSame = last?.assistant === assistant && last.attachments === attachments;
  if (isSame && last.length === entries.length) return last.parts;
  const parts = makeParts(request, stream);
  lastMade.set(entries, { assistant, attachments, length: entries.length, parts });
  return parts;
}

function makeParts(request: PartsRequest, stream: ConversationStream): ThreadParts {
  const { assistant, attachments, clock } = request;
  const { systemPrompt, sections, surroundings } = assistant;
  const thread = {
    ...(systemPrompt !== undefined && { systemPrompt }),
    sections,
    attachments,
    ...(surroundings !== undefined && { surroundings }),
    stream,
  };
  const parts = intoParts(thread);
  if (parts.events.at(-1)?.type !== "chat_response") return parts;
  // Providers expect the last message to be a request, so one is added without recording it.
  const timestamp = timestampFromDate(clock.now());
  const continued = { type: "chat_request", timestamp, content: CONTINUE_REPLY } as const;
  const entries = [...stream.entries, StreamEntry.fromEvent(continued)];
  return intoParts({ ...thread, stream: { ...stream, entries } });
}

interface RecorderOptions {
  readonly model: Pick<Model, "id">;
  readonly journal: Pick<TurnJournal, "record" | "recordSoon" | "saveFile">;
  readonly clock: Clock;
  readonly observer?: Observer | undefined;
  /** The reply should be JSON. */
  readonly isStructured: boolean;
}

type TextKind = "message" | "reasoning";

/**
 * Records a reply once it ends, in one write: a text alone would look like the whole reply. One that breaks off may lack
 * half of a call's arguments, or further calls: its texts are kept, its calls are not.
 */
export class ReplyRecorder {
  readonly #options: RecorderOptions;
  #open: { readonly kind: TextKind; text: string } | undefined;
  /** In order. */
  #held: (ToolCallRequest | ChatResponse | ReplyFile)[] = [];
  #hasCalls = false;
  #hasCutCalls = false;
  #hasStructuredData = false;
  #reason: EndReason | undefined;
  /** In the order in which the model first named them. */
  readonly #sources = new Map<string, NamedSource>();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  get hasStructuredData(): boolean {
    return this.#hasStructuredData;
  }

  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  /** It had calls, but did not end the way a reply with calls does. */
  get hasCutCalls(): boolean {
    return this.#hasCutCalls;
  }

  /** Undefined until the reply ends, and if it breaks off. */
  get reason(): EndReason | undefined {
    return this.#reason;
  }

  async add(event: ModelEvent): Promise<void> {
    const { observer } = this.#options;
    switch (event.type) {
      case "reasoning_delta":
      case "message_delta":
        return this.#addText(event.type === "message_delta" ? "message" : "reasoning", event.text);
      case "reasoning_end":
        return this.#endText("reasoning", event.metadata);
      case "message_end":
        return this.#endText("message", event.metadata);
      case "tool_call_delta":
        return undefined;
      case "tool_call_start":
        return observer?.observe({ ...event, toolCallId: event.id });
      case "tool_call_request":
        this.#endOpenText();
        this.#held.push({ ...event, timestamp: this.#now });
        return undefined;
      case "source":
        this.#sources.set(JSON.stringify(event.source), event.source);
        return undefined;
      case "file":
        this.#endOpenText();
        return this.#keepFile(event);
      case "response_end":
        this.#reason = event.reason;
        await this.#release(event.reason !== "length" && event.reason !== "refused", event.usage);
        return observer?.observe(event);
      default:
        return assertNever(event);
    }
  }

  /** Records the texts of a reply, however it ended. */
  async flush(): Promise<void> {
    await this.#release(false);
  }

  #endOpenText(): void {
    if (this.#open !== undefined) this.#endText(this.#open.kind);
  }

  /** Records what was held back, with or without the calls. */
  async #release(isWhole: boolean, usage?: Usage): Promise<void> {
    this.#endOpenText();
    const held = this.#held;
    this.#held = [];
    const calls = held.filter((event) => event.type === "tool_call_request");
    const kept = isWhole ? held : held.filter((event) => event.type !== "tool_call_request");
    const events = [...kept, ...this.#takeSources(), ...this.#reportUsage(usage)];
    const { journal } = this.#options;
    // What comes of its calls is recorded next.
    if (isWhole && calls.length > 0) await journal.recordSoon(...events);
    else await journal.record(...events);
    if (calls.length === 0) return;
    this.#hasCalls = isWhole;
    this.#hasCutCalls = !isWhole;
  }

  /** Drops an unfinished text. */
  discard(): void {
    this.#open = undefined;
  }

  #addText(kind: TextKind, text: string): void {
    if (this.#open?.kind !== kind) {
      this.#endOpenText();
      this.#open = { kind, text: "" };
    }
    this.#open.text += text;
    this.#options.observer?.observe({ type: `${kind}_delta`, text });
  }

  /**
   * Even without text there may be a signature that the provider wants back. A late end of one kind
   * leaves an open text of the other kind alone.
   */
  #endText(kind: TextKind, metadata?: JsonObject): void {
    const open = this.#open?.kind === kind ? this.#open : undefined;
    const text = open?.text ?? "";
    if (open !== undefined) this.#open = undefined;
    if (text === "" && metadata === undefined) return;
    const { isStructured } = this.#options;
    const data = kind === "message" && isStructured ? findJson(text) : undefined;
    const content: ChatResponse["content"] =
      data === undefined ? { type: kind, text } : { type: "structured", data };
    const response: ChatResponse = {
      type: "chat_response",
      timestamp: this.#now,
      content,
      ...(metadata !== undefined && { metadata }),
    };
    this.#hasStructuredData ||= content.type === "structured";
    this.#held.push(response);
  }

  /** The bytes are stored before the record names them. */
  async #keepFile({
    mediaType,
    data,
    metadata,
  }: Extract<ModelEvent, { type: "file" }>): Promise<void> {
    const { journal, observer } = this.#options;
    if (data === undefined || journal.saveFile === undefined) {
      const reason = data === undefined ? "cannot read" : "cannot keep in this store";
      const message = `The model sent a file (${mediaType.slice(0, 100)}) that jp ${reason}.`;
      return observer?.observe({ type: "notice", message });
    }
    const file = describeFile(mediaType, data);
    await journal.saveFile(file, data);
    this.#held.push({
      type: "reply_file",
      timestamp: this.#now,
      ...file,
      ...(metadata !== undefined && { metadata }),
    });
  }

  #takeSources(): readonly ConversationEvent[] {
    const sources = [...this.#sources.values()];
    this.#sources.clear();
    if (sources.length === 0) return [];
    return [{ type: "reply_sources", timestamp: this.#now, sources }];
  }

  #reportUsage(usage: Usage | undefined): readonly ConversationEvent[] {
    if (usage === undefined || !isReported(usage)) return [];
    const { id: model } = this.#options.model;
    return [{ type: "token_usage", timestamp: this.#now, model, purpose: "reply", usage }];
  }

  get #now(): Timestamp {
    return timestampFromDate(this.#options.clock.now());
  }
}
