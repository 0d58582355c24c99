import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { type NamedExecutor, ToolTurn, type ToolTurnOptions } from "./tool-turn.fixture.ts";
import { type CallLimits, DEFAULT_LIMITS } from "../../settings/config/index.ts";
import { defineTool, type Question, textQuestion } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { TurnState } from "./memory.ts";

const EXHAUSTED = { outcome: "cancelled", reason: "attempts_exhausted" };

/** Asks forever, each time with a new id. */
function asksForEver(): NamedExecutor {
  let count = 0;
  const source = { source: "tool", name: "x" } as const;
  return {
    name: "x",
    executor: {
      attempt: async ({ signal }) => {
        if (signal.aborted) return { type: "cancelled" };
        count += 1;
        const question = textQuestion(`q${count}`, "And now?", { default: "go on" });
        return { type: "needs_input", question, source };
      },
    },
  };
}

function start(limits: Partial<CallLimits>, options: Partial<ToolTurnOptions> = {}) {
  const parts = { limits: { ...DEFAULT_LIMITS, ...limits } };
  return ToolTurn.start({ tools: [asksForEver()], isInteractive: false, parts, ...options });
}

function countOf(turn: ToolTurn, outcome: string): number {
  return turn.recorded("inquiry_response").filter((event) => event.outcome === outcome).length;
}

describe("a tool that asks forever, each time with a new id", () => {
  test.each<[string, JsonObject, Partial<ToolTurnOptions>]>([
    ["a model", {}, { answers: () => ({ type: "answered", answer: "go on", model: "test/m" }) }],
    ["defaults", { detached: "defaults" }, {}],
  ])("is stopped after enough automatic answers: %s", async (_who, config, options) => {
    counters("T-RUN-5");
    const turn = await start({ automaticAnswersPerCall: 7 }, { ...options, config: { x: config } });
    const response = await turn.call("x");
    expect([response?.isError, response?.content, countOf(turn, "answered")]).toEqual([
      true,
      "The tool 'x' asks too often without a person answering: " +
        "conversation.limits.automatic_answers_per_call is reached. Do not retry this tool call in " +
        "this turn.",
      7,
    ]);
    expect(turn.recorded("inquiry_response").at(-1)).toMatchObject(EXHAUSTED);
  });

  test("is also stopped by the default limits", async () => {
    counters("T-RUN-5");
    const turn = await start({}, { config: { x: { detached: "defaults" } } });
    await turn.call("x");
    expect(countOf(turn, "answered")).toBe(DEFAULT_LIMITS.automaticAnswersPerCall);
  });

  test("shares one limit among all calls of a turn, even if the turn is resumed", async () => {
    counters("T-RUN-5");
    const limits = { automaticAnswersPerCall: 4, automaticAnswersPerTurn: 10 };
    const turn = await start(limits, { config: { x: { detached: "defaults" } } });
    await turn.run(toolCall("a", "x"), toolCall("b", "x"));
    turn.parts = { ...turn.parts, state: TurnState.fromEvents(turn.events) };
    const [third] = await turn.run(toolCall("c", "x"));
    expect([countOf(turn, "answered"), third?.content]).toEqual([
      10,
      expect.stringContaining("conversation.limits.automatic_answers_per_turn is reached"),
    ]);
    await turn.nextTurn();
    await turn.run(toolCall("d", "x"));
    expect(countOf(turn, "answered")).toBe(14);
  });

  test("continues as long as a person answers", async () => {
    let left = 60;
    const answers = () => (left-- > 0 ? { answer: "go on" } : ({ isCancelled: true } as const));
    const limits = { automaticAnswersPerCall: 0, automaticAnswersPerTurn: 0 };
    const turn = await start(limits, { isInteractive: true, script: { answers } });
    await turn.call("x");
    expect([countOf(turn, "answered"), turn.recorded("inquiry_response").at(-1)]).toEqual([
      60,
      expect.objectContaining({ reason: "user" }),
    ]);
  });
});

