import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { PermissionRequest, PromptRequest, QuestionRequest } from "../../core/agent/index.ts";
import {
  type ConversationId,
  type InquiryId,
  questionAbout,
} from "../../record/conversation/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { createElicitationPrompter, type ElicitReply, type Form } from "./elicitation.ts";

const OPTIONS = [{ value: "dev", description: "torn down\nat night", preview: "a\nb" }, "prod"];
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

/** A form of these questions, or a single one. */
function asking(...questions: readonly Question[]): PromptRequest {
  const base = { ...DEPLOY, acts: false };
  const fields = questions.map((question): QuestionRequest => {
    const inquiryId = question.id as InquiryId;
    return { ...base, kind: "question", inquiryId, questionId: question.id, question };
  });
  const [first, ...more] = fields;
  if (first !== undefined && more.length === 0) return first;
  return { ...base, kind: "form", fields };
}

/** The forms that the client's user sees, and the result of the replies to them. The last one is repeated. */
async function decide(request: PromptRequest, ...replies: readonly ElicitReply[]) {
  const forms: Form[] = [];
  const prompter = createElicitationPrompter({
    channel: "mcp:editor",
    notation: "titles",
    elicit: async (form) => {
      forms.push(form);
      return replies[forms.length - 1] ?? replies.at(-1) ?? { action: "cancel" };
    },
  });
  const result = await prompter.ask(request);
  return { result, forms };
}

function accepting(content?: unknown): ElicitReply {
  return { action: "accept", content };
}

function answered(answers: JsonObject) {
  return Object.entries(answers).map(([inquiryId, answer]) => {
    return { inquiryId, type: "answered", answer, isRemembered: false };
  });
}

function requiredOf({ requestedSchema }: Form) {
  return requestedSchema.required;
}

describe("a form", () => {
  test("says everything in its message, and has a required property for each answer", async () => {
    const request = asking(
      booleanQuestion("a", "Sure?", { default: true, allowsNote: true }),
      selectQuestion("b", "Which?", { options: OPTIONS, context: "Both.", allowsOther: true }),
      textQuestion("c", "Na\u001Bme?", { default: "web" }),
    );
    const { forms } = await decide(request, { action: "cancel" });
    expect(forms).toEqual([
      {
        message: "1. Sure?\n\n2. Which?\n\nBoth.\n\ndev:\na\nb\n\n3. Na␛me?",
        requestedSchema: {
          type: "object",
          properties: {
            answer: { type: "boolean", title: "Sure?", default: true },
            answer_2: {
              type: "string",
              title: "Which?",
              oneOf: [
                { const: "dev", title: "dev: torn down at night" },
                { const: "prod", title: "prod" },
                { const: "Other", title: "Other" },
              ],
            },
            answer_3: { type: "string", title: "Na␛me?", default: "web" },
          },
          required: ["answer", "answer_2", "answer_3"],
        },
      },
    ]);
  });

  test("of one question does not count it; options without descriptions are a plain list", async () => {
    const request = asking(selectQuestion("a", "Which?", { options: ["x", "y"], default: "y" }));
    expect((await decide(request, { action: "cancel" })).forms).toEqual([
      {
        message: "Which?",
        requestedSchema: {
          type: "object",
          properties: {
            answer: { type: "string", title: "Which?", enum: ["x", "y"], default: "y" },
          },
          required: ["answer"],
        },
      },
    ]);
  });

  test.each([
    ["a secret", secretQuestion("a", "Key?"), "a secret must not go through a client"],
    [
      "a choice of several",
      selectQuestion("a", "Which?", { options: ["x"], isMultiple: true }),
      "the client cannot show such a choice",
    ],
  ])("never contains %s", async (_, question, problem) => {
    await expect(decide(asking(question))).rejects.toThrow(problem);
  });
});

