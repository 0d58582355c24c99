/** Stopping and restarting tools at every stage of a call. */
import { describe, expect, test } from "vitest";
import type { Journal, TurnUpdate } from "../../src/core/agent/index.ts";
import {
  type PendingItem,
  pendingOf,
  readTurnProgress,
} from "../../src/record/conversation/index.ts";
import { createLocalExecutor } from "../../src/reach/executor/index.ts";
import { booleanQuestion } from "../../src/record/tool/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { counters } from "../security/threats.ts";
import { isAlive } from "../../src/util/is-alive.fixture.ts";
import { until } from "../../src/core/agent/model-turn.fixture.ts";
import { questioner } from "../../src/core/agent/questioner.fixture.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import {
  settingsOf,
  ToolTurn,
  type ToolTurnOptions,
} from "../../src/core/agent/tool-turn.fixture.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import { echo, SlowTool } from "../../src/core/agent/turn-tools.fixture.ts";

/** Nothing is ever answered. */
const SILENT = {
  answers: () => new Promise<never>(() => undefined),
  permissions: () => new Promise<never>(() => undefined),
  deliveries: () => new Promise<never>(() => undefined),
};

const SURE = booleanQuestion("q", "Sure?");
const REJECTED = "No, thank you.";

interface Stage {
  readonly options: Partial<ToolTurnOptions>;
  /** How many calls of the tool there are. The test checks the last one. */
  readonly calls: number;
  readonly hasArrived: (turn: ToolTurn) => boolean;
  /** What is recorded for the last call when it is stopped, besides its response. */
  readonly trace: readonly string[];
  /** What waits for a person if it is interrupted instead. */
  readonly waits: readonly PendingItem["kind"][];
}

const config = (fields: object) => ({ x: { cancellation_response: REJECTED, ...fields } });
const asks = { tools: [questioner("x", SURE)], script: SILENT };

const STAGES: Readonly<Record<string, Stage>> = {
  "asks for permission": {
    options: { config: config({ run: "ask" }) },
    calls: 1,
    hasArrived: ({ prompter }) => prompter.permissions.length === 1,
    trace: ["b waits for permission (run)"],
    waits: ["permission"],
  },
  "waits to ask for permission": {
    options: { config: config({ run: "ask" }) },
    calls: 2,
    hasArrived: (turn) => turn.recorded("permission_request").length === 2,
    trace: ["b waits for permission (run)"],
    waits: ["permission"],
  },
  runs: {
    options: { tools: [new SlowTool("x")] },
    calls: 1,
    hasArrived: (turn) => turn.recorded("attempt_start").length === 1,
    trace: ["b approved (run)", "b starts"],
    waits: ["in_doubt"],
  },
  "asks a person": {
    options: asks,
    calls: 1,
    hasArrived: ({ prompter }) => prompter.questions.length === 1,
    trace: ["b approved (run)", "b starts", "b.q.1 asks: Sure?", 'b.q.1 cancelled: "user"'],
    waits: ["question"],
  },
  "waits to ask a person": {
    options: asks,
    calls: 2,
    hasArrived: (turn) => turn.recorded("inquiry_request").length === 2,
    trace: ["b approved (run)", "b starts", "b.q.1 asks: Sure?", 'b.q.1 cancelled: "user"'],
    waits: ["question"],
  },
  "asks a model": {
    options: {
      ...asks,
      config: config({ questions: { q: { target: "assistant" } } }),
      answers: () => new Promise<never>(() => undefined),
    },
    calls: 1,
    hasArrived: ({ inquiries }) => inquiries.calls.length === 1,
    trace: ["b approved (run)", "b starts", "b.q.1 asks: Sure?", 'b.q.1 cancelled: "user"'],
    waits: ["question"],
  },
  "has a result under review": {
    options: { config: config({ result: "ask" }) },
    calls: 1,
    hasArrived: ({ prompter }) => prompter.deliveries.length === 1,
    trace: ["b approved (run)", "b starts", "b waits for permission (deliver)"],
    waits: ["delivery"],
  },
  "has a result that waits for review": {
    options: { tools: [{ ...echo, name: "x" }], config: config({ result: "ask" }) },
    calls: 2,
    hasArrived: (turn) => turn.recorded("permission_request").length === 2,
    trace: ["b approved (run)", "b starts", "b waits for permission (deliver)"],
    waits: ["delivery"],
  },
};

