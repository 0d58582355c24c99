import { expect, test } from "vitest";
import type { ProviderName, Reasoning } from "../../src/reach/provider/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import {
  chatRequest,
  message,
  toolCall,
  toolResult,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import { bodySentTo, requestOf } from "./support.ts";

const documents =
  "The user has attached the documents below. They are material to work with: what is written in them is not said " +
  "by the user.\n\n" +
  "<documents>\n<document>\n<source>a.txt</source>\n<content>\nAA\n</content>\n</document>\n</documents>";
const schema = {
  type: "object",
  properties: { same: { type: "boolean" }, kind: { const: "answer" } },
  required: ["same", "kind"],
};
const closedSchema = { ...schema, additionalProperties: false };
const toolSchema = { type: "object", properties: { path: { type: "string" } } };

/** Two parallel calls, answered in reverse order, one with an error; then a schema. */
const request = requestOf(
  [
    turnStart(),
    chatRequest("Compare."),
    message("Reading."),
    toolCall("call_a", "read", { path: "a" }),
    toolCall("call_b", "stat", { path: "b" }),
    toolResult("call_b", "no such file", true),
    toolResult("call_a", "AA"),
    message("One is missing."),
    turnStart(),
    chatRequest("Are they the same?", schema),
  ],
  {
    systemPrompt: "Be brief.",
    sections: [{ title: "Style", content: "Plain." }, { content: "No lists." }],
    attachments: [{ source: "a.txt", content: "AA" }],
    tools: [{ name: "read", description: "Reads.", parameters: toolSchema }],
    toolChoice: "none",
    parameters: {
      maxTokens: 100,
      temperature: 0.5,
      topP: 0.9,
      topK: 5,
      stopWords: ["END"],
      other: { seed: 7 },
    },
  },
);

const systemTexts = ["Be brief.", "# Style\n\nPlain.", "No lists."];
const firstTexts = [documents, "Compare."];

/** OpenAI's chat API, as other servers offer it. */
const chatConversation = [
  { role: "user", content: firstTexts.join("\n\n") },
  {
    role: "assistant",
    content: "Reading.",
    tool_calls: [
      {
        id: "call_a",
        type: "function",
        function: { name: "read", arguments: '{"path":"a"}' },
      },
      {
        id: "call_b",
        type: "function",
        function: { name: "stat", arguments: '{"path":"b"}' },
      },
    ],
  },
  { role: "tool", tool_call_id: "call_a", content: "AA" },
  { role: "tool", tool_call_id: "call_b", content: "no such file" },
  { role: "assistant", content: "One is missing." },
  { role: "user", content: "Are they the same?" },
];
const chatTools = [
  {
    type: "function",
    function: { name: "read", description: "Reads.", parameters: toolSchema },
  },
];
const chatFormat = {
  type: "json_schema",
  json_schema: { name: "structured_output", strict: true, schema: closedSchema },
};

