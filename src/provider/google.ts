/** Google's Gemini, through `@ai-sdk/google`. */
import { apiUrl } from "./base-url.ts";
import type { Listing, Opening, ProviderDefinition } from "./definition.ts";
import { googleDialect } from "./dialect/index.ts";
import { fetchList, toModelInfo } from "./model-info.ts";

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