const stages = Object.entries(STAGES);

async function arriveAt({ options, calls, hasArrived }: Stage) {
  const tools = options.tools ?? [{ ...echo, name: "x" }];
  const turn = await ToolTurn.start({ script: SILENT, config: config({}), ...options, tools });
  const ids = calls === 1 ? ["b"] : ["a", "b"];
  const cycle = await turn.begin(...ids.map((id) => toolCall(id, "x")));
  const responses = cycle.run();
  await until(() => hasArrived(turn));
  return { turn, cycle, responses };
}

function traceOf(turn: ToolTurn): readonly string[] {
  return transcript(turn.events).filter((line) => /^b(\.q\.\d)? (?!calls|gives|fails)/.test(line));
}

describe.each(stages)("a call that is under way (it %s)", (_, stage) => {
  test("is stopped: the model gets the configured response, and nothing stays open", async () => {
    verifies("082/cancel/signal-is-user", "028/backend/cancellation-stops-it");
    const { turn, cycle, responses } = await arriveAt(stage);
    cycle.stop("user");
    const [content, isError] = lastOf(await responses);
    expect({ content, isError, trace: traceOf(turn), problems: problemsOf(turn.events) }).toEqual({
      content: REJECTED,
      isError: false,
      trace: stage.trace,
      problems: [],
    });
  });

  test("is stopped with a message: the model gets the message", async () => {
    const { turn, cycle, responses } = await arriveAt(stage);
    cycle.stop("user", "Use sed.");
    const [content, isError] = lastOf(await responses);
    expect({ content, isError, trace: traceOf(turn), problems: problemsOf(turn.events) }).toEqual({
      content: "Tool run cancelled by user with a custom message:\n\nUse sed.",
      isError: false,
      trace: stage.trace,
      problems: [],
    });
  });

  test("is interrupted: nothing is decided, and what waits for a person stays open", async () => {
    counters("T-PROV-8");
    verifies("028/backend/cancellation-stops-it");
    const { turn, cycle, responses } = await arriveAt(stage);
    cycle.stop("interrupted");
    const ended = await responses;
    const pending = pendingOf(readTurnProgress(turn.events));
    expect({
      ended,
      trace: traceOf(turn),
      waits: pending.flatMap(({ kind, toolCallId }) => (toolCallId === "b" ? [kind] : [])),
    }).toEqual({
      ended: [],
      trace: stage.trace.filter((line) => !line.includes("cancelled")),
      waits: stage.waits,
    });
  });

  test("does not block the next prompt", async () => {
    const { turn, cycle, responses } = await arriveAt(stage);
    cycle.stop("user");
    await responses;
    const { prompts } = turn.parts;
    const isOpen = prompts.cancelOpen();
    using next = await prompts.open(new AbortController().signal);
    expect([isOpen, next?.signal.aborted]).toEqual([false, false]);
  });
});

