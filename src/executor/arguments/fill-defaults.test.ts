import { expect, test } from "vitest";
import type { JsonObject } from "../../util/index.ts";
import { fillDefaults } from "./fill-defaults.ts";

const object = (properties: JsonObject, others: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...others,
});

test("a key that is missing gets its default, required or not, and one that is given stays", () => {
  const properties = { a: { default: 1 }, b: { default: null }, c: { default: [] }, d: {} };
  const schema = object(properties, { required: ["a"] });
  expect([fillDefaults({}, schema), fillDefaults({ a: 2, b: 3, e: 4 }, schema)]).toEqual([
    { a: 1, b: null, c: [] },
    { a: 2, b: 3, e: 4, c: [] },
  ]);
});

test("defaults are filled into what is given, at every depth, and into defaults", () => {
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

test("a reference is followed, as far as the value goes", () => {
  const node = object({ kind: { default: "leaf" }, next: { $ref: "#/$defs/node" } });
  const schema = { ...object({ node: { $ref: "#/$defs/node" } }), $defs: { node } };
  expect(fillDefaults({ node: { next: { next: {} } } }, schema)).toEqual({
    node: { kind: "leaf", next: { kind: "leaf", next: { kind: "leaf" } } },
  });
});

test("arguments and schema stay as they are", () => {
  const schema = object({ a: { default: { b: 1 } }, c: object({ d: { default: 1 } }) });
  const given = { c: {} };
  const before = JSON.stringify([schema, given]);
  fillDefaults(given, schema);
  expect(JSON.stringify([schema, given])).toBe(before);
});
