import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/conformance/manifest.ts";
import type { Outcome, ToolCall } from "../../../record/tool/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";
import { checkArguments } from "../../json-schema/check-arguments.ts";
import { createAskUser } from "./ask-user.ts";

const { tool, config } = createAskUser();
const { signal } = new AbortController();

function run(args: JsonObject, given: Pick<ToolCall, "answers" | "notes">): Promise<Outcome> {
  return tool.execute({ arguments: args, ...given, signal });
}

/** Runs it with the answer to its only question. */
function answer(args: JsonObject, given: Json): Promise<Outcome> {
  return run({ question: "Which?", ...args }, { answers: { answer: given } });
}

function success(result: JsonObject): Outcome {
  return { type: "success", content: JSON.stringify(result) };
}

const MISFIT: Outcome = {
  type: "error",
  message: "the accumulated answer does not match the requested answer type",
  trace: [],
  transient: false,
};
const SELECT = { answer_type: "select", options: ["backup", { value: "abort", preview: "-" }] };
const FORM = {
  question: "Go on?",
  answer_type: "boolean",
  more: [{ question: "Where?", ...SELECT }, { question: "Why?" }],
};

describe("ask_user without answers", () => {
  test("asks its question, named `answer`", async () => {
    verifies(
      "083/ask-user/first-entry-asks",
      "083/ask-user/one-question-named-answer",
      "083/ask-user/question-is-exclusive",
      "083/ask-user/question-is-not-remembered",
    );
    const args = {
      question: "Go on?",
      context: "Two\nlines.",
      answer_type: "boolean",
      default: true,
    };
    expect(await run(args, { answers: {} })).toStrictEqual({
      type: "needs_input",
      question: {
        id: "answer",
        text: "Go on?",
        answerType: { type: "boolean" },
        context: "Two\nlines.",
        default: true,
        exclusive: true,
        persistence: "none",
        allowsNote: true,
      },
    });
  });

  test("asks the questions of `more` together with it, in order", async () => {
    expect(await run(FORM, { answers: {} })).toMatchObject({
      type: "needs_input",
      question: { id: "answer", text: "Go on?" },
      more: [
        { id: "answer_2", text: "Where?" },
        { id: "answer_3", text: "Why?" },
      ],
    });
  });

  test("rejects an invalid question and says what to correct", async () => {
    verifies("083/ask-user/errors-tell-the-model-what-to-change");
    expect(await run({ question: "" }, { answers: {} })).toStrictEqual({
      type: "error",
      message: "`question` is missing or empty: write the question on a single line.",
      trace: [],
      transient: false,
    });
  });

  test("asks again only for the answers that are missing", async () => {
    const outcome = await run(FORM, { answers: { answer: true, answer_3: "because" } });
    expect(outcome).toMatchObject({ type: "needs_input", question: { id: "answer_2" } });
    expect(outcome).not.toHaveProperty("more");
  });

  test("an inherited property does not count as an answer", async () => {
    const inherited = Object.create({ answer: "from nowhere" }) as Record<string, Json>; // No own key.
    expect(await run({ question: "Which?" }, { answers: inherited })).toMatchObject({
      type: "needs_input",
    });
  });
});