describe("stopping", () => {
  test("prevents calls that have not started", async () => {
    const slow = new SlowTool("x");
    const turn = await ToolTurn.start({ tools: [slow], config: config({}) });
    const cycle = await turn.begin(toolCall("a", "x"));
    cycle.stop("user");
    expect((await cycle.run()).map(({ content }) => content)).toEqual([REJECTED]);
    expect(slow.starts).toBe(0);
  });

  test("reaches the model with its message even if the tool was not found yet", async () => {
    const turn = await ToolTurn.start({ tools: [] });
    const tools = { ...turn.parts.tools, find: neverFind };
    turn.parts = { ...turn.parts, tools };
    const cycle = await turn.begin(toolCall("a", "remote"));
    const responses = cycle.run();
    cycle.stop("user", "Never mind.");
    expect(await responses).toMatchObject([
      {
        content: "Tool run cancelled by user with a custom message:\n\nNever mind.",
        isError: false,
      },
    ]);
  });

  test("cancels a question that is being recorded, even if the config has an answer", async () => {
    const questions = { q: { answer: true } };
    const turn = await ToolTurn.start({ ...asks, config: config({ questions }) });
    const { journal } = turn.parts;
    const record: Journal["record"] = async (...events) => {
      await journal.record(...events);
      if (events.some(({ type }) => type === "inquiry_request")) cycle.stop("user");
    };
    turn.parts = { ...turn.parts, journal: { ...journal, stream: journal.stream, record } };
    const cycle = await turn.begin(toolCall("b", "x"));
    await cycle.run();
    expect(traceOf(turn)).toEqual([
      "b approved (run)",
      "b starts",
      "b.q.1 asks: Sure?",
      'b.q.1 cancelled: "user"',
    ]);
  });

  test("does not change a call that has ended", async () => {
    const slow = new SlowTool();
    const turn = await ToolTurn.start({ tools: [{ ...echo, name: "x" }, slow] });
    const cycle = await turn.begin(toolCall("a", "x"), toolCall("b", "slow"));
    const responses = cycle.run();
    await until(() => turn.recorded("tool_call_response").length === 1);
    cycle.stop("user", "Enough.");
    cycle.stop("user", "Enough!");
    expect((await responses).map(({ content }) => content)).toEqual([
      "nothing",
      "Tool run cancelled by user with a custom message:\n\nEnough!",
    ]);
  });
});

describe("restarting", () => {
  test("closes open questions to people and models, and asks them again", async () => {
    verifies("082/cancel/signal-is-user", "082/id/asking-again-counts-up");
    for (const where of ["asks a person", "waits to ask a person", "asks a model"]) {
      const { turn, cycle, responses } = await arriveAt(stageOf(where));
      cycle.restart();
      await until(() => turn.recorded("inquiry_request").some(({ id }) => id === "b.q.2"));
      const beforehand = traceOf(turn);
      cycle.stop("user");
      await responses;
      expect({ beforehand, after: traceOf(turn), problems: problemsOf(turn.events) }).toEqual({
        beforehand: [
          "b approved (run)",
          "b starts",
          "b.q.1 asks: Sure?",
          'b.q.1 cancelled: "user"',
          "b starts",
          "b.q.2 asks: Sure?",
        ],
        after: [...beforehand, 'b.q.2 cancelled: "user"'],
        problems: [],
      });
    }
  });

  test("does not affect open permission and delivery prompts", async () => {
    for (const where of ["asks for permission", "has a result under review"]) {
      const stage = stageOf(where);
      const { turn, cycle, responses } = await arriveAt(stage);
      cycle.restart();
      await new Promise(setImmediate);
      expect({
        trace: traceOf(turn),
        asked: turn.prompter.permissions.length + turn.prompter.deliveries.length,
      }).toEqual({ trace: stage.trace, asked: 1 });
      cycle.stop("user");
      await responses;
    }
  });

  test("keeps calls that have ended, and runs the others again with the same permission", async () => {
    const slow = new SlowTool();
    const turn = await ToolTurn.start({
      tools: [slow, echo],
      config: { slow: { run: "ask" } },
      script: { permissions: [{ type: "run", isRemembered: false }] },
    });
    const cycle = await turn.begin(toolCall("a", "echo"), toolCall("b", "slow"));
    const responses = cycle.run();
    await until(() => slow.starts === 1);
    cycle.restart();
    await until(() => slow.starts === 2);
    cycle.restart();
    await until(() => slow.starts === 3);
    slow.release();
    expect((await responses).map(({ content }) => content)).toEqual(["nothing", "slow is done"]);
    expect({
      cancelled: slow.cancellations,
      asked: turn.prompter.permissions.length,
      ended: turn.recorded("tool_call_response").map(({ id }) => id),
    }).toEqual({ cancelled: 2, asked: 1, ended: ["a", "b"] });
  });

  test("repeats questions answered for this call, but not remembered ones", async () => {
    const tool = questioner("x", SURE, booleanQuestion("r", "Really?"), booleanQuestion("s", "S?"));
    const turn = await ToolTurn.start({
      tools: [tool],
      script: {
        answers: ({ inquiryId }) => {
          if (inquiryId === "call_1.s.1") return new Promise<never>(() => undefined);
          return { answer: true, isRemembered: inquiryId.startsWith("call_1.r") };
        },
      },
    });
    const cycle = await turn.begin(toolCall("call_1", "x"));
    const responses = cycle.run();
    await until(() => turn.prompter.questions.length === 3);
    cycle.restart();
    await responses;
    expect(turn.prompter.questions.map(({ inquiryId }) => inquiryId)).toEqual([
      "call_1.q.1",
      "call_1.r.1",
      "call_1.s.1",
      "call_1.q.2",
      "call_1.s.2",
    ]);
  });
});

