import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  answersTo,
  FormPrompter,
  type FormReaction,
  FormTool,
  oneByOne,
} from "./asked-together.fixture.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { until } from "./model-turn.fixture.ts";
import { problemsOf } from "../../record/conversation/record-rules.fixture.ts";
import { ToolTurn, type ToolTurnOptions, undigested } from "./tool-turn.fixture.ts";
import type { InquiryId, InquiryResponse } from "../../record/conversation/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { AnsweredForm, FormRequest, PromptResult } from "./ports.ts";

const A = textQuestion("a", "A?");
const B = booleanQuestion("b", "B?");
const C = selectQuestion("c", "C?", { options: ["x", "y"], allowsOther: true, allowsNote: true });
const FORM = [A, B, C];

const CANCELLED = "Tool input cancelled by user.";
const NO_ONE_TO_ASK =
  "x cannot run because no user is available to answer. Do not retry this tool call in this " +
  "turn; continue without user input or explain what information is missing.";
const MISFIT =
  "x: the configured conversation.tools.x.questions.b.answer value does not match the question's " +
  "answer_type. Update the configuration; do not retry.";

interface Setting extends Pick<ToolTurnOptions, "answers"> {
  readonly questions?: readonly Question[];
  /** By question id. */
  readonly config?: JsonObject;
  readonly react?: FormReaction;
  readonly isInteractive?: boolean;
  /** The prompter has no forms. */
  readonly isOneByOne?: boolean;
}

/** Tool `x` asks all its questions at once; ids in the record are those of `call_1`. */
async function start(setting: Setting) {
  const { questions = FORM, config = {}, react = [], isInteractive = true, answers } = setting;
  const tool = new FormTool("x", questions);
  const person = new FormPrompter(react);
  person.isThere = isInteractive;
  const turn = await ToolTurn.start({
    tools: [tool, new FormTool("y", [A])],
    config: { x: { questions: config } },
    ...(answers !== undefined && { answers }),
    parts: { prompter: setting.isOneByOne === true ? oneByOne(person) : person },
  });
  return { tool, person, turn };
}

async function ask(setting: Setting) {
  const started = await start(setting);
  const response = await started.turn.call("x");
  return summaryOf(started, [response?.content, response?.isError]);
}

/** Everything about the call, once it has ended. */
function summaryOf({ tool, person, turn }: Awaited<ReturnType<typeof start>>, result: unknown) {
  expect(problemsOf(turn.events)).toEqual([]);
  const kinds = turn.events.map(({ type }) => type).filter((type) => type.startsWith("inquiry"));
  expect(kinds).toEqual(kinds.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0)));
  return {
    requests: turn.recorded("inquiry_request").map(({ id }) => id),
    ends: Object.fromEntries(
      turn.recorded("inquiry_response").map((event) => [event.id, endOf(event)]),
    ),
    shown: person.shown,
    attempts: tool.attempts.map(({ answers }) => answers),
    unanswered: tool.unanswered,
    result,
  };
}

function endOf(event: InquiryResponse): unknown {
  if (event.outcome === "cancelled") return event.reason;
  const { kind } = event.answeredBy ?? {};
  return event.outcome === "redacted" ? [kind] : [event.answer, kind];
}

const IDS = ["call_1.a.1", "call_1.b.1", "call_1.c.1"];

/** All three questions and the call ended for this reason. */
function allEnded(reason: string, content: string) {
  return {
    requests: IDS,
    ends: Object.fromEntries(IDS.map((id) => [id, reason])),
    attempts: [{}],
    unanswered: 1,
    result: [content, reason !== "user"],
  };
}

function said(inquiryId: string, answer: string, note: string): PromptResult {
  const id = inquiryId as InquiryId; // In the format of the agent.
  return { type: "answered", inquiryId: id, answer, note, isRemembered: false };
}

