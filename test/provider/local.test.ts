/** Models on the user's machine: what their servers get, refuse and read again. */
import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AssistantSettings, resolveAssistant } from "../../src/settings/config/index.ts";
import {
  anyDamagedStream,
  chatRequest,
  message,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  eventsOf,
  type InquiryId,
} from "../../src/record/conversation/index.ts";
import {
  createInquiryBackend,
  type InquiryAnswer,
  type InquiryCall,
} from "../../src/core/answer-model/index.ts";
import {
  collectReply,
  type CollectedReply,
  type Model,
  type ModelEvent,
  type ModelRequest,
  ProviderError,
  type Reasoning,
  type RequestUpdate,
  type StreamLimits,
  type Usage,
  watchStream,
} from "../../src/reach/provider/index.ts";
import { createOwnToolbox, createTurn, runTurn } from "../../src/assemble/index.ts";
import { FakeClock, MemoryConversationStore } from "../../src/testing/index.ts";
import { booleanQuestion, defineTool } from "../../src/record/tool/index.ts";
import { isJsonObject, type JsonObject } from "../../src/util/index.ts";
import { CaptureServer } from "./capture-server.ts";
import {
  type ChatBody,
  KEEP_ALIVE,
  type LlamaReply,
  LlamaServer,
  promptProgress,
  type Quirk,
} from "./llama-server.ts";
import { bodySentTo, collect, KEY, modelAt, MODELS, providersAt, requestOf } from "./support.ts";
import { sse, WIRE } from "./wire.ts";

const YES = '{"answer":true}';
const { signal } = new AbortController();
const SETTINGS: AssistantSettings = resolveAssistant({
  assistant: { model: { id: { provider: "llamacpp", name: MODELS.llamacpp } } },
});
const TOOLS = ["a_tool", "another"].map((name) => ({
  name,
  description: "Does it.",
  parameters: { type: "object" },
}));

describe("five questions asked at once, after a conversation of 10,000 tokens,", () => {
  const templates: readonly (readonly [string, readonly Quirk[]])[] = [
    ["plain template", []],
    ["template that wants alternating roles", ["alternating_roles", "nine_letter_ids"]],
    ["template that strips thoughts", ["strips_thinking"]],
  ];

  test.each(templates)(
    "let the model read less than 500 tokens each with a %s, and so does the next request",
    async (_name, quirks) => {
      const { inquiries, next } = await runAskingTurn({ quirks });
      const chats = [...inquiries, next];
      expect(chats.map(({ prompt }) => prompt > 10_000)).toEqual(chats.map(() => true));
      expect(chats.map(({ evaluated }) => evaluated < 500)).toEqual(chats.map(() => true));
      expect(chats.length).toBe(6);
    },
  );

  test.each(templates)(
    "are read as a whole by each other slot if they may be sent at once, with a %s",
    async (_name, quirks) => {
      const { inquiries } = await runAskingTurn({ quirks, maxParallel: 5 });
      const inFull = inquiries.filter(({ prompt, evaluated }) => evaluated > 0.9 * prompt);
      expect([inquiries.length, inFull.length]).toEqual([5, 3]);
    },
  );
});

describe("a template that wants alternating roles", () => {
  const quirks = ["alternating_roles"] as const;

  test("accepts a message after a turn that ended with the result of a call", async () => {
    await using server = await LlamaServer.start({ quirks });
    const model = await modelAt(server.url, "llamacpp");
    const ended = [chatRequest("Go."), toolCall("a"), toolResult("a"), chatRequest("And?")];
    await collect(model.stream(requestOf(ended, { systemPrompt: "Be brief.", tools: TOOLS })));
    expect(refusalsOf(server)).toEqual([undefined]);
  });

  test.each([
    ["short conversation, in which it is a message", 10, "user"],
    ["long conversation, in which it is the result of the call", 5000, "tool"],
  ])("accepts a question in a %s, even after an empty reply", async (_name, length, role) => {
    const replies = [{ text: "" }, { text: YES }];
    await using server = await LlamaServer.start({ quirks, reply: () => replies.shift() ?? {} });
    const answer = await inquire(await modelAt(server.url, "llamacpp"), [
      chatRequest(words(length)),
      toolCall("a"),
    ]);
    expect({
      answer,
      refusals: refusalsOf(server),
      asked: server.chats[0]?.body.messages.at(-1),
    }).toMatchObject({
      answer: { type: "answered", answer: true },
      refusals: [undefined, undefined],
      asked: { role, content: expect.stringContaining("Sure?") },
    });
  });
});

