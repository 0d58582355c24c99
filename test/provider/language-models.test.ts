// Models of both versions of the AI SDK's interface, typed as `ai` types them, in turns of an embedding program.
import { createOpenAICompatible as createV4 } from "@ai-sdk/openai-compatible";
import { createOpenAICompatible as createV3 } from "@ai-sdk/openai-compatible-2";
import type { LanguageModel as LanguageModelOfAi7 } from "ai";
import type { LanguageModel as LanguageModelOfAi6 } from "ai-6";
import { afterEach, describe, expect, test } from "vitest";
import {
  defineTool,
  MemoryConversationStore,
  type Observer,
  runTurn,
  streamTurn,
  type TurnOptions,
  type TurnUpdate,
} from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { CaptureServer } from "./capture-server.ts";
import { WIRE, type WireReply } from "./wire.ts";

const settings = {
  name: "acme",
  apiKey: "key",
  includeUsage: true,
  supportsStructuredOutputs: true,
};

/** The types are those that programs have: without a cast, each is a model for a turn. */
const VERSIONS = {
  v3: (baseURL: string): LanguageModelOfAi6 => createV3({ ...settings, baseURL })("small"),
  v4: (baseURL: string): LanguageModelOfAi7 => createV4({ ...settings, baseURL })("small"),
};

const LOW = { type: "effort", effort: "low", isHidden: false } as const;

const read = defineTool<{ readonly path: string }>({
  name: "read",
  description: "Reads.",
  parameters: { type: "object", properties: { path: { type: "string" } } },
  run: async ({ path }) => `It is ${path}.`,
});

/** A stream of OpenAI's chat API with reasoning. */
function reply(content: WireReply) {
  return { chunks: WIRE.llamacpp(content) };
}

const clock = new FakeClock();

async function optionsFor(
  version: keyof typeof VERSIONS,
  server: CaptureServer,
): Promise<TurnOptions> {
  const conversation = await new MemoryConversationStore(clock).create({});
  return { conversation, model: VERSIONS[version](server.url), clock };
}

