/** Which dialect a model of the AI SDK speaks, from what it says of itself. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { anthropicDialect } from "./anthropic.ts";
import { type Dialect, plainDialect } from "./dialect.ts";
import { googleDialect } from "./google.ts";
import { openaiDialect } from "./openai.ts";
import { openrouterDialect } from "./openrouter.ts";

/** `anthropic.messages`, `openai.responses`, …: the vendor first, then which of its APIs. */
export function findDialect({ provider, modelId }: LanguageModelV4): Dialect {
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
