/** What is recorded about a question besides its end, and which answers a turn remembers. */
import { describe, expect, test } from "vitest";
import { until } from "../../src/core/agent/model-turn.fixture.ts";
import { prompterThat, questioner, StubbornTool } from "../../src/core/agent/questioner.fixture.ts";
import { settingsOf, ToolTurn } from "../../src/core/agent/tool-turn.fixture.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { eventToJson } from "../../src/record/conversation/index.ts";
import { createLocalExecutor } from "../../src/reach/executor/index.ts";
import {
  booleanQuestion,
  type InquirySource,
  parseQuestion,
  type Question,
  questionToWire,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { counters } from "../security/threats.ts";

const SURE = booleanQuestion("q", "Sure?");

/** The answers that the same questions would get for the rest of the turn. */
function keptAnswers(turn: ToolTurn) {
  const { state } = turn.parts;
  return turn.recorded("inquiry_request").flatMap((request) => state.find("x", request) ?? []);
}

describe("remembering", () => {
  const never: readonly (readonly [string, Question])[] = [
    ["with persistence `none`", textQuestion("q", "?", { persistence: "none" })],
    ["that is a secret", secretQuestion("q", "?")],
  ];

  test.each(never)(
    "skips the answer to a question that must be asked each time: %s",
    async (_, question) => {
      verifies("083/remember/none-is-not-stored", "082/secret/not-remembered");
      const turn = await ToolTurn.start({
        tools: [questioner("x", question)],
        script: { answers: () => ({ answer: "typed", isRemembered: true }) },
      });
      await turn.run(toolCall("a", "x"), toolCall("b", "x"));
      expect({
        asked: turn.prompter.questions.length,
        kept: keptAnswers(turn),
        scopes: turn.recorded("inquiry_response").filter((event) => "scope" in deciderOf(event)),
      }).toEqual({ asked: 2, kept: [], scopes: [] });
    },
  );

  test.each(never)(
    "does not answer a question that must be asked each time: %s",
    async (_, question) => {
      verifies(
        "083/remember/none-is-asked-every-time",
        "082/secret/remembered-answer-not-used",
        "082/secret/other-types-still-answered-and-remembered",
      );
      const questions = [textQuestion("q", "?"), question, textQuestion("q", "?")];
      const tool = new StubbornTool("x", questions);
      const answers = ["kept", "typed"].map((answer) => ({ answer, isRemembered: true }));
      const turn = await ToolTurn.start({ tools: [tool], script: { answers } });
      await turn.call("x");
      expect(turn.recorded("inquiry_response").map(deciderOf)).toMatchObject([
        { kind: "user", scope: "turn" },
        { kind: "user" },
        { kind: "remembered", from: "call_1.q.1" },
      ]);
      expect(tool.attempts).toEqual([{}, { q: "kept" }, { q: "typed" }, { q: "kept" }]);
    },
  );

  test("does not use an answer that no longer fits the question", async () => {
    const tool = new StubbornTool("x", [textQuestion("q", "?"), SURE]);
    const answers = [{ answer: "text", isRemembered: true }, { answer: true }];
    const turn = await ToolTurn.start({ tools: [tool], script: { answers } });
    await turn.call("x");
    expect(tool.attempts).toEqual([{}, { q: "text" }, { q: true }]);
  });

  test("skips answers of models and of the config", async () => {
    const tool = new StubbornTool("x", [SURE, booleanQuestion("r", "?")]);
    const turn = await ToolTurn.start({
      tools: [tool],
      config: { x: { questions: { q: { target: "assistant" }, r: { answer: true } } } },
      answers: { "call_1.q.1": true },
    });
    await turn.call("x");
    expect([turn.recorded("inquiry_request").length, keptAnswers(turn)]).toEqual([2, []]);
  });
});

describe("the source of a question", () => {
  test("is recorded as the executor sets it", async () => {
    verifies("082/source/coordinator-copies-it", "082/source/doubles-set-it-directly");
    const sources: readonly InquirySource[] = [
      { source: "assistant" },
      { source: "tool", name: "another_name" },
      { source: "user" },
      { source: "other", name: "a committee" },
    ];
    const recorded = [];
    for (const source of sources) {
      const turn = await ToolTurn.start({
        tools: [new StubbornTool("x", [SURE], source)],
        script: { answers: [{ answer: true }] },
      });
      await turn.call("x");
      recorded.push(turn.recorded("inquiry_request")[0]?.source);
    }
    expect(recorded).toEqual(sources);
  });

  test("cannot be configured: a label is only for display, and comes only from the config", async () => {
    counters("T-PROV-1");
    verifies(
      "082/source/config-has-no-say",
      "082/source/label-is-separate",
      "083/label/looked-up-by-the-coordinator",
      "083/label/display-only",
      "083/label/optional-and-absent-by-default",
      "082/source/follows-from-the-code-path",
    );
    const claims = { label: "Assistant", prompt_label: "Assistant", source: "assistant" };
    const questions = [{ ...SURE, ...claims }, booleanQuestion("r", "Really?")];
    const turn = await ToolTurn.start({
      tools: [new StubbornTool("x", questions)],
      config: { x: { questions: { r: { prompt_label: "The boss" }, s: { prompt_label: "S" } } } },
      script: { answers: () => ({ answer: true }) },
    });
    await turn.call("x", claims);
    expect({
      labels: turn.prompter.questions.map(({ label }) => label),
      sources: turn.recorded("inquiry_request").map(({ source }) => source),
    }).toEqual({
      labels: ["x", "The boss"],
      sources: [
        { source: "tool", name: "x" },
        { source: "tool", name: "x" },
      ],
    });
  });
});

test("a question is recorded with its type, context, default and policy", async () => {
  verifies(
    "082/record/request-keeps-the-answer-type",
    "083/record/asked-question-recorded-with-its-policy",
    "082/secret/default-copied-as-it-is",
    "082/secret/declared-by-the-tool-author",
  );
  const options = [{ value: "a", description: "the first" }, { value: "b" }];
  const questions = [
    booleanQuestion("a", "A?", { default: true, exclusive: true, persistence: "none" }),
    selectQuestion("b", "B?", { options, context: "two\nlines" }),
    textQuestion("c", "C?", { default: "" }),
    secretQuestion("d", "D?", { default: "a hint" }),
  ];
  const given = [{ answer: true }, { answer: "b" }, { answer: "" }, { answer: "s3cret" }];
  const turn = await ToolTurn.start({
    tools: [questioner("x", ...questions)],
    script: { answers: given },
  });
  await turn.call("x");
  expect(turn.recorded("inquiry_request").map(({ question }) => question)).toEqual(
    questions.map(({ id: _id, ...question }) => question),
  );
});

test("only the tool decides whether a question is secret, not the config", async () => {
  verifies("082/secret/config-has-no-say", "082/secret/declared-by-the-tool-author");
  const settings = [
    {},
    { prompt_label: "Password" },
    { answer: "typed" },
    { answer: "typed", prompt_label: "Password", target: "assistant" },
  ];
  const outcomes = [];
  for (const config of settings) {
    const turn = await ToolTurn.start({
      tools: [
        questioner("open", textQuestion("password", "Password?")),
        questioner("secretive", secretQuestion("password", "Name?")),
      ],
      config: {
        open: { questions: { password: config } },
        secretive: { questions: { password: config } },
      },
      script: { answers: () => ({ answer: "typed" }) },
    });
    await turn.run(toolCall("a", "open"), toolCall("b", "secretive"));
    const responses = turn.recorded("inquiry_response").map(({ id, outcome }) => [id, outcome]);
    outcomes.push(Object.fromEntries(responses) as object);
  }
  const expected = { "a.password.1": "answered", "b.password.1": "redacted" };
  expect(outcomes).toEqual(settings.map(() => expected));
});

test("the request is recorded before routing and before prompting", async () => {
  verifies(
    "082/record/request-before-routing",
    "082/id/final-before-the-request-is-stored",
    "082/prompt/id-allocated-once",
    "082/prompt/answer-carries-the-id",
    "082/prompt/id-never-rebuilt",
  );
  const seen: string[] = [];
  const prompter = prompterThat(
    async ({ inquiryId }) => {
      seen.push(`ask ${inquiryId}, with ${turn.recorded("inquiry_request").at(-1)?.id} on record`);
      return { type: "answered", inquiryId, answer: true, isRemembered: false };
    },
    () => {
      seen.push(`canAsk, with ${turn.recorded("inquiry_request").at(-1)?.id} on record`);
      return true;
    },
  );
  const turn = await ToolTurn.start({ tools: [questioner("x", SURE)], parts: { prompter } });
  await turn.call("x");
  expect([...new Set(seen)]).toEqual([
    "canAsk, with call_1.q.1 on record",
    "ask call_1.q.1, with call_1.q.1 on record",
  ]);
  expect(turn.recorded("inquiry_response").map(({ id }) => id)).toEqual(["call_1.q.1"]);
});

test("answers of models are handled one at a time, in order of arrival", async () => {
  verifies("028/inquiry/results-handled-one-at-a-time");
  const ids = ["a.q.1", "b.q.1", "c.q.1"];
  const turn = await ToolTurn.start({
    tools: [questioner("x", SURE)],
    config: { x: { questions: { q: { target: "assistant" } } } },
    answers: Object.fromEntries(ids.map((id) => [id, true])),
  });
  for (const id of ids) turn.inquiries.hold(id);
  const cycle = await turn.begin(...["a", "b", "c"].map((id) => toolCall(id, "x")));
  const end = cycle.run();
  await until(() => turn.inquiries.calls.length === ids.length);
  for (const id of ["c.q.1", "a.q.1", "b.q.1"]) turn.inquiries.release(id);
  await end;
  expect(turn.recorded("inquiry_response").map(({ id }) => id)).toEqual([
    "c.q.1",
    "a.q.1",
    "b.q.1",
  ]);
});

test("local and builtin tools can ask exclusive questions that are never remembered", async () => {
  verifies("083/question/any-tool-may-opt-in");
  const question = textQuestion("q", "?", { exclusive: true, persistence: "none" });
  const program = `
    const { tool } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
    console.log(JSON.stringify("q" in tool.answers ? { type: "success", content: "done" } :
      { type: "needs_input", question: ${JSON.stringify(questionToWire(question))} }));
  `;
  const command = { program: process.execPath, args: ["-e", program] };
  const executor = createLocalExecutor(settingsOf("local", { source: "local", command }), {
    workspaceRoot: process.cwd(),
    workspaceId: "",
    conversationId: "",
    variables: process.env,
  });
  const tools = [questioner("builtin", question), { name: "local", executor }];
  const calls = tools.flatMap(({ name }) => [
    toolCall(`${name}_1`, name),
    toolCall(`${name}_2`, name),
  ]);
  const outcomesWith = async (target: string) => {
    const turn = await ToolTurn.start({
      tools,
      config: Object.fromEntries(tools.map(({ name }) => [name, { questions: { q: { target } } }])),
      script: { answers: () => ({ answer: "typed", isRemembered: true }) },
    });
    await turn.run(...calls);
    const ends = turn
      .recorded("inquiry_response")
      .map((event) => [event.id, event.outcome === "cancelled" ? event.reason : deciderOf(event)]);
    return Object.fromEntries(ends) as object;
  };
  const ends = (end: unknown) => Object.fromEntries(calls.map(({ id }) => [`${id}.q.1`, end]));
  expect([await outcomesWith("user"), await outcomesWith("assistant")]).toEqual([
    ends({ kind: "user", channel: "scripted", auth: "program" }),
    ends("assistant_routing_denied"),
  ]);
});

test("a question without `exclusive` and `persistence` is handled as before", async () => {
  verifies("083/question/defaults-change-nothing");
  const old = { id: "q", text: "Sure?", answer_type: { type: "boolean" } };
  const turn = await ToolTurn.start({
    tools: [questioner("x", parseQuestion(old)), questioner("y", parseQuestion(old))],
    config: { y: { questions: { q: { target: "assistant" } } } },
    script: { answers: [{ answer: true, isRemembered: true }] },
    answers: { "c.q.1": false },
  });
  await turn.run(toolCall("a", "x"));
  await turn.run(toolCall("b", "x"), toolCall("c", "y"));
  const { id: _id, ...recorded } = old;
  expect({
    asked: turn.prompter.questions.map(({ question }) => questionToWire(question as Question)),
    recorded: turn.recorded("inquiry_request").map((event) => eventToJson(event)["question"]),
    deciders: turn.recorded("inquiry_response").map((event) => [event.id, deciderOf(event)]),
  }).toEqual({
    asked: [old],
    recorded: [recorded, recorded, recorded],
    deciders: expect.arrayContaining([
      ["a.q.1", { kind: "user", channel: "scripted", auth: "program", scope: "turn" }],
      ["b.q.1", { kind: "remembered", from: "a.q.1" }],
      ["c.q.1", { kind: "assistant", model: "test/scripted" }],
    ]) as unknown,
  });
});

function deciderOf(event: object): object {
  return "answeredBy" in event ? (event.answeredBy as object) : {};
}
