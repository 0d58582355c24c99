/** Answers from another process, while a person is asked here. */
import { describe, expect, test } from "vitest";
import {
  at,
  closed,
  toolCall,
  turnStart,
  chatRequest,
} from "../../record/conversation/events.fixture.ts";
import {
  type AnswerEvent,
  type ConversationEvent,
  type InquiryResponse,
  type PermissionAction,
  type PermissionDecision,
  SecretAnswer,
} from "../../record/conversation/index.ts";
import type { AnswerOptions, ConversationWriter } from "../../stores/index.ts";
import {
  FakeClock,
  holdPrompt,
  MemoryConversationStore,
  type ScriptedStep,
} from "../../testing/index.ts";
import { booleanQuestion, secretQuestion, textQuestion } from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";
import { FormTool } from "./asked-together.fixture.ts";
import { ModelTurn, type ModelTurnOptions, settle, until } from "./model-turn.fixture.ts";
import { asker, echo, SlowTool } from "./turn-tools.fixture.ts";

const ANA = { kind: "user", channel: "cli", auth: "os_user", name: "Ana" } as const;
/** What a person does who is not looking. */
const SILENT = () => new Promise<never>(() => undefined);

function answerOf(id: string, answer: Json): InquiryResponse {
  return closedAfter(id, { outcome: "answered", answer, answeredBy: ANA });
}

/** After what is asked in these tests. */
const ANSWERED_AT = at(1);

function closedAfter(...outcome: Parameters<typeof closed>): InquiryResponse {
  return { ...closed(...outcome), timestamp: ANSWERED_AT };
}

function decisionOf(
  tool: string,
  action: PermissionAction,
  decision: PermissionDecision["decision"],
  toolCallId = "a",
): PermissionDecision {
  return {
    type: "permission_decision",
    timestamp: ANSWERED_AT,
    toolCallId,
    tool,
    action,
    decision,
    decidedBy: ANA,
  };
}

/** With the digest of what was asked, as whoever has read the request sends it. */
function read<Event extends AnswerEvent>({ events }: ModelTurn, event: Event): Event {
  const request = events.findLast(
    (asked) =>
      (asked.type === "inquiry_request" && asked.id === event.id) ||
      (asked.type === "permission_request" &&
        event.type === "permission_decision" &&
        asked.toolCallId === event.toolCallId &&
        asked.action === event.action),
  );
  const isRequest = request?.type === "inquiry_request" || request?.type === "permission_request";
  const digest = isRequest ? request.subject?.digest : undefined;
  if (digest === undefined) throw new Error("Nothing was asked.");
  return { ...event, digest };
}

interface Started {
  readonly turn: ModelTurn;
  readonly answer: (
    event: AnswerEvent,
    given?: AnswerOptions,
  ) => ReturnType<MemoryConversationStore["answer"]>;
}

/** A turn in which the model makes these calls, and then says "Done." */
async function start(
  calls: readonly ScriptedStep[],
  options: Omit<ModelTurnOptions, "replies">,
  store = new MemoryConversationStore(new FakeClock()),
): Promise<Started> {
  const conversation: ConversationWriter = options.conversation ?? (await store.create({}));
  const replies = [calls, [{ type: "text", text: "Done." }]].filter((steps) => steps.length > 0);
  const turn = await ModelTurn.create({
    ...options,
    replies: replies as readonly (readonly ScriptedStep[])[],
    conversation,
  });
  return { turn, answer: (event, given) => store.answer(conversation.id, event, given) };
}

function call(name: string, id = "a"): ScriptedStep {
  return { type: "tool_call", id, name, arguments: {} };
}

function has(turn: ModelTurn, type: ConversationEvent["type"], count = 1): () => boolean {
  return () => turn.events.filter((event) => event.type === type).length === count;
}

/** Keeps the first answer from the disk until `write` is called. */
function holdAnswer(type: ConversationEvent["type"] = "inquiry_response") {
  const started = Promise.withResolvers<void>();
  const written = Promise.withResolvers<void>();
  return {
    /** It is on its way to the disk, but not on it. */
    started: started.promise,
    write: () => written.resolve(),
    beforeAppend: (events: readonly ConversationEvent[]) => {
      if (!events.some((event) => event.type === type)) return undefined;
      started.resolve();
      return written.promise;
    },
  };
}

