/** OpenRouter, through `@openrouter/ai-sdk-provider`. */
import type { ProviderEvent } from "../conversation/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import { anthropicCacheMark } from "./anthropic.ts";
import {
  apiUrl,
  fetchList,
  type Listing,
  type Opening,
  type ProviderDefinition,
  toModelInfo,
} from "./definition.ts";
import {
  type CachePlace,
  type CacheSupport,
  type Dialect,
  isReasoning,
  plainDialect,
  toEffort,
} from "./dialect.ts";
import type { ModelParameters } from "./port.ts";
import { isStrict, toStrictSchema } from "./schema/strict-schema.ts";

export const openrouter: ProviderDefinition = {
  dialect: openrouterDialect,
  isLocal: false,
  async load() {
    const { createOpenRouter } = await import("@openrouter/ai-sdk-provider");
    return ({ name, settings, fetch }: Opening) => {
      const { baseUrl, apiKey = "", appName, appUrl } = settings;
      const open = createOpenRouter({
        baseURL: apiUrl(baseUrl, "/api/v1"),
        apiKey,
        fetch,
        ...(appName !== undefined && { appName }),
        ...(appUrl !== undefined && { appUrl }),
      });
      return open.chat(name);
    };
  },
  async list({ settings, fetch, signal }: Listing) {
    const url = `${apiUrl(settings.baseUrl, "/api/v1")}/models`;
    const headers = { authorization: `Bearer ${settings.apiKey ?? ""}` };
    const models = await fetchList({ url, headers, fetch, signal }, "data");
    return models.flatMap((model) => toModelInfo(model["id"], model["context_length"]));
  },
};

const DETAILS = "openrouter_reasoning_details";

export function openrouterDialect(modelName: string): Dialect {
  const cache = cacheSupport(modelName);
  return {
    ...plainDialect("openrouter"),
    ...(cache !== undefined && { cache }),
    isEndAlwaysNamed: true,
    contextTooLong: /maximum context length|context_length_exceeded|prompt is too long/i,
    toEventMetadata: (_, metadata) => toEventMetadata(metadata),
    toPartOptions,
    withOwnReasoning: (events) =>
      events.filter((event) => !isReasoning(event) || "reasoning_details" in toPartOptions(event)),
    toOutputSchema: toStrictSchema,
    toOptions: ({ reasoning }, schema) => ({
      options: {
        usage: { include: true },
        ...(reasoning !== undefined && { reasoning: toReasoning(reasoning) }),
        ...(schema !== undefined && !isStrict(schema) && { response_format: looseFormat(schema) }),
      },
    }),
    findCost: ({ usage }) =>
      isJsonObject(usage) && typeof usage["cost"] === "number" ? usage["cost"] : undefined,
  };
}

/** The SDK has no way to mark tools, nor a part of a reply. Others than these refuse a mark. */
function cacheSupport(modelName: string): CacheSupport | undefined {
  const places = new Set<CachePlace>(["system", "user", "tool"]);
  if (modelName.startsWith("anthropic/")) return { places, mark: anthropicCacheMark };
  // Gemini's marks have no lifetime.
  if (!modelName.startsWith("google/gemini")) return undefined;
  return { places, mark: () => ({ type: "ephemeral" }) };
}

function toEventMetadata({ reasoning_details: details }: JsonObject): JsonObject {
  return Array.isArray(details) && details.length > 0 ? { [DETAILS]: details } : {};
}

function toPartOptions({ metadata = {} }: ProviderEvent): JsonObject {
  const details = metadata[DETAILS];
  if (!Array.isArray(details)) return {};
  const complete = details.filter(isComplete);
  return complete.length > 0 ? { reasoning_details: complete } : {};
}

/** A reply that was cut off has text without its signature, which Claude and Gemini refuse. */
function isComplete(detail: Json): boolean {
  if (!isJsonObject(detail) || detail["type"] !== "reasoning.text") return true;
  const format = detail["format"] ?? "anthropic-claude-v1";
  const needsSignature = format === "anthropic-claude-v1" || format === "google-gemini-v1";
  return !needsSignature || Boolean(detail["signature"]);
}

function toReasoning(reasoning: NonNullable<ModelParameters["reasoning"]>): JsonObject {
  if (reasoning.type !== "effort") return { enabled: reasoning.type === "auto" };
  const { effort, isHidden } = reasoning;
  const amount = typeof effort === "number" ? { max_tokens: effort } : { effort: toEffort(effort) };
  return { ...amount, ...(isHidden && { exclude: true }) };
}

/** The SDK asks for strict adherence, which a schema with optional fields cannot have. */
function looseFormat(schema: JsonObject): JsonObject {
  const name = "structured_output";
  return { type: "json_schema", json_schema: { name, strict: false, schema } };
}
