import { expect, test } from "vitest";
import { at } from "../../test/support/events.ts";
import { type JsonObject, ShapeError } from "../util/index.ts";
import { type Compaction, parseCompaction } from "./compaction.ts";

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
])("a compaction with %s is refused", (_, fields, path, problem) => {
  expect(() => parseCompaction(compaction(fields))).toThrow(new ShapeError(path, problem));
});
