import { describe, expect, test } from "vitest";
import {
  ModelTurn,
  REQUEST_LIMITS,
  unfinished,
  unfinishedCall,
  until,
} from "./model-turn.fixture.ts";
import { echo } from "./turn-tools.fixture.ts";
import {
  type ConversationEvent,
  describeFile,
  eventsOf,
  readTurnProgress,
} from "../../record/conversation/index.ts";
import { type ModelEvent, ProviderError } from "../../reach/provider/index.ts";
import { FakeClock, MemoryConversationStore, type ScriptedReply } from "../../testing/index.ts";
import type { TurnUpdate } from "./ports.ts";
import { ReplyRecorder } from "./reply.ts";

const CONTINUE =
  "person: [Your reply was cut off. Continue exactly where it stopped. Do not repeat anything.]";

const SCHEMA = { type: "object" };
const CUT = { type: "cut" } as const;
const FAILED = "no reply: provider_network";
const CALL = { type: "tool_call", id: "a", name: "echo", arguments: { text: "found" } } as const;

const overloaded = new ProviderError("overloaded", "Busy.", { isRetryable: true });
const hopeless = new ProviderError("authentication", "No key.", { isRetryable: false });

const limited = (text: string): ScriptedReply => [
  { type: "text", text },
  { type: "end", reason: "length" },
];

/** The update before each retry. */
function retriesOf(turn: ModelTurn): readonly object[] {
  return turn.updates.flatMap((update) => {
    if (update.type !== "retry_start") return [];
    const { error, retry, maxRetries, delayMs } = update;
    return [{ kind: error.kind, retry, maxRetries, delayMs }];
  });
}

describe("a file of a reply", () => {
  const bytes = Buffer.from("89504e47", "hex");
  const image = { type: "file", mediaType: "image/png", data: bytes } as const;
  const { digest } = describeFile("image/png", bytes);
  const recorded = `file: image/png, 4 bytes, ${digest}`;

  test("is stored before the record names it, between the texts and calls around it", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const conversation = await store.create({});
    const stored: unknown[] = [];
    const turn = await ModelTurn.create({
      conversation,
      tools: [echo],
      replies: [[{ type: "text", text: "See" }, image, CALL, image], "Done"],
      beforeAppend: async (events) => {
        for (const event of events) {
          if (event.type !== "reply_file") continue;
          stored.push(await store.readFile(conversation.id, event));
        }
      },
    });
    await turn.run();
    expect({ record: turn.record.slice(1, 6), stored }).toEqual({
      record: ["person: Hello", "message: See", recorded, "a calls echo", recorded],
      stored: [bytes, bytes].map((each) => Uint8Array.from(each)),
    });
    expect(turn.updates).toContainEqual(
      expect.objectContaining({
        type: "event",
        event: expect.objectContaining({ type: "reply_file", mediaType: "image/png", size: 4 }),
      }),
    );
  });

  test("stays if the reply breaks off, and is no answer by itself", async () => {
    const turn = await ModelTurn.create({
      replies: [[CALL, image, CUT], [image]],
      tools: [echo],
    });
    const end = await turn.run();
    expect({ end, record: turn.record }).toEqual({
      end: { type: "done", reason: "stop" },
      record: ["turn", "person: Hello", recorded, recorded, "turn done"],
    });
  });

  test("whose process is killed before the record names it changes nothing, and the model is asked again", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const conversation = await store.create({});
    const killed = new Error("killed");
    const turn = await ModelTurn.create({
      conversation,
      replies: [[image]],
      beforeAppend: (events) => {
        if (events.some(({ type }) => type === "reply_file")) throw killed;
      },
    });
    await expect(turn.run()).rejects.toBe(killed);
    const events = [...eventsOf((await store.load(conversation.id)).stream.entries)];
    expect([events.map(({ type }) => type), readTurnProgress(events).next]).toEqual([
      ["turn_start", "chat_request"],
      "request",
    ]);
  });

  test("ends the turn if it cannot be stored, and is reported if it cannot be read or kept", async () => {
    const conversation = await new MemoryConversationStore(new FakeClock()).create({});
    conversation.saveFile = () => Promise.reject(new Error("full"));
    const turn = await ModelTurn.create({ conversation, replies: [[image]] });
    await expect(turn.run()).rejects.toThrow("full");
    const plain = await new MemoryConversationStore(new FakeClock()).create({});
    const other = await ModelTurn.create({
      conversation: Object.assign(plain, { saveFile: undefined }),
      replies: [[image, { type: "file", mediaType: "text/plain" }, { type: "text", text: "Hi" }]],
    });
    await other.run();
    expect(other.updates.filter(({ type }) => type === "notice")).toMatchObject([
      { message: "The model sent a file (image/png) that jp cannot keep in this store." },
      { message: "The model sent a file (text/plain) that jp cannot read." },
    ]);
  });
});

