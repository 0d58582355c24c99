/**
 * The port to a language model: what a request holds, and the events that a reply streams back. They are
 * the same for every provider. Retries are up to the caller.
 */
import type { ThreadParts, Usage } from "../../record/conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { Retry } from "./provider-error.ts";

/** A language model, ready to be asked. */
export interface Model {
  /** `provider/name`, as it is recorded with each reply. */
  readonly id: string;
  /** Runs on the user's own machine: it may read a prompt for minutes, and answers one question at a time. */
  readonly isLocal?: boolean;

  /** Whether it takes files of this type, such as `image/png`, as far as that is known. Absent: any. */
  readonly acceptsFile?: (mediaType: string) => boolean;

  /** May ask the server. Throws nothing but the signal's reason. */
  properties?(parameters: ModelParameters, signal: AbortSignal): Promise<ModelProperties>;

  /**
   * Throws `ProviderError`, possibly in the middle of a reply. On abort it throws the signal's reason
   * at once. A complete reply ends with `response_end`.
   */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** Known facts about a model. */
export interface ModelProperties {
  /** In tokens. */
  readonly contextWindow?: number;
  /** Its chat template shows it the results of calls. Many silently drop them. */
  readonly seesResults?: boolean;
  /** Whether it takes images. Absent if unknown. */
  readonly seesImages?: boolean;
}

/** One request to a model. */
export interface ModelRequest {
  /** Includes the schema of the structured output, if one is wanted. */
  readonly parts: ThreadParts;
  /** The part of the request that the provider may change to enforce that schema. Default: anything. */
  readonly schemaMayChange?: SchemaChange;
  readonly tools: readonly ToolSchema[];
  readonly toolChoice: ToolChoice;
  readonly parameters: ModelParameters;
  readonly cache: CachePolicy;
  readonly signal: AbortSignal;
  /** Gets what happens besides the reply. Must neither throw nor block. */
  readonly observe?: (update: RequestUpdate) => void;
}

/** Events of a request before and while its reply is streamed. */
export type RequestUpdate =
  /** Something arrived, even if it is no part of the reply: many servers send keep-alives. */
  | {
      readonly type: "alive";
      /** It is part of the reply, and held back for now. */
      readonly isReply?: boolean;
    }
  /** What the provider calls the reply that starts, and the model that writes it. */
  | { readonly type: "response_start"; readonly id?: string; readonly model?: string }
  /** How many tokens of the prompt the model has read so far, including those from its cache. */
  | { readonly type: "prompt_progress"; readonly processed: number; readonly total: number }
  /** A note for the user about how the request was sent. Said once per model. */
  | { readonly type: "notice"; readonly message: string }
  /** The request failed and will be retried. */
  | ({ readonly type: "retry_start" } & Retry);

/** Those that are about more than the request itself. */
export type RequestNews = Exclude<RequestUpdate, { readonly type: "alive" | "response_start" }>;

export function isNews(update: RequestUpdate): update is RequestNews {
  return update.type !== "alive" && update.type !== "response_start";
}

/**
 * The effect of a schema on the rest of a request. `nothing` if it only constrains the output, `prompt`
 * if the provider describes it to the model, `tools` if it is sent as a tool. A prompt cache stays
 * valid up to the first change.
 */
export type SchemaChange = "nothing" | "prompt" | "tools";

/** A tool as it is described to a model. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  /** Useless to a model that only has to answer in JSON. */
  readonly isAuxiliary?: boolean;
}

/** Whether a model may, must or must not call tools, or which tool it must call. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** Absent parameters keep the provider's defaults. */
export interface ModelParameters {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopWords?: readonly string[];
  readonly reasoning?: Reasoning;
  /** Sent to the provider unchanged. */
  readonly other: JsonObject;
}

/** How much a model thinks before it answers. */
export type Reasoning =
  | { readonly type: "off" }
  /** `isHidden`: the model thinks, but its reasoning is not shown. */
  | { readonly type: "auto"; readonly isHidden?: boolean }
  /** A named level, or a number of tokens. */
  | { readonly type: "effort"; readonly effort: string | number; readonly isHidden: boolean };

/** Whether the provider caches the prompt for the next request, and for how long. */
export type CachePolicy = "off" | "short" | "long";

/** A piece of a reply, as it is streamed. */
export type ModelEvent =
  | { readonly type: "reasoning_delta"; readonly text: string }
  /** `metadata` is recorded with the text: signatures that the provider wants back. */
  | { readonly type: "reasoning_end"; readonly metadata?: JsonObject }
  | { readonly type: "message_delta"; readonly text: string }
  | { readonly type: "message_end"; readonly metadata?: JsonObject }
  /** A tool call whose arguments are still to come. */
  | { readonly type: "tool_call_start"; readonly id: string; readonly name: string }
  /** A fragment of the arguments, not yet valid JSON. */
  | { readonly type: "tool_call_delta"; readonly id: string; readonly text: string }
  | {
      readonly type: "tool_call_request";
      readonly id: string;
      readonly name: string;
      readonly arguments: JsonObject;
      readonly metadata?: JsonObject;
    }
  | { readonly type: "response_end"; readonly reason: EndReason; readonly usage: Usage };

/** `length`: the reply hit its token limit. `refused`: by the model or by a content filter. */
export type EndReason = "stop" | "tool_calls" | "length" | "refused" | "other";

export type { Usage } from "../../record/conversation/index.ts";

/**
 * The only argument of a call whose arguments are not a JSON object. No tool has such a parameter, so
 * checking the arguments rejects the call and shows the model what it wrote.
 */
export const INVALID_ARGUMENTS = "__invalid_json";
