import { setImmediate } from "node:timers/promises";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { transcript } from "../record/conversation/transcript.fixture.ts";
import type { TurnUpdate } from "../core/agent/index.ts";
import { eventsOf, StreamEntry } from "../record/conversation/index.ts";
import type { LanguageModel, Model } from "../reach/provider/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedModel,
  ScriptedPrompter,
} from "../testing/index.ts";
import { booleanQuestion, defineTool, selectQuestion, textQuestion } from "../record/tool/index.ts";
import { resumeTurn, runTurn, streamTurn, type ToolConfigs } from "./index.ts";

const clock = new FakeClock();

const sureQuestion = booleanQuestion("sure", "Deploy now?");
const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => ((await ask(sureQuestion)) ? "deployed" : "left alone"),
});

async function openConversation() {
  return new MemoryConversationStore(clock).create({});
}

const replies = [[{ type: "tool_call", id: "call_1", name: "deploy" }] as const, "It is done."];

/** Where no person can be asked. */
const ANSWERED_BY_MODEL = { "*": { detached: "auto" } } as const;

describe("a turn in an embedding program", () => {
  test("uses the program's model, tool and prompter, and records as usual", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies });
    const prompter = new ScriptedPrompter({ answers: [{ answer: true }] }, "web");
    const end = await runTurn({ conversation, model, tools: [deploy], prompter, clock }, "Go.");
    expect(end).toEqual({
      type: "done",
      reason: "stop",
      text: "It is done.",
      denials: [],
      usage: {},
      events: [...eventsOf(conversation.stream.entries)],
    });
    expect(end.events.map(({ type }) => type)).toEqual([
      "turn_start",
      "chat_request",
      "tool_call_request",
      "permission_decision",
      "attempt_start",
      "inquiry_request",
      "inquiry_response",
      "attempt_start",
      "tool_call_response",
      "chat_response",
    ]);
    expect([...eventsOf(conversation.stream.entries)]).toContainEqual(
      expect.objectContaining({
        type: "inquiry_response",
        outcome: "answered",
        answer: true,
        answeredBy: { kind: "user", channel: "web", auth: "program" },
      }),
    );
  });

  test("asks several questions of a tool as one form, and gives it the answers and notes", async () => {
    const report = defineTool({
      name: "report",
      description: "Reports.",
      parameters: { type: "object" },
      run: async (_args, { askAll, notes }) => {
        const { title, severity } = await askAll({
          title: textQuestion("title", "Title?", { allowsNote: true }),
          severity: selectQuestion("level", "How bad?", { options: ["low", "high"] }),
        });
        return [title, severity, notes["title"]].join(", ");
      },
    });
    const call = [{ type: "tool_call", id: "call_1", name: "report" }] as const;
    const model = new ScriptedModel({ replies: [call, "Reported."] });
    const prompter = new ScriptedPrompter({
      forms: [[{ answer: "It broke", note: "since Monday" }, { answer: "high" }]],
    });
    const conversation = await openConversation();
    const { events } = await runTurn(
      { conversation, model, tools: [report], prompter, clock },
      "Report it.",
    );
    expect(prompter.forms.map(({ fields }) => fields.length)).toEqual([2]);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool_call_response",
        content: "It broke, high, since Monday",
      }),
    );
    const asked = events.flatMap((event) =>
      event.type === "inquiry_request" ? [event.questionId] : [],
    );
    expect(asked).toEqual(["title", "level"]);
  });

  test("lets the model answer questions in a non-interactive run if the program says so", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies });
    const inquiryModel = new ScriptedModel({
      id: "test/second",
      replies: [[{ type: "structured", data: { answer: false } }]],
    });
    const options = { model, inquiryModel, tools: [deploy], toolConfig: ANSWERED_BY_MODEL, clock };
    await runTurn({ conversation, ...options }, "Go.");
    expect([...eventsOf(conversation.stream.entries)]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ answeredBy: { kind: "assistant", model: "test/second" } }),
        expect.objectContaining({
          type: "tool_call_response",
          content: expect.stringContaining("left alone"),
        }),
      ]),
    );
  });

  test("asks the inquiry model with the tools and attachments of the turn", async () => {
    const conversation = await openConversation();
    const call = replies[0] ?? "";
    const model = new ScriptedModel({
      replies: [call, [{ type: "structured", data: { answer: true } }], "Done."],
    });
    const attachments = [{ source: "a.md", content: "A" }];
    const options = {
      conversation,
      model,
      attachments,
      tools: [deploy],
      toolConfig: ANSWERED_BY_MODEL,
      systemPrompt: "Hi.",
      clock,
    };
    await runTurn(options, "Go.");
    const [first, inquiry] = model.requests.map(({ tools, toolChoice, parts }) => {
      const { systemParts, events } = parts;
      return { tools, toolChoice, systemParts, attached: events[0] };
    });
    expect(inquiry).toEqual(first);
    expect(first?.tools.map(({ name }) => name)).toEqual(["deploy"]);
    expect(inquiry).toMatchObject({
      systemParts: [{ tag: "prompt", text: "Hi." }],
      attached: { type: "chat_request", content: expect.stringContaining("a.md") },
    });
  });

  test("runs no tools that the inquiry model calls", async () => {
    counters("T-INQ-2");
    const conversation = await openConversation();
    let runs = 0;
    const boom = defineTool({
      name: "boom",
      description: "Counts.",
      parameters: { type: "object" },
      run: async () => `${(runs += 1)}`,
    });
    const call = [{ type: "tool_call", id: "call_2", name: "boom" }] as const;
    const model = new ScriptedModel({ replies: [replies[0] ?? "", call, call, call, "Failed."] });
    const options = { model, tools: [deploy, boom], toolConfig: ANSWERED_BY_MODEL, clock };
    await runTurn({ conversation, ...options }, "Go.");
    const [failure, ...others] = [...eventsOf(conversation.stream.entries)]
      .filter(({ type }) => type === "inquiry_response" || type === "tool_call_request")
      .slice(1);
    expect({ runs, failure, others, requests: model.requests.length }).toMatchObject({
      runs: 0,
      failure: { outcome: "cancelled", reason: "backend_error" },
      others: [],
      requests: 5,
    });
  });

  test.each<ToolConfigs<"deploy">>([{ deploy: { run: "skip" } }, { "*": { run: "skip" } }])(
    "accepts tool config as in a config file: %j",
    async (toolConfig) => {
      const conversation = await openConversation();
      const model = new ScriptedModel({ replies });
      await runTurn({ conversation, model, tools: [deploy], toolConfig, clock }, "Go.");
      expect([...eventsOf(conversation.stream.entries)]).toContainEqual(
        expect.objectContaining({ content: "Tool skipped by configuration." }),
      );
    },
  );

  test.each(["constructor", "prototype", "__proto__"])(
    "refuses the config of a tool named %s, which would have no effect",
    async (name) => {
      const conversation = await openConversation();
      const model = new ScriptedModel({ replies });
      const tools = [{ ...deploy, name }];
      const toolConfig = Object.fromEntries([[name, { run: "ask" } as const]]);
      await expect(
        runTurn({ conversation, model, tools, toolConfig, clock }, "Go."),
      ).rejects.toMatchObject({ code: "config_invalid" });
    },
  );

  test("refuses the config of a tool that there is not, before anything is recorded", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies });
    const toolConfig: ToolConfigs = { deplyo: { run: "ask" } };
    const options = { conversation, model, tools: [deploy], toolConfig, clock };
    await expect(runTurn(options, "Go.")).rejects.toMatchObject({
      code: "unknown_tool",
      message: "Unknown tool: deplyo in toolConfig",
      hint: "Did you mean deploy?",
    });
    expect(conversation.stream.entries).toEqual([]);
  });

  test.each([
    [{ questions: { sure: sureQuestion } }, "Did you mean sure?"],
    [{ questions: {} }, "deploy asks no questions."],
  ])("refuses the config of a question that the tool does not declare", async (declared, hint) => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies });
    const tools = [{ ...deploy, ...declared }];
    const toolConfig = { deploy: { questions: { sur: { target: { role: "lead" } } } } };
    const options = { conversation, model, tools, toolConfig, clock };
    await expect(runTurn(options, "Go.")).rejects.toMatchObject({
      code: "unknown_question",
      message: "Unknown question: deploy.questions.sur in toolConfig",
      hint,
    });
    expect(conversation.stream.entries).toEqual([]);
  });

  test("takes the config of any question if the tool declares none", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies });
    const toolConfig = { deploy: { questions: { sur: {} } } };
    const options = { conversation, model, tools: [deploy], toolConfig, clock };
    expect(await runTurn(options, "Go.")).toMatchObject({ type: "done" });
  });

  test.each([
    ["openai/gpt-5", '"openai/gpt-5" is the id of a model, and there is no default provider.'],
    [undefined, "A model is an object, not undefined."],
    [() => sdkModel("Hello."), "A model is an object, not a function."],
    [Promise.resolve(sdkModel("Hello.")), "This object is not a model."],
    [
      { ...sdkModel("Hello."), provider: undefined },
      "A language model has a provider and a modelId.",
    ],
    [
      { ...sdkModel("Hello."), specificationVersion: "v2" },
      "The model small has version v2 of the AI SDK's interface; jp takes v3 and v4.",
    ],
  ])("refuses a model that it cannot use: %j", async (given, message) => {
    const conversation = await openConversation();
    const model = given as unknown as LanguageModel;
    await expect(runTurn({ conversation, model, clock }, "Hi.")).rejects.toMatchObject({
      code: "unsupported_model",
      message,
    });
  });

  test.each([
    undefined,
    5,
    {},
    { content: 5 },
    { content: "Hi.", author: {} },
    { content: "Hi.", files: { mediaType: "image/png", data: "" } },
  ])("refuses a message that cannot be recorded: %j", async (given) => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies: [] });
    const message = given as unknown as string; // As a program without types may pass it.
    await expect(runTurn({ conversation, model, clock }, message)).rejects.toMatchObject({
      code: "invalid_message",
    });
    expect(conversation.stream.entries).toEqual([]);
  });

  test("records nothing but a message, whatever a client has added to it", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies: ["Hello."] });
    const sent = {
      content: "Hi.",
      author: null as unknown as string, // As JSON has it.
      type: "permission_decision",
      timestamp: "2020-01-01 00:00:00.0",
      toolCallId: "call_1",
      tool: "deploy",
      action: "run",
      decision: "approved",
      decidedBy: { kind: "user", channel: "web", auth: "program" },
      correction: "none",
      isChecked: false,
    };
    const { events } = await runTurn({ conversation, model, clock }, sent);
    const timestamp = events[0]?.timestamp;
    expect(events[1]).toEqual({ type: "chat_request", timestamp, content: "Hi." });
  });

  test("accepts any language model of the AI SDK", async () => {
    const conversation = await openConversation();
    const end = await runTurn({ conversation, model: sdkModel("Hello."), clock }, "Hi.");
    expect(end).toMatchObject({ type: "done", reason: "stop", text: "Hello." });
  });

  test("returns only the events and the text of this turn, without reasoning", async () => {
    const conversation = await openConversation();
    const second = [
      { type: "reasoning", text: "Hm." } as const,
      { type: "text", text: "Two." } as const,
    ];
    const model = new ScriptedModel({ replies: ["One.", second] });
    await runTurn({ conversation, model, clock }, "Hi.");
    const { text, events } = await runTurn({ conversation, model, clock }, "And?");
    expect({ text, types: events.map(({ type }) => type) }).toEqual({
      text: "Two.",
      types: ["turn_start", "chat_request", "chat_response", "chat_response"],
    });
  });

  test("can request structured output, for a named author", async () => {
    const conversation = await openConversation();
    const data = { colours: ["red"] };
    const model = new ScriptedModel({ replies: [[{ type: "structured", data }]] });
    const schema = { type: "object" };
    const request = { content: "Which?", schema, author: "Ada" };
    const result = await runTurn({ conversation, model, clock }, request);
    expect({ ...result, events: result.events.slice(1) }).toMatchObject({
      text: '{"colours":["red"]}',
      data,
      events: [
        { type: "chat_request", ...request },
        { type: "chat_response", content: { type: "structured", data } },
        { type: "turn_end", reason: "done" },
      ],
    });
  });

  test("ends cleanly when its signal is aborted", async () => {
    const conversation = await openConversation();
    const abort = new AbortController();
    const model = new ScriptedModel({
      replies: [[{ type: "text", text: "I begin" }, { type: "hang" }]],
    });
    const observer = {
      observe: ({ type }: TurnUpdate) => {
        if (type === "message_delta") abort.abort();
      },
    };
    const options = { conversation, model, clock, observer, signal: abort.signal };
    expect(await runTurn(options, "Hi.")).toMatchObject({ type: "interrupted", text: "I " });
  });

  test("leaves what needs a person for later, if it is to", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies });
    const toolConfig = { deploy: { run: "ask" } } as const;
    const options = { conversation, model, tools: [deploy], toolConfig, clock, defer: true };
    const { type, denials, events } = await runTurn(options, "Go.");
    expect({ type, denials, last: events.at(-1) }).toEqual({
      type: "waiting",
      denials: [],
      last: expect.objectContaining({ type: "permission_request", tool: "deploy" }),
    });
  });

  test("leaves a question open that its signal closes", async () => {
    counters("T-PROV-8");
    const abort = new AbortController();
    const prompter = new ScriptedPrompter({
      answers: () => {
        abort.abort();
        return new Promise<never>(() => undefined);
      },
    });
    const { type, events } = await runTurn(
      {
        conversation: await openConversation(),
        model: new ScriptedModel({ replies: [[{ type: "tool_call", id: "a", name: "deploy" }]] }),
        tools: [deploy],
        prompter,
        clock,
        signal: abort.signal,
      },
      "Hi.",
    );
    expect([type, transcript(events).at(-1)]).toEqual([
      "interrupted",
      "a.sure.1 asks: Deploy now?",
    ]);
  });
});

