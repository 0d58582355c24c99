import { describe, expect, test } from "vitest";
import { FakeClock, ScriptedModel, type ScriptedReply } from "../../testing/index.ts";
import { collectReply } from "./collect-reply.ts";
import type { RequestUpdate } from "./port.ts";
import { ProviderError } from "./provider-error.ts";

const POLICY = {
  maxRetries: 2,
  baseBackoffMs: 100,
  maxBackoffMs: 1000,
  idleTimeoutMs: 5000,
  promptTimeoutMs: 0,
  maxResponseBytes: 500,
};

const BUSY: ScriptedReply = [{ type: "error", error: problem(true) }];
const REJECTED: ScriptedReply = [{ type: "error", error: problem(false) }];
const starting = new ProviderError("starting", "Loading.", { isRetryable: true });
const STARTING: ScriptedReply = [{ type: "error", error: starting }];
const DONE = { text: "Hi", toolCalls: [], reason: "stop", usage: {} };

test("a reply has its text, tool calls, end reason and usage", async () => {
  const { outcome } = collect([
    [
      { type: "reasoning", text: "Hm" },
      { type: "text", text: "One " },
      { type: "tool_call", id: "c", name: "fs", arguments: { a: 1 } },
      { type: "structured", data: { answer: true } },
      { type: "end", reason: "length", usage: { input: 3, output: 4 } },
    ],
  ]);
  expect(await outcome).toEqual({
    text: 'One {"answer":true}',
    toolCalls: [{ type: "tool_call_request", id: "c", name: "fs", arguments: { a: 1 } }],
    reason: "length",
    usage: { input: 3, output: 4 },
  });
});

describe("a request that fails", () => {
  test("is retried after a delay, and partial replies are discarded", async () => {
    const half: ScriptedReply = [{ type: "text", text: "Half" }, { type: "cut" }];
    const collected = collect([BUSY, half, "Hi"]);
    const times = await timesUntil(collected);
    expect({ reply: await collected.outcome, times }).toEqual({
      reply: DONE,
      times: [0, 100, 300],
    });
  });

  test("throws when the retries are used up", async () => {
    const collected = collect([BUSY, BUSY, BUSY, "Hi"]);
    const times = await timesUntil(collected);
    expect({ reply: await collected.outcome, times }).toEqual({
      reply: problem(true),
      times: [0, 100, 300],
    });
  });

  test("says before each delay why and when it is retried", async () => {
    const collected = collect([BUSY, STARTING, "Hi"]);
    await timesUntil(collected);
    const { updates } = collected;
    expect(updates).toEqual([
      { type: "retry_start", error: problem(true), retry: 1, maxRetries: 2, delayMs: 100 },
      { type: "retry_start", error: starting, retry: 1, maxRetries: 30, delayMs: 100 },
    ]);
  });

  test("permanently throws at once", async () => {
    const { outcome, model, updates } = collect([REJECTED, "Hi"]);
    expect({ reply: await outcome, requests: model.requests.length, updates }).toEqual({
      reply: problem(false),
      requests: 1,
      updates: [],
    });
  });

  test("because the reply is too long throws at once", async () => {
    const { outcome, model } = collect(["x".repeat(501), "Hi"]);
    expect({ reply: await outcome, requests: model.requests.length }).toEqual({
      reply: expect.objectContaining({ kind: "response_too_long" }),
      requests: 1,
    });
  });

  test("because the model stalled is retried", async () => {
    const collected = collect([[{ type: "hang" }], "Hi"]);
    const times = await timesUntil(collected);
    expect({ reply: await collected.outcome, times }).toEqual({ reply: DONE, times: [0, 5100] });
  });
});

describe("abort", () => {
  test("ends the delay before the next retry", async () => {
    const { outcome, clock, abort, model } = collect([BUSY, "Hi"]);
    while (clock.sleepers === 0) await settled();
    abort.abort("stop");
    expect({ reply: await outcome, requests: model.requests.length }).toEqual({
      reply: "stop",
      requests: 1,
    });
  });

  test("during a reply is not retried", async () => {
    const { outcome, abort, model } = collect([
      [{ type: "text", text: "a" }, { type: "hang" }],
      "Hi",
    ]);
    while (model.requests.length === 0) await settled();
    abort.abort(problem(true));
    expect({ reply: await outcome, requests: model.requests.length }).toEqual({
      reply: problem(true),
      requests: 1,
    });
  });
});

function collect(replies: readonly ScriptedReply[]) {
  const clock = new FakeClock();
  const abort = new AbortController();
  const start = clock.now().getTime();
  const times: number[] = [];
  const updates: RequestUpdate[] = [];
  const model = new ScriptedModel({
    replies: (_request, index) => {
      times.push(clock.now().getTime() - start);
      return replies[index] ?? [];
    },
  });
  const request = {
    parts: { systemParts: [], events: [] },
    tools: [],
    toolChoice: "none",
    parameters: { other: {} },
    cache: "off",
    signal: abort.signal,
    observe: (update: RequestUpdate) => void updates.push(update),
  } as const;
  const outcome: Promise<unknown> = collectReply({ model, request, policy: POLICY, clock }).catch(
    (error: unknown) => error,
  );
  return { outcome, clock, model, abort, times, updates };
}

/** Advances the clock until the reply is there. Returns when each request was made. */
async function timesUntil({ outcome, clock, times }: ReturnType<typeof collect>) {
  const over = outcome.then(() => true);
  while (!(await Promise.race([over, settled().then(() => false)]))) clock.advance(100);
  return times;
}

function problem(isRetryable: boolean): ProviderError {
  return new ProviderError("overloaded", "Busy.", { isRetryable });
}

function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