test.each([
  ["alternating_roles", 0],
  ["plain_talk", 1],
] as const)(
  "any conversation is accepted by a template with %s, after refusals: %i",
  async (quirk, refusals) => {
    await using server = await LlamaServer.start({ quirks: [quirk] });
    await fc.assert(
      fc.asyncProperty(anyDamagedStream, async ({ entries }) => {
        server.chats.length = 0;
        const model = await modelAt(server.url, "llamacpp");
        const events = [chatRequest("Hi."), ...eventsOf(entries), chatRequest("Go on.")];
        await collect(model.stream(requestOf(events, { systemPrompt: "Be brief." })));
        expect(server.chats.length).toBe(refusals + 1);
      }),
      { numRuns: 50 },
    );
  },
);

describe("a conversation that the template refuses", () => {
  const twoCalls = [
    chatRequest("Go."),
    message("Wait."),
    toolCall("call_a"),
    toolCall("call_b", "another", { at: 1 }),
    toolResult("call_a", "A"),
    toolResult("call_b", "B"),
  ];
  const noticeText = "llamacpp/local: the model's chat template";

  test.each<[Quirk, string, readonly string[], readonly object[]]>([
    [
      "nine_letter_ids",
      "Tool call IDs should be alphanumeric strings with length 9!",
      [],
      [
        { role: "system" },
        { role: "user" },
        { role: "assistant", tool_calls: [{ id: "call00000" }, { id: "call00001" }] },
        { role: "tool", tool_call_id: "call00000" },
        { role: "tool", tool_call_id: "call00001" },
      ],
    ],
    [
      "single_calls",
      "This model only supports single tool-calls at once!",
      [`${noticeText} takes one tool call at a time, so jp sends earlier calls one by one.`],
      [
        { role: "system" },
        { role: "user" },
        { role: "assistant", content: "Wait.", tool_calls: [{ id: "call_a" }] },
        { role: "tool", tool_call_id: "call_a", content: "A" },
        { role: "assistant", tool_calls: [{ id: "call_b" }] },
        { role: "tool", tool_call_id: "call_b", content: "B" },
      ],
    ],
    [
      "plain_talk",
      "System role not supported",
      [
        `${noticeText} does not accept this conversation as it is, so jp sends instructions, ` +
          "tool calls and results as plain text.",
      ],
      [
        { role: "user", content: "Be brief.\n\nGo." },
        { role: "assistant", content: "Wait.\n\n[I called the tool a_tool with {}]" },
        { role: "user", content: "[The tool a_tool returned:]\nA" },
        { role: "assistant", content: '[I called the tool another with {"at":1}]' },
        { role: "user", content: "[The tool another returned:]\nB" },
      ],
    ],
  ])("is sent in another form from then on: %s", async (quirk, refusal, notices, messages) => {
    await using server = await LlamaServer.start({ quirks: [quirk] });
    const providers = providersAt(server.url);
    const seen: RequestUpdate[] = [];
    for (let requests = 0; requests < 3; requests += 1) {
      const model = await providers.model("llamacpp", MODELS.llamacpp);
      const request = requestOf(twoCalls, {
        systemPrompt: "Be brief.",
        tools: TOOLS,
        observe: (update) => void seen.push(update),
      });
      await collect(model.stream(request));
    }
    expect({
      refusals: refusalsOf(server),
      notices: seen.flatMap((update) => (update.type === "notice" ? [update.message] : [])),
      messages: server.chats.at(-1)?.body.messages,
    }).toMatchObject({
      refusals: [expect.stringContaining(refusal), undefined, undefined, undefined],
      notices,
      messages,
    });
  });

  test("is sent in another form to the inquiry model too, with one notice for both", async () => {
    await using server = await LlamaServer.start({
      quirks: ["plain_talk"],
      reply: () => ({ text: YES }),
    });
    const model = await modelAt(server.url, "llamacpp");
    const seen: string[] = [];
    const observe = ({ type }: { readonly type: string }) => void seen.push(type);
    const answers = [
      await inquire(model, [chatRequest(words(5000)), toolCall("a")], { observe }),
      await inquire(model, [chatRequest("Go."), toolCall("a")], { observe }),
    ];
    await collect(model.stream(requestOf(twoCalls, { systemPrompt: "Hi.", observe })));
    // It would not see the results of calls as such.
    expect(server.chats[1]?.body.messages.at(-1)?.content).toMatch(
      /^\[The tool a_tool returned:\]\nTool paused: Sure\?\n\nThe tool `a_tool` has paused/,
    );
    expect({
      answers: answers.map(({ type }) => type),
      notices: seen.filter((type) => type === "notice").length,
      refusals: refusalsOf(server).filter((refusal) => refusal !== undefined).length,
    }).toEqual({ answers: ["answered", "answered"], notices: 1, refusals: 1 });
  });

  test("fails with the template's own words if no form helps", async () => {
    const failure = { code: 400, message: "Jinja Exception: I want poems.", type: "x" };
    await using server = await LlamaServer.start({ reply: () => failure });
    const { error, retries } = await ask(await modelAt(server.url, "llamacpp"));
    expect({ error, retries, requests: server.chats.length }).toMatchObject({
      error: {
        kind: "template_refused",
        message:
          "llamacpp/local: the model's chat template does not accept the conversation (HTTP 400): I want poems.",
      },
      retries: [],
      requests: 2,
    });
  });
});

