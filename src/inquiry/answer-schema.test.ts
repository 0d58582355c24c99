import { Validator } from "@cfworker/json-schema";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import type { InquiryId } from "../conversation/index.ts";
import { type AnswerType, answerFits } from "../tool/index.ts";
import type { Json } from "../util/index.ts";
import { answerSchema, describeForm } from "./answer-schema.ts";
import { extractAnswer } from "./extract-answer.ts";

const ID = "call_1.ok.1" as InquiryId;

function select(...values: readonly Json[]): AnswerType {
  return { type: "select", options: values.map((value) => ({ value })) };
}

test.each<[AnswerType, object]>([
  [{ type: "boolean" }, { type: "boolean" }],
  [{ type: "text" }, { type: "string" }],
  [select("a", "b"), { type: "string", enum: ["a", "b"] }],
  [select("a", 1, null), { enum: ["a", 1, null] }],
  [select("a", "b", "a"), { type: "string", enum: ["a", "b"] }],
])("an answer of type %j has a schema", (answerType, answer) => {
  verifies(
    "028/schema/object-with-required-answer",
    "028/schema/boolean",
    "028/schema/select",
    "028/schema/text",
  );
  expect(answerSchema({ answerType })).toStrictEqual({
    type: "object",
    properties: { answer },
    required: ["answer"],
    additionalProperties: false,
  });
});

test("bound to an inquiry, the reply has to repeat its id", () => {
  verifies("028/schema/inquiry-id-is-constant");
  expect(answerSchema({ answerType: { type: "boolean" }, boundTo: ID })).toStrictEqual({
    type: "object",
    properties: { inquiry_id: { type: "string", const: ID }, answer: { type: "boolean" } },
    required: ["inquiry_id", "answer"],
    additionalProperties: false,
  });
});

test("questions of one type share their schema, to the letter", () => {
  const [first, second] = [select("a", "b"), select("a", "b")].map((answerType) =>
    JSON.stringify(answerSchema({ answerType })),
  );
  expect(first).toBe(second);
});

test("there is no schema for a secret, and no words either", () => {
  const form = { answerType: { type: "secret" } } as const;
  for (const make of [answerSchema, describeForm]) {
    expect(() => make(form)).toThrow("A secret was about to be asked of a model.");
  }
});

test.each<[AnswerType, string]>([
  [{ type: "boolean" }, '{"answer": true or false}'],
  [{ type: "text" }, '{"answer": "your text"}'],
  [select("a"), '{"answer": one of the options, as it is written}'],
])("the form of an answer of type %j is told in words", (answerType, expected) => {
  expect(describeForm({ answerType })).toBe(expected);
});

test("the words name the inquiry that a reply is bound to", () => {
  expect(describeForm({ answerType: { type: "boolean" }, boundTo: ID })).toBe(
    '{"inquiry_id": "call_1.ok.1", "answer": true or false}',
  );
});

const anyJson = fc
  .jsonValue({ maxDepth: 1 })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

const anyAnswerType: fc.Arbitrary<AnswerType> = fc.oneof(
  fc.constant<AnswerType>({ type: "boolean" }),
  fc.constant<AnswerType>({ type: "text" }),
  fc.array(fc.oneof(fc.string(), anyJson), { minLength: 1, maxLength: 4 }).map((v) => select(...v)),
);

test("what the schema allows is taken out of the reply, and what it forbids is not", () => {
  verifies("028/goal/answers-are-typed");
  const anyCase = anyAnswerType.chain((answerType) => {
    const options = answerType.type === "select" ? answerType.options : [];
    const own = options.map(({ value }) => fc.constant(value));
    const answer = fc.oneof(fc.boolean(), fc.string(), anyJson, ...own);
    return fc.record({ answerType: fc.constant(answerType), answer, isBound: fc.boolean() });
  });
  fc.assert(
    fc.property(anyCase, ({ answerType, answer, isBound }) => {
      const form = { answerType, ...(isBound && { boundTo: ID }) };
      const reply = { ...(isBound && { inquiry_id: ID }), answer };
      const { valid } = new Validator(answerSchema(form), "2020-12").validate(reply);
      const extraction = extractAnswer(JSON.stringify(reply), form);
      expect({ valid, extraction }).toMatchObject({
        valid: answerFits(answerType, answer),
        extraction: valid ? { type: "answer", answer } : { type: "invalid_answer" },
      });
    }),
  );
});