describe("the processes of local tools", () => {
  /** Prints its process id and that of its child, and never exits. */
  const script = "sleep 1000 & echo $$ $! >&2; wait";
  const settings = settingsOf("x", {
    source: "local",
    command: { program: "sh", args: ["-c", script] },
    cancellation_response: REJECTED,
  });
  const executor = createLocalExecutor(settings, {
    workspaceRoot: process.cwd(),
    workspaceId: "abc12",
    conversationId: "jp-c1",
    variables: process.env,
    limits: { killGraceMs: 200 },
  });

  async function startProcesses(count: number) {
    const pids: number[] = [];
    const observe = (update: TurnUpdate) => {
      if (update.type === "tool_progress") pids.push(...update.message.split(" ").map(Number));
    };
    const turn = await ToolTurn.start({
      tools: [{ name: "x", executor }],
      config: config({}),
      parts: { observer: { observe } },
    });
    const ids = Array.from({ length: count }, (_, index) => `call_${index}`);
    const cycle = await turn.begin(...ids.map((id) => toolCall(id, "x")));
    const responses = cycle.run();
    await until(() => pids.length === 2 * count);
    return { pids, cycle, responses };
  }

  test("have exited, with their children, when a stopped cycle ends", async () => {
    const { pids, cycle, responses } = await startProcesses(3);
    const before = pids.filter(isAlive).length;
    cycle.stop("user", "Enough.");
    const contents = (await responses).map(({ content }) => content);
    expect({ before, after: pids.filter(isAlive), contents }).toEqual({
      before: 6,
      after: [],
      contents: Array.from(
        { length: 3 },
        () => "Tool run cancelled by user with a custom message:\n\nEnough.",
      ),
    });
  });

  test("have exited before they are started again", async () => {
    const { pids, cycle, responses } = await startProcesses(1);
    cycle.restart();
    await until(() => pids.length === 4);
    const alive = pids.map(isAlive);
    cycle.stop("user");
    await responses;
    expect({ alive, after: pids.filter(isAlive) }).toEqual({
      alive: [false, false, true, true],
      after: [],
    });
  });
});

function lastOf(responses: readonly { readonly content: string; readonly isError: boolean }[]) {
  const last = responses.at(-1);
  return [last?.content, last?.isError];
}

function stageOf(name: string): Stage {
  const stage = STAGES[name];
  if (stage === undefined) throw new Error(`unknown stage "${name}"`);
  return stage;
}

/** A tool whose server never starts. */
function neverFind(_name: string, signal: AbortSignal): Promise<undefined> {
  const { promise, reject } = Promise.withResolvers<undefined>();
  signal.addEventListener("abort", () => reject(new Error("aborted")));
  return promise;
}