describe("a call of ask_user with an answer", () => {
  test.each([true, false])("succeeds with the boolean that was given: %s", async (given) => {
    verifies("083/ask-user/second-entry-succeeds", "083/ask-user/boolean-result");
    expect(await answer({ answer_type: "boolean" }, given)).toStrictEqual(
      success({ answer_type: "boolean", answer: given }),
    );
  });

  test("succeeds with the option that was chosen", async () => {
    verifies("083/ask-user/second-entry-succeeds", "083/ask-user/select-result");
    expect([await answer(SELECT, "backup"), await answer(SELECT, "abort")]).toStrictEqual([
      success({ answer_type: "select", answer: "backup" }),
      success({ answer_type: "select", answer: "abort" }),
    ]);
  });

  test.each(["/tmp/output", "", "two\nlines", '"quoted" \u001B[2J'])(
    "succeeds with the text exactly as it was given: %j",
    async (text) => {
      verifies("083/ask-user/second-entry-succeeds", "083/ask-user/text-result");
      expect(await answer({}, text)).toStrictEqual(success({ answer_type: "text", answer: text }));
    },
  );

  test("succeeds with different results for true, an option `true` and the text `true`", async () => {
    verifies("083/ask-user/result-tells-types-apart");
    const results = [
      await answer({ answer_type: "boolean" }, true),
      await answer({ answer_type: "select", options: ["true"] }, "true"),
      await answer({ answer_type: "text" }, "true"),
    ];
    expect(results).toStrictEqual([
      success({ answer_type: "boolean", answer: true }),
      success({ answer_type: "select", answer: "true" }),
      success({ answer_type: "text", answer: "true" }),
    ]);
  });

  test("succeeds with an answer in the user's own words, marked as such", async () => {
    expect(await answer(SELECT, "neither of them")).toStrictEqual(
      success({ answer_type: "select", answer: "neither of them", other: true }),
    );
  });

  test("succeeds with the user's notes beside the answers", async () => {
    const notes = { answer: "but hurry", answer_3: "I think" };
    const one = await run({ question: "Which?" }, { answers: { answer: "x" }, notes });
    const answers = { answer: false, answer_2: "abort", answer_3: "no" };
    const form = await run(FORM, { answers, notes });
    expect([one, form]).toStrictEqual([
      success({ answer_type: "text", answer: "x", note: "but hurry" }),
      success({
        answer_type: "boolean",
        answer: false,
        note: "but hurry",
        more: [
          { answer_type: "select", answer: "abort" },
          { answer_type: "text", answer: "no", note: "I think" },
        ],
      }),
    ]);
  });

  test("succeeds with all answers of a form, in the order of its questions", async () => {
    const answers = { answer_3: "no reason", answer_2: "somewhere else", answer: true };
    expect(await run(FORM, { answers })).toStrictEqual(
      success({
        answer_type: "boolean",
        answer: true,
        more: [
          { answer_type: "select", answer: "somewhere else", other: true },
          { answer_type: "text", answer: "no reason" },
        ],
      }),
    );
  });
});

describe("an answer of the wrong type", () => {
  test.each<[string, JsonObject, Json]>([
    ["a text for a boolean", { answer_type: "boolean" }, "true"],
    ["null for a boolean", { answer_type: "boolean" }, null],
    ["a number for a text", {}, 5],
    ["null for a text", {}, null],
    ["a list for a select", SELECT, ["backup"]],
    ["an empty text for a select", SELECT, ""],
    ["only spaces for a select", SELECT, "  "],
    ["true for a select with an option `true`", { answer_type: "select", options: ["true"] }, true],
  ])("is rejected with a general message: %s", async (_, args, given) => {
    verifies(
      "083/ask-user/answer-of-wrong-type-is-an-error",
      "083/ask-user/answer-error-wording-is-generic",
    );
    expect(await answer(args, given)).toStrictEqual(MISFIT);
  });

  test("is rejected if it is free text for a strict select", async () => {
    verifies(
      "083/ask-user/answer-outside-options-is-an-error",
      "083/ask-user/answer-error-wording-is-generic",
    );
    const strict = { ...SELECT, strict: true };
    expect([await answer(strict, "overwrite"), await answer(strict, "backup")]).toStrictEqual([
      MISFIT,
      success({ answer_type: "select", answer: "backup" }),
    ]);
  });

  test("is rejected if it is one wrong answer in a form", async () => {
    verifies("083/ask-user/answer-of-wrong-type-is-an-error");
    const answers = { answer: true, answer_2: "backup", answer_3: 5 };
    expect(await run(FORM, { answers })).toStrictEqual(MISFIT);
  });
});

