import { expect, test } from "vitest";
import {
  chatRequest,
  message,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "../../test/support/events.ts";
import { intoParts } from "./thread.ts";

test("a model gets results in the order of its calls, whenever they came in", () => {
  const stream = streamOf(
    turnStart(),
    chatRequest("go"),
    toolCall("a"),
    toolCall("b"),
    toolCall("c"),
    toolResult("c", "third"),
    toolResult("a", "first"),
    toolResult("b", "second"),
    message("then"),
    toolCall("d"),
    toolResult("d", "fourth"),
  );
  const { events } = intoParts({ sections: [], attachments: [], stream });
  expect(events.flatMap((event) => ("content" in event ? [event.content] : [event.id]))).toEqual([
    "go",
    "a",
    "b",
    "c",
    "first",
    "second",
    "third",
    { type: "message", text: "then" },
    "d",
    "fourth",
  ]);
});

test("calls that share an id get their results in the order in which these came in", () => {
  const stream = streamOf(
    turnStart(),
    chatRequest("go"),
    toolCall("x"),
    toolCall("y"),
    toolCall("x"),
    toolResult("y", "of y"),
    toolResult("x", "of the first x"),
    toolResult("x", "of the second x"),
  );
  const { events } = intoParts({ sections: [], attachments: [], stream });
  expect(
    events.flatMap((event) => (event.type === "tool_call_response" ? [event.content] : [])),
  ).toEqual(["of the first x", "of y", "of the second x"]);
});
