import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import {
  anyDamagedStream,
  at,
  chatRequest,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "../../test/support/events.ts";
import { type ConversationStream, pairToolCalls, turnsOf } from "../conversation/index.ts";
import { booleanQuestion } from "../tool/index.ts";
import { closeOpenCalls } from "./open-calls.ts";

const NOW = at(9);
const RUNNING = "Tool call is still running.";
const PAUSED = "Tool paused: Go on?";
const opening = [turnStart(), chatRequest("Hi")] as const;

test("the call that asks is paused with its question, which is no error", () => {
  verifies("028/snapshot/paused-response-closes-the-call");
  expect(close(streamOf(...opening, toolCall("a")), "a")).toStrictEqual([
    { type: "tool_call_response", timestamp: NOW, id: "a", content: PAUSED, isError: false },
  ]);
});

test("others still run, unless they have ended", () => {
  const calls = [toolCall("a"), toolCall("b"), toolCall("c"), toolCall("d")];
  const stream = streamOf(...opening, ...calls, toolResult("c"));
  expect(told(stream, "b")).toEqual([
    ["a", RUNNING],
    ["b", PAUSED],
    ["d", RUNNING],
  ]);
});

test("what earlier turns left open is not said to be running", () => {
  const stream = streamOf(...opening, toolCall("old"), ...opening, toolCall("a"));
  expect(told(stream, "a")).toEqual([["a", PAUSED]]);
});

describe("where calls share an id", () => {
  test("the one with the name of the tool is paused", () => {
    const stream = streamOf(...opening, toolCall("x", "other"), toolCall("x", "asking"));
    expect(told(stream, "x", "asking")).toEqual([
      ["x", RUNNING],
      ["x", PAUSED],
    ]);
  });

  test("one that has its response is not the one that asks", () => {
    const stream = streamOf(...opening, toolCall("x"), toolResult("x"), toolCall("x"));
    expect(told(stream, "x")).toEqual([["x", PAUSED]]);
  });
});

test("a call that the record does not know is not closed", () => {
  expect([told(streamOf(...opening), "gone"), told(streamOf(), "gone")]).toEqual([[], []]);
});

test("with these, every call of the last turn has its response", () => {
  verifies("028/snapshot/calls-well-formed");
  fc.assert(
    fc.property(anyDamagedStream, (stream) => {
      const events = turnsOf(stream.entries).at(-1)?.events ?? [];
      const before = pairToolCalls(events);
      const { pairs, orphans } = pairToolCalls([...events, ...close(stream, "a")]);
      const open = pairs.filter(({ response }) => response === undefined);
      expect([open, orphans]).toEqual([[], before.orphans]);
    }),
  );
});

function close(stream: ConversationStream, toolCallId: string, toolName = "a_tool") {
  const question = booleanQuestion("ok", "Go on?");
  return closeOpenCalls({ toolCallId, toolName, question, stream }, NOW);
}

function told(...call: Parameters<typeof close>) {
  return close(...call).map(({ id, content }) => [id, content]);
}
