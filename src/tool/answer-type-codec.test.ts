import { expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import { ShapeError } from "../util/index.ts";
import { parseAnswerType } from "./answer-type-codec.ts";

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

test("the older notation of tools is still read", () => {
  verifies("082/wire/older-notation-still-read");
  const wire = ["Boolean", "Text", "Secret", { Select: { options: ["dev", "prod"] } }];
  expect(wire.map((value) => parseAnswerType(value, "answer_type"))).toStrictEqual([
    { type: "boolean" },
    { type: "text" },
    { type: "secret" },
    { type: "select", options: [{ value: "dev" }, { value: "prod" }] },
  ]);
});

test("an option is a text, or an object with any value and perhaps a description", () => {
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

test("a choice may be open or of several, in both notations", () => {
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

test.each([false, null, undefined])("%s is no permission for either", (flag) => {
  const wire = { type: "select", options: ["dev"], other: flag, multiple: flag };
  expect(parseAnswerType(wire, "answer_type")).toStrictEqual({
    type: "select",
    options: [{ value: "dev" }],
  });
});

test("a secret never has options and nothing else has a secret flag", () => {
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
])("%s is refused as an answer type, and the error leads there", (_, value, path, problem) => {
  expect(() => parseAnswerType(value, "t")).toThrow(new ShapeError(path, problem));
});
