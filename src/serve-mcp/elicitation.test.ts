import { describe, expect, test } from "vitest";
import type { InquiryId } from "../conversation/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import { readForm, toForm } from "./elicitation.ts";

const OPTIONS = [{ value: "dev", description: "torn down\nat night", preview: "a\nb" }, "prod"];

function fieldsOf(...questions: readonly Question[]) {
  return questions.map((question) => ({ inquiryId: question.id as InquiryId, question }));
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
