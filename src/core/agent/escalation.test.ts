import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { closed } from "../../record/conversation/events.fixture.ts";
import { pendingOf, readTurnProgress } from "../../record/conversation/index.ts";
import type { InquiryAnswer } from "../answer-model/index.ts";
import type { ScriptedAnswers } from "../../testing/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { ToolCycle } from "./index.ts";
import { until } from "./model-turn.fixture.ts";
import { questioner, StubbornTool } from "./questioner.fixture.ts";
import { ToolTurn, type ToolTurnOptions } from "./tool-turn.fixture.ts";

const MODEL = "test/judge";
const SURE = booleanQuestion("q", "Apply it?", { context: "-old\n+new", default: true });
const NOTE =
  `[A secondary assistant (${MODEL}), not the user, answered no to "Apply it?". ` +
  "Its reason: It drops a table.]";

interface Setting extends Omit<ToolTurnOptions, "tools" | "config"> {
  readonly question?: Question;
  readonly target?: Json;
  readonly detached?: string;
}

/** Tool `x` asks one question, and a model is asked first. */
function start({ question = SURE, target, detached = "auto", ...options }: Setting) {
  return ToolTurn.start({
    answers: says(false),
    ...options,
    tools: [questioner("x", question)],
    config: { x: { questions: { q: { target: target ?? ["assistant", "user"] } }, detached } },
  });
}

function says(answer: Json, reason: string | undefined = "It drops a table."): ScriptedAnswers {
  return (): InquiryAnswer => ({
    type: "answered",
    answer,
    model: MODEL,
    ...(reason !== undefined && { reason }),
  });
}

function ends(turn: ToolTurn): readonly JsonObject[] {
  return turn
    .recorded("inquiry_response")
    .map(
      ({ timestamp: _time, type: _type, id: _id, digest: _digest, ...end }) =>
        end as unknown as JsonObject,
    );
}

async function resume(turn: ToolTurn) {
  const cycle = new ToolCycle(turn.parts, readTurnProgress(turn.events).calls);
  const [response] = await cycle.run();
  return response;
}

const BY_MODEL = { kind: "assistant", model: MODEL };
const BY_PERSON = { kind: "user", channel: "scripted", auth: "program" };

describe("the reason of a model", () => {
  test("is recorded with its answer", async () => {
    verifies("D29/reason/recorded");
    const turn = await start({ target: "assistant", answers: says(true, "It is tested.") });
    await turn.call("x");
    expect(ends(turn)).toEqual([
      { outcome: "answered", answer: true, answerReason: "It is tested.", answeredBy: BY_MODEL },
    ]);
  });

  test("is given to the main model with the tool's own result if it says no", async () => {
    verifies("D29/reason/for-the-main-model");
    const turn = await start({ target: "assistant" });
    expect((await turn.call("x"))?.content).toBe(`[false]\n\n${NOTE}`);
  });

  test("may be missing, and still no one takes the no for the user's", async () => {
    const turn = await start({ target: "assistant", answers: { "call_1.q.1": false } });
    expect((await turn.call("x"))?.content).toBe(
      '[false]\n\n[A secondary assistant (test/scripted), not the user, answered no to "Apply it?".]',
    );
  });

  test("is not mentioned if the answer is yes, or no question of yes or no", async () => {
    const yes = await start({ target: "assistant", answers: says(true) });
    const text = await start({
      target: "assistant",
      question: textQuestion("q", "Which?"),
      answers: says("no"),
    });
    expect([(await yes.call("x"))?.content, (await text.call("x"))?.content]).toEqual([
      "[true]",
      '["no"]',
    ]);
  });

  test("is still known when another process goes on with the call", async () => {
    const turn = await ToolTurn.start({
      tools: [new StubbornTool("x", [SURE, textQuestion("r", "Why?")])],
      config: { x: { questions: { q: { target: "assistant" } }, detached: "defer" } },
      answers: says(false),
      isInteractive: false,
      script: { answers: [{ answer: "because" }] },
    });
    await turn.call("x");
    turn.prompter.isAvailable = true;
    expect((await resume(turn))?.content).toBe(`done\n\n${NOTE}`);
  });
});

