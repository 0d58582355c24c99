/**
 * Sends a request to a model of the AI SDK and streams the reply as our events. The SDK's parts may
 * overlap. Ours do not: each piece ends before the next begins, so that it can be recorded.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import {
  abortable,
  base64Size,
  type Clock,
  findJson,
  isJsonObject,
  isTooDeep,
  type JsonObject,
} from "../../util/index.ts";
import type { NamedSource } from "../../record/conversation/index.ts";
import type { StreamingModel } from "./definition.ts";
import { type Dialect, metadataOf, type PieceKind } from "./dialect.ts";
import type { LightReader, Sink } from "./light-streams.ts";
import {
  type EndReason,
  INVALID_ARGUMENTS,
  type Model,
  type ModelEvent,
  type ModelParameters,
  type ModelRequest,
  type RequestUpdate,
  type Usage,
} from "./port.ts";
import { brokenOffError, ProviderError } from "./provider-error.ts";
import { toCallOptions } from "./request.ts";
import { type Endpoint, toProviderError } from "./to-provider-error.ts";

export interface ReplySource {
  readonly model: StreamingModel;
  readonly dialect: Dialect;
  readonly endpoint: Endpoint;
  readonly clock: Clock;
}

/** A provider's model, whose package is loaded with the first request. */
export interface ModelSource extends Omit<ReplySource, "model"> {
  /** Opens the model for one request. It takes `other` itself, so these are not sent to it again. */
  readonly open: (
    other: ModelParameters["other"],
    onActivity: (bytes: number) => void,
  ) => Promise<StreamingModel>;
}

/** A model whose requests need nothing but its dialect. */
export function createModel(source: ModelSource, properties?: Model["properties"]): Model {
  const { dialect, endpoint } = source;
  return {
    id: endpoint.id,
    acceptsFile: dialect.acceptsFile,
    ...(properties !== undefined && { properties }),
    stream: (request) => openAndStream(source, request),
  };
}

/** Throws like `streamReply`, and what opening the model throws. */
export async function* openAndStream(
  { open, ...source }: ModelSource,
  request: ModelRequest,
): AsyncGenerator<ModelEvent> {
  const { parameters, observe } = request;
  const model = await open(parameters.other, (bytes) => observe?.({ type: "alive", bytes }));
  yield* streamReply(
    { ...source, model },
    { ...request, parameters: { ...parameters, other: {} } },
  );
}

/** Throws `ProviderError`, or the signal's reason on abort. */
export async function* streamReply(
  { model, dialect, endpoint, clock }: ReplySource,
  request: ModelRequest,
): AsyncGenerator<ModelEvent> {
  const options = toCallOptions(request, dialect);
  const toError = (error: unknown) =>
    toProviderError(error, { endpoint, dialect, clock, files: fileNames(request) });
  const reply = new ReplyReader(dialect, endpoint.id);
  const onRaw = (value: unknown) => {
    const progress = isJsonObject(value) && dialect.findProgress?.(value);
    if (progress) request.observe?.({ type: "prompt_progress", ...progress });
  };
  function* take() {
    for (const event of reply.take()) {
      request.signal.throwIfAborted(); // The receiver may have aborted after the last event.
      yield event;
    }
  }
  for await (const parts of readParts({ model, options, signal: request.signal, toError })) {
    try {
      for (const part of parts) {
        if (part.type === "error") throw toError(part.error);
        if (part.type === "raw") onRaw(part.rawValue);
        else if (part.type === "response-metadata") request.observe?.(toStart(part));
        else reply.read(part);
      }
    } finally {
      yield* take(); // Includes events before a failure.
    }
  }
  try {
    reply.end();
  } finally {
    yield* take();
  }
}

/** Third-party packages may leave out any field. */
function toStart({ id, modelId }: Part<"response-metadata">): RequestUpdate {
  return {
    type: "response_start",
    ...(typeof id === "string" && { id }),
    ...(typeof modelId === "string" && { model: modelId }),
  };
}

/** The names of the sent files. */
function fileNames({ parts }: ModelRequest): readonly string[] {
  const files = parts.events.flatMap((event) =>
    event.type === "chat_request" ? (event.files ?? []) : [],
  );
  return files.flatMap((file) =>
    file.mediaType.startsWith("text/") ? [] : [file.filename ?? file.mediaType],
  );
}

