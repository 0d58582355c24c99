import { describe, expect, test } from "vitest";
import { at } from "../../test/support/events.ts";
import type { ConversationEvent } from "../conversation/index.ts";
import type { ModelEvent } from "../provider/index.ts";
import { FakeClock } from "../testing/index.ts";
import type { TurnUpdate } from "./observer.ts";
import { ReplyRecorder } from "./reply-recorder.ts";

const said = (text: string): ModelEvent => ({ type: "message_delta", text });
const thought = (text: string): ModelEvent => ({ type: "reasoning_delta", text });
const call: ModelEvent = { type: "tool_call_request", id: "a", name: "echo", arguments: { n: 1 } };

function setUp({ isStructured = false, record = async () => {} } = {}) {
  const events: object[] = [];
  const calls: string[] = [];
  const updates: TurnUpdate[] = [];
  const recorder = new ReplyRecorder({
    journal: {
      stream: { createdAt: at(0), baseConfig: {}, entries: [] },
      record: async (...added: readonly ConversationEvent[]) => {
        await record();
        for (const { timestamp: _timestamp, ...event } of added) events.push(event);
      },
    },
    clock: new FakeClock(),
    observer: { observe: (update) => updates.push(update) },
    isStructured,
    onCall: ({ id }) => calls.push(`${id} after ${events.length}`),
  });
  const take = async (...taken: readonly ModelEvent[]) => {
    for (const event of taken) await recorder.take(event);
  };
  return { recorder, take, events, calls, updates };
}

const response = (type: "message" | "reasoning", text: string, metadata?: object) => ({
  type: "chat_response",
  content: { type, text },
  ...(metadata && { metadata }),
});

describe("a reply", () => {
  test("is recorded piece by piece in its order, each with what the provider wants back", async () => {
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

  test("keeps a signature that comes without a text, and nothing that is empty", async () => {
    const { take, events } = setUp();
    await take(
      { type: "reasoning_end", metadata: { signature: "hidden" } },
      said(""),
      { type: "message_end" },
      { type: "message_end" },
    );
    expect(events).toEqual([response("reasoning", "", { signature: "hidden" })]);
  });

  test.each<[string, ModelEvent]>([
    ["another kind of text", thought("Hm")],
    ["a call", call],
    ["the end of the reply", { type: "response_end", reason: "stop", usage: {} }],
  ])("has its open text recorded before %s", async (_what, next) => {
    const { take, events } = setUp();
    await take(said("One"), next);
    expect(events[0]).toEqual(response("message", "One"));
  });

  test("loses no text to an end that comes late for another", async () => {
    const { recorder, take, events } = setUp();
    await take(thought("Hm"), said("One "), {
      type: "reasoning_end",
      metadata: { signature: "s" },
    });
    await take(said("two"));
    await recorder.end();
    expect(events).toEqual([
      response("reasoning", "Hm"),
      response("reasoning", "", { signature: "s" }),
      response("message", "One two"),
    ]);
  });

  test("is dropped as far as it is not complete, and only so far", async () => {
    const { recorder, take, events } = setUp();
    await take(said("One"), { type: "message_end" }, said("two"));
    recorder.drop();
    await recorder.end();
    expect(events).toEqual([response("message", "One")]);
  });

  test("has only its message read as JSON, not what was thought", async () => {
    const { take, events } = setUp({ isStructured: true });
    await take(thought("1"), { type: "reasoning_end" }, said("[1,"), said("2]"), {
      type: "message_end",
    });
    expect(events).toEqual([
      response("reasoning", "1"),
      { type: "chat_response", content: { type: "structured", data: [1, 2] } },
    ]);
  });
});

test("a call is handed on once it is on record", async () => {
  const { recorder, take, calls } = setUp();
  await take(said("One"), { type: "tool_call_start", id: "a", name: "echo" }, call);
  expect([calls, recorder.hasCalls, recorder.reason]).toEqual([["a after 2"], true, undefined]);
});

test("a call that cannot be recorded is not handed on, and is none", async () => {
  const { recorder, take, calls } = setUp({
    record: () => Promise.reject(new Error("disk full")),
  });
  await expect(take(call)).rejects.toThrow("disk full");
  expect([calls, recorder.hasCalls]).toEqual([[], false]);
});

test("everything that is said is observed as it comes", async () => {
  const { take, updates } = setUp();
  const end: ModelEvent = { type: "response_end", reason: "stop", usage: { input: 1 } };
  const start: ModelEvent = { type: "tool_call_start", id: "a", name: "echo" };
  await take(thought("Hm"), said("One "), said("two"), { type: "message_end" }, start, call, end);
  expect(updates).toEqual([thought("Hm"), said("One "), said("two"), start, end]);
});