describe("questions that belong together", () => {
  test("are asked as one form, and the tool runs again once with all answers", async () => {
    const react = ["text", true, "y"];
    expect(await ask({ react })).toEqual({
      requests: IDS,
      ends: {
        "call_1.a.1": ["text", "user"],
        "call_1.b.1": [true, "user"],
        "call_1.c.1": ["y", "user"],
      },
      shown: [IDS],
      attempts: [{}, { a: "text", b: true, c: "y" }],
      unanswered: 0,
      result: ['{"a":"text","b":true,"c":"y"}', false],
    });
  });

  test("are shown as asked, each with its own label", async () => {
    const config = { b: { prompt_label: "Checker" } };
    const { turn, person } = await start({ config, react: ["text", true, "y"] });
    await turn.call("x");
    const { id: _a, ...a } = A;
    expect(person.forms[0]?.fields).toMatchObject([
      { inquiryId: "call_1.a.1", question: a, label: "x" },
      { inquiryId: "call_1.b.1", question: { text: "B?" }, label: "Checker" },
      { inquiryId: "call_1.c.1", question: { answerType: C.answerType, allowsNote: true } },
    ]);
  });

  test("are a form with the id of the first, and each result may say who gave it", async () => {
    const { turn, person } = await start({
      react: (form) => {
        const { results } = answersTo(form, ["text", true, "y"]);
        const others = results.slice(1).map((result) => ({ ...result, userName: "Ben" }));
        return { type: "form", results: [...results.slice(0, 1), ...others], userName: "Ana" };
      },
    });
    await turn.call("x");
    const [first] = turn.recorded("inquiry_request");
    expect(person.forms).toEqual([
      {
        kind: "form",
        inquiryId: IDS[0],
        conversation: turn.conversation.id,
        toolCallId: "call_1",
        tool: "x",
        origin: { type: "local", command: "x" },
        arguments: {},
        source: { source: "tool", name: "x" },
        label: "x",
        signal: expect.any(AbortSignal),
        allowsLater: false,
        acts: false,
        digest: first?.subject?.digest,
        fields: IDS.map((inquiryId) => expect.objectContaining({ kind: "question", inquiryId })),
      },
    ]);
    expect(turn.recorded("inquiry_response")).toMatchObject(
      ["Ana", "Ben", "Ben"].map((name) => ({ answeredBy: { kind: "user", name } })),
    );
  });

  test("act as a form if one of them does", async () => {
    const questions = [A, { ...B, acts: true }];
    const { turn, person } = await start({ questions, react: ["text", true] });
    await turn.call("x");
    expect(person.forms).toMatchObject([{ acts: true, fields: [{ acts: false }, { acts: true }] }]);
  });

  test.each(["timed_out", "unavailable"] as const)(
    "end together if no one answers the form: %s",
    async (reason) => {
      const config = { a: { exclusive: true }, b: { exclusive: true }, c: { exclusive: true } };
      const { ends, attempts } = await ask({
        config,
        react: () => ({ type: "unanswered", reason }),
      });
      const recorded = reason === "timed_out" ? reason : "no_prompt_backend";
      expect([ends, attempts]).toEqual([Object.fromEntries(IDS.map((id) => [id, recorded])), [{}]]);
    },
  );

  test("are recorded in order, all before the first answer", async () => {
    verifies("005/record/one-pair-per-question", "082/record/request-before-routing");
    const { turn } = await start({
      config: { b: { answer: true } },
      react: (form) => answersTo(form, ["text", "y"]),
    });
    await turn.call("x");
    expect(
      turn.events.flatMap((event) =>
        event.type === "inquiry_request" || event.type === "inquiry_response"
          ? [`${event.type} ${event.id}`]
          : [],
      ),
    ).toEqual([
      ...IDS.map((id) => `inquiry_request ${id}`),
      "inquiry_response call_1.b.1",
      "inquiry_response call_1.a.1",
      "inquiry_response call_1.c.1",
    ]);
  });

  test("are recorded with the person's own words, and with notes where the question allows them", async () => {
    const { turn, tool } = await start({
      questions: [A, C, { ...C, id: "d" }],
      react: [
        said("call_1.a.1", "text", "not asked for"),
        said("call_1.c.1", "neither", "both are bad"),
        said("call_1.d.1", "x", ""),
      ],
    });
    await turn.call("x");
    const events = turn.recorded("inquiry_response");
    const answeredBy = { kind: "user", channel: "form", auth: "program" };
    expect(events.map(undigested).map(({ type: _type, ...rest }) => rest)).toStrictEqual([
      { id: "call_1.a.1", outcome: "answered", answer: "text", answeredBy },
      {
        id: "call_1.c.1",
        outcome: "answered",
        answer: "neither",
        note: "both are bad",
        isOther: true,
        answeredBy,
      },
      { id: "call_1.d.1", outcome: "answered", answer: "x", answeredBy },
    ]);
    expect(tool.attempts[1]?.notes).toEqual({ c: "both are bad" });
  });

  test("may be secrets, whose answers and notes are not recorded", async () => {
    const key = secretQuestion("key", "Key?", { allowsNote: true });
    const note = "the hunter2 of old";
    const { turn, tool } = await start({
      questions: [A, key],
      react: ["text", said("call_1.key.1", "hunter2", note)],
    });
    await turn.call("x");
    expect(JSON.stringify(turn.recorded("inquiry_response"))).not.toContain("hunter2");
    expect(tool.attempts[1]).toEqual({
      answers: { a: "text", key: "hunter2" },
      notes: { key: note },
      secretAnswers: ["key"],
    });
  });
});

