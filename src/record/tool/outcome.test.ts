import { expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { ShapeError } from "../../util/index.ts";
import { outcomeToWire, parseOutcome } from "./outcome.ts";
import { booleanQuestion, secretQuestion, selectQuestion, textQuestion } from "./question.ts";

test("a success is its content", () => {
  expect(parseOutcome({ type: "success", content: "done" })).toStrictEqual({
    type: "success",
    content: "done",
  });
});

test("an error has a message, and by default no trace and is not transient", () => {
  const outcomes = [
    parseOutcome({ type: "error", message: "no such file" }),
    parseOutcome({ type: "error", message: "busy", trace: ["open", "lock"], transient: true }),
  ];
  expect(outcomes).toStrictEqual([
    { type: "error", message: "no such file", trace: [], transient: false },
    { type: "error", message: "busy", trace: ["open", "lock"], transient: true },
  ]);
});

test("a tool asks by returning needs_input with a question in either notation", () => {
  verifies("082/wire/needs-input-carries-the-question", "082/wire/older-notation-still-read");
  const outcomes = [
    { id: "key", text: "Which key?", answer_type: { type: "secret" } },
    { id: "ok", text: "Go on?", answer_type: "Boolean", default: true },
  ].map((question) => parseOutcome({ type: "needs_input", question }));
  expect(outcomes).toStrictEqual([
    { type: "needs_input", question: secretQuestion("key", "Which key?") },
    { type: "needs_input", question: booleanQuestion("ok", "Go on?", { default: true }) },
  ]);
});

test("a tool asks several questions at once with `more`, in their order", () => {
  const question = { id: "ok", text: "Go on?", answer_type: "Boolean" };
  const more = [
    { id: "env", text: "Where?", answer_type: { Select: { options: ["a"], other: true } } },
    { id: "why", text: "Why?", answer_type: { type: "text" }, note: true },
  ];
  expect(parseOutcome({ type: "needs_input", question, more })).toStrictEqual({
    type: "needs_input",
    question: booleanQuestion("ok", "Go on?"),
    more: [
      selectQuestion("env", "Where?", { options: ["a"], allowsOther: true }),
      textQuestion("why", "Why?", { allowsNote: true }),
    ],
  });
});

test.each([[[]], [null]])("only one question is asked if `more` is empty: %j", (more) => {
  const question = { id: "ok", text: "Go on?", answer_type: "Boolean" };
  expect(parseOutcome({ type: "needs_input", question, more })).toStrictEqual({
    type: "needs_input",
    question: booleanQuestion("ok", "Go on?"),
  });
});

test.each<[string, unknown]>([
  ["text", "success"],
  ["a number", 3],
  ["null", null],
  ["a list", [{ type: "success", content: "" }]],
  ["an object without a type", { content: "done" }],
  ["an object of another type", { type: "Success", content: "done" }],
])("%s is not an outcome but plain output", (_, value) => {
  expect(parseOutcome(value)).toBeUndefined();
});

const ASKED = { id: "a", text: "?", answer_type: { type: "text" } };

test.each<[string, unknown, string, string]>([
  ["a success without content", { type: "success" }, "content", "expected a string, got nothing"],
  [
    "a success whose content is not text",
    { type: "success", content: { a: 1 } },
    "content",
    "expected a string, got object",
  ],
  ["an error without a message", { type: "error" }, "message", "expected a string, got nothing"],
  [
    "an error that is transient in words",
    { type: "error", message: "m", transient: "yes" },
    "transient",
    "expected true or false, got a string",
  ],
  [
    "a needs_input without a question",
    { type: "needs_input" },
    "question",
    "expected an object, got nothing",
  ],
  [
    "a needs_input whose question has no text",
    { type: "needs_input", question: { id: "ok", answer_type: "Boolean" } },
    "question.text",
    "expected a string, got nothing",
  ],
  [
    "a needs_input whose option has no value",
    {
      type: "needs_input",
      question: { id: "ok", text: "?", answer_type: { type: "select", options: [{}] } },
    },
    "question.answer_type.options[0].value",
    "expected a value, got nothing",
  ],
  [
    "a needs_input whose `more` is not a list",
    { type: "needs_input", question: ASKED, more: { ...ASKED, id: "b" } },
    "more",
    "expected an array, got object",
  ],
  [
    "a needs_input with a further question that lacks its text",
    { type: "needs_input", question: ASKED, more: [{ ...ASKED, id: "b" }, { id: "c" }] },
    "more[1].text",
    "expected a string, got nothing",
  ],
  [
    "a needs_input with an unanswerable further question",
    {
      type: "needs_input",
      question: ASKED,
      more: [{ ...ASKED, id: "b", answer_type: { type: "select", options: [] } }],
    },
    "more[0].answer_type.options",
    "a select needs at least one option",
  ],
  [
    "a needs_input that asks the same question twice",
    { type: "needs_input", question: ASKED, more: [{ ...ASKED, id: "b" }, ASKED] },
    "more",
    'duplicate question "a"',
  ],
  [
    "an error whose trace is nested deeper than a stack",
    { type: "error", message: "?", trace: [JSON.parse("[".repeat(20_000) + "]".repeat(20_000))] },
    "",
    "nested deeper than 1000 levels",
  ],
])("%s is rejected, and the error names the field", (_, value, path, problem) => {
  expect(() => parseOutcome(value)).toThrow(new ShapeError(path, problem));
});

test("outcomes are written in the form that tools use", () => {
  verifies("082/wire/needs-input-carries-the-question");
  const wire = [
    outcomeToWire({ type: "success", content: "done" }),
    outcomeToWire({ type: "error", message: "m", trace: ["cause"], transient: true }),
    outcomeToWire({ type: "needs_input", question: secretQuestion("key", "Which key?") }),
  ];
  expect(wire.map((value) => JSON.stringify(value))).toEqual([
    '{"type":"success","content":"done"}',
    '{"type":"error","message":"m","trace":["cause"],"transient":true}',
    '{"type":"needs_input","question":{"id":"key","text":"Which key?","answer_type":{"type":"secret"}}}',
  ]);
});

test("several questions survive a round trip in order", () => {
  const outcome = {
    type: "needs_input",
    question: secretQuestion("key", "Which key?"),
    more: [booleanQuestion("ok", "Go on?"), textQuestion("why", "Why?", { allowsNote: true })],
  } as const;
  const wire = outcomeToWire(outcome);
  expect([JSON.stringify(wire["more"]), parseOutcome(wire)]).toStrictEqual([
    '[{"id":"ok","text":"Go on?","answer_type":{"type":"boolean"}},' +
      '{"id":"why","text":"Why?","answer_type":{"type":"text"},"note":true}]',
    outcome,
  ]);
  expect(outcomeToWire({ ...outcome, more: [] })).not.toHaveProperty("more");
});

test("content is text for the model, and the blocks if they are more than text", () => {
  verifies("058/response/content", "058/record/blocks");
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };
  const outcomes = [
    parseOutcome({
      content: [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ],
    }),
    parseOutcome({ content: [image] }),
    parseOutcome({ content: [] }),
  ];
  expect(outcomes).toEqual([
    { type: "success", content: "one\n\ntwo" },
    { type: "success", content: "[image, image/png, 3 bytes]", blocks: [image] },
    { type: "success", content: "" },
  ]);
});