test("each question of a form counts", async () => {
  counters("T-RUN-5");
  const questions = Array.from({ length: 5 }, (_, index) =>
    textQuestion(`q${index}`, "And now?", { default: "go on" }),
  );
  const turn = await start(
    { automaticAnswersPerCall: 3 },
    { tools: [asksTogether(questions)], config: { x: { detached: "defaults" } } },
  );
  expect([(await turn.call("x"))?.isError, countOf(turn, "answered")]).toEqual([true, 3]);
  expect(turn.recorded("inquiry_request")).toHaveLength(5);
  expect(turn.recorded("inquiry_response")).toHaveLength(5);
});

test("a tool that keeps withdrawing its questions is stopped, too", async () => {
  counters("T-RUN-5");
  let unanswered = 0;
  const tool: NamedExecutor = {
    name: "x",
    executor: {
      attempt: async () => ({
        type: "needs_input",
        question: textQuestion("q", "And now?"),
        source: { source: "tool", name: "x" },
        closed: AbortSignal.abort(),
        onUnanswered: () => (unanswered += 1),
      }),
    },
  };
  const turn = await start({ automaticAnswersPerCall: 3 }, { tools: [tool] });
  const response = await turn.call("x");
  expect([response?.content, unanswered]).toEqual([
    expect.stringContaining("automatic_answers_per_call is reached"),
    1,
  ]);
  expect(turn.recorded("inquiry_request")).toHaveLength(4);
});

describe("the bytes that a call may record", () => {
  const LIMIT = 10_000;

  test("limit its result, which says that it was truncated", async () => {
    counters("T-RUN-6");
    const run = () => "é".repeat(LIMIT);
    const tool = defineTool({ name: "x", description: "", parameters: { type: "object" }, run });
    const turn = await start({ recordBytesPerCall: LIMIT }, { tools: [tool] });
    const content = (await turn.call("x"))?.content ?? "";
    expect(content).toMatch(/^é{5000}\n\[Truncated: 10000 of 20000 bytes omitted\.\]$/);
  });

  test("exclude a question that is too large: it is neither asked nor recorded, and the call fails", async () => {
    counters("T-RUN-6");
    const question = textQuestion("q", "Name?", { context: "x".repeat(LIMIT) });
    const turn = await start(
      { recordBytesPerCall: LIMIT },
      { tools: [asksTogether([question])], isInteractive: true },
    );
    const response = await turn.call("x");
    expect([response?.isError, response?.content, turn.prompter.questions]).toEqual([
      true,
      "The tool 'x' was stopped: its questions are larger than " +
        "conversation.limits.record_bytes_per_call allows. The last one was neither asked nor " +
        "recorded. Do not retry this tool call in this turn.",
      [],
    ]);
    expect(turn.recorded("inquiry_request")).toEqual([]);
  });

  test("include questions and answers, whoever answers", async () => {
    counters("T-RUN-6");
    const turn = await start(
      { recordBytesPerCall: LIMIT },
      { isInteractive: true, script: { answers: () => ({ answer: "y".repeat(1000) }) } },
    );
    const response = await turn.call("x");
    const { length } = JSON.stringify(turn.events);
    expect([response?.isError, countOf(turn, "answered") > 5, length < LIMIT * 2]).toEqual([
      true,
      true,
      true,
    ]);
  });

  test("always leave room to say what happened", async () => {
    const turn = await start(
      { recordBytesPerCall: 1100 },
      {
        tools: [asksTogether([textQuestion("q", "Name?")])],
        isInteractive: true,
        script: { answers: () => ({ answer: "y".repeat(2000) }) },
      },
    );
    expect((await turn.call("x"))?.content).toBe("thank you");
  });
});

/** Asks everything at once, and then ends. */
function asksTogether([question, ...more]: readonly Question[]): NamedExecutor {
  return {
    name: "x",
    executor: {
      attempt: async ({ answers }) =>
        question === undefined || question.id in answers
          ? { type: "success", content: "thank you" }
          : { type: "needs_input", question, more, source: { source: "tool", name: "x" } },
    },
  };
}
