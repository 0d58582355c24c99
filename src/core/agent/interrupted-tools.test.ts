import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { ModelTurn, type ModelTurnOptions, settle, until } from "./model-turn.fixture.ts";
import { isAlive } from "../../util/is-alive.fixture.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { counters } from "../../../test/security/threats.ts";
import { settingsOf } from "./tool-turn.fixture.ts";
import { asker, echo, SlowTool } from "./turn-tools.fixture.ts";
import { createLocalExecutor } from "../../reach/executor/index.ts";
import type { InterruptChoice } from "./ports.ts";

const call = (id: string, name: string) => ({ type: "tool_call", id, name }) as const;
const NEVER = new Promise<never>(() => undefined);
const TOLD = "Tool run cancelled by user with a custom message:\n\nRather the other one";

/** A turn in which one call has ended and another runs forever. Then Ctrl-C is pressed. */
async function interrupt(
  choices: readonly InterruptChoice[],
  options: Partial<ModelTurnOptions> = {},
) {
  const slow = new SlowTool();
  const turn = await ModelTurn.create({
    tools: [echo, slow],
    config: { slow: { cancellation_response: "Stopped." } },
    script: { choices },
    replies: [[call("a", "slow"), call("b", "echo")], "Fine"],
    ...options,
  });
  const end = turn.run();
  await until(() => slow.starts === 1 && turn.record.includes("b gives: nothing"));
  turn.press();
  return { turn, slow, end };
}

/** The recorded results. */
function results(turn: ModelTurn): readonly string[] {
  return turn.record.filter((line) => / (gives|fails): /.test(line));
}

describe("tools that a person interrupts", () => {
  test("continue meanwhile, and after the choice to continue", async () => {
    const { turn, slow, end } = await interrupt([{ type: "continue" }]);
    await until(() => turn.prompter.interrupts.length === 1);
    slow.release();
    expect({
      end: await end,
      choices: turn.prompter.interrupts.map(({ choices }) => choices),
      results: results(turn),
      cancellations: slow.cancellations,
    }).toEqual({
      end: { type: "done", reason: "stop" },
      choices: [["continue", "reply", "stop", "restart"]],
      results: ["b gives: nothing", "a gives: slow is done"],
      cancellations: 0,
    });
  });

  test.each([
    ["the person's message", "Rather the other one", TOLD],
    ["the configured response to an empty message", "", "Stopped."],
  ])("end with %s, and the model continues", async (_what, message, content) => {
    const { turn, slow, end } = await interrupt([{ type: "reply", message }]);
    expect({ end: await end, results: results(turn), cancellations: slow.cancellations }).toEqual({
      end: { type: "done", reason: "stop" },
      results: ["b gives: nothing", `a gives: ${content}`],
      cancellations: 1,
    });
    expect(turn.shown[1]?.slice(-2)).toEqual([`a gives: ${content}`, "b gives: nothing"]);
  });

  test.each<[InterruptChoice, string, readonly string[]]>([
    [{ type: "stop" }, "stopped", ["b gives: nothing", "a gives: Stopped."]],
    [{ type: "leave" }, "interrupted", ["b gives: nothing"]],
  ])("end with the turn on %o, and nothing recorded is lost", async (choice, type, given) => {
    const { turn, slow, end } = await interrupt([choice]);
    expect({
      end: await end,
      results: results(turn),
      cancellations: slow.cancellations,
      requests: turn.model.requests.length,
    }).toEqual({
      end: { type },
      results: given,
      cancellations: 1,
      requests: 1,
    });
  });

  test("restart, except those that have ended", async () => {
    const { turn, slow, end } = await interrupt([{ type: "restart" }]);
    await until(() => slow.starts === 2);
    slow.release();
    expect({ end: await end, results: results(turn), cancellations: slow.cancellations }).toEqual({
      end: { type: "done", reason: "stop" },
      results: ["b gives: nothing", "a gives: slow is done"],
      cancellations: 1,
    });
    expect(turn.record.filter((line) => line.includes("approved"))).toHaveLength(2);
  });

  test("can be interrupted again after a restart", async () => {
    const { turn, slow, end } = await interrupt([{ type: "restart" }, { type: "stop" }]);
    await until(() => slow.starts === 2);
    turn.press();
    expect([await end, slow.cancellations, results(turn)]).toEqual([
      { type: "stopped" },
      2,
      ["b gives: nothing", "a gives: Stopped."],
    ]);
  });

  test("end at the second press, or at the first without a menu, which may not be a person's", async () => {
    counters("T-PROV-8");
    const outcomes = [true, false].map(async (hasMenu) => {
      const { turn, slow, end } = await interrupt([], {
        hasMenu,
        script: { choices: () => NEVER },
      });
      if (hasMenu) {
        await until(() => turn.prompter.interrupts.length === 1);
        turn.press();
      }
      return [await end, slow.cancellations, results(turn)];
    });
    expect(await Promise.all(outcomes)).toEqual([
      [{ type: "interrupted" }, 1, ["b gives: nothing"]],
      [{ type: "interrupted" }, 1, ["b gives: nothing"]],
    ]);
  });

  test("close the menu when they end by themselves", async () => {
    const { turn, slow, end } = await interrupt([], { script: { choices: () => NEVER } });
    await until(() => turn.prompter.interrupts.length === 1);
    slow.release();
    expect([await end, turn.prompter.interrupts[0]?.signal.aborted]).toEqual([
      { type: "done", reason: "stop" },
      true,
    ]);
  });

  test("deliver the person's message even if all had ended", async () => {
    const choice = Promise.withResolvers<InterruptChoice>();
    const written = Promise.withResolvers<void>();
    const turn = await ModelTurn.create({
      tools: [echo],
      script: { choices: () => choice.promise },
      beforeAppend: async (events) => {
        if (!events.some(({ type }) => type === "tool_call_response")) return;
        turn.press();
        await until(() => turn.prompter.interrupts.length === 1);
        choice.resolve({ type: "reply", message: "Rather the other one" });
        await written.promise;
      },
      replies: [[call("a", "echo")], "Fine"],
    });
    const end = turn.run();
    await until(() => turn.prompter.interrupts.length === 1);
    await settle();
    written.resolve();
    await end;
    expect(turn.shown[1]?.filter((line) => line.includes("Rather the other one"))).toHaveLength(1);
  });
});

