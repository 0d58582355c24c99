import { describe, expect, test } from "vitest";
import { counters } from "../../../../test/security/threats.ts";
import { type FormField, parseElicitation } from "../../mcp/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import { expectationOf, toFieldValue } from "./form-field.ts";

function fieldOf(schema: JsonObject, required: readonly string[] = []): FormField {
  const requestedSchema = { type: "object", properties: { a: schema }, required };
  const elicitation = parseElicitation({ message: "?", requestedSchema });
  const [field] = elicitation.type === "form" ? elicitation.fields : [];
  if (field === undefined) throw new Error("no field");
  return field;
}

const text = { type: "string" };
const integer = { type: "integer" };
const moons = { type: "string", enum: ["Io", "Europa"] };
const titled = {
  anyOf: [
    { const: "i", title: "Io" },
    { const: "e", title: "Europa" },
  ],
};

test.each<[JsonObject, Json, Json]>([
  [text, " as it is ", " as it is "],
  [{ ...text, format: "email" }, " a@b.example ", "a@b.example"],
  [{ ...text, format: "uri" }, "https://b.example/", "https://b.example/"],
  [{ ...text, format: "date" }, "2024-02-29", "2024-02-29"],
  [{ ...text, format: "date-time" }, "2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"],
  [{ ...text, format: "password" }, "x", "x"],
  [{ ...text, minLength: 2, maxLength: 3 }, "äöü", "äöü"],
  [{ ...text, pattern: "^a+$" }, "aaa", "aaa"],
  [{ ...text, pattern: "(" }, "left to the server", "left to the server"],
  [integer, " -3 ", -3],
  [integer, "1e3", 1000],
  [{ type: "number" }, ".5", 0.5],
  [{ type: "boolean" }, false, false],
  [moons, "Io", "Io"],
  [{ type: "array", items: moons }, ["Io"], ["Io"]],
  [{ type: "string", oneOf: titled.anyOf }, "e", "e"],
  [{ type: "array", items: titled }, ["e", "i"], ["e", "i"]],
])("%j accepts %j", async (schema, answer, value) => {
  expect(await toFieldValue(fieldOf(schema), answer)).toEqual({ type: "value", value });
});

test.each<[JsonObject, Json, string]>([
  [{ ...text, format: "email" }, "me", "an email address"],
  [{ ...text, format: "uri" }, "moon", "a URL like https://example.com/"],
  [{ ...text, format: "date" }, "2023-02-29", "a date like 2026-01-31"],
  [{ ...text, format: "date-time" }, "noon", "a date and time like 2026-01-31T12:00:00Z"],
  [{ ...text, minLength: 2 }, "a", "text, at least 2 characters"],
  [{ ...text, maxLength: 2 }, "aaa", "text, at most 2 characters"],
  [{ ...text, pattern: "^a+$" }, "b", "text, matching ^a+$"],
  [{ ...text, pattern: String.raw`^[\w-.]+$` }, "a b", String.raw`text, matching ^[\w-.]+$`],
  [{ ...text, pattern: String.raw`^\d\-\d$` }, "1 2", String.raw`text, matching ^\d\-\d$`],
  [integer, "many", "a whole number"],
  [integer, "1.5", "a whole number"],
  [integer, "9007199254740993", "a whole number"],
  [{ type: "number" }, "0x10", "a number"],
  [{ type: "number" }, "Infinity", "a number"],
  [{ type: "number", minimum: 0, maximum: 1 }, "2", "a number, at least 0, at most 1"],
  [{ type: "number", exclusiveMinimum: 0 }, "0", "a number, more than 0"],
  [{ type: "number", exclusiveMaximum: 1 }, "1", "a number, less than 1"],
  [{ ...integer, multipleOf: 5 }, "7", "a whole number, a multiple of 5"],
  [{ type: "array", items: moons, minItems: 2 }, ["Io"], "a choice, at least 2 of them"],
  [{ type: "array", items: titled, maxItems: 1 }, ["i", "e"], "a choice, at most 1 of them"],
])("%j does not accept %j, but %s", async (schema, answer, expected) => {
  const field = fieldOf(schema);
  expect([await toFieldValue(field, answer), expectationOf(field)]).toEqual([
    { type: "invalid", problem: "That answer is not valid." },
    expected,
  ]);
});

describe("an empty answer", () => {
  test.each<[JsonObject, Json]>([
    [text, " "],
    [integer, ""],
    [moons, "(leave out)"],
    [{ type: "array", items: moons, minItems: 1 }, []],
  ])("to %j is not sent, and not accepted if the field is required", async (schema, answer) => {
    expect([
      await toFieldValue(fieldOf(schema), answer),
      await toFieldValue(fieldOf(schema, ["a"]), answer),
    ]).toEqual([{ type: "absent" }, { type: "invalid", problem: "An answer is required." }]);
  });

  test("is not an option of the same name", async () => {
    const field = fieldOf({ type: "string", enum: ["(leave out)"] });
    expect(await toFieldValue(field, "(leave out)")).toEqual({
      type: "value",
      value: "(leave out)",
    });
  });
});

test.each(["url", "uri-template", "uri-reference", "hostname", "regex", "json-pointer"])(
  "a format that the protocol does not name is not checked: %s",
  async (format) => {
    counters("T-MCP-5");
    // The time of the validator's expression for a URL doubles with every letter.
    const answer = `http://${"a".repeat(24)} {`;
    expect(await toFieldValue(fieldOf({ ...text, format }), answer)).toEqual({
      type: "value",
      value: answer,
    });
  },
);

test("a password is sent as it was typed, spaces included", async () => {
  const field = fieldOf({ ...text, format: "password" });
  expect(await toFieldValue(field, " x ")).toEqual({ type: "value", value: " x " });
});

test("a pattern that takes too long is given up", async () => {
  counters("T-MCP-5");
  const field = fieldOf({ ...text, pattern: "^(a+)+$" });
  const answer = `${"a".repeat(60)}!`;
  expect(await toFieldValue(field, answer)).toEqual({ type: "value", value: answer });
});
