import { describe, expect, test } from "vitest";
import type { PermissionRequest, PromptRequest, QuestionRequest } from "../agent/index.ts";
import { type ConversationId, type InquiryId, questionAbout } from "../conversation/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import {
  createElicitationPrompter,
  type ElicitReply,
  type Form,
  readForm,
  toForm,
} from "./elicitation.ts";

const OPTIONS = [{ value: "dev", description: "torn down\nat night", preview: "a\nb" }, "prod"];

function fieldsOf(...questions: readonly Question[]) {
  return questions.map((question) => ({
    inquiryId: question.id as InquiryId,
    question,
    acts: false,
  }));
}

describe("a form", () => {
  test("says everything in its message, and has a property for each kind of answer", () => {
    const fields = fieldsOf(
      booleanQuestion("a", "Sure?", { default: true, allowsNote: true }),
      selectQuestion("b", "Which?", { options: OPTIONS, context: "Both.", allowsOther: true }),
      textQuestion("c", "Na\u001Bme?", { default: "web" }),
    );
    expect(toForm(fields, "titles")).toEqual({
      message: "1. Sure?\n\n2. Which?\n\nBoth.\n\ndev:\na\nb\n\n3. Na␛me?",
      requestedSchema: {
        type: "object",
        properties: {
          answer: { type: "boolean", title: "Sure?", default: true },
          answer_note: {
            type: "string",
            title: "Note",
            description: "Anything you want to add to your answer: Sure?",
          },
          answer_2: {
            type: "string",
            title: "Which?",
            oneOf: [
              { const: "dev", title: "dev: torn down at night" },
              { const: "prod", title: "prod" },
            ],
          },
          answer_2_other: {
            type: "string",
            title: "Other",
            description: "Your own answer, instead of the options: Which?",
          },
          answer_3: { type: "string", title: "Na␛me?", default: "web" },
        },
        required: ["answer", "answer_3"],
      },
    });
  });

  test("of one question does not count it; options without descriptions are a plain list", () => {
    const field = selectQuestion("a", "Which?", { options: ["x", "y"], default: "y" });
    expect(toForm(fieldsOf(field), "titles")).toEqual({
      message: "Which?",
      requestedSchema: {
        type: "object",
        properties: {
          answer: { type: "string", title: "Which?", enum: ["x", "y"], default: "y" },
        },
        required: ["answer"],
      },
    });
  });

  test.each([
    ["a secret", secretQuestion("a", "Key?"), "a secret must not go through a client"],
    [
      "a choice of several",
      selectQuestion("a", "Which?", { options: ["x"], isMultiple: true }),
      "the client cannot show such a choice",
    ],
  ])("never contains %s", (_, question, problem) => {
    expect(() => toForm(fieldsOf(question), "titles")).toThrow(problem);
  });
});

describe("a submitted form", () => {
  const open = selectQuestion("a", "Which?", {
    options: [{ value: 1 }, { value: "1x" }],
    allowsOther: true,
    allowsNote: true,
  });

  test.each<[string, JsonObject, JsonObject]>([
    ["an option, as it was before it became a text", { answer: "1" }, { answer: 1 }],
    ["one's own words, before an option", { answer: "1", answer_other: " c " }, { answer: "c" }],
    ["an option, if there are no words", { answer: "1x", answer_other: " " }, { answer: "1x" }],
    ["a note", { answer: "1x", answer_note: "why" }, { answer: "1x", note: "why" }],
  ])("is read as %s", (_, content, read) => {
    expect(readForm(fieldsOf(open), content)).toEqual([
      { inquiryId: "a", type: "answered", isRemembered: false, ...read },
    ]);
  });

  test.each<[string, JsonObject, string]>([
    ["nothing", {}, "`answer` has no answer"],
    ["another text among the options", { answer: "c" }, '`answer`: expected one of 1, "1x"'],
    ["free text that is not text", { answer_other: ["c"] }, "`answer_other` is not text"],
    ["a note that is not text", { answer: "1", answer_note: {} }, "`answer_note` is not text"],
  ])("is refused if it is %s", (_, content, problem) => {
    expect(() => readForm(fieldsOf(open), content)).toThrow(problem);
  });
});