describe("a question that needs no person", () => {
  test("is answered first, and the person is asked all the others at once", async () => {
    const D = textQuestion("d", "D?");
    const ended = await ask({
      questions: [A, B, C, D],
      config: { b: { answer: false }, c: { target: "assistant" } },
      answers: { "call_1.c.1": "x" },
      react: (form) => {
        expect(form.fields.map(({ question }) => question.text)).toEqual(["A?", "D?"]);
        return answersTo(form, ["first", "last"]);
      },
    });
    expect(ended).toMatchObject({
      ends: {
        "call_1.a.1": ["first", "user"],
        "call_1.b.1": [false, "config"],
        "call_1.c.1": ["x", "assistant"],
        "call_1.d.1": ["last", "user"],
      },
      shown: [["call_1.a.1", "call_1.d.1"]],
      attempts: [{}, { a: "first", b: false, c: "x", d: "last" }],
    });
  });

  test("may leave a single question, which is asked alone", async () => {
    const config = { a: { answer: "set" }, b: { answer: true } };
    expect(await ask({ config, react: ["y"] })).toMatchObject({
      shown: [["call_1.c.1"]],
      result: ['{"a":"set","b":true,"c":"y"}', false],
    });
  });

  test("may be every question, and then no one is asked", async () => {
    const config = { a: { answer: "set" }, b: { answer: true }, c: { answer: "x" } };
    expect(await ask({ config, isInteractive: false })).toMatchObject({
      shown: [],
      result: ['{"a":"set","b":true,"c":"x"}', false],
    });
  });

  test("gets no free-text answer from a model, because only a person may give one", async () => {
    const config = { c: { target: "assistant" } };
    expect(await ask({ config, answers: { "call_1.c.1": "neither" } })).toMatchObject({
      ends: Object.fromEntries(IDS.map((id) => [id, "backend_error"])),
      shown: [],
      result: [expect.stringContaining('Error: expected one of "x", "y".'), true],
    });
  });

  test("ends the call if it fails, and the others are closed for the same reason, unasked", async () => {
    const ended = await ask({
      config: { a: { answer: "set" }, b: { target: "assistant" } },
      answers: () => ({ type: "failed", kind: "provider", message: "503" }),
    });
    expect(ended).toMatchObject({
      ends: {
        "call_1.a.1": ["set", "config"],
        "call_1.b.1": "backend_error",
        "call_1.c.1": "backend_error",
      },
      shown: [],
      attempts: [{}],
      unanswered: 1,
    });
  });
});

describe("a refused question", () => {
  test("ends the whole form for its reason, before anyone is asked", async () => {
    const config = { a: { target: "assistant" }, b: { answer: "yes" } };
    expect(await ask({ config, answers: () => Promise.reject(new Error("asked")) })).toEqual({
      ...allEnded("invalid_static_answer", MISFIT),
      shown: [],
    });
  });

  test("keeps its own reason if another is refused, too", async () => {
    const secret = secretQuestion("a", "A?");
    const config = { a: { target: "assistant" }, b: { answer: "yes" } };
    expect(await ask({ questions: [secret, B, C], config })).toMatchObject({
      ends: {
        "call_1.a.1": "assistant_routing_denied",
        "call_1.b.1": "invalid_static_answer",
        "call_1.c.1": "assistant_routing_denied",
      },
      shown: [],
    });
  });

  test("in a non-interactive run is reported once, and no model is asked", async () => {
    const questions = FORM.map((question) => ({ ...question, exclusive: true }));
    expect(await ask({ questions, isInteractive: false })).toEqual({
      ...allEnded("no_prompt_backend", NO_ONE_TO_ASK),
      shown: [],
    });
  });

  test("includes one with a configured answer that is not an option", async () => {
    const config = { c: { answer: "words of my own" } };
    expect(await ask({ config })).toMatchObject({
      ends: Object.fromEntries(IDS.map((id) => [id, "invalid_static_answer"])),
      shown: [],
    });
  });
});