interface PartSource {
  readonly model: StreamingModel;
  readonly options: LanguageModelV4CallOptions;
  readonly signal: AbortSignal;
  readonly toError: (error: unknown) => ProviderError;
}

/**
 * Reads the parts, batching those that arrive together. Abort ends the stream at once, even if the model ignores it.
 * Leaving the loop ends the request.
 */
async function* readParts(
  source: PartSource,
): AsyncGenerator<readonly LanguageModelV4StreamPart[], void, undefined> {
  const { model, options, signal, toError } = source;
  signal.throwIfAborted();
  // The SDK treats an abort with a custom reason as a failure, so it gets a signal without one.
  const request = new AbortController();
  const onAbort = () => request.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  const wait = async <Value>(work: PromiseLike<Value>): Promise<Value> => {
    try {
      return await abortable(Promise.resolve(work), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw toError(error);
    }
  };

  let reader: BatchReader | undefined;
  let isOver = false;
  try {
    const open = async () => {
      const { stream } = await model.doStream({ ...options, abortSignal: request.signal });
      return new BatchReader(stream);
    };
    reader = await wait(open());
    for (;;) {
      const parts = await wait(reader.read());
      isOver = parts === undefined;
      if (parts === undefined) return;
      yield parts;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    if (!isOver) request.abort();
    reader?.cancel();
  }
}

/** Reading pauses until they are taken. */
const MAX_BATCH = 4096;

/** Reads a stream in batches: everything available before the event loop continues. */
class BatchReader implements Sink<LanguageModelV4StreamPart> {
  readonly #reader: PartReader;
  #parts: LanguageModelV4StreamPart[] = [];
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #isScheduled = false;
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(stream: ReadableStream<LanguageModelV4StreamPart>) {
    this.#reader = stream.getReader();
    this.#resume();
  }

  get wantsMore(): boolean {
    return this.#parts.length < MAX_BATCH;
  }

  /** Undefined at the end. Throws the stream's error. */
  async read(): Promise<readonly LanguageModelV4StreamPart[] | undefined> {
    if (this.#isScheduled || (this.#parts.length === 0 && !this.#isOver)) {
      this.#waiting = Promise.withResolvers();
      await this.#waiting.promise;
    }
    const parts = this.#parts;
    this.#parts = [];
    if (parts.length >= MAX_BATCH && !this.#isOver) this.#resume();
    if (parts.length > 0) return parts;
    if (this.#failure !== undefined) throw this.#failure.error;
    return undefined;
  }

  cancel(): void {
    this.#reader.cancel().catch(() => undefined); // It has already failed or ended.
  }

  chunk(part: LanguageModelV4StreamPart): void {
    this.#parts.push(part);
    this.#schedule();
  }

  close(): void {
    this.#isOver = true;
    this.#schedule();
  }

  error(error: unknown): void {
    this.#failure = { error };
    this.close();
  }

  #resume(): void {
    if (this.#reader.sendTo === undefined) void this.#readOn();
    else this.#reader.sendTo(this);
  }

  /** Reads from a stream of Node, or any other. */
  async #readOn(): Promise<void> {
    try {
      while (this.wantsMore) {
        const { done, value } = await this.#reader.read();
        if (done) return this.close();
        this.chunk(value);
      }
    } catch (error) {
      this.error(error);
    }
  }

  /** A tick runs after all promises that are already settled. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#waiting?.resolve();
    });
  }
}

/** A light stream's reader needs no promise per part. */
type PartReader = Pick<ReadableStreamDefaultReader<LanguageModelV4StreamPart>, "read" | "cancel"> &
  Partial<Pick<LightReader<LanguageModelV4StreamPart>, "sendTo">>;

type Part<Type> = Extract<LanguageModelV4StreamPart, { readonly type: Type }>;
type BlockKind = "reasoning" | "message";

/** Text or reasoning in progress. */
interface Block {
  readonly kind: BlockKind;
  readonly id: string;
  hasText: boolean;
  metadata: JsonObject;
}

class ReplyReader {
  readonly #dialect: Dialect;
  readonly #modelId: string;
  #events: ModelEvent[] = [];
  /** The last text event. Further text is appended as long as no other event follows and it has not been taken. */
  #text: { readonly type: `${BlockKind}_delta`; text: string } | undefined;
  #block: Block | undefined;
  #hasToolCalls = false;
  #finish: Part<"finish"> | undefined;

  constructor(dialect: Dialect, modelId: string) {
    this.#dialect = dialect;
    this.#modelId = modelId;
  }

  /** Returns the events since the last call, with adjacent text merged. */
  take(): readonly ModelEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Call it when the stream has ended. Throws if the reply is incomplete. */
  end(): void {
    const finish = this.#finish;
    if (finish === undefined || this.#isBrokenOff(finish)) throw brokenOffError(this.#modelId);
    this.#closeBlock();
    const reason = this.#endReason(finish);
    const cost = this.#dialect.findCost(metadataOf(this.#dialect.key, finish.providerMetadata));
    this.#events.push({ type: "response_end", reason, usage: toUsage(finish.usage, cost) });
  }

  /** Ignores parts that we have no use for. */
  read(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case "reasoning-start":
      case "reasoning-delta":
        return this.#add("reasoning", part);
      case "text-start":
      case "text-delta":
        return this.#add("message", part);
      case "reasoning-end":
      case "text-end":
        return this.#endBlock(part);
      case "tool-input-start":
        if (part.providerExecuted === true) return;
        this.#closeBlock();
        this.#events.push({ type: "tool_call_start", id: part.id, name: part.toolName });
        return;
      case "tool-input-delta":
        this.#events.push({ type: "tool_call_delta", id: part.id, text: part.delta });
        return;
      case "tool-call":
        return this.#addToolCall(part);
      case "source":
        this.#events.push({ type: "source", source: toSource(part) });
        return;
      case "file":
        return this.#addFile(part);
      case "finish":
        this.#finish = part;
        return;
      default:
        return;
    }
  }

  #add(kind: BlockKind, part: Part<`${"text" | "reasoning"}-${"start" | "delta"}`>): void {
    if (this.#block?.kind !== kind || this.#block.id !== part.id) {
      this.#closeBlock();
      this.#block = { kind, id: part.id, hasText: false, metadata: {} };
    }
    const block = this.#block;
    this.#addMetadata(block, part);
    if (!("delta" in part) || typeof part.delta !== "string" || part.delta === "") return;
    block.hasText = true;
    const type = `${kind}_delta` as const;
    const text = this.#text;
    if (text?.type === type && text === this.#events.at(-1)) text.text += part.delta;
    else this.#events.push((this.#text = { type, text: part.delta }));
  }

  /** An end that arrives after the next piece has begun is ignored: its block is already closed. */
  #endBlock(part: Part<"text-end" | "reasoning-end">): void {
    const block = this.#block;
    if (block?.id !== part.id) return;
    this.#addMetadata(block, part);
    this.#closeBlock();
  }

  #addMetadata(block: Block, part: { readonly providerMetadata?: unknown }): void {
    if (part.providerMetadata === undefined) return;
    block.metadata = { ...block.metadata, ...this.#metadata(block.kind, part) };
  }

  #closeBlock(): void {
    const block = this.#block;
    this.#block = undefined;
    if (block === undefined) return;
    const hasMetadata = Object.keys(block.metadata).length > 0;
    if (!block.hasText && !hasMetadata) return;
    this.#events.push({
      type: `${block.kind}_end`,
      ...(hasMetadata && { metadata: block.metadata }),
    });
  }

  #addToolCall(part: Part<"tool-call">): void {
    if (part.providerExecuted === true) return;
    this.#closeBlock();
    assertToolCall(part, this.#modelId);
    this.#hasToolCalls = true;
    const metadata = this.#metadata("tool_call", part);
    this.#events.push({
      type: "tool_call_request",
      id: part.toolCallId,
      name: part.toolName,
      arguments: parseToolArguments(part.input),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    });
  }

  /** A link is listed like a source: jp loads nothing that a model names. Earlier versions of the SDK have plain data. */
  #addFile(part: Part<"file">): void {
    this.#closeBlock();
    const mediaType = textIn(part.mediaType) ?? "application/octet-stream";
    const file: unknown = part.data;
    const { data = file, url } = fieldsOf(file);
    if (typeof url === "string" || url instanceof URL) {
      this.#events.push({ type: "source", source: { url: String(url), mediaType } });
      return;
    }
    const bytes = toBytes(data);
    const metadata = this.#metadata("file", part);
    this.#events.push({
      type: "file",
      mediaType,
      ...(bytes !== undefined && { data: bytes }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    });
  }

  #metadata(kind: PieceKind, part: { readonly providerMetadata?: unknown }) {
    const { key } = this.#dialect;
    return this.#dialect.toEventMetadata(kind, metadataOf(key, part.providerMetadata));
  }

  #isBrokenOff(finish: Partial<Part<"finish">>): boolean {
    const { unified, raw } = finish.finishReason ?? {};
    if (unified === "interrupted") return true;
    if (raw !== undefined) return false;
    // For a reply without an end, the package makes one up, including arguments of an incomplete call.
    const isKnown = unified === "stop" || unified === "tool-calls";
    return this.#dialect.alwaysSendsFinishReason || (this.#hasToolCalls && !isKnown);
  }

  #endReason({ finishReason }: Partial<Part<"finish">>): EndReason {
    const unified = finishReason?.unified;
    switch (unified) {
      case "stop":
      case "length":
        return unified;
      case "tool-calls":
        return "tool_calls";
      case "content-filter":
        return "refused";
      case "error":
        throw modelError(this.#modelId);
      default:
        return this.#hasToolCalls ? "tool_calls" : "other";
    }
  }
}

