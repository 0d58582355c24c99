/** Replies with calls that are cut anywhere, as the API of each provider streams them. */
import { expect, test } from "vitest";
import { eventsOf } from "../../src/record/conversation/index.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../src/reach/provider/index.ts";
import { defineTool, runTurn, type TurnUpdate } from "../../src/index.ts";
import { FakeClock, MemoryConversationStore } from "../../src/testing/index.ts";
import { type Answer, CaptureServer } from "./capture-server.ts";
import { modelAt } from "./support.ts";
import { WIRE } from "./wire.ts";

const CALL = { id: "call_1", name: "look", input: '{"deep":true}' };
/** What ends a reply properly, in one of the APIs. */
const END = /message_stop|"finishReason":"|response\.completed|"finish_reason":"|"done":true/;

/** The whole reply, up to the chunk that ends it. */
function replyOf(provider: ProviderName, text?: string): readonly string[] {
  const chunks = WIRE[provider]({ ...(text !== undefined && { text }), calls: [CALL] });
  return chunks.slice(0, chunks.findIndex((chunk) => END.test(chunk)) + 1);
}

/** One retry. */
const REQUEST = {
  maxRetries: 1,
  baseBackoffMs: 0,
  maxBackoffMs: 0,
  idleTimeoutMs: 0,
  promptTimeoutMs: 0,
  maxResponseBytes: 0,
};

interface Outcome {
  readonly runs: readonly unknown[];
  readonly record: readonly string[];
  readonly requests: number;
}

/** One turn whose first replies are these, and whose next ones are complete. */
async function run(provider: ProviderName, ...first: readonly Answer[]): Promise<Outcome> {
  await using server = await CaptureServer.start();
  server.answer(...first, { chunks: WIRE[provider]({ text: "Done." }) });
  const runs: unknown[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks.",
    parameters: { type: "object", properties: { deep: { type: "boolean" } } },
    run: (args) => {
      runs.push(args);
      return "seen";
    },
  });
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  await using conversation = await store.create({});
  const options = {
    conversation,
    model: await modelAt(server.url, provider),
    tools: [look],
    clock,
    assistant: { request: REQUEST },
    observer: {
      observe: (update: TurnUpdate) => {
        if (update.type === "retry_start") queueMicrotask(() => clock.advance(update.delayMs));
      },
    },
  };
  await runTurn(options, "Look.");
  const record = [...eventsOf(conversation.stream.entries)].flatMap((event) => {
    if (event.type === "tool_call_request") return [`call ${event.id}`];
    return event.type === "chat_response" && event.content.type === "message"
      ? [event.content.text]
      : [];
  });
  return { runs, record, requests: server.requests.length };
}

test.each(PROVIDER_NAMES)(
  "no call of a reply of %s that is cut anywhere is run or recorded",
  async (provider) => {
    const chunks = replyOf(provider);
    const cuts = chunks.flatMap((chunk, index) => [
      [...chunks.slice(0, index), chunk.slice(0, chunk.length / 2)],
      chunks.slice(0, index),
    ]);
    const wrong: unknown[] = [];
    for (const ending of ["end", "break"] as const) {
      for (const cut of cuts) {
        const { runs, record, requests } = await run(provider, { chunks: cut, ending });
        const isRight = runs.length === 0 && record.join() === "Done." && requests === 2;
        if (!isRight) wrong.push({ cut, ending, runs, record, requests });
      }
    }
    expect(wrong).toEqual([]);
  },
);

test.each(PROVIDER_NAMES)(
  "a reply of %s that is cut anywhere is continued after its text",
  async (provider) => {
    const chunks = replyOf(provider, "Now I look.");
    const wrong: unknown[] = [];
    for (const [index] of chunks.entries()) {
      const cut = chunks.slice(0, index);
      // Ollama ends a reply of text that repeats itself without a word.
      const ending = provider === "ollama" ? "break" : "end";
      const { runs, record, requests } = await run(provider, { chunks: cut, ending });
      const [text = ""] = record.toSpliced(-1);
      const isRight = runs.length === 0 && requests === 2 && "Now I look.".startsWith(text);
      if (!isRight || record.at(-1) !== "Done.") wrong.push({ cut, runs, record, requests });
    }
    expect(wrong).toEqual([]);
  },
);

const LIMITED: Readonly<Record<ProviderName, (reply: string) => string>> = {
  anthropic: (reply) => reply.replace('"tool_use","stop_seq', '"max_tokens","stop_seq'),
  google: (reply) => reply.replace('"STOP"', '"MAX_TOKENS"'),
  openai: (reply) =>
    reply
      .replaceAll("response.completed", "response.incomplete")
      .replace('"incomplete_details":null', '"incomplete_details":{"reason":"max_output_tokens"}'),
  openrouter: (reply) => reply.replace('"finish_reason":"tool_calls"', '"finish_reason":"length"'),
  ollama: (reply) => reply.replace('"done_reason":"stop"', '"done_reason":"length"'),
  llamacpp: (reply) => reply.replace('"finish_reason":"tool_calls"', '"finish_reason":"length"'),
};

test.each(PROVIDER_NAMES)(
  "a call of a reply of %s that reached its length limit is not run, and the reply is retried",
  async (provider) => {
    const whole = WIRE[provider]({ text: "I look.", calls: [CALL] }).join("");
    const limited = LIMITED[provider](whole);
    const { runs, record, requests } = await run(provider, { chunks: [limited] });
    expect([limited === whole, runs, record, requests]).toEqual([
      false,
      [],
      ["I look.", "Done."],
      2,
    ]);
  },
);

test.each(PROVIDER_NAMES)(
  "one budget of retries covers all replies of %s that are cut in a call",
  async (provider) => {
    const cut = replyOf(provider, "I look.").slice(0, -1);
    const failing = run(provider, { chunks: cut }, { chunks: cut });
    await expect(failing).rejects.toMatchObject({ kind: "network" });
  },
);

test.each(PROVIDER_NAMES)("a complete reply of %s with a call runs it once", async (provider) => {
  const { runs, record } = await run(provider, { chunks: replyOf(provider, "I look.") });
  expect([runs, record.filter((text) => !text.startsWith("call"))]).toEqual([
    [{ deep: true }],
    ["I look.", "Done."],
  ]);
});
