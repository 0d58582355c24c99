/**
 * The model of somebody who has configured none: one that runs on this machine, else one whose key is
 * in the environment. Nothing is picked in silence.
 */
import type { PartialConfig } from "../config/index.ts";
import { CodedError } from "../util/index.ts";
import type { CommandContext } from "./compose.ts";
import { type DetectedModel, detectModels } from "./detect-models.ts";

/** Says which it is and how to choose another. Throws `no_model`, with the ways to get one. */
export async function findDefaultModel(
  context: CommandContext,
  config: PartialConfig,
): Promise<Pick<DetectedModel, "provider" | "name">> {
  for await (const { id, provider, name } of detectModels(context, config)) {
    context.output.notice(
      `No model is configured: this is ${id}. Keep it, or another: jp config set assistant.model.id ${id}`,
    );
    return { provider, name };
  }
  throw noModel();
}

function noModel(): CodedError {
  return new CodedError("no_model", "No model is configured, and none was found.", {
    hint: [
      "There are three ways to get one:",
      "  - start Ollama or a llama.cpp server on this machine;",
      "  - put a key into ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY;",
      "  - name a model: jp config set assistant.model.id provider/name, or -m provider/name.",
    ].join("\n"),
  });
}
