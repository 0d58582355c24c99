import { beforeEach, describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  chatRequest,
  entriesOf,
  inquiry,
  message,
  rawOf,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import { type InquiryId, timestampFromDate } from "../../record/conversation/index.ts";
import type { Model, ModelProperties } from "../../reach/provider/index.ts";
import { FakeClock, ScriptedModel, type ScriptedReply } from "../../testing/index.ts";
import { booleanQuestion, secretQuestion, selectQuestion } from "../../record/tool/index.ts";
import { JpError } from "../../util/index.ts";
import { answerSchema, questionMessage } from "./answer.ts";
import {
  ANSWERED,
  ASSISTANT,
  CALL,
  createBackend,
  history,
  moved,
  provider,
  QUESTION,
  settled,
  TOOLS,
  YES,
} from "./backend.fixture.ts";
import type { InquiryBackendOptions } from "./backend.ts";
import type { InquiryCall } from "./port.ts";

let clock: FakeClock;
beforeEach(() => {
  clock = new FakeClock();
});

describe("the request", () => {
  test("contains the conversation, the paused call and the question", async () => {
    verifies(
      "028/goal/full-context",
      "028/backend/question-appended-as-chat-request",
      "005/visibility/inquiry-events-hidden",
    );
    const { answer, model } = await ask([YES], {
      call: { stream: streamOf(...history, inquiry("a.ok.1")) },
    });
    const timestamp = timestampFromDate(clock.now());
    const { signal: _signal, observe: _observe, ...request } = model.requests[0] ?? {};
    expect({ answer, request }).toStrictEqual({
      answer: ANSWERED,
      request: {
        parts: {
          systemParts: [
            { tag: "prompt", text: "Be brief." },
            { tag: "section", text: "# Rules\n\nThink." },
          ],
          events: [
            {
              ...chatRequest(expect.stringContaining("the notes")),
              timestamp: streamOf().createdAt,
              metadata: { attachments: true },
            },
            chatRequest("Hi"),
            message("Hello"),
            chatRequest("Fix it"),
            toolCall("a"),
            { ...toolCall("b"), metadata: { cache_breakpoint: true } },
            {
              type: "tool_call_response",
              timestamp,
              id: "a",
              content: "Tool paused: Go on?",
              isError: false,
            },
            toolResult("b", "found"),
            {
              type: "chat_request",
              timestamp,
              content: questionMessage("a_tool", QUESTION, QUESTION),
            },
          ],
          schema: answerSchema(QUESTION),
        },
        tools: TOOLS,
        toolChoice: "auto",
        schemaMayChange: "nothing",
        parameters: { temperature: 0, other: { seed: 1 } },
        cache: "long",
      },
    });
  });

  test("does not change the conversation", async () => {
    verifies(
      "028/goal/conversation-untouched",
      "028/snapshot/paused-response-never-stored",
      "005/record/model-exchange-stays-on-the-copy",
    );
    const stream = streamOf(...history);
    const before = structuredClone(rawOf(stream));
    await ask(["no", "no", YES], { call: { stream } });
    expect(rawOf(stream)).toStrictEqual(before);
  });

  test("shows the record as of its first attempt, also in later attempts", async () => {
    verifies("028/snapshot/reflects-the-moment-of-asking", "028/backend/inputs");
    const stream = { ...streamOf(...history), entries: entriesOf(...history) };
    const scripted = new ScriptedModel({ replies: ["no", YES] });
    const model: Model = {
      id: scripted.id,
      stream: (request) => {
        stream.entries.push(...entriesOf(message("too late")));
        return scripted.stream(request);
      },
    };
    const opened = async () => {
      stream.entries.push(...entriesOf(toolResult("a", "meanwhile")));
      return model;
    };
    await createBackend(model, { model: opened, clock }).inquire({ ...CALL, stream });
    const shown = scripted.requests.map(({ parts }) => JSON.stringify(parts.events));
    expect(shown.map((text) => [text.includes("meanwhile"), text.includes("too late")])).toEqual([
      [true, false],
      [true, false],
    ]);
  });

  test("goes to the assistant that the target names", async () => {
    verifies("028/backend/thread-parts-fixed-for-the-turn");
    const target = { type: "assistant", assistant: { name: "Bob" } } as const;
    const { systemPrompt: _prompt, ...bare } = ASSISTANT;
    const { model } = await ask([YES], {
      call: { target },
      options: {
        assistant: ({ assistant: { name } }) => ({
          ...bare,
          sections: [{ content: `For ${name}.` }],
          cache: "off",
        }),
        attachments: () => [],
      },
    });
    const { parts, cache } = model.requests[0] ?? {};
    expect({ system: parts?.systemParts, cache }).toEqual({
      system: [{ tag: "section", text: "For Bob." }],
      cache: "off",
    });
  });

  test("is bound to its inquiry if configured", async () => {
    verifies("028/schema/inquiry-id-is-constant");
    const { answer, model } = await ask(
      ['{"inquiry_id":"other","answer":true}', '{"inquiry_id":"a.ok.1","answer":true}'],
      { options: { schemaMode: "bound" } },
    );
    const form = { answerType: QUESTION.answerType, boundTo: "a.ok.1" as InquiryId };
    expect([answer, model.requests[1]?.parts.schema]).toEqual([ANSWERED, answerSchema(form)]);
  });

  test("has a note in place of an attached image that this model does not take", async () => {
    const scripted = new ScriptedModel({ replies: [YES] });
    const model = Object.assign(scripted, { acceptsFile: () => false });
    const content = { mediaType: "image/png", data: "AQID", filename: "a.png" };
    const options = { clock, attachments: () => [{ source: "a.png", content }] };
    await createBackend(model, options).inquire(CALL);
    expect(model.requests[0]?.parts.events[0]).toEqual(
      expect.objectContaining({
        content: expect.stringContaining("[A file of type image/png, which you cannot see.]"),
      }),
    );
    expect(JSON.stringify(model.requests[0]?.parts)).not.toContain("AQID");
  });

  test("drops the oldest turns if the context window is too small", async () => {
    const long = [turnStart(), chatRequest("x".repeat(30_000)), message("Long.")];
    const { model } = await ask([YES], {
      call: { stream: streamOf(...long, ...history.slice(3)) },
      properties: { contextWindow: 10_000 },
    });
    expect(model.requests[0]?.parts.events.map(({ type }) => type)).toEqual([
      "chat_request", // With the attachments.
      "chat_request",
      "tool_call_request",
      "tool_call_request",
      "tool_call_response",
      "tool_call_response",
      "chat_request",
    ]);
  });
});

describe("an invalid reply", () => {
  test("is returned to the model with what is wrong", async () => {
    verifies("028/backend/answer-extracted-and-validated");
    const { answer, model } = await ask(["Yes.", '{"answer": "yes"}', YES]);
    const said = model.requests[2]?.parts.events.slice(-4).map((event) => event);
    const form =
      "Do not call any tool. Reply with one JSON object and nothing else: " +
      '{"reason": "why, in one or two sentences", "answer": true or false}';
    expect({ answer, requests: model.requests.length, said }).toMatchObject({
      answer: ANSWERED,
      requests: 3,
      said: [
        { type: "chat_response", content: { type: "message", text: "Yes." } },
        { content: `That is not a valid answer: the reply is not JSON. ${form}` },
        { type: "chat_response", content: { type: "message", text: '{"answer": "yes"}' } },
        {
          content: `That is not a valid answer: \`answer\` does not match the question: expected true or false, got string. ${form}`,
        },
      ],
    });
  });

  test("keeps the schema and the tools in every request, and the last one enforces the schema", async () => {
    const { model } = await ask(["no", "no", YES]);
    const same = { schema: answerSchema(QUESTION), tools: TOOLS };
    const asMain = { ...same, toolChoice: "auto", schemaMayChange: "nothing" };
    expect(
      model.requests.map(({ parts, tools, toolChoice, schemaMayChange }) => {
        const { schema } = parts;
        return { schema, tools, toolChoice, schemaMayChange };
      }),
    ).toEqual([asMain, asMain, { ...same, toolChoice: "none", schemaMayChange: "prompt" }]);
  });

  test("does not allow calls if the conversation does not", async () => {
    const { model } = await ask([YES], {
      options: { assistant: () => ({ ...ASSISTANT, toolChoice: "none" }) },
    });
    expect(model.requests[0]?.toolChoice).toBe("none");
  });

  test.each<[string, ScriptedReply, object]>([
    ["words", "Yes.", { kind: "missing_data", message: "test/scripted: the reply is not JSON" }],
    [
      "the wrong type",
      '{"answer": 1}',
      {
        kind: "invalid_answer",
        message:
          "test/scripted: `answer` does not match the question: expected true or false, got number",
      },
    ],
    [
      "a call of a tool",
      [{ type: "tool_call", id: "c", name: "a_tool" }],
      {
        kind: "missing_data",
        message: "test/scripted: the reply calls `a_tool`, but tools cannot run here",
      },
    ],
    [
      "a call next to an answer",
      [
        { type: "text", text: YES },
        { type: "tool_call", id: "c", name: "no such tool\n" },
      ],
      {
        kind: "missing_data",
        message: "test/scripted: the reply calls a tool, but tools cannot run here",
      },
    ],
    [
      "half of it",
      [
        { type: "text", text: '{"answer": tr' },
        { type: "end", reason: "length" },
      ],
      {
        kind: "missing_data",
        message: "test/scripted: the reply is not JSON, because it reached its length limit",
      },
    ],
  ])("fails the inquiry after three attempts: %s", async (_name, reply, expected) => {
    verifies("028/goal/answers-are-typed", "028/backend/failure-is-a-result");
    const { answer, model } = await ask([reply, reply, reply, YES]);
    expect([answer, model.requests.length]).toEqual([{ type: "failed", ...expected }, 3]);
  });

  test("is not repeated if empty, and truncated if long", async () => {
    const { model } = await ask(["", "x".repeat(3999) + "🦀!".repeat(2), YES], {
      options: {
        assistant: () => ({
          ...ASSISTANT,
          request: { ...ASSISTANT.request, maxResponseBytes: 0 },
        }),
      },
    });
    const echoed = model.requests[2]?.parts.events
      .slice(9)
      .map((event) => ("content" in event ? event.content : undefined));
    expect(echoed).toEqual([
      expect.stringContaining("That is not a valid answer"),
      { type: "message", text: `${"x".repeat(3999)}\u{FFFD}` },
      expect.stringContaining("That is not a valid answer"),
    ]);
  });

  test("includes a value that is not an option, whatever the provider accepted", async () => {
    const question = selectQuestion("mode", "How?", { options: ["fast", "safe"] });
    const { answer } = await ask(['{"answer":"wild"}', '{"answer":"safe"}'], {
      call: { question },
    });
    expect(answer).toEqual({ ...ANSWERED, answer: "safe" });
  });
});

describe("a failing request", () => {
  test("is retried like the assistant's own requests", async () => {
    verifies("028/backend/structured-call-is-retried");
    const asked = ask([[{ type: "text", text: '{"ans' }, { type: "cut" }], YES]);
    await moved(clock);
    const { answer, model } = await asked;
    expect([answer, model.requests.length]).toEqual([ANSWERED, 2]);
  });

  test("fails the inquiry after the last retry", async () => {
    verifies("028/backend/failure-is-a-result");
    const busy: ScriptedReply = [{ type: "error", error: provider("overloaded", true) }];
    const asked = ask([busy, busy, YES]);
    await moved(clock);
    expect((await asked).answer).toEqual({ type: "failed", kind: "provider", message: "Trouble." });
  });

  test("fails the inquiry at once if the error is permanent", async () => {
    const { answer, model } = await ask([
      [{ type: "error", error: provider("context_too_long", false) }],
      YES,
    ]);
    expect([answer, model.requests.length]).toEqual([
      { type: "failed", kind: "provider", message: "Trouble." },
      1,
    ]);
  });

  test("is a provider failure if the model refuses, whatever else it says", async () => {
    const { answer } = await ask([
      [
        { type: "text", text: YES },
        { type: "end", reason: "refused" },
      ],
    ]);
    expect(answer).toEqual({
      type: "failed",
      kind: "provider",
      message: "test/scripted refused to answer",
    });
  });

  test("is a provider failure if the model is unknown or a key is missing", async () => {
    const noKey = provider("missing_key", false);
    const noModel = new JpError("no_model", "No model is configured.");
    const answers = await Promise.all([
      ask([], { options: { model: () => Promise.reject(noKey) } }),
      ask([], {
        options: {
          assistant: () => {
            throw noModel;
          },
        },
      }),
    ]);
    expect(answers.map(({ answer }) => answer)).toEqual([
      { type: "failed", kind: "provider", message: "Trouble." },
      { type: "failed", kind: "provider", message: "No model is configured." },
    ]);
  });

  test("is another failure if it is a bug", async () => {
    const { answer } = await ask([[{ type: "error", error: new TypeError("not a function") }]]);
    expect(answer).toEqual({ type: "failed", kind: "other", message: "not a function" });
  });
});

describe("questions that no model can answer", () => {
  test("no model is asked for a secret", async () => {
    verifies("082/secret/never-asked-of-the-model");
    const { answer, model } = await ask([YES], { call: { question: secretQuestion("k", "Key?") } });
    expect([answer, model.requests]).toEqual([
      { type: "failed", kind: "other", message: "A model must not be asked for a secret." },
      [],
    ]);
  });

  test("no model is asked to choose from no options", async () => {
    const question = selectQuestion("none", "Which?", { options: [] });
    const { answer, model } = await ask([YES], { call: { question } });
    expect([answer, model.requests]).toEqual([
      { type: "failed", kind: "invalid_answer", message: "the question has no options" },
      [],
    ]);
  });
});

describe("an abort", () => {
  const deaf: Model = {
    id: "test/deaf",
    stream: () => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
    }),
  };

  test("asks no model if it comes beforehand", async () => {
    verifies("028/backend/cancellation-stops-it");
    const { answer, model } = await ask([YES], { call: { signal: AbortSignal.abort() } });
    expect([answer, model.requests]).toEqual([{ type: "cancelled" }, []]);
  });

  test.each<[string, readonly ScriptedReply[], Partial<InquiryBackendOptions>]>([
    ["while the model is being created", [], { model: () => new Promise(() => undefined) }],
    ["while the model is silent", [[{ type: "hang" }]], {}],
    ["in the middle of a reply", [[{ type: "text", text: '{"ans' }, { type: "hang" }]], {}],
    ["while a wrong reply is corrected", ["no", [{ type: "hang" }]], {}],
    ["in the delay before a retry", [[{ type: "error", error: provider("overloaded", true) }]], {}],
    ["of a model that ignores the signal", [], { model: () => Promise.resolve(deaf) }],
  ])("ends the inquiry at once: %s", async (_name, replies, options) => {
    verifies("028/backend/cancellation-stops-it");
    const abort = new AbortController();
    const asked = ask(replies, { call: { signal: abort.signal }, options });
    await settled();
    abort.abort();
    const { answer } = await asked;
    expect([answer, clock.sleepers]).toEqual([{ type: "cancelled" }, 0]);
  });

  test("still counts at the end of the reply", async () => {
    const abort = new AbortController();
    const last: Model = {
      id: "test/last",
      async *stream() {
        yield { type: "message_delta", text: YES };
        yield { type: "response_end", reason: "stop", usage: {} };
        abort.abort();
      },
    };
    const answer = await createBackend(last, { clock }).inquire({ ...CALL, signal: abort.signal });
    expect(answer).toEqual({ type: "cancelled" });
  });

  test("does not affect other inquiries", async () => {
    const abort = new AbortController();
    const first = ask([[{ type: "hang" }]], { call: { signal: abort.signal } });
    const second = ask([YES]);
    abort.abort();
    expect([(await first).answer, (await second).answer]).toEqual([
      { type: "cancelled" },
      ANSWERED,
    ]);
  });
});

