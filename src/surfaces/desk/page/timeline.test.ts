import { describe, expect, test } from "vitest";
import { inquiryLink, loginCode, parseRoute } from "./route.ts";
import { deadlineWords, durationWords, nextChange } from "./parts.tsx";
import { toTimeline } from "./timeline.ts";

const BY = { kind: "user", channel: "desk", name: "Ada" };

describe("a conversation", () => {
  test("marks messages that were sent while the turn was running", () => {
    const message = { type: "chat_request", content: "In Rust." };
    const blocks = toTimeline([message, { ...message, steering: true }]);
    expect(blocks.map((block) => block.type === "user" && block.isSteering)).toEqual([false, true]);
  });

  test("does not say that a call is approved while it asks by itself", () => {
    const byPolicy = { kind: "policy", key: "conversation.tools.rm.run" };
    const call = { type: "tool_call_request", id: "1", name: "rm", arguments: {} };
    const decided = { type: "permission_decision", tool_call_id: "1", tool: "rm" };
    const allowed = { ...decided, decision: "approved", decided_by: byPolicy };
    const source = { source: "tool", name: "rm" };
    const question = { text: "Delete?" };
    const asked = { type: "inquiry_request", id: "q", tool_call_id: "1", source, question };
    const stepsOf = (...events: Parameters<typeof toTimeline>[0]) =>
      toTimeline([call, ...events]).flatMap((block) => (block.type === "call" ? block.steps : []));
    expect(stepsOf(allowed, asked).map(({ type }) => type)).toEqual(["question"]);
    expect(stepsOf(allowed).map(({ type }) => type)).toEqual(["decision"]);
    const byAda = { ...allowed, decided_by: BY };
    expect(stepsOf(byAda, asked).map(({ type }) => type)).toEqual(["decision", "question"]);
  });

  test("says that a call runs only once it has started, and while it waits for nobody", () => {
    const call = { type: "tool_call_request", id: "1", name: "go", arguments: {} };
    const asked = { type: "inquiry_request", id: "q", tool_call_id: "1", question: { text: "?" } };
    const answered = { type: "inquiry_response", id: "q", outcome: "answered", answer: true };
    const events = [
      call,
      { type: "attempt_start", tool_call_id: "1" },
      asked,
      answered,
      { type: "tool_call_response", id: "1", content: "gone" },
    ];
    const underway = events.map((_, index) =>
      toTimeline(events.slice(0, index + 1)).map(
        (block) => "isUnderway" in block && block.isUnderway,
      ),
    );
    expect(underway.flat()).toEqual([false, true, false, true, false]);
  });

  test("has everything about a call in one place", () => {
    const blocks = toTimeline([
      { type: "turn_start", timestamp: "2026-01-02 03:04:05" },
      { type: "chat_request", content: "Go.", author: "Ada" },
      { type: "chat_response", reasoning: "Hm." },
      { type: "chat_response", message: "I go." },
      { type: "reply_file", media_type: "image/png", digest: "5f", size: 3 },
      { type: "reply_file", digest: 5 },
      { type: "tool_call_request", id: "1", name: "go", arguments: { to: "x" } },
      { type: "tool_call_request", id: "2", name: "stop", arguments: {} },
      { type: "permission_request", id: "p", tool_call_id: "1", tool: "go", action: "run" },
      {
        type: "permission_decision",
        tool_call_id: "1",
        tool: "go",
        decision: "approved",
        decided_by: BY,
      },
      { type: "attempt_start", tool_call_id: "1" },
      {
        type: "inquiry_request",
        id: "q",
        tool_call_id: "1",
        source: { source: "tool", name: "go" },
        question: { text: "Far?" },
      },
      { type: "permission_request", id: "p2", tool_call_id: "2", tool: "stop", action: "run" },
      { type: "inquiry_response", id: "q", outcome: "answered", answer: true, answered_by: BY },
      { type: "tool_call_response", id: "1", content: "gone", is_error: false },
      { type: "later_kind" },
    ]);
    expect(blocks.map(({ type }) => type)).toEqual([
      "turn",
      "user",
      "reasoning",
      "assistant",
      "file",
      "call",
      "call",
    ]);
    expect(blocks[4]).toEqual({ type: "file", mediaType: "image/png", digest: "5f", size: 3 });
    expect(blocks[5]).toEqual({
      type: "call",
      id: "1",
      name: "go",
      arguments: { to: "x" },
      isUnderway: false,
      steps: [
        {
          type: "decision",
          id: undefined,
          action: "run",
          end: { outcome: "approved", answered_by: BY },
        },
        {
          type: "question",
          id: "q",
          asker: "go",
          text: "Far?",
          acts: false,
          end: { outcome: "answered", answer: true, answered_by: BY },
        },
      ],
      result: { content: "gone", isError: false },
    });
    expect(blocks[6]).toMatchObject({ steps: [{ type: "asked", id: "p2", action: "run" }] });
  });

  test("gives results of calls with the same id to them in order", () => {
    const call = { type: "tool_call_request", id: "1", name: "go", arguments: {} };
    const result = { type: "tool_call_response", id: "1", is_error: false };
    const blocks = toTimeline([
      call,
      call,
      { ...result, content: "a" },
      { ...result, content: "b" },
    ]);
    expect(blocks).toMatchObject([{ result: { content: "a" } }, { result: { content: "b" } }]);
  });
});

