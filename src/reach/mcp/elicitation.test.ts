import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../util/index.ts";
import { asksForSecret, parseElicitation } from "./elicitation.ts";

function fieldOf(schema: JsonObject, name = "a"): unknown {
  const requestedSchema = { type: "object", properties: { [name]: schema }, required: [name] };
  const elicitation = parseElicitation({ message: "?", requestedSchema });
  return elicitation.type === "form" ? elicitation.fields[0] : undefined;
}

describe("a field", () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      "of text keeps its limits and nothing else",
      { type: "string", minLength: 1, pattern: "^a", format: "email", $ref: "#/x", enumNames: 3 },
      {
        kind: { type: "text" },
        schema: { type: "string", minLength: 1, pattern: "^a", format: "email" },
      },
    ],
    [
      "with a default that is nested too deep has none",
      { type: "string", default: JSON.parse("[".repeat(20_000) + "]".repeat(20_000)) as Json },
      { kind: { type: "text" }, schema: { type: "string" } },
    ],
    [
      "with a format that the protocol does not name has none",
      { type: "string", format: "url" },
      { kind: { type: "text" }, schema: { type: "string" } },
    ],
    [
      "with invalid limits has none",
      { type: "integer", minimum: "1", maximum: null },
      { kind: { type: "integer" }, schema: { type: "integer" } },
    ],
    [
      "keeps its title and description",
      { type: "boolean", title: "A?", description: "B.", default: true },
      {
        title: "A?",
        description: "B.",
        default: true,
        kind: { type: "boolean" },
        schema: { type: "boolean" },
      },
    ],
    [
      "may list its choices twice, and name them in the older way",
      { type: "string", enum: ["a", "b", "a"], enumNames: ["A", "b", "again"] },
      {
        kind: {
          type: "choice",
          options: [{ value: "a", title: "A" }, { value: "b" }],
          isMultiple: false,
        },
        schema: { type: "string", enum: ["a", "b"] },
      },
    ],
    [
      "may take several choices",
      { type: "array", maxItems: 1, items: { anyOf: [{ const: "a", title: "A" }] } },
      {
        kind: { type: "choice", options: [{ value: "a", title: "A" }], isMultiple: true },
        schema: {
          type: "array",
          items: { type: "string", enum: ["a"] },
          uniqueItems: true,
          maxItems: 1,
        },
      },
    ],
  ])("%s", (_, schema, expected) => {
    const common = { name: "a", isRequired: true, isSecret: false };
    expect(fieldOf(schema)).toEqual({ ...common, ...expected });
  });

  test("that is a choice or a boolean is not a secret, whatever its name", () => {
    expect([
      fieldOf({ type: "boolean" }, "save_password"),
      fieldOf({ type: "string", enum: ["a"] }, "token"),
      fieldOf({ type: "integer" }, "pin"),
    ]).toMatchObject([{ isSecret: false }, { isSecret: false }, { isSecret: true }]);
  });
});

test.each([
  ["no object", "hello", "expected an object"],
  ["a message that is not text", { message: 1 }, "message: expected a string"],
  ["no form", { message: "?" }, "requestedSchema: expected an object"],
  ["a field without a type", form({ a: {} }), "requestedSchema.properties.a.type: expected"],
  ["a nested field", form({ a: { type: "object" } }), "a.type: expected"],
  ["a list of anything", form({ a: { type: "array", items: {} } }), "a.type: expected"],
  ["no choices", form({ a: { enum: [] } }), "has no choices"],
  ["numbers to choose from", form({ a: { enum: [1] } }), "expected choices that are strings"],
  ["too many choices", form({ a: { enum: numbered(501) } }), "more than 500 choices"],
  ["too many fields", form(Object.fromEntries(numbered(101).map((n) => [n, {}]))), "more than 100"],
  ["a program", { mode: "url", message: "?", url: "file:///bin/sh" }, "not an http or https URL"],
  ["no address", { mode: "url", message: "?", url: "moon" }, "not an http or https URL"],
  [
    "too long an address",
    { mode: "url", message: "?", url: `https://moon.example/${"a".repeat(2000)}` },
    "longer than 2000 characters",
  ],
])("a question with %s is rejected", (_, params, problem) => {
  expect(() => parseElicitation(params)).toThrow(problem);
});

function form(properties: JsonObject): JsonObject {
  return { message: "?", requestedSchema: { type: "object", properties } };
}

function numbered(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `n${index}`);
}

test.each([
  "password",
  "userPassword",
  "DB_PASSWD",
  "pass phrase",
  "clientSecret",
  "token",
  "access-token",
  "GitHubToken",
  "apiKey",
  "API Key",
  "APIKey",
  "private_key",
  "credentials",
  "SSN",
  "creditCardNumber",
  "card_number",
  "cvv",
  "PIN",
  "otp",
])("%s is the name of a secret", (name) => {
  expect([asksForSecret(name, {}), asksForSecret("x", { title: name })]).toEqual([true, true]);
});

test.each([
  "name",
  "email",
  "max_tokens",
  "maxTokens",
  "compass",
  "passenger",
  "spinner",
  "keyboard",
  "secretary",
  "cardinality",
  "pinned",
])("%s is not", (name) => {
  expect(asksForSecret(name, { title: "What?" })).toBe(false);
});

test("a write-only or password field is a secret by any name", () => {
  expect([
    asksForSecret("x", { format: "password" }),
    asksForSecret("x", { writeOnly: true }),
    asksForSecret("x", { format: "email", writeOnly: false }),
  ]).toEqual([true, true, false]);
});
