import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { questioner, StubbornTool } from "./questioner.fixture.ts";
import { ToolTurn } from "./tool-turn.fixture.ts";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import type { AttemptRequest, AttemptResult } from "../../reach/executor/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";
import type { TurnUpdate } from "./ports.ts";

const ASK_A = textQuestion("a", "A?");
const ASK_B = textQuestion("b", "B?");

const KEEPS_ASKING =
  `The tool 'x' keeps asking the same question ("A?") although it was answered. Do not retry this ` +
  "tool call in this turn.";

/** A tool that asks the planned questions, whatever the answers. */
async function insist(
  plan: readonly Question[],
  config: Readonly<Record<string, { answer?: Json; target?: string }>>,
  given: readonly Json[] = [],
) {
  const tool = new StubbornTool("x", plan);
  const turn = await ToolTurn.start({
    tools: [tool],
    config: { x: { questions: config } },
    script: { answers: given.map((answer) => ({ answer })) },
    answers: ({ inquiryId }) => ({ type: "answered", answer: inquiryId, model: "test/model" }),
  });
  const response = await turn.call("x");
  const { attempts } = tool;
  const ends = turn
    .recorded("inquiry_response")
    .map((event) => [event.id, event.outcome === "cancelled" ? event.reason : event.outcome]);
  return { turn, attempts, ends, content: response?.content, isError: response?.isError };
}

describe("the answers of an attempt", () => {
  test("contain everything answered so far, under the question ids", async () => {
    verifies(
      "082/answers/keyed-by-question-id",
      "082/answers/tool-sees-no-attempt",
      "028/inquiry/answers-accumulate",
      "028/inquiry/tool-reentered-with-the-answer",
      "028/inquiry/one-response-per-call",
      "028/goal/arguments-sent-once",
      "005/record/one-pair-per-question",
    );
    const requests: AttemptRequest[] = [];
    const plan = [ASK_A, ASK_B, secretQuestion("__proto__", "C?")];
    const executor = {
      attempt: async (request: AttemptRequest) => {
        const question = plan[requests.push(request) - 1];
        if (question === undefined) return { type: "success" as const, content: "done" };
        const source = { source: "tool" as const, name: "x" };
        return { type: "needs_input" as const, question, source };
      },
    };
    const answers = ["1", "2", "3"].map((answer) => ({ answer }));
    const turn = await ToolTurn.start({ tools: [{ name: "x", executor }], script: { answers } });
    await turn.call("x", { path: "a/b" });
    expect(requests.map(({ idempotencyKey: _key, ...request }) => JSON.stringify(request))).toEqual(
      [
        attempt({ answers: {}, secretAnswers: [] }),
        attempt({ answers: { a: "1" }, secretAnswers: [] }),
        attempt({ answers: { a: "1", b: "2" }, secretAnswers: [] }),
        attempt({
          answers: { a: "1", b: "2", ["__proto__"]: "3" },
          secretAnswers: ["__proto__"],
        }),
      ].map((request) => JSON.stringify(request)),
    );
    const order = turn.events.flatMap((event) =>
      "id" in event ? [`${event.type} ${event.id}`] : [],
    );
    expect(order).toEqual([
      "tool_call_request call_1",
      "inquiry_request call_1.a.1",
      "inquiry_response call_1.a.1",
      "inquiry_request call_1.b.1",
      "inquiry_response call_1.b.1",
      "inquiry_request call_1.__proto__.1",
      "inquiry_response call_1.__proto__.1",
      "tool_call_response call_1",
    ]);
  });

  test("contain the latest answer to a repeated question, while the record keeps all", async () => {
    verifies(
      "082/answers/latest-wins",
      "082/answers/record-keeps-every-attempt",
      "082/id/asking-again-counts-up",
    );
    const { turn, attempts } = await insist([ASK_A, ASK_A, ASK_A], {}, ["1", "2", "3"]);
    expect(attempts).toEqual([{}, { a: "1" }, { a: "2" }, { a: "3" }]);
    expect(turn.recorded("inquiry_response")).toMatchObject([
      { id: "call_1.a.1", answer: "1" },
      { id: "call_1.a.2", answer: "2" },
      { id: "call_1.a.3", answer: "3" },
    ]);
  });

  test("belong to one call: the tool's next call starts without answers", async () => {
    const tool = new StubbornTool("x", [ASK_A]);
    const turn = await ToolTurn.start({ tools: [tool], script: { answers: [{ answer: "1" }] } });
    await turn.run(toolCall("call_1", "x"));
    await turn.run(toolCall("call_2", "x"));
    expect(tool.attempts).toEqual([{}, { a: "1" }, {}]);
  });
});

