/** OpenAI's responses API, through `@ai-sdk/openai`. */
import { apiUrl } from "./base-url.ts";
import type { Listing, Opening, ProviderDefinition } from "./definition.ts";
import { openaiDialect } from "./dialect/index.ts";
import { fetchList, toModelInfo } from "./model-info.ts";

export const openai: ProviderDefinition = {
  dialect: openaiDialect,
  isLocal: false,
  async load() {
    const { createOpenAI } = await import("@ai-sdk/openai");
    return ({ name, settings, fetch }: Opening) => {
      const { baseUrl, apiKey = "" } = settings;
      return createOpenAI({ baseURL: apiUrl(baseUrl, "/v1"), apiKey, fetch }).responses(name);
    };
  },
  async list({ settings, fetch, signal }: Listing) {
    const url = `${apiUrl(settings.baseUrl, "/v1")}/models`;
    const headers = { authorization: `Bearer ${settings.apiKey ?? ""}` };
    const models = await fetchList({ url, headers, fetch, signal }, "data");
    return models.flatMap((model) => toModelInfo(model["id"], undefined));
  },
};
