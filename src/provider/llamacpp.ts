/** A llama.cpp server, through `@ai-sdk/openai-compatible`. */
import { apiUrl } from "./base-url.ts";
import type { Listing, Opening, ProviderDefinition } from "./definition.ts";
import { llamacppDialect } from "./dialect/index.ts";
import { fetchList, toModelInfo } from "./model-info.ts";
import { isJsonObject } from "../util/index.ts";

export const llamacpp: ProviderDefinition = {
  dialect: llamacppDialect,
  isLocal: true,
  async load() {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return ({ name, settings, fetch }: Opening) => {
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
  async list({ settings, fetch, signal }: Listing) {
    const url = `${apiUrl(settings.baseUrl, "/v1")}/models`;
    const models = await fetchList({ url, headers: {}, fetch, signal }, "data");
    return models.flatMap(({ id, meta }) =>
      toModelInfo(id, isJsonObject(meta) ? meta["n_ctx_train"] : undefined),
    );
  },
};
