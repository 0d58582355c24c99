/**
 * Ollama through its own client, wrapped as a model of the AI SDK. The client cannot abort a single request and loses the
 * details of a failed one, so our `fetch` handles both.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import type {
  ChatRequest,
  ChatResponse,
  Message as OllamaMessage,
  Ollama,
  Options,
  Tool,
} from "ollama";
import {
  assertNever,
  findJson,
  isJsonObject,
  type JsonObject,
  loadModule,
  messageOf,
} from "../../util/index.ts";
import {
  apiUrl,
  type Fetch,
  fetchList,
  fetchObject,
  type ListOptions,
  type OpenOptions,
  type ProviderDefinition,
  type StreamingModel,
  toContextWindow,
  toModelInfo,
} from "./definition.ts";
import { type Dialect, localDialect, metadataOf, toEffort } from "./dialect.ts";
import { createResponse } from "./http-fetch.ts";
import type { ModelParameters } from "./port.ts";
import { ProviderError } from "./provider-error.ts";
import { assertOk } from "./read-failure.ts";
import { CONTEXT_TOO_LONG } from "./to-provider-error.ts";

export const ollama: ProviderDefinition = {
  dialect: ollamaDialect,
  isLocal: true,
  sampleReply: '{"message":{"content":"x"}}\n{"done":true,"done_reason":"stop"}\n',
  async load() {
    const { Ollama } = await loadModule(() => import("ollama"));
    return ({ name, settings, fetch }: OpenOptions) =>
      ollamaModel(
        name,
        (request) => new Ollama({ host: hostOf(settings.baseUrl), fetch: request }),
        fetch,
      );
  },
  async list({ settings, fetch, signal }: ListOptions) {
    const url = `${hostOf(settings.baseUrl)}/api/tags`;
    const models = await fetchList({ url, headers: {}, fetch, signal }, "models");
    return models.flatMap(({ name, details }) =>
      toModelInfo(name, isJsonObject(details) ? details["context_length"] : undefined),
    );
  },
  async properties({ name, parameters, settings, fetch, signal }) {
    const host = hostOf(settings.baseUrl);
    const { options } = toBody(parameters.other);
    const wanted = isJsonObject(options) ? options["num_ctx"] : undefined;
    const request = { headers: {}, fetch, signal };
    const running = await fetchList({ ...request, url: `${host}/api/ps` }, "models");
    const tagged = name.includes(":") ? name : `${name}:latest`;
    const loaded = running.find((model) => model["name"] === tagged);
    const show = { ...request, url: `${host}/api/show`, post: { model: name } };
    const { capabilities } = await fetchObject(show);
    return {
      ...toContextWindow(wanted ?? loaded?.["context_length"]),
      seesResults: Array.isArray(capabilities) && capabilities.includes("tools"),
      ...(Array.isArray(capabilities) && { seesImages: capabilities.includes("vision") }),
    };
  },
  toBody,
};

/** Without `/api`, which the client adds itself. */
function hostOf(baseUrl: string): string {
  return apiUrl(baseUrl, "/api").replace(/\/api$/, "");
}

const TOP_LEVEL_KEYS = new Set([
  "keep_alive",
  "think",
  "format",
  "truncate",
  "shift",
  "logprobs",
  "top_logprobs",
]);

/** Most parameters, such as `num_ctx`, belong in `options`. */
function toBody(other: JsonObject): JsonObject {
  const { options: given = {}, ...rest } = other;
  const entries = Object.entries(rest);
  const top = entries.filter(([key]) => TOP_LEVEL_KEYS.has(key));
  const below = entries.filter(([key]) => !TOP_LEVEL_KEYS.has(key));
  const options = { ...Object.fromEntries(below), ...(isJsonObject(given) && given) };
  return { ...Object.fromEntries(top), ...(Object.keys(options).length > 0 && { options }) };
}

export function ollamaDialect(modelName: string): Dialect {
  return {
    ...localDialect("ollama"),
    hints: [
      {
        pattern: CONTEXT_TOO_LONG,
        hint:
          "Ollama runs the model with a small context window unless told otherwise. Ask for a larger one with the " +
          "parameter num_ctx.",
        commandHint:
          "Ollama runs the model with a small context window unless told otherwise. Ask for a larger one, " +
          "for example `jp config set assistant.model.parameters.num_ctx 32768`, or start a new " +
          "conversation with -n.",
      },
    ],
    toOptions: ({ reasoning }) => ({ options: toThinkOption(reasoning, modelName) }),
  };
}