describe("a reply that breaks off", () => {
  test("is kept as far as it came, and continued after a request that is not recorded", async () => {
    const turn = await ModelTurn.create({
      replies: [[unfinished("One two "), CUT], [unfinished("three "), CUT], "four"],
    });
    const end = await turn.run();
    expect({ end, record: turn.record, shown: turn.shown, retries: retriesOf(turn) }).toEqual({
      end: { type: "done", reason: "stop" },
      record: ["turn", "person: Hello", "message: One two ", "message: three ", "message: four"],
      shown: [
        ["person: Hello"],
        ["person: Hello", "message: One two ", CONTINUE],
        ["person: Hello", "message: One two ", "message: three ", CONTINUE],
      ],
      retries: [
        { kind: "network", retry: 1, maxRetries: 2, delayMs: 1000 },
        { kind: "network", retry: 2, maxRetries: 2, delayMs: 2000 },
      ],
    });
  });

  test("is retried unchanged if nothing was received", async () => {
    const turn = await ModelTurn.create({
      assistant: { toolChoice: "required" },
      replies: [[CUT], "Hi"],
    });
    await turn.run();
    expect({ shown: turn.shown, choices: turn.model.requests.map((it) => it.toolChoice) }).toEqual({
      shown: [["person: Hello"], ["person: Hello"]],
      choices: ["required", "required"],
    });
  });

  test("keeps unfinished reasoning, too", async () => {
    const turn = await ModelTurn.create({ replies: [[unfinished("Hm", "reasoning"), CUT], "Hi"] });
    await turn.run();
    expect(turn.record).toEqual(["turn", "person: Hello", "reasoning: Hm", "message: Hi"]);
  });

  test("keeps the texts around its calls, and none of the calls", async () => {
    const turn = await ModelTurn.create({
      tools: [echo],
      replies: [[{ type: "text", text: "See" }, CALL, unfinished("and "), CUT], "Done"],
    });
    const end = await turn.run();
    expect({ end, shown: turn.shown[1], record: turn.record }).toEqual({
      end: { type: "done", reason: "stop" },
      shown: ["person: Hello", "message: See", "message: and ", CONTINUE],
      record: ["turn", "person: Hello", "message: See", "message: and ", "message: Done"],
    });
  });

  test("in a JSON document drops the incomplete document", async () => {
    const turn = await ModelTurn.create({
      replies: [
        [{ type: "reasoning", text: "Hm" }, unfinished('{"a":'), CUT],
        [{ type: "structured", data: { a: 1 } }],
      ],
    });
    await turn.run({ content: "Hello", schema: SCHEMA });
    expect({
      record: turn.record,
      schemas: turn.model.requests.map((it) => it.parts.schema),
    }).toEqual({
      record: ["turn", "person: Hello", "reasoning: Hm", 'structured: {"a":1}', "turn done"],
      schemas: [SCHEMA, SCHEMA],
    });
  });
});

