import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { anyQuestion } from "../conversation/events.fixture.ts";
import { ShapeError } from "../../util/index.ts";
import { parseAnswerType, parseQuestion, questionToWire } from "./question-codec.ts";
import {
  booleanQuestion,
  secretQuestion,
  selectQuestion,
  type SelectType,
  textQuestion,
} from "./question.ts";

describe("reading", () => {
  test("every field of a question is read", () => {
    verifies("083/question/exclusive-can-be-declared", "083/question/persistence-values");
    const question = parseQuestion({
      id: "env",
      text: "Where to?",
      context: "Two hosts are up.",
      answer_type: { type: "text" },
      default: "dev",
      exclusive: true,
      persistence: "none",
    });
    expect(question).toStrictEqual({
      id: "env",
      text: "Where to?",
      context: "Two hosts are up.",
      answerType: { type: "text" },
      default: "dev",
      exclusive: true,
      persistence: "none",
    });
  });

  test("a binding, a label to remember answers under, and whether a yes acts are read and written", () => {
    const question = booleanQuestion("ok", "Apply?", {
      binding: "sha256:1",
      rememberAs: "all edits this turn",
      acts: true,
    });
    const wire = questionToWire(question);
    expect(wire).toMatchObject({
      binding: "sha256:1",
      remember_as: "all edits this turn",
      acts: true,
    });
    expect(parseQuestion(wire)).toStrictEqual(question);
  });

  test("a binding longer than 1,024 bytes is refused, with what to send instead", () => {
    const question = questionToWire(booleanQuestion("ok", "Apply?", { binding: "é".repeat(513) }));
    expect(() => parseQuestion(question)).toThrow(
      "question.binding: longer than 1024 bytes. Send a digest instead",
    );
    expect(parseQuestion({ ...question, binding: "é".repeat(512) })).toBeDefined();
  });

  test.each([
    ["", "question.remember_as: expected a label that is not blank, got an empty string"],
    [" \u00a0", "question.remember_as: expected a label that is not blank, got a string"],
  ])("a blank label to remember answers under is refused: %j", (label, problem) => {
    const question = questionToWire(booleanQuestion("ok", "Apply?"));
    expect(() => parseQuestion({ ...question, remember_as: label })).toThrow(problem);
    expect(parseQuestion({ ...question, remember_as: null })).not.toHaveProperty("rememberAs");
  });

  test.each([{ role: "finance" }, [{ user: "ada" }, { role: "finance" }]])(
    "those whom a tool names are read and written: %j",
    (named) => {
      const question = booleanQuestion("ok", "Apply?", { for: named });
      const wire = questionToWire(question);
      expect(wire["for"]).toEqual(named);
      expect(parseQuestion(wire)).toStrictEqual(question);
    },
  );

  test.each([
    "finance",
    [],
    {},
    { user: "" },
    { user: " " },
    { user: "a\u001b[2J" },
    { role: "a\nb" },
    { role: "x".repeat(65) },
    { user: "ada", role: "finance" },
    { group: "finance" },
    [{ user: "ada" }, { group: "finance" }],
    Array.from({ length: 17 }, (_each, index) => ({ user: `p${index}` })),
  ])("a tool cannot name someone who is not known by name or role: %j", (named) => {
    const question = questionToWire(booleanQuestion("ok", "Apply?"));
    expect(() => parseQuestion({ ...question, for: named })).toThrow("question.for: expected");
  });

  test("a question without exclusive and persistence gets their defaults", () => {
    verifies(
      "083/question/older-payload-gets-the-defaults",
      "083/question/exclusive-defaults-to-false",
      "083/question/persistence-defaults-to-turn",
    );
    const older = { id: "ok", text: "Go on?", pre_amble: null, answer_type: "Boolean" };
    expect(parseQuestion(older)).toStrictEqual(booleanQuestion("ok", "Go on?"));
  });

  test("null fields count as absent", () => {
    const question = parseQuestion({
      id: "ok",
      text: "Go on?",
      context: null,
      pre_amble: null,
      answer_type: { type: "boolean" },
      default: null,
      exclusive: null,
      persistence: null,
    });
    expect(question).toStrictEqual(booleanQuestion("ok", "Go on?"));
  });

  test("a default that is false is kept", () => {
    const wire = { id: "ok", text: "Go on?", answer_type: "Boolean", default: false };
    expect(parseQuestion(wire)).toStrictEqual(booleanQuestion("ok", "Go on?", { default: false }));
  });

  test("the old name of the context is read, but the new one wins", () => {
    verifies("083/question/context-replaces-pre-amble");
    const older = { id: "ok", text: "Go on?", pre_amble: "diff", answer_type: "Boolean" };
    expect([
      parseQuestion(older).context,
      parseQuestion({ ...older, context: "newer diff" }).context,
    ]).toEqual(["diff", "newer diff"]);
  });

  test("both values of persistence are read", () => {
    verifies("083/question/persistence-values");
    const wire = { id: "ok", text: "Go on?", answer_type: "Boolean" };
    const read = ["none", "turn"].map((persistence) => parseQuestion({ ...wire, persistence }));
    expect(read.map(({ persistence }) => persistence)).toEqual(["none", "turn"]);
  });

  test("a note is allowed only if the question says so", () => {
    const wire = { id: "ok", text: "Go on?", answer_type: "Boolean" };
    const read = [true, false, null].map((note) => parseQuestion({ ...wire, note }));
    expect(read).toStrictEqual([
      booleanQuestion("ok", "Go on?", { allowsNote: true }),
      booleanQuestion("ok", "Go on?"),
      booleanQuestion("ok", "Go on?"),
    ]);
  });

  test("a default must be one of the options even if free text is allowed", () => {
    const wire = { type: "select", options: ["a", "b"], other: true };
    const ask = (suggested: unknown, more = {}) =>
      parseQuestion({
        id: "q",
        text: "?",
        answer_type: { ...wire, ...more },
        default: suggested,
      });
    expect([ask("a").default, ask(["b"], { multiple: true }).default]).toEqual(["a", ["b"]]);
    const misfit = 'expected one of "a", "b"';
    expect(() => ask("mine")).toThrow(new ShapeError("question.default", misfit));
    expect(() => ask(["a", "mine"], { multiple: true })).toThrow(
      new ShapeError("question.default", misfit),
    );
  });

  test("a secret flag on a question is ignored", () => {
    verifies("082/wire/no-secret-flag");
    const wire = { id: "ok", text: "Go on?", answer_type: { type: "boolean" }, secret: true };
    expect(parseQuestion(wire)).toStrictEqual(booleanQuestion("ok", "Go on?"));
  });
});

