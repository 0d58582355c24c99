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
  type Clock,
  findJson,
  isJsonObject,
  isTooDeep,
  type JsonObject,
} from "../util/index.ts";
import type { StreamingModel } from "./definition.ts";
import { type Dialect, metadataOf } from "./dialect.ts";
import type { EndReason, ModelEvent, ModelRequest, Usage } from "./port.ts";
import { brokenOffError, ProviderError } from "./provider-error.ts";
import { toCallOptions } from "./request.ts";
import { type Endpoint, toProviderError } from "./to-provider-error.ts";

export interface ReplySource {
  readonly model: StreamingModel;
  readonly dialect: Dialect;
  readonly endpoint: Endpoint;
  readonly clock: Clock;
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
  for await (const part of readParts({ model, options, signal: request.signal, toError })) {
    if (part.type !== "raw") {
      yield* reply.read(part);
      continue;
    }
    const progress = isJsonObject(part.rawValue) && dialect.findProgress?.(part.rawValue);
    if (progress) request.observe?.({ type: "prompt_progress", ...progress });
  }
  yield* reply.end();
}

/** The names of the files that are sent. */
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
 * Abort ends the stream at once, even if the model ignores it. `error` parts are thrown: some packages
 * report a lost connection that way. Leaving the loop ends the request.
 */
async function* readParts(source: PartSource): AsyncGenerator<LanguageModelV4StreamPart> {
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

  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  try {
    const open = async () => {
      const { stream } = await model.doStream({ ...options, abortSignal: request.signal });
      return stream.getReader();
    };
    reader = await wait(open());
    for (;;) {
      const { done, value } = await wait(reader.read());
      if (done) return;
      if (value.type === "error") throw toError(value.error);
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    request.abort();
    reader?.cancel().catch(() => undefined); // It has already failed or ended.
  }
}

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
  #block: Block | undefined;
  #hasToolCalls = false;
  #finish: Part<"finish"> | undefined;

  constructor(dialect: Dialect, modelId: string) {
    this.#dialect = dialect;
    this.#modelId = modelId;
  }

  /** To be called when the stream has ended. Throws if the reply is incomplete. */
  *end(): Iterable<ModelEvent> {
    const closing = [...this.#closeBlock()];
    const finish = this.#finish;
    if (finish === undefined || this.#isBrokenOff(finish)) throw brokenOffError(this.#modelId);
    yield* closing;
    const reason = this.#endReason(finish);
    const cost = this.#dialect.findCost(metadataOf(this.#dialect.key, finish.providerMetadata));
    yield { type: "response_end", reason, usage: toUsage(finish.usage, cost) };
  }

  /** Ignores kinds of parts that we have no use for. */
  *read(part: LanguageModelV4StreamPart): Generator<ModelEvent, void, undefined> {
    switch (part.type) {
      case "reasoning-start":
      case "reasoning-delta":
        return yield* this.#add("reasoning", part);
      case "text-start":
      case "text-delta":
        return yield* this.#add("message", part);
      case "reasoning-end":
      case "text-end":
        return yield* this.#endBlock(part);
      case "tool-input-start":
        if (part.providerExecuted === true) return;
        yield* this.#closeBlock();
        return yield { type: "tool_call_start", id: part.id, name: part.toolName };
      case "tool-input-delta":
        return yield { type: "tool_call_delta", id: part.id, text: part.delta };
      case "tool-call":
        return yield* this.#addToolCall(part);
      case "finish":
        this.#finish = part;
        return;
      default:
        return;
    }
  }

  *#add(kind: BlockKind, part: Part<`${"text" | "reasoning"}-${"start" | "delta"}`>) {
    if (this.#block?.kind !== kind || this.#block.id !== part.id) {
      yield* this.#closeBlock();
      this.#block = { kind, id: part.id, hasText: false, metadata: {} };
    }
    const block = this.#block;
    block.metadata = { ...block.metadata, ...this.#metadata(kind, part) };
    if (!("delta" in part) || typeof part.delta !== "string" || part.delta === "") return;
    block.hasText = true;
    yield { type: `${kind}_delta` as const, text: part.delta };
  }

  /** An end that comes after another piece has begun is too late: its block is already closed. */
  *#endBlock(part: Part<"text-end" | "reasoning-end">): Generator<ModelEvent, void, undefined> {
    const block = this.#block;
    if (block?.id !== part.id) return;
    block.metadata = { ...block.metadata, ...this.#metadata(block.kind, part) };
    yield* this.#closeBlock();
  }

  *#closeBlock(): Generator<ModelEvent, void, undefined> {
    const block = this.#block;
    this.#block = undefined;
    if (block === undefined) return;
    const hasMetadata = Object.keys(block.metadata).length > 0;
    if (!block.hasText && !hasMetadata) return;
    yield { type: `${block.kind}_end`, ...(hasMetadata && { metadata: block.metadata }) };
  }

  *#addToolCall(part: Part<"tool-call">): Generator<ModelEvent, void, undefined> {
    if (part.providerExecuted === true) return;
    yield* this.#closeBlock();
    assertToolCall(part, this.#modelId);
    this.#hasToolCalls = true;
    const metadata = this.#metadata("tool_call", part);
    yield {
      type: "tool_call_request",
      id: part.toolCallId,
      name: part.toolName,
      arguments: parseToolArguments(part.input),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    };
  }

  #metadata(kind: BlockKind | "tool_call", part: { readonly providerMetadata?: unknown }) {
    const { key } = this.#dialect;
    return this.#dialect.toEventMetadata(kind, metadataOf(key, part.providerMetadata));
  }

  #isBrokenOff(finish: Partial<Part<"finish">>): boolean {
    const { unified, raw } = finish.finishReason ?? {};
    if (unified === "interrupted") return true;
    if (raw !== undefined) return false;
    // A package makes up the end of a reply that has none, and the arguments of a call that is not complete.
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

/** A call without an id or a name could be neither recorded nor answered, and the model would make it again. */
function assertToolCall(part: Partial<Part<"tool-call">>, modelId: string): void {
  if (typeof part.toolCallId === "string" && typeof part.toolName === "string") return;
  const message = `${modelId}: the reply has a call without an id or a name.`;
  throw new ProviderError("other", message, { isRetryable: true });
}

/**
 * The only argument of a call whose arguments are not a JSON object. No tool has such a parameter, so
 * checking the arguments rejects the call and shows the model what it wrote.
 */
export const INVALID_ARGUMENTS = "__invalid_json";

/** Text, but some packages pass the arguments themselves. */
function parseToolArguments(input: unknown): JsonObject {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  // A call without arguments may come without any text.
  if (text.trim() === "") return {};
  const value = findJson(text);
  // JSON that is nested too deeply cannot be recorded either.
  return isJsonObject(value) && !isTooDeep(value) ? value : { [INVALID_ARGUMENTS]: text };
}

/** Packages of others may leave out any of it. */
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
