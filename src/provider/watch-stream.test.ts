import { describe, expect, test } from "vitest";
import { FakeClock, ScriptedModel, type ScriptedReply } from "../testing/index.ts";
import type { Model, ModelEvent, ModelRequest } from "./port.ts";
import { type StreamLimits, watchStream } from "./watch-stream.ts";

const NO_LIMITS: StreamLimits = { idleTimeoutMs: 0, maxResponseBytes: 0 };
const END = { type: "response_end", reason: "stop", usage: {} } as const;

test("a reply within its limits passes unchanged", async () => {
  const { events, error } = await read([
    { type: "reasoning", text: "Hm", metadata: { signature: "s" } },
    { type: "text", text: "Hi you" },
    { type: "tool_call", id: "c", name: "fs", arguments: { path: "a" } },
  ]);
  expect({ events, error }).toEqual({
    events: [
      { type: "reasoning_delta", text: "Hm" },
      { type: "reasoning_end", metadata: { signature: "s" } },
      { type: "message_delta", text: "Hi " },
      { type: "message_delta", text: "you" },
      { type: "message_end" },
      { type: "tool_call_start", id: "c", name: "fs" },
      { type: "tool_call_request", id: "c", name: "fs", arguments: { path: "a" } },
      { ...END, reason: "tool_calls" },
    ],
    error: undefined,
  });
});

test("an error of the model follows the events before it", async () => {
  const broken = new Error("broken");
  const reply: ScriptedReply = [
    { type: "text", text: "Hi" },
    { type: "error", error: broken },
  ];
  const { events, error } = await read(reply);
  expect({ events, error }).toEqual({
    events: [{ type: "message_delta", text: "Hi" }, { type: "message_end" }],
    error: broken,
  });
});

test("a reply that breaks off is a retryable error", async () => {
  const { events, error } = await read([{ type: "text", text: "Hi" }, { type: "cut" }]);
  expect({ count: events.length, error }).toEqual({
    count: 2,
    error: expect.objectContaining({ kind: "network", isRetryable: true }),
  });
});

describe("a reply that gets too long", () => {
  test("throws at the event over the limit and aborts the request", async () => {
    const limits = { ...NO_LIMITS, maxResponseBytes: 8 };
    const { events, error, model } = await read([{ type: "text", text: "ab cd ef gh" }], limits);
    expect({ events, error, isStopped: model.requests[0]?.signal.aborted }).toEqual({
      events: [
        { type: "message_delta", text: "ab " },
        { type: "message_delta", text: "cd " },
      ],
      error: expect.objectContaining({ kind: "response_too_long", isRetryable: false }),
      isStopped: true,
    });
  });

  test.each<[number, ScriptedReply]>([
    [6, "日本"],
    [6, [{ type: "reasoning", text: "abcdef" }]],
    [10, [{ type: "tool_call", id: "c", name: "n", arguments: { a: "bc" } }]],
  ])("is measured in bytes, for every kind of content: %d", async (bytes, reply) => {
    const exact = await read(reply, { ...NO_LIMITS, maxResponseBytes: bytes });
    const short = await read(reply, { ...NO_LIMITS, maxResponseBytes: bytes - 1 });
    expect([exact.error, short.error]).toEqual([
      undefined,
      expect.objectContaining({ kind: "response_too_long" }),
    ]);
  });
});

