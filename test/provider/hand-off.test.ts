import { describe, expect, test, vi } from "vitest";
import type { ConversationEvent } from "../../src/record/conversation/index.ts";
import {
  type ModelEvent,
  PROVIDER_NAMES,
  type ProviderName,
} from "../../src/reach/provider/index.ts";
import { isJsonObject, type JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import {
  at,
  chatRequest,
  message,
  reasoning,
  toolResult,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import { CaptureServer } from "./capture-server.ts";
import { bodySentTo, collect, modelAt, requestOf } from "./support.ts";
import { WIRE } from "./wire.ts";

const LOCAL = new Set<ProviderName>(["ollama", "llamacpp"]);
const SIGNATURE = "SIGNATURE-OF-THE-PROVIDER";
const THOUGHT = "Some reasoning.";

/** The events that a conversation would record of a reply. */
function recorded(events: readonly ModelEvent[]): ConversationEvent[] {
  const record: ConversationEvent[] = [];
  let text = "";
  for (const event of events) {
    const metadata = "metadata" in event ? { metadata: event.metadata } : {};
    const base = { timestamp: at(0), ...metadata };
    if ("text" in event) text += event.text;
    if (event.type === "reasoning_end" || event.type === "message_end") {
      const type = event.type === "reasoning_end" ? "reasoning" : "message";
      record.push({ type: "chat_response", ...base, content: { type, text } });
      text = "";
    }
    if (event.type === "tool_call_request") record.push({ ...event, ...base });
  }
  return record;
}

/** A turn with one provider, two calls and their results, and then the next request. */
async function conversationWith(provider: ProviderName): Promise<ConversationEvent[]> {
  await using server = await CaptureServer.start();
  const calls = ["a", "b"].map((name) => ({ id: `call_${name}`, name, input: '{"n":1}' }));
  const reply = { reasoning: THOUGHT, signature: SIGNATURE, text: "I will look.", calls };
  server.answer({ chunks: WIRE[provider](reply) });
  const model = await modelAt(server.url, provider);
  const replied = recorded(await collect(model.stream(requestOf([chatRequest("Look.")]))));
  const ids = replied.flatMap((event) => (event.type === "tool_call_request" ? [event.id] : []));
  const results = ids.map((id) => toolResult(id)).toReversed();
  return [turnStart(), chatRequest("Look."), ...replied, ...results, chatRequest("And?")];
}

/** Where each API keeps the ids that pair calls and results. */
const PAIRS: Readonly<Record<ProviderName, readonly [call: string, result: string]>> = {
  anthropic: ["tool_use.id", "tool_result.tool_use_id"],
  google: ["functionCall.id", "functionResponse.id"],
  openai: ["function_call.call_id", "function_call_output.call_id"],
  openrouter: ["function.id", ".tool_call_id"],
  llamacpp: ["function.id", ".tool_call_id"],
  ollama: [".function", ".tool_name"],
};

function findValues(value: unknown, where: string): readonly unknown[] {
  const [kind = "", key = ""] = where.split(".");
  if (Array.isArray(value)) return value.flatMap((each) => findValues(each, where));
  if (!isJsonObject(value)) return [];
  const own = kind === "" || value["type"] === kind ? value[key] : undefined;
  const inner = isJsonObject(value[kind]) ? value[kind][key] : undefined;
  const hit = [own, inner].filter((each) => each !== undefined);
  return [...hit, ...Object.values(value).flatMap((each) => findValues(each, where))];
}

function nameOrSelf(value: unknown): unknown {
  return isJsonObject(value) ? value["name"] : value;
}

describe.each(PROVIDER_NAMES)("a conversation (started with %s)", (from) => {
  test.each(PROVIDER_NAMES)("continues with any other provider: %s", async (to) => {
    verifies("005/provider/google-thought-signature");
    const events = await conversationWith(from);
    const body = await bodySentTo(to, requestOf(events));
    const text = JSON.stringify(body);
    const isTaken = from === to || (LOCAL.has(from) && LOCAL.has(to));
    const [call, result] = PAIRS[to];
    const calls = findValues(body, call).map(nameOrSelf);
    expect({
      calls: calls.length,
      results: findValues(body, result),
      hasThought: text.includes(THOUGHT),
      hasSignature: text.includes(SIGNATURE),
      hasOurNames: /(?:anthropic|google|openai|openrouter)_\w+/.test(text),
    }).toEqual({
      calls: 2,
      results: calls,
      hasThought: isTaken,
      hasSignature: isTaken && !LOCAL.has(to),
      hasOurNames: false,
    });
  });
});

/** The complete reasoning, as it goes back to the provider that signed it. */
const RETURNED: Readonly<Partial<Record<ProviderName, JsonObject>>> = {
  anthropic: { type: "thinking", thinking: THOUGHT, signature: SIGNATURE },
  google: { text: THOUGHT, thought: true, thoughtSignature: SIGNATURE },
  openai: {
    type: "reasoning",
    id: "rs_1",
    encrypted_content: SIGNATURE,
    summary: [{ type: "summary_text", text: THOUGHT }],
  },
  openrouter: {
    type: "reasoning.text",
    text: THOUGHT,
    format: "anthropic-claude-v1",
    signature: SIGNATURE,
    index: 0,
  },
};

test.each(Object.entries(RETURNED) as [ProviderName, JsonObject][])(
  "%s gets its reasoning back unchanged",
  async (provider, expected) => {
    const body = await bodySentTo(provider, requestOf(await conversationWith(provider)));
    expect(objectsIn(body)).toContainEqual(expected);
  },
);

test("signed thinking goes back unchanged, whichever Claude model is asked", async () => {
  verifies("005/provider/anthropic-signature-by-event-model");
  const signed = { ...reasoning("Hm."), metadata: { anthropic_thinking_signature: "of another" } };
  const redacted = { ...reasoning(""), metadata: { anthropic_redacted_thinking: "hidden" } };
  const events = [chatRequest("Hi"), signed, redacted, message("So."), chatRequest("And?")];
  const thinking = await Promise.all(
    ["claude-3-7-sonnet-20250219", "claude-sonnet-4-5", "claude-opus-4-1"].map(async (model) =>
      objectsIn(await bodySentTo("anthropic", requestOf(events), model)).filter(
        ({ type }) => type === "thinking" || type === "redacted_thinking",
      ),
    ),
  );
  const expected = [
    { type: "thinking", thinking: "Hm.", signature: "of another" },
    { type: "redacted_thinking", data: "hidden" },
  ];
  expect(thinking).toEqual([expected, expected, expected]);
});

test("redacted thinking goes back", async () => {
  const redacted = { ...reasoning(""), metadata: { anthropic_redacted_thinking: "hidden" } };
  const events = [chatRequest("Hi"), redacted, message("So."), chatRequest("And?")];
  const body = await bodySentTo("anthropic", requestOf(events));
  expect(objectsIn(body)).toContainEqual({ type: "redacted_thinking", data: "hidden" });
});

test("OpenRouter does not get back reasoning that broke off before its signature", async () => {
  const unsigned = { type: "reasoning.text", text: "Half", format: "anthropic-claude-v1" };
  const hidden = { type: "reasoning.encrypted", data: "x" };
  const metadata = { openrouter_reasoning_details: [unsigned, hidden] };
  const cut = { ...reasoning("Half"), metadata };
  const events = [chatRequest("Hi"), cut, message("So."), chatRequest("And?")];
  // The package would leave it out too, but print a warning.
  const printed = vi.spyOn(console, "warn");
  const body = await bodySentTo("openrouter", requestOf(events));
  const calls = [...printed.mock.calls];
  printed.mockRestore();
  const details = objectsIn(body).flatMap(({ reasoning_details: sent = [] }) => sent);
  expect({ details, calls }).toEqual({ details: [hidden], calls: [] });
});

function objectsIn(value: unknown): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isJsonObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}
