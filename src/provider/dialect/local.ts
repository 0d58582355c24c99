/** Models on one's own machine, Ollama's and llama.cpp's: reasoning is plain text, and unsigned. */
import type { ProviderEvent } from "../../conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { ModelParameters } from "../port.ts";
import { isStrict, toStrictSchema } from "../../json-schema/index.ts";
import { type Dialect, isReasoning, plainDialect } from "./dialect.ts";
import { toEffort } from "./effort.ts";

export function ollamaDialect(modelName: string): Dialect {
  return {
    ...localDialect("ollama"),
    contextTooLong: /exceeds? .*context|context (?:length|size|window)|prompt (?:is )?too long/i,
    toOptions: ({ reasoning }) => ({ options: thinking(reasoning, modelName) }),
  };
}

export function llamacppDialect(): Dialect {
  return {
    ...localDialect("llamacpp"),
    contextTooLong: /exceed_context_size_error|exceeds the available context size/i,
    toOutputSchema: toStrictSchema,
    toOptions: ({ reasoning, topK }, schema) => ({
      options: {
        ...templateSwitches(reasoning),
        // The package leaves it out, as OpenAI has no such parameter.
        ...(topK !== undefined && { top_k: topK }),
        ...(schema !== undefined && { strictJsonSchema: isStrict(schema) }),
      },
    }),
  };
}

function localDialect(key: string): Dialect {
  return {
    ...plainDialect(key),
    joinsSystemParts: true,
    schemaChanges: "nothing", // It becomes a grammar for what is written.
    withOwnReasoning: (events) => events.filter((event) => !isReasoning(event) || !isSigned(event)),
  };
}

/** What another provider signed is its own. */
function isSigned({ metadata = {} }: ProviderEvent): boolean {
  return Object.keys(metadata).some((key) => /^(?:anthropic|google|openai|openrouter)_/.test(key));
}

/** A model that thinks does so unless it is told; one that cannot refuses to be asked. */
function thinking(reasoning: ModelParameters["reasoning"], modelName: string): JsonObject {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  if (reasoning.type === "off") return { think: false };
  const effort = toEffort(reasoning.effort);
  if (effort === "none") return { think: false };
  // Only these know levels.
  if (!modelName.startsWith("gpt-oss")) return { think: true };
  if (effort === "minimal" || effort === "low") return { think: "low" };
  return { think: effort === "medium" ? "medium" : "high" };
}

/** llama.cpp leaves it to the chat template of the model. */
function templateSwitches(reasoning: ModelParameters["reasoning"]): JsonObject {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  if (reasoning.type === "off") return { chat_template_kwargs: { enable_thinking: false } };
  return { chat_template_kwargs: { reasoning_effort: toEffort(reasoning.effort) } };
}
