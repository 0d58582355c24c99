/**
 * The differences between the providers' APIs, as small pure functions. `request.ts` and `reply.ts` call
 * them; each provider's file overrides the defaults.
 */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ChatResponse, ProviderEvent } from "../../record/conversation/index.ts";
import { isJsonObject, type JpErrorOptions, type Json, type JsonObject } from "../../util/index.ts";
import type { CachePolicy, ModelParameters, SchemaChange } from "./port.ts";
import { ProviderError } from "./provider-error.ts";

export interface Dialect {
  /** The AI SDK's name for this provider in options and metadata. */
  readonly key: string;
  /** Rules of the chat templates of local models. Absent for APIs, which take any conversation. */
  readonly template?: TemplateRules;
  /** Whether the API can demand a call of one named tool. If not, that tool is the only one sent. */
  readonly canNameTool: boolean;
  /** Whether calls must be forbidden for a schema to be enforced. */
  readonly forbidsCallsWithSchema: boolean;
  /** Absent if the provider decides by itself what to cache. */
  readonly cache?: CacheSupport;
  /** The effect of a schema on a request that has tools. */
  readonly schemaChanges: SchemaChange;
  /**
   * Whether every complete reply has a finish reason. If one is missing, the connection was lost, and
   * the package has made up the rest: an end, and arguments for unfinished tool calls.
   */
  readonly alwaysSendsFinishReason: boolean;
  /** Whether the result of a call may have images and PDFs, not only text. */
  readonly takesResultFiles: boolean;
  /** Hints for errors that only this provider has. */
  readonly hints?: readonly ErrorHint[];

  /** From the provider's metadata on a piece of a reply to the metadata of our event. */
  toEventMetadata(kind: PieceKind, metadata: JsonObject): JsonObject;
  /** The reverse: options to send a piece back with. Empty for pieces of other providers. */
  toPartOptions(event: ProviderEvent): JsonObject;
  /** The part of the reasoning that this provider accepts. It would reject that of others. No turn depends on another. */
  ownReasoning(reasoning: readonly ChatResponse[]): readonly ChatResponse[];
  /** Whether some model of this provider takes files of this type. Text is never sent as a file. */
  readonly acceptsFile: (mediaType: string) => boolean;
  toToolSchema(schema: JsonObject): JsonObject;
  toOutputSchema(schema: JsonObject): JsonObject;
  /** `schema` is that of the structured output, if one is wanted. */
  toOptions(parameters: ModelParameters, schema: JsonObject | undefined): DialectOptions;
  /** From a chunk of the stream as the server sent it. */
  findProgress?(chunk: JsonObject): PromptProgress | undefined;
  /** In US dollars, from the metadata of a whole reply. */
  findCost(metadata: JsonObject): number | undefined;
}

/**
 * A template writes one text per message, and expects the assistant to speak after the results of its calls.
 */
export interface TemplateRules {
  readonly calls: CallHistory;
  /** Ids of calls are nine letters and digits: some templates insist on that. */
  readonly hasShortIds: boolean;
}

/**
 * How calls and their results are sent back: as the model made them; one after the other, each with its
 * result; or described in words.
 */
export type CallHistory = "as_made" | "one_by_one" | "as_text";

interface ErrorHint extends Pick<JpErrorOptions, "commandHint"> {
  /** Matches the server's own words. */
  readonly pattern: RegExp;
  readonly hint: string;
}

export interface PromptProgress {
  readonly processed: number;
  readonly total: number;
}

export type PieceKind = "reasoning" | "message" | "tool_call";

export interface CacheSupport {
  /** Where the API accepts a cache mark. */
  readonly places: ReadonlySet<CachePlace>;
  mark(policy: Exclude<CachePolicy, "off">): JsonObject;
}

export type CachePlace = "system" | "tools" | "user" | "assistant" | "tool";

export interface DialectOptions {
  readonly reasoning?: NonNullable<LanguageModelV4CallOptions["reasoning"]>;
  readonly options: JsonObject;
}