describe("a second turn on the same conversation", () => {
  test("is refused while the first runs, before anything is recorded", async () => {
    const conversation = await openConversation();
    const released = Promise.withResolvers<void>();
    const model = new ScriptedModel({
      replies: [
        [
          { type: "wait", until: released.promise },
          { type: "text", text: "One." },
        ],
      ],
    });
    const options = { model: new ScriptedModel({ replies: [] }), clock };
    const first = runTurn({ conversation, model, clock }, "Hi.");
    const refused = {
      code: "turn_running",
      message: `A turn is already running in conversation ${conversation.id}.`,
    };
    await expect(runTurn({ conversation, ...options }, "And?")).rejects.toMatchObject(refused);
    await expect(resumeTurn(conversation, options)).rejects.toMatchObject(refused);
    released.resolve();
    const { events } = await first;
    expect([...eventsOf(conversation.stream.entries)]).toEqual(events);
    expect(events.map(({ type }) => type)).toEqual(["turn_start", "chat_request", "chat_response"]);
  });

  test.each([
    ["is done", "One.", false],
    ["has thrown", [{ type: "error", error: new Error("oh") } as const], false],
    ["was aborted", [{ type: "hang" } as const], true],
  ])("runs once the first %s", async (_, reply, isAborted) => {
    const conversation = await openConversation();
    const abort = new AbortController();
    const before = new ScriptedModel({ replies: [reply] });
    const model = new ScriptedModel({ replies: ["Two."] });
    const { signal } = abort;
    const first = runTurn({ conversation, model: before, clock, signal }, "Hi.");
    if (isAborted) abort.abort();
    await first.catch(() => undefined);
    expect((await runTurn({ conversation, model, clock }, "And?")).text).toBe("Two.");
  });
});