/** Models that can think do so by default. The others reject a request to think. */
function toThinkOption(reasoning: ModelParameters["reasoning"], modelName: string): JsonObject {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  const effort = reasoning.type === "off" ? "none" : toEffort(reasoning.effort);
  // Only gpt-oss has levels, and it cannot stop thinking.
  if (!/(?:^|\/)gpt-oss/i.test(modelName)) return { think: effort !== "none" };
  if (effort === "medium") return { think: "medium" };
  return { think: ["none", "minimal", "low"].includes(effort) ? "low" : "high" };
}

function ollamaModel(name: string, open: (fetch: Fetch) => Ollama, fetch: Fetch): StreamingModel {
  return {
    provider: "ollama",
    modelId: name,
    async doStream(call) {
      const signal = call.abortSignal ?? null;
      const client = open(async (input, init) => {
        const response = await fetch(input, { ...init, signal });
        await assertOk(response);
        const body = response.body?.pipeThrough(wholeLines());
        return body === undefined ? response : createResponse(response, body);
      });
      const replies = await client.chat(toChatRequest(name, call));
      return { stream: toStream(toParts(replies, name)) };
    },
  };
}

function toStream<Value>(values: AsyncGenerator<Value>): ReadableStream<Value> {
  return new ReadableStream({
    async pull(controller) {
      const next = await values.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await values.return(undefined);
    },
  });
}

type Kind = "text" | "reasoning";

async function* toParts(
  replies: AsyncIterable<ChatResponse>,
  name: string,
): AsyncGenerator<LanguageModelV4StreamPart> {
  let kind: Kind | undefined;
  let hasToolCalls = false;
  for await (const { message: sent, ...reply } of upToEnd(replies)) {
    const message: Partial<OllamaMessage> = sent ?? {}; // A server may leave it out.
    const pieces = { reasoning: message.thinking ?? "", text: message.content ?? "" };
    for (const next of ["reasoning", "text"] as const) {
      if (pieces[next] === "") continue;
      if (kind !== next) {
        if (kind !== undefined) yield { type: `${kind}-end`, id: kind };
        yield { type: `${next}-start`, id: next };
        kind = next;
      }
      yield { type: `${next}-delta`, id: next, delta: pieces[next] };
    }
    for (const call of message.tool_calls ?? []) {
      hasToolCalls = true;
      yield toToolCall(call);
    }
    if (!reply.done) continue;
    if (kind !== undefined) yield { type: `${kind}-end`, id: kind };
    yield toFinish(reply, hasToolCalls);
    return;
  }
  if (kind === undefined || hasToolCalls) return;
  // A lost connection is a stream error; this is how the server ends a reply that repeats itself.
  const message = `ollama/${name}: the server broke off the reply, because it kept repeating itself.`;
  throw new ProviderError("other", message, { isRetryable: false });
}

/** If the reply just ends, the client throws its own error. */
async function* upToEnd(replies: AsyncIterable<ChatResponse>): AsyncGenerator<ChatResponse> {
  try {
    yield* replies;
  } catch (error) {
    if (!/did not receive done/i.test(messageOf(error))) throw error;
  }
}

function toToolCall(
  call: NonNullable<ChatResponse["message"]["tool_calls"]>[number] & { readonly id?: unknown },
): LanguageModelV4StreamPart {
  // Newer servers send an id, which the client's types lack.
  const toolCallId =
    typeof call.id === "string" && call.id !== "" ? call.id : `call_${crypto.randomUUID()}`;
  const { name: toolName, arguments: input } = call.function;
  return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
}