const FAILS = () => Promise.reject(new Error("the terminal is gone"));

function backwards(form: FormRequest): AnsweredForm {
  const result = answersTo(form, ["text", true, "y"]);
  return { ...result, results: result.results.toReversed() };
}

describe("a person who", () => {
  test("cancels the form answers none of it", async () => {
    expect(await ask({ react: () => ({ type: "cancelled" }) })).toEqual({
      ...allEnded("user", CANCELLED),
      shown: [IDS],
    });
  });

  test("cannot be shown the form fails all of it", async () => {
    expect(await ask({ react: FAILS })).toEqual({
      ...allEnded("backend_error", "Question prompt failed: the terminal is gone"),
      shown: [IDS],
    });
  });

  test.each<[string, FormReaction, unknown, string]>([
    [
      "leaves one out",
      (form) => answersTo({ fields: form.fields.slice(0, 2) }, ["text", true]),
      "backend_error",
      "Question prompt failed: the form has no answer for this question",
    ],
    [
      "gives one of the wrong type",
      ["text", true, 5],
      "backend_error",
      'Question prompt failed: expected one of "x", "y"',
    ],
    [
      "answers a question of another call in its place",
      [
        "text",
        true,
        { type: "answered", inquiryId: "z.c.1" as InquiryId, answer: "x", isRemembered: false },
      ],
      "backend_error",
      "Question prompt failed: the form has no answer for this question",
    ],
    [
      "cancels one",
      ["text", true, { type: "cancelled", inquiryId: "call_1.c.1" as InquiryId }],
      "user",
      CANCELLED,
    ],
  ])("%s ends the call, and each question is closed once", async (_, react, reason, content) => {
    expect(await ask({ react })).toMatchObject({
      ends: {
        "call_1.a.1": ["text", "user"],
        "call_1.b.1": [true, "user"],
        "call_1.c.1": reason,
      },
      attempts: [{}],
      result: [content, reason !== "user"],
    });
  });

  test("answers in another order still answers each question", async () => {
    expect(await ask({ react: backwards })).toMatchObject({
      attempts: [{}, { a: "text", b: true, c: "y" }],
    });
  });
});

describe("a prompter without forms", () => {
  test("asks one question after the other", async () => {
    let asked = 0;
    const given = ["text", true, "y"];
    const react: FormReaction = (form) => answersTo(form, [given[asked++] ?? null]);
    expect(await ask({ isOneByOne: true, react })).toMatchObject({
      shown: IDS.map((id) => [id]),
      attempts: [{}, { a: "text", b: true, c: "y" }],
    });
  });

  test.each<[string, FormReaction, string]>([
    ["is cancelled", () => ({ type: "cancelled" }), "user"],
    ["fails", FAILS, "backend_error"],
  ])("stops if one of them %s", async (_, end, reason) => {
    const react: FormReaction = (form) =>
      form.fields[0]?.inquiryId === "call_1.b.1" && typeof end === "function"
        ? end(form)
        : answersTo(form, ["text"]);
    expect(await ask({ isOneByOne: true, react })).toMatchObject({
      ends: { "call_1.a.1": ["text", "user"], "call_1.b.1": reason, "call_1.c.1": reason },
      shown: [["call_1.a.1"], ["call_1.b.1"]],
      attempts: [{}],
    });
  });
});

const NEVER = () => new Promise<never>(() => undefined);

