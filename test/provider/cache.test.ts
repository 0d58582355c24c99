import { describe, expect, test } from "vitest";
import type { ConversationEvent, InquiryId } from "../../src/conversation/index.ts";
import { createInquiryBackend, type InquiryBackendOptions } from "../../src/inquiry/index.ts";
import {
  type CachePolicy,
  type ModelRequest,
  PROVIDER_NAMES,
  type ProviderName,
} from "../../src/provider/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { booleanQuestion } from "../../src/tool/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { counters } from "../security/threats.ts";
import {
  chatRequest,
  message,
  reasoning,
  streamOf,
  toolCall,
  toolResult,
} from "../support/events.ts";
import { CaptureServer } from "./capture-server.ts";
import { bodySentTo, MODELS, providersAt, requestOf } from "./support.ts";
import { WIRE, type WireReply } from "./wire.ts";

const tools = ["first", "last"].map((name) => ({
  name,
  description: "",
  parameters: { type: "object" },
}));

const everything = {
  systemPrompt: "Prompt.",
  sections: [{ content: "Section one." }, { content: "Section two." }],
  attachments: [{ source: "a", content: "A" }],
  tools,
};

const conversation = [
  chatRequest("Go."),
  toolCall("call_a", "first"),
  toolCall("call_b", "first"),
  toolResult("call_a", "A"),
  toolResult("call_b", "B"),
];

function requestWith(
  cache: CachePolicy,
  events: readonly ConversationEvent[] = conversation,
): ModelRequest {
  return requestOf(events, { ...everything, cache });
}

/** Every object in a body that carries a mark, by the text, name or id it has. */
function marksIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(marksIn);
  if (typeof value !== "object" || value === null) return [];
  const fields = value as Readonly<Record<string, unknown>>;
  const { text, name, id, tool_use_id: result, tool_call_id: call, cache_control: mark } = fields;
  const own = mark === undefined ? [] : [String(result ?? call ?? text ?? id ?? name)];
  return [...own, ...Object.values(fields).flatMap(marksIn)];
}

test("Claude is given four points: instructions, attachments, tools, the last message", async () => {
  verifies("005/provider/anthropic-four-cache-points");
  const body = await bodySentTo("anthropic", requestWith("short"));
  expect(marksIn(body)).toEqual([
    "Section two.",
    expect.stringContaining("<documents>"),
    "call_b",
    "last",
  ]);
});

test("a long life of the cache is an hour", async () => {
  const body = JSON.stringify(await bodySentTo("anthropic", requestWith("long")));
  expect(body.match(/"cache_control":\{[^}]*\}/g)).toEqual(
    Array.from({ length: 4 }, () => '"cache_control":{"type":"ephemeral","ttl":"1h"}'),
  );
});

test("without a cache there is no mark", async () => {
  expect(marksIn(await bodySentTo("anthropic", requestWith("off")))).toEqual([]);
});

test("an event that is marked takes the place of the last message, and the mark stays here", async () => {
  const marked = conversation.map((event) =>
    event.type === "tool_call_response" && event.id === "call_a"
      ? { ...event, metadata: { cache_breakpoint: true } }
      : event,
  );
  const body = await bodySentTo("anthropic", requestWith("short", marked));
  expect(marksIn(body)).toEqual([
    "Section two.",
    expect.stringContaining("<documents>"),
    "call_a",
    "last",
  ]);
  expect(JSON.stringify(body)).not.toContain("breakpoint");
});

test("many marked events never make more than four points, and the latest come first", async () => {
  verifies("005/provider/anthropic-shared-cache-budget");
  const marked = conversation.map((event) => ({ ...event, metadata: { cache_breakpoint: true } }));
  const all = marksIn(await bodySentTo("anthropic", requestWith("short", marked)));
  expect(all.toSorted()).toEqual([
    expect.stringContaining("<documents>"),
    "Section two.",
    "call_b",
    "last",
  ]);
  const plain = requestOf(marked, { systemPrompt: "Prompt.", cache: "short" });
  expect(marksIn(await bodySentTo("anthropic", plain))).toEqual([
    "Prompt.",
    "call_b",
    "call_a",
    "call_b",
  ]);
});

test("reasoning takes no mark, so what comes before it does", async () => {
  const thought = {
    ...reasoning("Hm."),
    metadata: { anthropic_thinking_signature: "sig", cache_breakpoint: true },
  };
  const events = [chatRequest("Go."), message("Well."), thought, message("So.")];
  const body = await bodySentTo("anthropic", requestOf(events, { cache: "short" }));
  expect(marksIn(body)).toEqual(["Well."]);
});