describe("a question for a model and then a person", () => {
  test("is the model's if it says yes", async () => {
    const turn = await start({ answers: says(true) });
    await turn.call("x");
    expect([ends(turn), turn.prompter.questions.length]).toMatchObject([
      [{ answer: true, answeredBy: BY_MODEL }],
      0,
    ]);
  });

  test.each([[["assistant", "user"]], ["assistant_with_escalation"], [{ escalation: true }]])(
    "goes to the person if it says no: target %j",
    async (target) => {
      verifies("D29/escalation/to-the-user");
      const turn = await start({ target, script: { answers: [{ answer: true }] } });
      const response = await turn.call("x");
      expect({
        shown: turn.prompter.questions.map(({ question }) => question.context),
        ends: ends(turn),
        result: response?.content,
      }).toEqual({
        shown: [`The assistant (${MODEL}) said no: "It drops a table."\n\n-old\n+new`],
        ends: [{ outcome: "answered", answer: true, answeredBy: BY_PERSON }],
        result: "[true]",
      });
    },
  );

  test("goes to the person if the model cannot answer, with what went wrong", async () => {
    const turn = await start({ answers: {}, script: { answers: [{ answer: false }] } });
    const response = await turn.call("x");
    expect({
      shown: turn.prompter.questions.map(({ question }) => question.context?.split("\n")[0]),
      ends: ends(turn),
      result: response?.content,
    }).toEqual({
      shown: ['The assistant could not answer: "the script has no answer for call_1.q.1"'],
      ends: [{ outcome: "answered", answer: false, answeredBy: BY_PERSON }],
      result: "[false]",
    });
  });

  test("stays the model's if its answer is no yes or no", async () => {
    verifies("D29/escalation/only-booleans");
    const turn = await start({ question: textQuestion("q", "Which?"), answers: says("no") });
    expect((await turn.call("x"))?.content).toBe('["no"]');
  });

  test.each([
    ["exclusive", booleanQuestion("q", "Sure?", { exclusive: true }), true],
    ["secret", secretQuestion("q", "Key?"), "hunter2"],
  ])("never goes to the model if it is %s", async (_, question, answer) => {
    const turn = await start({ question, script: { answers: [{ answer }] } });
    await turn.call("x");
    expect([turn.inquiries.calls.length, turn.prompter.questions.length]).toEqual([0, 1]);
  });

  test.each<[string, object]>([
    ["auto", { answer: false, answerReason: "It drops a table.", answeredBy: BY_MODEL }],
    ["defaults", { answer: true, answeredBy: { kind: "default" } }],
    ["deny", { outcome: "cancelled", reason: "no_prompt_backend" }],
  ])("is settled as `detached` says without a person: %s", async (detached, end) => {
    verifies("D29/escalation/detached");
    const turn = await start({ detached, isInteractive: false });
    await turn.call("x");
    expect([ends(turn), turn.inquiries.calls.length]).toMatchObject([[end], 1]);
  });

  test("tells the main model what the other one said if no one can be asked", async () => {
    const turn = await start({ detached: "deny", isInteractive: false });
    expect((await turn.call("x"))?.content).toMatch(
      /^x cannot run because .*\n\n\[A secondary assistant .* Its reason: It drops a table\.\]$/,
    );
  });

  test("waits for the person under `defer`, who is not asked what the model is asked", async () => {
    const turn = await start({ detached: "defer", isInteractive: false });
    const first = await turn.call("x");
    const waiting = pendingOf(readTurnProgress(turn.events));
    const escalation = {
      answerReason: "It drops a table.",
      answeredBy: { kind: "assistant", model: MODEL },
    };
    expect([first, ends(turn)]).toEqual([undefined, []]);
    expect(waiting).toMatchObject([{ kind: "question", escalation }]);
  });

  test("is not put to the model again by the process that goes on", async () => {
    const script = { answers: [{ answer: true }] };
    const turn = await start({ detached: "defer", isInteractive: false, script });
    await turn.call("x");
    turn.prompter.isAvailable = true;
    const response = await resume(turn);
    expect({
      result: response?.content,
      asked: turn.inquiries.calls.length,
      shown: turn.prompter.questions[0]?.question.context?.split("\n")[0],
      requests: turn.recorded("inquiry_request").length,
    }).toEqual({
      result: "[true]",
      asked: 1,
      shown: `The assistant (${MODEL}) said no: "It drops a table."`,
      requests: 1,
    });
  });

  test("is one question of a form, if others wait for the person too", async () => {
    const source = { source: "tool", name: "x" } as const;
    const turn = await ToolTurn.start({
      tools: [
        {
          name: "x",
          executor: {
            attempt: async ({ answers }) =>
              Object.keys(answers).length === 0
                ? { type: "needs_input", question: SURE, more: [textQuestion("r", "Why?")], source }
                : { type: "success", content: JSON.stringify(answers) },
          },
        },
      ],
      config: { x: { questions: { q: { target: ["assistant", "user"] } } } },
      answers: says(false),
      script: { forms: [[{ answer: true }, { answer: "so" }]] },
    });
    expect((await turn.call("x"))?.content).toBe('{"q":true,"r":"so"}');
  });

  test("is over if someone elsewhere answers it while the model thinks", async () => {
    const turn = await start({});
    turn.inquiries.hold("call_1.q.1");
    const result = turn.call("x");
    await until(() => turn.inquiries.calls.length === 1);
    const elsewhere = { kind: "user", channel: "cli", auth: "os_user" } as const;
    const [request] = turn.recorded("inquiry_request");
    if (request === undefined) throw new Error("Nothing was asked.");
    const event = closed("call_1.q.1", {
      outcome: "answered",
      answer: true,
      answeredBy: elsewhere,
    });
    const { timestamp, subject } = request;
    const answered = { ...event, timestamp, digest: subject?.digest ?? "" };
    await turn.parts.state.waiting.take({ event: answered }, turn.parts);
    expect({
      result: (await result)?.content,
      ends: ends(turn),
      escalations: turn.recorded("inquiry_escalation"),
      prompts: turn.prompter.questions,
    }).toEqual({
      result: "[true]",
      ends: [{ outcome: "answered", answer: true, answeredBy: elsewhere }],
      escalations: [],
      prompts: [],
    });
  });

  test("cannot be upheld in a yes that a forged record claims", async () => {
    const turn = await start({ detached: "defer", isInteractive: false });
    await turn.call("x");
    const [escalation] = turn.recorded("inquiry_escalation");
    if (escalation?.outcome !== "answered") throw new Error("Expected an answer.");
    await turn.conversation.append({ ...escalation, answer: true });
    const config = { x: { questions: { q: { target: ["assistant", "user"] } }, detached: "auto" } };
    const other = await ToolTurn.start({ tools: [questioner("x", SURE)], config });
    turn.parts = { ...turn.parts, tools: other.parts.tools };
    await resume(turn);
    expect(ends(turn)).toMatchObject([{ answer: false, answeredBy: BY_MODEL }]);
  });
});
