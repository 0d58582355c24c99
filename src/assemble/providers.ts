/** The models available with this config and environment. */
import type { PartialConfig } from "../settings/config/index.ts";
import {
  createHttpFetch,
  createProvidersNow,
  type HttpFetchOptions,
  type Providers,
  type ProviderSettings,
} from "../reach/provider/index.ts";
import type { Machine } from "./place.ts";

export function openProviders(
  { variables, clock }: Pick<Machine, "variables" | "clock">,
  config: PartialConfig,
  options: HttpFetchOptions = {},
): Providers {
  const { anthropic, google, openai, openrouter, ollama, llamacpp } = config.providers?.llm ?? {};
  const { beta_headers: betaFeatures } = anthropic ?? {};
  const { base_url_env: urlVariable = "" } = openai ?? {};
  const openaiUrl = variables[urlVariable] || openai?.base_url;
  const { app_name: appName, app_referrer: appUrl } = openrouter ?? {};
  const settings = {
    anthropic: {
      ...withKey(variables, anthropic),
      ...(betaFeatures !== undefined && { betaFeatures }),
    },
    google: withKey(variables, google),
    openai: withKey(variables, {
      ...openai,
      ...(openaiUrl !== undefined && { base_url: openaiUrl }),
    }),
    openrouter: {
      ...withKey(variables, openrouter),
      ...(appName !== undefined && { appName }),
      ...(appUrl !== undefined && { appUrl }),
    },
    ollama: { baseUrl: ollama?.base_url ?? "" },
    llamacpp: withKey(variables, llamacpp),
  };
  return createProvidersNow({ settings, clock, fetch: createHttpFetch(options) });
}

interface KeyConfig {
  readonly base_url?: string | undefined;
  readonly api_key_env?: string | undefined;
}

/** Keys exist only in the environment. */
function withKey(
  variables: Readonly<Record<string, string | undefined>>,
  { base_url: baseUrl = "", api_key_env: apiKeyVariable = "" }: KeyConfig = {},
): ProviderSettings {
  const apiKey = variables[apiKeyVariable] ?? "";
  return { baseUrl, apiKeyVariable, ...(apiKey !== "" && { apiKey }) };
}
