import { describe, expect, test } from "vitest";
import type { ModelEvent, ModelRequest } from "../reach/provider/index.ts";
import { ScriptedModel, type ScriptedReply } from "./scripted-model.ts";

const END = { type: "response_end", reason: "stop", usage: {} } as const;

test("a text streams word by word and ends normally", async () => {
  expect(await read("Hi  you\n")).toEqual([
    { type: "message_delta", text: "Hi  " },
    { type: "message_delta", text: "you\n" },
    { type: "message_end" },
    END,
  ]);
});

test("a reply can be scripted step by step", async () => {
  expect(
    await read([
      { type: "reasoning", text: "Hm", metadata: { signature: "s" } },
      { type: "structured", data: { answer: 1 } },
      { type: "tool_call", id: "a", name: "fs", arguments: { path: "x" }, metadata: { m: 1 } },
      { type: "tool_call", id: "b", name: "fs" },
    ]),
  ).toEqual([
    { type: "reasoning_delta", text: "Hm" },
    { type: "reasoning_end", metadata: { signature: "s" } },
    { type: "message_delta", text: '{"answer":1}' },
    { type: "message_end" },
    { type: "tool_call_start", id: "a", name: "fs" },
    {
      type: "tool_call_request",
      id: "a",
      name: "fs",
      arguments: { path: "x" },
      metadata: { m: 1 },
    },
    { type: "tool_call_start", id: "b", name: "fs" },
    { type: "tool_call_request", id: "b", name: "fs", arguments: {} },
    { ...END, reason: "tool_calls" },
  ]);
});

test("a reply can end early, break off or fail", async () => {
  const error = new Error("broken");
  expect(
    await Promise.all([
      read([{ type: "end", reason: "length", usage: { output: 3 } }]),
      read([{ type: "text", text: "a" }, { type: "cut" }]),
      read([
        { type: "text", text: "a" },
        { type: "error", error },
      ]),
    ]),
  ).toEqual([
    [{ ...END, reason: "length", usage: { output: 3 } }],
    [{ type: "message_delta", text: "a" }, { type: "message_end" }],
    [{ type: "message_delta", text: "a" }, { type: "message_end" }, error],
  ]);
});

test("replies are used in order, and requests are kept", async () => {
  const model = new ScriptedModel({
    id: "test/other",
    properties: { contextWindow: 9 },
    replies: ["a", "b"],
  });
  const texts = [await read(model), await read(model), await read(model)].map(
    (events) => events[0],
  );
  expect({
    id: model.id,
    properties: await model.properties(),
    texts,
    requests: model.requests.length,
  }).toEqual({
    id: "test/other",
    properties: { contextWindow: 9 },
    texts: [
      { type: "message_delta", text: "a" },
      { type: "message_delta", text: "b" },
      new Error("The script has no reply for request 3."),
    ],
    requests: 3,
  });
});

test("a function can create the reply to a request", async () => {
  const model = new ScriptedModel({ replies: ({ cache }, index) => `${cache}${index}` });
  await read(model);
  expect(await read(model)).toContainEqual({ type: "message_delta", text: "off1" });
});

describe("waiting", () => {
  test("lasts until the promise resolves", async () => {
    const until = Promise.withResolvers<void>();
    const reading = read([{ type: "wait", until: until.promise }]);
    until.resolve();
    expect(await reading).toEqual([END]);
  });

  test.each<[string, ScriptedReply]>([
    ["a promise", [{ type: "wait", until: new Promise(() => undefined) }]],
    ["nothing", [{ type: "hang" }]],
    ["no longer than it likes", [{ type: "text", text: "a" }, { type: "hang" }]],
  ])("for %s ends with an abort, which throws", async (_name, reply) => {
    const abort = new AbortController();
    const reading = read(reply, abort.signal);
    abort.abort("stop");
    expect((await reading).at(-1)).toBe("stop");
  });
});

test("an abort between two words ends the reply", async () => {
  const abort = new AbortController();
  const model = new ScriptedModel({ replies: ["a b"] });
  const stream = model.stream(requestOf(abort.signal));
  await stream.next();
  abort.abort("stop");
  await expect(stream.next()).rejects.toBe("stop");
});

/** The events, and the error after them. */
async function read(
  script: ScriptedReply | ScriptedModel,
  signal = new AbortController().signal,
): Promise<readonly unknown[]> {
  const model = script instanceof ScriptedModel ? script : new ScriptedModel({ replies: [script] });
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(requestOf(signal))) events.push(event);
  } catch (error) {
    return [...events, error];
  }
  return events;
}

function requestOf(signal: AbortSignal): ModelRequest {
  return {
    parts: { systemParts: [], events: [] },
    tools: [],
    toolChoice: "auto",
    parameters: { other: {} },
    cache: "off",
    signal,
  };
}
