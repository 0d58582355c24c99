import { setImmediate } from "node:timers/promises";
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { at } from "../../record/conversation/events.fixture.ts";
import { type ConversationEvent, eventsOf, StreamEntry } from "../../record/conversation/index.ts";
import { ProviderError } from "../../reach/provider/index.ts";
import { answerInquiry, resumeTurn, runTurn, type TurnOptions } from "../index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedModel,
  ScriptedPrompter,
  type ScriptedReply,
} from "../../testing/index.ts";
import { booleanQuestion, defineTool } from "../../record/tool/index.ts";
import { SeenSpans, traceparentFor } from "./spans.fixture.ts";

const CALL = {
  type: "tool_call",
  id: "call_1",
  name: "pay",
  arguments: { to: "Ms. Amount" },
} as const;
const USAGE = { input: 100, cachedInput: 40, cacheWrites: 5, output: 20, reasoning: 7 };
const REPLIES: readonly ScriptedReply[] = [
  [CALL, { type: "end", reason: "tool_calls", usage: USAGE }],
  [
    { type: "text", text: "Spoken word." },
    { type: "end", reason: "stop", usage: { input: 1, output: 2 } },
  ],
];

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  parameters: { type: "object", properties: { to: { type: "string" } } },
  run: async (_args, { ask }) => {
    trace.getTracer("tool").startSpan("of the tool").end();
    return (await ask(booleanQuestion("sure", "Really pay her?"))) ? "Paid out." : "Not paid.";
  },
});

const ASKING = { pay: { run: "ask", result: "ask" } } as const;

let spans: SeenSpans;
beforeEach(() => {
  spans = new SeenSpans();
});
afterEach(() => spans[Symbol.dispose]());

interface Run extends Partial<TurnOptions> {
  readonly replies?: readonly ScriptedReply[];
}

async function run({ replies = REPLIES, ...options }: Run = {}) {
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = options.conversation ?? (await store.create({}));
  const model = new ScriptedModel({ replies, id: "google/gemini-9" });
  const prompter = new ScriptedPrompter(
    {
      answers: [{ answer: true }],
      permissions: [{ type: "run" }],
      deliveries: [{ type: "deliver" }],
    },
    "web",
  );
  const parts = { conversation, model, tools: [pay], prompter, userName: "Ana Known" };
  const result = await runTurn({ ...parts, ...options }, "The user's message.");
  return { conversation, result, store };
}

/** Runs a turn that ends at the question of its tool, and closes the conversation. */
async function leaveQuestion() {
  const store = new MemoryConversationStore(new FakeClock());
  await using conversation = await store.create({});
  const prompter = new ScriptedPrompter();
  prompter.isAvailable = false;
  await run({ conversation, defer: true, prompter });
  return { store, id: conversation.id };
}

async function resume(store: MemoryConversationStore, id: Parameters<typeof store.open>[0]) {
  await using conversation = await store.open(id);
  const model = new ScriptedModel({ replies: ["Done."], id: "google/gemini-9" });
  return await resumeTurn(conversation, { model, tools: [pay], defer: true });
}

function eventsIn(stream: { readonly entries: readonly StreamEntry[] }, type: string) {
  return [...eventsOf(stream.entries)].filter((event: ConversationEvent) => event.type === type);
}