test("no tool process is left when the person leaves", async () => {
  const folder = temporaryFolder();
  const pids = () => readdirSync(folder).map(Number);
  const environment = {
    workspaceRoot: folder,
    workspaceId: "",
    conversationId: "",
    variables: process.env,
  };
  const script = "touch $$; exec sleep 60";
  const settings = settingsOf("sleeper", {
    source: "local",
    command: { program: "sh", args: ["-c", script] },
  });
  const sleeper = { name: "sleeper", executor: createLocalExecutor(settings, environment) };
  const turn = await ModelTurn.create({
    tools: [sleeper],
    hasMenu: false,
    replies: [[call("a", "sleeper"), call("b", "sleeper")]],
  });
  const end = turn.run();
  await until(() => pids().length === 2 && pids().every(isAlive));
  turn.press();
  expect([await end, pids().filter(isAlive), results(turn).length]).toEqual([
    { type: "interrupted" },
    [],
    0,
  ]);
});

test("a tool that asks while the menu is open waits until it closes", async () => {
  const choice = Promise.withResolvers<InterruptChoice>();
  const turn = await ModelTurn.create({
    tools: [asker],
    config: { asker: { cancellation_response: "Stopped." } },
    script: { choices: () => choice.promise },
    beforeAppend: async (events) => {
      if (!events.some(({ type }) => type === "inquiry_request")) return;
      turn.press();
      await until(() => turn.prompter.interrupts.length === 1);
    },
    replies: [[call("a", "asker")]],
  });
  const end = turn.run();
  await turn.saw("event", "inquiry_request");
  await settle();
  choice.resolve({ type: "stop" });
  expect([await end, turn.prompter.questions.length, turn.record.slice(-4)]).toEqual([
    { type: "stopped" },
    0,
    [
      "a.sure.1 asks: Are you sure?",
      'a.sure.1 cancelled: "user"',
      "a gives: Stopped.",
      "turn stopped",
    ],
  ]);
});

