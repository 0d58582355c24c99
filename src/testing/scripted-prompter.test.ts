import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import type {
  DeliveryRequest,
  DoubtRequest,
  FormRequest,
  PermissionRequest,
  QuestionRequest,
} from "../core/agent/index.ts";
import {
  type ConversationId,
  type InquiryId,
  questionAbout,
} from "../record/conversation/index.ts";
import { secretQuestion, textQuestion } from "../record/tool/index.ts";
import { holdPrompt, type ScriptedAnswer, ScriptedPrompter } from "./scripted-prompter.ts";

function base(id: string, signal = new AbortController().signal) {
  return {
    inquiryId: `call_1.${id}.1` as InquiryId, // In the format of the agent.
    conversation: "jp-c17000000000" as ConversationId, // In the format of the store.
    toolCallId: "call_1",
    tool: "sweep",
    origin: { type: "program" },
    arguments: {},
    source: { source: "tool", name: "sweep" },
    label: "sweep",
    signal,
    allowsLater: true,
    acts: false,
    digest: "d1",
  } as const;
}

function question(id: string, signal?: AbortSignal): QuestionRequest {
  const text = textQuestion(id, `What is ${id}?`);
  const asked = { question: text, questionId: id, canRemember: true };
  return { ...base(id, signal), kind: "question", ...asked };
}

function form(signal?: AbortSignal): FormRequest {
  const fields = ["a", "b"].map((id) => question(id, signal));
  return { ...base("a", signal), kind: "form", fields };
}

function permission(check: PermissionRequest["check"] = async () => undefined): PermissionRequest {
  const asked = { question: questionAbout("permission", "sweep"), canRemember: true };
  return { ...base("run"), kind: "permission", acts: true, ...asked, isEditing: false, check };
}

function delivery(): DeliveryRequest {
  const asked = { question: questionAbout("delivery", "sweep"), canRemember: false };
  const result = { content: "swept", isError: false, isEditing: false };
  return { ...base("deliver"), kind: "delivery", ...asked, ...result };
}

function doubt(): DoubtRequest {
  const asked = { question: questionAbout("in_doubt", "sweep"), canRemember: false };
  return { ...base("rerun"), kind: "in_doubt", acts: true, ...asked };
}

test("can leave a question or a form unanswered, and say who answered", async () => {
  const unanswered = { isUnanswered: "timed_out" } as const;
  const prompter = new ScriptedPrompter({
    answers: [unanswered, { answer: "one", userName: "Ana" }],
    forms: [[{ answer: "one" }, unanswered]],
  });
  const results = [await prompter.ask(question("a")), await prompter.ask(question("b"))];
  expect([...results, await prompter.ask(form())]).toMatchObject([
    { type: "unanswered", reason: "timed_out", inquiryId: "call_1.a.1" },
    { type: "answered", answer: "one", userName: "Ana" },
    { type: "unanswered", reason: "timed_out" },
  ]);
});

test("answers in order and keeps the requests", async () => {
  const prompter = new ScriptedPrompter({
    answers: [{ answer: "one", isRemembered: true }, { isCancelled: true }],
  });
  const [first, second] = [question("a"), question("b")];
  const results = [await prompter.ask(first), await prompter.ask(second)];
  expect([results, prompter.questions]).toEqual([
    [
      { type: "answered", inquiryId: "call_1.a.1", answer: "one", isRemembered: true },
      { type: "cancelled", inquiryId: "call_1.b.1" },
    ],
    [first, second],
  ]);
});

test("the scripted prompter answers a secret from its list like any other question", async () => {
  verifies("082/secret/prompter-double-answers-normally");
  const prompter = new ScriptedPrompter({ answers: [{ answer: "hunter2" }] });
  const request = { ...question("a"), question: secretQuestion("a", "Password?") };
  expect(await prompter.ask(request)).toEqual({
    type: "answered",
    inquiryId: "call_1.a.1",
    answer: "hunter2",
    isRemembered: false,
  });
});