describe("a streamed turn", () => {
  test("yields every update as it happens, and the end", async () => {
    const conversation = await openConversation();
    const stream = streamTurn(
      { conversation, model: new ScriptedModel({ replies: ["One two."] }), clock },
      "Hi.",
    );
    const updates: string[] = [];
    let last = await stream.next();
    for (; last.done !== true; last = await stream.next()) {
      updates.push(last.value.type === "event" ? last.value.event.type : last.value.type);
    }
    expect(last.value).toMatchObject({ type: "done", reason: "stop", text: "One two." });
    expect(updates).toEqual([
      "turn_start",
      "chat_request",
      "cycle_start",
      "context_use",
      "message_delta",
      "message_delta",
      "chat_response",
      "response_end",
    ]);
  });

  test("says with every update which conversation, call and decision it is about", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies });
    const prompter = new ScriptedPrompter({ answers: [{ answer: true }] });
    const stream = streamTurn({ conversation, model, tools: [deploy], prompter, clock }, "Go.");
    const updates: TurnUpdate[] = [];
    for await (const update of stream) updates.push(update);
    const about = updates.flatMap((update) => {
      const { conversation: id, toolCallId, inquiryId } = update;
      const type = update.type === "event" ? update.event.type : update.type;
      return id === conversation.id ? [[type, toolCallId, inquiryId].join(" ").trim()] : [];
    });
    expect(about).toHaveLength(updates.length);
    expect(about.filter((line) => line.includes("call_1"))).toEqual([
      "tool_call_start call_1",
      "tool_call_request call_1",
      "permission_decision call_1",
      "attempt_start call_1",
      "inquiry_request call_1 call_1.sure.1",
      "inquiry_response call_1 call_1.sure.1",
      "attempt_start call_1",
      "tool_call_response call_1",
    ]);
  });

  test("ends when its consumer stops, and keeps the text so far", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({
      replies: [[{ type: "text", text: "I begin " }, { type: "hang" }]],
    });
    for await (const update of streamTurn({ conversation, model, clock }, "Hi.")) {
      if (update.type === "message_delta") break;
    }
    expect([...eventsOf(conversation.stream.entries)].map(({ type }) => type)).toEqual([
      "turn_start",
      "chat_request",
      "chat_response",
    ]);
  });

  test("slows the model's reply down to the pace of its reader, and loses nothing", async () => {
    const conversation = await openConversation();
    const words = 5000;
    let written = 0;
    const model: Model = {
      id: "test/wordy",
      stream: async function* () {
        for (; written < words; written += 1) yield { type: "message_delta", text: "x" } as const;
        yield { type: "response_end", reason: "stop", usage: {} };
      },
    };
    const stream = streamTurn({ conversation, model, clock }, "Hi.");
    const read = async () => {
      const next = await stream.next();
      return next.done === true ? next.value : next.value.type;
    };
    while ((await read()) !== "message_delta");
    for (let turns = 0; turns < words; turns += 1) await setImmediate();
    expect(written).toBeLessThan(1000);
    const types: unknown[] = ["message_delta"];
    let last = await read();
    for (; typeof last === "string"; last = await read()) types.push(last);
    expect([types.filter((type) => type === "message_delta").length, last.text.length]).toEqual([
      words,
      words,
    ]);
  });

  test("lets a reader stop while the model's reply waits for it", async () => {
    const conversation = await openConversation();
    const model: Model = {
      id: "test/endless",
      stream: async function* () {
        for (;;) yield { type: "message_delta", text: "x" } as const;
      },
    };
    for await (const { type } of streamTurn({ conversation, model, clock }, "Hi.")) {
      if (type !== "message_delta") continue;
      for (let turns = 0; turns < 1000; turns += 1) await setImmediate();
      break;
    }
    expect([...eventsOf(conversation.stream.entries)].at(-1)).toMatchObject({
      type: "chat_response",
    });
  });

  test("throws the error of the turn", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies: [[{ type: "error", error: new Error("oh") }]] });
    const updates = streamTurn({ conversation, model, clock }, "Hi.");
    const listen = async () => {
      while ((await updates.next()).done !== true);
    };
    await expect(listen()).rejects.toThrow("oh");
  });
});

