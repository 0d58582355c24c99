/** OpenRouter, through `@openrouter/ai-sdk-provider`. */
import { apiUrl } from "./base-url.ts";
import type { Listing, Opening, ProviderDefinition } from "./definition.ts";
import { openrouterDialect } from "./dialect/index.ts";
import { fetchList, toModelInfo } from "./model-info.ts";

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
