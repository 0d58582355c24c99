import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { chatRequest, message } from "../../record/conversation/events.fixture.ts";
import type { ProviderEvent } from "../../record/conversation/index.ts";
import { fromLanguageModel, type LanguageModel } from "./from-language-model.ts";
import type { ModelEvent, ModelRequest } from "./port.ts";
import { ProviderError } from "./provider-error.ts";

const usage = {
  inputTokens: { total: 5, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: undefined, reasoning: undefined },
};
const finish: LanguageModelV4StreamPart = {
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage,
};

/** A model of the AI SDK that streams fixed parts and records its calls. */
class FixedModel implements LanguageModelV4 {
  readonly specificationVersion = "v4";
  readonly modelId = "model-1";
  readonly supportedUrls = {};
  readonly provider: string;
  readonly calls: LanguageModelV4CallOptions[] = [];
  readonly #parts: readonly LanguageModelV4StreamPart[];

  constructor(provider: string, ...parts: readonly LanguageModelV4StreamPart[]) {
    this.provider = provider;
    this.#parts = parts;
  }

  doGenerate(): never {
    throw new Error("Not used.");
  }

  async doStream(options: LanguageModelV4CallOptions) {
    this.calls.push(options);
    const parts = this.#parts;
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    });
    return { stream };
  }
}

const { signal } = new AbortController();

function requestOf(
  events: readonly ProviderEvent[],
  more: Partial<ModelRequest> = {},
): ModelRequest {
  const plain = { tools: [], toolChoice: "auto", parameters: { other: {} }, cache: "off" } as const;
  return { parts: { systemParts: [], events }, ...plain, signal, ...more };
}

async function replyOf(...parts: readonly LanguageModelV4StreamPart[]): Promise<ModelEvent[]> {
  return read(new FixedModel("openrouter.chat", ...parts));
}

async function read(model: LanguageModel): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  const stream = fromLanguageModel(model).stream(requestOf([chatRequest("Hi")]));
  for await (const event of stream) events.push(event);
  return events;
}

function toDelta(type: "text-delta" | "reasoning-delta") {
  return (delta: string) => ({ type, id: type, delta });
}

