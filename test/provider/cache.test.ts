import { expect, test } from "vitest";
import type { ConversationEvent } from "../../src/conversation/index.ts";
import type { CachePolicy, ModelRequest } from "../../src/provider/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { chatRequest, message, reasoning, toolCall, toolResult } from "../support/events.ts";
import { bodySentTo, requestOf } from "./support.ts";

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
