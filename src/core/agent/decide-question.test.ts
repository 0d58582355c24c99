import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { counters } from "../../../test/security/threats.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import {
  digestQuestion,
  type InquiryId,
  timestampFromDate,
} from "../../record/conversation/index.ts";
import type { InquiryFailure } from "../answer-model/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { TurnUpdate } from "./ports.ts";
import { prompterThat, questioner } from "./questioner.fixture.ts";
import { ToolTurn, type ToolTurnOptions, undigested } from "./tool-turn.fixture.ts";

const SURE = booleanQuestion("q", "Sure?");

const NO_TERMINAL =
  "x cannot run because no user is available to answer. Do not retry this tool call in this " +
  "turn; continue without user input or explain what information is missing.";
const NEEDS_HUMAN =
  "x requires a human answer and cannot be routed to the assistant. Do not retry this tool call " +
  "in this turn.";
const MISFIT =
  "x: the configured conversation.tools.x.questions.q.answer value does not match the question's " +
  "answer_type. Update the configuration; do not retry.";

interface Setting extends Omit<ToolTurnOptions, "tools" | "config"> {
  readonly question?: Question;
  /** Of the question. */
  readonly config?: JsonObject;
  readonly detached?: JsonObject | string;
}

/** Tool `x` asks one question, `q`. */
async function ask(setting: Setting) {
  const { question = SURE, config = {}, detached = {}, ...options } = setting;
  const turn = await ToolTurn.start({
    ...options,
    tools: [questioner("x", question)],
    config: { x: { questions: { q: config }, detached } },
  });
  const response = await turn.call("x");
  return { turn, response };
}

/** Everything about a question without an answer. */
async function failureOf(setting: Setting) {
  const { turn, response } = await ask(setting);
  return {
    requests: turn.recorded("inquiry_request").map(({ id }) => id),
    responses: responsesOf(turn),
    result: [response?.content, response?.isError],
    asked: [turn.prompter.questions.length, turn.inquiries.calls.length],
  };
}

function responsesOf(turn: ToolTurn) {
  return turn.recorded("inquiry_response").map(undigested);
}

const cancelledBy = (reason: string, problem?: string) => [
  {
    type: "inquiry_response",
    id: "call_1.q.1",
    outcome: "cancelled",
    reason,
    ...(problem !== undefined && { problem }),
  },
];

const secondary = (problem: string) =>
  `The tool 'x' asked a follow-up question ("Sure?") that was routed to a secondary assistant for ` +
  "resolution, but the secondary assistant failed to provide a valid answer. " +
  `Error: ${problem}. You may retry the tool call or end the turn.`;

describe("a person who is asked", () => {
  test.each(["interrupted", "later"] as const)(
    "leaves the question open by not answering: the prompt ends with `%s`",
    async (type) => {
      counters("T-PROV-8");
      const prompter = prompterThat(async ({ inquiryId }) => ({ type, inquiryId }));
      expect(await failureOf({ parts: { prompter } })).toMatchObject({
        requests: ["call_1.q.1"],
        responses: [],
        result: [undefined, undefined],
      });
    },
  );

  test("ends the call with the reason `user` by cancelling", async () => {
    verifies(
      "082/cancel/prompt-cancelled-is-user",
      "082/prompt/cancellation-carries-the-id",
      "082/record/non-answer-is-cancelled",
      "082/record/tool-response-not-changed-by-cancelling",
    );
    expect(await failureOf({ script: { answers: [{ isCancelled: true }] } })).toEqual({
      requests: ["call_1.q.1"],
      responses: cancelledBy("user"),
      result: ["Tool input cancelled by user.", false],
      asked: [1, 0],
    });
  });

  test("cannot be shown the question: the call fails, and the model learns why", async () => {
    verifies("082/record/non-answer-is-cancelled");
    const script = { answers: () => Promise.reject(new Error("the terminal is gone")) };
    expect(await failureOf({ script })).toEqual({
      requests: ["call_1.q.1"],
      responses: cancelledBy("backend_error", "the terminal is gone"),
      result: ["Question prompt failed: the terminal is gone", true],
      asked: [1, 0],
    });
  });

  test.each([
    ["yes or no", SURE, "yes", "expected true or false, got string"],
    ["a text", textQuestion("q", "?"), 5, "expected text, got number"],
    [
      "a choice",
      selectQuestion("q", "?", { options: ["a", "b"] }),
      "c",
      'expected one of "a", "b"',
    ],
    ["a secret", secretQuestion("q", "?"), ["hunter2"], "expected text, got array"],
  ])(
    "fails the call if the prompt returns another type: %s",
    async (_, question, answer, problem) => {
      expect(await failureOf({ question, script: { answers: [{ answer }] } })).toEqual({
        requests: ["call_1.q.1"],
        responses: cancelledBy("backend_error", problem),
        result: [`Question prompt failed: ${problem}`, true],
        asked: [1, 0],
      });
    },
  );

  test.each(["answered", "cancelled"] as const)(
    "does not affect this question by answering another: %s",
    async (type) => {
      verifies("082/prompt/answer-carries-the-id");
      const prompter = prompterThat(async () => {
        const inquiryId = "call_2.q.1" as InquiryId;
        return type === "answered"
          ? { type, inquiryId, answer: true, isRemembered: true }
          : { type, inquiryId };
      });
      const { turn, response } = await ask({ parts: { prompter } });
      expect(turn.recorded("inquiry_response")).toMatchObject(cancelledBy("backend_error"));
      expect(response).toMatchObject({
        content: "Question prompt failed: the answer is for another question",
        isError: true,
      });
      expect(turn.remembered("x")).toBeUndefined();
    },
  );
});

