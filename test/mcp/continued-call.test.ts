/** Calls that a process has left at a question of their server, and another process takes up. */
import { describe, expect, test } from "vitest";
import { closeTurn, type Prompter, type Toolbox } from "../../src/core/agent/index.ts";
import { toolboxOf } from "../../src/core/agent/tool-turn.fixture.ts";
import { type ConversationEvent, eventsOf, lastTurn } from "../../src/record/conversation/index.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import { createTurn } from "../../src/assemble/index.ts";
import type { ConversationWriter } from "../../src/stores/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  ScriptedModel,
  ScriptedPrompter,
} from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { answersOf, AttemptedCall, createTool } from "./attempted-call.ts";
import { type Generation, inProcessServer, untilLogged } from "./support.ts";

function form(message: string, properties: JsonObject): JsonObject {
  return { message, requestedSchema: { type: "object", properties } };
}

const MOON = form("Which moon?", { name: { type: "string" } });
const SEA = form("Which sea?", { sea: { type: "string" }, depth: { type: "integer" } });
const LOGIN = form("Who are you?", { password: { type: "string" } });
const PROMPT = {
  messages: [{ role: "user", content: { type: "text", text: "Name a moon." } }],
  maxTokens: 100,
};
const ROUNDS = { rounds: [{ moon: MOON }, { sea: SEA }] };

/** A tool of a server that has just started, as in a new process. */
async function openTool(
  generation: Generation,
  config: JsonObject = {},
  settings: Parameters<typeof inProcessServer>[1] = {},
) {
  const { servers, log } = inProcessServer(generation, settings);
  const tool = await createTool(servers, { source: "mcp.test.ask", ...config });
  return { ...tool, log };
}

describe("a question of the newer protocol", () => {
  test("is continued by another process, with the answer and the server's state", async () => {
    const before = new AttemptedCall((await openTool("newer")).executor, ROUNDS);
    await before.ask();
    const { state } = await before.ask({ name: "Io" });
    expect(state).toBeDefined();
    const { executor, log } = await openTool("newer");
    const after = new AttemptedCall(executor, ROUNDS, { ...(state !== undefined && { state }) });
    const again = await after.ask({ name: "Io", sea: "Serenity", depth: "deep" });
    expect([again.question.id, again.state]).toEqual(["depth", state]);
    expect(answersOf(await after.enter({ depth: "3" }))).toEqual([
      { moon: { action: "accept", content: { name: "Io" } } },
      { sea: { action: "accept", content: { sea: "Serenity", depth: 3 } } },
    ]);
    expect(log().filter((line) => line.startsWith("answered"))).toHaveLength(1);
  });

  test("is asked again if the server answers with the same key and another state", async () => {
    const twice = { rounds: [{ moon: MOON }, { moon: MOON }] };
    const { state = "" } = await new AttemptedCall((await openTool("newer")).executor, twice).ask();
    const { executor } = await openTool("newer");
    const after = new AttemptedCall(executor, twice, { state });
    const again = await after.ask({ name: "Io" });
    expect(again.question.id).toBe("name");
    expect(again.state).not.toBe(state);
    expect(answersOf(await after.enter({ name: "Europa" }))).toEqual([
      { moon: { action: "accept", content: { name: "Io" } } },
      { moon: { action: "accept", content: { name: "Europa" } } },
    ]);
  });

  test("is refused if its server may no longer ask it", async () => {
    const allowed = { settings: { allowsSecrets: true } };
    const given = { rounds: [{ login: LOGIN }] };
    const before = await openTool("newer", {}, allowed);
    const { state = "" } = await new AttemptedCall(before.executor, given).ask();
    const { executor } = await openTool("newer");
    const { refusal } = await new AttemptedCall(executor, given, { state }).ask({ password: "x" });
    expect(refusal?.content).toContain("asked for a secret");
  });

  test("is not continued by a server that only knows the older protocol", async () => {
    const { executor: newer } = await openTool("newer");
    const { state = "" } = await new AttemptedCall(newer, ROUNDS).ask();
    const { executor, log } = await openTool("older");
    expect(await new AttemptedCall(executor, ROUNDS, { state }).enter({ name: "Io" })).toEqual({
      type: "error",
      content:
        'The MCP server "test" did not run "ask": it no longer supports the protocol in which it asked.',
    });
    expect(log()).not.toContain("asked moon");
  });

  test.each([
    ["what the server may know of a secret", ROUNDS, { secretAnswers: ["password"] }],
    ["a prompt for a model", { rounds: [{ moon: PROMPT }] }, {}],
    ["a long state", { rounds: [{ moon: { ...MOON, note: "x".repeat(70_000) } }] }, {}],
  ])("is bound to its process instead of recording %s", async (_what, given, left) => {
    const { executor } = await openTool("newer", {}, { settings: { allowsSampling: true } });
    const asked = await new AttemptedCall(executor, given, left).ask();
    expect([asked.isBound, asked.state]).toEqual([true, undefined]);
  });

  const REQUESTS = { server: "test", tool: "ask", requests: { moon: MOON } };

  test.each([
    ["no JSON", "moon"],
    ["no object", "[]"],
    ["of another server", JSON.stringify({ ...REQUESTS, server: "mars" })],
    ["of another tool", JSON.stringify({ ...REQUESTS, tool: "delete" })],
    ["without requests", JSON.stringify({ ...REQUESTS, requests: {} })],
    ["with odd requests", JSON.stringify({ ...REQUESTS, requests: { moon: null } })],
    ["with an odd state", JSON.stringify({ ...REQUESTS, request_state: 7 })],
    ["too long", JSON.stringify({ ...REQUESTS, request_state: "x".repeat(70_000) })],
  ])("with a record that is %s is not sent again unless that is safe", async (_what, state) => {
    const careful = await openTool("newer");
    const result = await new AttemptedCall(careful.executor, ROUNDS, { state }).enter();
    expect(result).toMatchObject({
      type: "error",
      content: expect.stringContaining('The call of "ask" cannot be continued.') as string,
    });
    const harmless = await openTool("newer", { idempotent: true });
    const asked = await new AttemptedCall(harmless.executor, ROUNDS, { state }).ask();
    expect(asked.question.id).toBe("name");
  });
});

