/** What is in force for an assistant: the main one, and the one that answers a tool's questions. */
import { type JsonObject, MAX_TIMER_MS } from "../util/index.ts";
import { type AssistantSection, resolveSections } from "./assistant-sections.ts";
import { type CachePolicy, parseCachePolicy } from "./cache-policy.ts";
import { ASSISTANT_DEFAULTS } from "./defaults.ts";
import { mergeConfig } from "./merge.ts";
import { type ResolvedModelId, resolveModelId } from "./resolve-model-id.ts";
import { definedOnly } from "./schema/behaviour.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import type { QuestionTarget } from "./schema/question.ts";

/** What is in force for an assistant. */
export interface AssistantSettings {
  readonly name: string;
  readonly model: ResolvedModelId;
  readonly parameters: ParameterSettings;
  /** Absent if nothing is to be said. */
  readonly systemPrompt?: string;
  /** In their order. */
  readonly sections: readonly AssistantSection[];
  readonly toolChoice: "auto" | "none" | "required" | { readonly tool: string };
  readonly request: RequestSettings;
  readonly cache: CachePolicy;
}

/** What is absent is left to the provider. */
interface ParameterSettings {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopWords?: readonly string[];
  readonly reasoning?: ReasoningSettings;
  readonly other: JsonObject;
}

type ReasoningSettings =
  | { readonly type: "off" }
  | { readonly type: "auto"; readonly isHidden: boolean }
  | { readonly type: "effort"; readonly effort: string | number; readonly isHidden: boolean };

interface RequestSettings {
  readonly maxRetries: number;
  readonly baseBackoffMs: number;
  readonly maxBackoffMs: number;
  /** 0 for no limit. */
  readonly idleTimeoutMs: number;
  /** 0 for no limit. */
  readonly maxResponseBytes: number;
}

type PartialAssistant = NonNullable<PartialConfig["assistant"]>;
type AssistantTarget = Extract<QuestionTarget, { readonly type: "assistant" }>;

/**
 * What is in force for the assistant. Throws `no_model`, `unknown_model_alias`, `model_alias_cycle`,
 * and `config_invalid`.
 */
export function resolveAssistant(config: PartialConfig): AssistantSettings {
  return settingsOf(config.assistant ?? {}, config);
}

/**
 * What the question says of its assistant, then what holds for all questions, then the main assistant.
 * Throws as `resolveAssistant` does.
 */
export function resolveInquiryAssistant(
  config: PartialConfig,
  target: AssistantTarget,
): AssistantSettings {
  const { assistant = {}, conversation } = config;
  const forAll = over(assistant, conversation?.inquiry?.assistant ?? {});
  return settingsOf(over(forAll, target.assistant), config);
}

function over(lower: PartialAssistant, upper: PartialAssistant): PartialAssistant {
  return mergeConfig({ assistant: lower }, { assistant: withWholeLists(upper) }).assistant ?? {};
}

/**
 * Texts and lists that one assistant has are not added to the other's. A conversation remembers them
 * without the way they were merged, and they must mean the same in every turn of it.
 */
function withWholeLists(assistant: PartialAssistant): PartialAssistant {
  const { system_prompt, system_prompt_sections, instructions } = assistant;
  const strategy = "replace" as const;
  return {
    ...assistant,
    ...(system_prompt && { system_prompt: { ...system_prompt, strategy } }),
    ...(system_prompt_sections && {
      system_prompt_sections: { ...system_prompt_sections, strategy },
    }),
    ...(instructions && { instructions: { ...instructions, strategy } }),
  };
}

function settingsOf(assistant: PartialAssistant, config: PartialConfig): AssistantSettings {
  const { value: systemPrompt } = assistant.system_prompt ?? ASSISTANT_DEFAULTS.system_prompt;
  const request = { ...ASSISTANT_DEFAULTS.request, ...definedOnly(assistant.request ?? {}) };
  return {
    name: assistant.name ?? ASSISTANT_DEFAULTS.name,
    model: resolveModelId(assistant.model?.id, config.providers?.llm?.aliases ?? {}),
    parameters: parametersOf(assistant.model?.parameters ?? {}),
    ...(systemPrompt.trim() !== "" && { systemPrompt }),
    sections: resolveSections(
      assistant.system_prompt_sections?.value ?? [],
      assistant.instructions?.value ?? [],
    ),
    toolChoice: toolChoiceOf(assistant.tool_choice ?? ASSISTANT_DEFAULTS.tool_choice),
    request: {
      maxRetries: request.max_retries,
      baseBackoffMs: request.base_backoff_ms,
      maxBackoffMs: toMilliseconds(request.max_backoff_secs),
      idleTimeoutMs: toMilliseconds(request.stream_idle_timeout_secs),
      maxResponseBytes: request.max_response_bytes,
    },
    cache: parseCachePolicy(request.cache),
  };
}

type PartialParameters = NonNullable<NonNullable<PartialAssistant["model"]>["parameters"]>;

function parametersOf(parameters: PartialParameters): ParameterSettings {
  const { max_tokens, reasoning, temperature, top_p, top_k, stop_words, other, ...unknown } =
    parameters;
  return {
    ...(max_tokens !== undefined && { maxTokens: max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { topP: top_p }),
    ...(top_k !== undefined && { topK: top_k }),
    ...(stop_words !== undefined && { stopWords: stop_words }),
    ...(reasoning !== undefined && { reasoning: reasoningOf(reasoning) }),
    other: { ...other, ...unknown } as JsonObject, // Read from a config file: JSON.
  };
}

function reasoningOf(reasoning: NonNullable<PartialParameters["reasoning"]>): ReasoningSettings {
  const { effort = "auto", exclude: isHidden = false } =
    typeof reasoning === "object" ? reasoning : { effort: reasoning };
  if (effort === true || effort === "auto") return { type: "auto", isHidden };
  if (effort === false || effort === "off" || effort === "none" || effort === 0) {
    return { type: "off" };
  }
  return { type: "effort", effort, isHidden };
}

function toolChoiceOf(choice: string): AssistantSettings["toolChoice"] {
  return choice === "auto" || choice === "none" || choice === "required"
    ? choice
    : { tool: choice };
}

function toMilliseconds(seconds: number): number {
  return Math.min(seconds * 1000, MAX_TIMER_MS);
}
