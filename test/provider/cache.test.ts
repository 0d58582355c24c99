import { describe, expect, test } from "vitest";
import type { ConversationEvent, InquiryId } from "../../src/record/conversation/index.ts";
import {
  createInquiryBackend,
  type InquiryBackendOptions,
} from "../../src/core/answer-model/index.ts";
import {
  type CachePolicy,
  type ModelRequest,
  PROVIDER_NAMES,
  type ProviderName,
} from "../../src/reach/provider/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { booleanQuestion } from "../../src/record/tool/index.ts";
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
} from "../../src/record/conversation/events.fixture.ts";
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

/** Every marked object in a body, by its text, name or id. */
function marksIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(marksIn);
  if (typeof value !== "object" || value === null) return [];
  const fields = value as Readonly<Record<string, unknown>>;
  const { text, name, id, tool_use_id: result, tool_call_id: call, cache_control: mark } = fields;
  const own = mark === undefined ? [] : [String(result ?? call ?? text ?? id ?? name)];
  return [...own, ...Object.values(fields).flatMap(marksIn)];
}

test("Claude gets four points: instructions, attachments, tools, last message", async () => {
  verifies("005/provider/anthropic-four-cache-points");
  const body = await bodySentTo("anthropic", requestWith("short"));
  expect(marksIn(body)).toEqual([
    "Section two.",
    expect.stringContaining("<documents>"),
    "call_b",
    "last",
  ]);
});

test("the long cache policy means one hour", async () => {
  const body = JSON.stringify(await bodySentTo("anthropic", requestWith("long")));
  expect(body.match(/"cache_control":\{[^}]*\}/g)).toEqual(
    Array.from({ length: 4 }, () => '"cache_control":{"type":"ephemeral","ttl":"1h"}'),
  );
});

test("nothing is marked without a cache policy", async () => {
  expect(marksIn(await bodySentTo("anthropic", requestWith("off")))).toEqual([]);
});