describe("a server that cannot answer", () => {
  test("is not asked again if it was started without a flag, which the hint names", async () => {
    await using server = await LlamaServer.start({ quirks: ["no_jinja"] });
    const { error, retries } = await ask(await modelAt(server.url, "llamacpp"), { tools: TOOLS });
    expect({ error, retries, requests: server.chats.length }).toMatchObject({
      error: { isRetryable: false, hint: expect.stringContaining("--jinja") },
      retries: [],
      requests: 1,
    });
  });

  test.each([
    [
      "output in another format",
      "The model produced output that does not match the expected peg-gemma4 format",
      "the request failed (HTTP 500): The model produced output that does not match the expected peg-gemma4 format",
      "other",
    ],
    [
      "arguments that are not JSON",
      "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 9",
      "the request failed (HTTP 500): Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] " +
        "parse error at line 1, column 9",
      "other",
    ],
    [
      "a tool that it cannot render",
      "NotImplemented: map: filter-mapping not implemented",
      "the request failed (HTTP 500): NotImplemented: map: filter-mapping not implemented",
      "other",
    ],
    [
      "a template that fails",
      "\n------------\nWhile executing FilterExpression at line 18, column 33 in source:\n" +
        "...{%- if value['type'] | upper == 'STRING' -%}↵...\n                    ^\n" +
        "Error: Unknown (built-in) filter 'upper' for type Array",
      "the model's chat template does not accept the conversation (HTTP 500): Unknown (built-in) filter 'upper' for " +
        "type Array",
      "template_refused",
    ],
  ])(
    "is not asked again about what it cannot do, and is quoted: %s",
    async (_what, said, reported, kind) => {
      await using server = await CaptureServer.start();
      const failure = { code: 500, message: said, type: "server_error" };
      server.answer({ status: 500, chunks: [JSON.stringify({ error: failure })] });
      const { error, retries } = await ask(await modelAt(server.url, "llamacpp"));
      expect({ error, retries }).toMatchObject({
        error: { kind, message: `llamacpp/local: ${reported}`, isRetryable: false },
        retries: [],
      });
    },
  );

  test("is not asked again if it cannot read its own output in the middle of a reply", async () => {
    await using server = await CaptureServer.start();
    const said = "The model produced output that does not match the expected peg-gemma4 format";
    const failure = sse({ error: { code: 500, message: said, type: "server_error" } });
    const [first = ""] = WIRE.llamacpp({ text: "Well" });
    server.answer({ chunks: [first, failure] });
    const { error, retries } = await ask(await modelAt(server.url, "llamacpp"));
    expect({ error, retries }).toMatchObject({
      error: { kind: "other", message: expect.stringContaining(said), isRetryable: false },
      retries: [],
    });
  });

  test("is asked until it has loaded its model, more often than after other errors", async () => {
    await using server = await LlamaServer.start({ loading: 12 });
    const { reply, retries } = await ask(await modelAt(server.url, "llamacpp"));
    expect({ text: reply?.text, kinds: new Set(retries), count: retries.length }).toEqual({
      text: "Hello.",
      kinds: new Set(["starting"]),
      count: 12,
    });
  });

  test("is waited for if it was there before", async () => {
    const first = await LlamaServer.start();
    const { url, port } = first;
    const model = await modelAt(url, "llamacpp");
    await ask(model);
    await first[Symbol.asyncDispose]();
    let second: LlamaServer | undefined;
    const { reply, retries } = await ask(model, {
      onRetry: async (retry) => {
        if (retry === 5) second = await LlamaServer.start({ port });
      },
    });
    await second?.[Symbol.asyncDispose]();
    expect([reply?.text, retries.at(-1), retries.length]).toEqual(["Hello.", "starting", 5]);
  });

  test("is not waited for if it never was", async () => {
    const server = await LlamaServer.start();
    const model = await modelAt(server.url, "llamacpp");
    await server[Symbol.asyncDispose]();
    const { error, retries } = await ask(model);
    expect({ error, retries }).toMatchObject({
      error: { kind: "network", hint: expect.stringContaining("Is llamacpp running at") },
      retries: [],
    });
  });

  test.each([
    ["the prompt does not fit into the window", words(2000), "Hello."],
    ["the reply does not", "Go.", words(2000)],
  ])("says that the conversation is too long: %s", async (_name, content, text) => {
    await using server = await LlamaServer.start({ window: 1000, reply: () => ({ text }) });
    const events = [chatRequest(content)];
    const { error, retries } = await ask(await modelAt(server.url, "llamacpp"), { events });
    expect([error?.kind, retries]).toEqual(["context_too_long", []]);
  });
});

