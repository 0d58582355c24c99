import { expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  type AnswerType,
  booleanQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "./question.ts";
import { questionToWire } from "./question-codec.ts";

test("anyone may answer a question by default, and the answer may be remembered for the turn", () => {
  verifies("083/question/constructors-use-the-defaults", "082/wire/secret-constructor");
  const questions = [
    booleanQuestion("ok", "Go on?"),
    textQuestion("name", "Which name?"),
    secretQuestion("key", "Which key?"),
    selectQuestion("env", "Where to?", { options: ["dev"] }),
  ];
  const defaults = { exclusive: false, persistence: "turn" };
  expect(questions).toStrictEqual([
    { id: "ok", text: "Go on?", answerType: { type: "boolean" }, ...defaults },
    { id: "name", text: "Which name?", answerType: { type: "text" }, ...defaults },
    { id: "key", text: "Which key?", answerType: { type: "secret" }, ...defaults },
    {
      id: "env",
      text: "Where to?",
      answerType: { type: "select", options: [{ value: "dev" }] },
      ...defaults,
    },
  ]);
});

test("every constructor takes context, default, exclusive and persistence", () => {
  verifies(
    "083/question/builder-context",
    "083/question/builder-exclusive",
    "083/question/builder-persistence",
  );
  const options = { context: "diff", exclusive: true, persistence: "none" } as const;
  const questions = [
    booleanQuestion("ok", "Go on?", { ...options, default: true }),
    textQuestion("ok", "Go on?", { ...options, default: "x" }),
    secretQuestion("ok", "Go on?", { ...options, default: "x" }),
    selectQuestion("ok", "Go on?", { ...options, options: ["x"], default: "x" }),
  ];
  const fields = { id: "ok", text: "Go on?", ...options };
  expect(questions).toStrictEqual([
    { ...fields, default: true, answerType: { type: "boolean" } },
    { ...fields, default: "x", answerType: { type: "text" } },
    { ...fields, default: "x", answerType: { type: "secret" } },
    { ...fields, default: "x", answerType: { type: "select", options: [{ value: "x" }] } },
  ]);
});

test("options of a select question are strings or have a description", () => {
  const { answerType } = selectQuestion("env", "Where to?", {
    options: ["dev", { value: "prod", description: "The real one." }],
  });
  expect(answerType).toStrictEqual({
    type: "select",
    options: [{ value: "dev" }, { value: "prod", description: "The real one." }],
  });
});

test("a choice may have free text, several answers, previews and a note", () => {
  const question = selectQuestion("env", "Where to?", {
    options: [{ value: "dev", preview: "dev:\n  hosts: 1" }],
    allowsOther: true,
    isMultiple: true,
    allowsNote: true,
  });
  const plain = selectQuestion("env", "Where to?", {
    options: ["dev"],
    allowsOther: false,
    isMultiple: false,
  });
  expect([question, plain.answerType]).toStrictEqual([
    {
      id: "env",
      text: "Where to?",
      answerType: {
        type: "select",
        options: [{ value: "dev", preview: "dev:\n  hosts: 1" }],
        allowsOther: true,
        isMultiple: true,
      },
      allowsNote: true,
      exclusive: false,
      persistence: "turn",
    },
    { type: "select", options: [{ value: "dev" }] },
  ]);
});

test("a secret question cannot have options or a flag", () => {
  verifies("082/wire/no-secret-flag");
  // @ts-expect-error Unknown option.
  const question = booleanQuestion("ok", "Go on?", { secret: true });
  // @ts-expect-error A secret has no options.
  const choice: AnswerType = { type: "secret", options: [] };
  const wire = [question, { ...question, answerType: choice }].map(questionToWire);
  expect(wire).toStrictEqual([
    { id: "ok", text: "Go on?", answer_type: { type: "boolean" } },
    { id: "ok", text: "Go on?", answer_type: { type: "secret" } },
  ]);
});