describe("writing", () => {
  test("no default is written", () => {
    verifies(
      "083/question/exclusive-written-only-when-true",
      "083/question/persistence-written-only-when-none",
    );
    const plain = questionToWire(booleanQuestion("ok", "Go on?"));
    const strict = questionToWire(
      booleanQuestion("ok", "Go on?", { default: false, exclusive: true, persistence: "none" }),
    );
    expect([JSON.stringify(plain), JSON.stringify(strict)]).toEqual([
      '{"id":"ok","text":"Go on?","answer_type":{"type":"boolean"}}',
      '{"id":"ok","text":"Go on?","answer_type":{"type":"boolean"},' +
        '"default":false,"exclusive":true,"persistence":"none"}',
    ]);
  });

  test("the context is written under its new name", () => {
    verifies("083/question/context-replaces-pre-amble");
    const read = parseQuestion({ id: "ok", text: "?", pre_amble: "diff", answer_type: "Text" });
    expect(questionToWire(read)).toStrictEqual({
      id: "ok",
      text: "?",
      context: "diff",
      answer_type: { type: "text" },
    });
  });

  test("a constructed question is written in the tagged notation", () => {
    verifies(
      "082/wire/constructors-hide-the-notation",
      "082/wire/secret-constructor",
      "082/wire/boolean-tag",
      "082/wire/text-tag",
      "082/wire/select-tag",
      "082/wire/secret-tag",
    );
    const questions = [
      booleanQuestion("q", "?"),
      textQuestion("q", "?"),
      secretQuestion("q", "?"),
      selectQuestion("q", "?", { options: ["dev", { value: "prod", description: "Real." }] }),
    ];
    expect(questions.map((question) => questionToWire(question)["answer_type"])).toStrictEqual([
      { type: "boolean" },
      { type: "text" },
      { type: "secret" },
      { type: "select", options: ["dev", { value: "prod", description: "Real." }] },
    ]);
  });

  test("free text, multiple choice, previews and notes have their own fields", () => {
    const question = selectQuestion("q", "?", {
      options: ["dev", { value: "prod", preview: "a\nb" }],
      allowsOther: true,
      isMultiple: true,
      allowsNote: true,
    });
    expect(JSON.stringify(questionToWire(question))).toBe(
      '{"id":"q","text":"?","answer_type":{"type":"select",' +
        '"options":["dev",{"value":"prod","preview":"a\\nb"}],"other":true,"multiple":true},' +
        '"note":true}',
    );
  });

  test("an option whose value is not text is written as an object", () => {
    const question = selectQuestion("q", "?", { options: [{ value: 3 }] });
    expect(questionToWire(question)["answer_type"]).toStrictEqual({
      type: "select",
      options: [{ value: 3 }],
    });
  });

  test("every written question survives a round trip", () => {
    verifies("082/wire/constructors-hide-the-notation");
    const questions = [
      booleanQuestion("q", "?", { context: "c", default: true }),
      textQuestion("q", "?", { exclusive: true }),
      secretQuestion("q", "?", { persistence: "none" }),
      selectQuestion("q", "?", { options: ["a", { value: 1, description: "d" }], default: "a" }),
    ];
    expect(questions.map((question) => parseQuestion(questionToWire(question)))).toStrictEqual(
      questions,
    );
  });

  test("any question survives a round trip", () => {
    fc.assert(
      fc.property(anyQuestion, (question) => {
        const { answerType, default: _default, for: _for, ...rest } = question;
        fc.pre(answerType.type !== "select" || hasDistinctOptions(answerType));
        fc.pre(rest.rememberAs?.trim() !== "");
        const asked = { id: "q", ...rest, answerType };
        expect(parseQuestion(questionToWire(asked))).toStrictEqual(asked);
      }),
    );
  });
});