describe("tools", () => {
  test("are reduced to the one that must be called", async () => {
    await using server = await LlamaServer.start();
    await ask(await modelAt(server.url, "llamacpp"), {
      tools: TOOLS,
      toolChoice: { tool: "another" },
    });
    expect(server.chats[0]?.body).toMatchObject({
      tools: [{ function: { name: "another" } }],
      tool_choice: "required",
    });
  });

  const schema = {
    type: "object",
    properties: { files: { type: "integer" } },
    required: ["files"],
    additionalProperties: false,
  };

  test("can be called before an answer in JSON, which takes no request of its own", async () => {
    expect(await runDocumentTurn(['{"files":3}'], schema)).toMatchObject({
      said: [{ type: "structured", data: { files: 3 } }],
      formats: [undefined, undefined],
      choices: ["auto", "auto"],
    });
  });

  test("cannot be called any more once an answer in prose is asked for in JSON", async () => {
    const replies = ["There are three.", '{"files":3}'];
    const { prompts, usage, ...rest } = await runDocumentTurn(replies, schema);
    expect(rest).toEqual({
      said: [{ type: "structured", data: { files: 3 } }],
      formats: [undefined, undefined, "json_schema"],
      choices: ["auto", "auto", "none"],
    });
    const [, prose = 0, document = 0] = prompts;
    expect(usage?.input).toBe(prose + document);
  });

  test("stay in every request of an inquiry, so that the prompt begins alike, but cannot be called", async () => {
    await using server = await LlamaServer.start({ reply: () => ({ text: "Yes." }) });
    const answer = await inquire(await modelAt(server.url, "llamacpp"), [
      chatRequest("Go."),
      toolCall("a"),
    ]);
    expect(answer.type).toBe("failed");
    const tools = TOOLS.map((tool) => ({ function: tool }));
    expect(server.chats).toMatchObject(
      Array.from({ length: 3 }, () => ({ body: { tools, tool_choice: "none" } })),
    );
  });
});