test("the questions of ask_user come from the assistant, whatever name config gives the tool", () => {
  verifies("083/ask-user/recorded-as-the-assistants");
  expect([tool.inquirySource("ask_user"), tool.inquirySource("ask")]).toEqual([
    { source: "assistant" },
    { source: "assistant" },
  ]);
});

test("the ask_user tool is on by default, needs no permission and is hidden from the display", () => {
  verifies(
    "083/config/source-is-builtin",
    "083/config/enabled-by-default",
    "083/config/label-is-assistant",
    "083/config/hidden-from-the-display",
  );
  const { description: _description, parameters: _parameters, ...rest } = config;
  const label = { prompt_label: "Assistant" };
  expect(rest).toStrictEqual({
    source: "builtin",
    enable: { state: true, allow_toggle: "if_named" },
    run: "unattended",
    result: "unattended",
    questions: { answer: label, answer_2: label, answer_3: label, answer_4: label },
    style: { hidden: true, inline_results: "off", parameters: "off" },
  });
});

const OPTION = {
  type: "object",
  properties: {
    value: { type: "string" },
    description: { type: "string" },
    preview: { type: "string" },
  },
  required: ["value"],
  additionalProperties: false,
};

const QUESTION = {
  question: { type: "string" },
  context: { type: "string" },
  answer_type: { type: "string", enum: ["boolean", "select", "text"] },
  options: { type: "array", items: OPTION },
  default: { type: "string" },
  strict: { type: "boolean" },
};

describe("the schema of ask_user", () => {
  test("offers all parameters and requires only the question", () => {
    verifies(
      "083/ask-user/parameter-question",
      "083/ask-user/parameter-context",
      "083/ask-user/parameter-answer-type",
      "083/ask-user/parameter-options",
      "083/ask-user/parameter-default",
    );
    const closed = { required: ["question"], additionalProperties: false };
    expect(withoutDescriptions(tool.parameters)).toStrictEqual({
      type: "object",
      properties: {
        ...QUESTION,
        more: { type: "array", items: { type: "object", properties: QUESTION, ...closed } },
      },
      ...closed,
    });
  });

  test("uses only keywords that every provider supports", () => {
    verifies("083/ask-user/schema-accepted-by-providers");
    const nodes = schemasIn(tool.parameters);
    const types = new Set(nodes.flatMap(({ type }) => type ?? "missing"));
    const keywords = new Set(nodes.flatMap((node) => Object.keys(node)));
    expect({ types, keywords }).toEqual({
      types: new Set(["array", "boolean", "object", "string"]),
      keywords: new Set([
        "additionalProperties",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "type",
      ]),
    });
  });

  test("describes every parameter", () => {
    const members = schemasIn(tool.parameters).flatMap(({ properties }) =>
      isJsonObject(properties) ? Object.values(properties) : [],
    );
    const undescribed = members.filter(
      (member) => !isJsonObject(member) || typeof member["description"] !== "string",
    );
    expect(undescribed).toEqual([]);
  });

  test.each<[string, JsonObject]>([
    ["a question alone", { question: "Which?" }],
    ["everything", { question: "Which?", context: "a\nb", answer_type: "text", default: "x" }],
    ["a default of yes or no", { question: "Sure?", answer_type: "boolean", default: "false" }],
    [
      "options",
      {
        question: "Which?",
        answer_type: "select",
        options: [{ value: "a" }, { value: "b", description: "B", preview: "b\nb" }],
        strict: true,
      },
    ],
    ["more questions", { question: "1?", more: [{ question: "2?", answer_type: "boolean" }] }],
  ])("accepts %s unchanged", async (_, args) => {
    expect(await checkArguments(tool, args)).toEqual({ ok: true, arguments: args });
  });

  test("accepts a boolean as default, and options that are only texts", async () => {
    const asked = { question: "Which?", answer_type: "select", options: ["a", "true"] };
    const args = { ...asked, more: [{ question: "Sure?", answer_type: "boolean", default: true }] };
    expect(await checkArguments(tool, args)).toEqual({
      ok: true,
      arguments: {
        ...args,
        options: [{ value: "a" }, { value: "true" }],
        more: [{ question: "Sure?", answer_type: "boolean", default: "true" }],
      },
    });
  });

  test.each<[string, JsonObject, string]>([
    ["no question", {}, "`question`: missing"],
    [
      "another kind of answer",
      { question: "Key?", answer_type: "secret" },
      '`answer_type`: expected "boolean" or "select" or "text", got "secret"',
    ],
    ["a number as default", { question: "?", default: 3 }, "`default`: expected string, got 3"],
    [
      "an option that is a number",
      { question: "?", options: [5] },
      "`options[0]`: expected object, got 5",
    ],
    [
      "an option without a value",
      { question: "?", options: [{ description: "b" }] },
      "`options[0].value`: missing",
    ],
    [
      "a question in `more` without its text",
      { question: "?", more: [{ strict: true }] },
      "`more[0].question`: missing",
    ],
    [
      "`more` inside `more`",
      { question: "?", more: [{ question: "?", more: [] }] },
      "`more[0].more`: unknown; known keys: `question`, `context`, `answer_type`, `options`, " +
        "`default`, `strict`",
    ],
  ])(
    "rejects invalid arguments before the tool runs, and says what is wrong: %s",
    async (_, args, problem) => {
      verifies(
        "083/ask-user/three-answer-types-only",
        "083/ask-user/missing-question-is-an-error",
        "083/ask-user/errors-tell-the-model-what-to-change",
      );
      const checked = await checkArguments(tool, args);
      expect(checked.ok ? undefined : checked.message.split("\n")[1]).toBe(`- ${problem}`);
    },
  );
});

