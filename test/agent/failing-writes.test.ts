/** If a write to the record fails, at any event, nothing may continue and nothing may hang. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TurnUpdate } from "../../src/core/agent/index.ts";
import { until } from "../../src/core/agent/model-turn.fixture.ts";
import { questioner } from "../../src/core/agent/questioner.fixture.ts";
import {
  settingsOf,
  ToolTurn,
  type ToolTurnOptions,
} from "../../src/core/agent/tool-turn.fixture.ts";
import { losing, SlowTool, WRITE_FAILED } from "../../src/core/agent/turn-tools.fixture.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import { createLocalExecutor } from "../../src/reach/executor/index.ts";
import { failureOf } from "../../src/stores/record-elements.fixture.ts";
import { booleanQuestion, secretQuestion } from "../../src/record/tool/index.ts";
import { isAlive } from "../../src/util/is-alive.fixture.ts";

/** A call of each kind. Together they record every kind of event. */
const CALLS = ["asks", "modest", "configured", "secretive", "local", "asks"].map((name, index) =>
  toolCall(`call_${index}`, name),
);

describe.each([
  ["one write fails", (written: number, lost: number) => written === lost],
  ["all further writes fail", (written: number, lost: number) => written >= lost],
])("%s", (_, isLost) => {
  test("the cycle ends with an error, and leaves no process and no prompt", async () => {
    const unhandled = catchUnhandled();
    const left: unknown[] = [];
    let lost = 0;
    for (let isThrough = false; !isThrough;) {
      lost += 1;
      const pids: number[] = [];
      const turn = await startAll(pids, "sleep 0.05");
      let written = 0;
      turn.parts = {
        ...turn.parts,
        journal: losing(turn.parts.journal, () => isLost((written += 1), lost)),
      };
      const cycle = await turn.begin(...CALLS);
      isThrough = await cycle.run().then(
        () => true,
        (error: unknown) => {
          left.push({ ...(error as typeof WRITE_FAILED), message: (error as Error).message });
          return false;
        },
      );
      left.push(...pids.filter(isAlive), ...openPrompts(turn));
      if (isThrough) left.push(...problemsOf(turn.events));
    }
    await setImmediate();
    const expected = Array.from({ length: lost - 1 }, () => expect.objectContaining(WRITE_FAILED));
    expect({ left, unhandled }).toEqual({ left: expected, unhandled: [] });
    // Decisions, questions, their ends, results: each call has some of them.
    expect(lost).toBeGreaterThan(20);
  });

  test("open prompts and inquiries of other calls end, too", async () => {
    const unhandled = catchUnhandled();
    const pids: number[] = [];
    const slow = new SlowTool();
    const turn = await startAll(pids, "sleep 1000", {
      tools: [slow],
      script: { answers: () => new Promise<never>(() => undefined) },
      answers: () => new Promise<never>(() => undefined),
    });
    let written = 0;
    turn.parts = {
      ...turn.parts,
      journal: losing(turn.parts.journal, (event) => {
        if (written === 0 && !("id" in event && event.id === "call_slow")) return false;
        written += 1;
        return isLost(written, 1);
      }),
    };
    const cycle = await turn.begin(...CALLS, toolCall("call_slow", "slow"));
    const ended = failureOf(cycle.run());
    await until(
      () =>
        pids.length === 1 &&
        turn.prompter.questions.length === 1 &&
        turn.inquiries.calls.length === 1 &&
        slow.starts === 1,
    );
    const before = openPrompts(turn).length;
    slow.release();
    expect(await ended).toEqual(WRITE_FAILED);
    await setImmediate();
    expect({ before, after: openPrompts(turn), alive: pids.filter(isAlive), unhandled }).toEqual({
      before: 2,
      after: [],
      alive: [],
      unhandled: [],
    });
  });
});