describe("a request that fails", () => {
  test("is retried with growing delays, and gives up with the partial reply kept", async () => {
    const busy: ScriptedReply = [{ type: "error", error: overloaded }];
    const turn = await ModelTurn.create({
      replies: [[unfinished("One "), { type: "error", error: overloaded }], busy, busy, busy],
    });
    await expect(turn.run()).rejects.toBe(overloaded);
    expect({ record: turn.record, retries: retriesOf(turn) }).toEqual({
      record: ["turn", "person: Hello", "message: One ", "no reply: provider_overloaded"],
      retries: [
        { kind: "overloaded", retry: 1, maxRetries: 2, delayMs: 1000 },
        { kind: "overloaded", retry: 2, maxRetries: 2, delayMs: 2000 },
      ],
    });
  });

  test("because the connection is lost too often leaves the turn open, to be continued", async () => {
    const failed = await ModelTurn.create({ replies: [[CUT], [CUT], [CUT]] });
    await expect(failed.run()).rejects.toMatchObject({ kind: "network" });
    const { conversation } = failed;
    const turn = await ModelTurn.create({ conversation, replies: ["Hi."] });
    expect({ end: await turn.resume(), record: turn.record }).toEqual({
      end: { type: "done", reason: "stop" },
      record: ["turn", "person: Hello", FAILED, "resumed", "message: Hi."],
    });
  });

  test("has one set of retries, however far it has come", async () => {
    const busy: ScriptedReply = [{ type: "error", error: overloaded }];
    const turn = await ModelTurn.create({
      replies: [busy, [unfinished("One "), CUT], [unfinished("two "), CUT], "three"],
    });
    await expect(turn.run()).rejects.toMatchObject({ kind: "network" });
    expect({ record: turn.record, retries: retriesOf(turn) }).toEqual({
      record: ["turn", "person: Hello", "message: One ", "message: two ", FAILED],
      retries: [
        { kind: "overloaded", retry: 1, maxRetries: 2, delayMs: 1000 },
        { kind: "network", retry: 2, maxRetries: 2, delayMs: 2000 },
      ],
    });
  });

  test.each([
    ["only begins a call", undefined, [unfinishedCall()]],
    ["breaks off in the same document", SCHEMA, [unfinished('{"a":')]],
  ])("is not retried forever if every reply %s", async (_what, schema, steps) => {
    const turn = await ModelTurn.create({
      replies: (_request, index) => (index < 20 ? [...steps, CUT] : "Enough of it"),
    });
    const end = turn.run({ content: "Hello", ...(schema && { schema }) });
    await expect(end).rejects.toMatchObject({ kind: "network" });
    expect([turn.model.requests.length, turn.record]).toEqual([
      3,
      ["turn", "person: Hello", FAILED],
    ]);
  });

  test("permanently is not retried, and keeps the partial reply", async () => {
    const turn = await ModelTurn.create({
      replies: [[unfinished("One "), { type: "error", error: hopeless }]],
    });
    await expect(turn.run()).rejects.toBe(hopeless);
    expect([turn.record, retriesOf(turn)]).toEqual([
      ["turn", "person: Hello", "message: One ", "no reply: provider_authentication"],
      [],
    ]);
  });

  test("because of a bug is not retried", async () => {
    const mistake = new TypeError("x is not a function");
    const turn = await ModelTurn.create({ replies: [[{ type: "error", error: mistake }]] });
    await expect(turn.run()).rejects.toBe(mistake);
  });

  test("because of a bug throws even after a complete call", async () => {
    const mistake = new TypeError("x is not a function");
    const turn = await ModelTurn.create({
      tools: [echo],
      replies: [[CALL, { type: "error", error: mistake }], "Never said"],
    });
    await expect(turn.run()).rejects.toBe(mistake);
    expect(turn.record.at(-1)).toBe("person: Hello"); // It can be continued.
  });

  test("waits on the clock", async () => {
    const turn = await ModelTurn.create({
      waitsForRetries: true,
      replies: [[{ type: "error", error: overloaded }], "Hi"],
    });
    const end = turn.run();
    await turn.saw("retry_start");
    await until(() => turn.clock.sleepers === 1);
    turn.clock.advance(999);
    const before = turn.model.requests.length;
    turn.clock.advance(1);
    await end;
    expect([before, turn.model.requests.length]).toEqual([1, 2]);
  });
});