/** Each of these prevents a known failure of assistants that may ask questions. */
describe("the description of ask_user", () => {
  test.each([
    [
      "to ask only for what the user alone knows",
      "Use it only if you cannot continue without something",
    ],
    ["to look for the answer first", "cannot find in the conversation or with your other tools"],
    ["to answer if in doubt", "If in doubt, answer the user's request directly."],
    ["not to confirm the obvious", "Do not ask the user to confirm obvious next steps"],
    ["not to ask again", "do not repeat a question that was answered"],
  ])("tells the model when not to ask: %s", (_, words) => {
    verifies("083/config/description-limits-use");
    expect(tool.description).toContain(words);
  });

  test("tells the model never to ask for secrets, and why", () => {
    verifies("083/config/description-warns-about-secrets");
    expect(tool.description).toContain(
      "Never ask for secrets (passwords, API keys, passphrases): answers are returned to you and " +
        "stored in the conversation.",
    );
  });

  test.each([
    ["not to retry if the user cannot be reached", "Do not call it again in this turn"],
    ["what to do instead", "continue without the answer, or say what is missing"],
    ["that it never gets a made-up answer", "No answer is ever made up for the user."],
    [
      "to ask related questions together",
      "Ask related questions together in one call, with `more`",
    ],
  ])("tells the model what else to do: %s", (_, words) => {
    expect(tool.description).toContain(words);
  });
});

test("the ask_user tool has no summary, so its whole description is sent with every request", () => {
  verifies("083/config/description-reaches-the-model");
  expect([config.description, config.summary]).toEqual([tool.description, undefined]);
});

/** A schema and all schemas nested in it. */
function schemasIn(schema: Json | undefined): readonly JsonObject[] {
  if (schema === undefined || !isJsonObject(schema)) return [];
  const { properties = {}, items } = schema;
  const members = isJsonObject(properties) ? Object.values(properties) : [];
  return [schema, ...members.flatMap(schemasIn), ...schemasIn(items)];
}

function withoutDescriptions(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutDescriptions);
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).filter(
    ([key, value]) => !(key === "description" && typeof value === "string"),
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutDescriptions(value)]));
}
