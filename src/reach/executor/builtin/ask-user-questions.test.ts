import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/conformance/manifest.ts";
import type { Question } from "../../../record/tool/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import { type ReadQuestions, readQuestions } from "./ask-user-questions.ts";

/** Every question of the tool has these, whatever the assistant writes. */
const OWN = { exclusive: true, persistence: "none", allowsNote: true } as const;

/** A call with a single question. */
function asked(args: JsonObject): ReadQuestions {
  return readQuestions({ question: "Which one?", ...args });
}

function onlyQuestion(question: Omit<Question, "id" | "text" | keyof typeof OWN>): ReadQuestions {
  return {
    type: "questions",
    questions: [{ id: "answer", text: "Which one?", ...question, ...OWN }],
  };
}

function problem(message: string): ReadQuestions {
  return { type: "error", message };
}

const SELECT = { answer_type: "select", options: ["a", "b"] };

describe("readQuestions", () => {
  test("asks for text by default", () => {
    verifies("083/ask-user/answer-type-defaults-to-text", "083/ask-user/one-question-named-answer");
    expect(asked({})).toStrictEqual(onlyQuestion({ answerType: { type: "text" } }));
  });

  test.each<[JsonObject, Question["answerType"]]>([
    [{ answer_type: "text" }, { type: "text" }],
    [{ answer_type: "boolean" }, { type: "boolean" }],
    [SELECT, { type: "select", options: [{ value: "a" }, { value: "b" }], allowsOther: true }],
    [
      { ...SELECT, strict: false },
      { type: "select", options: [{ value: "a" }, { value: "b" }], allowsOther: true },
    ],
    [
      { ...SELECT, strict: true },
      { type: "select", options: [{ value: "a" }, { value: "b" }] },
    ],
  ])("returns an exclusive question that is asked every time: %j", (args, answerType) => {
    verifies(
      "083/ask-user/three-answer-types-only",
      "083/ask-user/question-is-exclusive",
      "083/ask-user/question-is-not-remembered",
    );
    expect(asked(args)).toStrictEqual(onlyQuestion({ answerType }));
  });

  test("accepts options as texts and as objects, in any mix", () => {
    verifies("083/ask-user/parameter-options");
    const options = [
      "a",
      { value: "b" },
      { value: "c", description: "The third.", preview: "one\ntwo" },
    ];
    expect(asked({ answer_type: "select", options, strict: true })).toStrictEqual(
      onlyQuestion({
        answerType: {
          type: "select",
          options: [
            { value: "a" },
            { value: "b" },
            { value: "c", description: "The third.", preview: "one\ntwo" },
          ],
        },
      }),
    );
  });

  test("keeps a multi-line context separate from the question", () => {
    verifies("083/ask-user/context-shown-above-the-question", "083/ask-user/parameter-context");
    expect([asked({ context: "first\nsecond" }), asked({ context: "" })]).toStrictEqual([
      onlyQuestion({ context: "first\nsecond", answerType: { type: "text" } }),
      onlyQuestion({ answerType: { type: "text" } }),
    ]);
  });

  test.each<[JsonObject, Question["answerType"]]>([
    [{ default: "/tmp" }, { type: "text" }],
    [{ default: "" }, { type: "text" }],
    [{ answer_type: "boolean", default: false }, { type: "boolean" }],
    [
      { ...SELECT, strict: true, default: "b" },
      { type: "select", options: [{ value: "a" }, { value: "b" }] },
    ],
  ])("passes on the suggested answer: %j", (args, answerType) => {
    verifies("083/ask-user/default-fills-the-prompt");
    expect(asked(args)).toStrictEqual(
      onlyQuestion({ default: args["default"] ?? null, answerType }),
    );
  });

  test("reads up to three more questions from `more`", () => {
    verifies("083/ask-user/question-is-exclusive", "083/ask-user/question-is-not-remembered");
    const read = asked({
      more: [
        { question: "Sure?", answer_type: "boolean", default: true },
        { question: "Why?", context: "It matters." },
        { question: "Where?", ...SELECT },
      ],
    });
    expect(read).toStrictEqual({
      type: "questions",
      questions: [
        { id: "answer", text: "Which one?", answerType: { type: "text" }, ...OWN },
        { id: "answer_2", text: "Sure?", default: true, answerType: { type: "boolean" }, ...OWN },
        {
          id: "answer_3",
          text: "Why?",
          context: "It matters.",
          answerType: { type: "text" },
          ...OWN,
        },
        {
          id: "answer_4",
          text: "Where?",
          answerType: {
            type: "select",
            options: [{ value: "a" }, { value: "b" }],
            allowsOther: true,
          },
          ...OWN,
        },
      ],
    });
  });

  test("reads one question if `more` is empty", () => {
    expect(asked({ more: [] })).toStrictEqual(onlyQuestion({ answerType: { type: "text" } }));
  });
});