/** For unknown models: whatever the AI SDK does by default. */
export function defaultDialect(key: string): Dialect {
  return {
    key,
    canNameTool: true,
    forbidsCallsWithSchema: false,
    schemaChanges: "prompt",
    alwaysSendsFinishReason: false,
    takesResultFiles: false,
    toEventMetadata: () => ({}),
    toPartOptions: () => ({}),
    ownReasoning: () => [],
    acceptsFile: () => true,
    toToolSchema: (schema) => schema,
    toOutputSchema: (schema) => schema,
    toOptions: ({ reasoning }) => ({ ...toReasoningLevel(reasoning), options: {} }),
    findCost: () => undefined,
  };
}

/** For models on the user's machine: Ollama and llama.cpp. Their reasoning is plain, unsigned text. */
export function localDialect(key: string): Dialect {
  return {
    ...defaultDialect(key),
    template: { calls: "as_made", hasShortIds: false },
    canNameTool: false,
    acceptsFile: (mediaType) => mediaType.startsWith("image/"),
    schemaChanges: "nothing", // It becomes a grammar that constrains the output.
    ownReasoning: (reasoning) => reasoning.filter((event) => !isSigned(event)),
  };
}

/** The media types that Anthropic, OpenAI and OpenRouter take. */
export function isImageOrPdf(mediaType: string): boolean {
  return /^(?:image\/(?:jpeg|png|gif|webp)|application\/pdf)$/.test(mediaType);
}

function isSigned({ metadata = {} }: ChatResponse): boolean {
  return Object.keys(metadata).some((key) => /^(?:anthropic|google|openai|openrouter)_/.test(key));
}

/** `auto` is up to the provider. */
export function toReasoningLevel(
  reasoning: ModelParameters["reasoning"],
): Pick<DialectOptions, "reasoning"> {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  return { reasoning: reasoning.type === "off" ? "none" : toEffort(reasoning.effort) };
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export type Effort = (typeof EFFORTS)[number];

/** Turns a number of tokens into the nearest level, for providers that only know levels. */
export function toEffort(effort: string | number): Effort {
  if (typeof effort === "number") {
    if (effort === 0) return "none";
    if (effort <= 2048) return "low";
    return effort <= 16_384 ? "medium" : "high";
  }
  const known = EFFORTS.find((name) => name === effort);
  if (known !== undefined) return known;
  throw new ProviderError("invalid_request", `Unknown reasoning effort "${effort}".`, {
    isRetryable: false,
    hint: `Use one of ${EFFORTS.join(", ")}, or a number of tokens.`,
  });
}

/** Picks the keys in `names` that have a value, under their new names. */
export function pickRenamed(
  values: JsonObject,
  names: Readonly<Record<string, string>>,
): JsonObject {
  const picked: Record<string, Json> = {};
  for (const [from, to] of Object.entries(names)) {
    const value = values[from];
    if (value !== undefined && value !== null) picked[to] = value;
  }
  return picked;
}

/** The AI SDK keeps options in one object per provider. Returns nothing for empty options. */
export function toProviderOptions(
  key: string,
  options: JsonObject,
): { providerOptions?: SharedV4ProviderOptions } {
  return Object.keys(options).length === 0 ? {} : { providerOptions: { [key]: options } };
}

/** Read by the stand-in for zod in our bundles, `scripts/lazy-zod.cjs`. */
const VALID = Symbol.for("jp-ts.valid-options");

/** Marks options of our own making: the provider's package need not check them, which would load zod before the request. */
export function asValid(options: JsonObject): JsonObject {
  return Object.defineProperty({ ...options }, VALID, { value: true });
}

/** The provider's own object in the AI SDK's options or metadata. */
export function metadataOf(key: string, providerMetadata: unknown): JsonObject {
  const all = isJsonObject(providerMetadata) ? providerMetadata : {};
  const own = all[key];
  return isJsonObject(own) ? own : {};
}
