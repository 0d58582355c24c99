/**
 * Any language model of the AI SDK as a `Model`: a request is built from the parts of a thread, the
 * reply is turned into our events, and failures into `ProviderError`.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Clock, systemClock } from "../util/index.ts";
import { anthropicDialect } from "./anthropic.ts";
import { type Dialect, plainDialect } from "./dialect.ts";
import { googleDialect } from "./google.ts";
import { openaiDialect } from "./openai.ts";
import { openrouterDialect } from "./openrouter.ts";
import type { Model } from "./port.ts";
import { streamReply } from "./reply.ts";

/** What the AI SDK calls a language model. */
export type LanguageModel = LanguageModelV4;

/** What a language model of the AI SDK does not say of itself. */
export interface LanguageModelOptions {
  /** `provider/name`. By default what the model says of itself. */
  readonly id?: string;
  /** In tokens. */
  readonly contextWindow?: number;
  /** For dates in `retry-after`. */
  readonly clock?: Clock;
}

/** Takes any language model of the AI SDK. `runTurn` does this by itself. */
export function fromLanguageModel(model: LanguageModel, options: LanguageModelOptions = {}): Model {
  const { id = defaultId(model), contextWindow, clock = systemClock } = options;
  const dialect = findDialect(model);
  return {
    id,
    ...(contextWindow !== undefined && { contextWindow }),
    stream: (request) => streamReply({ model, dialect, served: { id }, clock }, request),
  };
}

/** `anthropic.messages` is the provider `anthropic`. */
function defaultId({ provider, modelId }: LanguageModel): string {
  const [vendor = provider] = provider.split(".");
  return `${vendor}/${modelId}`;
}

/** `anthropic.messages`, `openai.responses`, …: the vendor first, then which of its APIs. */
function findDialect({ provider, modelId }: LanguageModelV4): Dialect {
  const [vendor = "", api] = provider.split(".");
  switch (vendor) {
    case "anthropic":
      return anthropicDialect(modelId);
    case "google":
      return googleDialect(modelId);
    case "openrouter":
      return openrouterDialect(modelId);
    case "openai":
      return api === "responses" ? openaiDialect() : plainDialect(vendor);
    default:
      return plainDialect(vendor);
  }
}
