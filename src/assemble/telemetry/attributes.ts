/**
 * Span attributes, following OpenTelemetry's semantic conventions for generative AI: codes, counts and IDs, plus
 * content if enabled.
 */
import type { Attributes } from "@opentelemetry/api";
import type { ProviderEvent, ThreadParts, Usage } from "../../record/conversation/index.ts";
import type { EndReason, ModelEvent, ModelRequest } from "../../reach/provider/index.ts";
import { assertNever, type Json, type JsonObject } from "../../util/index.ts";

/** Providers with a different name in the conventions. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["google", "gcp.gemini"],
  ["google-vertex", "gcp.vertex_ai"],
  ["vertex", "gcp.vertex_ai"],
  ["amazon-bedrock", "aws.bedrock"],
  ["bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["azure-openai", "azure.ai.openai"],
  ["mistral", "mistral_ai"],
  ["moonshotai", "moonshot_ai"],
  ["xai", "x_ai"],
]);

const FINISH_REASONS = {
  stop: "stop",
  tool_calls: "tool_call",
  length: "length",
  refused: "content_filter",
  other: "other",
} as const satisfies Record<EndReason, string>;

/** `id`: `provider/name`. */
export function modelAttributes(id: string): Attributes {
  const [provider = "", ...name] = id.split("/");
  return {
    "gen_ai.provider.name": PROVIDERS.get(provider) ?? provider,
    "gen_ai.request.model": name.join("/"),
  };
}

export function requestAttributes({ parameters, parts }: ModelRequest): Attributes {
  const { maxTokens, temperature, topP, topK, reasoning } = parameters;
  const effort = reasoning?.type === "effort" ? reasoning.effort : undefined;
  return {
    "gen_ai.request.stream": true,
    "gen_ai.request.max_tokens": maxTokens,
    "gen_ai.request.temperature": temperature,
    "gen_ai.request.top_p": topP,
    "gen_ai.request.top_k": topK,
    "gen_ai.request.reasoning.level": typeof effort === "string" ? effort : undefined,
    "gen_ai.output.type": parts.schema === undefined ? undefined : "json",
  };
}

/** Undefined if the reply did not end normally. */
export function finishAttributes(reason: EndReason | undefined): Attributes {
  const finish = reason === undefined ? "error" : FINISH_REASONS[reason];
  return { "gen_ai.response.finish_reasons": [finish] };
}

export function usageAttributes(usage: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.input,
    "gen_ai.usage.output_tokens": usage.output,
    "gen_ai.usage.cache_read.input_tokens": usage.cachedInput,
    "gen_ai.usage.cache_write.input_tokens": usage.cacheWrites,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
  };
}

/** Content: the model's input. */
export function inputContent({ systemParts, events }: ThreadParts): Attributes {
  const instructions = systemParts.map(({ text }) => textPart(text));
  return {
    "gen_ai.system_instructions":
      instructions.length > 0 ? JSON.stringify(instructions) : undefined,
    "gen_ai.input.messages": JSON.stringify(events.map(toMessage)),
  };
}

/** Content: the model's output so far. */
export class WrittenReply {
  readonly #parts: JsonObject[] = [];
  #text: { readonly type: "text" | "reasoning"; content: string } | undefined;

  add(event: ModelEvent): void {
    switch (event.type) {
      case "message_delta":
        return this.#write("text", event.text);
      case "reasoning_delta":
        return this.#write("reasoning", event.text);
      case "tool_call_request":
        this.#parts.push(callPart(event));
        this.#text = undefined;
        return;
      default:
        return;
    }
  }

  toAttributes(reason: EndReason | undefined): Attributes {
    const finish = reason === undefined ? "error" : FINISH_REASONS[reason];
    const message = { role: "assistant", parts: this.#parts, finish_reason: finish };
    return { "gen_ai.output.messages": JSON.stringify([message]) };
  }

  #write(type: "text" | "reasoning", text: string): void {
    if (this.#text?.type !== type) this.#parts.push((this.#text = { type, content: "" }));
    this.#text.content += text;
  }
}

function toMessage(event: ProviderEvent): JsonObject {
  switch (event.type) {
    case "chat_request":
      return { role: "user", parts: [textPart(event.content)] };
    case "chat_response":
      return { role: "assistant", parts: [responsePart(event.content)] };
    case "tool_call_request":
      return { role: "assistant", parts: [callPart(event)] };
    case "tool_call_response": {
      const { id, content } = event;
      return { role: "tool", parts: [{ type: "tool_call_response", id, response: content }] };
    }
    default:
      return assertNever(event);
  }
}

function responsePart(
  content: Extract<ProviderEvent, { readonly type: "chat_response" }>["content"],
): JsonObject {
  if (content.type === "structured") return textPart(JSON.stringify(content.data));
  return content.type === "message"
    ? textPart(content.text)
    : { type: "reasoning", content: content.text };
}

function textPart(content: string): JsonObject {
  return { type: "text", content };
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: Json;
}

function callPart({ id, name, arguments: args }: Call): JsonObject {
  return { type: "tool_call", id, name, arguments: args };
}