/** Gemini reports this for a tool call that it failed to write. */
function modelError(modelId: string): ProviderError {
  const message = `${modelId}: the model ended its reply with an error.`;
  return new ProviderError("other", message, { isRetryable: true, hint: "Try again." });
}

/** A call without an id or a name could not be recorded or answered, and the model would repeat it. */
function assertToolCall(part: Partial<Part<"tool-call">>, modelId: string): void {
  if (typeof part.toolCallId === "string" && typeof part.toolName === "string") return;
  const message = `${modelId}: the reply has a call without an id or a name.`;
  throw new ProviderError("other", message, { isRetryable: true });
}

/** Third-party packages may leave out any field. */
function toSource(part: Part<"source">): NamedSource {
  const fields: Readonly<Record<string, unknown>> = { ...part };
  const names = ["url", "title", "filename", "mediaType"] as const;
  const texts = names.map((name) => [name, textIn(fields[name])] as const);
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined));
}

function fieldsOf(value: unknown): { readonly data?: unknown; readonly url?: unknown } {
  return typeof value === "object" && value !== null ? value : {};
}

function toBytes(data: unknown): Uint8Array | undefined {
  if (data instanceof Uint8Array) return data;
  if (typeof data !== "string" || data === "") return undefined;
  return base64Size(data) === undefined ? undefined : Buffer.from(data, "base64");
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Usually text, but some packages pass the arguments themselves. */
function parseToolArguments(input: unknown): JsonObject {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  // A call without arguments may have no text.
  if (text.trim() === "") return {};
  const value = findJson(text);
  // JSON that is nested too deeply could not be recorded.
  return isJsonObject(value) && !isTooDeep(value) ? value : { [INVALID_ARGUMENTS]: text };
}

/** Third-party packages may leave out any field. */
type ReportedUsage = {
  readonly [Key in "inputTokens" | "outputTokens"]?: Partial<LanguageModelV4Usage[Key]>;
};

function toUsage(usage: ReportedUsage = {}, cost?: number): Usage {
  const { inputTokens = {}, outputTokens = {} } = usage;
  return {
    ...(inputTokens.total !== undefined && { input: inputTokens.total }),
    ...(inputTokens.cacheRead !== undefined && { cachedInput: inputTokens.cacheRead }),
    ...(inputTokens.cacheWrite !== undefined && { cacheWrites: inputTokens.cacheWrite }),
    ...(outputTokens.total !== undefined && { output: outputTokens.total }),
    ...(outputTokens.reasoning !== undefined && { reasoning: outputTokens.reasoning }),
    ...(cost !== undefined && { cost }),
  };
}
