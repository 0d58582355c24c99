/** Resolves the settings of an assistant: the main one, and the one that answers a tool's questions. */
import { isJsonObject, type JsonObject, MAX_TIMER_MS } from "../../util/index.ts";
import { configError } from "./config-error.ts";
import { ASSISTANT_DEFAULTS } from "./defaults.ts";
import { findSeconds } from "./duration.ts";
import { mergeConfig } from "./layers.ts";
import { type ResolvedModelId, resolveModelId } from "./model-id.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { definedOnly } from "./defined-only.ts";
import type { QuestionTarget } from "./schema/tool.ts";

/** The settings in force for an assistant. */
export interface AssistantSettings {
  readonly name: string;
  readonly model: ResolvedModelId;
  readonly parameters: ParameterSettings;
  /** Absent if it is empty. */
  readonly systemPrompt?: string;
  /** Sorted by position. */
  readonly sections: readonly AssistantSection[];
  /** Describes the model's surroundings. Not from the config: a turn adds it. */
  readonly surroundings?: string;
  readonly toolChoice: "auto" | "none" | "required" | { readonly tool: string };
  readonly request: RequestSettings;
  readonly cache: CachePolicy;
}

/** Absent parameters are left to the provider. */
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
  readonly promptTimeoutMs: number;
  /** 0 for no limit. */
  readonly maxResponseBytes: number;
}

type PartialAssistant = NonNullable<PartialConfig["assistant"]>;
type AssistantTarget = Extract<QuestionTarget, { readonly type: "assistant" }>;

/** Throws `no_model`, `unknown_model_alias`, `model_alias_cycle`, and `config_invalid`. */
export function resolveAssistant(config: PartialConfig): AssistantSettings {
  return settingsOf(config.assistant ?? {}, config);
}

/**
 * Merges the settings of the question's own assistant, of the assistant for all questions, and of the main one, in this
 * order of precedence. Throws like `resolveAssistant`.
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
 * Texts and lists of one assistant replace the other's: a conversation records them without their strategy, and they must
 * mean the same in every turn.
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
      promptTimeoutMs: toMilliseconds(request.prompt_timeout_secs),
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
    other: { ...other, ...unknown } as JsonObject, // JSON, as read from a config file.
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

interface AssistantSection {
  readonly title?: string;
  readonly content: string;
}

type Lists = NonNullable<PartialConfig["assistant"]>;
type Section = NonNullable<Lists["system_prompt_sections"]>["value"][number];
type Instruction = NonNullable<Lists["instructions"]>["value"][number];

/** Sorts `system_prompt_sections` and `instructions` by position, sections first. Leaves out empty ones. */
export function resolveSections(
  sections: readonly Section[],
  instructions: readonly Instruction[],
): readonly AssistantSection[] {
  const placed = [
    ...sections.map(({ title, position, ...rest }) => ({
      title,
      position,
      content: sectionText(rest),
    })),
    ...instructions.map(({ title, position, ...rest }) => ({
      title,
      position,
      content: instructionText(rest),
    })),
  ];
  return placed
    .filter(({ content }) => content !== "")
    .toSorted((left, right) => (left.position ?? 0) - (right.position ?? 0))
    .map(({ title, content }) => ({ ...(title !== undefined && { title }), content }));
}

/** A tag wraps it in an element of that name. */
function sectionText({ tag, content }: Pick<Section, "tag" | "content">): string {
  const text = content.trim();
  return tag === undefined || text === "" ? text : `<${tag}>\n${text}\n</${tag}>`;
}

function instructionText(instruction: Omit<Instruction, "title" | "position">): string {
  const { description = "", items = [], examples = [] } = instruction;
  const paragraphs = [
    description.trim(),
    items.map((item) => listItem(item)).join("\n"),
    examples.length === 0 ? "" : `Examples:\n\n${examples.map(exampleText).join("\n")}`,
  ];
  return paragraphs.filter((paragraph) => paragraph !== "").join("\n\n");
}

/** Formats a text, or an object such as `{ good, bad, reason }`; anything else as JSON. */
function exampleText(example: unknown): string {
  if (typeof example === "string") return listItem(example);
  if (!isJsonObject(example)) return listItem(JSON.stringify(example));
  const lines = Object.entries(example).map(
    ([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return listItem(lines.join("\n"));
}

/** Indents further lines below the first. */
function listItem(text: string): string {
  return `- ${text.trim().replaceAll("\n", "\n  ")}`;
}

type CachePolicy = "off" | "short" | "long";

const HOUR = 3600;

const NAMED: Readonly<Record<string, CachePolicy>> = {
  true: "short",
  short: "short",
  long: "long",
  false: "off",
  off: "off",
};

/** Parses `request.cache`: a word, or a duration such as `90s` or `1h 30m`. Throws `config_invalid`. */
export function parseCachePolicy(written: boolean | string): CachePolicy {
  const text = String(written).trim();
  if (Object.hasOwn(NAMED, text)) return NAMED[text] ?? "off";
  const seconds = findSeconds(text);
  if (seconds === undefined) throw unreadable();
  if (seconds === 0) return "off";
  return seconds >= HOUR ? "long" : "short";
}

function unreadable(): Error {
  return configError("config", {
    path: ["assistant", "request", "cache"],
    message: "expected true, short, long, false, off or a duration like 30m",
  });
}