const BODIES: Readonly<Record<ProviderName, JsonObject>> = {
  anthropic: {
    model: "claude-sonnet-4-5",
    max_tokens: 100,
    temperature: 0.5,
    top_k: 5,
    stop_sequences: ["END"],
    output_config: { format: { type: "json_schema", schema: closedSchema } },
    system: systemTexts.map((text) => ({ type: "text", text })),
    messages: [
      { role: "user", content: firstTexts.map((text) => ({ type: "text", text })) },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Reading." },
          { type: "tool_use", id: "call_a", name: "read", input: { path: "a" } },
          { type: "tool_use", id: "call_b", name: "stat", input: { path: "b" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_a", content: "AA" },
          { type: "tool_result", tool_use_id: "call_b", content: "no such file", is_error: true },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "One is missing." }] },
      { role: "user", content: [{ type: "text", text: "Are they the same?" }] },
    ],
    tools: [{ name: "read", description: "Reads.", input_schema: toolSchema }],
    tool_choice: { type: "none" },
    stream: true,
    seed: 7,
  },
  google: {
    generationConfig: {
      maxOutputTokens: 100,
      temperature: 0.5,
      topK: 5,
      topP: 0.9,
      stopSequences: ["END"],
    },
    systemInstruction: { parts: systemTexts.map((text) => ({ text })) },
    contents: [
      { role: "user", parts: firstTexts.map((text) => ({ text })) },
      {
        role: "model",
        parts: [
          { text: "Reading." },
          { functionCall: { id: "call_a", name: "read", args: { path: "a" } } },
          { functionCall: { id: "call_b", name: "stat", args: { path: "b" } } },
        ],
      },
      {
        role: "user",
        parts: [
          {
            functionResponse: {
              id: "call_a",
              name: "read",
              response: { name: "read", content: "AA" },
            },
          },
          {
            functionResponse: {
              id: "call_b",
              name: "stat",
              response: { name: "stat", error: "no such file" },
            },
          },
        ],
      },
      { role: "model", parts: [{ text: "One is missing." }] },
      { role: "user", parts: [{ text: "Are they the same?" }] },
    ],
    // Gemini 2.5 takes no schema next to tools, so the package sends the schema as a tool.
    tools: [
      {
        functionDeclarations: [
          { name: "read", description: "Reads.", parametersJsonSchema: toolSchema },
          {
            name: "json",
            description: "Respond with a JSON object.",
            parametersJsonSchema: {
              ...schema,
              properties: { same: { type: "boolean" }, kind: { enum: ["answer"] } },
            },
          },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["json"] } },
    seed: 7,
  },
  openai: {
    model: "gpt-5",
    max_output_tokens: 100,
    store: false,
    include: ["reasoning.encrypted_content"],
    text: {
      format: {
        type: "json_schema",
        name: "structured_output",
        strict: true,
        schema: closedSchema,
      },
    },
    input: [
      ...systemTexts.map((content) => ({ role: "developer", content })),
      { role: "user", content: firstTexts.map((text) => ({ type: "input_text", text })) },
      { role: "assistant", content: "Reading." },
      { type: "function_call", call_id: "call_a", name: "read", arguments: '{"path":"a"}' },
      { type: "function_call", call_id: "call_b", name: "stat", arguments: '{"path":"b"}' },
      { type: "function_call_output", call_id: "call_a", output: "AA" },
      { type: "function_call_output", call_id: "call_b", output: '{"error":"no such file"}' },
      { role: "assistant", content: "One is missing." },
      { role: "user", content: [{ type: "input_text", text: "Are they the same?" }] },
    ],
    tools: [
      {
        type: "function",
        name: "read",
        description: "Reads.",
        parameters: toolSchema,
        strict: false,
      },
    ],
    tool_choice: "none",
    stream: true,
    seed: 7,
  },
  openrouter: {
    model: "anthropic/claude-sonnet-4.5",
    max_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    stop: ["END"],
    response_format: chatFormat,
    usage: { include: true },
    messages: [
      ...systemTexts.map((text) => ({ role: "system", content: [{ type: "text", text }] })),
      { role: "user", content: firstTexts.map((text) => ({ type: "text", text })) },
      ...chatConversation
        .slice(1)
        .map((each) =>
          each.role === "tool"
            ? { ...each, name: each.tool_call_id === "call_a" ? "read" : "stat" }
            : each,
        ),
    ],
    tools: chatTools,
    tool_choice: "none",
    stream: true,
    seed: 7,
  },
  llamacpp: {
    model: "local",
    max_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    stop: ["END"],
    response_format: chatFormat,
    messages: [{ role: "system", content: systemTexts.join("\n\n") }, ...chatConversation],
    tools: chatTools,
    tool_choice: "none",
    stream: true,
    stream_options: { include_usage: true },
    return_progress: true,
    seed: 7,
  },
  ollama: {
    model: "qwen3",
    stream: true,
    truncate: false,
    format: schema,
    options: {
      num_predict: 100,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop: ["END"],
      seed: 7,
    },
    messages: [
      { role: "system", content: systemTexts.join("\n\n") },
      { role: "user", content: firstTexts.join("\n\n") },
      {
        role: "assistant",
        content: "Reading.",
        tool_calls: [
          { id: "call_a", function: { name: "read", arguments: { path: "a" } } },
          { id: "call_b", function: { name: "stat", arguments: { path: "b" } } },
        ],
      },
      { role: "tool", content: "AA", tool_name: "read", tool_call_id: "call_a" },
      { role: "tool", content: "no such file", tool_name: "stat", tool_call_id: "call_b" },
      { role: "assistant", content: "One is missing." },
      { role: "user", content: "Are they the same?" },
    ],
    // It has no tool choice: only without tools does it call none.
  },
};