describe("the spans of a turn", () => {
  test("are the turn, its requests to the model, the attempts of its calls and its decisions, each below what it belongs to", async () => {
    await run({ toolConfig: ASKING });
    expect(spans.tree).toEqual([
      "invoke_agent",
      "  chat gemini-9",
      "  jp.decision permission",
      "  execute_tool pay",
      "    of the tool",
      "    jp.decision question",
      "  execute_tool pay",
      "    of the tool",
      "    jp.decision delivery",
      "  chat gemini-9",
    ]);
  });

  test("have the attributes of the conventions", async () => {
    const { conversation } = await run();
    const id = { "gen_ai.conversation.id": conversation.id };
    const model = { "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "gemini-9" };
    const [asked, again] = spans.named("execute_tool pay");
    expect([
      spans.get("invoke_agent").attributes,
      spans.get("chat gemini-9").attributes,
      asked?.attributes,
      again?.attributes["jp.tool.attempt"],
      again?.attributes["jp.tool.outcome"],
    ]).toEqual([
      {
        "gen_ai.operation.name": "invoke_agent",
        ...model,
        ...id,
        "jp.turn.resumed": false,
        "jp.turn.outcome": "done",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 101,
        "gen_ai.usage.output_tokens": 22,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.cache_write.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 7,
      },
      {
        "gen_ai.operation.name": "chat",
        ...model,
        ...id,
        "gen_ai.request.stream": true,
        "gen_ai.response.time_to_first_chunk": expect.any(Number),
        "gen_ai.response.finish_reasons": ["tool_call"],
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.cache_write.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 7,
      },
      {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_1",
        ...id,
        "jp.tool.attempt": 1,
        "jp.tool.outcome": "needs_input",
      },
      2,
      "success",
    ]);
    expect(spans.get("chat gemini-9").kind).toBe(SpanKind.CLIENT);
  });

  test("say in codes what was decided, by what kind of decider and where", async () => {
    const { conversation } = await run({ toolConfig: { pay: { result: "ask" } } });
    const about = { "gen_ai.conversation.id": conversation.id, "gen_ai.tool.call.id": "call_1" };
    const person = { "jp.decision.decider.kind": "user", "jp.decision.surface": "web" };
    expect(
      ["permission", "question", "delivery"].map(
        (kind) => spans.get(`jp.decision ${kind}`).attributes,
      ),
    ).toEqual([
      {
        ...about,
        "jp.decision.kind": "permission",
        "jp.decision.outcome": "approved",
        "jp.decision.decider.kind": "policy",
      },
      {
        ...about,
        "jp.decision.kind": "question",
        "jp.decision.id": "call_1.sure.1",
        "jp.decision.outcome": "answered",
        ...person,
      },
      {
        ...about,
        "jp.decision.kind": "delivery",
        "jp.decision.id": "call_1:deliver:1",
        "jp.decision.outcome": "approved",
        ...person,
      },
    ]);
  });

  test("say the same of a call that may have run", async () => {
    const conversation = await new MemoryConversationStore(new FakeClock()).create({});
    const timestamp = at(1);
    await conversation.append(
      { type: "turn_start", timestamp },
      { type: "chat_request", timestamp, content: "Go." },
      { type: "tool_call_request", timestamp, id: "call_1", name: "pay", arguments: {} },
      { type: "attempt_start", timestamp, toolCallId: "call_1" },
    );
    const model = new ScriptedModel({ replies: ["Done."] });
    const prompter = new ScriptedPrompter({ answers: [{ answer: "skip" }] }, "web");
    await resumeTurn(conversation, { model, tools: [pay], prompter, toolConfig: ASKING });
    expect(spans.get("jp.decision in_doubt").attributes).toEqual({
      "gen_ai.conversation.id": conversation.id,
      "gen_ai.tool.call.id": "call_1",
      "jp.decision.kind": "in_doubt",
      "jp.decision.id": "call_1:rerun:1",
      "jp.decision.outcome": "denied",
      "jp.decision.decider.kind": "user",
      "jp.decision.surface": "web",
    });
  });

  test("are below what the program does", async () => {
    const tracer = trace.getTracer("program");
    await tracer.startActiveSpan("of the program", async (span) => {
      await run({ replies: ["Hello."] });
      span.end();
    });
    expect(spans.tree).toEqual(["of the program", "  invoke_agent", "    chat gemini-9"]);
  });

  test("have the request to a model that answers a question below the question", async () => {
    const inquiryModel = new ScriptedModel({ replies: ['{"answer": true}'], id: "ollama/small" });
    const toolConfig = { pay: { questions: { sure: { target: "assistant" } } } };
    await run({ toolConfig, inquiryModel });
    expect(spans.tree.slice(3, 8)).toEqual([
      "  execute_tool pay",
      "    of the tool",
      "    jp.decision question",
      "      chat small",
      "  execute_tool pay",
    ]);
    expect(spans.get("jp.decision question").attributes).toMatchObject({
      "jp.decision.decider.kind": "assistant",
    });
  });

  test("are of a scope with the version of the package", async () => {
    await run({ replies: ["Hello."] });
    expect(spans.get("invoke_agent").instrumentationScope).toMatchObject({
      name: "jp-ts",
      version: manifest.version,
    });
  });

  test("leave out nothing that a tool does besides its attempts", async () => {
    const checked = defineTool({
      name: "pay",
      description: "Pays.",
      parameters: { type: "object" },
      run: () => "paid twice",
      check: () => ({ type: "done", result: "paid" }),
    });
    const whole = await run({ tools: [checked] });
    const entries = whole.conversation.stream.entries;
    const started = entries.findIndex(({ eventType }) => eventType === "attempt_start");
    const conversation = await whole.store.create({
      entries: entries.slice(0, started + 1),
      isOwnTurn: true,
    });
    const model = new ScriptedModel({ replies: ["Done."] });
    await resumeTurn(conversation, { model, tools: [checked] });
    expect(eventsIn(conversation.stream, "tool_call_response")).toMatchObject([
      { content: "paid" },
    ]);
  });

  test("are of one turn each, if the user says what to do instead of a yes", async () => {
    const prompter = new ScriptedPrompter({
      permissions: [{ type: "skip", reason: "Do this.", redirects: true }],
    });
    await run({ replies: [[CALL], "Done."], toolConfig: ASKING, prompter });
    const [first, second] = spans.named("invoke_agent");
    expect(spans.tree).toEqual([
      "invoke_agent",
      "  chat gemini-9",
      "  jp.decision permission",
      "invoke_agent",
      "  chat gemini-9",
    ]);
    expect([
      first?.attributes["jp.turn.outcome"],
      second?.links.map((link) => link.context.spanId),
    ]).toEqual(["redirected", [first?.spanContext().spanId]]);
  });
});

describe("names and content", () => {
  const SAID = [
    "The user's message.",
    "Spoken word.",
    "Ms. Amount",
    "Really pay her?",
    "Paid out.",
    "Ana Known",
  ];
  const said = () => {
    const text = JSON.stringify(
      spans.all.map(({ name, attributes, events, status }) => [name, attributes, events, status]),
    );
    return SAID.filter((each) => text.includes(each));
  };

  test("are in no span by default", async () => {
    await run({ toolConfig: ASKING });
    expect(said()).toEqual([]);
  });

  test("are in the spans if the program wants that", async () => {
    await run({ toolConfig: ASKING, tracesContent: true });
    const [, last] = spans.named("chat gemini-9");
    expect(said()).toEqual(SAID);
    expect([
      JSON.parse(String(last?.attributes["gen_ai.input.messages"])),
      JSON.parse(String(last?.attributes["gen_ai.output.messages"])),
    ]).toEqual([
      [
        { role: "user", parts: [{ type: "text", content: "The user's message." }] },
        {
          role: "assistant",
          parts: [
            { type: "tool_call", id: "call_1", name: "pay", arguments: { to: "Ms. Amount" } },
          ],
        },
        {
          role: "tool",
          parts: [{ type: "tool_call_response", id: "call_1", response: "Paid out." }],
        },
      ],
      [
        {
          role: "assistant",
          parts: [{ type: "text", content: "Spoken word." }],
          finish_reason: "stop",
        },
      ],
    ]);
  });
});

describe("a turn that is left and continued", () => {
  test("counts the attempts of its calls on", async () => {
    const { store, id } = await leaveQuestion();
    await answerInquiry(store, "call_1", { answer: true, channel: "desk", userName: "Bo" });
    await resume(store, id);
    const attempts = spans.named("execute_tool pay");
    expect(attempts.map(({ attributes }) => attributes["jp.tool.attempt"])).toEqual([1, 2]);
  });

  test("is one trace, with the question from when it was asked to when it was answered", async () => {
    const { store, id } = await leaveQuestion();
    const left = spans.get("invoke_agent");
    await answerInquiry(store, "call_1", { answer: true, channel: "desk", userName: "Bo" });
    await resume(store, id);
    const [, resumed] = spans.named("invoke_agent");
    const [pending, answered] = spans.named("jp.decision question");
    expect([
      left.attributes["jp.turn.outcome"],
      resumed?.attributes["jp.turn.resumed"],
      resumed?.parentSpanContext?.spanId,
      pending?.attributes["jp.decision.outcome"],
      answered?.attributes,
      answered?.parentSpanContext?.spanId,
      new Set(spans.all.map((span) => span.spanContext().traceId)).size,
    ]).toEqual([
      "waiting",
      true,
      left.spanContext().spanId,
      "pending",
      expect.objectContaining({
        "jp.decision.id": "call_1.sure.1",
        "jp.decision.outcome": "answered",
        "jp.decision.decider.kind": "user",
        "jp.decision.surface": "desk",
      }),
      left.spanContext().spanId,
      1,
    ]);
  });

  test("has the span of the turn on record with what it asked", async () => {
    const { store, id } = await leaveQuestion();
    const { stream } = await store.load(id);
    expect(eventsIn(stream, "inquiry_request")).toMatchObject([
      { traceparent: traceparentFor(spans.get("invoke_agent")) },
    ]);
  });

  test.each([
    ["not hexadecimal", `00-${"x".repeat(32)}-${"1".repeat(16)}-01`],
    ["zeros", `00-${"0".repeat(32)}-${"1".repeat(16)}-01`],
    ["too long", `00-${"1".repeat(32)}-${"1".repeat(16)}-01-more`],
    ["of an unknown version", `ff-${"1".repeat(32)}-${"1".repeat(16)}-01`],
    ["not a text", 7],
  ])("starts a trace of its own if the one on record is broken (%s)", async (_how, traceparent) => {
    const { store, id } = await leaveQuestion();
    const { stream } = await store.load(id);
    const broken = new MemoryConversationStore(new FakeClock());
    await using conversation = await broken.create({});
    const entries = stream.entries.map(({ raw: { metadata: _metadata, ...raw } }) =>
      StreamEntry.fromJson(raw["type"] === "inquiry_request" ? { ...raw, traceparent } : raw),
    );
    await conversation.appendEntries(entries);
    const model = new ScriptedModel({ replies: ["Done."] });
    const prompter = new ScriptedPrompter({ answers: [{ answer: true }] });
    const end = await resumeTurn(conversation, { model, tools: [pay], prompter });
    const [left, resumed] = spans.named("invoke_agent");
    expect([
      end.type,
      resumed?.parentSpanContext,
      resumed?.spanContext().traceId === left?.spanContext().traceId,
    ]).toEqual(["done", undefined, false]);
  });

  test("is linked to what the program does when it continues the turn", async () => {
    const { store, id } = await leaveQuestion();
    await answerInquiry(store, "call_1", { answer: true });
    await trace.getTracer("program").startActiveSpan("of the program", async (span) => {
      await resume(store, id);
      span.end();
    });
    const [left, resumed] = spans.named("invoke_agent");
    expect([
      resumed?.spanContext().traceId,
      resumed?.links.map((link) => link.context.spanId),
    ]).toEqual([left?.spanContext().traceId, [spans.get("of the program").spanContext().spanId]]);
  });
});

describe("an error", () => {
  test("of the provider is the status of its request, and of the turn if that ends with it", async () => {
    const limited = new ProviderError("rate_limited", "Slow, Ana Known.", { isRetryable: true });
    const overdue = new ProviderError("authentication", "No.", { isRetryable: false });
    const request = { maxRetries: 1, baseBackoffMs: 0, maxBackoffMs: 0 };
    const limits = { idleTimeoutMs: 0, promptTimeoutMs: 0, maxResponseBytes: 0 };
    const failed = run({
      replies: [[{ type: "error", error: limited }], [{ type: "error", error: overdue }]],
      assistant: { request: { ...request, ...limits } },
    });
    await expect(failed).rejects.toThrow("No.");
    expect(
      spans.all.map(({ name, status, attributes }) => [name, status, attributes["error.type"]]),
    ).toEqual([
      ["chat gemini-9", { code: SpanStatusCode.ERROR }, "provider_rate_limited"],
      ["chat gemini-9", { code: SpanStatusCode.ERROR }, "provider_authentication"],
      ["invoke_agent", { code: SpanStatusCode.ERROR }, "provider_authentication"],
    ]);
  });

  test("of a tool is the status of its attempt", async () => {
    const failing = defineTool({
      name: "pay",
      description: "Fails.",
      parameters: { type: "object" },
      run: async () => {
        throw new Error("Ana Known has no money.");
      },
    });
    await run({ tools: [failing] });
    const { status, attributes } = spans.get("execute_tool pay");
    expect([status, attributes["error.type"], attributes["jp.tool.outcome"]]).toEqual([
      { code: SpanStatusCode.ERROR },
      "tool_error",
      "error",
    ]);
  });

  test("of the SDK does not take the turn down", async () => {
    spans[Symbol.dispose]();
    spans = new SeenSpans(new FailingProcessor());
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => void warnings.push(message);
    process.on("warning", onWarning);
    const { result } = await run();
    await setImmediate(); // Node warns then.
    process.off("warning", onWarning);
    expect(result.type).toBe("done");
    expect(warnings).toContain("OpenTelemetry failed, and the turn continued: no room");
  });
});

/** Fails wherever an SDK calls it. */
class FailingProcessor implements SpanProcessor {
  onStart(): void {
    throw new Error("no room");
  }

  onEnd(): void {
    throw new Error("no room");
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}
}
