import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { answered, anyEvent, at, chatRequest, message } from "./events.fixture.ts";
import { type JsonObject, ShapeError } from "../../util/index.ts";
import { type Compaction, parseCompaction, StreamEntry } from "./entry.ts";
import { eventToJson } from "./event-codec.ts";

test("an entry created from an event is written as that event", () => {
  const entry = StreamEntry.fromEvent(message("Hello"));
  expect([entry.raw, entry.event, entry.eventType]).toStrictEqual([
    { timestamp: at(0), type: "chat_response", message: "Hello" },
    message("Hello"),
    "chat_response",
  ]);
});

test("an entry that was read contains its event", () => {
  const entry = StreamEntry.fromJson({ timestamp: at(0), type: "chat_request", content: "Hi" });
  expect([entry.content, entry.event, entry.eventType]).toStrictEqual([
    { kind: "event", event: chatRequest("Hi") },
    chatRequest("Hi"),
    "chat_request",
  ]);
});

test("an entry returns the same event every time", () => {
  const entry = StreamEntry.fromJson({ timestamp: at(0), type: "turn_start" });
  expect(entry.event).toBe(entry.event);
});

test("an entry is written back exactly as it was read, even after decoding", () => {
  verifies("082/response/no-migration-step");
  const texts = [
    // An old answer, which we would write with an outcome.
    '{"timestamp":"2026-01-02T03:04:05Z","type":"inquiry_response","id":"c.ok","answer":true}',
    // Plain text, which we would encode; keys in an order that is not ours.
    '{"type":"tool_call_response","id":"c","is_error":false,"content":"plain","timestamp":"2026-01-02 03:04:05"}',
    // The URL-safe alphabet, two layers of base64, an empty metadata and a field we do not know.
    '{"timestamp":"2026-01-02 03:04:05.0","type":"tool_call_response","id":"c","content":"Pz4_Pg==","is_error":false}',
    '{"timestamp":"2026-01-02 03:04:05.0","type":"chat_response","reasoning":"","metadata":{"s":"WVE9PQ=="}}',
    '{"timestamp":"2026-01-02 03:04:05.0","type":"turn_start","metadata":{},"mood":"glad"}',
    '{"type":"config_delta","timestamp":"2026-01-02 03:04:05.0","delta":{}}',
    '{"type":"from_the_future","content":"YQ==","deep":{"b":1,"a":[null]}}',
    '{"timestamp":"never","type":"chat_request"}',
  ];
  const written = texts.map((text) => {
    const entry = StreamEntry.fromJson(JSON.parse(text) as JsonObject);
    return `${JSON.stringify(entry.raw)} ${entry.content.kind}`;
  });
  const kinds = [
    "event",
    "event",
    "event",
    "event",
    "event",
    "config_delta",
    "unknown",
    "malformed",
  ];
  expect(written).toEqual(texts.map((text, index) => `${text} ${kinds[index]}`));
});

test("an answer in the old form is read as an answer, and its entry stays unchanged", () => {
  verifies("082/response/no-migration-step", "082/response/legacy-flat-form-is-answered");
  const flat = { timestamp: at(0), type: "inquiry_response", id: "c.ok", answer: true };
  const entry = StreamEntry.fromJson(flat);
  expect([entry.event, entry.raw]).toStrictEqual([answered("c.ok"), flat]);
});

test("every event survives writing and reading its entry", () => {
  fc.assert(
    fc.property(anyEvent, (event) => {
      const text = JSON.stringify(StreamEntry.fromEvent(event).raw);
      const entry = StreamEntry.fromJson(JSON.parse(text) as JsonObject);
      expect([entry.event, JSON.stringify(entry.raw)]).toStrictEqual([event, text]);
    }),
  );
});

describe("an entry that is not an event", () => {
  test.each<[string, JsonObject, JsonObject]>([
    ["its delta", { timestamp: at(0), delta: { a: { b: 1 } } }, { a: { b: 1 } }],
    [
      "the keys beside the type, in the oldest records",
      { timestamp: at(0), a: 1, b: [2] },
      { a: 1, b: [2] },
    ],
    ["nothing, when the delta is no object", { timestamp: at(0), delta: null, a: 1 }, {}],
    ["nothing, when there is nothing", {}, {}],
  ])("contains, if it is a config delta, %s", (_, fields, delta) => {
    const entry = StreamEntry.fromJson({ type: "config_delta", ...fields });
    expect([entry.content, entry.event, entry.eventType]).toStrictEqual([
      { kind: "config_delta", delta },
      undefined,
      undefined,
    ]);
  });

  test("contains, if it is a compaction, its turns and policies", () => {
    const entry = StreamEntry.fromJson({
      type: "compaction",
      timestamp: at(0),
      from_turn: 0,
      to_turn: 2,
      reasoning: "strip",
    });
    expect([entry.content, entry.event, entry.eventType]).toStrictEqual([
      {
        kind: "compaction",
        compaction: { timestamp: at(0), fromTurn: 0, toTurn: 2, reasoning: "strip" },
      },
      undefined,
      undefined,
    ]);
  });

  test.each<[string, JsonObject]>([
    ["a type of another version", { type: "from_the_future", timestamp: at(0) }],
    ["no type", { timestamp: at(0) }],
    ["a type that is no text", { type: 3 }],
    ["a type that every object has", { type: "constructor" }],
  ])("and has %s is kept unchanged", (_, raw) => {
    const entry = StreamEntry.fromJson(raw);
    expect([entry.content, entry.event, entry.eventType, entry.raw]).toStrictEqual([
      { kind: "unknown" },
      undefined,
      undefined,
      raw,
    ]);
  });
});