describe("a form that is stopped", () => {
  test("while it is open is cancelled with all of its questions", async () => {
    const started = await start({ react: NEVER });
    const cycle = await started.turn.begin(toolCall("call_1", "x"));
    const running = cycle.run();
    await until(() => started.person.forms.length === 1);
    cycle.stop("user");
    await running;
    const { ends, shown } = summaryOf(started, undefined);
    expect([ends, shown]).toEqual([Object.fromEntries(IDS.map((id) => [id, "user"])), [IDS]]);
  });

  test("by closing its prompt is cancelled, and the turn continues", async () => {
    const started = await start({ react: NEVER });
    const running = started.turn.call("x");
    await until(() => started.person.forms.length === 1);
    started.turn.parts.prompts.cancelOpen();
    const response = await running;
    expect(summaryOf(started, [response?.content, response?.isError])).toEqual({
      ...allEnded("user", CANCELLED),
      shown: [IDS],
    });
  });

  test("while a model answers a part of it asks no one for the rest", async () => {
    const config = { b: { target: "assistant" } };
    const started = await start({ config, answers: NEVER });
    const cycle = await started.turn.begin(toolCall("call_1", "x"));
    const running = cycle.run();
    await until(() => started.turn.inquiries.calls.length === 1);
    cycle.stop("user");
    await running;
    const { ends, shown } = summaryOf(started, undefined);
    expect([ends, shown]).toEqual([Object.fromEntries(IDS.map((id) => [id, "user"])), []]);
  });

  test.each([true, false])(
    "while it waits for its turn is never shown (forms: %s)",
    async (hasForms) => {
      const started = await start({ react: NEVER, isOneByOne: !hasForms });
      const { turn, person } = started;
      const cycle = await turn.begin(toolCall("call_0", "y"), toolCall("call_1", "x"));
      const running = cycle.run();
      await until(() => turn.recorded("inquiry_request").length === 4 && person.shown.length === 1);
      cycle.stop("user");
      await running;
      expect([
        person.shown,
        Object.fromEntries(
          turn.recorded("inquiry_response").map((event) => [event.id, endOf(event)]),
        ),
        problemsOf(turn.events),
      ]).toEqual([
        [["call_0.a.1"]],
        Object.fromEntries(["call_0.a.1", ...IDS].map((id) => [id, "user"])),
        [],
      ]);
    },
  );
});

/** The form waits while another call of the tool asks `first`, and then continues. */
async function wait(
  first: Question,
  form: readonly Question[],
  meanwhile: (person: FormPrompter) => void,
) {
  const plans = [[first], form];
  const person = new FormPrompter((request) => {
    if (person.forms.length > 1) return answersTo(request, ["later", "later"]);
    return opened.promise.then(() => {
      const [{ inquiryId } = { inquiryId: "" as InquiryId }] = request.fields; // There is one.
      return {
        type: "form",
        results: [{ type: "answered", inquiryId, answer: "now", isRemembered: true }],
      };
    });
  });
  const opened = Promise.withResolvers<void>();
  const tools = plans.map((questions) => new FormTool("x", questions));
  const turn = await ToolTurn.start({
    tools: [
      {
        name: "x",
        executor: {
          attempt: async (request) =>
            tools[Number(request.arguments["plan"])]?.executor.attempt(request) ?? {
              type: "cancelled",
            },
        },
      },
    ],
    answers: ({ inquiryId }) => ({ type: "answered", answer: inquiryId, model: "m" }),
    parts: { prompter: person },
  });
  const cycle = await turn.begin(
    toolCall("call_0", "x", { plan: 0 }),
    toolCall("call_1", "x", { plan: 1 }),
  );
  const running = cycle.run();
  await until(() => turn.recorded("inquiry_request").length === 1 + form.length);
  meanwhile(person);
  opened.resolve();
  await running;
  expect(problemsOf(turn.events)).toEqual([]);
  const responses = turn.recorded("inquiry_response").slice(1);
  return {
    shown: person.shown.slice(1),
    ends: Object.fromEntries(responses.map((event) => [event.id, endOf(event)])),
  };
}

function leave(person: FormPrompter): void {
  person.isThere = false;
}

describe("a form that had to wait", () => {
  const D = textQuestion("d", "D?");
  const E = textQuestion("e", "E?");

  test("does not ask what was answered for the turn meanwhile", async () => {
    expect(await wait(A, [D, A, E], () => undefined)).toEqual({
      shown: [["call_1.d.1", "call_1.e.1"]],
      ends: {
        "call_1.d.1": ["later", "user"],
        "call_1.a.1": ["now", "remembered"],
        "call_1.e.1": ["later", "user"],
      },
    });
  });

  test("asks a model if the person has left meanwhile", async () => {
    expect(await wait(A, [D, E], leave)).toEqual({
      shown: [],
      ends: {
        "call_1.d.1": ["call_1.d.1", "assistant"],
        "call_1.e.1": ["call_1.e.1", "assistant"],
      },
    });
  });

  test("is refused as a whole if one question requires the person who has left", async () => {
    expect(await wait(A, [D, { ...E, exclusive: true }], leave)).toEqual({
      shown: [],
      ends: { "call_1.d.1": "no_prompt_backend", "call_1.e.1": "no_prompt_backend" },
    });
  });
});