test("the observer learns how far a model has read, and what was changed for it, but not each keep-alive", async () => {
  const turn = await ModelTurn.create({
    replies: ({ observe }) => {
      observe?.({ type: "alive" });
      observe?.({ type: "prompt_progress", processed: 43, total: 100 });
      observe?.({ type: "notice", message: "As text." });
      return "Hi";
    },
  });
  await turn.run();
  const seen = turn.updates.map((update) => (update.type === "event" ? update.event.type : update));
  expect(seen.slice(0, 7)).toEqual([
    "turn_start",
    "chat_request",
    { type: "cycle_start", cycle: 1 },
    { type: "context_use", tokens: 3, isEstimated: true },
    { type: "prompt_progress", processed: 43, total: 100 },
    { type: "notice", message: "As text." },
    { type: "message_delta", text: "Hi" },
  ]);
});

test("a server that is starting is waited for longer than others", async () => {
  const starting = new ProviderError("starting", "Loading.", { isRetryable: true });
  const turn = await ModelTurn.create({
    replies: (_request, index) => (index < 4 ? [{ type: "error", error: starting }] : "Hi"),
  });
  await turn.run();
  expect([turn.record.at(-1), retriesOf(turn)]).toEqual([
    "message: Hi",
    [1000, 2000, 2000, 2000].map((delayMs, index) => ({
      kind: "starting",
      retry: index + 1,
      maxRetries: 30,
      delayMs,
    })),
  ]);
});

test("a reply that stalls times out, is kept and continued", async () => {
  const turn = await ModelTurn.create({
    assistant: { request: { ...REQUEST_LIMITS, idleTimeoutMs: 5000 } },
    replies: [[unfinished("One "), { type: "hang" }], "two"],
  });
  const end = turn.run();
  await turn.saw("message_delta");
  await until(() => turn.clock.sleepers === 1);
  turn.clock.advance(5000);
  await end;
  expect({ record: turn.record, retries: retriesOf(turn) }).toEqual({
    record: ["turn", "person: Hello", "message: One ", "message: two"],
    retries: [{ kind: "stalled", retry: 1, maxRetries: 2, delayMs: 1000 }],
  });
});

test("a reply that grows too long is kept and not retried", async () => {
  const turn = await ModelTurn.create({
    assistant: { request: { ...REQUEST_LIMITS, maxResponseBytes: 7 } },
    replies: ["One two three"],
  });
  await expect(turn.run()).rejects.toMatchObject({ kind: "response_too_long" });
  expect(turn.record).toEqual([
    "turn",
    "person: Hello",
    "message: One ",
    "no reply: provider_response_too_long",
  ]);
});