test("a requested breakpoint replaces the last message, and its metadata is not sent", async () => {
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

test("many breakpoints make at most four points, the latest first", async () => {
  verifies("005/provider/anthropic-shared-cache-budget");
  const marked = conversation.map((event) => ({ ...event, metadata: { cache_breakpoint: true } }));
  const all = marksIn(await bodySentTo("anthropic", requestWith("short", marked)));
  expect(all.toSorted()).toEqual([
    "Section two.",
    expect.stringContaining("<documents>"),
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

test("reasoning cannot be marked, so the part before it is", async () => {
  const thought = {
    ...reasoning("Hm."),
    metadata: { anthropic_thinking_signature: "sig", cache_breakpoint: true },
  };
  const events = [chatRequest("Go."), message("Well."), thought, message("So.")];
  const body = await bodySentTo("anthropic", requestOf(events, { cache: "short" }));
  expect(marksIn(body)).toEqual(["Well."]);
});

test("OpenRouter marks single parts for Claude and Gemini, and nothing for others", async () => {
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

test("OpenRouter marks only the last of parallel results", async () => {
  const body = await bodySentTo("openrouter", requestWith("short"));
  expect(marksIn(body)).toEqual(["Section two.", expect.stringContaining("<documents>"), "call_b"]);
});

test.each(["google", "openai", "ollama", "llamacpp"] as const)(
  "%s gets no marks",
  async (provider) => {
    const body = JSON.stringify(await bodySentTo(provider, requestWith("long")));
    expect(body).not.toMatch(/cache_?control/i);
  },
);

test("what changes from turn to turn comes after the last point of the system prompt", async () => {
  const parts = { ...everything, surroundings: "Today." };
  const body = await bodySentTo("anthropic", requestOf(conversation, { ...parts, cache: "short" }));
  expect(marksIn(body)).toEqual(marksIn(await bodySentTo("anthropic", requestWith("short"))));
  expect(body).toMatchObject({ system: [{}, {}, {}, { type: "text", text: "Today." }] });
});

test("a provider without marks gets it in the same text as what comes before", async () => {
  const options = { systemPrompt: "Prompt.", surroundings: "Today." };
  const body = await bodySentTo("openai", requestOf(conversation, options));
  expect(body).toMatchObject({
    input: [{ content: "Prompt.\n\nToday." }, { role: "user" }, {}, {}, {}, {}],
  });
});

describe("a reply of many parts", () => {
  const ids = Array.from({ length: 12 }, (_, index) => `call_${index}`);
  const long = [
    chatRequest("Go."),
    ...ids.map((id) => toolCall(id, "first")),
    ...ids.map((id) => toolResult(id)),
  ];

  test("gets a second point before it, so that Claude finds the previous cache entry", async () => {
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

  test("takes the point of the tools if no other is left", async () => {
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
  /** A turn after its first request, when a tool asks a question. */
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
      promptTimeoutMs: 0,
      maxResponseBytes: 0,
    },
  } as const;

  /** The body of the main conversation, and the bodies of the inquiry's requests. */
  async function bodies(provider: ProviderName, options: InquiryCase = {}) {
    const { modelName = MODELS[provider], schemaMode = "stable", reply = { text: "?" } } = options;
    const { earlier = [], properties = [] } = options;
    const main = await bodySentTo(
      provider,
      requestOf([...earlier, ...opening], { ...everything, ...settings }),
      modelName,
    );
    await using server = await CaptureServer.start();
    const known = properties.map((each) => ({ chunks: [JSON.stringify(each)] }));
    server.answer(...known, { chunks: WIRE[provider](reply) });
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
      stream: streamOf(...earlier, ...opening, ...calls),
      signal: new AbortController().signal,
    });
    const sent = server.requests.slice(properties.length).map(({ body }) => asObject(body));
    const paths = server.requests.map(({ path }) => path);
    return { main: asObject(main), sent, paths, answer };
  }

  const cases = [
    ...PROVIDER_NAMES.map((provider) => [provider, MODELS[provider]] as const),
    ["anthropic", "claude-sonnet-4-20250514"],
    ["anthropic", "claude-3-5-haiku-latest"],
    ["anthropic", "claude-opus-4-8"],
    ["google", "gemini-3-pro-preview"],
    ["openrouter", "openai/gpt-5"],
  ] as const;

  describe.each(cases)("a question to the inquiry model (%s, %s)", (provider, modelName) => {
    test.each(["stable", "bound"] as const)(
      "shares its prefix, byte for byte, with the conversation's request: %s schema",
      async (schemaMode) => {
        counters("T-INQ-1");
        verifies("028/goal/shared-prefix");
        const { main, sent } = await bodies(provider, { modelName, schemaMode });
        const own = prefixOf(withoutGrammar(provider, main));
        const begun = sent.slice(0, 2).map((body) => {
          const { messages, rest } = prefixOf(withoutGrammar(provider, body));
          return { rest, begins: messages.startsWith(own.messages) };
        });
        const same = { rest: own.rest, begins: true };
        expect(begun).toEqual([same, same]);
      },
    );

    test("keeps the tools in every request, unless a provider cannot forbid calls otherwise", async () => {
      counters("T-INQ-1");
      const { main, sent } = await bodies(provider, { modelName });
      const own = JSON.stringify(unmarked(main["tools"] ?? null));
      expect(sent.map(({ tools: each }) => JSON.stringify(unmarked(each ?? null)))).toEqual([
        own,
        own,
        provider === "ollama" ? "null" : own, // It calls no tool only if it gets none.
      ]);
    });
  });

  test("enforces the schema in the last request if the provider can do so next to tools", async () => {
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

  describe.each(["llamacpp", "ollama"] as const)("on a local server: %s", (provider) => {
    const chat = provider === "ollama" ? "/api/chat" : "/v1/chat/completions";
    const reply = { text: '{"answer": true}' };

    test("is the only request in a short conversation, and the assistant speaks before it", async () => {
      const { sent, paths } = await bodies(provider, { reply });
      expect([paths, lastMessages(sent[0], 4)]).toEqual([
        [chat],
        [
          ["tool", "Tool paused: Go on?"],
          ["tool", "Tool call is still running."],
          ["assistant", "(No reply.)"],
          ["user", expect.stringContaining("Go on?")],
        ],
      ]);
    });

    test("is in the result of the paused call in a long conversation, if the model sees results", async () => {
      const { main, sent, paths } = await bodies(provider, {
        reply,
        earlier: [chatRequest("x".repeat(6000)), message("Long.")],
        properties: SEES_RESULTS[provider].answers,
      });
      expect([paths, lastMessages(sent[0], 3)]).toEqual([
        [...SEES_RESULTS[provider].paths, chat],
        [
          ["assistant", ""],
          ["tool", expect.stringContaining("Go on?")],
          ["tool", "Tool call is still running."],
        ],
      ]);
      const own = prefixOf(withoutGrammar(provider, main));
      const { messages, rest } = prefixOf(withoutGrammar(provider, asObject(sent[0])));
      expect([messages.startsWith(own.messages), rest]).toEqual([true, own.rest]);
    });
  });

  test("marks the end of the shared prefix for Claude", async () => {
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
    "fails if the model answers with a tool call, and nothing runs: %s",
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

interface InquiryCase extends Partial<Pick<InquiryBackendOptions, "schemaMode">> {
  readonly modelName?: string;
  readonly reply?: WireReply;
  /** Before the turn that asks. */
  readonly earlier?: readonly ConversationEvent[];
  /** What a local server answers about its model. */
  readonly properties?: readonly JsonObject[];
}

/** What each local server is asked about its model, and how it says that the model sees results. */
const SEES_RESULTS = {
  llamacpp: {
    paths: ["/props?model=local"],
    answers: [{ chat_template_caps: { supports_tool_calls: true } }],
  },
  ollama: {
    paths: ["/api/ps", "/api/show"],
    answers: [{ models: [] }, { capabilities: ["completion", "tools"] }],
  },
} as const;

/** The role and content of each. */
function lastMessages(body: JsonObject | undefined, count: number) {
  const messages = body?.["messages"];
  const all = Array.isArray(messages) ? messages.filter((each) => isJsonObject(each)) : [];
  return all.slice(-count).map(({ role, content }) => [role, content ?? ""]);
}

function asObject(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new Error("No body.");
  return value;
}

/** For local models a schema and the tool choice only constrain the output. */
function withoutGrammar(provider: ProviderName, body: JsonObject): JsonObject {
  if (provider !== "ollama" && provider !== "llamacpp") return body;
  const { format: _f, response_format: _r, tool_choice: _t, ...rest } = body;
  return rest;
}

/** The messages as text without its closing bracket, and the rest, both without cache marks. */
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