describe("a reply that pauses", () => {
  test("throws `stalled` after the timeout and aborts the request", async () => {
    const clock = new FakeClock();
    const limits = { ...NO_LIMITS, idleTimeoutMs: 1000 };
    const reading = read([{ type: "text", text: "Hi" }, { type: "hang" }], limits, { clock });
    await asleep(clock);
    clock.advance(999);
    await settled();
    const before = clock.sleepers;
    clock.advance(1);
    const { events, error, model } = await reading;
    expect({ before, events, error, isStopped: model.requests[0]?.signal.aborted }).toEqual({
      before: 1,
      events: [{ type: "message_delta", text: "Hi" }, { type: "message_end" }],
      error: expect.objectContaining({
        kind: "stalled",
        isRetryable: true,
        message: "test/scripted: nothing received for 1 s.",
      }),
      isStopped: true,
    });
  });

  test("may pause repeatedly, if each pause is short enough", async () => {
    const clock = new FakeClock();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const reading = read(
      [
        { type: "wait", until: first.promise },
        { type: "text", text: "a" },
        { type: "wait", until: second.promise },
      ],
      { ...NO_LIMITS, idleTimeoutMs: 1000 },
      { clock },
    );
    for (const { resolve } of [first, second]) {
      await asleep(clock);
      clock.advance(900);
      resolve();
      await settled();
    }
    const { error } = await reading;
    expect({ error, sleepers: clock.sleepers }).toEqual({ error: undefined, sleepers: 0 });
  });

  test("does not stall because its reader is slow", async () => {
    const clock = new FakeClock();
    const stream = watch(new ScriptedModel({ replies: ["a b"] }), {
      limits: { ...NO_LIMITS, idleTimeoutMs: 1000 },
      clock,
    });
    const types: string[] = [];
    for await (const { type } of stream) {
      types.push(type);
      clock.advance(5000);
      await settled();
    }
    expect(types).toEqual(["message_delta", "message_delta", "message_end", "response_end"]);
  });
});

describe("abort", () => {
  test("before the request prevents it", async () => {
    const { error, model } = await read("Hi", NO_LIMITS, { signal: AbortSignal.abort("stop") });
    expect({ error, requests: model.requests }).toEqual({ error: "stop", requests: [] });
  });

  test.each([0, 1000])("takes effect at once, even if the model ignores it: %d", async (idle) => {
    const abort = new AbortController();
    const unresponsive: Model = {
      id: "test/ignores-abort",
      stream: () => ({
        [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
      }),
    };
    const clock = new FakeClock();
    const stream = watch(unresponsive, {
      limits: { ...NO_LIMITS, idleTimeoutMs: idle },
      signal: abort.signal,
      clock,
    });
    const next = stream.next();
    await settled();
    abort.abort("stop");
    await expect(next).rejects.toBe("stop");
    expect(clock.sleepers).toBe(0);
  });

  test("happens when the reader stops early", async () => {
    const model = new ScriptedModel({ replies: ["a b c"] });
    const reading = watch(model);
    await reading.next();
    await reading.return();
    expect(model.requests[0]?.signal.aborted).toBe(true);
  });

  test("does not happen when the reply is complete", async () => {
    const { model } = await read("Hi");
    expect(model.requests[0]?.signal.aborted).toBe(false);
  });
});

interface WatchOptions {
  readonly clock?: FakeClock;
  readonly signal?: AbortSignal;
  readonly limits?: StreamLimits;
}

function watch(model: Model, options: WatchOptions = {}) {
  const { clock = new FakeClock(), signal = new AbortController().signal } = options;
  return watchStream({
    model,
    request: requestOf(signal),
    limits: options.limits ?? NO_LIMITS,
    clock,
  });
}

async function read(reply: ScriptedReply, limits = NO_LIMITS, options: WatchOptions = {}) {
  const model = new ScriptedModel({ replies: [reply] });
  const events: ModelEvent[] = [];
  try {
    for await (const event of watch(model, { ...options, limits })) events.push(event);
  } catch (error) {
    return { events, error, model };
  }
  return { events, error: undefined, model };
}

function requestOf(signal: AbortSignal): ModelRequest {
  return {
    parts: { systemParts: [], events: [] },
    tools: [],
    toolChoice: "auto",
    parameters: { other: {} },
    cache: "off",
    signal,
  };
}

/** Waits until something sleeps on the clock. */
async function asleep(clock: FakeClock): Promise<void> {
  do await settled();
  while (clock.sleepers === 0);
}

/** Lets all pending work run that does not depend on the clock. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
