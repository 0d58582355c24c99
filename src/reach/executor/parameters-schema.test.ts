import { expect, test } from "vitest";
import type { ParameterConfig } from "../../settings/config/index.ts";
import { toParametersSchema } from "./parameters-schema.ts";

test("a tool without parameters accepts an object without keys", () => {
  expect(toParametersSchema({})).toEqual({
    type: "object",
    properties: {},
    additionalProperties: false,
  });
});

test("the object lists what is required, in the order of the config", () => {
  const schema = toParametersSchema({
    b: { type: "string", required: true },
    a: { type: ["integer", "null"], required: false },
    c: { type: "boolean", required: true, default: false, enum: [true, false] },
  });
  expect(schema).toEqual({
    type: "object",
    properties: {
      b: { type: "string" },
      a: { type: ["integer", "null"] },
      c: { type: "boolean", default: false, enum: [true, false] },
    },
    required: ["b", "c"],
    additionalProperties: false,
  });
});

test("the description is the summary, or else the description; examples are given on demand", () => {
  const schema = toParametersSchema({
    both: { summary: "short", description: "long", examples: ["a"] },
    one: { description: "long" },
    none: {},
  });
  expect(schema["properties"]).toEqual({
    both: { description: "short" },
    one: { description: "long" },
    none: {},
  });
});

test("objects and lists are described all the way down", () => {
  const inner: ParameterConfig = {
    type: "object",
    properties: { id: { type: "integer", required: true, summary: "which" } },
  };
  const described = {
    type: "object",
    properties: { id: { type: "integer", description: "which" } },
    required: ["id"],
    additionalProperties: false,
  };
  const list: ParameterConfig = { type: "array", items: inner };
  expect(toParametersSchema({ inner, list })["properties"]).toEqual({
    inner: described,
    list: { type: "array", items: described },
  });
});

test("other keywords are passed on, and may open an object", () => {
  const parameter = {
    type: "object",
    properties: { a: { type: "string", minLength: 2, format: "uri" } },
    additionalProperties: { type: "string" },
  };
  expect(toParametersSchema({ parameter })["properties"]).toEqual({ parameter });
});