test("content that is an error may say whether a retry helps, and what caused it", () => {
  verifies("058/error/is-error");
  const content = [{ type: "text", text: "busy" }];
  const meta = { "computer.jp/error": { transient: true, trace: ["lock"] } };
  expect([
    parseOutcome({ content, isError: true }),
    parseOutcome({ content, isError: true, _meta: meta }),
  ]).toEqual([
    { type: "error", message: "busy", trace: [], transient: false },
    { type: "error", message: "busy", trace: ["lock"], transient: true },
  ]);
});

test.each([
  [{ content: "text" }],
  [{ content: [1, 2] }],
  [{ type: "message", content: [{ type: "text", text: "of another protocol" }] }],
])("an output of another shape is plain text: %j", (value) => {
  verifies("058/response/text-otherwise");
  expect(parseOutcome(value)).toBeUndefined();
});

const only = (audience: string) => ({
  type: "text",
  text: "x",
  annotations: { audience: [audience] },
});

test("questions in the content are asked together, each with the content before it", () => {
  verifies("058/question/among-content");
  const content = [
    { type: "text", text: "Three files." },
    only("user"),
    only("assistant"),
    { type: "question", question: { id: "go", text: "Go on?", schema: { type: "boolean" } } },
    { type: "resource", resource: { uri: "file:///a", text: "fn main() {}" } },
    {
      type: "question",
      question: {
        id: "where",
        text: "Where?",
        context: "Its own.",
        schema: { type: "string", enum: ["a", "b"] },
        default: "a",
      },
    },
    { type: "text", text: "At the end." },
  ];
  expect(parseOutcome({ content })).toEqual({
    type: "needs_input",
    question: booleanQuestion("go", "Go on?", { context: "Three files." }),
    more: [
      selectQuestion("where", "Where?", {
        options: ["a", "b"],
        context: "fn main() {}\n\nIts own.\n\nAt the end.",
        default: "a",
      }),
    ],
  });
});