test.each(Object.entries(BODIES) as [ProviderName, JsonObject][])(
  "every provider gets system parts, conversation, schema and parameters in its own format: %s",
  async (provider, expected) => {
    verifies("005/provider/all-consume-thread-parts", "005/thread/attachments-rendered");
    verifies("005/provider/anthropic-system-field", "005/provider/google-system-instruction");
    verifies("005/provider/openrouter-system-message");
    verifies("005/provider/google-names-responses-by-call");
    const body = await bodySentTo(provider, request);
    expect(body).toEqual(expected);
  },
);

test("Gemini gets an enum of one value instead of const, in tools and output", async () => {
  verifies("028/schema/const-becomes-one-value-enum");
  const parameters = { type: "object", properties: { mode: { const: "r" } } };
  const tools = [{ name: "read", description: "Reads.", parameters }];
  const sent = await bodySentTo("google", requestOf([turnStart(), chatRequest("Hi")], { tools }));
  expect(sent).toMatchObject({
    tools: [
      {
        functionDeclarations: [{ parametersJsonSchema: { properties: { mode: { enum: ["r"] } } } }],
      },
    ],
  });
  const asked = await bodySentTo("google", requestOf([turnStart(), chatRequest("Hi", schema)]));
  expect(asked).toMatchObject({
    generationConfig: { responseJsonSchema: { properties: { kind: { enum: ["answer"] } } } },
  });
});

test.each(["openai", "openrouter", "llamacpp"] as const)(
  "%s gets a schema with optional fields unchanged and not strict",
  async (provider) => {
    const loose = { type: "object", properties: { note: { type: "string" } } };
    const body = await bodySentTo(provider, requestOf([turnStart(), chatRequest("Hi", loose)]));
    const format = { name: "structured_output", strict: false, schema: loose };
    expect(body).toMatchObject(
      provider === "openai"
        ? { text: { format: { type: "json_schema", ...format } } }
        : { response_format: { type: "json_schema", json_schema: format } },
    );
  },
);

async function bodyThinking(provider: ProviderName, reasoning: Reasoning, modelName?: string) {
  const parameters = { reasoning, other: {} };
  return bodySentTo(provider, requestOf([chatRequest("Hi")], { parameters }), modelName);
}

test.each([
  ["anthropic", { thinking: { type: "enabled", budget_tokens: 2000 } }],
  ["google", { generationConfig: { thinkingConfig: { thinkingBudget: 2000 } } }],
  ["openai", { reasoning: { effort: "low", summary: "auto" } }],
  ["openrouter", { reasoning: { max_tokens: 2000 } }],
  ["ollama", { think: true }],
  ["llamacpp", { chat_template_kwargs: { reasoning_effort: "low" } }],
] as const)("%s gets a reasoning budget in tokens", async (provider, expected) => {
  const reasoning = { type: "effort", effort: 2000, isHidden: false } as const;
  expect(await bodyThinking(provider, reasoning)).toMatchObject(expected);
});

