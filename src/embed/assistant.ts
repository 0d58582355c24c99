/** The assistant of somebody who says little about it. */
import type { Assistant } from "../agent/index.ts";
import { resolveAssistant } from "../config/index.ts";
import type { TurnOptions } from "./turn-options.ts";

export function createAssistant({ systemPrompt, assistant }: TurnOptions): Assistant {
  // The model is given by the program; the rest is what the command takes where nobody says anything.
  const usual = resolveAssistant({
    assistant: { model: { id: { provider: "own", name: "own" } } },
  });
  const { parameters, toolChoice, cache, request, sections } = usual;
  return {
    sections,
    parameters,
    toolChoice,
    cache,
    request,
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...assistant,
  };
}
