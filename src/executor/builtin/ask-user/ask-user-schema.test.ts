import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/conformance/manifest.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";
import { checkArguments } from "../../../json-schema/check-arguments.ts";
import { createAskUser } from "./ask-user.ts";

const { tool, config } = createAskUser();

const OPTION = {
  type: ["string", "object"],
  properties: {
    value: { type: "string" },
    description: { type: "string" },
    preview: { type: "string" },
  },
  required: ["value"],
  additionalProperties: false,
};

const QUESTION = {
  question: { type: "string" },
  context: { type: "string" },
  answer_type: { type: "string", enum: ["boolean", "select", "text"] },
  options: { type: "array", items: OPTION },
  default: { type: ["boolean", "string"] },
  strict: { type: "boolean" },
};

describe("the schema", () => {
  test("offers what the tool takes, and requires nothing but the question", () => {
    verifies(
      "083/ask-user/parameter-question",
      "083/ask-user/parameter-context",
      "083/ask-user/parameter-answer-type",
      "083/ask-user/parameter-options",
      "083/ask-user/parameter-default",
    );
    const closed = { required: ["question"], additionalProperties: false };
    expect(withoutWords(tool.parameters)).toStrictEqual({
      type: "object",
      properties: {
        ...QUESTION,
        more: { type: "array", items: { type: "object", properties: QUESTION, ...closed } },
      },
      ...closed,
    });
  });

  test("is made of what every provider takes: real types, and no conditions", () => {
    verifies("083/ask-user/schema-accepted-by-providers");
    const nodes = schemasIn(tool.parameters);
    const types = new Set(nodes.flatMap(({ type }) => type ?? "missing"));
    const keywords = new Set(nodes.flatMap((node) => Object.keys(node)));
    expect({ types, keywords }).toEqual({
      types: new Set(["array", "boolean", "object", "string"]),
      keywords: new Set([
        "additionalProperties",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "type",
      ]),
    });
  });

  test("says of every parameter what it is for", () => {
    const members = schemasIn(tool.parameters).flatMap(({ properties }) =>
      isJsonObject(properties) ? Object.values(properties) : [],
    );
    const mute = members.filter(
      (member) => !isJsonObject(member) || typeof member["description"] !== "string",
    );
    expect(mute).toEqual([]);
  });

  test.each<[string, JsonObject]>([
    ["a question alone", { question: "Which?" }],
    ["everything", { question: "Which?", context: "a\nb", answer_type: "text", default: "x" }],
    ["a boolean default", { question: "Sure?", answer_type: "boolean", default: false }],
    [
      "options as texts and as objects",
      {
        question: "Which?",
        answer_type: "select",
        options: ["a", { value: "b", description: "B", preview: "b\nb" }],
        strict: true,
      },
    ],
    ["further questions", { question: "1?", more: [{ question: "2?", answer_type: "boolean" }] }],
  ])("lets %s through, as it was written", async (_, args) => {
    expect(await checkArguments(tool, args)).toEqual({ ok: true, arguments: args });
  });

  test.each<[string, JsonObject, string]>([
    ["no question", {}, "`question`: missing"],
    [
      "another kind of answer",
      { question: "Key?", answer_type: "secret" },
      '`answer_type`: expected "boolean" or "select" or "text", got "secret"',
    ],
    [
      "a number as default",
      { question: "?", default: 3 },
      "`default`: expected boolean or string, got 3",
    ],
    [
      "an option that is a number",
      { question: "?", options: [5] },
      "`options[0]`: expected string or object, got 5",
    ],
    [
      "an option without a value",
      { question: "?", options: [{ description: "b" }] },
      "`options[0].value`: missing",
    ],
    [
      "a further question without its text",
      { question: "?", more: [{ strict: true }] },
      "`more[0].question`: missing",
    ],
    [
      "further questions inside of others",
      { question: "?", more: [{ question: "?", more: [] }] },
      "`more[0].more`: unknown; known keys: `question`, `context`, `answer_type`, `options`, " +
        "`default`, `strict`",
    ],
  ])("stops %s before the tool is entered, and says what is wrong", async (_, args, problem) => {
    verifies(
      "083/ask-user/three-answer-types-only",
      "083/ask-user/missing-question-is-an-error",
      "083/ask-user/errors-tell-the-model-what-to-change",
    );
    const checked = await checkArguments(tool, args);
    expect(checked.ok ? undefined : checked.message.split("\n")[1]).toBe(`- ${problem}`);
  });
});

/** What peers have been blamed for, each in the words that should prevent it. */
describe("the description tells the model", () => {
  test.each([
    ["to ask only for what nobody else knows", "Use it only if you cannot go on without something"],
    ["to look for itself first", "not to be found with your other tools"],
    ["to answer if in doubt", "If in doubt, answer the user's request directly."],
    ["not to have the obvious confirmed", "Do not ask for confirmation of obvious next steps"],
    ["not to ask again", "do not ask again what was answered"],
  ])("%s", (_, words) => {
    verifies("083/config/description-limits-use");
    expect(tool.description).toContain(words);
  });

  test("never to ask for secrets, and why", () => {
    verifies("083/config/description-warns-about-secrets");
    expect(tool.description).toContain(
      "Never ask for secrets (passwords, API keys, passphrases): answers are returned to you and " +
        "stored in the conversation.",
    );
  });

  test.each([
    ["not to call again where nobody is", "then do not call it again in this turn"],
    ["what to do then", "go on without the answer, or say what is missing"],
    ["that silence is no answer", "No answer is ever made up for the user."],
    ["to ask related questions together", "Ask related questions together with `more`"],
  ])("%s", (_, words) => {
    expect(tool.description).toContain(words);
  });
});

test("the description is no summary, so that nothing shorter is sent in its place", () => {
  verifies("083/config/description-reaches-the-model");
  expect([config.description, config.summary]).toEqual([tool.description, undefined]);
});

/** A schema and all that are in it. */
function schemasIn(schema: Json | undefined): readonly JsonObject[] {
  if (schema === undefined || !isJsonObject(schema)) return [];
  const { properties = {}, items } = schema;
  const members = isJsonObject(properties) ? Object.values(properties) : [];
  return [schema, ...members.flatMap(schemasIn), ...schemasIn(items)];
}

function withoutWords(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).filter(
    ([key, value]) => !(key === "description" && typeof value === "string"),
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutWords(value)]));
}
