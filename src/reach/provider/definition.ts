/** The definition in each provider's file: its dialect, and how to open and list models. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import type { Dialect } from "./dialect.ts";
import type { ModelParameters, ModelProperties } from "./port.ts";
import { ProviderError } from "./provider-error.ts";
import { assertOk } from "./read-failure.ts";

/** One of the six providers. */
export interface ProviderDefinition {
  readonly dialect: (modelName: string) => Dialect;
  /** Runs on the user's machine and needs no key. */
  readonly isLocal: boolean;
  /** Loads the vendor's package. Opening a model with it is cheap and happens for each request. */
  load(): Promise<(options: OpenOptions) => StreamingModel>;
  list(options: ListOptions): Promise<readonly ModelInfo[]>;
  /** Asks a local server how it runs a model. */
  properties?(options: PropertiesOptions): Promise<ModelProperties>;
  /** A one-word reply for warm-up, as the API streams it. */
  readonly sampleReply: string;
  /** Arranges free parameters in the request body. Default: at its top level. */
  readonly toBody?: (other: JsonObject) => JsonObject;
}

/** Formats server-sent events. */
export function eventStream(...events: readonly JsonObject[]): string {
  return events.map((data) => `data: ${JSON.stringify(data)}\n\n`).join("");
}

/** The part of an AI SDK model that we use. */
export type StreamingModel = Pick<LanguageModelV4, "provider" | "modelId" | "doStream">;

/** The signature of `fetch`. */
export type Fetch = typeof globalThis.fetch;

export interface OpenOptions {
  readonly name: string;
  readonly settings: ProviderSettings;
  readonly fetch: Fetch;
}

export interface ListOptions {
  readonly settings: ProviderSettings;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

export interface PropertiesOptions extends ListOptions {
  /** The name of the model. */
  readonly name: string;
  readonly parameters: ModelParameters;
}

/** Plain values, already read from config and environment. */
export interface ProviderSettings {
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** The environment variable with the key. Absent for providers without one. */
  readonly apiKeyVariable?: string;
  /** Anthropic: beta features to request. */
  readonly betaFeatures?: readonly string[];
  /** OpenRouter: the application's name and URL, for its statistics. */
  readonly appName?: string;
  readonly appUrl?: string;
}

/** A model that a provider lists. */
export interface ModelInfo {
  /** Without the provider. */
  readonly name: string;
  /** In tokens, if known. */
  readonly contextWindow?: number;
  /** The server has only this model, and uses it for any name. */
  readonly isForAnyName?: boolean;
}

/** Adds the API's default path to a base URL without one; a URL with a path is used as it is. */
export function apiUrl(baseUrl: string, path: string): string {
  const url = URL.parse(baseUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ProviderError("invalid_request", "The provider's base URL is not an HTTP URL.", {
      isRetryable: false,
      hint: "Set `providers.llm.<provider>.base_url` to a URL that starts with http:// or https://.",
    });
  }
  const trimmed = baseUrl.replace(/\/+$/, "");
  return url.pathname === "/" ? `${trimmed}${path}` : trimmed;
}

export interface ListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Default: a `GET`. */
  readonly post?: JsonObject;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

/** Returns the objects in the list under `key`, skipping other values. */
export async function fetchList(request: ListRequest, key: string): Promise<readonly JsonObject[]> {
  const { [key]: list } = await fetchObject(request);
  return Array.isArray(list) ? list.filter((each: Json) => isJsonObject(each)) : [];
}

/** Empty if the server sends anything else. */
export async function fetchObject(request: ListRequest): Promise<JsonObject> {
  const { url, headers, post, fetch, signal } = request;
  const body = post && { method: "POST", body: JSON.stringify(post) };
  const response = await fetch(url, { headers, signal, ...body });
  await assertOk(response);
  const answer: unknown = await response.json();
  return isJsonObject(answer) ? answer : {};
}

export function toModelInfo(name: Json | undefined, window: Json | undefined): ModelInfo[] {
  if (typeof name !== "string" || name === "") return [];
  return [{ name, ...toContextWindow(window) }];
}

/** Empty if the server does not report it. */
export function toContextWindow(window: Json | undefined): Pick<ModelInfo, "contextWindow"> {
  return typeof window === "number" && window > 0 ? { contextWindow: window } : {};
}