describe("a reply that reached its length limit", () => {
  test("ends the turn", async () => {
    const turn = await ModelTurn.create({ replies: [limited("One")] });
    expect(await turn.run()).toEqual({ type: "done", reason: "length" });
  });

  test("is continued if the assistant is chained, without a retry", async () => {
    const turn = await ModelTurn.create({
      assistant: { isChained: true },
      replies: [limited("One "), limited("two "), "three"],
    });
    const end = await turn.run();
    expect({
      end,
      shown: turn.shown.at(-1),
      record: turn.record,
      retries: retriesOf(turn),
    }).toEqual({
      end: { type: "done", reason: "stop" },
      shown: ["person: Hello", "message: One ", "message: two ", CONTINUE],
      record: ["turn", "person: Hello", "message: One ", "message: two ", "message: three"],
      retries: [],
    });
  });

  test("is not continued forever", async () => {
    const turn = await ModelTurn.create({
      assistant: { isChained: true },
      replies: (_request, index) => limited(`${index} `),
    });
    expect([await turn.run(), turn.model.requests.length]).toEqual([
      { type: "done", reason: "length" },
      11,
    ]);
  });

  test("is not continued in the middle of a JSON document", async () => {
    const turn = await ModelTurn.create({
      assistant: { isChained: true },
      replies: [limited('{"a":')],
    });
    expect([await turn.run({ content: "Hello", schema: SCHEMA }), turn.record.slice(2)]).toEqual([
      { type: "done", reason: "length" },
      ['message: {"a":', "turn done"],
    ]);
  });

  test("counts as broken off if it has calls, as the last of them may lack arguments", async () => {
    const turn = await ModelTurn.create({
      tools: [echo],
      assistant: { isChained: true },
      replies: () => [CALL, { type: "end", reason: "length" }],
    });
    await expect(turn.run()).rejects.toMatchObject({ kind: "other", isRetryable: true });
    expect([turn.model.requests.length, turn.record]).toEqual([
      3,
      ["turn", "person: Hello", "no reply: provider_other"],
    ]);
  });
});

describe("a reply that should be JSON", () => {
  test.each([
    ["a document", '{"a":[1,null]}', { type: "structured", data: { a: [1, null] } }],
    ["a value that is not an object", "null", { type: "structured", data: null }],
    ["no JSON", "I would rather not", { type: "message", text: "I would rather not" }],
  ])("and is %s", async (_what, text, content) => {
    const turn = await ModelTurn.create({ replies: () => text });
    await turn.run({ content: "Hello", schema: SCHEMA });
    expect(turn.events[2]).toMatchObject({ type: "chat_response", content });
  });
});

const said = (text: string): ModelEvent => ({ type: "message_delta", text });
const thought = (text: string): ModelEvent => ({ type: "reasoning_delta", text });
const ended = { type: "response_end", reason: "tool_calls", usage: {} } as const;
const call: ModelEvent = { type: "tool_call_request", id: "a", name: "echo", arguments: { n: 1 } };

function setUp({ isStructured = false, record = async () => {} } = {}) {
  const events: object[] = [];
  const updates: TurnUpdate[] = [];
  let writes = 0;
  const add = async (...added: readonly ConversationEvent[]) => {
    await record();
    writes += 1;
    for (const { timestamp: _timestamp, ...event } of added) events.push(event);
  };
  const recorder = new ReplyRecorder({
    model: { id: "test/model" },
    journal: { record: add, recordSoon: add },
    clock: new FakeClock(),
    observer: { observe: (update) => updates.push(update) },
    isStructured,
  });
  const take = async (...taken: readonly ModelEvent[]) => {
    for (const event of taken) await recorder.add(event);
  };
  return { recorder, take, events, updates, writes: () => writes };
}

const response = (type: "message" | "reasoning", text: string, metadata?: object) => ({
  type: "chat_response",
  content: { type, text },
  ...(metadata && { metadata }),
});

