// A third-party mock server, free of our own assumptions about these APIs.
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  chatRequest,
  toolCall,
  toolResult,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type Model,
  type ModelEvent,
  PROVIDER_NAMES,
  type ProviderName,
} from "../../src/reach/provider/index.ts";
import { collect, modelAt, requestOf, type RequestOptions } from "./support.ts";

const mock = new LLMock({ port: 0 });
const schema = {
  type: "object",
  properties: { answer: { type: "boolean" } },
  required: ["answer"],
};
const tools = [
  {
    name: "read",
    description: "Reads.",
    parameters: { type: "object", properties: { path: { type: "string" } } },
  },
];

beforeAll(async () => {
  mock.on({ toolCallId: "call_done" }, { content: "It says AA." });
  mock.onMessage("plain", { content: "Hello from the mock." });
  mock.onMessage("think", { content: "So.", reasoning: "First this, then that." });
  mock.onMessage("one call", {
    toolCalls: [{ id: "call_1", name: "read", arguments: { path: "a" } }],
  });
  mock.onMessage("two calls", {
    toolCalls: [
      { id: "call_1", name: "read", arguments: { path: "a" } },
      { id: "call_2", name: "read", arguments: { path: "b" } },
    ],
  });
  mock.onMessage("json", { content: '{"answer":true}' });
  mock.onMessage("limited", {
    error: { message: "Slow down", type: "rate_limit_error" },
    status: 429,
    retryAfter: 3,
  });
  mock.onMessage("overloaded", {
    error: { message: "Overloaded", type: "overloaded_error" },
    status: 529,
  });
  mock.onMessage(
    "slow",
    { content: "word ".repeat(2000) },
    { streamingProfile: { ttft: 0, tps: 50 } },
  );
  await mock.start();
});

afterAll(async () => mock.stop());

async function ask(provider: ProviderName, text: string, options: RequestOptions = {}) {
  const model: Model = await modelAt(mock.url, provider);
  return collect(model.stream(requestOf([turnStart(), chatRequest(text)], options)));
}

function textOf(events: readonly ModelEvent[], type: "message_delta" | "reasoning_delta"): string {
  return events.map((event) => (event.type === type ? event.text : "")).join("");
}

function callsOf(events: readonly ModelEvent[]) {
  return events.flatMap((event) =>
    event.type === "tool_call_request" ? [[event.name, event.arguments]] : [],
  );
}

describe.each(PROVIDER_NAMES)("%s", (provider) => {
  test("answers with a text", async () => {
    const events = await ask(provider, "plain");
    expect(textOf(events, "message_delta")).toBe("Hello from the mock.");
    expect(events.at(-1)).toMatchObject({ type: "response_end", reason: "stop" });
  });

  // The mock sends `reasoning_content`, which is not the field of these two.
  test.skipIf(provider === "ollama" || provider === "openrouter")(
    "thinks before it answers",
    async () => {
      const events = await ask(provider, "think");
      expect({
        thought: textOf(events, "reasoning_delta"),
        said: textOf(events, "message_delta"),
        isInOrder:
          events.findIndex(({ type }) => type === "reasoning_end") <
          events.findIndex(({ type }) => type === "message_delta"),
      }).toEqual({ thought: "First this, then that.", said: "So.", isInOrder: true });
    },
  );

  test("calls a tool", async () => {
    const events = await ask(provider, "one call", { tools });
    expect(callsOf(events)).toEqual([["read", { path: "a" }]]);
    expect(events.at(-1)).toMatchObject({ type: "response_end", reason: "tool_calls" });
  });

  test("calls two tools at once", async () => {
    const events = await ask(provider, "two calls", { tools });
    expect(callsOf(events)).toEqual([
      ["read", { path: "a" }],
      ["read", { path: "b" }],
    ]);
  });

  // These two do not send the id of a call.
  test.skipIf(provider === "ollama" || provider === "google")(
    "continues with a tool result",
    async () => {
      const model = await modelAt(mock.url, provider);
      const events = [
        turnStart(),
        chatRequest("read it"),
        toolCall("call_done", "read", { path: "a" }),
        toolResult("call_done", "AA"),
      ];
      const reply = await collect(model.stream(requestOf(events, { tools })));
      expect(textOf(reply, "message_delta")).toBe("It says AA.");
    },
  );

  test("answers with JSON", async () => {
    const model = await modelAt(mock.url, provider);
    const request = requestOf([turnStart(), chatRequest("json", schema)]);
    expect(textOf(await collect(model.stream(request)), "message_delta")).toBe('{"answer":true}');
  });

  test("reports a rate limit", async () => {
    await expect(ask(provider, "limited")).rejects.toMatchObject({
      kind: "rate_limited",
      isRetryable: true,
    });
  });

  test("reports that it is overloaded", async () => {
    await expect(ask(provider, "overloaded")).rejects.toMatchObject({
      kind: "overloaded",
      isRetryable: true,
    });
  });

  test("is aborted in the middle of a reply", async () => {
    const model = await modelAt(mock.url, provider);
    const controller = new AbortController();
    const request = requestOf([chatRequest("slow")], { signal: controller.signal });
    const reading = (async () => {
      for await (const event of model.stream(request)) {
        if (event.type === "message_delta") controller.abort("enough");
      }
    })();
    await expect(reading).rejects.toBe("enough");
  });
});
