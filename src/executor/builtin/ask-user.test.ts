import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import type { Outcome, ToolCall } from "../../tool/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { checkArguments } from "../arguments/check-arguments.ts";
import { createAskUser } from "./ask-user.ts";

const { tool, config } = createAskUser();
const { signal } = new AbortController();

function enter(args: JsonObject, given: Pick<ToolCall, "answers" | "notes">): Promise<Outcome> {
  return tool.execute({ arguments: args, ...given, signal });
}

/** Entered again, with the answer to its only question. */
function answer(args: JsonObject, given: Json): Promise<Outcome> {
  return enter({ question: "Which?", ...args }, { answers: { answer: given } });
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

describe("entered without answers", () => {
  test("it asks its one question, called `answer`", async () => {
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
    expect(await enter(args, { answers: {} })).toStrictEqual({
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

  test("it asks those of `more` with it, in their order", async () => {
    expect(await enter(FORM, { answers: {} })).toMatchObject({
      type: "needs_input",
      question: { id: "answer", text: "Go on?" },
      more: [
        { id: "answer_2", text: "Where?" },
        { id: "answer_3", text: "Why?" },
      ],
    });
  });

  test("it does not ask what makes no sense, but says what to change, for good", async () => {
    verifies("083/ask-user/errors-tell-the-model-what-to-change");
    expect(await enter({ question: "" }, { answers: {} })).toStrictEqual({
      type: "error",
      message: "`question` is missing or empty: write the question, on one line.",
      trace: [],
      transient: false,
    });
  });

  test("it asks again for what alone is missing", async () => {
    const outcome = await enter(FORM, { answers: { answer: true, answer_3: "because" } });
    expect(outcome).toMatchObject({ type: "needs_input", question: { id: "answer_2" } });
    expect(outcome).not.toHaveProperty("more");
  });

  test("a name that every object has is no answer", async () => {
    const inherited = Object.create({ answer: "from nowhere" }) as Record<string, Json>; // No own key.
    expect(await enter({ question: "Which?" }, { answers: inherited })).toMatchObject({
      type: "needs_input",
    });
  });
});

describe("entered again with the answer, it succeeds", () => {
  test.each([true, false])("with %s", async (given) => {
    verifies("083/ask-user/second-entry-succeeds", "083/ask-user/boolean-result");
    expect(await answer({ answer_type: "boolean" }, given)).toStrictEqual(
      success({ answer_type: "boolean", answer: given }),
    );
  });

  test("with the option that was chosen", async () => {
    verifies("083/ask-user/second-entry-succeeds", "083/ask-user/select-result");
    expect([await answer(SELECT, "backup"), await answer(SELECT, "abort")]).toStrictEqual([
      success({ answer_type: "select", answer: "backup" }),
      success({ answer_type: "select", answer: "abort" }),
    ]);
  });

  test.each(["/tmp/output", "", "two\nlines", '"quoted" \u001B[2J'])(
    "with the text %j",
    async (text) => {
      verifies("083/ask-user/second-entry-succeeds", "083/ask-user/text-result");
      expect(await answer({}, text)).toStrictEqual(success({ answer_type: "text", answer: text }));
    },
  );

  test("so that true, an option `true` and the text `true` are three results", async () => {
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

  test("with the person's own words, which are told from an option", async () => {
    expect(await answer(SELECT, "neither of them")).toStrictEqual(
      success({ answer_type: "select", answer: "neither of them", other: true }),
    );
  });

  test("with what the person had to say besides", async () => {
    const notes = { answer: "but hurry", answer_3: "I think" };
    const one = await enter({ question: "Which?" }, { answers: { answer: "x" }, notes });
    const answers = { answer: false, answer_2: "abort", answer_3: "no" };
    const form = await enter(FORM, { answers, notes });
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

  test("with all answers of a form, in the order of its questions", async () => {
    const answers = { answer_3: "no reason", answer_2: "somewhere else", answer: true };
    expect(await enter(FORM, { answers })).toStrictEqual(
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

describe("entered again, it believes no answer that it did not ask for", () => {
  test.each<[string, JsonObject, Json]>([
    ["a text for yes or no", { answer_type: "boolean" }, "true"],
    ["null for yes or no", { answer_type: "boolean" }, null],
    ["a number for a text", {}, 5],
    ["silence for a text", {}, null],
    ["a list for a choice", SELECT, ["backup"]],
    ["silence for a choice", SELECT, ""],
    ["nothing but space for a choice", SELECT, "  "],
    ["true for a choice of `true`", { answer_type: "select", options: ["true"] }, true],
  ])("%s", async (_, args, given) => {
    verifies(
      "083/ask-user/answer-of-wrong-type-is-an-error",
      "083/ask-user/answer-error-wording-is-generic",
    );
    expect(await answer(args, given)).toStrictEqual(MISFIT);
  });

  test("words of one's own for a strict choice", async () => {
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

  test("one of a form, whatever the others are", async () => {
    verifies("083/ask-user/answer-of-wrong-type-is-an-error");
    const answers = { answer: true, answer_2: "backup", answer_3: 5 };
    expect(await enter(FORM, { answers })).toStrictEqual(MISFIT);
  });
});

test("its questions come from the assistant, under whatever name it is known", () => {
  verifies("083/ask-user/recorded-as-the-assistants");
  expect([tool.inquirySource("ask_user"), tool.inquirySource("ask")]).toEqual([
    { source: "assistant" },
    { source: "assistant" },
  ]);
});

test("as shipped it is on unless it is named, asks nobody but by its question, and shows no chrome", () => {
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
    style: { hidden: true, inline_results: "off", results_file_link: "off", parameters: "off" },
  });
});

const OPTION = {
  type: ["string", "object"],
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
  default: { type: ["boolean", "string"] },
  strict: { type: "boolean" },
};

describe("the schema", () => {
  test("offers what the tool takes, and requires nothing but the question", () => {
    verifies(
      "083/ask-user/parameter-question",
      "083/ask-user/parameter-context",
      "083/ask-user/parameter-answer-type",
      "083/ask-user/parameter-options",
      "083/ask-user/parameter-default",
    );
    const closed = { required: ["question"], additionalProperties: false };
    expect(withoutWords(tool.parameters)).toStrictEqual({
      type: "object",
      properties: {
        ...QUESTION,
        more: { type: "array", items: { type: "object", properties: QUESTION, ...closed } },
      },
      ...closed,
    });
  });

  test("is made of what every provider takes: real types, and no conditions", () => {
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

  test("says of every parameter what it is for", () => {
    const members = schemasIn(tool.parameters).flatMap(({ properties }) =>
      isJsonObject(properties) ? Object.values(properties) : [],
    );
    const mute = members.filter(
      (member) => !isJsonObject(member) || typeof member["description"] !== "string",
    );
    expect(mute).toEqual([]);
  });

  test.each<[string, JsonObject]>([
    ["a question alone", { question: "Which?" }],
    ["everything", { question: "Which?", context: "a\nb", answer_type: "text", default: "x" }],
    ["a boolean default", { question: "Sure?", answer_type: "boolean", default: false }],
    [
      "options as texts and as objects",
      {
        question: "Which?",
        answer_type: "select",
        options: ["a", { value: "b", description: "B", preview: "b\nb" }],
        strict: true,
      },
    ],
    ["further questions", { question: "1?", more: [{ question: "2?", answer_type: "boolean" }] }],
  ])("lets %s through, as it was written", async (_, args) => {
    expect(await checkArguments(tool, args)).toEqual({ ok: true, arguments: args });
  });

  test.each<[string, JsonObject, string]>([
    ["no question", {}, "`question`: missing"],
    [
      "another kind of answer",
      { question: "Key?", answer_type: "secret" },
      '`answer_type`: expected "boolean" or "select" or "text", got "secret"',
    ],
    [
      "a number as default",
      { question: "?", default: 3 },
      "`default`: expected boolean or string, got 3",
    ],
    [
      "an option that is a number",
      { question: "?", options: [5] },
      "`options[0]`: expected string or object, got 5",
    ],
    [
      "an option without a value",
      { question: "?", options: [{ description: "b" }] },
      "`options[0].value`: missing",
    ],
    [
      "a further question without its text",
      { question: "?", more: [{ strict: true }] },
      "`more[0].question`: missing",
    ],
    [
      "further questions inside of others",
      { question: "?", more: [{ question: "?", more: [] }] },
      "`more[0].more`: unknown; known are `question`, `context`, `answer_type`, `options`, " +
        "`default`, `strict`",
    ],
  ])("stops %s before the tool is entered, and says what is wrong", async (_, args, problem) => {
    verifies(
      "083/ask-user/three-answer-types-only",
      "083/ask-user/missing-question-is-an-error",
      "083/ask-user/errors-tell-the-model-what-to-change",
    );
    const checked = await checkArguments(tool, args);
    expect(checked.ok ? undefined : checked.message.split("\n")[1]).toBe(`- ${problem}`);
  });
});

/** What peers have been blamed for, each in the words that should prevent it. */
describe("the description tells the model", () => {
  test.each([
    ["to ask only for what nobody else knows", "Use it only if you cannot go on without something"],
    ["to look for itself first", "not to be found with your other tools"],
    ["to answer if in doubt", "If in doubt, answer the user's request directly."],
    ["not to have the obvious confirmed", "Do not ask for confirmation of obvious next steps"],
    ["not to ask again", "do not ask again what was answered"],
  ])("%s", (_, words) => {
    verifies("083/config/description-limits-use");
    expect(tool.description).toContain(words);
  });

  test("never to ask for secrets, and why", () => {
    verifies("083/config/description-warns-about-secrets");
    expect(tool.description).toContain(
      "Never ask for secrets (passwords, API keys, passphrases): answers are returned to you and " +
        "stored in the conversation.",
    );
  });

  test.each([
    ["not to call again where nobody is", "then do not call it again in this turn"],
    ["what to do then", "go on without the answer, or say what is missing"],
    ["that silence is no answer", "No answer is ever made up for the user."],
    ["to ask related questions together", "Ask related questions together with `more`"],
  ])("%s", (_, words) => {
    expect(tool.description).toContain(words);
  });
});

test("the description is no summary, so that nothing shorter is sent in its place", () => {
  verifies("083/config/description-reaches-the-model");
  expect([config.description, config.summary]).toEqual([tool.description, undefined]);
});

/** A schema and all that are in it. */
function schemasIn(schema: Json | undefined): readonly JsonObject[] {
  if (schema === undefined || !isJsonObject(schema)) return [];
  const { properties = {}, items } = schema;
  const members = isJsonObject(properties) ? Object.values(properties) : [];
  return [schema, ...members.flatMap(schemasIn), ...schemasIn(items)];
}

function withoutWords(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).filter(
    ([key, value]) => !(key === "description" && typeof value === "string"),
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutWords(value)]));
}
