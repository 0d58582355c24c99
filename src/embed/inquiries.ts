/** Tools' questions for the assistant, answered by the program's own model. */
import type { Assistant } from "../agent/index.ts";
import type { AssistantSettings } from "../config/index.ts";
import { createInquiryBackend, type InquiryBackend } from "../inquiry/index.ts";
import type { Model } from "../provider/index.ts";
import type { Clock } from "../util/index.ts";

export interface InquiriesOptions {
  readonly model: Model;
  readonly assistant: Assistant;
  readonly clock: Clock;
}

export function createInquiries({ model, assistant, clock }: InquiriesOptions): InquiryBackend {
  const { systemPrompt, sections, parameters, toolChoice, request, cache } = assistant;
  const [provider = "", ...name] = model.id.split("/");
  const { reasoning, ...others } = parameters;
  const settings: AssistantSettings = {
    name: "assistant",
    model: { provider, name: name.join("/") },
    parameters: {
      ...others,
      ...(reasoning !== undefined && {
        reasoning: reasoning.type === "auto" ? { isHidden: false, ...reasoning } : reasoning,
      }),
    },
    ...(systemPrompt !== undefined && { systemPrompt }),
    sections,
    toolChoice,
    request,
    cache,
  };
  return createInquiryBackend({
    assistant: () => settings,
    model: async () => model,
    tools: () => [],
    attachments: () => [],
    schemaMode: "stable",
    clock,
  });
}