test("through OpenRouter Claude and Gemini get marks on single parts, and others none", async () => {
  verifies("005/provider/openrouter-cache-marks-per-part");
  verifies("005/provider/openrouter-strips-cache-marks");
  const request = requestWith("long", [...conversation, message("Done."), chatRequest("Thanks.")]);
  const marks = ["Section two.", expect.stringContaining("<documents>"), "Thanks."];
  const sentTo = async (model: string) => bodySentTo("openrouter", request, model);
  expect({
    claude: marksIn(await sentTo("anthropic/claude-sonnet-4.5")),
    gemini: marksIn(await sentTo("google/gemini-2.5-pro")),
    other: marksIn(await sentTo("openai/gpt-5")),
  }).toEqual({ claude: marks, gemini: marks, other: [] });
});

test("of parallel results only the last is marked for OpenRouter", async () => {
  const body = await bodySentTo("openrouter", requestWith("short"));
  expect(marksIn(body)).toEqual(["Section two.", expect.stringContaining("<documents>"), "call_b"]);
});

test.each(["google", "openai", "ollama", "llamacpp"] as const)(
  "%s decides by itself what it keeps",
  async (provider) => {
    const body = JSON.stringify(await bodySentTo(provider, requestWith("long")));
    expect(body).not.toMatch(/cache_?control/i);
  },
);

describe("a reply of many parts", () => {
  const ids = Array.from({ length: 12 }, (_, index) => `call_${index}`);
  const long = [
    chatRequest("Go."),
    ...ids.map((id) => toolCall(id, "first")),
    ...ids.map((id) => toolResult(id)),
  ];

  test("has a second point before it, where Claude finds what the last request left", async () => {
    const plain = { systemPrompt: "Prompt.", tools, cache: "short" } as const;
    const marks = async (events: readonly ConversationEvent[]) =>
      marksIn(await bodySentTo("anthropic", requestOf(events, plain)));
    expect([
      await marks(long),
      await marks([...long.slice(0, 10), ...long.slice(13, 22)]),
      await marks([...long, message("Done."), chatRequest("And?")]),
    ]).toEqual([
      ["Prompt.", "Go.", "call_11", "last"],
      ["Prompt.", "call_8", "last"],
      ["Prompt.", "And?", "last"],
    ]);
  });

  test("takes the point of the tools where there is no other left", async () => {
    const body = await bodySentTo("anthropic", requestWith("short", long));
    expect(marksIn(body)).toEqual([
      "Section two.",
      expect.stringContaining("<documents>"),
      "Go.",
      "call_11",
    ]);
  });
});

