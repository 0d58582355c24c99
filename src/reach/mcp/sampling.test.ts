import { expect, test } from "vitest";
import type { JsonObject } from "../../util/index.ts";
import { parseSampling } from "./sampling.ts";

const HI = { role: "user", content: { type: "text", text: "Hi" } };
const LONG = { role: "user", content: { type: "text", text: "x".repeat(100_000) } };

function withContent(content: JsonObject): JsonObject {
  return { messages: [{ role: "user", content }], maxTokens: 1 };
}

test("the texts are kept, and preferences are not", () => {
  const prompt = parseSampling({
    systemPrompt: "Be a moon.",
    messages: [
      HI,
      { role: "assistant", content: { type: "text", text: "Hello" } },
      { role: "user", content: [HI.content, { type: "text", text: "again" }] },
    ],
    maxTokens: 7,
    includeContext: "allServers",
    temperature: 2,
    stopSequences: ["."],
    modelPreferences: { hints: [{ name: "other" }] },
    metadata: { a: 1 },
  });
  expect(prompt).toEqual({
    systemPrompt: "Be a moon.",
    messages: [
      { role: "user", text: "Hi" },
      { role: "assistant", text: "Hello" },
      { role: "user", text: "Hi" },
      { role: "user", text: "again" },
    ],
    maxTokens: 7,
  });
});

test.each<[string, unknown, string]>([
  ["nothing", undefined, "expected an object"],
  ["no messages", { maxTokens: 1 }, "messages: expected an array"],
  ["not one message", { messages: [], maxTokens: 1 }, "must be from the user"],
  ["a last word", { messages: [HI, { ...HI, role: "assistant" }], maxTokens: 1 }, "from the user"],
  ["an unknown role", { messages: [{ ...HI, role: "system" }], maxTokens: 1 }, "messages.0.role"],
  ["no limit", { messages: [HI] }, "maxTokens: expected an integer"],
  ["no room", { messages: [HI], maxTokens: 0 }, "maxTokens: less than one"],
  ["a picture", withContent({ type: "image", data: "" }), '"image" is not supported, only text is'],
  ["a sound", withContent({ type: "audio", data: "" }), '"audio" is not supported'],
  ["a tool's result", withContent({ type: "tool_result" }), '"tool_result" is not supported'],
  ["no text", withContent({ type: "text" }), "messages.0.content.text: expected a string"],
  ["tools", { messages: [HI], maxTokens: 1, tools: [] }, "tools: tools are not supported"],
  [
    "a choice of tools",
    { messages: [HI], maxTokens: 1, toolChoice: {} },
    "tools are not supported",
  ],
  ["too much to say", { messages: [LONG], maxTokens: 1 }, "more than 100000 characters"],
])("a request with %s is refused", (_, params, problem) => {
  expect(() => parseSampling(params)).toThrow(problem);
});