/** A select question with unique options. */
function hasDistinctOptions({ options }: SelectType): boolean {
  const values = new Set(options.map(({ value }) => JSON.stringify(value)));
  return options.length > 0 && values.size === options.length;
}

const minimal = { id: "ok", text: "Go on?", answer_type: { type: "boolean" } };

test.each<[string, unknown, string, string]>([
  ["nothing in its place", undefined, "question", "expected an object, got nothing"],
  ["a text in its place", "Go on?", "question", "expected an object, got a string"],
  ["no id", { ...minimal, id: undefined }, "question.id", "expected a string, got nothing"],
  ["an empty id", { ...minimal, id: "" }, "question.id", "expected a name, got an empty string"],
  ["no text", { ...minimal, text: undefined }, "question.text", "expected a string, got nothing"],
  [
    "a context in pieces",
    { ...minimal, context: ["a"] },
    "question.context",
    "expected a string, got array",
  ],
  [
    "no answer type",
    { ...minimal, answer_type: undefined },
    "question.answer_type",
    "expected an object, got nothing",
  ],
  [
    "a text where a flag should be",
    { ...minimal, exclusive: "yes" },
    "question.exclusive",
    "expected true or false, got a string",
  ],
  [
    "a note in words",
    { ...minimal, note: "please" },
    "question.note",
    "expected true or false, got a string",
  ],
  [
    "a persistence that does not exist",
    { ...minimal, persistence: "forever" },
    "question.persistence",
    'expected "none" or "turn", got another string',
  ],
])("a question with %s is rejected, and the error names the field", (_, value, path, problem) => {
  expect(() => parseQuestion(value)).toThrow(new ShapeError(path, problem));
});

test("the tagged notation names each answer type in snake case", () => {
  verifies(
    "082/wire/boolean-tag",
    "082/wire/text-tag",
    "082/wire/secret-tag",
    "082/wire/select-tag",
  );
  const wire = [
    { type: "boolean" },
    { type: "text" },
    { type: "secret" },
    { type: "select", options: ["dev"] },
  ];
  expect(wire.map((value) => parseAnswerType(value, "answer_type"))).toStrictEqual([
    { type: "boolean" },
    { type: "text" },
    { type: "secret" },
    { type: "select", options: [{ value: "dev" }] },
  ]);
});

