/**
 * A model, whoever serves it. A request is built from the parts of a thread, which hold nothing that a
 * model must not see; what comes back is one vocabulary for all providers. Retrying is not done here.
 */
import type { ThreadParts } from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";

/** A model that can be asked. */
export interface Model {
  /** `provider/name`, as the record tells who answered. */
  readonly id: string;
  /** In tokens, where it is known. */
  readonly contextWindow?: number;

  /**
   * Throws `ProviderError`, also in the middle of a reply. Abort ends it at once, by throwing the
   * signal's reason. A reply that ended well has `response_end` as its last event.
   */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** What a model is asked. */
export interface ModelRequest {
  /** With the schema of the structured output, if one is wanted. */
  readonly parts: ThreadParts;
  /** What a provider may change to enforce that schema; if absent, anything. */
  readonly schemaMayChange?: SchemaChange;
  readonly tools: readonly ToolSchema[];
  readonly toolChoice: ToolChoice;
  readonly parameters: ModelParameters;
  readonly cache: CachePolicy;
  readonly signal: AbortSignal;
}

/**
 * What a schema changes in the rest of a request: nothing, where it only constrains what is written; the
 * prompt, where the provider explains it to the model; the tools, where a tool is made of it. A cache
 * of an earlier request serves this one up to what changed.
 */
export type SchemaChange = "nothing" | "prompt" | "tools";

/** A tool as a model is told of it. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
}

/** Whether a model may, must or must not call tools; or which one it must. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** What is absent is left to the provider. */
export interface ModelParameters {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopWords?: readonly string[];
  readonly reasoning?: Reasoning;
  /** Passed on to the provider as they are. */
  readonly other: JsonObject;
}

/** How much a model is to think before it answers. */
export type Reasoning =
  | { readonly type: "off" }
  /** `isHidden`: thought, but not shown. */
  | { readonly type: "auto"; readonly isHidden?: boolean }
  /** By name, or as a number of tokens. */
  | { readonly type: "effort"; readonly effort: string | number; readonly isHidden: boolean };

/** Whether the provider keeps what it has read for the next request, and for how long. */
export type CachePolicy = "off" | "short" | "long";

/** A piece of a reply, as it comes. */
export type ModelEvent =
  | { readonly type: "reasoning_delta"; readonly text: string }
  /** `metadata` goes into the record with the text: signatures, without which it is not taken back. */
  | { readonly type: "reasoning_end"; readonly metadata?: JsonObject }
  | { readonly type: "message_delta"; readonly text: string }
  | { readonly type: "message_end"; readonly metadata?: JsonObject }
  /** A call whose arguments are still to come. */
  | { readonly type: "tool_call_start"; readonly id: string; readonly name: string }
  /** More of the arguments has come, as text that is of no use yet. */
  | { readonly type: "tool_call_delta"; readonly id: string; readonly text: string }
  | {
      readonly type: "tool_call_request";
      readonly id: string;
      readonly name: string;
      readonly arguments: JsonObject;
      readonly metadata?: JsonObject;
    }
  | { readonly type: "response_end"; readonly reason: EndReason; readonly usage: Usage };

/** `length`: the reply reached its limit. `refused`: by the model, or by a filter around it. */
export type EndReason = "stop" | "tool_calls" | "length" | "refused" | "other";

/** In tokens; what the provider does not tell is absent. */
export interface Usage {
  readonly input?: number;
  /** The part of the input that was in the cache, and the part that was put there. */
  readonly cachedInput?: number;
  readonly cacheWrites?: number;
  readonly output?: number;
  readonly reasoning?: number;
  /** In US dollars. */
  readonly cost?: number;
}