describe("an entry of a known type with a missing field is malformed, and names the field", () => {
  const A_TIME = 'expected a time like "2026-01-02 03:04:05.678", got';

  test.each<[string, JsonObject, ShapeError]>([
    [
      "an event without a field",
      { timestamp: at(0), type: "chat_request" },
      new ShapeError("content", "expected a string, got nothing"),
    ],
    [
      "an event without a time",
      { type: "turn_start" },
      new ShapeError("timestamp", `${A_TIME} nothing`),
    ],
    [
      "an inquiry response without outcome and answer",
      { timestamp: at(0), type: "inquiry_response", id: "c.ok.1" },
      new ShapeError("outcome", 'an inquiry_response needs "outcome" or "answer"'),
    ],
    [
      "a compaction without its turns",
      { timestamp: at(0), type: "compaction" },
      new ShapeError("from_turn", "expected an integer, got nothing"),
    ],
  ])("%s", (_, raw, error) => {
    const entry = StreamEntry.fromJson(raw);
    expect([entry.content, entry.event, entry.raw]).toStrictEqual([
      { kind: "malformed", error },
      undefined,
      raw,
    ]);
  });
});

test("reading an entry does not change the object it was read from", () => {
  fc.assert(
    fc.property(anyEvent, (event) => {
      const raw = eventToJson(event);
      const before = structuredClone(raw);
      const entry = StreamEntry.fromJson(raw);
      expect([entry.content.kind, raw]).toStrictEqual(["event", before]);
    }),
  );
});

const compaction = (fields: JsonObject): JsonObject => ({
  type: "compaction",
  timestamp: at(0),
  from_turn: 0,
  to_turn: 5,
  ...fields,
});

test.each<[string, JsonObject, Partial<Compaction>]>([
  ["nothing", {}, {}],
  ["a summary", { summary: { summary: "It went well." } }, { summary: "It went well." }],
  [
    "no turns",
    { summary: { summary: "Left out." }, source: "auto", left_out: true },
    { summary: "Left out.", isAutomatic: true, isLeftOut: true },
  ],
  ["no reasoning", { reasoning: "strip" }, { reasoning: "strip" }],
  ["no tool calls", { tool_calls: { policy: "omit" } }, { toolCalls: { policy: "omit" } }],
  [
    "tool calls without arguments",
    { tool_calls: { policy: "strip", request: true } },
    { toolCalls: { policy: "strip", request: true, response: false } },
  ],
  [
    "everything at once",
    {
      summary: { summary: "" },
      reasoning: "strip",
      tool_calls: { policy: "strip", request: true, response: true },
    },
    {
      summary: "",
      reasoning: "strip",
      toolCalls: { policy: "strip", request: true, response: true },
    },
  ],
  ["nothing, where all is null", { summary: null, reasoning: null, tool_calls: null }, {}],
])("a compaction may ask for %s", (_, fields, policies) => {
  expect(parseCompaction(compaction(fields))).toStrictEqual({
    timestamp: at(0),
    fromTurn: 0,
    toTurn: 5,
    ...policies,
  });
});

test.each<[string, JsonObject, string, string]>([
  ["half a turn", { from_turn: 0.5 }, "from_turn", "expected an integer, got number"],
  ["no end", { to_turn: null }, "to_turn", "expected an integer, got null"],
  ["a summary that is a text", { summary: "s" }, "summary", "expected an object, got a string"],
  ["a summary without text", { summary: {} }, "summary.summary", "expected a string, got nothing"],
  [
    "another way with reasoning",
    { reasoning: "keep" },
    "reasoning",
    'expected "strip", got another string',
  ],
  [
    "another way with tool calls",
    { tool_calls: { policy: "hide" } },
    "tool_calls.policy",
    'expected "strip" or "omit", got another string',
  ],
])("a compaction with %s is rejected", (_, fields, path, problem) => {
  expect(() => parseCompaction(compaction(fields))).toThrow(new ShapeError(path, problem));
});
