/**
 * What differs between the APIs for which a request is written and from which a reply is read. Small
 * pure functions; the path on which they are called is in `from-language-model.ts`.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { ProviderEvent } from "../../conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { CachePolicy, ModelParameters, SchemaChange } from "../port.ts";
import { toEffort } from "./effort.ts";

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