/** A turn in which the model calls a tool, and then answers. */
async function runDocumentTurn(answers: readonly string[], schema: JsonObject) {
  const texts = [...answers];
  await using server = await LlamaServer.start({
    reply: ({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? { text: texts.shift() ?? "" }
        : { calls: [{ id: "r", name: "read", input: "{}" }] },
  });
  const clock = new FakeClock();
  let usage: Usage | undefined;
  const { events } = await runTurn(
    {
      conversation: await new MemoryConversationStore(clock).create({}),
      model: await modelAt(server.url, "llamacpp"),
      tools: [readTool],
      observer: {
        observe: (update) => {
          if (update.type === "response_end") ({ usage } = update);
        },
      },
      clock,
    },
    { content: "How many?", schema },
  );
  const { chats } = server;
  return {
    said: events.flatMap((event) => (event.type === "chat_response" ? [event.content] : [])),
    formats: chats.map(({ body }) => body.response_format?.["type"]),
    choices: chats.map(({ body }) => body.tool_choice),
    prompts: chats.map(({ prompt = 0 }) => prompt),
    usage,
  };
}

describe("a reply that takes its time", () => {
  const limits = { idleTimeoutMs: 1000, promptTimeoutMs: 5000, maxResponseBytes: 0 };
  const word = sse({ choices: [{ index: 0, delta: { content: "Well. " } }] });

  test("may pause as long as the server sends keep-alives", async () => {
    const { text, error } = await watchChunks(limits, [word, KEEP_ALIVE, KEEP_ALIVE], 900);
    expect([text, error]).toEqual(["Well. Hello.", undefined]);
  });

  test("is given up if nothing arrives", async () => {
    const { text, error } = await watchChunks(limits, [word], 1000);
    expect([text, error]).toMatchObject(["Well. ", { kind: "stalled" }]);
  });

  test("may begin late as long as the model reads on, which is reported", async () => {
    const chunks = [
      promptProgress(2048, 6000),
      promptProgress(4096, 6000),
      promptProgress(6000, 6000),
    ];
    const { text, error, progress } = await watchChunks(limits, chunks, 4900);
    expect([text, error, progress]).toEqual([
      "Hello.",
      undefined,
      [
        { type: "prompt_progress", processed: 2048, total: 6000 },
        { type: "prompt_progress", processed: 4096, total: 6000 },
        { type: "prompt_progress", processed: 6000, total: 6000 },
      ],
    ]);
  });

  test("never claims to have read less than nothing, or more than all of it", async () => {
    const chunks = [promptProgress(-5, 100), promptProgress(900, 100)];
    const { progress } = await watchChunks(limits, chunks, 0);
    expect(progress).toEqual([
      { type: "prompt_progress", processed: 0, total: 100 },
      { type: "prompt_progress", processed: 100, total: 100 },
    ]);
  });

  test("is given up if there are only keep-alives instead of progress", async () => {
    const chunks = [promptProgress(2048, 6000), KEEP_ALIVE, KEEP_ALIVE];
    const { error } = await watchChunks(limits, chunks, 2500);
    expect(error).toMatchObject({ kind: "stalled", isRetryable: false });
  });
});

describe("what the server says about its models", () => {
  test("is asked for with the key, and so is a reply", async () => {
    await using server = await LlamaServer.start({ apiKey: KEY, reply: () => ({ text: YES }) });
    const providers = providersAt(server.url);
    const [listed] = await providers.list("llamacpp", signal);
    const model = await providers.model("llamacpp", MODELS.llamacpp);
    const properties = await model.properties?.({ other: {} }, signal);
    const { reply } = await ask(model);
    expect([listed, properties, reply?.text]).toEqual([
      { name: "Qwen3-8B-Q4_K_M", contextWindow: 32_768, isForAnyName: true },
      { contextWindow: 32_768, seesResults: true },
      YES,
    ]);
  });

  test("is not told without the key", async () => {
    await using server = await LlamaServer.start({ apiKey: KEY });
    const providers = providersAt(server.url, { apiKey: "" });
    const { error } = await ask(await providers.model("llamacpp", MODELS.llamacpp));
    await expect(providers.list("llamacpp", signal)).rejects.toMatchObject({
      kind: "authentication",
    });
    expect([error?.kind, server.requests.map(({ headers }) => headers.authorization)]).toEqual([
      "authentication",
      [undefined, undefined],
    ]);
  });

  test.each<[string, readonly JsonObject[], readonly object[]]>([
    [
      "a model by the path of its file, without its parts",
      [{ id: "C:\\models\\big-00001-of-00003.gguf", meta: { n_ctx: 4096, n_ctx_train: 131_072 } }],
      [{ name: "big", contextWindow: 4096, isForAnyName: true }],
    ],
    [
      "a model by its alias, with the window from elsewhere",
      [{ id: "qwen3", meta: { n_ctx_train: 131_072 } }],
      [{ name: "qwen3", contextWindow: 8192, isForAnyName: true }],
    ],
    [
      "many models, each by its name",
      [
        { id: "a/one.gguf", status: { value: "loaded" }, meta: { n_ctx: 4096 } },
        { id: "b/two", status: { value: "unloaded" }, meta: null },
      ],
      [{ name: "a/one.gguf", contextWindow: 4096 }, { name: "b/two" }],
    ],
    [
      "the only one of many that is there",
      [{ id: "a/one.gguf", status: { value: "unloaded" } }],
      [{ name: "a/one.gguf" }],
    ],
  ])("names %s", async (_name, models, expected) => {
    await using server = await LlamaServer.start({ models, window: 8192 });
    expect(await providersAt(server.url).list("llamacpp", signal)).toEqual(expected);
  });

  test("limits what an inquiry is sent: the oldest turns are dropped", async () => {
    await using server = await LlamaServer.start({ window: 3000, reply: () => ({ text: YES }) });
    const answer = await inquire(await modelAt(server.url, "llamacpp"), [
      turnStart(),
      chatRequest(`Long ago. ${words(2500)}`),
      message("Well."),
      turnStart(),
      chatRequest("Go."),
      toolCall("a"),
    ]);
    const [first] = server.chats;
    expect([answer.type, refusalsOf(server), JSON.stringify(first?.body.messages)]).toEqual([
      "answered",
      [undefined],
      expect.not.stringContaining("Long ago."),
    ]);
  });
});

describe("Ollama", () => {
  const NUM_CTX = { other: { num_ctx: 8192 } };

  test("gets the same window and the same tools for a conversation and its questions, and drops nothing", async () => {
    await using server = await CaptureServer.start();
    server.answer({ chunks: WIRE.ollama({ text: YES }) });
    const model = await modelAt(server.url, "ollama");
    const opening = [chatRequest("Go."), toolCall("a")];
    await ask(model, { tools: TOOLS, parameters: NUM_CTX });
    await inquire(model, opening, { settings: { ...SETTINGS, parameters: NUM_CTX } });
    const sent = server.requests.map(({ body }) => body as JsonObject);
    const same = { options: { num_ctx: 8192 }, truncate: false, tools: TOOLS.map(toOllamaTool) };
    expect(sent).toMatchObject([same, same]);
  });

  test.each([
    ["what it runs the model with", { other: {} }, 16_384],
    ["what it is asked for", NUM_CTX, 8192],
  ])("has a window of %s", async (_name, parameters, contextWindow) => {
    await using server = await CaptureServer.start();
    server.answer(({ path }) => ({ chunks: [JSON.stringify(OLLAMA_ANSWERS[path])] }));
    const model = await modelAt(server.url, "ollama");
    expect(await model.properties?.(parameters, signal)).toEqual({
      contextWindow,
      seesResults: true,
      seesImages: false,
    });
  });

  test.each<[Reasoning, string]>([
    [{ type: "off" }, "low"],
    [effort("minimal"), "low"],
    [effort(2000), "low"],
    [effort("medium"), "medium"],
    [effort("max"), "high"],
  ])("gets a level for gpt-oss, which cannot but think: %j", async (thinking, think) => {
    const parameters = { reasoning: thinking, other: {} };
    const request = requestOf([chatRequest("Hi.")], { parameters });
    expect(await bodySentTo("ollama", request, "openai/gpt-oss:20b")).toMatchObject({ think });
  });

  test("that ends a reply without saying that it is done, after some of it, is not asked again", async () => {
    await using server = await CaptureServer.start();
    server.answer({ chunks: WIRE.ollama({ text: "Again and again" }).slice(0, -1) });
    const { error, retries } = await ask(await modelAt(server.url, "ollama"));
    expect({ error, retries }).toMatchObject({
      error: { message: expect.stringContaining("kept repeating itself") },
      retries: [],
    });
  });

  test("that ends a reply before it begins is asked again", async () => {
    await using server = await CaptureServer.start();
    const chunks = WIRE.ollama({ text: "Hello." });
    server.answer({ chunks: [] }, { chunks });
    const { reply, retries } = await ask(await modelAt(server.url, "ollama"));
    expect([reply?.text, retries]).toEqual(["Hello.", ["network"]]);
  });

  test("passes on an error of the server behind it, whose words are quoted", async () => {
    const said = "request (9000 tokens) exceeds the available context size (4096 tokens)";
    const inner = { error: { code: 400, message: said, type: "exceed_context_size_error" } };
    await using server = await CaptureServer.start();
    server.answer({ status: 400, chunks: [JSON.stringify({ error: JSON.stringify(inner) })] });
    const { error } = await ask(await modelAt(server.url, "ollama"));
    expect(error).toMatchObject({
      kind: "context_too_long",
      message: `ollama/qwen3: the conversation is too long for the model (HTTP 400): ${said}`,
      commandHint: expect.stringContaining("jp config set assistant.model.parameters.num_ctx"),
    });
  });

  test.each([
    "model requires more system memory (5.5 GiB) than is available (2.1 GiB)",
    "llama runner process has terminated: error loading model",
  ])("is not asked again for a model that it cannot load: %s", async (said) => {
    await using server = await CaptureServer.start();
    server.answer({ status: 500, chunks: [JSON.stringify({ error: said })] });
    const { error, retries } = await ask(await modelAt(server.url, "ollama"));
    expect([error?.message, retries]).toEqual([expect.stringContaining(said), []]);
  });
});

/** By path. The model is the one that `MODELS` names. */
const OLLAMA_ANSWERS: Readonly<Record<string, JsonObject>> = {
  "/api/ps": {
    models: [
      { name: "other:latest", context_length: 4096 },
      { name: "qwen3:latest", context_length: 16_384 },
    ],
  },
  "/api/show": { capabilities: ["completion", "tools"] },
};

function toOllamaTool(tool: (typeof TOOLS)[number]): JsonObject {
  return { type: "function", function: tool };
}

function effort(amount: string | number): Reasoning {
  return { type: "effort", effort: amount, isHidden: false };
}

interface AskingTurn {
  readonly quirks: readonly Quirk[];
  readonly maxParallel?: number;
}

const CALLS = 5;

/** The model reads a long file, thinks about it, and makes calls that ask something each. */
async function runAskingTurn({ quirks, maxParallel }: AskingTurn) {
  let queued = 0;
  await using server = await LlamaServer.start({
    quirks,
    slots: 4,
    async reply(body) {
      if (!isInquiry(body)) return replyOfTurn(body);
      const here = () => server.requests.filter(({ body: each }) => isInquiry(each)).length;
      // Until each of the others is here too, or waits for its turn.
      while (here() + queued < CALLS) await setImmediate();
      return { text: YES };
    },
  });
  const clock = new FakeClock();
  const model = await modelAt(server.url, "llamacpp");
  const turn = createTurn({
    conversation: await new MemoryConversationStore(clock).create({}),
    model,
    assistant: SETTINGS,
    inquiryModels: {
      assistant: () => SETTINGS,
      model: async () => model,
      schemaMode: "stable",
      ...(maxParallel !== undefined && { maxParallel }),
    },
    toolbox: await createOwnToolbox({
      tools: [readTool, changeTool],
      toolConfig: { change: { questions: { ok: { target: "assistant" } } } },
    }),
    observer: {
      observe: (update) => {
        if (update.type === "inquiry_update" && update.update.type === "queued") queued += 1;
      },
    },
    clock,
  });
  await turn.run({ content: "Change them all." });
  const accepted = server.chats.map(({ prompt = 0, evaluated = 0, body }) => ({
    prompt,
    evaluated,
    body,
  }));
  const next = accepted.pop();
  if (next === undefined) throw new Error("Nothing was asked.");
  return { inquiries: accepted.filter(({ body }) => isInquiry(body)), next };
}

function isInquiry(body: unknown): boolean {
  return isJsonObject(body) && "response_format" in body;
}

const readTool = defineTool({
  name: "read",
  description: "Reads.",
  parameters: { type: "object" },
  run: async () => words(10_000),
});

const changeTool = defineTool({
  name: "change",
  description: "Changes.",
  parameters: { type: "object", properties: { file: { type: "string" } } },
  run: async (_args, context) =>
    (await context.ask(booleanQuestion("ok", "Sure?"))) ? "done" : "no",
});

/** As many words as this, all different. */
function words(count: number): string {
  return Array.from({ length: count }, (_, index) => `word${index}`).join(" ");
}

function replyOfTurn({ messages }: ChatBody): LlamaReply {
  const thought = `I think about it. ${words(50)}`;
  switch (messages.filter(({ role }) => role === "assistant").length) {
    case 0:
      return { reasoning: thought, calls: [{ id: "r", name: "read", input: "{}" }] };
    case 1: {
      const calls = Array.from({ length: CALLS }, (_, index) => ({
        id: `change${index}`,
        name: "change",
        input: `{"file":"${index}"}`,
      }));
      return { reasoning: thought, calls };
    }
    default:
      return { text: "Done." };
  }
}

function refusalsOf({ chats }: LlamaServer): readonly (string | undefined)[] {
  return chats.map(({ refusal }) => refusal);
}

function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === "message_delta" ? event.text : "")).join("");
}