test("a result that is an object is text on record, and marked as JSON", async () => {
  const count = defineTool({
    name: "count",
    description: "Counts.",
    parameters: {},
    run: () => ({ moons: 2 }),
  });
  const conversation = await openConversation();
  const model = new ScriptedModel({
    replies: [[{ type: "tool_call", id: "call_1", name: "count" }], "Two."],
  });
  await runTurn({ conversation, model, tools: [count], clock }, "How many?");
  const response = conversation.stream.entries.find(
    ({ eventType }) => eventType === "tool_call_response",
  );
  const raw = response?.raw ?? {};
  expect(raw).toMatchObject({ content: expect.any(String), is_json: true });
  expect(StreamEntry.fromJson(raw).event).toMatchObject({ content: '{"moons":2}', isJson: true });
});

/** As small as a model of the AI SDK can be. */
function sdkModel(text: string, more: readonly LanguageModelV4StreamPart[] = []): LanguageModelV4 {
  const parts: LanguageModelV4StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...more,
    { type: "text-delta", id: "1", delta: text },
    { type: "text-end", id: "1" },
    {
      type: "finish",
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
    },
  ];
  return {
    specificationVersion: "v4",
    provider: "someone",
    modelId: "small",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not used")),
    doStream: async () => ({
      stream: new ReadableStream({
        start: (controller) => {
          for (const part of parts) controller.enqueue(part);
          controller.close();
        },
      }),
    }),
  };
}