test("a question is recorded, shown and answered with the digest of what it is about", async () => {
  const script = { answers: [{ answer: true }] };
  const turn = await ToolTurn.start({ tools: [questioner("x", SURE)], script });
  await turn.call("x", { path: "a" });
  const { id: _id, ...asked } = SURE;
  const source = { source: "tool", name: "x" } as const;
  const origin = { type: "builtin" } as const;
  const subject = digestQuestion(
    {
      conversation: turn.conversation.id,
      toolCallId: "call_1",
      tool: "x",
      source: { origin },
      arguments: { path: "a" },
    },
    { question: asked },
  );
  const timestamp = timestampFromDate(turn.clock.now());
  expect([...turn.recorded("inquiry_request"), ...turn.recorded("inquiry_response")]).toEqual([
    {
      type: "inquiry_request",
      timestamp,
      id: "call_1.q.1",
      source,
      question: asked,
      toolCallId: "call_1",
      questionId: "q",
      takes: { turn: { code: "question" } },
      subject,
      origin,
    },
    {
      type: "inquiry_response",
      timestamp,
      id: "call_1.q.1",
      digest: subject.digest,
      outcome: "answered",
      answer: true,
      answeredBy: { kind: "user", channel: "scripted", auth: "program" },
    },
  ]);
  expect(turn.prompter.questions).toEqual([
    {
      kind: "question",
      inquiryId: "call_1.q.1",
      conversation: turn.conversation.id,
      toolCallId: "call_1",
      tool: "x",
      origin,
      arguments: { path: "a" },
      source,
      label: "x",
      signal: expect.any(AbortSignal),
      allowsLater: false,
      acts: false,
      digest: subject.digest,
      question: SURE,
      questionId: "q",
      canRemember: true,
    },
  ]);
});

describe("config that says whether a question is exclusive", () => {
  const answers = { "call_1.q.1": true };
  const exclusive = booleanQuestion("q", "Sure?", { exclusive: true });

  test("lets a model answer a question that the tool reserved for a person, and the record says so", async () => {
    const config = { exclusive: false };
    for (const more of [{ isInteractive: false }, { config: { ...config, target: "assistant" } }]) {
      const { turn } = await ask({ question: exclusive, config, answers, ...more });
      expect(turn.recorded("inquiry_request")).toMatchObject([{ question: { exclusive: false } }]);
      expect(responsesOf(turn)).toMatchObject([
        { answer: true, answeredBy: { kind: "assistant" } },
      ]);
    }
  });

  test("still asks a person who is available, and the question still acts", async () => {
    const script = { answers: [{ answer: false }] };
    const { turn } = await ask({ question: exclusive, config: { exclusive: false }, script });
    expect(turn.prompter.questions).toMatchObject([
      { question: { exclusive: false, acts: true }, acts: true },
    ]);
    expect(responsesOf(turn)).toMatchObject([{ answer: false, answeredBy: { kind: "user" } }]);
  });

  test("reserves any question for a person", async () => {
    const config = { exclusive: true };
    const away = { isInteractive: false, config, answers };
    expect(await failureOf(away)).toEqual({
      requests: ["call_1.q.1"],
      responses: cancelledBy("no_prompt_backend"),
      result: [NO_TERMINAL, true],
      asked: [0, 0],
    });
    expect(await failureOf({ config: { ...config, target: "assistant" }, answers })).toEqual({
      requests: ["call_1.q.1"],
      responses: cancelledBy("assistant_routing_denied"),
      result: [NEEDS_HUMAN, true],
      asked: [0, 0],
    });
    const { turn } = await ask(away);
    expect(turn.recorded("inquiry_request")).toMatchObject([{ question: { exclusive: true } }]);
  });

  test("never asks a model for a secret", async () => {
    const question = secretQuestion("q", "Key?");
    const config = { exclusive: false };
    const { asked } = await failureOf({ question, config, answers, isInteractive: false });
    expect(asked).toEqual([0, 0]);
  });
});

