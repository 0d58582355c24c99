import { expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import { ShapeError } from "../util/index.ts";
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

test.each([[[]], [null]])("with %j for `more`, only one question is asked", (more) => {
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