describe("a configured answer", () => {
  test("reaches the tool only after it has asked, on the next attempt", async () => {
    verifies(
      "082/configured/not-given-on-the-first-attempt",
      "082/configured/given-on-the-next-attempt",
      "082/configured/one-extra-attempt-per-answer",
    );
    const config = { a: { answer: "1" }, b: { answer: "2" }, c: { answer: "never asked" } };
    const { turn, attempts } = await insist([ASK_A, ASK_B], config);
    expect({
      attempts,
      prompts: turn.prompter.questions.length,
      inquiries: turn.inquiries.calls.length,
    }).toEqual({
      attempts: [{}, { a: "1" }, { a: "1", b: "2" }],
      prompts: 0,
      inquiries: 0,
    });
  });

  test("is used by a tool that asks once and continues", async () => {
    verifies("082/configured/two-step-tools-unaffected");
    const tools = [questioner("x", ASK_A)];
    const typed = await ToolTurn.start({ tools, script: { answers: [{ answer: "1" }] } });
    const config = { x: { questions: { a: { answer: "1" } } } };
    const configured = await ToolTurn.start({ tools, config });
    expect(await configured.call("x")).toEqual(await typed.call("x"));
  });
});

describe("a tool that ignores its answer", () => {
  const four = [ASK_A, ASK_A, ASK_A, ASK_A];
  const exhausted = [
    ["call_1.a.1", "answered"],
    ["call_1.a.2", "answered"],
    ["call_1.a.3", "answered"],
    ["call_1.a.4", "attempts_exhausted"],
  ];

  test.each([
    ["the config", { a: { answer: "1" } }],
    ["a model", { a: { target: "assistant" } }],
  ])("ends in an error after three automatic answers: %s", async (_, config) => {
    verifies("082/record/configured-answer");
    const { ends, attempts, content, isError } = await insist(four, config);
    expect({ ends, attempts: attempts.length, content, isError }).toEqual({
      ends: exhausted,
      attempts: 4,
      content: KEEPS_ASKING,
      isError: true,
    });
  });

  test("is answered three times from memory and then ends in an error", async () => {
    const tool = new StubbornTool("x", [...four, ...four]);
    const answers = [{ answer: "1", isRemembered: true }];
    const turn = await ToolTurn.start({ tools: [tool], script: { answers } });
    const response = await turn.call("x");
    const kinds = turn
      .recorded("inquiry_response")
      .map((event) => ("answeredBy" in event ? event.answeredBy?.kind : event.outcome));
    expect({ kinds, content: response?.content }).toEqual({
      kinds: ["user", "remembered", "remembered", "remembered", "cancelled"],
      content: KEEPS_ASKING,
    });
  });

  test("is counted per question, so that other questions may come in between", async () => {
    const plan = [ASK_A, ASK_B, ASK_A, ASK_B, ASK_A, ASK_B, ASK_A];
    const { ends } = await insist(plan, { a: { answer: "1" }, b: { answer: "2" } });
    expect(ends.map(([id]) => id)).toEqual([
      "call_1.a.1",
      "call_1.b.1",
      "call_1.a.2",
      "call_1.b.2",
      "call_1.a.3",
      "call_1.b.3",
      "call_1.a.4",
    ]);
    expect(ends.at(-1)).toEqual(["call_1.a.4", "attempts_exhausted"]);
  });

  test("may continue as long as a person answers", async () => {
    const plan = Array.from({ length: 10 }, () => ASK_A);
    const given = plan.map((_, index) => `${index}`);
    const { ends, content } = await insist(plan, {}, given);
    expect([ends.length, content]).toEqual([10, "done"]);
  });

  test("starts over after an answer from a person", async () => {
    const tool = new StubbornTool(
      "x",
      Array.from({ length: 9 }, () => booleanQuestion("a", "A?")),
    );
    const turn = await ToolTurn.start({
      tools: [tool],
      isInteractive: false,
      answers: () => {
        // A person becomes available after the model's second answer, and leaves again.
        turn.prompter.isAvailable = turn.inquiries.calls.length === 2;
        return { type: "answered", answer: true, model: "test/model" };
      },
      script: {
        answers: () => {
          turn.prompter.isAvailable = false;
          return { answer: true };
        },
      },
    });
    await turn.call("x");
    const kinds = turn
      .recorded("inquiry_response")
      .map((event) => ("answeredBy" in event ? event.answeredBy?.kind : event.outcome));
    expect(kinds).toEqual([
      "assistant",
      "assistant",
      "user",
      "assistant",
      "assistant",
      "assistant",
      "cancelled",
    ]);
  });

  test("is counted per call", async () => {
    const tool = new StubbornTool("x", [ASK_A, ASK_A]);
    const config = { x: { questions: { a: { answer: "1" } } } };
    const turn = await ToolTurn.start({ tools: [tool], config });
    const contents = [];
    for (const id of ["call_1", "call_1", "call_2"]) {
      tool.attempts.length = 0;
      contents.push(...(await turn.run(toolCall(id, "x"))).map(({ content }) => content));
    }
    expect(contents).toEqual(["done", "done", "done"]);
  });
});