describe("a model that is asked", () => {
  const config = { target: "assistant" };

  test.each<InquiryFailure>(["provider", "missing_data", "invalid_answer", "other"])(
    "ends the call with an error if it fails: %s",
    async (kind) => {
      verifies(
        "082/cancel/provider-failure-is-backend-error",
        "082/cancel/missing-structured-data-is-backend-error",
        "082/cancel/unusable-answer-is-backend-error",
        "082/cancel/any-other-failure-is-backend-error",
        "082/cancel/says-nothing-about-retrying",
        "082/cancel/retry-advice-only-in-the-tool-response",
        "028/coordinator/failure-ends-the-call-with-an-error",
      );
      const answers = () => ({ type: "failed" as const, kind, message: "503 from above" });
      expect(await failureOf({ config, answers })).toEqual({
        requests: ["call_1.q.1"],
        responses: cancelledBy("backend_error", "503 from above"),
        result: [secondary("503 from above"), true],
        asked: [0, 1],
      });
    },
  );

  test("leaves the question open if it is cancelled without the user", async () => {
    expect(await failureOf({ config, answers: () => ({ type: "cancelled" }) })).toEqual({
      requests: ["call_1.q.1"],
      responses: [],
      result: [undefined, undefined],
      asked: [0, 1],
    });
  });

  test("fails the call by returning another type", async () => {
    verifies("082/cancel/unusable-answer-is-backend-error", "028/goal/answers-are-typed");
    expect(await failureOf({ config, answers: { "call_1.q.1": "true" } })).toEqual({
      requests: ["call_1.q.1"],
      responses: cancelledBy("backend_error", "expected true or false, got string"),
      result: [secondary("expected true or false, got string"), true],
      asked: [0, 1],
    });
  });

  test("leaves no open question in the record by throwing, against its contract", async () => {
    verifies("082/record/non-answer-is-cancelled");
    const setting = { config, answers: () => Promise.reject(new Error("a bug")) };
    expect(await failureOf(setting)).toEqual({
      requests: ["call_1.q.1"],
      responses: cancelledBy("backend_error", "a bug"),
      result: [secondary("a bug"), true],
      asked: [0, 1],
    });
  });

  test("tells the observer what happens, with the question and its tool", async () => {
    const updates: TurnUpdate[] = [];
    await ask({
      config,
      answers: ({ observe }) => {
        observe?.({ type: "queued", model: "test/small" });
        observe?.({ type: "asked", model: "test/small" });
        return { type: "answered", answer: true, model: "test/small" };
      },
      parts: { observer: { observe: (update) => void updates.push(update) } },
    });
    const told = updates.filter(({ type }) => type === "inquiry_update");
    const own = {
      type: "inquiry_update",
      inquiryId: "call_1.q.1",
      toolCallId: "call_1",
      tool: "x",
    };
    expect(told).toEqual([
      { ...own, update: { type: "queued", model: "test/small" } },
      { ...own, update: { type: "asked", model: "test/small" } },
    ]);
  });

  test("gets the question, the call and the conversation so far", async () => {
    verifies(
      "028/backend/is-a-port",
      "028/backend/inputs",
      "028/backend/double-answers-by-inquiry-id",
      "028/inquiry/started-by-assistant-target",
      "028/snapshot/reflects-the-moment-of-asking",
      "005/record/request-when-the-inquiry-starts",
    );
    const target = { model: { id: { provider: "test", name: "small" } } };
    const seen: string[][] = [];
    const { turn } = await ask({
      config: { target },
      answers: ({ stream }) => {
        seen.push(stream.entries.map(({ eventType = "none" }) => eventType));
        return { type: "answered", answer: true, model: "test/small" };
      },
    });
    expect(turn.inquiries.calls).toMatchObject([
      {
        inquiryId: "call_1.q.1",
        toolCallId: "call_1",
        toolName: "x",
        question: SURE,
        target: { type: "assistant", assistant: target },
        signal: expect.any(AbortSignal),
      },
    ]);
    const beforehand = ["turn_start", "tool_call_request", "permission_decision", "attempt_start"];
    expect(seen).toEqual([[...beforehand, "inquiry_request"]]);
    expect(turn.events.map(({ type }) => type)).toEqual([
      ...beforehand,
      "inquiry_request",
      "inquiry_response",
      "attempt_start",
      "tool_call_response",
    ]);
  });
});

