import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import type { InquiryId } from "../conversation/index.ts";
import { extractAnswer } from "./extract-answer.ts";

const BOOLEAN = { answerType: { type: "boolean" } } as const;
const SELECT = {
  answerType: { type: "select", options: [{ value: "red" }, { value: "blue" }] },
} as const;
const BOUND = { ...BOOLEAN, boundTo: "call.ok.1" as InquiryId };

test.each([
  '{"answer": true}',
  '\n {"answer":true,"because":"it fits"} \n',
  '```json\n{"answer": true}\n```',
  '```\n{"answer": true}\n```\n',
  'Here it is:\n\n```JSON\r\n{\r\n"answer": true\r\n}\r\n```\r\nDone.',
])("an answer is found in %j", (reply) => {
  verifies("028/backend/answer-extracted-and-validated");
  expect(extractAnswer(reply, BOOLEAN)).toEqual({ type: "answer", answer: true });
});

test.each([
  ["", "the reply is not JSON"],
  ["Yes.", "the reply is not JSON"],
  ['{"answer": tru', "the reply is not JSON"],
  ["true", "the reply has no `answer`"],
  ["null", "the reply has no `answer`"],
  ['[{"answer": true}]', "the reply has no `answer`"],
  ['{"result": true}', "the reply has no `answer`"],
])("there is no data in %j", (reply, message) => {
  expect(extractAnswer(reply, BOOLEAN)).toEqual({ type: "missing_data", message });
});

test.each([
  'I will not say {"answer": true} here.',
  '```json\n{"answer": true}\n```\nor rather\n```json\n{"answer": false}\n```',
])("a reply that can be read in two ways is no answer: %j", (reply) => {
  expect(extractAnswer(reply, BOOLEAN).type).toBe("missing_data");
});

test("what every object has is no answer", () => {
  expect(extractAnswer('{"__proto__": {"answer": true}}', BOOLEAN).type).toBe("missing_data");
});

test.each([
  [BOOLEAN, '{"answer": "true"}', "expected true or false, got string"],
  [BOOLEAN, '{"answer": null}', "expected true or false, got null"],
  [SELECT, '{"answer": "green"}', 'expected one of "red", "blue"'],
  [SELECT, '{"answer": "Red"}', 'expected one of "red", "blue"'],
  [SELECT, '{"answer": 1}', 'expected one of "red", "blue"'],
])("an answer that does not fit is refused, whatever the provider let through", (...args) => {
  verifies("028/goal/answers-are-typed");
  const [form, reply, problem] = args;
  expect(extractAnswer(reply, form)).toEqual({
    type: "invalid_answer",
    message: `\`answer\` does not fit: ${problem}`,
  });
});

test("words of its own are no answer of a model, also where a person might use them", () => {
  const form = { answerType: { ...SELECT.answerType, allowsOther: true } };
  expect([
    extractAnswer('{"answer": "red"}', form),
    extractAnswer('{"answer": "green"}', form),
  ]).toEqual([
    { type: "answer", answer: "red" },
    {
      type: "invalid_answer",
      message: '`answer` does not fit: expected one of "red", "blue"',
    },
  ]);
});

test("a choice of several is a list", () => {
  const form = { answerType: { ...SELECT.answerType, isMultiple: true } };
  expect([
    extractAnswer('{"answer": ["blue", "red"]}', form),
    extractAnswer('{"answer": "red"}', form).type,
  ]).toEqual([{ type: "answer", answer: ["blue", "red"] }, "invalid_answer"]);
});

describe("a reply that is bound to an inquiry", () => {
  test("is taken if it repeats the id", () => {
    verifies("028/schema/inquiry-id-is-constant");
    const reply = '{"inquiry_id": "call.ok.1", "answer": false}';
    expect(extractAnswer(reply, BOUND)).toEqual({ type: "answer", answer: false });
  });

  test.each(['{"answer": true}', '{"inquiry_id": "call.ok.2", "answer": true}'])(
    "is refused if it does not: %j",
    (reply) => {
      expect(extractAnswer(reply, BOUND)).toEqual({
        type: "invalid_answer",
        message: "`inquiry_id` is not that of the question",
      });
    },
  );
});

test("no reply makes it throw", () => {
  const piece = fc.constantFrom("```", "```json", "\n", '{"answer":', "true", "}", "\\", '"', "`");
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string())), (pieces) => {
      expect(() => extractAnswer(pieces.join(""), BOOLEAN)).not.toThrow();
    }),
  );
});
