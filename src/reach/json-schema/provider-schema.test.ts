import { describe, expect, test } from "vitest";
import { constToEnum, isStrict, toStrictSchema } from "./provider-schema.ts";

describe("const", () => {
  test("becomes a list with one value in schemas, and nowhere else", () => {
    const schema = {
      type: "object",
      properties: {
        const: { type: "string" },
        kind: { const: "a", description: "Which." },
        list: { type: "array", items: { anyOf: [{ const: 1 }, { const: null }] } },
        given: { enum: [{ const: "value" }], default: { const: "value" } },
      },
      $defs: { deep: { additionalProperties: { const: true } } },
    };
    expect(constToEnum(schema)).toEqual({
      type: "object",
      properties: {
        const: { type: "string" },
        kind: { enum: ["a"], description: "Which." },
        list: { type: "array", items: { anyOf: [{ enum: [1] }, { enum: [null] }] } },
        given: { enum: [{ const: "value" }], default: { const: "value" } },
      },
      $defs: { deep: { additionalProperties: { enum: [true] } } },
    });
  });
});

const text = { type: "string" };

describe("a strict schema", () => {
  test("is closed at every object", () => {
    const inner = { type: "object", properties: { b: text }, required: ["b"] };
    const schema = { type: "object", properties: { a: inner }, required: ["a"] };
    expect(toStrictSchema(schema)).toEqual({
      ...schema,
      additionalProperties: false,
      properties: { a: { ...inner, additionalProperties: false } },
    });
    expect(isStrict(schema)).toBe(true);
  });

  test.each([
    ["has an optional field", { type: "object", properties: { a: text } }],
    [
      "has one deep inside",
      {
        type: "object",
        properties: { a: { type: "object", properties: { b: text } } },
        required: ["a"],
      },
    ],
    ["is open on purpose", { type: "object", properties: {}, additionalProperties: true }],
    ["is a choice", { type: "object", properties: {}, oneOf: [{}] }],
    ["is not an object", { type: "array", items: text }],
  ])("is not made of one that %s, which stays unchanged", (_, schema) => {
    expect({ isStrict: isStrict(schema), sent: toStrictSchema(schema) }).toEqual({
      isStrict: false,
      sent: schema,
    });
  });
});
