import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import type { FormRequest, PermissionRequest, PromptBase, PromptRequest } from "../agent/index.ts";
import type { ConversationId, InquiryId } from "../conversation/index.ts";
import { secretQuestion, textQuestion } from "../tool/index.ts";
import { holdPrompt, type ScriptedAnswer, ScriptedPrompter } from "./scripted-prompter.ts";

function base(id: string, signal = new AbortController().signal): PromptBase {
  return {
    inquiryId: `call_1.${id}.1` as InquiryId, // In the format of the agent.
    conversation: "jp-c17000000000" as ConversationId, // In the format of the store.
    toolCallId: "call_1",
    tool: "sweep",
    source: { source: "tool", name: "sweep" },
    label: "sweep",
    signal,
    allowsLater: true,
  };
}

function question(id: string, signal?: AbortSignal): PromptRequest {
  const text = textQuestion(id, `What is ${id}?`);
  return { ...base(id, signal), question: text, questionId: id, canRemember: true };
}

function form(signal?: AbortSignal): FormRequest {
  return { ...base("a", signal), fields: ["a", "b"].map((id) => question(id, signal)) };
}

function permission(check: PermissionRequest["check"] = async () => undefined): PermissionRequest {
  return {
    ...base("run"),
    origin: { type: "local" },
    arguments: {},
    isEditing: false,
    canRemember: true,
    check,
  };
}

test("can leave a question or a form unanswered, and say who answered", async () => {
  const unanswered = { isUnanswered: "timed_out" } as const;
  const prompter = new ScriptedPrompter({
    answers: [unanswered, { answer: "one", userName: "Ana" }],
    forms: [[{ answer: "one" }, unanswered]],
  });
  const results = [await prompter.ask(question("a")), await prompter.ask(question("b"))];
  expect([...results, await prompter.askForm(form())]).toMatchObject([
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
  const RESULTS = {
    type: "answered",
    results: [
      { type: "answered", inquiryId: "call_1.a.1", answer: "one", isRemembered: false },
      { type: "answered", inquiryId: "call_1.b.1", answer: "two", isRemembered: false, note: "!" },
    ],
  };

  test("is answered from its own list and kept", async () => {
    const answers = [{ answer: "one" }, { answer: "two", note: "!" }];
    const prompter = new ScriptedPrompter({ forms: [answers, { isCancelled: true }] });
    const request = form();
    const results = [await prompter.askForm(request), await prompter.askForm(form())];
    expect([results, prompter.forms[0], prompter.questions]).toEqual([
      [RESULTS, { type: "cancelled" }],
      request,
      [],
    ]);
  });

  test("can be answered by a function", async () => {
    const prompter = new ScriptedPrompter({
      forms: ({ fields }) => fields.map(({ question: { text } }) => ({ answer: text })),
    });
    expect(await prompter.askForm(form())).toMatchObject({
      results: [{ answer: "What is a?" }, { answer: "What is b?" }],
    });
  });

  test("is answered field by field without a list", async () => {
    const answers = [{ answer: "one" }, { answer: "two", note: "!" }];
    const prompter = new ScriptedPrompter({ answers });
    const result = await prompter.askForm(form());
    expect([result, prompter.questions.map(({ inquiryId }) => inquiryId)]).toEqual([
      RESULTS,
      ["call_1.a.1", "call_1.b.1"],
    ]);
  });

  test("is cancelled at its first cancelled field, and asks no more", async () => {
    const prompter = new ScriptedPrompter({ answers: [{ isCancelled: true }] });
    const own = new ScriptedPrompter({ forms: [[{ answer: "one" }, { isCancelled: true }]] });
    const results = [await prompter.askForm(form()), await own.askForm(form())];
    expect([results, prompter.questions.length]).toEqual([
      [{ type: "cancelled" }, { type: "cancelled" }],
      1,
    ]);
  });

  test("uses up no answer if it is aborted beforehand", async () => {
    const prompter = new ScriptedPrompter({ forms: [] });
    const result = await prompter.askForm(form(AbortSignal.abort()));
    expect([result, prompter.forms]).toEqual([{ type: "interrupted" }, []]);
  });

  test("is an error of the script with a wrong number of answers", async () => {
    const prompter = new ScriptedPrompter({ forms: [[{ answer: "one" }]] });
    const refused = prompter.askForm(form());
    await expect(refused).rejects.toThrow("The script has 1 answers for a form of 2 fields.");
    const missing = prompter.askForm(form());
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
  const held = holdPrompt<PromptRequest, ScriptedAnswer>();
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
  ["ask", 'The script has no answer to "What is a?".'],
  ["askPermission", "The script has no permission for sweep."],
  ["askDelivery", "The script has no delivery decision for sweep."],
  ["choose", "The script has no interrupt choice."],
] as const)(
  "%s without a script is an error that says what is missing",
  async (method, message) => {
    const prompter = new ScriptedPrompter({ answers: [] });
    const { signal } = new AbortController();
    const asked = {
      ask: () => prompter.ask(question("a")),
      askPermission: () => prompter.askPermission(permission()),
      askDelivery: () =>
        prompter.askDelivery({
          ...base("deliver"),
          content: "",
          isError: false,
          isEditing: false,
        }),
      choose: () => prompter.choose({ choices: [], signal }),
    }[method];
    await expect(asked()).rejects.toThrow(message);
  },
);

test("a function's error is thrown", async () => {
  const prompter = new ScriptedPrompter({
    answers: () => Promise.reject(new Error("No such luck.")),
  });
  await expect(prompter.ask(question("a"))).rejects.toThrow("No such luck.");
});

test("invalid arguments are an error of the script", async () => {
  const edited = { type: "run", isRemembered: false, arguments: { a: 1 } } as const;
  const prompter = new ScriptedPrompter({ permissions: [edited, edited] });
  const refused = prompter.askPermission(permission(async () => "a is too small"));
  await expect(refused).rejects.toThrow("The arguments in the script are invalid: a is too small");
  expect(await prompter.askPermission(permission())).toEqual(edited);
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
