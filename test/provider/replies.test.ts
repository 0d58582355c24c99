import { describe, expect, test } from "vitest";
import {
  INVALID_ARGUMENTS,
  type ModelEvent,
  PROVIDER_NAMES,
  type ProviderName,
} from "../../src/reach/provider/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { chatRequest } from "../../src/record/conversation/events.fixture.ts";
import { CaptureServer } from "./capture-server.ts";
import { collect, modelAt, requestOf } from "./support.ts";
import { sse, WIRE, type WireReply } from "./wire.ts";

/** Joins deltas, because the chunks differ between providers. */
function joined(events: readonly ModelEvent[]): ModelEvent[] {
  const result: ModelEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if ("text" in event && last !== undefined && "text" in last && last.type === event.type) {
      result[result.length - 1] = { ...last, text: last.text + event.text };
    } else result.push(event);
  }
  return result;
}

async function replyOf(provider: ProviderName, reply: WireReply): Promise<ModelEvent[]> {
  await using server = await CaptureServer.start();
  server.answer({ chunks: WIRE[provider](reply) });
  const model = await modelAt(server.url, provider);
  return joined(await collect(model.stream(requestOf([chatRequest("Hi")]))));
}

const withReasoning = { input: 16, cachedInput: 4, output: 7, reasoning: 3 };
const USAGE: Readonly<Record<ProviderName, JsonObject>> = {
  anthropic: { input: 16, cachedInput: 4, cacheWrites: 2, output: 7 },
  google: { input: 16, cachedInput: 4, output: 7, reasoning: 0 },
  openai: { ...withReasoning },
  openrouter: { ...withReasoning, cost: 0.25 },
  ollama: { input: 16, output: 7 },
  llamacpp: { ...withReasoning },
};

const signedDetail = {
  type: "reasoning.text",
  text: "Think.",
  format: "anthropic-claude-v1",
  signature: "sig",
  index: 0,
};
/** The metadata recorded with the reasoning. */
const SIGNED: Readonly<Record<ProviderName, JsonObject | undefined>> = {
  anthropic: { anthropic_thinking_signature: "sig" },
  google: { google_thought_signature: "sig" },
  openai: { openai_item_id: "rs_1", openai_encrypted_content: "sig" },
  openrouter: { openrouter_reasoning_details: [signedDetail] },
  ollama: undefined,
  llamacpp: undefined,
};

describe.each(PROVIDER_NAMES)("%s", (provider) => {
  test("streams text, then the end reason and usage", async () => {
    const events = await replyOf(provider, { text: "Hello there." });
    const metadata = provider === "openai" ? { metadata: { openai_phase: "final_answer" } } : {};
    expect(events).toEqual([
      { type: "message_delta", text: "Hello there." },
      { type: "message_end", ...metadata },
      { type: "response_end", reason: "stop", usage: USAGE[provider] },
    ]);
  });

  test("keeps the signature of reasoning", async () => {
    const events = await replyOf(provider, { reasoning: "Think.", signature: "sig", text: "So." });
    const metadata = SIGNED[provider];
    expect(events.slice(0, 2)).toEqual([
      { type: "reasoning_delta", text: "Think." },
      { type: "reasoning_end", ...(metadata !== undefined && { metadata }) },
    ]);
  });

  test("streams parallel calls in order, with their arguments", async () => {
    const calls = [
      { id: "call_a", name: "read", input: '{"path":"a.txt"}' },
      { id: "call_b", name: "read", input: '{"path":"b.txt","deep":{"n":[1,2]}}' },
    ];
    const events = await replyOf(provider, { text: "Let me see.", calls });
    const requests = events.filter((event) => event.type === "tool_call_request");
    expect(requests.map(({ name, arguments: given }) => ({ name, given }))).toEqual([
      { name: "read", given: { path: "a.txt" } },
      { name: "read", given: { path: "b.txt", deep: { n: [1, 2] } } },
    ]);
    // Ollama sends no ids, so we generate them.
    const ours = expect.stringMatching(/^call_[0-9a-f-]{36}$/);
    expect(requests.map(({ id }) => id)).toEqual(
      provider === "ollama" ? [ours, ours] : ["call_a", "call_b"],
    );
    expect(events.at(-1)).toMatchObject({ type: "response_end", reason: "tool_calls" });
  });

  test("ends the reasoning before the next call", async () => {
    const calls = [{ id: "call_a", name: "read", input: '{"path":"a.txt"}' }];
    const events = await replyOf(provider, { reasoning: "Think.", signature: "sig", calls });
    const ended = events.findIndex(({ type }) => type === "reasoning_end");
    const called = events.findIndex(({ type }) => type.startsWith("tool_call"));
    expect({ hasEnded: ended !== -1, isBefore: ended < called }).toEqual({
      hasEnded: true,
      isBefore: true,
    });
  });
});

test("Gemini's signature of a call is kept with the call", async () => {
  const calls = [{ id: "call_a", name: "read", input: "{}" }];
  const events = await replyOf("google", { signature: "sig", calls });
  expect(events).toContainEqual({
    type: "tool_call_request",
    id: "call_a",
    name: "read",
    arguments: {},
    metadata: { google_thought_signature: "sig" },
  });
});

test("an image of Gemini comes with its signature, between the texts around it", async () => {
  await using server = await CaptureServer.start();
  const [before = "", after = "", ...rest] = WIRE.google({ text: "See it" });
  const inlineData = { mimeType: "image/png", data: "iVBORw==" };
  const parts = [{ inlineData, thoughtSignature: "sig" }];
  const image = sse({ candidates: [{ content: { role: "model", parts } }] });
  server.answer({ chunks: [before, image, after, ...rest] });
  const model = await modelAt(server.url, "google");
  const events = joined(await collect(model.stream(requestOf([chatRequest("Hi")]))));
  expect(events.map(({ type }) => type)).toEqual([
    "message_delta",
    "message_end",
    "file",
    "message_delta",
    "message_end",
    "response_end",
  ]);
  expect(events[2]).toEqual({
    type: "file",
    mediaType: "image/png",
    data: Buffer.from("iVBORw==", "base64"),
    metadata: { google_thought_signature: "sig" },
  });
});

test("redacted thinking has no text, but keeps its data", async () => {
  await using server = await CaptureServer.start();
  const [start = "", ...rest] = WIRE.anthropic({ text: "So." });
  const block = { type: "redacted_thinking", data: "hidden" };
  const redacted = [
    { type: "content_block_start", index: 9, content_block: block },
    { type: "content_block_stop", index: 9 },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  server.answer({ chunks: [start, ...redacted, ...rest] });
  const model = await modelAt(server.url, "anthropic");
  const [first] = await collect(model.stream(requestOf([chatRequest("Hi")])));
  expect(first).toEqual({
    type: "reasoning_end",
    metadata: { anthropic_redacted_thinking: "hidden" },
  });
});

test.each(["anthropic", "openai"] as const)(
  "arguments from %s that are invalid JSON or nested too deeply are marked invalid",
  async (provider) => {
    const deep = `{"path":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
    for (const input of ['{"path": ', deep]) {
      const events = await replyOf(provider, { calls: [{ id: "call_a", name: "read", input }] });
      expect(events).toContainEqual({
        type: "tool_call_request",
        id: "call_a",
        name: "read",
        arguments: { [INVALID_ARGUMENTS]: input },
      });
    }
  },
);
