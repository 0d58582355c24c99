/** Ollama, through its own client. */
import { randomUUID } from "node:crypto";
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import type { ChatRequest, ChatResponse, Message, Ollama, Options, Tool } from "ollama";
import { assertNever, isJsonObject, type JsonObject } from "../util/index.ts";
import {
  apiUrl,
  type Fetch,
  fetchList,
  type Listing,
  type Opening,
  type ProviderDefinition,
  type StreamingModel,
  toModelInfo,
} from "./definition.ts";
import { type Dialect, localDialect, metadataOf, toEffort } from "./dialect.ts";
import type { ModelParameters } from "./port.ts";
import { accepted } from "./read-failure.ts";

export const ollama: ProviderDefinition = {
  dialect: ollamaDialect,
  isLocal: true,
  async load() {
    const { Ollama } = await import("ollama");
    return ({ name, settings, fetch }: Opening) =>
      ollamaModel(
        name,
        (request) => new Ollama({ host: hostOf(settings.baseUrl), fetch: request }),
        fetch,
      );
  },
  async list({ settings, fetch, signal }: Listing) {
    const url = `${hostOf(settings.baseUrl)}/api/tags`;
    const models = await fetchList({ url, headers: {}, fetch, signal }, "models");
    return models.flatMap((model) => toModelInfo(model["name"], undefined));
  },
  toBody,
};

/** The client adds the path itself. */
function hostOf(baseUrl: string): string {
  return apiUrl(baseUrl, "/api").replace(/\/api$/, "");
}

const AT_THE_TOP = new Set(["keep_alive", "think", "format", "logprobs", "top_logprobs"]);

/** `num_ctx` and its like are options of the model; only a few stand beside them. */
function toBody(other: JsonObject): JsonObject {
  const { options: given = {}, ...rest } = other;
  const entries = Object.entries(rest);
  const top = entries.filter(([key]) => AT_THE_TOP.has(key));
  const below = entries.filter(([key]) => !AT_THE_TOP.has(key));
  const options = { ...Object.fromEntries(below), ...(isJsonObject(given) && given) };
  return { ...Object.fromEntries(top), ...(Object.keys(options).length > 0 && { options }) };
}

export function ollamaDialect(modelName: string): Dialect {
  return {
    ...localDialect("ollama"),
    contextTooLong: /exceeds? .*context|context (?:length|size|window)|prompt (?:is )?too long/i,
    toOptions: ({ reasoning }) => ({ options: thinking(reasoning, modelName) }),
  };
}

/** A model that thinks does so unless it is told; one that cannot refuses to be asked. */
function thinking(reasoning: ModelParameters["reasoning"], modelName: string): JsonObject {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  if (reasoning.type === "off") return { think: false };
  const effort = toEffort(reasoning.effort);
  if (effort === "none") return { think: false };
  // Only these know levels.
  if (!modelName.startsWith("gpt-oss")) return { think: true };
  if (effort === "minimal" || effort === "low") return { think: "low" };
  return { think: effort === "medium" ? "medium" : "high" };
}

function ollamaModel(name: string, open: (fetch: Fetch) => Ollama, fetch: Fetch): StreamingModel {
  return {
    provider: "ollama",
    modelId: name,
    async doStream(call) {
      const signal = call.abortSignal ?? null;
      const client = open(async (input, init) => {
        const response = await accepted(await fetch(input, { ...init, signal }));
        return new Response(response.body?.pipeThrough(wholeLines()) ?? null, response);
      });
      const replies = await client.chat(toChatRequest(name, call));
      return { stream: toStream(toParts(replies)) };
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
): AsyncGenerator<LanguageModelV4StreamPart> {
  let kind: Kind | undefined;
  let hasToolCalls = false;
  for await (const { message, ...reply } of replies) {
    const pieces = { reasoning: message.thinking ?? "", text: message.content };
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
  }
}

function toToolCall(
  call: NonNullable<ChatResponse["message"]["tool_calls"]>[number] & { readonly id?: unknown },
): LanguageModelV4StreamPart {
  // Newer servers give an id, of which the client's types know nothing.
  const toolCallId =
    typeof call.id === "string" && call.id !== "" ? call.id : `call_${randomUUID()}`;
  const { name: toolName, arguments: input } = call.function;
  return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
}

function toFinish(
  reply: Omit<ChatResponse, "message">,
  hasToolCalls: boolean,
): LanguageModelV4StreamPart {
  const { done_reason: raw, prompt_eval_count: input, eval_count: output } = reply;
  const unified = hasToolCalls ? "tool-calls" : raw === "length" ? "length" : "stop";
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

function toChatRequest(
  model: string,
  call: LanguageModelV4CallOptions,
): ChatRequest & { stream: true } {
  const { think } = metadataOf("ollama", call.providerOptions);
  const tools = toTools(call);
  return {
    model,
    stream: true,
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

/**
 * Ollama has no choice of tools: it can only be told of none. Beside a format that is not needed, as a
 * call does not fit it, and the prompt begins as it does in requests that allow calls.
 */
function toTools({ tools = [], toolChoice, responseFormat }: LanguageModelV4CallOptions): Tool[] {
  if (toolChoice?.type === "none" && responseFormat?.type !== "json") return [];
  return tools.flatMap((tool) => {
    if (tool.type !== "function") return [];
    const { name, description = "", inputSchema } = tool;
    // The client's type knows fewer keywords than JSON Schema has; the server takes them.
    const parameters = inputSchema as NonNullable<Tool["function"]["parameters"]>;
    return [{ type: "function", function: { name, description, parameters } }];
  });
}

function toMessages(message: LanguageModelV4Message): Message[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: textOf(message.content) }];
    case "assistant":
      return [toAssistantMessage(message.content)];
    case "tool":
      return message.content.flatMap((part) => {
        if (part.type !== "tool-result") return [];
        return [{ role: "tool", content: resultText(part.output), tool_name: part.toolName }];
      });
    default:
      return assertNever(message);
  }
}

function toAssistantMessage(
  content: Extract<LanguageModelV4Message, { role: "assistant" }>["content"],
): Message {
  const thinking = content.flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
  const calls = content.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    const { toolName: name, input } = part;
    return [{ function: { name, arguments: isJsonObject(input) ? input : {} } }];
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

function wholeLines(): TransformStream<Uint8Array, Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = Buffer.concat([rest, chunk]);
      const end = bytes.lastIndexOf("\n") + 1;
      if (end > 0) controller.enqueue(bytes.subarray(0, end));
      rest = bytes.subarray(end);
    },
    flush(controller) {
      if (isWhole(rest)) controller.enqueue(rest);
      else if (rest.length > 0) controller.error(new Error("terminated"));
    },
  });
}

/** The last line may come without its end. */
function isWhole(line: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(line).toString("utf8"));
    return true;
  } catch {
    return false;
  }
}