describe("a question to the inquiry model", () => {
  /** A turn whose first request has been made, and whose tool then asks. */
  const opening = [chatRequest("Hi."), message("Hello."), chatRequest("Go.")];
  const calls = [toolCall("call_a", "first"), toolCall("call_b", "last")];
  const settings = {
    parameters: { temperature: 0.5, other: {}, reasoning: { type: "off" } },
    cache: "short",
    toolChoice: "auto",
    request: {
      maxRetries: 0,
      baseBackoffMs: 0,
      maxBackoffMs: 0,
      idleTimeoutMs: 0,
      maxResponseBytes: 0,
    },
  } as const;

  /** What the main conversation has sent, and what each request of the inquiry sends. */
  async function bodies(provider: ProviderName, asked: Asked = {}) {
    const { modelName = MODELS[provider], schemaMode = "stable", reply = { text: "?" } } = asked;
    const main = await bodySentTo(
      provider,
      requestOf(opening, { ...everything, ...settings }),
      modelName,
    );
    await using server = await CaptureServer.start();
    server.answer({ chunks: WIRE[provider](reply) });
    const { systemPrompt, sections, attachments } = everything;
    const backend = createInquiryBackend({
      assistant: () => ({
        name: "jp",
        model: { provider, name: modelName },
        systemPrompt,
        sections,
        ...settings,
      }),
      model: () => providersAt(server.url).model(provider, modelName),
      tools: () => tools,
      attachments: () => attachments,
      schemaMode,
      clock: new FakeClock(),
    });
    const answer = await backend.inquire({
      inquiryId: "call_a.ok.1" as InquiryId,
      toolCallId: "call_a",
      toolName: "first",
      question: booleanQuestion("ok", "Go on?"),
      target: { type: "assistant", assistant: {} },
      stream: streamOf(...opening, ...calls),
      signal: new AbortController().signal,
    });
    const sent = server.requests.map(({ body }) => asObject(body));
    return { main: asObject(main), sent, answer };
  }

  const cases = [
    ...PROVIDER_NAMES.map((provider) => [provider, MODELS[provider]] as const),
    ["anthropic", "claude-sonnet-4-20250514"],
    ["anthropic", "claude-3-5-haiku-latest"],
    ["anthropic", "claude-opus-4-8"],
    ["google", "gemini-3-pro-preview"],
    ["openrouter", "openai/gpt-5"],
  ] as const;

  describe.each(cases)("of %s (%s)", (provider, modelName) => {
    test.each(["stable", "bound"] as const)(
      "begins byte for byte as the conversation's own request does, with a %s schema",
      async (schemaMode) => {
        counters("T-INQ-1");
        verifies("028/goal/shared-prefix");
        const { main, sent } = await bodies(provider, { modelName, schemaMode });
        const own = prefixOf(main);
        const begun = sent.slice(0, 2).map((body) => {
          const { messages, rest } = prefixOf(withoutGrammar(provider, body));
          return { rest, begins: messages.startsWith(own.messages) };
        });
        const same = { rest: own.rest, begins: true };
        expect(begun).toEqual([same, same]);
      },
    );

    test("keeps the tools in every request, also in the last, which is to be held to the schema", async () => {
      counters("T-INQ-1");
      const { main, sent } = await bodies(provider, { modelName });
      expect(sent.map(({ tools: each }) => JSON.stringify(unmarked(each ?? null)))).toEqual(
        Array.from({ length: 3 }, () => JSON.stringify(unmarked(main["tools"] ?? null))),
      );
    });
  });

  test("is held to its schema at last where the provider can do that beside tools", async () => {
    const held = await Promise.all(
      cases.map(async ([provider, modelName]) => {
        const { sent } = await bodies(provider, { modelName });
        return [modelName, sent.map((body) => JSON.stringify(body).includes('"boolean"'))];
      }),
    );
    expect(Object.fromEntries(held)).toEqual({
      "claude-sonnet-4-5": [false, false, true],
      "claude-sonnet-4-20250514": [false, false, false],
      "claude-3-5-haiku-latest": [false, false, false],
      "claude-opus-4-8": [false, false, true],
      "gemini-2.5-flash": [false, false, false],
      "gemini-3-pro-preview": [false, false, true],
      "gpt-5": [false, false, true],
      "anthropic/claude-sonnet-4.5": [false, false, true],
      "openai/gpt-5": [false, false, true],
      local: [true, true, true],
      qwen3: [true, true, true],
    });
  });

  test("marks for Claude the end of what both requests have", async () => {
    const { sent } = await bodies("anthropic");
    expect(sent.map(marksIn)).toEqual(
      Array.from({ length: 3 }, () => [
        "Section two.",
        expect.stringContaining("<documents>"),
        "call_b",
        "last",
      ]),
    );
  });

  test.each(PROVIDER_NAMES)(
    "that %s answers with a call of a tool has no answer, and nothing runs",
    async (provider) => {
      counters("T-INQ-2");
      const reply = {
        text: '{"answer": true}',
        calls: [{ id: "call_c", name: "last", input: "{}" }],
      };
      const { answer, sent } = await bodies(provider, { reply });
      expect([sent.length, answer]).toEqual([
        3,
        {
          type: "failed",
          kind: "missing_data",
          message: `${provider}/${MODELS[provider]}: the reply calls \`last\`, but tools cannot run here`,
        },
      ]);
    },
  );
});

interface Asked extends Partial<Pick<InquiryBackendOptions, "schemaMode">> {
  readonly modelName?: string;
  readonly reply?: WireReply;
}

function asObject(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new Error("There is no body.");
  return value;
}

/** On one's own machine a schema only constrains what is written. */
function withoutGrammar(provider: ProviderName, body: JsonObject): JsonObject {
  if (provider !== "ollama" && provider !== "llamacpp") return body;
  const { format: _format, response_format: _responseFormat, ...rest } = body;
  return rest;
}

/** The messages as text without its end, and everything else, both without cache marks. */
function prefixOf({ messages, input, contents, ...rest }: JsonObject) {
  const all = unmarked(messages ?? input ?? contents ?? []);
  return { messages: JSON.stringify(all).slice(0, -1), rest: JSON.stringify(unmarked(rest)) };
}

function unmarked(value: Json): Json {
  if (Array.isArray(value)) return value.map(unmarked);
  if (!isJsonObject(value)) return value;
  const { cache_control: _mark, ...rest } = value;
  return Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, unmarked(each)]));
}
