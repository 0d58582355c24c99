/** What a provider is to us: how it speaks, how its package is opened, how its models are listed. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { JsonObject } from "../util/index.ts";
import type { Dialect } from "./dialect/index.ts";
import type { Fetch } from "./extra-body.ts";
import type { ModelInfo } from "./model-info.ts";

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