test("progress is reported for its call and not recorded", async () => {
  const updates: TurnUpdate[] = [];
  const executor = {
    attempt: async ({ onProgress }: AttemptRequest) => {
      onProgress?.("half way");
      return { type: "success" as const, content: "done" };
    },
  };
  const turn = await ToolTurn.start({
    tools: [{ name: "x", executor }],
    parts: { observer: { observe: (update) => updates.push(update) } },
  });
  await turn.call("x");
  expect(updates.filter(({ type }) => type !== "event")).toEqual([
    { type: "tool_progress", toolCallId: "call_1", tool: "x", message: "half way" },
  ]);
  expect(JSON.stringify(turn.events)).not.toContain("half way");
});

test("a tool that reports itself as cancelled is not an error", async () => {
  const executor = { attempt: async () => ({ type: "cancelled" as const }) };
  const turn = await ToolTurn.start({ tools: [{ name: "x", executor }] });
  expect(await turn.call("x")).toMatchObject({
    content: "Tool execution cancelled.",
    isError: false,
  });
});

test("a tool's error reaches the model unchanged, and no event says whether it is transient", async () => {
  verifies("082/cancel/transient-flag-not-recorded");
  const outcome = { type: "error" as const, message: "busy", trace: ["why"], transient: true };
  const tool = { ...questioner("x"), execute: async () => outcome };
  const turn = await ToolTurn.start({ tools: [tool] });
  expect(await turn.call("x")).toMatchObject({ content: "busy\n\nTrace:\nwhy", isError: true });
  expect(JSON.stringify(turn.events)).not.toContain("transient");
});

test("a withdrawn question is closed as interrupted, and the tool runs again", async () => {
  const withdrawn = new AbortController();
  const results: AttemptResult[] = [
    {
      type: "needs_input",
      question: textQuestion("q", "Still there?"),
      source: { source: "tool", name: "x" },
      closed: withdrawn.signal,
    },
    { type: "success", content: "I went on without you" },
  ];
  const executor = {
    attempt: async () => results.shift() ?? { type: "error" as const, content: "once too often" },
  };
  const turn = await ToolTurn.start({
    tools: [{ name: "x", executor }],
    script: {
      answers: () => {
        withdrawn.abort();
        return new Promise<never>(() => {});
      },
    },
  });
  expect(await turn.call("x")).toMatchObject({ content: "I went on without you", isError: false });
  expect(turn.recorded("inquiry_response")).toMatchObject([
    { id: "call_1.q.1", outcome: "cancelled", reason: "interrupted" },
  ]);
});