describe.each(["v3", "v4"] as const)(
  "a model of version %s of the AI SDK's interface",
  (version) => {
    test("gives text, reasoning and usage", async () => {
      await using server = await CaptureServer.start();
      server.answer(reply({ reasoning: "Hm.", text: "Hello there." }));
      const updates: TurnUpdate[] = [];
      const options = await optionsFor(version, server);
      for await (const update of streamTurn(options, "Hi.")) updates.push(update);
      const responses = updates.flatMap((update) =>
        update.type === "event" && update.event.type === "chat_response"
          ? [update.event.content]
          : [],
      );
      expect(responses).toEqual([
        { type: "reasoning", text: "Hm." },
        { type: "message", text: "Hello there." },
      ]);
      expect(updates.find(({ type }) => type === "response_end")).toMatchObject({
        type: "response_end",
        reason: "stop",
        usage: { input: 16, cachedInput: 4, output: 7, reasoning: 3 },
      });
    });

    test("calls tools and gets their results", async () => {
      await using server = await CaptureServer.start();
      const calls = [{ id: "call_1", name: "read", input: '{"path":"a"}' }];
      server.answer(reply({ calls }), reply({ text: "Done." }));
      const options = { ...(await optionsFor(version, server)), tools: [read] };
      const { text } = await runTurn(options, "Go.");
      expect(text).toBe("Done.");
      expect(server.body).toMatchObject({
        tools: [{ type: "function", function: { name: "read", parameters: { type: "object" } } }],
        messages: [
          { role: "user", content: "Go." },
          { role: "assistant", tool_calls: [{ id: "call_1", function: { name: "read" } }] },
          { role: "tool", tool_call_id: "call_1", content: "It is a." },
        ],
      });
    });

    test("gives structured output", async () => {
      await using server = await CaptureServer.start();
      server.answer(reply({ text: '{"same":true}' }));
      const schema = { type: "object", properties: { same: { type: "boolean" } } };
      const options = await optionsFor(version, server);
      const { data } = await runTurn(options, { content: "Same?", schema });
      expect(data).toEqual({ same: true });
      expect(server.body).toMatchObject({
        response_format: { type: "json_schema", json_schema: { schema } },
      });
    });

    test("is told how much to think", async () => {
      await using server = await CaptureServer.start();
      server.answer(reply({ text: "Hello." }));
      const parameters = { reasoning: LOW, other: {} };
      const options = { ...(await optionsFor(version, server)), assistant: { parameters } };
      await runTurn(options, "Hi.");
      expect(server.body).toMatchObject({ reasoning_effort: "low" });
    });

    test("gets the files of a message", async () => {
      await using server = await CaptureServer.start();
      server.answer(reply({ text: "A cat." }));
      const files = [
        { mediaType: "image/png", data: new Uint8Array([0x89, 0x50, 0x4e, 0x47]) },
        { mediaType: "image/png", data: new URL("https://example.com/cat.png") },
      ];
      const options = await optionsFor(version, server);
      await runTurn(options, { content: "What is it?", files });
      expect(server.body).toMatchObject({
        messages: [
          {
            content: [
              { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw==" } },
              { type: "image_url", image_url: { url: "https://example.com/cat.png" } },
              { type: "text", text: "What is it?" },
            ],
          },
        ],
      });
    });

    test("ends when the turn is aborted", async () => {
      await using server = await CaptureServer.start();
      const { chunks } = reply({ text: "Hello there." });
      server.answer({ chunks: chunks.slice(0, -2), ending: "hang" });
      const aborted = new AbortController();
      const end = await runTurn(
        {
          ...(await optionsFor(version, server)),
          signal: aborted.signal,
          observer: { observe: ({ type }) => type === "message_delta" && aborted.abort() },
        },
        "Hi.",
      );
      expect(end.type).toBe("interrupted");
      await server.requests[0]?.disconnected;
    });

    test("is asked again after an error that may pass, and not after another", async () => {
      await using server = await CaptureServer.start();
      const headers = { "content-type": "application/json" };
      const refused = { status: 400, headers, chunks: ['{"error":{"message":"No such model"}}'] };
      server.answer({ status: 529, headers, chunks: ["{}"] }, reply({ text: "Hello." }), refused);
      const options = await optionsFor(version, server);
      const observer: Observer = {
        observe: (update) => {
          // It starts to wait right after this.
          if (update.type === "retry_start") queueMicrotask(() => clock.advance(update.delayMs));
        },
      };
      await expect(runTurn({ ...options, observer }, "Hi.")).resolves.toMatchObject({
        text: "Hello.",
      });
      await expect(runTurn(options, "And?")).rejects.toMatchObject({
        kind: "invalid_request",
        message: expect.stringContaining("No such model"),
      });
      expect(server.requests).toHaveLength(3);
    });
  },
);

describe("the id of a model", () => {
  // Where the AI SDK looks for it.
  const global = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown };
  afterEach(() => {
    delete global.AI_SDK_DEFAULT_PROVIDER;
  });

  test.each([
    ["v3", createV3],
    ["v4", createV4],
  ] as const)("is found in the AI SDK's default provider (%s)", async (_version, create) => {
    await using server = await CaptureServer.start();
    server.answer(reply({ text: "Hello." }));
    global.AI_SDK_DEFAULT_PROVIDER = create({ ...settings, baseURL: server.url });
    const conversation = await new MemoryConversationStore(clock).create({});
    await runTurn({ conversation, model: "large", clock }, "Hi.");
    expect(server.body).toMatchObject({ model: "large" });
  });

  test("that the default provider does not know is refused", async () => {
    const conversation = await new MemoryConversationStore(clock).create({});
    global.AI_SDK_DEFAULT_PROVIDER = {
      languageModel: () => {
        throw new Error("No such languageModel: large");
      },
    };
    await expect(runTurn({ conversation, model: "large", clock }, "Hi.")).rejects.toMatchObject({
      code: "unsupported_model",
      message: 'The default provider has no model "large": No such languageModel: large',
    });
  });
});