function toFinish(
  reply: Omit<ChatResponse, "message">,
  hasToolCalls: boolean,
): LanguageModelV4StreamPart {
  const { done_reason: raw, prompt_eval_count: input, eval_count: output } = reply;
  const unified = raw === "length" ? "length" : hasToolCalls ? "tool-calls" : "stop";
  const unknown = { noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  return {
    type: "finish",
    finishReason: { unified, raw },
    usage: {
      inputTokens: { total: input, ...unknown },
      outputTokens: { total: output, text: undefined, reasoning: undefined },
    },
  };
}

/** By default, the server silently drops the oldest messages. The client's types lack this option. */
const NEVER_TRUNCATE = { truncate: false };

function toChatRequest(
  model: string,
  call: LanguageModelV4CallOptions,
): ChatRequest & { stream: true } {
  const { think } = metadataOf("ollama", call.providerOptions);
  const tools = toTools(call);
  return {
    model,
    stream: true,
    ...NEVER_TRUNCATE,
    messages: call.prompt.flatMap(toMessages),
    options: toOptions(call),
    ...(tools.length > 0 && { tools }),
    ...(call.responseFormat?.type === "json" && { format: call.responseFormat.schema ?? "json" }),
    ...(think !== undefined && { think: think as NonNullable<ChatRequest["think"]> }),
  };
}

function toOptions(call: LanguageModelV4CallOptions): Partial<Options> {
  const { maxOutputTokens, temperature, topP, topK, stopSequences } = call;
  return {
    ...(maxOutputTokens !== undefined && { num_predict: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(stopSequences !== undefined && { stop: stopSequences }),
  };
}

/** Ollama has no tool choice: to forbid calls, even with a format, send no tools. */
function toTools({ tools = [], toolChoice }: LanguageModelV4CallOptions): Tool[] {
  if (toolChoice?.type === "none") return [];
  return tools.flatMap((tool) => {
    if (tool.type !== "function") return [];
    const { name, description = "", inputSchema } = tool;
    // The client's type lacks keywords of JSON Schema that the server accepts.
    const parameters = inputSchema as NonNullable<Tool["function"]["parameters"]>;
    return [{ type: "function", function: { name, description, parameters } }];
  });
}

/** Newer servers support call ids, which the client's types lack. */
type SentMessage = OllamaMessage & {
  readonly tool_call_id?: string;
  readonly tool_calls?: (NonNullable<OllamaMessage["tool_calls"]>[number] & {
    readonly id: string;
  })[];
};

function toMessages(message: LanguageModelV4Message): SentMessage[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [toUserMessage(message.content)];
    case "assistant":
      return [toAssistantMessage(message.content)];
    case "tool":
      return message.content.flatMap((part) => {
        if (part.type !== "tool-result") return [];
        const { output, toolName: tool_name, toolCallId: tool_call_id } = part;
        return [{ role: "tool", content: resultText(output), tool_name, tool_call_id }];
      });
    default:
      return assertNever(message);
  }
}

function toUserMessage(
  content: Extract<LanguageModelV4Message, { role: "user" }>["content"],
): SentMessage {
  const images = content.flatMap((part) => (part.type === "file" ? [toImage(part)] : []));
  return { role: "user", content: textOf(content), ...(images.length > 0 && { images }) };
}

/** As base64: the server accepts nothing else. */
function toImage({ mediaType, data }: LanguageModelV4FilePart): string {
  const isImage = mediaType.startsWith("image/");
  if (isImage && data.type === "data" && typeof data.data === "string") return data.data;
  const kind = isImage ? "images by their URL" : `files of type ${mediaType}`;
  throw new ProviderError("invalid_request", `Ollama does not accept ${kind}.`, {
    isRetryable: false,
  });
}

function toAssistantMessage(
  content: Extract<LanguageModelV4Message, { role: "assistant" }>["content"],
): SentMessage {
  const thinking = content.flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
  const calls = content.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    const { toolCallId: id, toolName: name, input } = part;
    return [{ id, function: { name, arguments: isJsonObject(input) ? input : {} } }];
  });
  return {
    role: "assistant",
    content: textOf(content),
    ...(thinking.length > 0 && { thinking: thinking.join("\n\n") }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function textOf(content: readonly { readonly type: string; readonly text?: unknown }[]): string {
  const texts = content.flatMap(({ type, text }) => (type === "text" ? [text] : []));
  return texts.join("\n\n");
}

function resultText(output: LanguageModelV4ToolResultOutput): string {
  return output.type === "text" || output.type === "error-text"
    ? output.value
    : JSON.stringify(output);
}

/** The client would print an unparsable line to the console, and carry on. */
function wholeLines(): TransformStream<Uint8Array, Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = Buffer.concat([rest, chunk]);
      const end = bytes.lastIndexOf("\n") + 1;
      rest = bytes.subarray(end);
      if (end > 0) controller.enqueue(checkLines(bytes.subarray(0, end)));
    },
    flush(controller) {
      // The last line may lack its line break.
      if (rest.length > 0) controller.enqueue(checkLines(rest));
    },
  });
}

/** Throws on a line that is not an object, and on one that reports an error. */
function checkLines(bytes: Uint8Array): Uint8Array {
  const lines = Buffer.from(bytes).toString("utf8").split("\n");
  for (const line of lines.filter((each) => each.trim() !== "")) {
    const value = findJson(line);
    if (!isJsonObject(value)) throw new Error("terminated");
    if (value["error"] !== undefined) throw new ReportedError(line);
  }
  return bytes;
}

/** Has the field that `readFailure` reads. */
class ReportedError extends Error {
  readonly responseBody: string;

  constructor(responseBody: string) {
    super("The server reported an error.");
    this.responseBody = responseBody;
  }
}
