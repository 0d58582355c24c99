/**
 * The port to a language model: a request, and the events that its reply streams back. They are the same for every
 * provider. Retries are up to the caller.
 */
import type { NamedSource, ThreadParts, Usage } from "../../record/conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { Retry } from "./provider-error.ts";

/** A language model, ready for requests. */
export interface Model {
  /** `provider/name`, as recorded with each reply. */
  readonly id: string;
  /** Runs on the user's own machine: it may read a prompt for minutes, and handles one request at a time. */
  readonly isLocal?: boolean;

  /** Whether it accepts files of this type, such as `image/png`, as far as known. If absent, it accepts any. */
  readonly acceptsFile?: (mediaType: string) => boolean;

  /** May query the server. Throws only the signal's reason. */
  properties?(parameters: ModelParameters, signal: AbortSignal): Promise<ModelProperties>;

  /**
   * Throws `ProviderError`, possibly in the middle of a reply. On abort, throws the signal's reason at once. A complete
   * reply ends with `response_end`.
   */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** Known facts about a model. */
export interface ModelProperties {
  /** In tokens. */
  readonly contextWindow?: number;
  /** Its chat template shows it the results of calls. Many templates silently drop them. */
  readonly seesResults?: boolean;
  /** Whether it accepts images. Absent if unknown. */
  readonly seesImages?: boolean;
}

/** One request to a model. */
export interface ModelRequest {
  /** Includes the schema of the structured output, if any. */
  readonly parts: ThreadParts;
  /** The part of the request that the provider may change to enforce that schema. Default: anything. */
  readonly schemaMayChange?: SchemaChange;
  readonly tools: readonly ToolSchema[];
  readonly toolChoice: ToolChoice;
  readonly parameters: ModelParameters;
  readonly cache: CachePolicy;
  readonly signal: AbortSignal;
  /** Receives events besides the reply. Must neither throw nor block. */
  readonly observe?: (update: RequestUpdate) => void;
}

/** Events of a request before and while its reply is streamed. */
export type RequestUpdate =
  /** Something arrived, even if it is not part of the reply: many servers send keep-alives. */
  | {
      readonly type: "alive";
      /** It is part of the reply, which is held back for now. */
      readonly isReply?: boolean;
      /** The size of what arrived: of that part of the reply, otherwise as it came over the network. */
      readonly bytes?: number;
    }
  /** The provider's id for the reply that starts, and the model that writes it. */
  | { readonly type: "response_start"; readonly id?: string; readonly model?: string }
  /** How many tokens of the prompt the model has read so far, including those from its cache. */
  | { readonly type: "prompt_progress"; readonly processed: number; readonly total: number }
  /** A note for the user about how the request was sent. Sent once per model. */
  | { readonly type: "notice"; readonly message: string }
  /** The request failed and will be retried. */
  | ({ readonly type: "retry_start" } & Retry);

/** Updates that concern more than the request itself. */
export type RequestNews = Exclude<RequestUpdate, { readonly type: "alive" | "response_start" }>;

export function isNews(update: RequestUpdate): update is RequestNews {
  return update.type !== "alive" && update.type !== "response_start";
}

/**
 * The effect of a schema on the rest of a request. `nothing`: it only constrains the output. `prompt`: the provider
 * describes it to the model. `tools`: it is sent as a tool. A prompt cache stays valid up to the first change.
 */
export type SchemaChange = "nothing" | "prompt" | "tools";

/** A tool as described to a model. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  /** Useless to a model that only has to return JSON. */
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
  /** `metadata` is recorded with the text: signatures that the provider expects back. */
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
  /** The model names a source of its reply. */
  | { readonly type: "source"; readonly source: NamedSource }
  /** The model sent a file. `data` is absent if it cannot be read. */
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data?: Uint8Array;
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
