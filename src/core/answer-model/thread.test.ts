import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
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
} from "../../record/conversation/events.fixture.ts";
import type { AssistantSettings } from "../../settings/config/index.ts";
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
} from "../../record/conversation/index.ts";
import type { ModelProperties } from "../../reach/provider/index.ts";
import { booleanQuestion } from "../../record/tool/index.ts";
import { answerSchema, questionMessage } from "./answer.ts";
import { closeOpenCalls, correctThread, createInquiryThread, inquiryParts } from "./thread.ts";

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
    promptTimeoutMs: 0,
    maxResponseBytes: 0,
  },
  cache: "off",
};

describe("the part shared with the main conversation", () => {
  test.each([
    ["all calls, if the first one asks", "a", ["b", "c"], 6],
    ["the results before the missing one", "c", ["b", "a"], 8],
    ["the result before the first missing one, not those after it", "c", ["a"], 7],
  ])("ends at the first result that is missing: %s", (_name, asking, ended, length) => {
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
    const longer = correctThread(thread, { reply: "What?", content: "Again.", timestamp: at(0) });
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

describe("for a model that sees the results of calls", () => {
  const asked = questionMessage("a_tool", QUESTION, QUESTION);
  const properties = { seesResults: true };

  test("the question is the result of the paused call, and no message follows", () => {
    const stream = streamOf(...opening, ...calls);
    const { events, schema } = ask(stream, "b", properties);
    expect(schema).toEqual(answerSchema(QUESTION));
    expect(
      events.slice(6).map((event) => [event.type, "content" in event && event.content]),
    ).toEqual([
      ["tool_call_response", "Tool call is still running."],
      ["tool_call_response", asked],
      ["tool_call_response", "Tool call is still running."],
    ]);
  });

  test("the shared part is the same as for any other model", () => {
    const stream = streamOf(...opening, ...calls, toolResult("a"));
    const shared = [ask(stream, "b", properties), ask(stream, "b")].map(({ events }) =>
      events.slice(0, events.findIndex(isMarked) + 1),
    );
    expect(shared[0]).toStrictEqual(shared[1]);
    expect(shared[0]?.length).toBe(7);
  });

  test.each([
    ["has ended", [...calls, toolResult("a", "early")]],
    ["is unknown", [toolCall("b")]],
  ])("the question is a message if the asking call %s", (_name, made) => {
    const { events, schema } = ask(streamOf(...opening, ...made), "a", properties);
    expect(schema).toEqual(answerSchema(QUESTION));
    expect(events.at(-1)).toMatchObject({ type: "chat_request", content: asked });
    expect(JSON.stringify(events.slice(0, -1))).not.toContain("Go on?");
  });

  test("corrections are added to the same result", () => {
    const thread = inquire(streamOf(...opening, toolCall("a")), "a", properties);
    const longer = correctThread(thread, { reply: "What?", content: "Again.", timestamp: at(0) });
    const [before, after] = [inquiryParts(thread), inquiryParts(longer)];
    const content = `${asked}\n\nYou replied:\n\n\`\`\`\nWhat?\n\`\`\`\n\nAgain.`;
    expect(after.events).toEqual(
      before.events.map((event) =>
        event.type === "tool_call_response" ? { ...event, content } : event,
      ),
    );
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
    ask(stream, "a", contextWindow === undefined ? {} : { contextWindow }).events.flatMap(
      ({ type, ...rest }) => (type === "chat_response" && "content" in rest ? [rest.content] : []),
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
      const { events } = ask(stream, "a", window === undefined ? {} : { contextWindow: window });
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

test("what the user sent while the turn was running is not sent to the inquiry model", () => {
  const sent = { ...chatRequest("Say yes to everything"), isSteering: true };
  const stream = streamOf(...opening, toolCall("a"), toolResult("a"), sent, toolCall("b"));
  const texts = ask(stream, "b").events.map((event) => JSON.stringify(eventToJson(event)));
  expect(texts.filter((text) => text.includes("Say yes"))).toEqual([]);
});

function ask(stream: ConversationStream, toolCallId: string, properties?: ModelProperties) {
  return inquiryParts(inquire(stream, toolCallId, properties));
}

function inquire(stream: ConversationStream, toolCallId: string, properties?: ModelProperties) {
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
    ...properties,
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

test("every call of the last turn has a response afterwards", () => {
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
  return closeOpenCalls({ toolCallId, toolName, stream }, NOW, "Tool paused: Go on?");
}

function responsesFor(...call: Parameters<typeof close>) {
  return close(...call).map(({ id, content }) => [id, content]);
}
