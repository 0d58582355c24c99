/** The stream of a model of the AI SDK, ended by abort at once whatever the model does about it. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { abortable, type Clock, isJsonObject, isTooDeep, type JsonObject } from "../util/index.ts";
import type { StreamingModel } from "./definition.ts";
import { type Dialect, metadataOf } from "./dialect.ts";
import type { EndReason, ModelEvent, ModelRequest, Usage } from "./port.ts";
import { ProviderError } from "./provider-error.ts";
import { toCallOptions } from "./request.ts";
import { type Served, toProviderError } from "./to-provider-error.ts";

export interface Serving {
  readonly model: StreamingModel;
  readonly dialect: Dialect;
  readonly served: Served;
  readonly clock: Clock;
}

export async function* streamReply(
  { model, dialect, served, clock }: Serving,
  request: ModelRequest,
): AsyncGenerator<ModelEvent> {
  const options = toCallOptions(request, dialect);
  const toError = (error: unknown) =>
    toProviderError(error, { served, contextTooLong: dialect.contextTooLong, clock });
  const reply = new Reply(dialect, served.id);
  for await (const part of readParts({ model, options, signal: request.signal, toError })) {
    yield* reply.take(part);
  }
  yield* reply.end();
}

interface Reading {
  readonly model: StreamingModel;
  readonly options: LanguageModelV4CallOptions;
  readonly signal: AbortSignal;
  readonly toError: (error: unknown) => ProviderError;
}

/**
 * Throws the signal's reason on abort, else a `ProviderError`; `error` parts are such failures too,
 * as some packages report a lost connection so. Leaving the loop ends the request.
 */
async function* readParts(reading: Reading): AsyncGenerator<LanguageModelV4StreamPart> {
  const { model, options, signal, toError } = reading;
  signal.throwIfAborted();
  // The SDK takes an abort with a reason of our own for a failure, so it gets one without.
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
    const { stream } = await wait(model.doStream({ ...options, abortSignal: request.signal }));
    reader = stream.getReader();
    for (;;) {
      const { done, value } = await wait(reader.read());
      if (done) return;
      if (value.type === "error") throw toError(value.error);
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    request.abort();
    reader?.cancel().catch(() => undefined); // It has failed or ended already.
  }
}

type Part<Type> = Extract<LanguageModelV4StreamPart, { readonly type: Type }>;
type BlockKind = "reasoning" | "message";

/** Text or reasoning that has begun. */
interface Block {
  readonly kind: BlockKind;
  readonly id: string;
  hasText: boolean;
  metadata: JsonObject;
}

class Reply {
  readonly #dialect: Dialect;
  readonly #modelId: string;
  #block: Block | undefined;
  #hasToolCalls = false;
  /** Calls that may have been made up, and what followed them; told when the reply has ended well. */
  readonly #held: ModelEvent[] = [];
  #finish: Part<"finish"> | undefined;

  constructor(dialect: Dialect, modelId: string) {
    this.#dialect = dialect;
    this.#modelId = modelId;
  }

  /** `error` parts are not for here: they are failures. Parts of no concern to us give nothing. */
  *take(part: LanguageModelV4StreamPart): Iterable<ModelEvent> {
    for (const event of this.#translate(part)) {
      const isCall = event.type === "tool_call_request";
      const isHeld = this.#held.length > 0 || (isCall && this.#dialect.isEndAlwaysNamed);
      // A sign of life is of use at once, and of none later.
      if (isHeld && event.type !== "tool_call_delta") this.#held.push(event);
      else yield event;
    }
  }

  *#translate(part: LanguageModelV4StreamPart): Generator<ModelEvent, void, undefined> {
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

  /** When the stream has ended. Throws if the reply had not. */
  *end(): Iterable<ModelEvent> {
    const closing = [...this.#closeBlock()];
    const finish = this.#finish;
    if (finish === undefined || this.#isCutOff(finish)) throw cutOff(this.#modelId);
    yield* this.#held;
    yield* closing;
    const reason = this.#endReason(finish);
    const cost = this.#dialect.findCost(metadataOf(this.#dialect.key, finish.providerMetadata));
    yield { type: "response_end", reason, usage: toUsage(finish.usage, cost) };
  }

  *#add(kind: BlockKind, part: Part<`${"text" | "reasoning"}-${"start" | "delta"}`>) {
    if (this.#block?.kind !== kind || this.#block.id !== part.id) {
      yield* this.#closeBlock();
      this.#block = { kind, id: part.id, hasText: false, metadata: {} };
    }
    const block = this.#block;
    block.metadata = { ...block.metadata, ...this.#metadata(kind, part) };
    if (!("delta" in part) || part.delta === "") return;
    block.hasText = true;
    yield { type: `${kind}_delta` as const, text: part.delta };
  }

  /** An end that comes after something else has begun is too late: the block was closed then. */
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

  #isCutOff({ finishReason: { unified, raw } }: Part<"finish">): boolean {
    return unified === "interrupted" || (this.#dialect.isEndAlwaysNamed && raw === undefined);
  }

  #endReason({ finishReason }: Part<"finish">): EndReason {
    switch (finishReason.unified) {
      case "stop":
      case "length":
        return finishReason.unified;
      case "tool-calls":
        return "tool_calls";
      case "content-filter":
        return "refused";
      case "error":
        throw malformed(this.#modelId);
      default:
        return this.#hasToolCalls ? "tool_calls" : "other";
    }
  }
}

function cutOff(modelId: string): ProviderError {
  const message = `${modelId}: the reply was cut off before its end.`;
  return new ProviderError("network", message, { isRetryable: true, hint: "Try again." });
}

/** Gemini says so of a call that it could not write. */
function malformed(modelId: string): ProviderError {
  const message = `${modelId}: the model ended its reply with an error.`;
  return new ProviderError("other", message, { isRetryable: true, hint: "Try again." });
}

/**
 * The one argument of a call whose arguments are no JSON object. No tool has such a parameter, so the
 * check of arguments refuses the call and the model hears what it wrote.
 */
export const INVALID_ARGUMENTS = "__invalid_json";

function parseToolArguments(text: string): JsonObject {
  // A call without arguments may come without any text.
  if (text.trim() === "") return {};
  const value = parseJson(text);
  // What is nested too deeply could not even be recorded.
  return isJsonObject(value) && !isTooDeep(value) ? value : { [INVALID_ARGUMENTS]: text };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toUsage(usage: LanguageModelV4Usage, cost: number | undefined): Usage {
  const { inputTokens, outputTokens } = usage;
  return {
    ...(inputTokens.total !== undefined && { input: inputTokens.total }),
    ...(inputTokens.cacheRead !== undefined && { cachedInput: inputTokens.cacheRead }),
    ...(inputTokens.cacheWrite !== undefined && { cacheWrites: inputTokens.cacheWrite }),
    ...(outputTokens.total !== undefined && { output: outputTokens.total }),
    ...(outputTokens.reasoning !== undefined && { reasoning: outputTokens.reasoning }),
    ...(cost !== undefined && { cost }),
  };
}