test("a question that was asked again does not wait for an answer twice", () => {
  const question = { type: "inquiry_request", tool_call_id: "1", question: { text: "Far?" } };
  const blocks = toTimeline([
    { type: "tool_call_request", id: "1", name: "go", arguments: {} },
    { ...question, id: "q1" },
    { type: "decision_void", id: "q1", changed: ["deadline"] },
    { ...question, id: "q2" },
  ]);
  expect(blocks).toMatchObject([{ steps: [{ type: "question", id: "q2" }] }]);
});

test("a question of an older record, which does not name its call, is shown with the last open one", () => {
  const blocks = toTimeline([
    { type: "tool_call_request", id: "1", name: "go", arguments: {} },
    { type: "tool_call_request", id: "2", name: "stop", arguments: {} },
    { type: "tool_call_response", id: "2", content: "stopped", is_error: false },
    { type: "inquiry_request", id: "q", question: { text: "Far?" } },
    { type: "inquiry_response", id: "q", outcome: "answered", answer: true },
  ]);
  expect(blocks).toMatchObject([
    { steps: [{ type: "question", id: "q", end: { answer: true } }] },
    { steps: [] },
  ]);
});

test("what no longer counts says what has changed, and what only waited is gone", () => {
  const run = { tool_call_id: "1", tool: "go", action: "run" };
  const blocks = toTimeline([
    { type: "tool_call_request", id: "1", name: "go", arguments: {} },
    { type: "permission_request", id: "p1", ...run },
    { type: "permission_decision", id: "p1", ...run, decision: "approved", decided_by: BY },
    { type: "decision_void", id: "p1", changed: ["file"] },
    { type: "permission_request", id: "p2", ...run },
    { type: "decision_void", id: "p2", changed: ["program"] },
    { type: "permission_request", id: "p3", ...run },
  ]);
  expect(blocks).toMatchObject([
    {
      steps: [
        { type: "decision", madeVoid: ["file"] },
        { type: "asked", id: "p3" },
      ],
    },
  ]);
});

describe("an address", () => {
  test("names the view, and ids of any characters", () => {
    const address = { conversation: "jp-c1", id: "call/1.a?b#c%", workspace: "/w x&y" };
    expect(parseRoute(inquiryLink(address))).toEqual({ view: "inquiry", ...address });
    expect(parseRoute("#/inquiries/c/q")).toEqual({ view: "inquiry", conversation: "c", id: "q" });
    expect(parseRoute("")).toEqual({ view: "inbox" });
    expect(parseRoute("#/conversations")).toEqual({ view: "conversations" });
    expect(parseRoute("#/conversations/c")).toEqual({ view: "conversation", conversation: "c" });
    expect(parseRoute("#/audit")).toEqual({ view: "audit" });
  });

  test.each([
    "#/nowhere",
    "#/inquiries/c",
    "#/inquiries/c/q/more",
    "#/inquiries/%/q",
    "#/conversations/",
  ])("is unknown: %s", (fragment) => {
    expect(parseRoute(fragment)).toEqual({ view: "unknown" });
  });

  test("may be a login", () => {
    expect(loginCode("#login=a%2Fb")).toBe("a/b");
    expect(loginCode("#/")).toBeUndefined();
  });
});

describe("times", () => {
  test.each([
    [-5, "under a minute"],
    [12_900, "under a minute"],
    [60_000, "1 min"],
    [3_600_000, "1 h"],
    [7_500_000, "2 h 5 min"],
    [86_400_000, "1 day"],
    [400_000_000, "4 days"],
  ])("%i ms are %s", (milliseconds, words) => {
    expect(durationWords(milliseconds)).toBe(words);
  });

  test("say how much is left", () => {
    expect(deadlineWords(100_000, 10_000)).toBe("due in 1 min");
    expect(deadlineWords(10_000, 10_000)).toBe("overdue");
  });

  test("are drawn again when their words change", () => {
    expect(nextChange(12_300)).toBe(47_700);
    expect(nextChange(90_000)).toBe(30_000);
    expect(nextChange(-90_000)).toBe(30_000);
    expect(nextChange(-70_000)).toBe(10_000);
  });
});