interface Asked {
  readonly reply?: CollectedReply;
  readonly error?: ProviderError;
  /** Why there was each retry. */
  readonly retries: readonly string[];
}

interface AskOptions extends Partial<Omit<ModelRequest, "observe">> {
  readonly events?: readonly ConversationEvent[];
  /** The pause before the retry ends with it. */
  readonly onRetry?: (retry: number) => Promise<void>;
}

async function ask(
  model: Model,
  { events = [chatRequest("Hi.")], onRetry, ...options }: AskOptions = {},
): Promise<Asked> {
  const clock = new FakeClock();
  const retries: string[] = [];
  const observe = async (update: RequestUpdate) => {
    if (update.type !== "retry_start") return;
    retries.push(update.error.kind);
    await onRetry?.(update.retry);
    clock.advance(update.delayMs);
  };
  const request = requestOf(events, { ...options, observe: (update) => void observe(update) });
  const policy = { ...SETTINGS.request, maxRetries: 2 };
  try {
    return { reply: await collectReply({ model, request, policy, clock }), retries };
  } catch (error) {
    if (error instanceof ProviderError) return { error, retries };
    throw error;
  }
}

interface InquireOptions extends Pick<InquiryCall, "observe"> {
  readonly settings?: AssistantSettings;
}

/** The question of a call named `a`. */
function inquire(
  model: Model,
  events: readonly ConversationEvent[],
  { observe, settings = SETTINGS }: InquireOptions = {},
): Promise<InquiryAnswer> {
  const backend = createInquiryBackend({
    assistant: () => settings,
    model: async () => model,
    tools: () => TOOLS,
    attachments: () => [],
    schemaMode: "stable",
    clock: new FakeClock(),
  });
  return backend.inquire({
    inquiryId: "a.ok.1" as InquiryId,
    toolCallId: "a",
    toolName: "a_tool",
    question: booleanQuestion("ok", "Sure?"),
    target: { type: "assistant", assistant: {} },
    stream: streamOf(...events),
    signal,
    ...(observe !== undefined && { observe }),
  });
}

