import { describe, expect, test } from "vitest";
import { loadPrices } from "../settings/config/index.ts";
import {
  type Timestamp,
  timestampFromDate,
  type TokenUsage,
} from "../record/conversation/index.ts";
import { FakeClock, MemoryConversationStore, ScriptedModel } from "../testing/index.ts";
import { booleanQuestion, defineTool } from "../record/tool/index.ts";
import { runTurn } from "./turn.ts";
import { readUsage } from "./turn.ts";

const HOUR = 3600_000;

describe("the usage of a turn", () => {
  test("is recorded with each reply and each question that a model answers", async () => {
    const { result } = await askedTurn();
    const recorded = result.events.filter((event) => event.type === "token_usage");
    expect(recorded.map(({ timestamp: _timestamp, ...event }) => event)).toEqual([
      {
        type: "token_usage",
        model: "test/main",
        purpose: "reply",
        usage: { input: 10, output: 1 },
      },
      {
        type: "token_usage",
        model: "test/small",
        purpose: "inquiry",
        inquiryId: "call_1.sure.1",
        requests: 2,
        usage: { input: 200, output: 4 },
      },
      {
        type: "token_usage",
        model: "test/main",
        purpose: "reply",
        usage: { input: 30, cachedInput: 10, output: 3, reasoning: 2 },
      },
    ]);
  });

  test("is in its result, as a sum", async () => {
    const { result } = await askedTurn();
    expect(result.usage).toEqual({ input: 240, cachedInput: 10, output: 8, reasoning: 2 });
  });

  test("is never shown to a model, and is not part of the answer", async () => {
    const { result, main } = await askedTurn();
    expect(result.text).toBe("Done.");
    expect(JSON.stringify(main.requests.map(({ parts }) => parts))).not.toContain("token_usage");
  });

  test("costs less than 400 bytes of the record per question", async () => {
    const { conversation } = await askedTurn();
    const sizes = conversation.stream.entries
      .filter(({ eventType }) => eventType === "token_usage")
      .map(({ raw }) => JSON.stringify(raw, null, 2).length);
    expect(Math.max(...sizes)).toBeLessThan(400);
  });
});

describe("totals", () => {
  test("are by model, by day or by conversation", async () => {
    const { store, first, second } = await threeRequests();
    const keysBy = async (by: "model" | "day" | "conversation") =>
      (await readUsage(store, { by })).map(({ key, requests, usage }) => [key, requests, usage]);
    expect(await keysBy("model")).toEqual([
      ["a/big", 2, { input: 3_000_000, cachedInput: 1_000_000, output: 1_000_000 }],
      ["b/small", 1, { input: 500, output: 5 }],
    ]);
    expect((await keysBy("day")).map(([, requests]) => requests)).toEqual([2, 1]);
    expect((await keysBy("conversation")).map(([key]) => key)).toEqual([first, second]);
  });

  test("count only what is in the period, and read nothing else", async () => {
    const { store, clock } = await threeRequests();
    const scanned: string[] = [];
    const source = {
      list: store.list.bind(store),
      scan: (id: Parameters<typeof store.scan>[0]) => {
        scanned.push(id);
        return store.scan(id);
      },
    };
    const since = new Date(clock.now().getTime() - HOUR);
    const totals = await readUsage(source, { since });
    expect(totals.map(({ key }) => key)).toEqual(["b/small"]);
    expect(scanned).toHaveLength(1);
    expect(await readUsage(source, { until: new Date(0) })).toEqual([]);
    expect(scanned).toHaveLength(1);
  });

  test("have a cost only where the config has a price", async () => {
    const { store } = await threeRequests();
    const prices = await loadPrices({
      usage: {
        currency: "EUR",
        prices: { "a/*": { input: 2, cached_input: 0.5, output: 8 } },
      },
    });
    const [big, small] = await readUsage(store, { prices });
    expect(big).toMatchObject({ cost: 2 * 2 + 1 * 0.5 + 1 * 8, isPartial: false });
    expect(small).not.toHaveProperty("cost");
    const [day] = await readUsage(store, { by: "day", prices });
    expect(day?.isPartial).toBe(false);
    expect(await readUsage(store)).toMatchObject([{ isPartial: true }, { isPartial: true }]);
  });

  test("do not count twice what a fork has copied", async () => {
    const { store, first } = await threeRequests();
    await store.fork(first);
    const [big] = await readUsage(store);
    expect(big?.requests).toBe(2);
  });
});

/** Two requests in one conversation, and a day later one in another. */
async function threeRequests() {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  const first = await store.create({});
  clock.advance(2000);
  const at = (): Timestamp => timestampFromDate(clock.now());
  const big = { input: 1_500_000, cachedInput: 500_000, output: 500_000 };
  await first.append(spent(at(), "a/big", big), spent(at(), "a/big", big));
  await first.release();
  clock.advance(24 * HOUR);
  const second = await store.create({});
  clock.advance(2000);
  await second.append(spent(at(), "b/small", { input: 500, output: 5 }));
  await second.release();
  return { store, clock, first: first.id, second: second.id };
}

function spent(timestamp: Timestamp, model: string, usage: TokenUsage["usage"]): TokenUsage {
  return { type: "token_usage", timestamp, model, purpose: "reply", usage };
}

/** A turn in which a model answers a question, at its second attempt. */
async function askedTurn() {
  const conversation = await new MemoryConversationStore().create({});
  const main = new ScriptedModel({
    id: "test/main",
    replies: [
      [
        { type: "tool_call", id: "call_1", name: "act" },
        { type: "end", reason: "tool_calls", usage: { input: 10, output: 1 } },
      ],
      [
        { type: "text", text: "Done." },
        {
          type: "end",
          reason: "stop",
          usage: { input: 30, cachedInput: 10, output: 3, reasoning: 2 },
        },
      ],
    ],
  });
  const usage = { input: 100, output: 2 };
  const inquiryModel = new ScriptedModel({
    id: "test/small",
    replies: ["Hm.", '{"answer":true}'].map((text) => [
      { type: "text", text },
      { type: "end", reason: "stop", usage },
    ]),
  });
  const act = defineTool({
    name: "act",
    description: "Acts.",
    parameters: { type: "object", properties: {} },
    run: async (_args, context) => String(await context.ask(booleanQuestion("sure", "Sure?"))),
  });
  const toolConfig = { act: { detached: "auto" } } as const;
  const options = { conversation, model: main, tools: [act], toolConfig, inquiryModel };
  const result = await runTurn(options, "Act!");
  return { conversation, main, result };
}
