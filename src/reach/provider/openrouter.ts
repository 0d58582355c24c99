/** OpenRouter through `@openrouter/ai-sdk-provider`: many vendors' models behind one API. */
import type { ProviderEvent } from "../../record/conversation/index.ts";
import { isJsonObject, type Json, type JsonObject, loadModule } from "../../util/index.ts";
import { anthropicCacheMark } from "./anthropic.ts";
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
  type CacheSupport,
  defaultDialect,
  type Dialect,
  isImageOrPdf,
  toEffort,
} from "./dialect.ts";
import type { ModelParameters } from "./port.ts";
import { isStrict, toStrictSchema } from "../json-schema/index.ts";

export const openrouter: ProviderDefinition = {
  dialect: openrouterDialect,
  isLocal: false,
  sampleReply: eventStream(
    { choices: [{ index: 0, delta: { content: "x" } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ),
  async load() {
    const { createOpenRouter } = await loadModule(() => import("@openrouter/ai-sdk-provider"));
    return ({ name, settings, fetch }: OpenOptions) => {
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
  async list({ settings, fetch, signal }: ListOptions) {
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
    ...defaultDialect("openrouter"),
    ...(cache !== undefined && { cache }),
    alwaysSendsFinishReason: true,
    acceptsFile: isImageOrPdf,
    toEventMetadata: (_, metadata) => toEventMetadata(metadata),
    toPartOptions,
    ownReasoning: (reasoning) =>
      reasoning.filter((event) => "reasoning_details" in toPartOptions(event)),
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

/** The SDK cannot mark tools or replies. Models other than Claude and Gemini reject a mark. */
function cacheSupport(modelName: string): CacheSupport | undefined {
  const places = new Set<CachePlace>(["system", "user", "tool"]);
  if (modelName.startsWith("anthropic/")) return { places, mark: anthropicCacheMark };
  // Gemini has no long-lived cache.
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

/** Without a signature, the reply broke off, and Claude and Gemini reject it. */
function isComplete(detail: Json): boolean {
  if (!isJsonObject(detail) || detail["type"] !== "reasoning.text") return true;
  const format = detail["format"] ?? "anthropic-claude-v1";
  const needsSignature = format === "anthropic-claude-v1" || format === "google-gemini-v1";
  return !needsSignature || Boolean(detail["signature"]);
}

function toReasoning(reasoning: NonNullable<ModelParameters["reasoning"]>): JsonObject {
  if (reasoning.type === "off") return { enabled: false };
  const hidden = reasoning.isHidden === true && { exclude: true };
  if (reasoning.type === "auto") return { enabled: true, ...hidden };
  const { effort } = reasoning;
  const amount = typeof effort === "number" ? { max_tokens: effort } : { effort: toEffort(effort) };
  return { ...amount, ...hidden };
}

/** The SDK requests strict mode, which does not allow optional fields. */
function looseFormat(schema: JsonObject): JsonObject {
  const name = "structured_output";
  return { type: "json_schema", json_schema: { name, strict: false, schema } };
}