test("the old notation of tools is still read", () => {
  verifies("082/wire/older-notation-still-read");
  const wire = ["Boolean", "Text", "Secret", { Select: { options: ["dev", "prod"] } }];
  expect(wire.map((value) => parseAnswerType(value, "answer_type"))).toStrictEqual([
    { type: "boolean" },
    { type: "text" },
    { type: "secret" },
    { type: "select", options: [{ value: "dev" }, { value: "prod" }] },
  ]);
});

test("an option is text, or an object with any value and an optional description", () => {
  verifies("082/wire/select-tag");
  const options = [
    "dev",
    { value: "prod" },
    { value: "test", description: "Torn down at night." },
    { value: 3, description: null },
    { value: null },
  ];
  expect(parseAnswerType({ type: "select", options }, "answer_type")).toStrictEqual({
    type: "select",
    options: [
      { value: "dev" },
      { value: "prod" },
      { value: "test", description: "Torn down at night." },
      { value: 3 },
      { value: null },
    ],
  });
});

test("a choice may allow free text or several answers, in both notations", () => {
  const choice = { options: [{ value: "dev", preview: "a\nb" }], other: true, multiple: true };
  const read = {
    type: "select",
    options: [{ value: "dev", preview: "a\nb" }],
    allowsOther: true,
    isMultiple: true,
  };
  const wire = [{ type: "select", ...choice }, { Select: choice }];
  expect(wire.map((value) => parseAnswerType(value, "answer_type"))).toStrictEqual([read, read]);
});

test.each([false, null, undefined])("%s enables neither", (flag) => {
  const wire = { type: "select", options: ["dev"], other: flag, multiple: flag };
  expect(parseAnswerType(wire, "answer_type")).toStrictEqual({
    type: "select",
    options: [{ value: "dev" }],
  });
});

test("only the secret type is secret, and it has no options", () => {
  verifies("082/wire/no-secret-flag");
  const wire = [
    { type: "secret", options: ["a", "b"], other: true, multiple: true },
    { type: "boolean", secret: true },
    { type: "select", options: ["a"], secret: true },
  ];
  expect(wire.map((value) => parseAnswerType(value, "answer_type"))).toStrictEqual([
    { type: "secret" },
    { type: "boolean" },
    { type: "select", options: [{ value: "a" }] },
  ]);
});

const TAGS = '"boolean" or "select" or "text" or "secret"';

test.each<[string, unknown, string, string]>([
  ["nothing", undefined, "t", "expected an object, got nothing"],
  ["a list", ["boolean"], "t", "expected an object, got array"],
  ["an object without a type", {}, "t.type", `expected ${TAGS}, got nothing`],
  ["an unknown type", { type: "date" }, "t.type", `expected ${TAGS}, got another string`],
  ["a type in capitals", { type: "Boolean" }, "t.type", `expected ${TAGS}, got another string`],
  [
    "an unknown older name",
    "boolean",
    "t",
    'expected {"type": "boolean" | "select" | "text" | "secret"}, got a string',
  ],
  [
    "a name that every object has",
    "toString",
    "t",
    'expected {"type": "boolean" | "select" | "text" | "secret"}, got a string',
  ],
  ["a select without options", { type: "select" }, "t.options", "expected an array, got nothing"],
  [
    "an older select without options",
    { Select: {} },
    "t.Select.options",
    "expected an array, got nothing",
  ],
  [
    "an option of another type",
    { type: "select", options: ["a", 2] },
    "t.options[1]",
    "expected an object, got number",
  ],
  [
    "an option without a value",
    { type: "select", options: [{ description: "a" }] },
    "t.options[0].value",
    "expected a value, got nothing",
  ],
  [
    "a choice that is open in words",
    { type: "select", options: ["a"], other: "yes" },
    "t.other",
    "expected true or false, got a string",
  ],
  [
    "a choice of several in numbers",
    { type: "select", options: ["a"], multiple: 2 },
    "t.multiple",
    "expected true or false, got number",
  ],
  [
    "an option with a preview in pieces",
    { type: "select", options: [{ value: "a", preview: ["b"] }] },
    "t.options[0].preview",
    "expected a string, got array",
  ],
])("%s is rejected as an answer type, and the error has its path", (_, value, path, problem) => {
  expect(() => parseAnswerType(value, "t")).toThrow(new ShapeError(path, problem));
});