describe("a reply", () => {
  test("is recorded in parts, in order, each with the provider's metadata", async () => {
    const { take, events } = setUp();
    await take(
      thought("Hm, "),
      thought("yes"),
      { type: "reasoning_end", metadata: { signature: "s1" } },
      said("So "),
      said("be it"),
      { type: "message_end", metadata: { id: "m1" } },
      { ...call, metadata: { signature: "s2" } },
      thought("And then"),
      { type: "reasoning_end" },
      { type: "response_end", reason: "tool_calls", usage: {} },
    );
    expect(events).toEqual([
      response("reasoning", "Hm, yes", { signature: "s1" }),
      response("message", "So be it", { id: "m1" }),
      { ...call, metadata: { signature: "s2" } },
      response("reasoning", "And then"),
    ]);
  });

  test("keeps a signature without text, and no empty text", async () => {
    const { take, events } = setUp();
    await take(
      { type: "reasoning_end", metadata: { signature: "hidden" } },
      said(""),
      { type: "message_end" },
      { type: "message_end" },
      ended,
    );
    expect(events).toEqual([response("reasoning", "", { signature: "hidden" })]);
  });

  test.each<[string, ModelEvent]>([
    ["another kind of text", thought("Hm")],
    ["a call", call],
    ["the end of the reply", { type: "message_end" }],
  ])("has its open text recorded before %s", async (_what, next) => {
    const { take, events } = setUp();
    await take(said("One"), next, ended);
    expect(events[0]).toEqual(response("message", "One"));
  });

  test("keeps an open text when another one ends late", async () => {
    const { recorder, take, events } = setUp();
    await take(thought("Hm"), said("One "), {
      type: "reasoning_end",
      metadata: { signature: "s" },
    });
    await take(said("two"));
    await recorder.flush();
    expect(events).toEqual([
      response("reasoning", "Hm"),
      response("reasoning", "", { signature: "s" }),
      response("message", "One two"),
    ]);
  });

  test("drops only its incomplete text when discarded", async () => {
    const { recorder, take, events } = setUp();
    await take(said("One"), { type: "message_end" }, said("two"));
    recorder.discard();
    await recorder.flush();
    expect(events).toEqual([response("message", "One")]);
  });

  test("has only its message parsed as JSON, not its reasoning", async () => {
    const { take, events } = setUp({ isStructured: true });
    await take(thought("1"), { type: "reasoning_end" }, said("[1,"), said("2]"), ended);
    expect(events).toEqual([
      response("reasoning", "1"),
      { type: "chat_response", content: { type: "structured", data: [1, 2] } },
    ]);
  });
});

test("a reply is recorded in one write, once it has ended", async () => {
  const { recorder, take, events, writes } = setUp();
  const source = { type: "source", source: { type: "url", url: "https://example.com" } } as const;
  const start: ModelEvent = { type: "tool_call_start", id: "a", name: "echo" };
  await take(said("One"), start, call, said("Two"), source);
  const before = [...events];
  await take({ ...ended, usage: { input: 1 } });
  const usage = { model: "test/model", purpose: "reply", usage: { input: 1 } };
  expect([before, writes(), recorder.hasCalls, events]).toEqual([
    [],
    1,
    true,
    [
      response("message", "One"),
      call,
      response("message", "Two"),
      { type: "reply_sources", sources: [source.source] },
      { type: "token_usage", ...usage },
    ],
  ]);
});

test.each(["length", "refused"] as const)(
  "a call of a reply that ends otherwise is not recorded: %s",
  async (reason) => {
    const { recorder, take, events } = setUp();
    await take(call, said("Two"), { type: "response_end", reason, usage: {} });
    expect([recorder.hasCalls, events]).toEqual([false, [response("message", "Two")]]);
  },
);

test("a call that cannot be recorded does not count", async () => {
  const { recorder, take } = setUp({
    record: () => Promise.reject(new Error("disk full")),
  });
  await expect(take(call, ended)).rejects.toThrow("disk full");
  expect(recorder.hasCalls).toBe(false);
});

test("all text is observed as it streams in", async () => {
  const { take, updates } = setUp();
  const end: ModelEvent = { type: "response_end", reason: "stop", usage: { input: 1 } };
  const start: ModelEvent = { type: "tool_call_start", id: "a", name: "echo" };
  await take(thought("Hm"), said("One "), said("two"), { type: "message_end" }, start, call, end);
  const observed = { ...start, toolCallId: "a" };
  expect(updates).toEqual([thought("Hm"), said("One "), said("two"), observed, end]);
});
