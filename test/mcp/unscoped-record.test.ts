/** Questions outside of a call are refused and recorded. */
import { expect, test } from "vitest";
import { Turn } from "../../src/core/agent/index.ts";
import { eventsOf } from "../../src/record/conversation/index.ts";
import { type RefusedQuestions, toRefusedQuestions } from "../../src/reach/executor/index.ts";
import type { UnscopedQuestion } from "../../src/reach/mcp/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedInquiryBackend,
  ScriptedModel,
  ScriptedPrompter,
  type ScriptedStep,
} from "../../src/testing/index.ts";
import { REQUEST_LIMITS } from "../../src/core/agent/model-turn.fixture.ts";
import { toolboxOf } from "../../src/core/agent/tool-turn.fixture.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import { createTool } from "./attempted-call.ts";
import { call, inProcessServer, until, untilLogged } from "./support.ts";

test("a question outside of a call is recorded as asked by the server", async () => {
  const scene = await start("ask_later");
  const { events } = await scene.run(() => [
    { type: "wait", until: untilLogged(scene.log, 'answered {"action":"cancel"}') },
    { type: "text", text: "Done." },
  ]);
  expect(transcript(events)).toEqual([
    "turn",
    "person: Hello",
    "call_1 calls land",
    "call_1 approved (run)",
    "call_1 starts",
    "call_1 gives: later",
    "mcp.test.name.1 asks: name",
    'mcp.test.name.1 cancelled: "no_prompt_backend"',
    "message: Done.",
  ]);
  expect(events.find(({ type }) => type === "inquiry_request")).toEqual({
    type: "inquiry_request",
    timestamp: expect.anything(),
    id: "mcp.test.name.1",
    source: { source: "tool", name: "mcp.test" },
    questionId: "name",
    question: {
      text: "name",
      context: "Which moon?\n\nYou may leave it empty.",
      answerType: { type: "text" },
      exclusive: false,
      persistence: "turn",
    },
  });
});

test("a question of a cancelled call is recorded as asked by its tool", async () => {
  const scene = await start("ask_when_cancelled", 10);
  const running = scene.run(() => [
    { type: "wait", until: untilLogged(scene.log, 'answered {"action":"cancel"}') },
    { type: "text", text: "Done." },
  ]);
  await until(() => scene.log().includes("waiting"));
  scene.clock.advance(10_000);
  const { events } = await running;
  expect(transcript(events).slice(5)).toEqual([
    'call_1 fails: The MCP server "test" did not run "ask_when_cancelled" within 10 s. It was cancelled. The limit is conversation.tools.land.timeout_secs.',
    "land.name.1 asks: name",
    'land.name.1 cancelled: "interrupted"',
    "message: Done.",
  ]);
  expect(events.find(({ type }) => type === "inquiry_request")).toMatchObject({
    source: { source: "tool", name: "land" },
  });
});

test("questions whose call is unknown are recorded as asked by the server", async () => {
  const scene = await start("ask");
  const two = ["call_1", "call_2"].map((id) => ({ type: "tool_call" as const, id, name: "land" }));
  const { events } = await scene.run(() => "Done.", two);
  const cancelled = 'gives: [{"moon":{"action":"cancel"}}]';
  expect(transcript(events).toSorted()).toEqual(
    [
      "turn",
      "person: Hello",
      "call_1 calls land",
      "call_2 calls land",
      "call_1 approved (run)",
      "call_2 approved (run)",
      "call_1 starts",
      "call_2 starts",
      "mcp.test.name.1 asks: name",
      "mcp.test.name.2 asks: name",
      'mcp.test.name.1 cancelled: "no_prompt_backend"',
      'mcp.test.name.2 cancelled: "no_prompt_backend"',
      `call_1 ${cancelled}`,
      `call_2 ${cancelled}`,
      "message: Done.",
    ].toSorted(),
  );
});

test("a question between two turns is refused and not recorded", async () => {
  const scene = await start("ask_later");
  const { events } = await scene.run(() => "Done.");
  await untilLogged(scene.log, 'answered {"action":"cancel"}');
  await call(await scene.get(), "pid"); // Anything that follows has happened by then.
  expect([scene.unscoped.map(({ message }) => message), scene.recorded()]).toEqual([
    ["Which moon?"],
    events,
  ]);
});

/** A turn whose model calls the tool `land`, and the server behind it. */
async function start(tool: string, timeoutSeconds = 0) {
  const clock = new FakeClock();
  const unscoped: UnscopedQuestion[] = [];
  const listeners = new Set<(refused: RefusedQuestions) => void>();
  const onUnscopedQuestion = (question: UnscopedQuestion) => {
    unscoped.push(question);
    for (const notify of listeners) notify(toRefusedQuestions(question));
  };
  const { servers, get, log } = inProcessServer("older", {
    context: { clock, onUnscopedQuestion },
  });
  const config = { source: `mcp.test.${tool}`, timeout_secs: timeoutSeconds };
  const { executor } = await createTool(servers, config, "land");
  const conversation = await new MemoryConversationStore(clock).create({});
  const recorded = () => [...eventsOf(conversation.stream.entries)];
  const land = [{ type: "tool_call", id: "call_1", name: "land" }] as const;
  const run = async (
    last: () => string | readonly ScriptedStep[],
    calls: readonly ScriptedStep[] = land,
  ) => {
    const turn = new Turn({
      conversation,
      model: new ScriptedModel({ replies: (_, index) => (index === 0 ? calls : last()) }),
      assistant: {
        sections: [],
        parameters: { other: {} },
        toolChoice: "auto",
        cache: "off",
        request: REQUEST_LIMITS,
      },
      tools: {
        ...toolboxOf({ tools: [{ name: "land", executor }] }),
        onUnscopedQuestions: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      prompter: new ScriptedPrompter(),
      inquiries: new ScriptedInquiryBackend({}),
      clock,
      maxCycles: 10,
    });
    await turn.run({ content: "Hello" });
    return { events: recorded() };
  };
  return { run, recorded, unscoped, get, log, clock };
}
