import { describe, expect, test } from "vitest";
import { FakeClock, ScriptedModel, type ScriptedReply } from "../../testing/index.ts";
import type { Model, ModelEvent, ModelRequest, RequestUpdate } from "./port.ts";
import { type StreamLimits, watchStream } from "./watch-stream.ts";

const NO_LIMITS: StreamLimits = { idleTimeoutMs: 0, promptTimeoutMs: 0, maxResponseBytes: 0 };
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
  test("counts the bytes of its files, and hands on none beyond the limit", async () => {
    const limits = { ...NO_LIMITS, maxResponseBytes: 1000 };
    const sizes = [500, 501];
    const files = sizes.map(
      (size) => ({ type: "file", mediaType: "image/png", data: new Uint8Array(size) }) as const,
    );
    const { events, error } = await read(files, limits);
    expect({ types: events.map(({ type }) => type), error }).toEqual({
      types: ["file"],
      error: expect.objectContaining({ kind: "response_too_long" }),
    });
  });

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
    [268, [{ type: "tool_call", id: "c", name: "n", arguments: { a: "bc" } }]],
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

describe("a server that shows life without a word of the reply", () => {
  const limits = { ...NO_LIMITS, idleTimeoutMs: 1000, promptTimeoutMs: 5000 };

  test("may take longer than the limit on silence, which starts anew each time", async () => {
    const reply = startReply({ limits });
    await reply.pass(900);
    reply.tell({ type: "alive" });
    await reply.pass(999);
    const before = reply.error;
    await reply.pass(1);
    expect([before, reply.error]).toEqual([
      undefined,
      expect.objectContaining({ message: "test/scripted: nothing received for 1 s." }),
    ]);
  });

  test("may take as long as it writes a reply that is held back", async () => {
    const reply = startReply({ limits });
    await reply.passAlive(4500);
    reply.tell({ type: "alive", isReply: true });
    await reply.passAlive(4500);
    expect(reply.error).toBeUndefined();
  });

  test("is given up in the end, and not asked again", async () => {
    const reply = startReply({ limits });
    await reply.passAlive(4999);
    const before = reply.error;
    await reply.passAlive(1);
    expect([before, reply.error]).toEqual([
      undefined,
      expect.objectContaining({
        kind: "stalled",
        isRetryable: false,
        message: "test/scripted: the model wrote nothing for 5 s.",
        hint: "To wait longer, raise `assistant.request.prompt_timeout_secs`.",
      }),
    ]);
  });

  test("has the same time again after each word", async () => {
    const word = Promise.withResolvers<void>();
    const steps: ScriptedReply = [
      { type: "wait", until: word.promise },
      { type: "text", text: "Hi" },
      { type: "hang" },
    ];
    const reply = startReply({ limits, steps });
    await reply.passAlive(4999);
    word.resolve();
    await settled();
    await reply.passAlive(4999);
    const before = reply.error;
    await reply.passAlive(1);
    expect([before, reply.error]).toEqual([
      undefined,
      expect.objectContaining({ message: "test/scripted: the model wrote nothing for 5 s." }),
    ]);
  });

  test("passes on to the caller what happens", async () => {
    const seen: RequestUpdate[] = [];
    const reply = startReply({ observe: (update) => void seen.push(update) });
    await settled();
    reply.tell({ type: "alive" });
    reply.tell({ type: "notice", message: "Slow." });
    expect(seen).toEqual([{ type: "alive" }, { type: "notice", message: "Slow." }]);
  });
});