test.each([
  ["no question is asked", questioner("x"), 0],
  ["a person is asked", questioner("x", textQuestion("p", "?")), 0],
  ["a model is asked once", questioner("x", textQuestion("p", "?"), SURE), 1],
])("the conversation is read only for a model: %s", async (_, tool, expected) => {
  verifies("028/snapshot/copied-only-when-asked");
  const turn = await ToolTurn.start({
    tools: [tool],
    config: { x: { questions: { q: { target: "assistant" } } } },
    script: { answers: () => ({ answer: "typed" }) },
    answers: { "call_1.q.1": true },
  });
  let reads = 0;
  turn.parts = { ...turn.parts, view: (stream) => ((reads += 1), stream) };
  const response = await turn.call("x");
  expect({ reads, isError: response?.isError }).toEqual({ reads: expected, isError: false });
});

describe("a question that cannot be routed as configured", () => {
  const forPeople: readonly (readonly [string, Question])[] = [
    ["secret", secretQuestion("q", "?")],
    ["exclusive", booleanQuestion("q", "?", { exclusive: true, default: true })],
    ["exclusive text", textQuestion("q", "?", { exclusive: true, persistence: "none" })],
  ];
  const refused = { responses: cancelledBy("no_prompt_backend"), result: [NO_TERMINAL, true] };

  test.each(forPeople)(
    "is refused in a non-interactive run, whatever `detached` says: %s",
    async (_, question) => {
      verifies(
        "082/secret/nobody-there-is-refused",
        "083/exclusive/nobody-there-fails-the-call",
        "083/exclusive/nobody-there-recorded",
        "083/exclusive/nobody-there-error-text",
      );
      for (const detached of ["auto", "defaults", "deny"]) {
        const failure = await failureOf({ question, detached, isInteractive: false });
        expect(failure).toEqual({ requests: ["call_1.q.1"], ...refused, asked: [0, 0] });
      }
    },
  );

  test.each(forPeople)(
    "is refused with target `assistant`, whether a person is available or not: %s",
    async (_, question) => {
      verifies(
        "082/secret/assistant-target-is-refused",
        "083/exclusive/assistant-target-fails-the-call",
        "083/exclusive/assistant-target-recorded",
        "083/exclusive/assistant-target-error-text",
      );
      for (const isInteractive of [true, false]) {
        const config = { target: "assistant" };
        expect(await failureOf({ question, config, isInteractive })).toEqual({
          requests: ["call_1.q.1"],
          responses: cancelledBy("assistant_routing_denied"),
          result: [NEEDS_HUMAN, true],
          asked: [0, 0],
        });
      }
    },
  );

  test.each([
    ["yes or no", SURE, "yes"],
    ["secret", secretQuestion("q", "?"), { token: "hunter2" }],
    ["choice", selectQuestion("q", "?", { options: ["a"] }), "b"],
  ])("is refused with a configured answer of another type: %s", async (_, question, answer) => {
    verifies(
      "083/configured/misfit-fails-the-call",
      "083/configured/misfit-recorded",
      "083/configured/error-names-the-setting",
      "083/configured/checked-before-the-tool-can-complain",
    );
    expect(await failureOf({ question, config: { answer } })).toEqual({
      requests: ["call_1.q.1"],
      responses: cancelledBy("invalid_static_answer"),
      result: [MISFIT, true],
      asked: [0, 0],
    });
  });

  test("is refused in a non-interactive run without a default, whatever its type", async () => {
    const detached = { tool: "defaults" };
    const misfit = { ...booleanQuestion("q", "?"), default: "yes" };
    const failures = [
      await failureOf({ detached, isInteractive: false }),
      await failureOf({ detached, isInteractive: false, question: misfit }),
      await failureOf({ detached: { tool: "deny" }, isInteractive: false }),
    ];
    const expected = { requests: ["call_1.q.1"], ...refused, asked: [0, 0] };
    expect(failures).toEqual([expected, expected, expected]);
  });
});