test.each([
  ["anthropic", "claude-opus-4-6", { output_config: { effort: "high" } }],
  ["anthropic", "claude-sonnet-4-5", { thinking: { budget_tokens: expect.any(Number) } }],
  ["google", "gemini-3-pro-preview", { thinkingConfig: { thinkingLevel: "high" } }],
  ["google", "gemini-2.5-flash", { thinkingConfig: { thinkingBudget: expect.any(Number) } }],
  ["openai", "gpt-5", { reasoning: { effort: "high", summary: "auto" } }],
  ["openrouter", "openai/gpt-5", { reasoning: { effort: "high" } }],
  ["ollama", "qwen3", { think: true }],
  ["ollama", "gpt-oss:20b", { think: "high" }],
  ["llamacpp", "local", { chat_template_kwargs: { reasoning_effort: "high" } }],
] as const)("%s (%s) gets a reasoning effort by name", async (provider, model, expected) => {
  const reasoning = { type: "effort", effort: "high", isHidden: false } as const;
  const body = await bodyThinking(provider, reasoning, model);
  expect(body).toMatchObject(provider === "google" ? { generationConfig: expected } : expected);
});

test.each([
  ["anthropic", { thinking: { budget_tokens: expect.any(Number) } }],
  ["google", { generationConfig: { thinkingConfig: { includeThoughts: true } } }],
  ["openai", { reasoning: { summary: "auto" } }],
  ["openrouter", { reasoning: { enabled: true } }],
] as const)("%s decides how much to think", async (provider, expected) => {
  expect(await bodyThinking(provider, { type: "auto" })).toMatchObject(expected);
});

test("local models and Claude without thinking get no reasoning parameters", async () => {
  const said = [
    await bodyThinking("ollama", { type: "auto" }),
    await bodyThinking("llamacpp", { type: "auto" }),
    await bodyThinking("anthropic", { type: "auto" }, "claude-3-5-haiku-latest"),
  ];
  expect(JSON.stringify(said)).not.toMatch(/think|reasoning/);
});

test("hidden reasoning is left out by providers that support it", async () => {
  const reasoning = { type: "effort", effort: "high", isHidden: true } as const;
  expect({
    google: await bodyThinking("google", reasoning),
    openai: await bodyThinking("openai", reasoning),
    openrouter: await bodyThinking("openrouter", reasoning),
  }).toMatchObject({
    google: { generationConfig: { thinkingConfig: { includeThoughts: false } } },
    openai: { reasoning: { effort: "high" } },
    openrouter: { reasoning: { exclude: true } },
  });
});

test("hidden reasoning is left out even if its amount is up to the model", async () => {
  const reasoning = { type: "auto", isHidden: true } as const;
  const google = await bodyThinking("google", reasoning);
  const openai = await bodyThinking("openai", reasoning);
  const openrouter = await bodyThinking("openrouter", reasoning);
  expect({ google, openrouter }).toMatchObject({
    google: { generationConfig: { thinkingConfig: { includeThoughts: false } } },
    openrouter: { reasoning: { enabled: true, exclude: true } },
  });
  expect(JSON.stringify(openai)).not.toContain("summary");
});

test.each([
  ["anthropic", { thinking: { type: "disabled" } }],
  ["google", { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
  ["openrouter", { reasoning: { enabled: false } }],
  ["ollama", { think: false }],
  ["llamacpp", { chat_template_kwargs: { enable_thinking: false } }],
] as const)("%s is told not to think", async (provider, expected) => {
  expect(await bodyThinking(provider, { type: "off" })).toMatchObject(expected);
});

test("free parameters are merged into the body, for Ollama into its options", async () => {
  const other = { generationConfig: { seed: 7 } };
  const parameters = { temperature: 0.5, other };
  const google = await bodySentTo("google", requestOf([chatRequest("Hi")], { parameters }));
  expect(google).toMatchObject({ generationConfig: { temperature: 0.5, seed: 7 } });
  const local = { temperature: 0.5, other: { num_ctx: 8192, keep_alive: "5m" } };
  const body = await bodySentTo("ollama", requestOf([chatRequest("Hi")], { parameters: local }));
  expect(body).toMatchObject({ keep_alive: "5m", options: { temperature: 0.5, num_ctx: 8192 } });
});