test.each([
  [{ type: "boolean" }, { type: "boolean" }],
  [{ type: "string" }, { type: "text" }],
  [{ type: "string", format: "password" }, { type: "secret" }],
  [{ type: "string", writeOnly: true }, { type: "secret" }],
  [{ enum: [1, 2] }, { type: "select", options: [{ value: 1 }, { value: 2 }] }],
  [
    { type: "string", oneOf: [{ const: "a", title: "Alpha" }, { const: "b" }] },
    { type: "select", options: [{ value: "a", title: "Alpha" }, { value: "b" }] },
  ],
  [
    { type: "array", items: { type: "string", enum: ["a"] } },
    { type: "select", options: [{ value: "a" }], isMultiple: true },
  ],
])("the schema of a question becomes its answer type: %j is %j", (schema, answerType) => {
  verifies("058/question/schema");
  const question = { id: "q", text: "Q?", schema };
  expect(parseOutcome({ content: [{ type: "question", question }] })).toMatchObject({
    question: { answerType },
  });
});

test.each([
  [{ schema: { type: "object" } }, /^content\[0\]\.question\.schema: expected the schema of/],
  [{ schema: { type: "string", enum: [] } }, /a select needs at least one option/],
  [{}, /answer_type/],
])("a question with %j is an error", (given, problem) => {
  const question = { id: "q", text: "Q?", ...given };
  expect(() => parseOutcome({ content: [{ type: "question", question }] })).toThrow(problem);
});

test("two questions with the same id are an error", () => {
  const question = { id: "q", text: "Q?", schema: { type: "string" } };
  const block = { type: "question", question };
  expect(() => parseOutcome({ content: [block, block] })).toThrow('duplicate question "q"');
});

test("results with blocks are written as content, and read back as they were", () => {
  const blocks = [{ type: "image", data: "AAAA", mimeType: "image/png" }] as const;
  const content = "[image, image/png, 3 bytes]";
  const outcomes = [
    { type: "success", content, blocks },
    { type: "error", message: content, blocks, trace: ["a"], transient: true },
  ] as const;
  const wire = outcomes.map(outcomeToWire);
  expect(wire).toEqual([
    { content: blocks },
    {
      content: blocks,
      isError: true,
      _meta: { "computer.jp/error": { trace: ["a"], transient: true } },
    },
  ]);
  expect(wire.map(parseOutcome)).toEqual(outcomes);
});