test("a call that requires a visit is sent again by another process", async () => {
  const given = { url: "https://moon.example/continued" };
  const config = { source: "mcp.test.visit_first" };
  const before = await openTool("older", config);
  const { state = "" } = await new AttemptedCall(before.executor, given).ask();
  const after = await openTool("older", config);
  expect([
    await new AttemptedCall(after.executor, given, { state }).enter({ open_url: true }),
    await new AttemptedCall(after.executor, given, { state }).enter({ open_url: false }),
  ]).toMatchObject([
    { type: "success", content: "visited" },
    { type: "error", content: expect.stringContaining("declined to visit") as string },
  ]);
});

describe("a turn that waits for the answer to a server's question", () => {
  const LATER: Prompter = {
    channel: "later",
    canAsk: () => true,
    ask: async ({ inquiryId }) => ({ inquiryId, type: "later" }),
  };

  test("goes on in another process, with the newer protocol", async () => {
    const conversation = await leave("newer", LATER);
    const { end, events, prompter } = await resume("newer", conversation, {
      answers: [{ answer: "Io" }],
    });
    expect(end.type).toBe("done");
    expect(prompter.questions.map(({ inquiryId }) => inquiryId)).toEqual(["call_1.name.1"]);
    expect(transcript(events)).toEqual([
      "turn",
      "person: Land.",
      "call_1 calls land",
      "call_1 approved (run)",
      "call_1 starts",
      "call_1.name.1 asks: name",
      "resumed",
      'call_1.name.1 answered: "Io"',
      "call_1 starts",
      'call_1 gives: [{"moon":{"action":"accept","content":{"name":"Io"}}}]',
      "message: Landed.",
    ]);
  });

  test("is in doubt in another process, with the older protocol", async () => {
    const conversation = await leave("older", LATER);
    const { events, log } = await resume("older", conversation, { answers: [{ answer: "skip" }] });
    expect(transcript(events).slice(5)).toEqual([
      "call_1.name.1 asks: name",
      "resumed",
      'call_1.name.1 cancelled: "interrupted"',
      "call_1 waits for permission (rerun)",
      "call_1 denied (rerun)",
      expect.stringMatching(/^call_1 fails: /),
      "message: Landed.",
    ]);
    expect(log()).not.toContain("asked moon");
  });

  test("has cancelled the question on a server of the older protocol", async () => {
    const { servers, log } = inProcessServer("older");
    const { executor } = await createTool(servers, { source: "mcp.test.ask_and_wait" });
    const tools = toolboxOf({ tools: [{ name: "land", executor }] });
    const conversation = await new MemoryConversationStore(new FakeClock()).create({});
    const end = await turnOf({ conversation, tools, prompter: LATER }).run({ content: "Land." });
    expect(end.type).toBe("waiting");
    await untilLogged(log, 'answered {"action":"cancel"}', "cancelled");
  });

  test("can be given up, with nothing left open", async () => {
    const conversation = await leave("newer", LATER);
    const closing = closeTurn(lastTurn(conversation), new FakeClock(), "user");
    expect(transcript(closing)).toEqual([
      'call_1.name.1 cancelled: "user"',
      expect.stringMatching(/^call_1 fails: /),
      "turn discarded",
    ]);
  });
});

async function leave(generation: Generation, prompter: Prompter): Promise<ConversationWriter> {
  const conversation = await new MemoryConversationStore(new FakeClock()).create({});
  const { tools } = await openToolbox(generation);
  const end = await turnOf({ conversation, tools, prompter }).run({ content: "Land." });
  expect(end.type).toBe("waiting");
  return conversation;
}

async function resume(
  generation: Generation,
  conversation: ConversationWriter,
  script: PrompterScript,
) {
  const prompter = new ScriptedPrompter(script);
  const { tools, log } = await openToolbox(generation);
  const end = await turnOf({ conversation, tools, prompter }).resume();
  const events: readonly ConversationEvent[] = [...eventsOf(conversation.stream.entries)];
  return { end, events, prompter, log };
}

async function openToolbox(generation: Generation) {
  const { executor, log } = await openTool(generation);
  return { tools: toolboxOf({ tools: [{ name: "land", executor }] }), log };
}

function turnOf(parts: {
  readonly conversation: ConversationWriter;
  readonly tools: Toolbox;
  readonly prompter: Prompter;
}) {
  const { tools: toolbox, ...others } = parts;
  const isFirst = [...eventsOf(parts.conversation.stream.entries)].length === 0;
  const call = { type: "tool_call", id: "call_1", name: "land" } as const;
  const model = new ScriptedModel({ replies: isFirst ? [[call]] : ["Landed."] });
  return createTurn({ ...others, toolbox, model, clock: new FakeClock() });
}