function responsesOf({ events }: ModelTurn): readonly ConversationEvent[] {
  return events.filter(({ type }) => type === "inquiry_response");
}

/** From the first call on. */
function callsOf({ record }: ModelTurn): readonly string[] {
  return record.slice(3);
}

describe("a question that is shown here and answered elsewhere", () => {
  test("closes, is recorded as it was given, and its tool goes on", async () => {
    const { turn, answer } = await start([call("asker")], {
      tools: [asker],
      script: { answers: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    const given = read(turn, answerOf("a.sure.1", true));
    expect(await answer(given)).toEqual({ type: "recorded" });
    expect(await end).toEqual({ type: "done", reason: "stop" });
    expect({
      isPromptClosed: turn.prompter.questions[0]?.signal.aborted,
      record: callsOf(turn),
      response: turn.events.find(({ type }) => type === "inquiry_response"),
      update: turn.updates.find(({ type }) => type === "answered_elsewhere"),
    }).toEqual({
      isPromptClosed: true,
      record: [
        "a approved (run)",
        "a starts",
        "a.sure.1 asks: Are you sure?",
        "a.sure.1 answered: true",
        "a starts",
        "a gives: got true",
        "message: Done.",
      ],
      response: given,
      update: {
        type: "answered_elsewhere",
        inquiryId: "a.sure.1",
        toolCallId: "a",
        tool: "asker",
        by: ANA,
      },
    });
  });

  test("can be cancelled there", async () => {
    const { turn, answer } = await start([call("asker")], {
      tools: [asker],
      script: { answers: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    await answer(closedAfter("a.sure.1", { outcome: "cancelled", reason: "user" }));
    await end;
    expect(callsOf(turn).slice(3)).toEqual([
      'a.sure.1 cancelled: "user"',
      "a gives: Tool input cancelled by user.",
      "message: Done.",
    ]);
  });

  test("is answered once: whoever comes second is told who was first", async () => {
    const { turn, answer } = await start([call("asker")], {
      tools: [asker],
      script: { answers: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    const first = read(turn, answerOf("a.sure.1", true));
    const second = read(turn, answerOf("a.sure.1", false));
    const results = await Promise.all([answer(first), answer(second)]);
    await end;
    expect(results).toEqual([{ type: "recorded" }, { type: "taken", event: first }]);
    expect(turn.record.filter((line) => line.includes("answered"))).toEqual([
      "a.sure.1 answered: true",
    ]);
  });

  test("stays open if the answer does not fit", async () => {
    const held = holdPrompt<never, { readonly answer: Json }>();
    const { turn, answer } = await start([call("asker")], {
      tools: [asker],
      script: { answers: [held.reply as never] },
    });
    const end = turn.run();
    await held.opened;
    const results = [
      await answer(read(turn, answerOf("a.sure.1", "yes"))),
      await answer(answerOf("b.sure.1", true)),
    ];
    held.answer({ answer: false });
    await end;
    expect(results).toEqual([
      { type: "refused", code: "misfit", reason: "expected true or false, got string" },
      { type: "not_pending" },
    ]);
    expect(turn.record).toContain("a.sure.1 answered: false");
  });

  test("goes to the person here if they were first, and the other is told", async () => {
    const held = holdPrompt<never, { readonly answer: Json }>();
    const first = holdAnswer();
    const { turn, answer } = await start([call("asker")], {
      tools: [asker],
      script: { answers: [held.reply as never] },
      userName: "Ben",
      beforeAppend: first.beforeAppend,
    });
    const end = turn.run();
    await held.opened;
    held.answer({ answer: false });
    await first.started;
    const other = answer(read(turn, answerOf("a.sure.1", true)));
    await settle();
    first.write();
    await end;
    const responses = responsesOf(turn);
    expect(await other).toEqual({ type: "taken", event: responses[0] });
    expect(responses).toMatchObject([
      {
        answer: false,
        answeredBy: { kind: "user", channel: "scripted", auth: "program", name: "Ben" },
      },
    ]);
  });

  test("that a model is answering goes to the person", async () => {
    const { turn, answer } = await start([call("asker")], {
      tools: [asker],
      config: { asker: { questions: { sure: { target: "assistant" } } } },
      answers: SILENT,
    });
    const end = turn.run();
    await until(() => turn.inquiries.calls.length === 1);
    await answer(read(turn, answerOf("a.sure.1", true)));
    await end;
    expect(turn.record).toContain("a gives: got true");
  });
});

describe("a question that a model answers at the moment at which someone answers it elsewhere", () => {
  const byModel = {
    tools: [asker],
    config: { asker: { questions: { sure: { target: "assistant" } } } },
    answers: { "a.sure.1": false },
  } as const;

  test("goes to the person if they were first, and the model's answer is not recorded", async () => {
    const first = holdAnswer();
    const { turn, answer } = await start([call("asker")], {
      ...byModel,
      beforeAppend: first.beforeAppend,
    });
    turn.inquiries.hold("a.sure.1");
    const end = turn.run();
    await until(() => turn.inquiries.calls.length === 1);
    const given = read(turn, answerOf("a.sure.1", true));
    const result = answer(given);
    await first.started;
    turn.inquiries.release("a.sure.1");
    await settle();
    first.write();
    await end;
    expect([await result, responsesOf(turn)]).toEqual([{ type: "recorded" }, [given]]);
    expect(turn.record).toContain("a gives: got true");
  });

  test("goes to the model if it was first, and the person is told", async () => {
    const first = holdAnswer();
    const { turn, answer } = await start([call("asker")], {
      ...byModel,
      beforeAppend: first.beforeAppend,
    });
    const end = turn.run();
    await first.started;
    const other = answer(read(turn, answerOf("a.sure.1", true)));
    await settle();
    first.write();
    await end;
    const responses = responsesOf(turn);
    expect(await other).toEqual({ type: "taken", event: responses[0] });
    expect(responses).toMatchObject([{ answer: false, answeredBy: { kind: "assistant" } }]);
    expect(turn.record).toContainEqual(expect.stringMatching(/^a gives: got false\b/));
  });

  test("is not left to a person here as well if the model says no", async () => {
    const first = holdAnswer();
    const { turn, answer } = await start([call("asker")], {
      ...byModel,
      beforeAppend: first.beforeAppend,
      config: { asker: { questions: { sure: { target: ["assistant", "user"] } } } },
    });
    turn.inquiries.hold("a.sure.1");
    const end = turn.run();
    await until(() => turn.inquiries.calls.length === 1);
    const given = read(turn, answerOf("a.sure.1", true));
    const result = answer(given);
    await first.started;
    turn.inquiries.release("a.sure.1");
    await settle();
    first.write();
    await end;
    expect([await result, responsesOf(turn), has(turn, "inquiry_escalation", 0)()]).toEqual([
      { type: "recorded" },
      [given],
      true,
    ]);
  });
});

describe("an answer from elsewhere to something else than what is asked", () => {
  const CHANGED = { type: "changed" };

  test("does not count for a question, unless it is a no", async () => {
    const { turn, answer } = await start([call("asker")], {
      tools: [asker],
      script: { answers: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    const results = [
      await answer(answerOf("a.sure.1", true)),
      await answer({ ...answerOf("a.sure.1", true), digest: "0".repeat(64) }),
      await answer({ ...answerOf("a.sure.1", false), digest: "0".repeat(64) }),
      await answer(answerOf("a.sure.1", false)),
    ];
    await end;
    expect(results).toEqual([CHANGED, CHANGED, CHANGED, { type: "recorded" }]);
    expect(turn.record).toContain("a gives: got false");
  });

  test("does not count for a permission, unless it is a no", async () => {
    const { turn, answer } = await start([call("echo")], {
      tools: [echo],
      config: { echo: { run: "ask" } },
      script: { permissions: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.permissions.length === 1);
    const results = [
      await answer(decisionOf("echo", "run", "approved")),
      await answer({ ...decisionOf("echo", "run", "approved"), digest: "0".repeat(64) }),
      await answer(decisionOf("echo", "run", "denied")),
    ];
    await end;
    expect(results).toEqual([CHANGED, CHANGED, { type: "recorded" }]);
    expect(turn.record).toContain("a gives: Tool skipped by user.");
  });
});

function s3cret(note?: string): AnswerOptions {
  return { secret: new SecretAnswer("s3cret", note) };
}

describe("a secret from elsewhere", () => {
  const KEY = secretQuestion("key", "Which key?");
  const REDACTED = closedAfter("a.key.1", { outcome: "redacted", answeredBy: ANA });
  const NOT_ASKED = {
    type: "refused",
    code: "secret_not_asked",
    reason: "the secret is not being asked for right now; continue the turn and answer it there",
  };

  test("reaches the tool that waits for it, closes the prompt, and is recorded as redacted", async () => {
    const tool = new FormTool("x", [KEY]);
    const { turn, answer } = await start([call("x")], {
      tools: [tool],
      script: { answers: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    const given = read(turn, REDACTED);
    const results = [
      await answer(given, s3cret()),
      await answer(given, { secret: new SecretAnswer("other") }),
    ];
    await end;
    expect({
      results,
      isPromptClosed: turn.prompter.questions[0]?.signal.aborted,
      attempt: tool.attempts.at(-1),
      response: turn.events.find(({ type }) => type === "inquiry_response"),
      update: turn.updates.find(({ type }) => type === "answered_elsewhere"),
    }).toEqual({
      results: [{ type: "recorded" }, { type: "taken", event: given }],
      isPromptClosed: true,
      attempt: { answers: { key: "s3cret" }, notes: {}, secretAnswers: ["key"] },
      response: given,
      update: {
        type: "answered_elsewhere",
        inquiryId: "a.key.1",
        toolCallId: "a",
        tool: "x",
        by: ANA,
      },
    });
    const recorded = turn.events.filter(({ type }) => type !== "tool_call_response");
    expect(
      JSON.stringify([recorded, turn.updates.filter(({ type }) => type !== "event")]),
    ).not.toContain("s3cret");
  });

  test("comes with its note, which is not recorded either", async () => {
    const tool = new FormTool("x", [{ ...KEY, allowsNote: true }]);
    const { turn, answer } = await start([call("x")], {
      tools: [tool],
      script: { answers: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    await answer(read(turn, REDACTED), s3cret("from the safe"));
    await end;
    expect(tool.attempts.at(-1)?.notes).toEqual({ key: "from the safe" });
    expect(JSON.stringify(turn.events)).not.toContain("from the safe");
  });

  test.each<[string, AnswerEvent, AnswerOptions, string]>([
    ["as an ordinary answer", answerOf("a.key.1", "s3cret"), {}, "secret_elsewhere"],
    ["without the secret", REDACTED, {}, "secret_elsewhere"],
    ["with a note that is not asked for", REDACTED, s3cret("note"), "no_note"],
    [
      "for the whole turn",
      closedAfter("a.key.1", { outcome: "redacted", answeredBy: { ...ANA, scope: "turn" } }),
      s3cret(),
      "not_remembered",
    ],
  ])("is refused %s", async (_, event, options, code) => {
    const { turn, answer } = await start([call("x")], {
      tools: [new FormTool("x", [KEY])],
      script: { answers: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    const refused = await answer(read(turn, event), options);
    await answer(closedAfter("a.key.1", { outcome: "cancelled", reason: "user" }));
    await end;
    expect(refused).toMatchObject({ type: "refused", code });
    expect(JSON.stringify(turn.events)).not.toContain("s3cret");
  });

  test("is not taken for another kind of question", async () => {
    const { turn, answer } = await start([call("asker")], {
      tools: [asker],
      script: { answers: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    const event = closedAfter("a.sure.1", { outcome: "redacted", answeredBy: ANA });
    const refused = await answer(read(turn, event), s3cret());
    await answer(read(turn, answerOf("a.sure.1", true)));
    await end;
    expect(refused).toMatchObject({ type: "refused", code: "not_secret" });
  });

  test("is not taken by a turn that has left the question for later", async () => {
    const slow = new SlowTool();
    const { turn, answer } = await start([call("x"), call("slow", "b")], {
      tools: [new FormTool("x", [KEY]), slow],
      script: { answers: [{ isLater: true }] },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1 && slow.starts === 1);
    const given = read(turn, REDACTED);
    const result = await answer(given, s3cret());
    slow.release();
    expect([result, await end]).toEqual([NOT_ASKED, { type: "waiting" }]);
    expect(await answer(given, s3cret())).toEqual(NOT_ASKED);
  });

  test("is used even if it comes after its question was deferred, while the tool still waits", async () => {
    const tool = new FormTool("x", [KEY, booleanQuestion("sure", "Are you sure?")]);
    const { turn, answer } = await start([call("x")], {
      tools: [tool],
      config: { x: { detached: "defer", questions: { sure: { target: "assistant" } } } },
      isInteractive: false,
      answers: { "a.sure.1": true },
    });
    turn.inquiries.hold("a.sure.1");
    const end = turn.run();
    await until(() => turn.inquiries.calls.length === 1);
    const result = await answer(read(turn, REDACTED), s3cret());
    turn.inquiries.release("a.sure.1");
    await end;
    expect([result, tool.attempts.at(-1)?.answers, has(turn, "inquiry_request", 2)()]).toEqual([
      { type: "recorded" },
      { key: "s3cret", sure: true },
      true,
    ]);
  });
});

test("of a form, one question is answered elsewhere, and the others are asked again", async () => {
  const questions = [
    booleanQuestion("one", "One?"),
    textQuestion("two", "Two?"),
    textQuestion("three", "Three?"),
  ];
  const tool = new FormTool("x", questions);
  const { turn, answer } = await start([call("x")], {
    tools: [tool],
    script: { forms: [SILENT, [{ answer: true }, { answer: "3" }]] },
  });
  const end = turn.run();
  await until(() => turn.prompter.forms.length === 1);
  await answer(read(turn, answerOf("a.two.1", "2")));
  await end;
  expect({
    asked: turn.prompter.forms.map(({ fields }) => fields.map(({ questionId }) => questionId)),
    record: callsOf(turn).slice(5),
  }).toEqual({
    asked: [
      ["one", "two", "three"],
      ["one", "three"],
    ],
    record: [
      'a.two.1 answered: "2"',
      "a.one.1 answered: true",
      'a.three.1 answered: "3"',
      "a starts",
      'a gives: {"one":true,"two":"2","three":"3"}',
      "message: Done.",
    ],
  });
});

describe("a permission", () => {
  test.each([
    ["approved", ["a approved (run)", "a starts", "a gives: nothing"]],
    ["denied", ["a denied (run)", "a gives: Tool skipped by user."]],
  ] as const)("can be %s elsewhere", async (decision, expected) => {
    const { turn, answer } = await start([call("echo")], {
      tools: [echo],
      config: { echo: { run: "ask" } },
      script: { permissions: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.permissions.length === 1);
    const result = await answer(read(turn, decisionOf("echo", "run", decision)));
    await end;
    expect([result, callsOf(turn)]).toEqual([
      { type: "recorded" },
      ["a waits for permission (run)", ...expected, "message: Done."],
    ]);
  });

  test("that waits for its prompt can be given elsewhere, and the open prompt stays", async () => {
    const held = holdPrompt<never, { readonly type: "run"; readonly isRemembered: false }>();
    const { turn, answer } = await start([call("echo", "a"), call("echo", "b")], {
      tools: [echo],
      config: { echo: { run: "ask" } },
      script: { permissions: [held.reply as never] },
    });
    const end = turn.run();
    await until(has(turn, "permission_request", 2));
    const result = await answer(decisionOf("echo", "run", "denied", "b"));
    const isOpen = turn.prompter.permissions[0]?.signal.aborted === false;
    held.answer({ type: "run", isRemembered: false });
    await end;
    expect({ result, isOpen, asked: turn.prompter.permissions.length }).toEqual({
      result: { type: "recorded" },
      isOpen: true,
      asked: 1,
    });
    expect(turn.record).toEqual(
      expect.arrayContaining(["b gives: Tool skipped by user.", "a gives: nothing"]),
    );
  });

  test("comes without arguments, which only this process can check", async () => {
    const { turn, answer } = await start([call("echo")], {
      tools: [echo],
      config: { echo: { run: "ask" } },
      script: { permissions: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.permissions.length === 1);
    const edited = { ...decisionOf("echo", "run", "edited"), arguments: { text: "other" } };
    const byPolicy = {
      ...decisionOf("echo", "run", "approved"),
      decidedBy: { kind: "policy", key: "any" },
    } as const;
    const results = [await answer(read(turn, edited)), await answer(read(turn, byPolicy))];
    await answer(decisionOf("echo", "run", "denied"));
    await end;
    expect(results).toEqual([
      { type: "refused", code: "not_editable", reason: expect.any(String) },
      { type: "refused", code: "not_a_person", reason: expect.any(String) },
    ]);
  });
});

describe("a delivery", () => {
  const review = { tools: [echo], config: { echo: { result: "ask" } } };

  test("can be refused elsewhere", async () => {
    const { turn, answer } = await start([call("echo")], {
      ...review,
      script: { deliveries: SILENT },
    });
    const end = turn.run();
    await until(() => turn.prompter.deliveries.length === 1);
    await answer(decisionOf("echo", "deliver", "denied"));
    await end;
    expect(callsOf(turn).slice(2)).toEqual([
      "a waits for permission (deliver)",
      "a denied (deliver)",
      "a gives: Result delivery skipped by user.",
      "message: Done.",
    ]);
  });

  test("that was decided here is taken, although it is recorded only with the response", async () => {
    const held = holdAnswer("tool_call_response");
    const { turn, answer } = await start([call("echo")], {
      ...review,
      script: { deliveries: [{ type: "deliver" }] },
      beforeAppend: held.beforeAppend,
    });
    const end = turn.run();
    await held.started;
    const other = answer(decisionOf("echo", "deliver", "denied"));
    await settle();
    held.write();
    await end;
    const result = await other;
    expect(result).toMatchObject({ type: "taken", event: { decision: "approved" } });
    expect(turn.record.filter((line) => line.includes("(deliver)"))).toEqual([
      "a waits for permission (deliver)",
      "a approved (deliver)",
    ]);
  });
});

test("a doubt about a call can be resolved elsewhere", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await store.create({});
  const { timestamp } = turnStart();
  const approved = { ...decisionOf("echo", "run", "approved") };
  const attempt = { type: "attempt_start", timestamp, toolCallId: "a" } as const;
  await conversation.append(
    turnStart(),
    chatRequest("Hello"),
    toolCall("a", "echo"),
    approved,
    attempt,
  );
  const options = { tools: [echo], script: { answers: SILENT }, conversation };
  const { turn, answer } = await start([], options, store);
  const end = turn.resume();
  await until(() => turn.prompter.questions.length === 1);
  const result = { content: "it had worked", isError: false };
  await answer(read(turn, { ...decisionOf("echo", "rerun", "edited"), result }));
  expect(await end).toEqual({ type: "done", reason: "stop" });
  expect(callsOf(turn).slice(2)).toEqual([
    "resumed",
    "a waits for permission (rerun)",
    "a edited (rerun)",
    "a gives: it had worked",
    "message: Done.",
  ]);
});

test("a turn that nobody here can answer goes on with what comes from elsewhere while it runs", async () => {
  const slow = new SlowTool("slow");
  const { turn, answer } = await start([call("asker", "a"), call("slow", "b")], {
    tools: [asker, slow],
    config: { asker: { detached: "defer" } },
    isInteractive: false,
  });
  const end = turn.run();
  await until(has(turn, "inquiry_request"));
  const result = await answer(read(turn, answerOf("a.sure.1", true)));
  slow.release();
  expect([result, await end]).toEqual([{ type: "recorded" }, { type: "done", reason: "stop" }]);
  expect(turn.record).toContain("a gives: got true");
});
