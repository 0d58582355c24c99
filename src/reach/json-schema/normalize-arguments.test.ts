import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../util/index.ts";
import { coerceArguments, fillDefaults } from "./normalize-arguments.ts";

const coerce = (schema: JsonObject, value: Json, root: JsonObject = {}) =>
  coerceArguments({ value }, { ...root, type: "object", properties: { value: schema } })["value"];

test.each<[string, JsonObject, string, Json]>([
  ["an integer", { type: "integer" }, "3", 3],
  ["a number", { type: "number" }, " -1.5e3 ", -1500],
  ["a boolean", { type: "boolean" }, "true", true],
  ["null", { type: ["integer", "null"] }, "null", null],
  ["a list", { type: "array" }, '["a"]', ["a"]],
  ["an object", { type: "object" }, '{"a":"1"}', { a: "1" }],
  ["one of several types", { anyOf: [{ type: "integer" }, { type: "null" }] }, "3", 3],
  ["a choice", { enum: [1, 2] }, "2", 2],
  ["the only value", { const: true }, "true", true],
  ["what a reference leads to", { $ref: "#/$defs/a~1b" }, "3", 3],
  ["one part of a whole", { allOf: [{ minimum: 1 }, { type: "integer" }] }, "3", 3],
])("a string that contains %s is parsed", (_, schema, text, value) => {
  expect(coerce(schema, text, { $defs: { "a/b": { type: "integer" } } })).toEqual(value);
});

test.each<[string, JsonObject, string]>([
  ["strings are accepted", { type: "string" }, "3"],
  ["strings are accepted too", { type: ["integer", "string"] }, "3"],
  ["one alternative is a string", { anyOf: [{ type: "integer" }, { type: "string" }] }, "3"],
  ["nothing is said about the type", {}, "3"],
  ["nothing is said about one alternative", { anyOf: [{ type: "integer" }, {}] }, "3"],
  ["it holds another type", { type: "integer" }, "true"],
  ["it holds a fraction", { type: "integer" }, "1.5"],
  ["it is not JSON", { type: "boolean" }, "True"],
  ["it holds an integer that we cannot hold", { type: "integer" }, "12345678901234567890"],
  ["it holds a number that we cannot hold", { type: "number" }, "1e999"],
  ["a reference leads to a name", { $ref: "#integer" }, "3"],
  ["a reference leads nowhere", { $ref: "#/$defs/none" }, "3"],
  ["a reference leads to itself", { $ref: "#/properties/value" }, "3"],
])("a string stays a string where %s", (_, schema, text) => {
  expect(coerce(schema, text)).toBe(text);
});

const NAMED: JsonObject = {
  type: "object",
  properties: { name: { type: "string" }, size: { type: "integer" } },
  required: ["name"],
};

test("a string becomes the object that needs only this string", () => {
  expect(coerce({ type: "array", items: NAMED }, ["a", '{"name":"b"}', "3"])).toEqual([
    { name: "a" },
    { name: "b" },
    { name: "3" },
  ]);
});

test.each<[string, JsonObject]>([
  ["needs nothing", { ...NAMED, required: [] }],
  ["needs more", { ...NAMED, required: ["name", "size"] }],
  ["needs something else", { ...NAMED, required: ["size"] }],
  ["is not the only choice", { ...NAMED, type: ["object", "null"] }],
])("a string stays a string where an object %s", (_, schema) => {
  expect(coerce(schema, "a")).toBe("a");
});

test("a boolean becomes its name where only strings are accepted", () => {
  const types: readonly JsonObject[] = [{ type: "string" }, { type: ["string", "null"] }, {}];
  expect(types.map((schema) => coerce(schema, true))).toEqual(["true", true, true]);
});

