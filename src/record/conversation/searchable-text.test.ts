import { expect, test } from "vitest";
import {
  answered,
  chatRequest,
  closed,
  inquiry,
  message,
  permission,
  reasoning,
  toolCall,
  toolResult,
  toolStep,
  turnStart,
} from "./events.fixture.ts";
import type { ConversationEvent } from "./event.ts";
import { createTextFinder } from "./searchable-text.ts";

test.each<[string, ConversationEvent, string, string]>([
  ["a request", chatRequest("Hi", { title: "not this" }), "user", "Hi"],
  [
    "a request with a file",
    { ...chatRequest("Hi"), files: [{ mediaType: "image/png", data: "bm90IHRoaXM=" }] },
    "user",
    "Hi",
  ],
  ["a message", message("Hello"), "assistant", "Hello"],
  ["reasoning", reasoning("Hm"), "reasoning", "Hm"],
  [
    "structured output",
    { ...message(""), content: { type: "structured", data: { key: ["a", { b: "b" }], n: 1 } } },
    "structured",
    "a\nb",
  ],
  [
    "a tool call",
    toolCall("c", "fs_read", { path: "a", lines: [1, "all"], deep: { more: "b" } }),
    "tool-call",
    "fs_read\na\nall\nb",
  ],
  ["the result of a tool", toolResult("c", "line 1\nline 2"), "tool-result", "line 1\nline 2"],
  ["a question", inquiry("c.ok.1", { text: "Go on?" }), "inquiry", "Go on?"],
  [
    "a question with context",
    inquiry("c.ok.1", { text: "Go on?", context: "diff", default: "not this" }),
    "inquiry",
    "diff\nGo on?",
  ],
])("the text of %s is searched", (_, event, scope, text) => {
  expect(createTextFinder()(event)).toStrictEqual({ scope, text });
});

test("answers, permissions, steps and turn starts are not searched", () => {
  const events = [
    answered("c.ok.1", "an answer"),
    closed("c.ok.1", { outcome: "redacted" }),
    { ...permission("c"), reason: "a reason" },
    toolStep("c", "pay", "a receipt"),
    turnStart(),
  ];
  const find = createTextFinder();
  expect(events.flatMap((event) => find(event) ?? [])).toEqual([]);
});

test("results that repeat the user's answers are not searched, whatever the tool is called", () => {
  const asked = inquiry("b.answer.1", { text: "Go on?" });
  const events: readonly ConversationEvent[] = [
    toolCall("a", "ask_user", { question: "Where?" }),
    toolCall("b", "check_with_me", { question: "Go on?" }),
    { ...asked, source: { source: "assistant" }, toolCallId: "b" },
    toolResult("a", "an answer"),
    toolResult("b", "another answer"),
    turnStart(),
    toolCall("a", "fs_read", { path: "x" }),
    toolResult("a", "a line"),
  ];
  const find = createTextFinder();
  expect(events.map((event) => find(event)?.text)).toEqual([
    "ask_user\nWhere?",
    "check_with_me\nGo on?",
    "Go on?",
    undefined,
    undefined,
    undefined,
    "fs_read\nx",
    "a line",
  ]);
});