describe("readQuestions, given a mistake,", () => {
  const EMPTY = "`question` is missing or empty: write the question on a single line.";
  const NO_OPTIONS = "`options` is missing or empty: a select needs options to choose from.";
  const NO_SELECT = '`options` is only for a select: remove it, or set `answer_type` to "select".';

  test.each<[string, JsonObject]>([
    ["missing", {}],
    ["empty", { question: "" }],
    ["only spaces", { question: " \t " }],
    ["only a line break", { question: "\n" }],
    ["not a text", { question: 5 }],
  ])("explains what to correct if the question is missing or malformed: %s", (_, args) => {
    verifies(
      "083/ask-user/missing-question-is-an-error",
      "083/ask-user/empty-question-is-an-error",
      "083/ask-user/errors-tell-the-model-what-to-change",
    );
    expect(readQuestions(args)).toStrictEqual(problem(EMPTY));
  });

  test.each(["a\nb", "a\r\nb", "a\rb", "a\n"])(
    "explains what to correct if the question has line breaks: %j",
    (question) => {
      verifies(
        "083/ask-user/newline-in-question-is-an-error",
        "083/ask-user/errors-tell-the-model-what-to-change",
      );
      expect(readQuestions({ question })).toStrictEqual(
        problem(
          "`question` contains a line break: write a single line, and put the rest into `context`.",
        ),
      );
    },
  );

  test.each<[string, JsonObject]>([
    ["no options", { answer_type: "select" }],
    ["an empty list of options", { answer_type: "select", options: [] }],
  ])("explains what to correct if a select has unusable options: %s", (_, args) => {
    verifies("083/ask-user/select-without-options-is-an-error");
    expect(asked(args)).toStrictEqual(problem(NO_OPTIONS));
  });

  test.each<JsonObject>([
    { options: ["a"] },
    { options: [] },
    { answer_type: "text", options: ["a"] },
    { answer_type: "boolean", options: ["a"] },
  ])("explains what to correct if there are options but it is not a select: %j", (args) => {
    verifies("083/ask-user/options-without-select-is-an-error");
    expect(asked(args)).toStrictEqual(problem(NO_SELECT));
  });

  test.each<[string, readonly Json[], string]>([
    ["there twice", ["a", "b", "a"], "`options` contains the same option twice."],
    [
      "there twice, in two forms",
      ["a", { value: "a" }],
      "`options` contains the same option twice.",
    ],
    ["empty", ["a", ""], "`options` contains an empty option: give it a text."],
    ["only spaces", ["a", "  "], "`options` contains an empty option: give it a text."],
  ])("explains what to correct if an option is malformed: %s", (_, options, message) => {
    expect(asked({ answer_type: "select", options })).toStrictEqual(problem(message));
  });

  test.each<[JsonObject, string]>([
    [
      { answer_type: "boolean", default: "yes" },
      '`default` does not fit `answer_type` "boolean": expected true or false, got string.',
    ],
    [
      { answer_type: "text", default: true },
      '`default` does not fit `answer_type` "text": expected text, got boolean.',
    ],
    [
      { default: false },
      '`default` does not fit `answer_type` "text": expected text, got boolean.',
    ],
    [
      { ...SELECT, default: true },
      '`default` does not fit `answer_type` "select": expected one of "a", "b".',
    ],
  ])("explains what to correct if the default has the wrong type: %j", (args, message) => {
    verifies(
      "083/ask-user/default-of-wrong-type-is-an-error",
      "083/ask-user/errors-tell-the-model-what-to-change",
    );
    expect(asked(args)).toStrictEqual(problem(message));
  });

  test.each([{ strict: true }, { strict: false }, {}])(
    "explains what to correct if the default is not one of the options: %j",
    (args) => {
      verifies("083/ask-user/default-outside-options-is-an-error");
      expect(asked({ ...SELECT, ...args, default: "c" })).toStrictEqual(
        problem('`default` does not fit `answer_type` "select": expected one of "a", "b".'),
      );
    },
  );

  test.each<[readonly JsonObject[], string]>([
    [[{}], `\`more[0]\`: ${EMPTY}`],
    [
      [{ question: "Fine?" }, { question: "Sure?", answer_type: "select" }],
      `\`more[1]\`: ${NO_OPTIONS}`,
    ],
    [
      [{ question: "1?" }, { question: "2?" }, { question: "3?" }, { question: "4?" }],
      "`more` can have at most 3 questions.",
    ],
  ])("names the question in `more` that has to be corrected: %j", (more, message) => {
    verifies("083/ask-user/errors-tell-the-model-what-to-change");
    expect(asked({ more })).toStrictEqual(problem(message));
  });
});
