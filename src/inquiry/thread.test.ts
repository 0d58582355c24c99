import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import {
  anyDamagedStream,
  at,
  chatRequest,
  inquiry,
  message,
  rawOf,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "../conversation/events.fixture.ts";
import type { AssistantSettings } from "../config/index.ts";
import {
  type ConversationStream,
  eventToJson,
  type InquiryId,
  intoParts,
  isProviderVisible,
  pairToolCalls,
  type ProviderEvent,
  StreamEntry,
  turnsOf,
} from "../conversation/index.ts";
import { booleanQuestion } from "../tool/index.ts";
import { closeOpenCalls, createInquiryThread, extendThread, inquiryParts } from "./thread.ts";

const QUESTION = booleanQuestion("ok", "Go on?");
const opening = [turnStart(), chatRequest("Hi"), message("Hello"), turnStart(), chatRequest("Fix")];
const calls = [toolCall("a"), toolCall("b"), toolCall("c")];

const ASSISTANT: AssistantSettings = {
  name: "jp",
  model: { provider: "test", name: "scripted" },
  parameters: { other: {} },
  sections: [],
  toolChoice: "auto",
  request: {
    maxRetries: 0,
    baseBackoffMs: 0,
    maxBackoffMs: 0,
    idleTimeoutMs: 0,
    maxResponseBytes: 0,
  },
  cache: "off",
};

describe("the part shared with the main conversation", () => {
  test.each([
    ["all calls, if the first one asks", "a", ["b", "c"], 6],
    ["the results before the missing one", "c", ["b", "a"], 8],
    ["the result before the first missing one, not those after it", "c", ["a"], 7],
  ])("is %s", (_name, asking, ended, length) => {
    verifies("028/goal/shared-prefix");
    const results = ended.map((id) => toolResult(id, `of ${id}`));
    const rest = calls.filter(({ id }) => !ended.includes(id)).map(({ id }) => toolResult(id));
    const main = intoParts(threadOf(streamOf(...opening, ...calls, ...results, ...rest)));
    const { events } = ask(streamOf(...opening, ...calls, ...results), asking);
    const shared = events.slice(0, length);
    expect(shared).toStrictEqual([
      ...main.events.slice(0, length - 1),
      { ...main.events[length - 1], metadata: { cache_breakpoint: true } },
    ]);
    expect(events[length]).not.toStrictEqual(main.events[length]);
  });

  test("ends before the question if no call is open", () => {
    const { events } = ask(streamOf(...opening, message("Well")), "gone");
    expect(events.map(isMarked)).toEqual([false, false, false, true, false]);
  });

  test("keeps its metadata besides the mark", () => {
    const signed = { ...toolCall("a"), metadata: { signature: "s" } };
    const { events } = ask(streamOf(...opening, signed), "a");
    expect(events[3]?.metadata).toEqual({ signature: "s", cache_breakpoint: true });
  });

  test("stays the same as the exchange continues", () => {
    const thread = inquire(streamOf(...opening, ...calls), "a");
    const longer = extendThread(thread, message("What?"), chatRequest("Again."));
    const [before, after] = [inquiryParts(thread), inquiryParts(longer)];
    expect(after).toStrictEqual({
      ...before,
      events: [...before.events, message("What?"), chatRequest("Again.")],
    });
  });

  test("is empty for an empty conversation", () => {
    expect(ask(streamOf(), "a").events.map(isMarked)).toEqual([false]);
  });
});

test("compactions are applied before turns are dropped, so they cover the turns they name", () => {
  const compaction = StreamEntry.fromJson({
    type: "compaction",
    timestamp: "2026-01-02 03:04:06.0",
    from_turn: 1,
    to_turn: 1,
    summary: { summary: "In short." },
  });
  const stream = streamOf(
    turnStart(),
    chatRequest("x".repeat(9000)),
    message("Ok"),
    turnStart(),
    chatRequest("second"),
    message("Ok"),
    compaction,
    ...opening.slice(3),
    toolCall("a"),
  );
  const texts = (contextWindow?: number) =>
    ask(stream, "a", contextWindow).events.flatMap(({ type, ...rest }) =>
      type === "chat_response" && "content" in rest ? [rest.content] : [],
    );
  const [ok, summary] = ["Ok", "In short."].map((text) => ({ type: "message", text }));
  expect([texts(), texts(3000)]).toEqual([[ok, summary], [summary]]);
});

test("any stream stays unchanged, all calls are closed and no inquiry is visible", () => {
  verifies(
    "028/goal/conversation-untouched",
    "028/snapshot/calls-well-formed",
    "005/visibility/inquiry-events-hidden",
  );
  fc.assert(
    fc.property(anyDamagedStream, fc.option(fc.nat(400), { nil: undefined }), (stream, window) => {
      const before = JSON.stringify(rawOf(stream));
      const { events } = ask(stream, "a", window);
      const { pairs, orphans } = pairToolCalls(events);
      expect({
        open: pairs.filter(({ response }) => response === undefined),
        orphans,
        hidden: events.filter((event) => !isProviderVisible(event)),
        last: events.at(-1)?.type,
        marks: events.filter(isMarked).length,
        after: JSON.stringify(rawOf(stream)),
      }).toEqual({
        open: [],
        orphans: [],
        hidden: [],
        last: "chat_request",
        marks: events.length > 1 ? 1 : 0,
        after: before,
      });
    }),
  );
});

test("recorded inquiries are not sent to the inquiry model", () => {
  const stream = streamOf(...opening, toolCall("a"), inquiry("a.ok.1", { text: "Secretly?" }));
  const texts = ask(stream, "a").events.map((event) => JSON.stringify(eventToJson(event)));
  expect(texts.filter((text) => text.includes("Secretly?"))).toEqual([]);
});

function ask(stream: ConversationStream, toolCallId: string, contextWindow?: number) {
  return inquiryParts(inquire(stream, toolCallId, contextWindow));
}

function inquire(stream: ConversationStream, toolCallId: string, contextWindow?: number) {
  return createInquiryThread({
    call: {
      inquiryId: "a.ok.1" as InquiryId,
      toolCallId,
      toolName: "a_tool",
      question: QUESTION,
      target: { type: "assistant", assistant: {} },
      stream,
      signal: new AbortController().signal,
    },
    format: QUESTION,
    assistant: ASSISTANT,
    attachments: [],
    tools: [],
    contextWindow,
    timestamp: at(9),
  });
}

function threadOf(stream: ConversationStream) {
  return { sections: [], attachments: [], stream };
}

function isMarked({ metadata }: ProviderEvent): boolean {
  return metadata?.["cache_breakpoint"] === true;
}

const NOW = at(9);
const RUNNING = "Tool call is still running.";
const PAUSED = "Tool paused: Go on?";
const firstTurn = [turnStart(), chatRequest("Hi")] as const;

test("the asking call is paused with its question, which is not an error", () => {
  verifies("028/snapshot/paused-response-closes-the-call");
  expect(close(streamOf(...firstTurn, toolCall("a")), "a")).toStrictEqual([
    { type: "tool_call_response", timestamp: NOW, id: "a", content: PAUSED, isError: false },
  ]);
});

test("other calls are still running, unless they have ended", () => {
  const open = [toolCall("a"), toolCall("b"), toolCall("c"), toolCall("d")];
  const stream = streamOf(...firstTurn, ...open, toolResult("c"));
  expect(responsesFor(stream, "b")).toEqual([
    ["a", RUNNING],
    ["b", PAUSED],
    ["d", RUNNING],
  ]);
});

test("open calls of earlier turns are not reported as running", () => {
  const stream = streamOf(...firstTurn, toolCall("old"), ...firstTurn, toolCall("a"));
  expect(responsesFor(stream, "a")).toEqual([["a", PAUSED]]);
});

describe("if two calls share an id", () => {
  test("the one with the tool's name is paused", () => {
    const stream = streamOf(...firstTurn, toolCall("x", "other"), toolCall("x", "asking"));
    expect(responsesFor(stream, "x", "asking")).toEqual([
      ["x", RUNNING],
      ["x", PAUSED],
    ]);
  });

  test("one with a response is not the asking one", () => {
    const stream = streamOf(...firstTurn, toolCall("x"), toolResult("x"), toolCall("x"));
    expect(responsesFor(stream, "x")).toEqual([["x", PAUSED]]);
  });
});

test("an unknown call is not closed", () => {
  expect([responsesFor(streamOf(...firstTurn), "gone"), responsesFor(streamOf(), "gone")]).toEqual([
    [],
    [],
  ]);
});

test("afterwards every call of the last turn has a response", () => {
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

function responsesFor(...call: Parameters<typeof close>) {
  return close(...call).map(({ id, content }) => [id, content]);
}