/** A reply before which each of the chunks arrives, and then nothing for a while. */
async function watchChunks(limits: StreamLimits, chunks: readonly string[], pauseMs: number) {
  const clock = new FakeClock();
  let awaited: string | undefined;
  let pause = Promise.withResolvers<void>();
  async function* before() {
    for (const chunk of chunks) {
      awaited = signOf(chunk);
      pause = Promise.withResolvers();
      yield chunk;
      await pause.promise;
    }
  }
  const see = async ({ type }: ModelEvent | RequestUpdate) => {
    if (type !== awaited) return;
    awaited = undefined;
    await setImmediate(); // The reader waits again.
    clock.advance(pauseMs);
    pause.resolve();
  };
  await using server = await LlamaServer.start({
    reply: ({ return_progress: isWanted }) => ({
      text: "Hello.",
      ...(isWanted && { before: before() }),
    }),
  });
  const model = await modelAt(server.url, "llamacpp");
  const updates: RequestUpdate[] = [];
  const observe = (update: RequestUpdate) => {
    updates.push(update);
    void see(update);
  };
  const request = requestOf([chatRequest("Hi.")], { observe });
  const events: ModelEvent[] = [];
  let error: unknown;
  try {
    for await (const event of watchStream({ model, request, limits, clock })) {
      events.push(event);
      void see(event);
    }
  } catch (thrown) {
    error = thrown;
  }
  const progress = updates.filter(({ type }) => type === "prompt_progress");
  return { text: textOf(events), error, progress };
}

/** What tells the reader that the chunk has arrived. */
function signOf(chunk: string): string {
  if (chunk === KEEP_ALIVE) return "alive";
  return chunk.includes("prompt_progress") ? "prompt_progress" : "message_delta";
}
