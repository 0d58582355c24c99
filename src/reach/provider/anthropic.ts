/** Anthropic through `@ai-sdk/anthropic`: signed and redacted thinking, cache marks on parts. */
import { type ProviderEvent, isReasoning } from "../../record/conversation/index.ts";
import { type JsonObject, loadModule } from "../../util/index.ts";
import {
  eventStream,
  apiUrl,
  fetchList,
  type ListOptions,
  type OpenOptions,
  type ProviderDefinition,
  toModelInfo,
} from "./definition.ts";
import {
  type CachePlace,
  defaultDialect,
  type Dialect,
  type DialectOptions,
  isImageOrPdf,
  pickRenamed,
  toReasoningLevel,
} from "./dialect.ts";
import type { CachePolicy, ModelParameters } from "./port.ts";

export const anthropic: ProviderDefinition = {
  dialect: anthropicDialect,
  isLocal: false,
  sampleReply: eventStream(
    {
      type: "message_start",
      message: { id: "x", role: "assistant", model: "x", content: [], usage: { input_tokens: 1 } },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "x" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ),
  async load() {
    const { createAnthropic } = await loadModule(() => import("@ai-sdk/anthropic"));
    return ({ name, settings, fetch }: OpenOptions) => {
      const { baseUrl, apiKey = "", betaFeatures = [] } = settings;
      const headers = betaFeatures.length > 0 ? { "anthropic-beta": betaFeatures.join(",") } : {};
      const open = createAnthropic({ baseURL: apiUrl(baseUrl, "/v1"), apiKey, headers, fetch });
      return open.languageModel(name);
    };
  },
  async list({ settings, fetch, signal }: ListOptions) {
    const url = `${apiUrl(settings.baseUrl, "/v1")}/models?limit=1000`;
    const headers = { "x-api-key": settings.apiKey ?? "", "anthropic-version": "2023-06-01" };
    const models = await fetchList({ url, headers, fetch, signal }, "data");
    return models.flatMap((model) => toModelInfo(model["id"], model["max_input_tokens"]));
  },
};

const KEYS = {
  signature: "anthropic_thinking_signature",
  redactedData: "anthropic_redacted_thinking",
} as const;

export function anthropicDialect(modelName: string): Dialect {
  return {
    ...defaultDialect("anthropic"),
    takesResultFiles: true,
    cache: {
      places: new Set<CachePlace>(["system", "tools", "user", "assistant", "tool"]),
      mark: anthropicCacheMark,
    },
    schemaChanges: hasOutputFormat(modelName) ? "prompt" : "tools",
    acceptsFile: isImageOrPdf,
    toEventMetadata: (_, metadata) => pickRenamed(metadata, KEYS),
    toPartOptions,
    // The API verifies the signature of a thinking block, and rejects unsigned ones.
    ownReasoning: (reasoning) =>
      reasoning.filter((event) => Object.keys(toPartOptions(event)).length > 0),
    toOptions: ({ reasoning }) => toOptions(reasoning, modelName),
  };
}

export function anthropicCacheMark(policy: Exclude<CachePolicy, "off">): JsonObject {
  return policy === "long" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" };
}

function toPartOptions(event: ProviderEvent): JsonObject {
  if (!isReasoning(event)) return {};
  const { signature, redactedData } = pickRenamed(event.metadata ?? {}, {
    [KEYS.signature]: "signature",
    [KEYS.redactedData]: "redactedData",
  });
  if (signature !== undefined) return { signature };
  return redactedData === undefined ? {} : { redactedData };
}

function toOptions(reasoning: ModelParameters["reasoning"], modelName: string): DialectOptions {
  // With tool streaming, the arguments would not be validated as JSON.
  const options = { toolStreaming: false };
  if (reasoning?.type === "effort" && typeof reasoning.effort === "number") {
    const thinking = { type: "enabled", budgetTokens: reasoning.effort };
    return { options: { ...options, thinking } };
  }
  // Claude only thinks if asked to.
  if (reasoning?.type === "auto") {
    return { ...(canThink(modelName) && { reasoning: "medium" as const }), options };
  }
  return { ...toReasoningLevel(reasoning), options };
}

/** Every Claude except generation 3; in that one, only 3.7. */
function canThink(modelName: string): boolean {
  return !/claude-3-(?!7)/.test(modelName);
}

/**
 * Older models accept a schema only as a tool, which the package then sends instead of the other tools. Names without
 * `claude-` belong to servers with a compatible API.
 */
function hasOutputFormat(modelName: string): boolean {
  const isOlder = /claude-(?:instant|v?[23]\b|(?:opus|sonnet)-4(?:$|@|-0|-\d{8}))/.test(modelName);
  return modelName.includes("claude-") && !isOlder;
}
