import { describe, expect, test } from "vitest";
import { transcript } from "../../test/support/transcript.ts";
import type { AssistantSettings } from "../config/index.ts";
import { FakeClock, ScriptedModel, type ScriptedReply } from "../testing/index.ts";
import { answerPrompt } from "./backend.ts";

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

async function answer(reply: ScriptedReply, options: Partial<Parameters<typeof answerPrompt>[0]>) {
  const model = new ScriptedModel({ replies: [reply] });
  const end = await answerPrompt({
    prompt: PROMPT,
    assistant: ASSISTANT,
    model,
    clock: new FakeClock(),
    signal: new AbortController().signal,
    ...options,
  });
  return { end, request: model.requests[0] };
}

describe("the request", () => {
  test("is made of the words that were given, and of nothing else", async () => {
    const { end, request } = await answer("Io", {});
    const { parts, signal: _signal, ...rest } = request ?? {};
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

  test("needs no instructions at all", async () => {
    const { messages, maxTokens } = PROMPT;
    const { request } = await answer("Io", { prompt: { messages, maxTokens } });
    expect(request?.parts.systemParts).toEqual([]);
  });

  test.each([
    [40, 100, 40],
    [400, 100, 100],
    [400, undefined, 400],
  ])("for %s tokens where the model has %s asks for %s", async (wanted, own, maxTokens) => {
    const { maxTokens: _own, ...others } = ASSISTANT.parameters;
    const parameters = own === undefined ? others : { ...others, maxTokens: own };
    const { request } = await answer("Io", {
      prompt: { ...PROMPT, maxTokens: wanted },
      assistant: { ...ASSISTANT, parameters },
    });
    expect(request?.parameters.maxTokens).toBe(maxTokens);
  });
});

test("the answer is the reply as it is, also if it looks like an answer to a question", async () => {
  const { end } = await answer('{"answer": true}', {});
  expect(end).toMatchObject({ answer: '{"answer": true}' });
});

test.each<["length" | "refused", object]>([
  ["length", { type: "answered", answer: "I", model: "test/scripted", isCutOff: true }],
  ["refused", { type: "failed", kind: "provider", message: "test/scripted refused to answer" }],
])("a reply that ended by %s is told as such", async (reason, expected) => {
  const { end } = await answer(
    [
      { type: "text", text: "I" },
      { type: "end", reason },
    ],
    {},
  );
  expect(end).toEqual(expected);
});

test("it ends at once when it is aborted", async () => {
  const abort = new AbortController();
  const ended = answer([{ type: "hang" }], { signal: abort.signal });
  abort.abort(new Error("enough"));
  await expect(ended).rejects.toThrow("enough");
});
