/** Anthropic, through `@ai-sdk/anthropic`. */
import { apiUrl } from "./base-url.ts";
import type { Listing, Opening, ProviderDefinition } from "./definition.ts";
import { anthropicDialect } from "./dialect/index.ts";
import { fetchList, toModelInfo } from "./model-info.ts";

export const anthropic: ProviderDefinition = {
  dialect: anthropicDialect,
  isLocal: false,
  async load() {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return ({ name, settings, fetch }: Opening) => {
      const { baseUrl, apiKey = "", betaFeatures = [] } = settings;
      const headers = betaFeatures.length > 0 ? { "anthropic-beta": betaFeatures.join(",") } : {};
      const open = createAnthropic({ baseURL: apiUrl(baseUrl, "/v1"), apiKey, headers, fetch });
      return open.languageModel(name);
    };
  },
  async list({ settings, fetch, signal }: Listing) {
    const url = `${apiUrl(settings.baseUrl, "/v1")}/models?limit=1000`;
    const headers = { "x-api-key": settings.apiKey ?? "", "anthropic-version": "2023-06-01" };
    const models = await fetchList({ url, headers, fetch, signal }, "data");
    return models.flatMap((model) => toModelInfo(model["id"], model["max_input_tokens"]));
  },
};