describe("a prompt for a model", () => {
  const prompt = { messages: [{ role: "user", text: "Name a moon." }], maxTokens: 9 } as const;
  const question = textQuestion("sampling", "Go on?", { persistence: "none" });

  /** Asks a given number of times, and returns how the last answer came about. */
  async function askModel(times: number, config = {}) {
    const requests: AttemptRequest[] = [];
    const executor = {
      attempt: async (request: AttemptRequest): Promise<AttemptResult> => {
        if (requests.push(request) > times) {
          return { type: "success", content: JSON.stringify([request.answers, request.replies]) };
        }
        const source = { source: "tool", name: "x" } as const;
        return {
          type: "needs_input",
          question,
          source,
          prompts: new Map([[question.id, prompt]]),
        };
      },
    };
    const turn = await ToolTurn.start({
      tools: [{ name: "x", executor }],
      config: { x: config },
      answers: () => ({ type: "answered", answer: "Io", model: "test/m", isCutOff: true }),
    });
    return { turn, response: await turn.call("x") };
  }

  test("reaches the model without the conversation, and the tool learns how the reply ended", async () => {
    const { turn, response } = await askModel(1);
    expect(turn.inquiries.calls).toMatchObject([
      { prompt, stream: { baseConfig: {}, entries: [] }, target: { assistant: {} } },
    ]);
    expect(JSON.parse(response?.content ?? "")).toEqual([
      { sampling: "Io" },
      { sampling: { model: "test/m", isCutOff: true } },
    ]);
  });

  test("is new every time and does not count as a repeated question", async () => {
    const { turn, response } = await askModel(5);
    expect([response?.isError, turn.inquiries.calls.length]).toEqual([false, 5]);
  });

  test("gets no model reply if the config answers it", async () => {
    const { turn, response } = await askModel(1, { questions: { sampling: { answer: "Europa" } } });
    expect([response?.content, turn.inquiries.calls]).toEqual(['[{"sampling":"Europa"},null]', []]);
  });
});

test("refused questions are recorded and end the call", async () => {
  let unanswered = 0;
  const executor = {
    attempt: async (): Promise<AttemptResult> => ({
      type: "needs_input",
      question: ASK_A,
      more: [secretQuestion("pin", "PIN?")],
      source: { source: "tool", name: "x" },
      refusal: { reason: "no_prompt_backend", content: "It asked for a secret." },
      onUnanswered: () => (unanswered += 1),
    }),
  };
  const turn = await ToolTurn.start({ tools: [{ name: "x", executor }], script: {} });
  const response = await turn.call("x");
  expect([response?.content, response?.isError, unanswered, turn.prompter.questions]).toEqual([
    "It asked for a secret.",
    true,
    1,
    [],
  ]);
  expect(transcript(turn.events).slice(4, -1)).toEqual([
    "call_1.a.1 asks: A?",
    "call_1.pin.1 asks: PIN?",
    'call_1.a.1 cancelled: "no_prompt_backend"',
    'call_1.pin.1 cancelled: "no_prompt_backend"',
  ]);
});

/** The request to an executor, as JSON. */
function attempt(given: { readonly answers: object; readonly secretAnswers: readonly string[] }) {
  const call = { call: {}, toolCallId: "call_1", arguments: { path: "a/b" } };
  const personAnswers = Object.keys(given.answers); // A person gave all of them.
  const byPerson = personAnswers.length > 0 && { personAnswers };
  return { ...call, ...given, notes: {}, ...byPerson, signal: {} };
}
