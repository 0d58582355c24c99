/** A model that says what it was told to, offline, and keeps what it was asked. */
import {
  type EndReason,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type Usage,
} from "../provider/index.ts";
import { abortable, assertNever, type Json, type JsonObject } from "../util/index.ts";

/** A text, or what happens step by step. */
export type ScriptedReply = string | readonly ScriptedStep[];

/** One thing that happens in a reply. */
export type ScriptedStep =
  | { readonly type: "reasoning"; readonly text: string; readonly metadata?: JsonObject }
  | { readonly type: "text"; readonly text: string; readonly metadata?: JsonObject }
  /** Structured output: a text that is JSON. */
  | { readonly type: "structured"; readonly data: Json }
  | {
      readonly type: "tool_call";
      readonly id: string;
      readonly name: string;
      readonly arguments?: JsonObject;
      readonly metadata?: JsonObject;
    }
  /** The reply ends here, as this says. Without it, it ends well behind the last step. */
  | { readonly type: "end"; readonly reason: EndReason; readonly usage?: Usage }
  /** The reply breaks off here: nothing follows, not even its end. */
  | { readonly type: "cut" }
  /** Thrown here. */
  | { readonly type: "error"; readonly error: Error }
  /** Silent until the promise is kept. */
  | { readonly type: "wait"; readonly until: Promise<unknown> }
  /** Silent until it is aborted. */
  | { readonly type: "hang" };

/** What a scripted model says. */
export interface ScriptedModelOptions {
  /** `test/scripted` unless said otherwise. */
  readonly id?: string;
  /** In tokens. */
  readonly contextWindow?: number;
  /** One for each request in turn, or made for each; `index` counts the requests from 0. */
  readonly replies:
    | readonly ScriptedReply[]
    | ((request: ModelRequest, index: number) => ScriptedReply);
}

/** A model that says what it was told to, offline. Throws when it has nothing more to say. */
export class ScriptedModel implements Model {
  readonly id: string;
  readonly contextWindow?: number;
  /** All requests so far. */
  readonly requests: ModelRequest[] = [];
  readonly #replies: ScriptedModelOptions["replies"];

  constructor({ id = "test/scripted", contextWindow, replies }: ScriptedModelOptions) {
    this.id = id;
    if (contextWindow !== undefined) this.contextWindow = contextWindow;
    this.#replies = replies;
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const index = this.requests.push(request) - 1;
    const reply =
      typeof this.#replies === "function" ? this.#replies(request, index) : this.#replies[index];
    if (reply === undefined) throw new Error(`No reply was scripted for request ${index + 1}.`);
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

/** Word by word, with the space behind it. */
function pieces(text: string): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

function metadataOf({ metadata }: { readonly metadata?: JsonObject }) {
  return metadata === undefined ? {} : { metadata };
}
