/** What a provider is to us: how it speaks, how its package is opened, how its models are listed. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import type { Dialect } from "./dialect.ts";
import { ProviderError } from "./provider-error.ts";
import { accepted } from "./read-failure.ts";

/** Plain values: configuration and environment have been read by others. */
export interface ProviderSettings {
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** The environment variable that holds the key. Absent for providers without one. */
  readonly apiKeyVariable?: string;
  /** Anthropic: beta features to ask for. */
  readonly betaFeatures?: readonly string[];
  /** OpenRouter: the name and the address it is told. */
  readonly appName?: string;
  readonly appUrl?: string;
}

export interface ProviderDefinition {
  readonly dialect: (modelName: string) => Dialect;
  /** On one's own machine, without a key. */
  readonly isLocal: boolean;
  /** Loads the package. What it gives opens a model; that is cheap, and done for each request. */
  load(): Promise<OpenModel>;
  list(request: Listing): Promise<readonly ModelInfo[]>;
  /** Where free parameters go in the body; at its top, if nothing else is said. */
  readonly toBody?: (other: JsonObject) => JsonObject;
}

type OpenModel = (opening: Opening) => StreamingModel;

/** As much of a model of the AI SDK as we use. */
export type StreamingModel = Pick<LanguageModelV4, "provider" | "modelId" | "doStream">;

/** As `fetch` is called. */
export type Fetch = typeof globalThis.fetch;

export interface Opening {
  readonly name: string;
  readonly settings: ProviderSettings;
  readonly fetch: Fetch;
}

export interface Listing {
  readonly settings: ProviderSettings;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

/** Without a slash at its end. */
export function apiUrl(baseUrl: string, path: string): string {
  const url = URL.parse(baseUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ProviderError("invalid_request", "The provider's base URL is not a web address.", {
      isRetryable: false,
      hint: "Set `providers.llm.<provider>.base_url` to an address that begins with http.",
    });
  }
  const trimmed = baseUrl.replace(/\/+$/, "");
  return url.pathname === "/" ? `${trimmed}${path}` : trimmed;
}

/** A model that a provider says it has. */
export interface ModelInfo {
  /** The name to ask for, without the provider. */
  readonly name: string;
  /** In tokens, where it is told. */
  readonly contextWindow?: number;
}

export interface ListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

/** The objects in the list under `key`; what is no object is passed over. */
export async function fetchList(request: ListRequest, key: string): Promise<readonly JsonObject[]> {
  const { url, headers, fetch, signal } = request;
  const response = await accepted(await fetch(url, { headers, signal }));
  const body: unknown = await response.json();
  const list = isJsonObject(body) ? body[key] : undefined;
  return Array.isArray(list) ? list.filter((each: Json) => isJsonObject(each)) : [];
}

export function toModelInfo(name: Json | undefined, window: Json | undefined): ModelInfo[] {
  if (typeof name !== "string" || name === "") return [];
  return [{ name, ...(typeof window === "number" && window > 0 && { contextWindow: window }) }];
}