describe("members", () => {
  const numbers: JsonObject = { type: "array", items: { type: "integer" } };

  test("of objects and lists are parsed at every depth", () => {
    const schema: JsonObject = {
      type: "object",
      properties: { list: numbers, flag: { type: "boolean" }, text: { type: "string" } },
      additionalProperties: { type: "integer" },
    };
    const given = { list: ["1", 2, "x"], flag: "false", text: "3", other: "4" };
    expect(coerce({ type: "array", items: schema }, [given])).toEqual([
      { list: [1, 2, "x"], flag: false, text: "3", other: 4 },
    ]);
  });

  test("of a parsed string are parsed, too", () => {
    const schema: JsonObject = { type: "object", properties: { list: numbers } };
    expect(coerce(schema, '{"list":"[\\"1\\"]"}')).toEqual({ list: [1] });
  });

  test("of a tuple are parsed by their position", () => {
    const schema = { type: "array", prefixItems: [{ type: "string" }], items: { type: "integer" } };
    expect(coerce(schema, ["1", "2"])).toEqual(["1", 2]);
  });

  test("of an alternative are parsed if the type leaves only one", () => {
    const schema: JsonObject = { oneOf: [{ type: "string" }, { $ref: "#/$defs/numbers" }] };
    expect(coerce(schema, ["1"], { $defs: { numbers } })).toEqual([1]);
  });

  test("named like properties of every object are not part of the schema", () => {
    const given = JSON.parse('{"__proto__":"1","toString":"2"}') as JsonObject; // An object.
    const schema = { type: "object", properties: {} };
    expect(JSON.stringify(coerceArguments(given, schema))).toBe('{"__proto__":"1","toString":"2"}');
  });
});

test("arguments of the right types are returned unchanged", () => {
  const schema = fc.constantFrom<JsonObject>(
    { type: "string" },
    { type: ["string", "integer"] },
    {},
    { type: "object" },
    { type: "array", items: { type: "string" } },
  );
  fc.assert(
    fc.property(schema, fc.string(), (each, text) => {
      const fits = each["type"] === "array" ? [text] : each["type"] === "object" ? { text } : text;
      expect(coerce(each, fits)).toEqual(fits);
    }),
  );
});

test("a value survives as JSON wherever its type is declared and strings are not accepted", () => {
  const value = fc.jsonValue({ maxDepth: 3 }).filter((each) => typeof each !== "string");
  fc.assert(
    fc.property(value, (each) => {
      const json = JSON.parse(JSON.stringify(each)) as Json; // By definition.
      const type = ["null", "boolean", "number", "array", "object"];
      expect(coerce({ type }, JSON.stringify(json))).toEqual(
        Number.isInteger(json) && !Number.isSafeInteger(json) ? JSON.stringify(json) : json,
      );
    }),
  );
});

const object = (properties: JsonObject, others: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...others,
});

test("a missing key gets its default, required or not, and a given one stays", () => {
  const properties = { a: { default: 1 }, b: { default: null }, c: { default: [] }, d: {} };
  const schema = object(properties, { required: ["a"] });
  expect([fillDefaults({}, schema), fillDefaults({ a: 2, b: 3, e: 4 }, schema)]).toEqual([
    { a: 1, b: null, c: [] },
    { a: 2, b: 3, e: 4, c: [] },
  ]);
});

test("defaults are filled in at every depth, also inside of defaults", () => {
  const inner = object({ x: { default: 1 } });
  const schema = object({
    given: inner,
    list: { type: "array", items: inner },
    own: { ...inner, default: { y: 2 } },
    absent: inner,
  });
  expect(fillDefaults({ given: {}, list: [{}, { x: 5 }, 3] }, schema)).toEqual({
    given: { x: 1 },
    list: [{ x: 1 }, { x: 5 }, 3],
    own: { y: 2, x: 1 },
  });
});

test("a reference is followed as far as the value goes", () => {
  const node = object({ kind: { default: "leaf" }, next: { $ref: "#/$defs/node" } });
  const schema = { ...object({ node: { $ref: "#/$defs/node" } }), $defs: { node } };
  expect(fillDefaults({ node: { next: { next: {} } } }, schema)).toEqual({
    node: { kind: "leaf", next: { kind: "leaf", next: { kind: "leaf" } } },
  });
});

test("arguments and schema are not changed", () => {
  const schema = object({ a: { default: { b: 1 } }, c: object({ d: { default: 1 } }) });
  const given = { c: {} };
  const before = JSON.stringify([schema, given]);
  fillDefaults(given, schema);
  expect(JSON.stringify([schema, given])).toBe(before);
});
