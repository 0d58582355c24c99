/** Ollama, through its own client. */
import { isJsonObject, type JsonObject } from "../util/index.ts";
import { apiUrl } from "./base-url.ts";
import type { Listing, Opening, ProviderDefinition } from "./definition.ts";
import { ollamaDialect } from "./dialect/index.ts";
import { fetchList, toModelInfo } from "./model-info.ts";
import { ollamaModel } from "./ollama/index.ts";

export const ollama: ProviderDefinition = {
  dialect: ollamaDialect,
  isLocal: true,
  async load() {
    const { Ollama } = await import("ollama");
    return ({ name, settings, fetch }: Opening) =>
      ollamaModel(
        name,
        (request) => new Ollama({ host: hostOf(settings.baseUrl), fetch: request }),
        fetch,
      );
  },
  async list({ settings, fetch, signal }: Listing) {
    const url = `${hostOf(settings.baseUrl)}/api/tags`;
    const models = await fetchList({ url, headers: {}, fetch, signal }, "models");
    return models.flatMap((model) => toModelInfo(model["name"], undefined));
  },
  toBody,
};

/** The client adds the path itself. */
function hostOf(baseUrl: string): string {
  return apiUrl(baseUrl, "/api").replace(/\/api$/, "");
}

const AT_THE_TOP = new Set(["keep_alive", "think", "format", "logprobs", "top_logprobs"]);

/** `num_ctx` and its like are options of the model; only a few stand beside them. */
function toBody(other: JsonObject): JsonObject {
  const { options: given = {}, ...rest } = other;
  const entries = Object.entries(rest);
  const top = entries.filter(([key]) => AT_THE_TOP.has(key));
  const below = entries.filter(([key]) => !AT_THE_TOP.has(key));
  const options = { ...Object.fromEntries(below), ...(isJsonObject(given) && given) };
  return { ...Object.fromEntries(top), ...(Object.keys(options).length > 0 && { options }) };
}
