import { expect, test } from "vitest";
import type { JsonObject } from "../util/index.ts";
import { isQuick } from "./quick-schema.ts";

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
