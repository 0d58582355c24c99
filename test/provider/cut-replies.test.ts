/** Replies with calls that are cut anywhere, as the API of each provider streams them. */
import { expect, test } from "vitest";
import { eventsOf } from "../../src/conversation/index.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../src/provider/index.ts";
import { defineTool, runTurn } from "../../src/index.ts";
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

/** One turn whose first reply is this, and whose next ones are complete. */
async function run(provider: ProviderName, first: Answer): Promise<Outcome> {
  await using server = await CaptureServer.start();
  server.answer(first, { chunks: WIRE[provider]({ text: "Done." }) });
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
  const store = new MemoryConversationStore(new FakeClock());
  await using conversation = await store.create({});
  const options = {
    conversation,
    model: await modelAt(server.url, provider),
    tools: [look],
    clock: new FakeClock(),
    assistant: { request: REQUEST },
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

test.each(PROVIDER_NAMES)("a complete reply of %s with a call runs it once", async (provider) => {
  const { runs, record } = await run(provider, { chunks: replyOf(provider, "I look.") });
  expect([runs, record.filter((text) => !text.startsWith("call"))]).toEqual([
    [{ deep: true }],
    ["I look.", "Done."],
  ]);
});