describe("a local model", () => {
  const limits = { ...NO_LIMITS, idleTimeoutMs: 1000, promptTimeoutMs: 5000 };
  const isLocal = true;

  test("may be silent while it reads the prompt, but not longer than the limit for that", async () => {
    const reply = startReply({ limits, isLocal });
    await reply.pass(4999);
    const before = reply.error;
    await reply.pass(1);
    expect([before, reply.error]).toEqual([
      undefined,
      expect.objectContaining({
        isRetryable: false,
        hint: "To wait longer, raise `assistant.request.prompt_timeout_secs`.",
      }),
    ]);
  });

  test("may be silent only as long as any other after its first word", async () => {
    const word = Promise.withResolvers<void>();
    const steps: ScriptedReply = [
      { type: "wait", until: word.promise },
      { type: "text", text: "Hi" },
      { type: "hang" },
    ];
    const reply = startReply({ limits, isLocal, steps });
    await reply.pass(3500);
    word.resolve();
    await settled();
    await reply.pass(999);
    const before = reply.error;
    await reply.pass(1);
    expect([before, reply.error]).toEqual([
      undefined,
      expect.objectContaining({
        isRetryable: true,
        message: "test/scripted: nothing received for 1 s.",
      }),
    ]);
  });

  test("that has read more of the prompt gets the whole time again", async () => {
    const reply = startReply({ limits, isLocal });
    for (const processed of [10, 20, 30]) {
      await reply.pass(4999);
      reply.tell({ type: "prompt_progress", processed, total: 100 });
    }
    await reply.pass(4999);
    const before = reply.error;
    await reply.pass(1);
    expect([before, reply.error]).toEqual([
      undefined,
      expect.objectContaining({ message: "test/scripted: the model wrote nothing for 5 s." }),
    ]);
  });

  test.each([10, 9])(
    "that has read no more than 10 tokens for long is given up, though it says so again: %d",
    async (processed) => {
      const reply = startReply({ limits, isLocal });
      await settled();
      reply.tell({ type: "prompt_progress", processed: 10, total: 100 });
      await reply.pass(4999);
      reply.tell({ type: "prompt_progress", processed, total: 100 });
      await reply.pass(1);
      expect(reply.error).toMatchObject({ kind: "stalled", isRetryable: false });
    },
  );
});

test.each<StartedReply & { readonly on: string; readonly isAlive?: boolean }>([
  { on: "silence", limits: { ...NO_LIMITS, promptTimeoutMs: 5000 } },
  {
    on: "the silence of a local model after its first word",
    limits: { ...NO_LIMITS, promptTimeoutMs: 5000 },
    isLocal: true,
    steps: [{ type: "text", text: "Hi" }, { type: "hang" }],
  },
  {
    on: "keep-alives without a word",
    limits: { ...NO_LIMITS, idleTimeoutMs: 1000 },
    isAlive: true,
  },
  {
    on: "the time that a local model reads",
    limits: { ...NO_LIMITS, idleTimeoutMs: 1000 },
    isLocal: true,
  },
])("a limit of 0 is none: on $on", async ({ isAlive = false, ...options }) => {
  const reply = startReply(options);
  await (isAlive ? reply.passAlive(100_000) : reply.pass(100_000));
  expect(reply.error).toBeUndefined();
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

interface StartedReply extends Pick<ModelRequest, "observe"> {
  readonly limits?: StreamLimits;
  readonly isLocal?: boolean;
  readonly steps?: ScriptedReply;
}

/** A reply that does not end. */
function startReply({ limits = NO_LIMITS, isLocal = false, ...rest }: StartedReply) {
  const { steps = [{ type: "hang" }], observe } = rest;
  const clock = new FakeClock();
  const model = new ScriptedModel({ replies: [steps], isLocal });
  const request = { ...requestOf(new AbortController().signal), ...(observe && { observe }) };
  let error: unknown;
  void readAll(watchStream({ model, request, limits, clock })).catch((thrown: unknown) => {
    error = thrown;
  });
  const tell = (update: RequestUpdate) => model.requests[0]?.observe?.(update);
  const pass = async (milliseconds: number) => {
    await settled();
    clock.advance(milliseconds);
    await settled();
  };
  return {
    tell,
    pass,
    /** With a keep-alive every half second. */
    async passAlive(milliseconds: number) {
      for (let left = milliseconds; left > 0; left -= 500) {
        await pass(Math.min(left, 500));
        tell({ type: "alive" });
      }
    },
    get error() {
      return error;
    },
  };
}

async function readAll(stream: AsyncIterable<ModelEvent>): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
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