describe("an answer", () => {
  test.each<[string, Setting, JsonObject]>([
    [
      "a person",
      { script: { answers: [{ answer: true }] } },
      { answer: true, answeredBy: { kind: "user", channel: "scripted", auth: "program" } },
    ],
    [
      "a model",
      { config: { target: "assistant" }, answers: { "call_1.q.1": true } },
      { answer: true, answeredBy: { kind: "assistant", model: "test/scripted" } },
    ],
    [
      "a model, in a non-interactive run",
      { isInteractive: false, answers: { "call_1.q.1": true } },
      { answer: true, answeredBy: { kind: "assistant", model: "test/scripted" } },
    ],
    [
      "the config",
      { config: { answer: true } },
      {
        answer: true,
        answeredBy: { kind: "config", key: "conversation.tools.x.questions.q.answer" },
      },
    ],
    [
      "the config, for an exclusive question",
      {
        config: { answer: true, target: "assistant" },
        question: booleanQuestion("q", "?", { exclusive: true }),
        isInteractive: false,
      },
      {
        answer: true,
        answeredBy: { kind: "config", key: "conversation.tools.x.questions.q.answer" },
      },
    ],
    [
      "the question itself",
      {
        detached: { tool: "defaults" },
        isInteractive: false,
        question: booleanQuestion("q", "?", { default: false }),
      },
      { answer: false, answeredBy: { kind: "default" } },
    ],
  ])("is recorded with who gave it: %s", async (_, setting, expected) => {
    verifies(
      "082/record/pair-for-every-question",
      "082/record/prompt-answer",
      "082/record/model-answer",
      "082/record/configured-answer",
      "082/secret/other-types-still-answered-and-remembered",
      "083/configured/allowed-for-exclusive",
      "028/coordinator/nobody-there-goes-to-the-model",
      "028/coordinator/same-path-as-a-person",
      "005/record/response-when-the-answer-arrives",
      "005/record/into-the-real-conversation",
    );
    const { turn, response } = await ask(setting);
    expect(turn.recorded("inquiry_request").map(({ id }) => id)).toEqual(["call_1.q.1"]);
    expect(responsesOf(turn)).toEqual([
      { type: "inquiry_response", id: "call_1.q.1", outcome: "answered", ...expected },
    ]);
    expect(response?.content).toBe(JSON.stringify([expected["answer"]]));
  });

  test("is recorded as remembered, with the inquiry in which the person answered", async () => {
    verifies("082/record/remembered-answer");
    const turn = await ToolTurn.start({
      tools: [questioner("x", selectQuestion("q", "?", { options: ["a", "b"] }))],
      script: { answers: [{ answer: "b", isRemembered: true }] },
    });
    await turn.run(toolCall("call_1", "x"));
    const [second] = await turn.run(toolCall("call_2", "x"));
    expect(turn.recorded("inquiry_response")[1]).toMatchObject({
      id: "call_2.q.1",
      outcome: "answered",
      answer: "b",
      answeredBy: { kind: "remembered", from: "call_1.q.1" },
    });
    expect([second?.content, turn.prompter.questions.length]).toEqual(['["b"]', 1]);
  });

  test("a secret is recorded without its value, and never remembered", async () => {
    verifies("082/secret/prompt-answer-redacted", "082/secret/not-remembered");
    const question = secretQuestion("q", "?");
    const { turn, response } = await ask({
      question,
      script: { answers: [{ answer: "hunter2", isRemembered: true }] },
    });
    expect(responsesOf(turn)).toEqual([
      {
        type: "inquiry_response",
        id: "call_1.q.1",
        outcome: "redacted",
        answeredBy: { kind: "user", channel: "scripted", auth: "program" },
      },
    ]);
    expect([response?.content, turn.remembered("x")]).toEqual(['["hunter2"]', undefined]);
  });

  test("a secret from the config is recorded without its value", async () => {
    verifies("082/secret/configured-answer-redacted", "082/secret/every-answered-path-redacts");
    const question = secretQuestion("q", "?");
    const { turn, response } = await ask({ question, config: { answer: "hunter2" } });
    expect(responsesOf(turn)).toEqual([
      {
        type: "inquiry_response",
        id: "call_1.q.1",
        outcome: "redacted",
        answeredBy: { kind: "config", key: "conversation.tools.x.questions.q.answer" },
      },
    ]);
    expect(response?.content).toBe('["hunter2"]');
  });
});