test("inquiries of one backend run in parallel", async () => {
  verifies("028/goal/parallel-inquiries");
  const slow = Promise.withResolvers<void>();
  const model = new ScriptedModel({
    replies: ({ parts }) =>
      JSON.stringify(parts.events.at(-1)).includes("First?")
        ? [
            { type: "wait", until: slow.promise },
            { type: "structured", data: { answer: false } },
          ]
        : YES,
  });
  const backend = createBackend(model);
  const ended: string[] = [];
  const inquire = async (text: string, toolCallId: string) => {
    const question = booleanQuestion("ok", text);
    const answer = await backend.inquire({ ...CALL, question, toolCallId });
    ended.push(text);
    return answer;
  };
  const first = inquire("First?", "a");
  expect(await inquire("Second?", "b")).toEqual(ANSWERED);
  slow.resolve();
  expect([await first, ended]).toEqual([{ ...ANSWERED, answer: false }, ["Second?", "First?"]]);
});

interface Surroundings {
  readonly call?: Partial<InquiryCall>;
  readonly options?: Partial<InquiryBackendOptions>;
  readonly properties?: ModelProperties;
}

async function ask(replies: readonly ScriptedReply[], surroundings: Surroundings = {}) {
  const { call, options, properties = {} } = surroundings;
  const model = new ScriptedModel({ replies, properties });
  const answer = await createBackend(model, { clock, ...options }).inquire({ ...CALL, ...call });
  return { answer, model };
}
