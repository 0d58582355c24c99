/** Tools' questions for the assistant, answered by the program's own model. */
import type { Assistant } from "../agent/index.ts";
import type { AssistantSettings } from "../config/index.ts";
import type { Attachment } from "../conversation/index.ts";
import { createInquiryBackend, type InquiryBackend } from "../inquiry/index.ts";
import type { Model, ToolSchema } from "../provider/index.ts";
import type { Clock } from "../util/index.ts";

export interface InquiriesOptions {
  readonly model: Model;
  readonly assistant: Assistant;
  readonly tools: readonly ToolSchema[];
  readonly attachments: readonly Attachment[];
  readonly clock: Clock;
}

export function createInquiries(options: InquiriesOptions): InquiryBackend {
  const { model, assistant, tools, attachments, clock } = options;
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
    tools: () => tools,
    attachments: () => attachments,
    schemaMode: "stable",
    clock,
  });
}
