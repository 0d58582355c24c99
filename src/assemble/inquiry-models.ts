/** The models that answer tools' questions in a turn. */
import type { Assistant } from "../core/agent/index.ts";
import {
  type AssistantSettings,
  type PartialConfig,
  resolveInquiryAssistant,
} from "../settings/config/index.ts";
import type { InquiryBackend, InquiryBackendOptions } from "../core/answer-model/index.ts";
import type { Model, Providers } from "../reach/provider/index.ts";
import { loaderOf } from "../util/index.ts";
import type { Surroundings } from "./surroundings.ts";

/** Most turns ask no model for an answer. Throws `module_not_loaded`. */
export const loadInquiries = loaderOf(() => import("../core/answer-model/index.ts"));

/** A backend that is loaded with its first inquiry, which may throw `module_not_loaded`. */
export function createInquiries(options: InquiryBackendOptions): InquiryBackend {
  let backend: InquiryBackend | undefined;
  return {
    async inquire(call) {
      const { createInquiryBackend } = await loadInquiries();
      backend ??= createInquiryBackend(options);
      return backend.inquire(call);
    },
  };
}

/** The model for each question, chosen by the question's `target`. */
export type InquiryModels = Pick<
  InquiryBackendOptions,
  "assistant" | "model" | "schemaMode" | "maxParallel"
>;

/** `conversation.inquiry`, for the command's turns. */
export function configuredInquiryModels(
  config: PartialConfig,
  providers: Providers,
): InquiryModels {
  const { schema = "stable", max_parallel } = config.conversation?.inquiry ?? {};
  return {
    assistant: (target) => resolveInquiryAssistant(config, target),
    model: ({ model: { provider, name } }) => providers.model(provider, name),
    schemaMode: schema,
    ...(max_parallel !== undefined && { maxParallel: max_parallel }),
  };
}

interface InquiryModelOptions {
  readonly inquiryModels?: InquiryModels;
  readonly surroundings?: Surroundings;
}

/**
 * The models that answer questions: the program's choice, or `model`. They get the same description of the
 * surroundings.
 */
export function inquiryModelsOf(
  { inquiryModels, surroundings }: InquiryModelOptions,
  model: Model,
  assistant: Assistant,
): InquiryModels {
  if (inquiryModels === undefined) return oneModel(model, assistant);
  return {
    ...inquiryModels,
    assistant: (target) => withSurroundings(inquiryModels.assistant(target), surroundings),
  };
}

/** Uses one model for every question. */
function oneModel(model: Model, assistant: Assistant): InquiryModels {
  const { systemPrompt, sections, surroundings, parameters, toolChoice, request, cache } =
    assistant;
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
    ...(surroundings !== undefined && { surroundings }),
    toolChoice,
    request,
    cache,
  };
  return { assistant: () => settings, model: async () => model, schemaMode: "stable" };
}

/** Adds the surroundings to an assistant's prompt. */
export function withSurroundings<Of extends Pick<AssistantSettings, "sections" | "surroundings">>(
  assistant: Of,
  surroundings: Surroundings | undefined,
): Of {
  if (surroundings === undefined) return assistant;
  const { sections, text } = surroundings;
  return {
    ...assistant,
    sections: [...assistant.sections, ...sections],
    ...(text !== undefined && { surroundings: text }),
  };
}
