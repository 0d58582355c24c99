import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import {
  readTurnProgress,
  type Timestamp,
  timestampFromDate,
} from "../../record/conversation/index.ts";
import { FakeClock, holdPrompt, type ScriptedAnswer } from "../../testing/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import type { Clock, JsonObject } from "../../util/index.ts";
import { Deadline, isTimedOut } from "./deadline.ts";
import { type PromptRequest, ToolCycle } from "./index.ts";
import { until } from "./model-turn.fixture.ts";
import { questioner } from "./questioner.fixture.ts";
import { ToolTurn, type ToolTurnOptions } from "./tool-turn.fixture.ts";

const HOUR = 3600_000;
const SURE = booleanQuestion("q", "Sure?", { default: true });
const TOO_LATE =
  "The tool 'x' needed an answer, and there was none before the deadline. The user did not reject the " +
  "call. Do not retry it in this turn; continue without it or explain what is missing.";

interface Setting extends Omit<ToolTurnOptions, "tools" | "config"> {
  readonly questions?: readonly Question[];
  /** Of the question `q`. */
  readonly config: JsonObject;
  readonly detached?: string;
}

/** Tool `x` asks one question after the other. */
function start({ questions = [SURE], config, detached = "auto", ...options }: Setting) {
  return ToolTurn.start({
    ...options,
    tools: [questioner("x", ...questions)],
    config: { x: { questions: { q: config }, detached } },
  });
}

/** The person leaves a question open until its deadline passes. */
async function neverAnswer(setting: Omit<Setting, "script">) {
  const held = holdPrompt<PromptRequest, ScriptedAnswer>();
  const turn = await start({ ...setting, script: { answers: [held.reply] } });
  const response = turn.call("x");
  const { signal } = await held.opened;
  turn.clock.advance(2 * HOUR);
  return { turn, response: await response, isClosed: signal.aborted };
}

/** Goes on from the record, as another process does. */
async function resume(turn: ToolTurn) {
  const cycle = new ToolCycle(turn.parts, readTurnProgress(turn.events).calls);
  const [response] = await cycle.run();
  return response;
}

function endsOf(turn: ToolTurn) {
  return turn
    .recorded("inquiry_response")
    .map(({ timestamp: _time, type: _type, id: _id, digest: _digest, ...end }) => end);
}

const TIMED_OUT = [{ outcome: "cancelled", reason: "timed_out" }];
const BY_DEFAULT = [{ outcome: "answered", answer: true, answeredBy: { kind: "default" } }];

describe("a question with a deadline", () => {
  test("records the time at which it stops waiting", async () => {
    const turn = await start({
      config: { deadline: "2h" },
      script: { answers: [{ answer: true }] },
    });
    await turn.call("x");
    expect(turn.recorded("inquiry_request").map(({ deadline }) => deadline)).toEqual([
      "2026-01-02 05:04:05.678",
    ]);
  });

  test("leaves no timer behind when it is answered in time", async () => {
    const turn = await start({
      config: { deadline: "2h" },
      script: { answers: [{ answer: true }] },
    });
    await turn.call("x");
    expect(turn.clock.sleepers).toBe(0);
  });

  test("closes its prompt when the time is up, and silence is not an answer", async () => {
    const { turn, response, isClosed } = await neverAnswer({ config: { deadline: "2h" } });
    expect({
      isClosed,
      ends: endsOf(turn),
      result: [response?.content, response?.isError],
    }).toEqual({ isClosed: true, ends: TIMED_OUT, result: [TOO_LATE, true] });
  });

  test("takes its default when the time is up, if the config says so", async () => {
    const config = { deadline: "2h", on_timeout: "default" };
    const { turn, response } = await neverAnswer({ config });
    expect([endsOf(turn), response?.content]).toEqual([BY_DEFAULT, "[true]"]);
  });

  test.each([
    ["it has none", booleanQuestion("q", "Sure?")],
    ["its own does not fit", { ...booleanQuestion("q", "Sure?"), default: "yes" }],
    ["it asks for a secret", { ...secretQuestion("q", "Key?"), default: "hunter2" }],
  ])("takes no default if %s", async (_, question) => {
    const config = { deadline: "2h", on_timeout: "default" };
    const { turn } = await neverAnswer({ questions: [question], config });
    expect(endsOf(turn)).toEqual(TIMED_OUT);
  });

  test("does not wait for the prompts before it once the time is up", async () => {
    const held = holdPrompt<PromptRequest, ScriptedAnswer>();
    const turn = await ToolTurn.start({
      tools: [questioner("slow", textQuestion("a", "?")), questioner("x", SURE)],
      config: { x: { questions: { q: { deadline: "1h" } } } },
      script: { answers: [held.reply] },
    });
    const running = (await turn.begin(toolCall("c1", "slow"), toolCall("c2", "x"))).run();
    await held.opened;
    turn.clock.advance(HOUR);
    await until(() => endsOf(turn).length === 1);
    expect(endsOf(turn)).toEqual(TIMED_OUT);
    held.answer({ answer: "done" });
    await running;
  });

  test("of a form is settled alone, and the others are asked again", async () => {
    const held = holdPrompt<unknown, readonly ScriptedAnswer[]>();
    const other = textQuestion("other", "Which?");
    const source = { source: "tool", name: "x" } as const;
    const turn = await ToolTurn.start({
      tools: [
        {
          name: "x",
          executor: {
            attempt: async ({ answers }) =>
              Object.keys(answers).length === 0
                ? { type: "needs_input", question: SURE, more: [other], source }
                : { type: "success", content: JSON.stringify(answers) },
          },
        },
      ],
      config: { x: { questions: { q: { deadline: "1h", on_timeout: "default" } } } },
      script: { forms: [held.reply], answers: () => ({ answer: "this" }) },
    });
    const response = turn.call("x");
    await held.opened;
    turn.clock.advance(HOUR);
    expect((await response)?.content).toBe('{"q":true,"other":"this"}');
  });
});