test("the sources that a model names are on record after its reply, and a file where it was sent", async () => {
  const moon = {
    type: "source",
    sourceType: "url",
    id: "s1",
    url: "https://moon.example/",
  } as const;
  const model = sdkModel("Rock.", [
    moon,
    { type: "source", sourceType: "document", id: "s2", mediaType: "text/plain", title: "Log" },
    { ...moon, id: "s3" },
    { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBORw0KGgo=" } },
  ]);
  const conversation = await openConversation();
  const updates: TurnUpdate[] = [];
  const observer = { observe: (update: TurnUpdate) => void updates.push(update) };
  const { text } = await runTurn({ conversation, model, clock, observer }, "What is it made of?");
  const sources = [{ url: "https://moon.example/" }, { title: "Log", mediaType: "text/plain" }];
  const recorded = [...eventsOf(conversation.stream.entries)];
  expect([text, recorded.map(({ type }) => type), recorded.at(-2)]).toMatchObject([
    "Rock.",
    ["turn_start", "chat_request", "reply_file", "chat_response", "reply_sources", "token_usage"],
    { type: "reply_sources", sources },
  ]);
  expect(updates).toContainEqual(
    expect.objectContaining({ type: "event", event: expect.objectContaining({ sources }) }),
  );
  const file = updates.find((each) => each.type === "event" && each.event.type === "reply_file");
  expect(file).toMatchObject({ event: { mediaType: "image/png", size: 8 } });
});

describe("a message that replaces a turn", () => {
  test("takes its place for the model, and leaves it on record", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies: ["One.", "Two.", "Other.", "Three."] });
    const say = (content: string, replacesTurn = false) =>
      runTurn({ conversation, model, clock }, { content, replacesTurn });
    await say("First?");
    await say("Second?");
    await say("Again?", true);
    await say("Third?");
    const seen = model.requests.at(-1)?.parts.events ?? [];
    const recorded = [...eventsOf(conversation.stream.entries)];
    expect([transcript(seen), transcript(recorded).includes("message: Two.")]).toEqual([
      ["person: First?", "message: One.", "person: Again?", "message: Other.", "person: Third?"],
      true,
    ]);
  });

  test("is refused while that turn is incomplete, or if there is none", async () => {
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies });
    const message = { content: "Again?", replacesTurn: true };
    const run = () =>
      runTurn({ conversation, model, tools: [deploy], clock, defer: true }, message);
    await expect(run()).rejects.toMatchObject({ code: "nothing_to_replace" });
    await runTurn({ conversation, model, tools: [deploy], clock, defer: true }, "Go.");
    const before = conversation.stream.entries.length;
    await expect(run()).rejects.toMatchObject({ code: "incomplete_turn" });
    expect(conversation.stream.entries.length).toBe(before);
  });
});