/** The form that the client's user sees, and the result of the reply. */
async function decide(request: PromptRequest, reply: ElicitReply) {
  const forms: Form[] = [];
  const prompter = createElicitationPrompter({
    channel: "mcp:editor",
    notation: "titles",
    elicit: async (form) => {
      forms.push(form);
      return reply;
    },
  });
  const result = await prompter.ask(request);
  return { result, message: forms[0]?.message, schema: forms[0]?.requestedSchema };
}

describe("a client's user", () => {
  const signal = new AbortController().signal;
  const DEPLOY = {
    inquiryId: "call_1:run:1" as InquiryId,
    conversation: "jp-c1" as ConversationId,
    toolCallId: "call_1",
    tool: "deploy",
    origin: { type: "local", command: "sh deploy.sh" },
    folder: "site  a",
    arguments: { to: "li\u202Eve\u00A0" },
    source: { source: "assistant" },
    label: "assistant",
    signal,
    allowsLater: false,
    acts: true,
    digest: "d1",
    canRemember: false,
  } as const;
  const PERMISSION: PermissionRequest = {
    ...DEPLOY,
    kind: "permission",
    question: questionAbout("permission", "deploy"),
    isEditing: false,
  };
  const SURE: QuestionRequest = {
    ...DEPLOY,
    kind: "question",
    inquiryId: "call_1.sure.1" as InquiryId,
    questionId: "sure",
    question: booleanQuestion("sure", "Sure\u00A0?", { exclusive: true }),
  };
  const CALL =
    'Tool: "deploy"\nSource: local command "sh deploy.sh"\nFolder: "site<2 spaces>a"\n' +
    'Arguments: {"to":"li<U+202E>ve<U+00A0>"}';

  test("sees where a tool comes from and what it would run with, before the question", async () => {
    const yes = { action: "accept", content: { answer: true } } as const;
    expect(await decide(PERMISSION, yes)).toEqual({
      result: { type: "answered", inquiryId: "call_1:run:1", answer: true, isRemembered: false },
      message: `${CALL}\n\nRun deploy?`,
      schema: {
        type: "object",
        properties: { answer: { type: "boolean", title: "Run deploy?" } },
        required: ["answer"],
      },
    });
  });

  test("sees the same with a question that acts, alone or in a form, and what has changed", async () => {
    const form = { ...DEPLOY, kind: "form", fields: [SURE, SURE], changed: ["file"] } as const;
    const both = { action: "accept", content: { answer: true, answer_2: false } } as const;
    const one = { action: "accept", content: { answer: false } } as const;
    const answered = { type: "answered", inquiryId: "call_1.sure.1", isRemembered: false };
    expect([await decide(SURE, one), await decide(form, both)]).toMatchObject([
      { result: { ...answered, answer: false }, message: `${CALL}\n\nSure<U+00A0>?` },
      {
        result: {
          type: "form",
          inquiryId: "call_1:run:1",
          results: [
            { ...answered, answer: true },
            { ...answered, answer: false },
          ],
        },
        message: `Changed since you decided: a file that its command names\n\n${CALL}\n\n1. Sure<U+00A0>?\n\n2. Sure<U+00A0>?`,
      },
    ]);
  });

  test("sees a result before deciding who else does", async () => {
    const request = {
      ...DEPLOY,
      kind: "delivery",
      inquiryId: "call_1:deliver:1" as InquiryId,
      question: questionAbout("delivery", "deploy"),
      acts: false,
      content: "It is \u001Blive.",
      isError: false,
      isEditing: false,
    } as const;
    expect(await decide(request, { action: "decline" })).toMatchObject({
      result: {
        type: "unanswered",
        reason: "declined_by_client",
        inquiryId: "call_1:deliver:1",
      },
      message: "Show the model the result of deploy?\n\nIt is ␛live.",
    });
  });

  test("is not asked to edit anything, because clients have no editor", async () => {
    const editing = { ...PERMISSION, isEditing: true };
    await expect(decide(editing, { action: "decline" })).rejects.toThrow(
      "the client cannot show anything for editing",
    );
  });
});