describe("a model with a deadline", () => {
  test("is not waited for: the call fails", async () => {
    const turn = await start({ config: { target: "assistant", deadline: "1m" } });
    turn.inquiries.hold("call_1.q.1");
    const response = turn.call("x");
    await until(() => turn.inquiries.calls.length === 1);
    turn.clock.advance(60_000);
    expect([(await response)?.content, endsOf(turn)]).toEqual([TOO_LATE, TIMED_OUT]);
  });

  test("can be followed by a person, who has all the time in the world", async () => {
    const turn = await start({
      config: { target: "assistant", deadline: "1m", on_timeout: "escalate" },
      script: { answers: [{ answer: false }] },
    });
    turn.inquiries.hold("call_1.q.1");
    const response = turn.call("x");
    await until(() => turn.inquiries.calls.length === 1);
    turn.clock.advance(60_000);
    await response;
    const [escalation] = turn.recorded("inquiry_escalation");
    expect({
      escalation,
      shown: turn.prompter.questions.map(({ question }) => question.context),
      ends: endsOf(turn),
    }).toMatchObject({
      escalation: { outcome: "cancelled", reason: "timed_out" },
      shown: ["The assistant did not answer in time."],
      ends: [{ answer: false, answeredBy: { kind: "user", channel: "scripted", auth: "program" } }],
    });
    expect(escalation).not.toHaveProperty("deadline");
  });
});

describe("a question that was left open", () => {
  const deferred = { isInteractive: false, detached: "defer" } as const;

  test("is asked again before its deadline, which stays the same", async () => {
    const turn = await start({
      ...deferred,
      config: { deadline: "2h" },
      script: { answers: [{ answer: true }] },
    });
    const first = await turn.call("x");
    turn.clock.advance(HOUR);
    turn.prompter.isAvailable = true;
    expect([first, (await resume(turn))?.content]).toEqual([undefined, "[true]"]);
    expect(turn.recorded("inquiry_request")).toHaveLength(1);
  });

  test.each<[string, JsonObject, object]>([
    ["refused", { deadline: "2h" }, TIMED_OUT],
    ["answered with its default", { deadline: "2h", on_timeout: "default" }, BY_DEFAULT],
    ["refused, for there was no model", { deadline: "2h", on_timeout: "escalate" }, TIMED_OUT],
  ])(
    "is %s when the turn goes on after its deadline, and no one is asked",
    async (_, config, ends) => {
      const turn = await start({ ...deferred, config });
      await turn.call("x");
      turn.clock.advance(3 * HOUR);
      turn.prompter.isAvailable = true;
      const response = await resume(turn);
      expect([endsOf(turn), turn.prompter.questions.length]).toEqual([ends, 0]);
      expect(response).toBeDefined();
    },
  );
});

describe("a clock", () => {
  const at = "2026-01-02 04:00:00.0" as Timestamp;
  const since = "2026-01-02 03:00:00.0" as Timestamp;

  /** Time passes as `time` says; the clock shows another. */
  class WrongClock implements Clock {
    readonly time = new FakeClock("2026-01-02T03:00:00Z");
    offset = 0;

    now(): Date {
      return new Date(this.time.now().getTime() + this.offset);
    }

    sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
      return this.time.sleep(milliseconds, signal);
    }

    /** In small steps, so that whoever waits can look at the clock between them. */
    async pass(milliseconds: number): Promise<void> {
      for (let passed = 0; passed < milliseconds; passed += 10_000) {
        this.time.advance(10_000);
        await setImmediate();
      }
    }
  }

  test("that is set back does not keep a question open", async () => {
    const clock = new WrongClock();
    const { signal } = new Deadline(clock, at, since);
    clock.offset = -24 * HOUR;
    await clock.pass(HOUR - 10_000);
    const wasOpen = !signal.aborted;
    await clock.pass(10_000);
    expect([wasOpen, isTimedOut(signal), timestampFromDate(clock.now())]).toEqual([
      true,
      true,
      "2026-01-01 04:00:00.0",
    ]);
  });

  test("that is set forward, as after the machine slept, ends it soon", async () => {
    const clock = new WrongClock();
    const { signal } = new Deadline(clock, at, since);
    clock.offset = 2 * HOUR;
    await clock.pass(30_000);
    expect(signal.aborted).toBe(true);
  });

  test("that is set forward to shortly before the deadline ends it on time", async () => {
    const clock = new WrongClock();
    const { signal } = new Deadline(clock, at, since);
    clock.offset = HOUR - 40_000;
    await clock.pass(40_000);
    expect(signal.aborted).toBe(true);
  });

  test("that was set back before the turn goes on gives no more time than at first", async () => {
    const clock = new WrongClock();
    clock.offset = -24 * HOUR;
    const { signal } = new Deadline(clock, at, since);
    await clock.pass(HOUR);
    expect(signal.aborted).toBe(true);
  });

  test("beyond the deadline ends it at once", () => {
    const clock = new FakeClock("2026-01-02T05:00:00Z");
    expect([new Deadline(clock, at, since).signal.aborted, clock.sleepers]).toEqual([true, 0]);
  });
});
