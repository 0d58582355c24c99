/** Google Gemini through `@ai-sdk/google`: thought signatures on any piece, no `const` in schemas. */
import type { ProviderEvent } from "../../record/conversation/index.ts";
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
  defaultDialect,
  type Dialect,
  type DialectOptions,
  pickRenamed,
  toReasoningLevel,
} from "./dialect.ts";
import type { ModelParameters } from "./port.ts";
import { constToEnum } from "../json-schema/index.ts";

export const google: ProviderDefinition = {
  dialect: googleDialect,
  isLocal: false,
  sampleReply: eventStream(
    { candidates: [{ content: { parts: [{ text: "x" }] } }] },
    { candidates: [{ content: { parts: [] }, finishReason: "STOP" }] },
  ),
  async load() {
    const { createGoogle } = await loadModule(() => import("@ai-sdk/google"));
    return ({ name, settings, fetch }: OpenOptions) => {
      const { baseUrl, apiKey = "" } = settings;
      return createGoogle({ baseURL: apiUrl(baseUrl, "/v1beta"), apiKey, fetch }).languageModel(
        name,
      );
    };
  },
  async list({ settings, fetch, signal }: ListOptions) {
    const url = `${apiUrl(settings.baseUrl, "/v1beta")}/models?pageSize=1000`;
    const headers = { "x-goog-api-key": settings.apiKey ?? "" };
    const models = await fetchList({ url, headers, fetch, signal }, "models");
    return models.flatMap(({ name, inputTokenLimit, supportedGenerationMethods: methods }) => {
      // The rest are for embeddings or images.
      if (Array.isArray(methods) && !methods.includes("generateContent")) return [];
      const plain = typeof name === "string" ? name.replace(/^models\//, "") : undefined;
      return toModelInfo(plain, inputTokenLimit);
    });
  },
};

const SIGNATURE = "google_thought_signature";

export function googleDialect(modelName: string): Dialect {
  return {
    ...defaultDialect("google"),
    takesResultFiles: true,
    takesJsonResults: true,
    schemaChanges: takesSchemaBesideTools(modelName) ? "prompt" : "tools",
    toEventMetadata: (_, metadata) => pickRenamed(metadata, { thoughtSignature: SIGNATURE }),
    toPartOptions,
    ownReasoning: (reasoning) =>
      reasoning.filter(({ metadata }) => metadata?.[SIGNATURE] !== undefined),
    toToolSchema: constToEnum,
    toOutputSchema: constToEnum,
    toOptions: ({ reasoning }) => toOptions(reasoning, modelName),
  };
}

function toPartOptions({ metadata = {} }: ProviderEvent): JsonObject {
  return pickRenamed(metadata, { [SIGNATURE]: "thoughtSignature" });
}

function toOptions(reasoning: ModelParameters["reasoning"], modelName: string): DialectOptions {
  if (!canThink(modelName)) return { options: {} };
  if (reasoning === undefined || reasoning.type === "off") {
    return { ...toReasoningLevel(reasoning), options: {} };
  }
  const includeThoughts = reasoning.isHidden !== true;
  if (reasoning.type === "auto") return { options: { thinkingConfig: { includeThoughts } } };
  const { effort } = reasoning;
  if (typeof effort === "number") {
    return { options: { thinkingConfig: { thinkingBudget: effort, includeThoughts } } };
  }
  return { ...toReasoningLevel(reasoning), options: { thinkingConfig: { includeThoughts } } };
}

/** Older models reject a request that mentions thinking. */
function canThink(modelName: string): boolean {
  return !/gemini-(?:1|2\.0)/.test(modelName);
}

/** Since Gemini 3. For older models the package sends the schema as a tool. */
function takesSchemaBesideTools(modelName: string): boolean {
  const isOlder = /gemini-(?:[12]\b|pro(?:-vision)?$|robotics-er-1)/i.test(modelName);
  return /gemini-/i.test(modelName) && !isOlder;
}