describe("a submitted form", () => {
  const OPEN = { options: [{ value: 1 }, { value: "1x" }], allowsOther: true };
  const open = asking(selectQuestion("a", "Which?", OPEN));

  test.each<[string, JsonObject, Json]>([
    ["an option, as it was before it became a text", { answer: "1" }, 1],
    ["one's own words, if the client lets its user type them", { answer: " c " }, "c"],
  ])("is read as %s", async (_, content, answer) => {
    const { result, forms } = await decide(open, accepting(content));
    expect([result, forms.length]).toEqual([answered({ a: answer })[0], 1]);
  });

  test("is followed by another one for one's own words, if Other was chosen", async () => {
    const replies = [accepting({ answer: "Other" }), accepting({ answer_other: " c " })];
    const { result, forms } = await decide(open, ...replies);
    expect([result, forms[1]]).toEqual([
      answered({ a: "c" })[0],
      {
        message: "Your own answer: Which?",
        requestedSchema: {
          type: "object",
          properties: { answer_other: { type: "string", title: "Which?", minLength: 1 } },
          required: ["answer_other"],
        },
      },
    ]);
  });

  test("tells its own Other from an option of that name", async () => {
    const options = ["other", "Other: your own answer"];
    const request = asking(selectQuestion("a", "Which?", { options, allowsOther: true }));
    const { result, forms } = await decide(request, accepting({ answer: "other" }));
    expect([result, forms[0]?.requestedSchema.properties]).toEqual([
      answered({ a: "other" })[0],
      { answer: expect.objectContaining({ enum: [...options, "Other: your own answer."] }) },
    ]);
  });

  test("keeps its valid answers, and only the others are asked again", async () => {
    const request = asking(
      booleanQuestion("a", "Sure?"),
      selectQuestion("b", "Which?", { options: ["x", "y"] }),
      textQuestion("c", "Name?"),
      selectQuestion("d", "Where?", OPEN),
    );
    const { result, forms } = await decide(
      request,
      accepting({ answer: true, answer_2: "z", answer_4: "Other" }),
      accepting({ answer_4_other: "" }),
      accepting({ answer: false, answer_2: "y", answer_4: "1x" }),
      accepting({ answer_3: "web" }),
    );
    expect([result, forms.map(requiredOf), forms[2]?.message, forms[3]?.message]).toEqual([
      expect.objectContaining({ results: answered({ a: true, b: "y", d: "1x", c: "web" }) }),
      [
        ["answer", "answer_2", "answer_3", "answer_4"],
        ["answer_4_other"],
        ["answer_2", "answer_3", "answer_4"],
        ["answer_3"],
      ],
      `${AGAIN} The other answers are kept.\n\n1. Which?\n\n2. Name?\n\n3. Where?`,
      `${AGAIN} The other answers are kept.\n\nName?`,
    ]);
  });

  test("without answers to some questions leaves those without one in the end", async () => {
    const request = asking(booleanQuestion("a", "Sure?"), textQuestion("b", "Name?"));
    const { result, forms } = await decide(request, accepting({ answer: true }));
    expect([result, forms.length]).toEqual([
      expect.objectContaining({ results: answered({ a: true }) }),
      3,
    ]);
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "`answer` has no answer"],
    ["no answer", {}, "`answer` has no answer"],
    ["an empty text", { answer: " " }, '`answer`: expected one of 1, "1x"'],
    ["another type", { answer: true }, '`answer`: expected one of 1, "1x"'],
    ["no own words", { answer: "Other", answer_other: 3 }, "`answer_other` has no answer"],
  ])("is refused if there is never anything but %s", async (_, content, problem) => {
    await expect(decide(open, accepting(content))).rejects.toThrow(problem);
  });
});

const AGAIN = "An answer was missing or did not fit. Please answer again.";

describe("a client's user", () => {
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
    expect(await decide(PERMISSION, accepting({ answer: true }))).toEqual({
      result: { type: "answered", inquiryId: "call_1:run:1", answer: true, isRemembered: false },
      forms: [
        {
          message: `${CALL}\n\nRun deploy?`,
          requestedSchema: {
            type: "object",
            properties: { answer: { type: "boolean", title: "Run deploy?" } },
            required: ["answer"],
          },
        },
      ],
    });
  });

  test("sees the same with a question that acts, alone or in a form, and what has changed", async () => {
    const form = { ...DEPLOY, kind: "form", fields: [SURE, SURE], changed: ["file"] } as const;
    const both = accepting({ answer: true, answer_2: false });
    const one = accepting({ answer: false });
    const field = { type: "answered", inquiryId: "call_1.sure.1", isRemembered: false };
    expect([await decide(SURE, one), await decide(form, both)]).toMatchObject([
      { result: { ...field, answer: false }, forms: [{ message: `${CALL}\n\nSure<U+00A0>?` }] },
      {
        result: {
          type: "form",
          inquiryId: "call_1:run:1",
          results: [
            { ...field, answer: true },
            { ...field, answer: false },
          ],
        },
        forms: [
          {
            message: `Changed since you decided: a file that its command names\n\n${CALL}\n\n1. Sure<U+00A0>?\n\n2. Sure<U+00A0>?`,
          },
        ],
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
      forms: [{ message: "Show the model the result of deploy?\n\nIt is ␛live." }],
    });
  });

  test("does not count as having declined: the client may not have asked", async () => {
    counters("T-PROV-8");
    const replies = [{ action: "decline" }, { action: "cancel" }] as const;
    const decided = await Promise.all(replies.map((reply) => decide(SURE, reply)));
    const { inquiryId } = SURE;
    expect(decided.map(({ result }) => result)).toEqual(
      replies.map(() => ({ type: "unanswered", reason: "declined_by_client", inquiryId })),
    );
  });

  test("is not asked to edit anything, because clients have no editor", async () => {
    const editing = { ...PERMISSION, isEditing: true };
    await expect(decide(editing, { action: "decline" })).rejects.toThrow(
      "the client cannot show anything for editing",
    );
  });
});
