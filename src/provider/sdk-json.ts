/** Options and metadata of the AI SDK: one object for each provider, under its key. */
import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import { isJsonObject, type JsonObject } from "../util/index.ts";

/** Options for one provider; none at all where there is nothing to say. */
export function optionsFor(
  key: string,
  options: JsonObject,
): { providerOptions?: SharedV4ProviderOptions } {
  return Object.keys(options).length === 0 ? {} : { providerOptions: { [key]: options } };
}

/** What a provider says about a piece of its reply. */
export function metadataOf(key: string, providerMetadata: unknown): JsonObject {
  const all = isJsonObject(providerMetadata) ? providerMetadata : {};
  const own = all[key];
  return isJsonObject(own) ? own : {};
}