test("adds a note", async () => {
  const prompter = new ScriptedPrompter({ answers: [{ answer: "one", note: "why not" }] });
  expect(await prompter.ask(question("a"))).toEqual({
    type: "answered",
    inquiryId: "call_1.a.1",
    answer: "one",
    isRemembered: false,
    note: "why not",
  });
});

describe("a form", () => {
  const ID = { inquiryId: "call_1.a.1" };
  const RESULTS = {
    type: "form",
    ...ID,
    results: [
      { type: "answered", inquiryId: "call_1.a.1", answer: "one", isRemembered: false },
      { type: "answered", inquiryId: "call_1.b.1", answer: "two", isRemembered: false, note: "!" },
    ],
  };

  test("is answered from its own list and kept", async () => {
    const answers = [{ answer: "one" }, { answer: "two", note: "!" }];
    const prompter = new ScriptedPrompter({ forms: [answers, { isCancelled: true }] });
    const request = form();
    const results = [await prompter.ask(request), await prompter.ask(form())];
    expect([results, prompter.forms[0], prompter.questions]).toEqual([
      [RESULTS, { type: "cancelled", ...ID }],
      request,
      [],
    ]);
  });

  test("can be answered by a function", async () => {
    const prompter = new ScriptedPrompter({
      forms: ({ fields }) => fields.map(({ question: { text } }) => ({ answer: text })),
    });
    expect(await prompter.ask(form())).toMatchObject({
      results: [{ answer: "What is a?" }, { answer: "What is b?" }],
    });
  });

  test("is answered field by field without a list", async () => {
    const answers = [{ answer: "one" }, { answer: "two", note: "!" }];
    const prompter = new ScriptedPrompter({ answers });
    const result = await prompter.ask(form());
    expect([result, prompter.questions.map(({ inquiryId }) => inquiryId)]).toEqual([
      RESULTS,
      ["call_1.a.1", "call_1.b.1"],
    ]);
  });

  test("is cancelled at its first cancelled field, and asks no more", async () => {
    const prompter = new ScriptedPrompter({ answers: [{ isCancelled: true }] });
    const own = new ScriptedPrompter({ forms: [[{ answer: "one" }, { isCancelled: true }]] });
    const results = [await prompter.ask(form()), await own.ask(form())];
    expect([results, prompter.questions.length]).toEqual([
      [
        { type: "cancelled", ...ID },
        { type: "cancelled", ...ID },
      ],
      1,
    ]);
  });

  test("uses up no answer if it is aborted beforehand", async () => {
    const prompter = new ScriptedPrompter({ forms: [] });
    const result = await prompter.ask(form(AbortSignal.abort()));
    expect([result, prompter.forms]).toEqual([{ type: "interrupted", ...ID }, []]);
  });

  test("is an error of the script with a wrong number of answers", async () => {
    const prompter = new ScriptedPrompter({ forms: [[{ answer: "one" }]] });
    const refused = prompter.ask(form());
    await expect(refused).rejects.toThrow("The script has 1 answers for a form of 2 fields.");
    const missing = prompter.ask(form());
    await expect(missing).rejects.toThrow('The script has no form for "What is a?", "What is b?".');
  });
});

test("can answer with a function of the question", async () => {
  const prompter = new ScriptedPrompter({
    answers: ({ question: { text } }) => ({ answer: text }),
  });
  expect(await prompter.ask(question("a"))).toMatchObject({ answer: "What is a?" });
});

test("can be unavailable, and has a configurable channel", () => {
  const prompter = new ScriptedPrompter({}, "page");
  const before = prompter.canAsk();
  prompter.isAvailable = false;
  expect([prompter.channel, before, prompter.canAsk()]).toEqual(["page", true, false]);
});

