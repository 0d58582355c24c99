import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../util/index.ts";
import { findViolations } from "./check-arguments.ts";
import { fitsPlainly, isQuick } from "./quick-schema.ts";

test("a schema of plain properties is checked without a limit of time", () => {
  const schema = {
    type: "object",
    properties: { name: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
    required: ["name"],
    additionalProperties: false,
  };
  expect(isQuick(schema, { name: "Ana" })).toBe(true);
});

test.each<JsonObject>([
  { properties: { name: { pattern: "(a+)+$" } } },
  { properties: { name: { format: "email" } } },
  { items: { $ref: "#" } },
  { patternProperties: { "(a+)+$": true } },
  { anyOf: [{ type: "string" }] },
  { properties: { deep: { items: { uniqueItems: true } } } },
  { unknown: 1 },
])("a schema that could take long is checked with one: %j", (schema) => {
  expect(isQuick(schema, {})).toBe(false);
});

test("long values and large schemas are checked with one", () => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`p${index}`, {}]));
  expect(isQuick({ properties: many }, {})).toBe(false);
  expect(isQuick({ type: "object" }, { text: "x".repeat(60_000) })).toBe(false);
});

const SCALAR = fc.oneof(fc.constantFrom("", "a", "b"), fc.integer(), fc.double(), fc.boolean());
const { value: VALUE } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    SCALAR.map((value) => (Number.isFinite(value) || typeof value !== "number" ? value : null)),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "toString"), tie("value")),
  ),
}));
const TYPE = fc.constantFrom("array", "boolean", "integer", "null", "number", "object", "string");
const { schema: SCHEMA } = fc.letrec<{ schema: Json }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.boolean(),
    fc.record<Record<string, Json>>(
      {
        title: fc.constant("A title"),
        type: fc.oneof(TYPE, fc.array(TYPE, { minLength: 1, maxLength: 3 })),
        enum: fc.array(VALUE, { minLength: 1, maxLength: 4 }),
        required: fc.subarray(["a", "b", "toString"]),
        items: tie("schema"),
        properties: fc.dictionary(fc.constantFrom("a", "b", "toString"), tie("schema")),
        additionalProperties: tie("schema"),
        minimum: fc.integer(),
        maxLength: fc.nat(2),
      },
      { requiredKeys: [] },
    ),
  ),
}));

test("whatever plainly fits a schema has no violations", async () => {
  await fc.assert(
    fc.asyncProperty(SCHEMA, VALUE, async (schema, value) => {
      const root = { type: "object", properties: { value: schema } };
      const fits = fitsPlainly(root, { value });
      expect(fits ? await findViolations(root, { value }) : []).toEqual([]);
    }),
    { numRuns: 1000 },
  );
});

test.each<[JsonObject, Json]>([
  [{ type: "object" }, { any: [1] }],
  [{ type: ["string", "null"], description: "A name." }, null],
  [{ type: "array", items: { enum: ["a", 1] } }, ["a", 1]],
  [
    { properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false },
    { a: 1 },
  ],
  [{ additionalProperties: { type: "boolean" } }, { a: true }],
])("to %j fits %j, plainly", (schema, value) => {
  expect(fitsPlainly(schema, value)).toBe(true);
});

test.each<[JsonObject, Json]>([
  [{ type: "integer" }, 1.5],
  [{ type: "object" }, []],
  [{ type: "number" }, "1"],
  [{ enum: [["a"]] }, ["a"]],
  [{ required: ["toString"] }, {}],
  [{ properties: {}, additionalProperties: false }, { a: 1 }],
  [{ properties: { a: { minLength: 1 } } }, { a: "long" }],
  [{ items: [{ type: "string" }] }, ["a"]],
])("only the validator can say whether %j fits %j", (schema, value) => {
  expect(fitsPlainly(schema, value)).toBe(false);
});
