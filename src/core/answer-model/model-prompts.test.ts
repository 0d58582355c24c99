import { describe, expect, test } from "vitest";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import type { AssistantSettings } from "../../settings/config/index.ts";
import type { InquiryId, Timestamp } from "../../record/conversation/index.ts";
import { FakeClock, ScriptedModel, type ScriptedReply } from "../../testing/index.ts";
import { type ModelPrompt, textQuestion } from "../../record/tool/index.ts";
import { createInquiryBackend } from "./backend.ts";

const ASSISTANT: AssistantSettings = {
  name: "jp",
  model: { provider: "test", name: "scripted" },
  parameters: { temperature: 0, maxTokens: 100, other: { seed: 1 } },
  systemPrompt: "Our own instructions.",
  sections: [{ title: "Rules", content: "Ours too." }],
  toolChoice: "required",
  request: {
    maxRetries: 0,
    baseBackoffMs: 0,
    maxBackoffMs: 0,
    idleTimeoutMs: 0,
    promptTimeoutMs: 0,
    maxResponseBytes: 1000,
  },
  cache: "long",
};

const PROMPT = {
  systemPrompt: "Be a moon.",
  messages: [
    { role: "user", text: "Hi" },
    { role: "assistant", text: "Hello" },
    { role: "user", text: "Which one?" },
  ],
  maxTokens: 40,
} as const;

interface PromptOptions {
  readonly prompt?: ModelPrompt;
  readonly assistant?: AssistantSettings;
  readonly signal?: AbortSignal;
}

async function answer(reply: ScriptedReply, options: PromptOptions = {}) {
  const { prompt = PROMPT, assistant = ASSISTANT } = options;
  const { signal = new AbortController().signal } = options;
  const model = new ScriptedModel({ replies: [reply] });
  const backend = createInquiryBackend({
    assistant: () => assistant,
    model: async () => model,
    tools: () => [{ name: "a_tool", description: "", parameters: {} }],
    attachments: () => [],
    schemaMode: "bound",
    clock: new FakeClock(),
  });
  const end = await backend.inquire({
    inquiryId: "a.moon.1" as InquiryId,
    toolCallId: "a",
    toolName: "a_tool",
    question: textQuestion("moon", "Which moon?"),
    target: { type: "assistant", assistant: {} },
    stream: { createdAt: "2026-01-02T03:04:05Z" as Timestamp, baseConfig: {}, entries: [] },
    prompt,
    signal,
  });
  return { end, request: model.requests[0] };
}

describe("a request with a tool's own prompt", () => {
  test("contains the prompt and nothing else", async () => {
    const { end, request } = await answer("Io");
    const { parts, signal: _signal, observe: _observe, ...rest } = request ?? {};
    expect(end).toEqual({ type: "answered", answer: "Io", model: "test/scripted" });
    expect(rest).toEqual({
      tools: [],
      toolChoice: "none",
      parameters: { temperature: 0, maxTokens: 40, other: { seed: 1 } },
      cache: "off",
    });
    expect([parts?.systemParts, parts?.schema, transcript(parts?.events ?? [])]).toEqual([
      [{ tag: "prompt", text: "Be a moon." }],
      undefined,
      ["person: Hi", "message: Hello", "person: Which one?"],
    ]);
  });

  test("needs no system prompt", async () => {
    const { messages, maxTokens } = PROMPT;
    const { request } = await answer("Io", { prompt: { messages, maxTokens } });
    expect(request?.parts.systemParts).toEqual([]);
  });

  test.each([
    [40, 100, 40],
    [400, 100, 100],
    [400, undefined, 400],
  ])("for %s tokens with a limit of %s asks for %s", async (wanted, own, maxTokens) => {
    const { maxTokens: _own, ...others } = ASSISTANT.parameters;
    const parameters = own === undefined ? others : { ...others, maxTokens: own };
    const { request } = await answer("Io", {
      prompt: { ...PROMPT, maxTokens: wanted },
      assistant: { ...ASSISTANT, parameters },
    });
    expect(request?.parameters.maxTokens).toBe(maxTokens);
  });
});

test("the answer is the unchanged reply, even if it looks like a structured answer", async () => {
  const { end } = await answer('{"answer": true}');
  expect(end).toMatchObject({ answer: '{"answer": true}' });
});

test.each<["length" | "refused", object]>([
  ["length", { type: "answered", answer: "I", model: "test/scripted", isCutOff: true }],
  ["refused", { type: "failed", kind: "provider", message: "test/scripted refused to answer" }],
])("a reply that ends with `%s` is reported as such", async (reason, expected) => {
  const { end } = await answer([
    { type: "text", text: "I" },
    { type: "end", reason },
  ]);
  expect(end).toEqual(expected);
});

test("an abort cancels it at once", async () => {
  const abort = new AbortController();
  const ended = answer([{ type: "hang" }], { signal: abort.signal });
  abort.abort(new Error("enough"));
  expect((await ended).end).toEqual({ type: "cancelled" });
});