test("a write that fails while the model still streams rejects `run`, and no tool runs", async () => {
  const unhandled = catchUnhandled();
  const slow = new SlowTool();
  const turn = await ToolTurn.start({ tools: [slow] });
  turn.parts = { ...turn.parts, journal: losing(turn.parts.journal, () => true) };
  const cycle = await turn.begin(toolCall("a", "slow"), toolCall("b", "slow"));
  await setImmediate();
  expect(await failureOf(cycle.run())).toEqual(WRITE_FAILED);
  expect([slow.starts, unhandled]).toEqual([0, []]);
});

test("a question whose request cannot be recorded is not asked", async () => {
  const turn = await ToolTurn.start({
    tools: [questioner("asks", booleanQuestion("q", "?"))],
    script: { answers: [{ answer: true }] },
  });
  const journal = losing(turn.parts.journal, ({ type }) => type === "inquiry_request");
  turn.parts = { ...turn.parts, journal };
  expect(await failureOf(turn.call("asks"))).toEqual(WRITE_FAILED);
  expect(turn.prompter.questions).toEqual([]);
});

test("an answer that cannot be recorded neither reaches the tool nor is remembered", async () => {
  const entered: unknown[] = [];
  const tool = questioner("asks", booleanQuestion("q", "?"));
  const turn = await ToolTurn.start({
    tools: [{ ...tool, execute: (call) => (entered.push(call.answers), tool.execute(call)) }],
    script: { answers: [{ answer: true, isRemembered: true }] },
  });
  const journal = losing(turn.parts.journal, ({ type }) => type === "inquiry_response");
  turn.parts = { ...turn.parts, journal };
  expect(await failureOf(turn.call("asks"))).toEqual(WRITE_FAILED);
  const [request] = turn.recorded("inquiry_request");
  expect([entered, request && turn.parts.state.find("asks", request)]).toEqual([[{}], undefined]);
});

/** Tools of every kind, with a person and a model that answer after a delay. */
async function startAll(
  pids: number[],
  command: string,
  { tools = [], ...options }: Partial<ToolTurnOptions> = {},
): Promise<ToolTurn> {
  const question = booleanQuestion("q", "Sure?");
  const asking = ["asks", "modest", "configured"].map((name) => questioner(name, question));
  const observe = (update: TurnUpdate) => {
    if (update.type === "tool_progress") pids.push(Number(update.message));
  };
  return ToolTurn.start({
    tools: [
      ...asking,
      questioner("secretive", secretQuestion("q", "Password?")),
      { name: "local", executor: localTool(command) },
      ...tools,
    ],
    config: {
      asks: { run: "ask", result: "ask" },
      modest: { questions: { q: { target: "assistant" } } },
      configured: { questions: { q: { answer: true } }, result: "skip" },
    },
    script: {
      permissions: () => ({ type: "run", isRemembered: false }),
      answers: async ({ question: { answerType } }) => {
        await setImmediate();
        return { answer: answerType.type === "secret" ? "hunter2" : true };
      },
      deliveries: () => ({ type: "deliver" }),
      ...options.script,
    },
    answers: options.answers ?? answerSoon,
    parts: { observer: { observe } },
  });
}

async function answerSoon() {
  await setImmediate();
  return { type: "answered" as const, answer: true, model: "test/model" };
}

function localTool(command: string) {
  const settings = settingsOf("local", {
    source: "local",
    command: { program: "sh", args: ["-c", `echo $$ >&2; exec ${command}`] },
  });
  return createLocalExecutor(settings, {
    workspaceRoot: process.cwd(),
    workspaceId: "abc12",
    conversationId: "jp-c1",
    variables: process.env,
  });
}

/** The prompts and inquiries that are still open. */
function openPrompts({ prompter, inquiries, events }: ToolTurn): readonly string[] {
  const closed = new Set(
    events.flatMap((event) => (event.type === "inquiry_response" ? [event.id] : [])),
  );
  return [...prompter.questions, ...inquiries.calls]
    .filter(({ inquiryId, signal }) => !signal.aborted && !closed.has(inquiryId))
    .map(({ inquiryId }) => inquiryId);
}

function catchUnhandled(): readonly unknown[] {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  onTestFinished(() => void process.off("unhandledRejection", onUnhandled));
  return unhandled;
}
