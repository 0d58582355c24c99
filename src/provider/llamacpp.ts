/** A llama.cpp server through `@ai-sdk/openai-compatible`. */
import { isJsonObject, type JsonObject } from "../util/index.ts";
import {
  apiUrl,
  fetchList,
  type ListOptions,
  type OpenOptions,
  type ProviderDefinition,
  toModelInfo,
} from "./definition.ts";
import { type Dialect, localDialect, toEffort } from "./dialect.ts";
import type { ModelParameters } from "./port.ts";
import { isStrict, toStrictSchema } from "../json-schema/index.ts";

export const llamacpp: ProviderDefinition = {
  dialect: llamacppDialect,
  isLocal: true,
  async load() {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return ({ name, settings, fetch }: OpenOptions) => {
      const open = createOpenAICompatible({
        name: "llamacpp",
        baseURL: apiUrl(settings.baseUrl, "/v1"),
        fetch,
        supportsStructuredOutputs: true,
        includeUsage: true,
      });
      return open.chatModel(name);
    };
  },
  async list({ settings, fetch, signal }: ListOptions) {
    const url = `${apiUrl(settings.baseUrl, "/v1")}/models`;
    const models = await fetchList({ url, headers: {}, fetch, signal }, "data");
    return models.flatMap(({ id, meta }) =>
      toModelInfo(id, isJsonObject(meta) ? meta["n_ctx_train"] : undefined),
    );
  },
};

function llamacppDialect(): Dialect {
  return {
    ...localDialect("llamacpp"),
    contextTooLong: /exceed_context_size_error|exceeds the available context size/i,
    toOutputSchema: toStrictSchema,
    toOptions: ({ reasoning, topK }, schema) => ({
      options: {
        ...toTemplateOptions(reasoning),
        // The package drops this one, because OpenAI does not have it.
        ...(topK !== undefined && { top_k: topK }),
        ...(schema !== undefined && { strictJsonSchema: isStrict(schema) }),
      },
    }),
  };
}

/** In llama.cpp the model's chat template decides about reasoning. */
function toTemplateOptions(reasoning: ModelParameters["reasoning"]): JsonObject {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  if (reasoning.type === "off") return { chat_template_kwargs: { enable_thinking: false } };
  return { chat_template_kwargs: { reasoning_effort: toEffort(reasoning.effort) } };
}