describe("a press with an open question", () => {
  test("cancels only that question", async () => {
    verifies(
      "082/cancel/prompt-cancelled-is-user",
      "082/record/non-answer-is-cancelled",
      "082/prompt/cancellation-carries-the-id",
    );
    const turn = await ModelTurn.create({
      tools: [asker],
      script: {
        answers: ({ inquiryId }) => (inquiryId === "a.sure.1" ? NEVER : { answer: true }),
      },
      replies: [[call("a", "asker"), call("b", "asker")], "Fine"],
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    turn.press();
    expect([await end, turn.prompter.interrupts]).toEqual([{ type: "done", reason: "stop" }, []]);
    expect(turn.record.filter((line) => /sure\.|gives/.test(line)).toSorted()).toEqual([
      "a gives: Tool input cancelled by user.",
      "a.sure.1 asks: Are you sure?",
      'a.sure.1 cancelled: "user"',
      "b gives: got true",
      "b.sure.1 answered: true",
      "b.sure.1 asks: Are you sure?",
    ]);
  });
});

test.each([
  ["a question", "inquiry_response", { tools: [asker] }],
  ["a permission", "permission_decision", { tools: [echo], config: { echo: { run: "ask" } } }],
] as const)(
  "a press while an answer is written to the record opens the menu: %s",
  async (_what, type, options) => {
    const turn = await ModelTurn.create({
      ...options,
      script: {
        answers: () => ({ answer: true }),
        permissions: () => ({ type: "run" }),
        choices: [{ type: "continue" }],
      },
      beforeAppend: async (events) => {
        if (events.some((event) => event.type === type)) turn.press();
      },
      replies: [[call("a", options.tools[0].name)], "Fine"],
    });
    expect([await turn.run(), turn.prompter.interrupts.length, results(turn)]).toEqual([
      { type: "done", reason: "stop" },
      1,
      [type === "inquiry_response" ? "a gives: got true" : "a gives: nothing"],
    ]);
  },
);

test("a press with an open delivery prompt withholds only that result", async () => {
  const turn = await ModelTurn.create({
    tools: [echo],
    config: { echo: { result: "ask" } },
    script: { deliveries: () => NEVER },
    replies: [[call("a", "echo")], "Fine"],
  });
  const end = turn.run();
  await until(() => turn.prompter.deliveries.length === 1);
  turn.press();
  expect([await end, results(turn), turn.prompter.interrupts]).toEqual([
    { type: "done", reason: "stop" },
    ["a gives: Result delivery cancelled."],
    [],
  ]);
});

describe("an inquiry model", () => {
  const options = {
    tools: [asker],
    config: {
      asker: { cancellation_response: "Stopped.", questions: { sure: { target: "assistant" } } },
    },
    answers: { "a.sure.1": true, "a.sure.2": false },
    replies: [[call("a", "asker")], "Fine"],
  };

  async function interruptInquiry(choice: InterruptChoice) {
    const turn = await ModelTurn.create({ ...options, script: { choices: [choice] } });
    turn.inquiries.hold("a.sure.1");
    const end = turn.run();
    await until(() => turn.inquiries.calls.length === 1);
    turn.press();
    return { turn, end };
  }

  test("still answers if the person continues", async () => {
    const { turn, end } = await interruptInquiry({ type: "continue" });
    await until(() => turn.prompter.interrupts.length === 1);
    turn.inquiries.release("a.sure.1");
    expect([await end, turn.record.slice(-5)]).toEqual([
      { type: "done", reason: "stop" },
      [
        "a.sure.1 asks: Are you sure?",
        "a.sure.1 answered: true",
        "a starts",
        "a gives: got true",
        "message: Fine",
      ],
    ]);
  });

  test.each<[InterruptChoice, string, string]>([
    [{ type: "reply", message: "Rather the other one" }, TOLD, "done"],
    [{ type: "stop" }, "Stopped.", "stopped"],
  ])("is cancelled at once on an interrupt: %o", async (choice, content, type) => {
    verifies("082/cancel/signal-is-user");
    const { turn, end } = await interruptInquiry(choice);
    expect((await end).type).toBe(type);
    expect(turn.record.slice(5, 8)).toEqual([
      "a.sure.1 asks: Are you sure?",
      'a.sure.1 cancelled: "user"',
      `a gives: ${content}`,
    ]);
  });

  test("is stopped, and its question stays open, if the person leaves", async () => {
    const { turn, end } = await interruptInquiry({ type: "leave" });
    expect([(await end).type, turn.record.slice(5)]).toEqual([
      "interrupted",
      ["a.sure.1 asks: Are you sure?"],
    ]);
  });

  test("is asked again if the tools restart", async () => {
    verifies("082/cancel/signal-is-user", "082/id/asking-again-counts-up");
    const { turn, end } = await interruptInquiry({ type: "restart" });
    await end;
    expect(turn.record.slice(5)).toEqual([
      "a.sure.1 asks: Are you sure?",
      'a.sure.1 cancelled: "user"',
      "a starts",
      "a.sure.2 asks: Are you sure?",
      "a.sure.2 answered: false",
      "a starts",
      "a gives: got false\n\n" +
        '[A secondary assistant (test/scripted), not the user, answered no to "Are you sure?".]',
      "message: Fine",
    ]);
  });
});
