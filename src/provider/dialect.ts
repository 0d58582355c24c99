/**
 * What differs between the APIs for which a request is written and from which a reply is read. Small
 * pure functions; the path on which they are called is in `from-language-model.ts`.
 */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ProviderEvent } from "../conversation/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import type { CachePolicy, ModelParameters, SchemaChange } from "./port.ts";
import { ProviderError } from "./provider-error.ts";

export interface Dialect {
  /** Under which the AI SDK keeps its options and its metadata. */
  readonly key: string;
  /** Chat templates of local models often take one system message, in front, and no more. */
  readonly joinsSystemParts: boolean;
  /** Absent where a provider decides by itself what it keeps. */
  readonly cache?: CacheSupport;
  /** What a schema changes in a request that has tools. */
  readonly schemaChanges: SchemaChange;
  /**
   * Whether a complete reply always says why it ended. Its package makes up the rest of one that does
   * not: an end, and arguments for calls that had none yet.
   */
  readonly isEndAlwaysNamed: boolean;
  /** What its errors say when a conversation is too long for the model. */
  readonly contextTooLong: RegExp;

  /** From what the provider says about a piece of its reply to the metadata of the event. */
  toEventMetadata(kind: PieceKind, metadata: JsonObject): JsonObject;
  /** The other way: the options with which a piece goes back. Empty for what others wrote. */
  toPartOptions(event: ProviderEvent): JsonObject;
  /** Without the reasoning that this provider does not take back, as other ones wrote it. */
  withOwnReasoning(events: readonly ProviderEvent[]): readonly ProviderEvent[];
  toToolSchema(schema: JsonObject): JsonObject;
  toOutputSchema(schema: JsonObject): JsonObject;
  /** `schema` is the structured output that is wanted. */
  toOptions(parameters: ModelParameters, schema: JsonObject | undefined): DialectOptions;
  /** In US dollars, from the metadata of a whole reply. */
  findCost(metadata: JsonObject): number | undefined;
}

export type PieceKind = "reasoning" | "message" | "tool_call";

export interface CacheSupport {
  readonly places: ReadonlySet<CachePlace>;
  mark(policy: Exclude<CachePolicy, "off">): JsonObject;
}

export type CachePlace = "system" | "tools" | "user" | "assistant" | "tool";

export interface DialectOptions {
  readonly reasoning?: NonNullable<LanguageModelV4CallOptions["reasoning"]>;
  readonly options: JsonObject;
}

/** For a model of which nothing is known: what the AI SDK makes of it. */
export function plainDialect(key: string): Dialect {
  return {
    key,
    joinsSystemParts: false,
    schemaChanges: "prompt",
    isEndAlwaysNamed: false,
    contextTooLong: /context.?(?:length|window|size|limit)|too many tokens|prompt is too long/i,
    toEventMetadata: () => ({}),
    toPartOptions: () => ({}),
    withOwnReasoning: (events) => events.filter((event) => !isReasoning(event)),
    toToolSchema: (schema) => schema,
    toOutputSchema: (schema) => schema,
    toOptions: ({ reasoning }) => ({ ...reasoningLevel(reasoning), options: {} }),
    findCost: () => undefined,
  };
}

/** Models on your own machine, Ollama's and llama.cpp's: reasoning is plain, unsigned text. */
export function localDialect(key: string): Dialect {
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

export function isReasoning(event: ProviderEvent): boolean {
  return event.type === "chat_response" && event.content.type === "reasoning";
}

/** `auto` is left to the provider. */
export function reasoningLevel(
  reasoning: ModelParameters["reasoning"],
): Pick<DialectOptions, "reasoning"> {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  return { reasoning: reasoning.type === "off" ? "none" : toEffort(reasoning.effort) };
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export type Effort = (typeof EFFORTS)[number];

/** A number of tokens becomes the name that is nearest to it, for providers that take only names. */
export function toEffort(effort: string | number): Effort {
  if (typeof effort === "number") return effortOfTokens(effort);
  const known = EFFORTS.find((name) => name === effort);
  if (known !== undefined) return known;
  throw new ProviderError("invalid_request", `There is no reasoning effort "${effort}".`, {
    isRetryable: false,
    hint: `Use one of ${EFFORTS.join(", ")}, or a number of tokens.`,
  });
}

function effortOfTokens(tokens: number): Effort {
  if (tokens === 0) return "none";
  if (tokens <= 2048) return "low";
  return tokens <= 16_384 ? "medium" : "high";
}

/** Takes the keys that `names` has and that hold something; all others stay behind. */
export function renamed(values: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const taken: Record<string, Json> = {};
  for (const [from, to] of Object.entries(names)) {
    const value = values[from];
    if (value !== undefined && value !== null) taken[to] = value;
  }
  return taken;
}

/** Options for one provider; none at all where there is nothing to say. */
export function optionsFor(
  key: string,
  options: JsonObject,
): { providerOptions?: SharedV4ProviderOptions } {
  return Object.keys(options).length === 0 ? {} : { providerOptions: { [key]: options } };
}

/** What a provider says about a piece of its reply. */
export function metadataOf(key: string, providerMetadata: unknown): JsonObject {
  const all = isJsonObject(providerMetadata) ? providerMetadata : {};
  const own = all[key];
  return isJsonObject(own) ? own : {};
}
