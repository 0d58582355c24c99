/** Questions that any of several calls may have asked: the protocol of 2025 does not say which. */
import { describe, expect, test } from "vitest";
import {
  MemoryConversationStore,
  runTurn,
  type ToolConfigs,
  type TurnOptions,
} from "../../src/index.ts";
import type { ConversationEvent } from "../../src/record/conversation/index.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import {
  FakeClock,
  type ScriptedAnswer,
  ScriptedModel,
  ScriptedPrompter,
} from "../../src/testing/index.ts";
import type { CallResult, UnscopedQuestion } from "../../src/reach/mcp/index.ts";
import { inProcessServer, never, untilLogged } from "./support.ts";

interface Scene extends Partial<Pick<TurnOptions, "prompter" | "answers" | "defer">> {
  /** The tools of one reply. */
  readonly tools: readonly string[];
  readonly toolConfig?: ToolConfigs;
  readonly allowsSampling?: boolean;
  /** The clock of the servers. */
  readonly clock?: FakeClock;
}

async function run({
  tools,
  toolConfig = {},
  allowsSampling = false,
  clock = new FakeClock(),
  ...parts
}: Scene) {
  const steps = tools.map((name, index) => {
    return { type: "tool_call", id: `call_${index + 1}`, name, arguments: {} } as const;
  });
  const { servers: mcpServers, log } = inProcessServer("older", {
    settings: { allowsSampling },
    context: { clock },
  });
  const { events } = await runTurn(
    {
      conversation: await new MemoryConversationStore(new FakeClock()).create({}),
      model: new ScriptedModel({ replies: [steps, "Done."] }),
      inquiryModel: new ScriptedModel({ replies: () => "Io" }),
      mcpServers,
      toolConfig: { "*": { run: "unattended" }, ...toolConfig },
      ...parts,
    },
    "Ask.",
  );
  return { events, log };
}

const BOTH = ["ask_reading", "ask_reading"];

/** The lines about questions and results. */
function linesOf(events: readonly ConversationEvent[]): readonly string[] {
  return transcript(events).filter((line) => /asks|answered|cancelled|gives/.test(line));
}

describe("two calls that ask at once", () => {
  test("ask a person, as the server, and get the answers", async () => {
    const prompter = new ScriptedPrompter({ answers: () => ({ answer: "Io" }) });
    const { events } = await run({ tools: BOTH, prompter });
    const lines = linesOf(events);
    const gives = 'gives: [{"moon":{"action":"accept","content":{"name":"Io"}}}]';
    expect(lines).toEqual([
      "mcp.test.name.1 asks: name",
      'mcp.test.name.1 answered: "Io"',
      "mcp.test.name.2 asks: name",
      expect.stringMatching(/^call_[12] gives|^mcp/),
      expect.stringMatching(/^call_[12] gives|^mcp/),
      expect.stringMatching(/^call_[12] gives|^mcp/),
    ]);
    expect(lines.filter((line) => line.endsWith(gives))).toHaveLength(2);
    expect(prompter.questions).toHaveLength(2);
  });

  test("are named in the request, which belongs to no call", async () => {
    const prompter = new ScriptedPrompter({ answers: () => ({ answer: "Io" }) });
    const { events } = await run({ tools: BOTH, prompter });
    const request = events.find(({ type }) => type === "inquiry_request");
    expect(request).toMatchObject({
      source: { source: "tool", name: "mcp.test" },
      isBound: true,
      origin: { type: "mcp", server: "test", tool: "" },
      question: { exclusive: true, persistence: "none" },
    });
    expect(request).not.toHaveProperty("toolCallId");
    expect(prompter.questions[0]).toMatchObject({
      toolCallId: "",
      tool: "mcp.test",
      arguments: { calls: ["call_1", "call_2"] },
      allowsLater: false,
    });
  });

  test("are not ended by a person who cancels the question, and the server is told", async () => {
    const prompter = new ScriptedPrompter({ answers: () => ({ isCancelled: true }) });
    const { events } = await run({ tools: BOTH, prompter });
    const lines = linesOf(events);
    expect(lines.filter((line) => line.includes("cancelled:"))).toEqual([
      'mcp.test.name.1 cancelled: "user"',
      'mcp.test.name.2 cancelled: "user"',
    ]);
    expect(lines.filter((line) => /call_. gives/.test(line))).toHaveLength(2);
    expect(lines.filter((line) => line.includes('{"action":"cancel"}'))).toHaveLength(2);
  });

  test.each<[string, Partial<Scene>]>([
    ["no one is there", {}],
    ["everything is left for later", { defer: true }],
    [
      "every answer has to be in a file",
      { answers: { isComplete: true, find: () => undefined }, prompter: asking() },
    ],
  ])("get no answer if %s, and the record says why", async (_, parts) => {
    const { events } = await run({ tools: BOTH, ...parts });
    const lines = linesOf(events);
    expect(lines.filter((line) => line.includes("cancelled:"))).toEqual([
      'mcp.test.name.1 cancelled: "no_prompt_backend"',
      'mcp.test.name.2 cancelled: "no_prompt_backend"',
    ]);
    expect(lines.filter((line) => line.includes('{"action":"cancel"}'))).toHaveLength(2);
  });

  test("are answered by no config and no model", async () => {
    const questions = { name: { answer: "Leda", target: "assistant" } } as const;
    const { events } = await run({
      tools: BOTH,
      prompter: asking(),
      toolConfig: { ask_reading: { questions } },
    });
    const answers = events.filter(({ type }) => type === "inquiry_response");
    expect(answers).toMatchObject([
      { answer: "Io", answeredBy: { kind: "user" } },
      { answer: "Io", answeredBy: { kind: "user" } },
    ]);
  });

  test("close the question as interrupted when they end", async () => {
    const tools = ["ask_and_return_reading", "ask_and_return_reading"];
    const prompter = new ScriptedPrompter({
      answers: ({ signal }) => {
        const closed = Promise.withResolvers<ScriptedAnswer>();
        signal.addEventListener("abort", () => closed.resolve({ isLater: true }));
        return closed.promise;
      },
    });
    const { events, log } = await run({ tools, prompter });
    expect(linesOf(events).filter((line) => line.includes("cancelled:"))).toEqual([
      'mcp.test.name.1 cancelled: "interrupted"',
      'mcp.test.name.2 cancelled: "interrupted"',
    ]);
    await untilLogged(log, 'answered {"action":"cancel"}');
  });
});