describe("any model of the AI SDK", () => {
  test("gets the conversation and the parameters, free ones under its own key", async () => {
    const model = new FixedModel("acme.chat", finish);
    const parameters = { temperature: 0.5, other: { speed: "fast" } };
    const events = [chatRequest("Hi"), message("Hello"), chatRequest("Go on")];
    const named = fromLanguageModel(model);
    for await (const event of named.stream(requestOf(events, { parameters }))) void event;
    expect({ id: named.id, call: model.calls[0] }).toEqual({
      id: "acme/model-1",
      call: {
        abortSignal: expect.any(AbortSignal),
        prompt: [
          { role: "user", content: [{ type: "text", text: "Hi" }] },
          { role: "assistant", content: [{ type: "text", text: "Hello" }] },
          { role: "user", content: [{ type: "text", text: "Go on" }] },
        ],
        temperature: 0.5,
        providerOptions: { acme: { speed: "fast" } },
      },
    });
  });

  test("gives pieces of a text that arrive together as one, and others as they are", async () => {
    const texts = ["So", " many", " words"];
    const { promise: isTaken, resolve } = Promise.withResolvers<void>();
    const model = new FixedModel("acme.chat");
    model.doStream = async () => {
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        async start(controller) {
          for (const part of texts.map(toDelta("reasoning-delta"))) controller.enqueue(part);
          for (const part of texts.map(toDelta("text-delta"))) controller.enqueue(part);
          await isTaken;
          controller.enqueue(toDelta("text-delta")("."));
          controller.enqueue(finish);
          controller.close();
        },
      });
      return { stream };
    };
    const seen: unknown[] = [];
    for await (const event of fromLanguageModel(model).stream(requestOf([chatRequest("Hi")]))) {
      seen.push("text" in event ? [event.type, event.text] : event.type);
      if (event.type === "message_delta") resolve();
    }
    expect(seen).toEqual([
      ["reasoning_delta", "So many words"],
      "reasoning_end",
      ["message_delta", "So many words"],
      ["message_delta", "."],
      "message_end",
      "response_end",
    ]);
  });

  test.each<["tool-calls" | "other" | "length", "ends" | "breaks off"]>([
    ["tool-calls", "ends"],
    ["other", "breaks off"],
    ["length", "breaks off"],
  ])("with a call and an end that its package made up, %s, %s", async (unified, outcome) => {
    const call = { type: "tool-call", toolCallId: "1", toolName: "look", input: "{}" } as const;
    const end = { type: "finish", finishReason: { unified, raw: undefined }, usage } as const;
    const reply = read(new FixedModel("acme.chat", call, end));
    const ended = reply.then(
      () => "ends",
      ({ kind }: ProviderError) => (kind === "network" ? "breaks off" : kind),
    );
    expect(await ended).toBe(outcome);
  });

  test("throws its error parts", async () => {
    const error = { message: "Overloaded", code: 503 };
    await expect(replyOf({ type: "error", error }, finish)).rejects.toMatchObject({
      kind: "overloaded",
      message:
        "openrouter/model-1: the provider is overloaded or unavailable (HTTP 503): Overloaded",
    });
  });

  test.each([
    ["no usage", { usage: undefined }, {}],
    ["an empty usage", { usage: {} }, {}],
    ["a usage without details", { usage: { inputTokens: 5, outputTokens: 2 } }, {}],
    ["a usage of one side", { usage: { inputTokens: { total: 5 } } }, { input: 5 }],
  ])("may report %s", async (_, reported, expected) => {
    const end = { ...finish, ...reported } as LanguageModelV4StreamPart; // Packages may be wrong.
    expect(await replyOf(end)).toEqual([{ type: "response_end", reason: "stop", usage: expected }]);
  });

  test("may pass arguments that are not text", async () => {
    const called = { type: "tool-call", toolCallId: "1", toolName: "look", input: { at: "me" } };
    const [event] = await replyOf(called as unknown as LanguageModelV4StreamPart, finish); // As above.
    expect(event).toMatchObject({ type: "tool_call_request", arguments: { at: "me" } });
  });

  test("gives files as bytes, in order, and lists a link to one like a source", async () => {
    const bytes = Uint8Array.from([1, 2, 3]);
    const older = { type: "file", mediaType: "image/png", data: "AQID" };
    const named = { type: "file", mediaType: "audio/wav", data: { type: "url", url: "x:y" } };
    const events = await replyOf(
      toDelta("text-delta")("See"),
      { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
      { type: "file", mediaType: "image/png", data: { type: "data", data: bytes } },
      older as unknown as LanguageModelV4StreamPart, // As the interface of version 3 has it.
      named as unknown as LanguageModelV4StreamPart,
      { type: "file", mediaType: "text/plain", data: { type: "data", data: "not base64!" } },
      toDelta("text-delta")("it."),
      finish,
    );
    expect(
      events.map((event) => ("data" in event ? { ...event, data: [...event.data] } : event)),
    ).toEqual([
      { type: "message_delta", text: "See" },
      { type: "message_end" },
      ...[1, 2, 3].map(() => ({ type: "file", mediaType: "image/png", data: [1, 2, 3] })),
      { type: "source", source: { url: "x:y", mediaType: "audio/wav" } },
      { type: "file", mediaType: "text/plain" },
      { type: "message_delta", text: "it." },
      { type: "message_end" },
      expect.objectContaining({ type: "response_end" }),
    ]);
  });

  test("fails if it makes a call without an id, which could not be recorded", async () => {
    const called = { type: "tool-call", toolName: "look", input: "{}" };
    const reply = replyOf(called as unknown as LanguageModelV4StreamPart, finish); // As above.
    await expect(reply).rejects.toMatchObject({
      kind: "other",
      message: "openrouter/model-1: the reply has a call without an id or a name.",
    });
  });

  test.each([undefined, {}])("fails as a request if it has no stream: %j", async (result) => {
    const broken = Object.assign(new FixedModel("openrouter.chat"), {
      doStream: async () => result,
    });
    await expect(read(broken as unknown as LanguageModel)).rejects.toBeInstanceOf(ProviderError); // As above.
  });

  test("broke off if its stream has no finish part", async () => {
    const start: LanguageModelV4StreamPart = { type: "text-start", id: "1" };
    await expect(replyOf(start)).rejects.toMatchObject({ kind: "network", isRetryable: true });
  });
});

describe("overlapping parts", () => {
  const call: LanguageModelV4StreamPart = {
    type: "tool-call",
    toolCallId: "c",
    toolName: "read",
    input: "{}",
  };
  const called: ModelEvent = { type: "tool_call_request", id: "c", name: "read", arguments: {} };
  const end: ModelEvent = { type: "response_end", reason: "stop", usage: { input: 5, output: 2 } };

  test("become pieces that end one after the other", async () => {
    const events = await replyOf(
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "Hm." },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "So" },
      call,
      { type: "reasoning-end", id: "r" },
      { type: "text-end", id: "t" },
      finish,
    );
    expect(events).toEqual([
      { type: "reasoning_delta", text: "Hm." },
      { type: "reasoning_end" },
      { type: "message_delta", text: "So" },
      { type: "message_end" },
      called,
      end,
    ]);
  });

  test("of a text that continues after a call become two texts", async () => {
    const events = await replyOf(
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "So" },
      call,
      { type: "text-delta", id: "t", delta: "on" },
      finish,
    );
    expect(events.slice(0, -1)).toEqual([
      { type: "message_delta", text: "So" },
      { type: "message_end" },
      called,
      { type: "message_delta", text: "on" },
      { type: "message_end" },
    ]);
  });

  test("of a reply that broke off do not end it, even if OpenRouter's package makes up its end", async () => {
    const seen: ModelEvent[] = [];
    const made: LanguageModelV4StreamPart = {
      ...finish,
      finishReason: { unified: "tool-calls", raw: undefined },
    };
    const model = fromLanguageModel(new FixedModel("openrouter.chat", call, made));
    const reading = (async () => {
      for await (const event of model.stream(requestOf([chatRequest("Hi")]))) seen.push(event);
    })();
    await expect(reading).rejects.toMatchObject({ kind: "network" });
    expect(seen).toEqual([called]);
  });
});
