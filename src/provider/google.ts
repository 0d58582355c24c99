/** Google's Gemini, through `@ai-sdk/google`. */
import type { ProviderEvent } from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";
import {
  apiUrl,
  fetchList,
  type Listing,
  type Opening,
  type ProviderDefinition,
  toModelInfo,
} from "./definition.ts";
import {
  type Dialect,
  type DialectOptions,
  isReasoning,
  plainDialect,
  reasoningLevel,
  renamed,
} from "./dialect.ts";
import type { ModelParameters } from "./port.ts";
import { constToEnum } from "./schema/const-to-enum.ts";

export const google: ProviderDefinition = {
  dialect: googleDialect,
  isLocal: false,
  async load() {
    const { createGoogle } = await import("@ai-sdk/google");
    return ({ name, settings, fetch }: Opening) => {
      const { baseUrl, apiKey = "" } = settings;
      return createGoogle({ baseURL: apiUrl(baseUrl, "/v1beta"), apiKey, fetch }).languageModel(
        name,
      );
    };
  },
  async list({ settings, fetch, signal }: Listing) {
    const url = `${apiUrl(settings.baseUrl, "/v1beta")}/models?pageSize=1000`;
    const headers = { "x-goog-api-key": settings.apiKey ?? "" };
    const models = await fetchList({ url, headers, fetch, signal }, "models");
    return models.flatMap(({ name, inputTokenLimit, supportedGenerationMethods: methods }) => {
      // Others embed, or draw.
      if (Array.isArray(methods) && !methods.includes("generateContent")) return [];
      const plain = typeof name === "string" ? name.replace(/^models\//, "") : undefined;
      return toModelInfo(plain, inputTokenLimit);
    });
  },
};

const SIGNATURE = "google_thought_signature";

export function googleDialect(modelName: string): Dialect {
  return {
    ...plainDialect("google"),
    schemaChanges: takesSchemaBesideTools(modelName) ? "prompt" : "tools",
    contextTooLong: /input token count .*exceeds|exceeds the maximum number of tokens/i,
    toEventMetadata: (_, metadata) => renamed(metadata, { thoughtSignature: SIGNATURE }),
    toPartOptions,
    withOwnReasoning: (events) =>
      events.filter((event) => !isReasoning(event) || event.metadata?.[SIGNATURE] !== undefined),
    toToolSchema: constToEnum,
    toOutputSchema: constToEnum,
    toOptions: ({ reasoning }) => toOptions(reasoning, modelName),
  };
}

function toPartOptions({ metadata = {} }: ProviderEvent): JsonObject {
  return renamed(metadata, { [SIGNATURE]: "thoughtSignature" });
}

function toOptions(reasoning: ModelParameters["reasoning"], modelName: string): DialectOptions {
  if (!canThink(modelName)) return { options: {} };
  if (reasoning === undefined || reasoning.type === "off") {
    return { ...reasoningLevel(reasoning), options: {} };
  }
  if (reasoning.type === "auto") return { options: { thinkingConfig: { includeThoughts: true } } };
  const { effort, isHidden } = reasoning;
  const includeThoughts = !isHidden;
  if (typeof effort === "number") {
    return { options: { thinkingConfig: { thinkingBudget: effort, includeThoughts } } };
  }
  return { ...reasoningLevel(reasoning), options: { thinkingConfig: { includeThoughts } } };
}

/** Older ones refuse a request that says anything about thinking. */
function canThink(modelName: string): boolean {
  return !/gemini-(?:1|2\.0)/.test(modelName);
}

/** From Gemini 3 on. For others the package makes a tool of the schema. */
function takesSchemaBesideTools(modelName: string): boolean {
  const isOlder = /gemini-(?:[12]\b|pro(?:-vision)?$|robotics-er-1)/i.test(modelName);
  return /gemini-/i.test(modelName) && !isOlder;
}