test("the time limits of the calls do not run while the question is open", async () => {
  const clock = new FakeClock();
  const prompter = new ScriptedPrompter({
    answers: () => {
      clock.advance(60_000);
      return { answer: "Io" };
    },
  });
  const toolConfig = { ask_reading: { timeout_secs: 10 } };
  const { events } = await run({ tools: BOTH, prompter, toolConfig, clock });
  expect(linesOf(events).filter((line) => line.includes('"action":"accept"'))).toHaveLength(2);
});

test("calls of two turns that share a server are not asked in either of them", async () => {
  const unscoped: UnscopedQuestion[] = [];
  const { servers, get } = inProcessServer("older", {
    context: { onUnscopedQuestion: (question) => unscoped.push(question) },
  });
  const server = await get();
  const tool = (await server.tools(never)).find(({ name }) => name === "ask_reading");
  if (tool === undefined) throw new Error("no tool");
  const callers = [{}, {}];
  const shared: unknown[] = [];
  for (const caller of callers) servers.onSharedQuestion(caller, (each) => shared.push(each));
  const calls = callers.map((caller) =>
    server.call({ tool, name: "ask", arguments: {}, caller }).next({ signal: never }),
  );
  for (const { content } of (await Promise.all(calls)) as readonly CallResult[]) {
    expect(content).toContain('{"action":"cancel"}');
  }
  expect([shared.length, unscoped.map(({ tool: asker }) => asker)]).toEqual([
    0,
    [undefined, undefined],
  ]);
});

describe("two calls that prompt a model at once", () => {
  const PROMPTS = ["ask_model_reading", "ask_model_reading"];

  test("get its replies, and no person is asked", async () => {
    const { events } = await run({ tools: PROMPTS, allowsSampling: true });
    const answers = events.filter(({ type }) => type === "inquiry_response");
    expect(answers).toMatchObject([
      { id: "mcp.test.sampling.1", answeredBy: { kind: "assistant" } },
      { id: "mcp.test.sampling.2", answeredBy: { kind: "assistant" } },
    ]);
  });

  test("get none if one of their tools refuses it", async () => {
    const { events } = await run({
      tools: [...PROMPTS, "ask_model_reading"],
      allowsSampling: true,
      toolConfig: { ask_model_reading: { questions: { sampling: { exclusive: true } } } },
    });
    const ends = events.filter(({ type }) => type === "inquiry_response");
    expect(ends).toHaveLength(3);
    for (const end of ends) expect(end).toMatchObject({ outcome: "cancelled" });
  });
});

function asking(): ScriptedPrompter {
  return new ScriptedPrompter({ answers: () => ({ answer: "Io" }) });
}
