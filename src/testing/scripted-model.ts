/** A model that replays scripted replies and keeps the requests it got. */
import {
  type EndReason,
  type Model,
  type ModelEvent,
  type ModelProperties,
  type ModelRequest,
  type Usage,
} from "../reach/provider/index.ts";
import { abortable, assertNever, type Json, type JsonObject } from "../util/index.ts";

/** A text, or a list of steps. */
export type ScriptedReply = string | readonly ScriptedStep[];

/** One step of a reply. */
export type ScriptedStep =
  | { readonly type: "reasoning"; readonly text: string; readonly metadata?: JsonObject }
  | { readonly type: "text"; readonly text: string; readonly metadata?: JsonObject }
  /** Structured output: the text is this data as JSON. */
  | { readonly type: "structured"; readonly data: Json }
  | {
      readonly type: "tool_call";
      readonly id: string;
      readonly name: string;
      readonly arguments?: JsonObject;
      readonly metadata?: JsonObject;
    }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data?: Uint8Array;
      readonly metadata?: JsonObject;
    }
  /** Ends the reply here. Without this step the reply ends normally after the last one. */
  | { readonly type: "end"; readonly reason: EndReason; readonly usage?: Usage }
  /** Cuts off the reply: nothing follows, not even its end. */
  | { readonly type: "cut" }
  /** Throws the error. */
  | { readonly type: "error"; readonly error: Error }
  /** Pauses until the promise resolves. */
  | { readonly type: "wait"; readonly until: Promise<unknown> }
  /** Pauses until the request is aborted. */
  | { readonly type: "hang" };

/** The script of a model. */
export interface ScriptedModelOptions {
  /** `test/scripted` by default. */
  readonly id?: string;
  /** The model's properties. */
  readonly properties?: ModelProperties;
  /** Behaves like a model on the user's machine. */
  readonly isLocal?: boolean;
  /** One reply per request, in order, or a function of the request and its index. */
  readonly replies:
    | readonly ScriptedReply[]
    | ((request: ModelRequest, index: number) => ScriptedReply);
}

/** Replays scripted replies, offline. Throws when the script has no more. */
export class ScriptedModel implements Model {
  readonly id: string;
  readonly isLocal: boolean;
  /** All requests so far, in order. */
  readonly requests: ModelRequest[] = [];
  readonly #properties: ModelProperties;
  readonly #replies: ScriptedModelOptions["replies"];

  constructor(options: ScriptedModelOptions) {
    const { id = "test/scripted", properties = {}, isLocal = false, replies } = options;
    this.id = id;
    this.isLocal = isLocal;
    this.#properties = properties;
    this.#replies = replies;
  }

  async properties(): Promise<ModelProperties> {
    return this.#properties;
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const index = this.requests.push(request) - 1;
    const reply =
      typeof this.#replies === "function" ? this.#replies(request, index) : this.#replies[index];
    if (reply === undefined) throw new Error(`The script has no reply for request ${index + 1}.`);
    const steps = typeof reply === "string" ? [{ type: "text", text: reply } as const] : reply;
    request.signal.throwIfAborted();
    for (const step of steps) {
      if (step.type === "cut") return;
      for await (const event of eventsOf(step, request.signal)) {
        yield event;
        request.signal.throwIfAborted();
      }
      if (step.type === "end") return;
    }
    const isCalling = steps.some(({ type }) => type === "tool_call");
    yield { type: "response_end", reason: isCalling ? "tool_calls" : "stop", usage: {} };
  }
}

async function* eventsOf(
  step: Exclude<ScriptedStep, { readonly type: "cut" }>,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, void, undefined> {
  switch (step.type) {
    case "reasoning":
      for (const text of pieces(step.text)) yield { type: "reasoning_delta", text };
      yield { type: "reasoning_end", ...metadataOf(step) };
      return;
    case "text":
      for (const text of pieces(step.text)) yield { type: "message_delta", text };
      yield { type: "message_end", ...metadataOf(step) };
      return;
    case "structured":
      yield* eventsOf({ type: "text", text: JSON.stringify(step.data) }, signal);
      return;
    case "tool_call": {
      const { id, name, arguments: given = {} } = step;
      yield { type: "tool_call_start", id, name };
      yield { type: "tool_call_request", id, name, arguments: given, ...metadataOf(step) };
      return;
    }
    case "file":
      yield step;
      return;
    case "end":
      yield { type: "response_end", reason: step.reason, usage: step.usage ?? {} };
      return;
    case "error":
      throw step.error;
    case "wait":
      await abortable(step.until, signal);
      return;
    case "hang":
      await abortable(new Promise<never>(() => undefined), signal);
      return;
    default:
      assertNever(step);
  }
}

/** Splits text into words, each with the space after it. */
function pieces(text: string): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

function metadataOf({ metadata }: { readonly metadata?: JsonObject }) {
  return metadata === undefined ? {} : { metadata };
}