test("a held prompt stays open until it is answered", async () => {
  const held = holdPrompt<QuestionRequest | DoubtRequest, ScriptedAnswer>();
  const prompter = new ScriptedPrompter({ answers: [held.reply, { answer: "two" }] });
  const request = question("a");
  const result = prompter.ask(request);
  const opened = await held.opened;
  held.answer({ answer: "at last" });
  expect([opened, await result, await prompter.ask(question("b"))]).toEqual([
    request,
    { type: "answered", inquiryId: "call_1.a.1", answer: "at last", isRemembered: false },
    { type: "answered", inquiryId: "call_1.b.1", answer: "two", isRemembered: false },
  ]);
});

test.each([
  ["a question", question("a"), 'The script has no answer to "What is a?".'],
  ["a permission", permission(), "The script has no permission for sweep."],
  ["a delivery", delivery(), "The script has no delivery decision for sweep."],
] as const)(
  "%s without a script is an error that says what is missing",
  async (_, request, message) => {
    const prompter = new ScriptedPrompter({ answers: [] });
    await expect(prompter.ask(request)).rejects.toThrow(message);
  },
);

test("an interrupt without a script is an error that says what is missing", async () => {
  const { signal } = new AbortController();
  const chosen = new ScriptedPrompter().choose({ choices: [], signal });
  await expect(chosen).rejects.toThrow("The script has no interrupt choice.");
});

test("says yes or no to calls and their results, in the words of the script", async () => {
  const prompter = new ScriptedPrompter({
    answers: [{ answer: "skip" }],
    permissions: [
      { type: "run", isRemembered: true, userName: "Ana" },
      { type: "skip", reason: "not now" },
      { type: "later" },
    ],
    deliveries: [
      { type: "deliver", content: "clean" },
      { type: "withhold" },
      { type: "cancelled" },
    ],
  });
  const asked = [
    doubt(),
    permission(),
    permission(),
    permission(),
    delivery(),
    delivery(),
    delivery(),
  ];
  const results: unknown[] = [];
  for (const request of asked) results.push(await prompter.ask(request));
  const run = { inquiryId: "call_1.run.1", type: "answered" };
  const deliver = { inquiryId: "call_1.deliver.1", type: "answered" };
  expect(results).toEqual([
    { inquiryId: "call_1.rerun.1", type: "answered", answer: "skip", isRemembered: false },
    { ...run, answer: true, isRemembered: true, userName: "Ana" },
    { ...run, answer: false, note: "not now" },
    { ...run, type: "later" },
    { ...deliver, answer: true, content: "clean" },
    { ...deliver, answer: false },
    { ...deliver, type: "cancelled" },
  ]);
});

test("a function's error is thrown", async () => {
  const prompter = new ScriptedPrompter({
    answers: () => Promise.reject(new Error("No such luck.")),
  });
  await expect(prompter.ask(question("a"))).rejects.toThrow("No such luck.");
});

test("invalid arguments are an error of the script", async () => {
  const edited = { type: "run", isRemembered: false, arguments: { a: 1 } } as const;
  const prompter = new ScriptedPrompter({ permissions: [edited, edited] });
  const refused = prompter.ask(permission(async () => "a is too small"));
  await expect(refused).rejects.toThrow("The arguments in the script are invalid: a is too small");
  expect(await prompter.ask(permission())).toEqual({
    inquiryId: "call_1.run.1",
    type: "answered",
    answer: true,
    isRemembered: false,
    arguments: { a: 1 },
  });
});

test("a request that is aborted beforehand uses up no answer", async () => {
  const prompter = new ScriptedPrompter({ answers: [{ answer: "one" }] });
  const aborted = await prompter.ask(question("a", AbortSignal.abort()));
  const answered = await prompter.ask(question("b"));
  expect([aborted, answered, prompter.questions.length]).toEqual([
    { type: "interrupted", inquiryId: "call_1.a.1" },
    { type: "answered", inquiryId: "call_1.b.1", answer: "one", isRemembered: false },
    1,
  ]);
});
