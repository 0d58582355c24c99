/**
 * The differences between the providers' APIs, as small pure functions. `request.ts` and `reply.ts` call them; each
 * provider's file overrides the defaults.
 */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ChatResponse, ProviderEvent } from "../../record/conversation/index.ts";
import { isJsonObject, type JpErrorOptions, type Json, type JsonObject } from "../../util/index.ts";
import type { CachePolicy, ModelParameters, SchemaChange } from "./port.ts";
import { ProviderError } from "./provider-error.ts";

export interface Dialect {
  /** The AI SDK's name for this provider in options and metadata. */
  readonly key: string;
  /** Rules of local models' chat templates. Absent for APIs, which accept any conversation. */
  readonly template?: TemplateRules;
  /** Whether the API can require a call of one named tool. If not, only that tool is sent. */
  readonly canNameTool: boolean;
  /** Whether calls must be forbidden for a schema to be enforced. */
  readonly forbidsCallsWithSchema: boolean;
  /** Absent if the provider caches on its own. */
  readonly cache?: CacheSupport;
  /** The effect of a schema on a request that has tools. */
  readonly schemaChanges: SchemaChange;
  /**
   * Whether every complete reply has a finish reason. If it is missing, the connection was lost, and the package has made
   * up the rest: an end, and arguments for unfinished tool calls.
   */
  readonly alwaysSendsFinishReason: boolean;
  /** Whether the result of a call may have images and PDFs, not only text. */
  readonly takesResultFiles: boolean;
  /** Whether the result of a call may be JSON. For others, the package would write the same text. */
  readonly takesJsonResults: boolean;
  /** Hints for this provider's own errors. */
  readonly hints?: readonly ErrorHint[];

  /** Converts the provider's metadata on a piece of a reply to our event's metadata. */
  toEventMetadata(kind: PieceKind, metadata: JsonObject): JsonObject;
  /** The reverse: options for sending a piece back. Empty for pieces of other providers. */
  toPartOptions(event: ProviderEvent): JsonObject;
  /** The reasoning that this provider accepts; it would reject other providers'. No turn depends on another. */
  ownReasoning(reasoning: readonly ChatResponse[]): readonly ChatResponse[];
  /** Whether any model of this provider accepts files of this type. Text is never sent as a file. */
  readonly acceptsFile: (mediaType: string) => boolean;
  toToolSchema(schema: JsonObject): JsonObject;
  toOutputSchema(schema: JsonObject): JsonObject;
  /** `schema` is the structured output's, if any. */
  toOptions(parameters: ModelParameters, schema: JsonObject | undefined): DialectOptions;
  /** Reads a raw chunk of the server's stream. */
  findProgress?(chunk: JsonObject): PromptProgress | undefined;
  /** The cost in US dollars, from the metadata of a whole reply. */
  findCost(metadata: JsonObject): number | undefined;
}

/**
 * A template writes one text per message, and expects the assistant to speak after the results of its calls.
 */
export interface TemplateRules {
  readonly calls: CallHistory;
  /** Call ids must be nine letters and digits, as some templates insist. */
  readonly hasShortIds: boolean;
}

/**
 * How calls and their results are sent back: as the model made them; one after the other, each with its result; or
 * described as text.
 */
export type CallHistory = "as_made" | "one_by_one" | "as_text";

interface ErrorHint extends Pick<JpErrorOptions, "commandHint"> {
  /** Matches the server's message. */
  readonly pattern: RegExp;
  readonly hint: string;
}

export interface PromptProgress {
  readonly processed: number;
  readonly total: number;
}

export type PieceKind = "reasoning" | "message" | "tool_call" | "file";

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

/** The AI SDK's default behavior, for unknown models. */
export function defaultDialect(key: string): Dialect {
  return {
    key,
    canNameTool: true,
    forbidsCallsWithSchema: false,
    schemaChanges: "prompt",
    alwaysSendsFinishReason: false,
    takesResultFiles: false,
    takesJsonResults: false,
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

/** The dialect of local models: Ollama and llama.cpp. Their reasoning is plain, unsigned text. */
export function localDialect(key: string): Dialect {
  return {
    ...defaultDialect(key),
    template: { calls: "as_made", hasShortIds: false },
    canNameTool: false,
    acceptsFile: (mediaType) => mediaType.startsWith("image/"),
    schemaChanges: "nothing", // The schema becomes a grammar that constrains the output.
    ownReasoning: (reasoning) => reasoning.filter((event) => !isSigned(event)),
  };
}

/** The media types that Anthropic, OpenAI and OpenRouter accept. */
export function isImageOrPdf(mediaType: string): boolean {
  return /^(?:image\/(?:jpeg|png|gif|webp)|application\/pdf)$/.test(mediaType);
}

function isSigned({ metadata = {} }: ChatResponse): boolean {
  return Object.keys(metadata).some((key) => /^(?:anthropic|google|openai|openrouter)_/.test(key));
}

/** `auto` leaves it to the provider. */
export function toReasoningLevel(
  reasoning: ModelParameters["reasoning"],
): Pick<DialectOptions, "reasoning"> {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  return { reasoning: reasoning.type === "off" ? "none" : toEffort(reasoning.effort) };
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export type Effort = (typeof EFFORTS)[number];

/** Maps a number of tokens to a level, for providers that only support levels. */
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

/** Picks the keys in `names` that have a value, and renames them. */
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

/** The AI SDK keeps options in one object per provider. Returns an empty object for empty options. */
export function toProviderOptions(
  key: string,
  options: JsonObject,
): { providerOptions?: SharedV4ProviderOptions } {
  return Object.keys(options).length === 0 ? {} : { providerOptions: { [key]: options } };
}

/** Read by the stand-in for zod in our bundles, `scripts/lazy-zod.cjs`. */
const VALID = Symbol.for("jp-ts.valid-options");

/**
 * Marks options that we built ourselves: the provider's package need not validate them, which would load zod before the
 * request.
 */
export function asValid(options: JsonObject): JsonObject {
  return Object.defineProperty({ ...options }, VALID, { value: true });
}

/** The provider's own object in the AI SDK's options or metadata. */
export function metadataOf(key: string, providerMetadata: unknown): JsonObject {
  const all = isJsonObject(providerMetadata) ? providerMetadata : {};
  const own = all[key];
  return isJsonObject(own) ? own : {};
}
