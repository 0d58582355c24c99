/** Makes a `Model` from any language model of the AI SDK. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Clock, systemClock } from "../util/index.ts";
import { anthropicDialect } from "./anthropic.ts";
import { defaultDialect, type Dialect } from "./dialect.ts";
import { googleDialect } from "./google.ts";
import { openaiDialect } from "./openai.ts";
import { openrouterDialect } from "./openrouter.ts";
import type { Model } from "./port.ts";
import { streamReply } from "./reply.ts";

/** A language model of the AI SDK. */
export type LanguageModel = LanguageModelV4;

/** What a language model of the AI SDK does not say about itself. */
export interface LanguageModelOptions {
  /** `provider/name`. Default: from the model's own `provider` and `modelId`. */
  readonly id?: string;
  /** In tokens. */
  readonly contextWindow?: number;
  /** For dates in `retry-after`. */
  readonly clock?: Clock;
}

/** Wraps a language model of the AI SDK. `runTurn` does this for you. */
export function fromLanguageModel(model: LanguageModel, options: LanguageModelOptions = {}): Model {
  const { id = defaultId(model), contextWindow, clock = systemClock } = options;
  const dialect = findDialect(model);
  return {
    id,
    ...(contextWindow !== undefined && { properties: async () => ({ contextWindow }) }),
    stream: (request) => streamReply({ model, dialect, endpoint: { id }, clock }, request),
  };
}

/** `anthropic.messages` is the provider `anthropic`. */
function defaultId({ provider, modelId }: LanguageModel): string {
  const [vendor = provider] = provider.split(".");
  return `${vendor}/${modelId}`;
}

/** By `provider`, which names the vendor and then its API: `anthropic.messages`, `openai.responses`. */
function findDialect({ provider, modelId }: LanguageModel): Dialect {
  const [vendor = "", api] = provider.split(".");
  switch (vendor) {
    case "anthropic":
      return anthropicDialect(modelId);
    case "google":
      return googleDialect(modelId);
    case "openrouter":
      return openrouterDialect(modelId);
    case "openai":
      return api === "responses" ? openaiDialect() : defaultDialect(vendor);
    default:
      return defaultDialect(vendor);
  }
}
