import { expect, test } from "vitest";
import { mergeParameters } from "./merge-parameters.ts";

const schema = {
  type: "object",
  properties: {
    path: { type: "string", description: "Where it is.", minLength: 1 },
    lines: { type: "integer", default: 10 },
    filter: {
      type: "object",
      description: "Which ones.",
      properties: { name: { type: "string", description: "By name." } },
      required: ["name"],
      additionalProperties: true,
    },
    tags: { type: "array", items: { type: "string", description: "A tag." } },
  },
  required: ["path"],
  $defs: { a: {} },
};

test("without overrides the schema is the server's", () => {
  expect(mergeParameters("read", schema, {})).toEqual(schema);
  expect(mergeParameters("read", { type: "object" }, {})).toEqual({
    type: "object",
    properties: {},
  });
});

test("type, enum, default and description replace, and the rest stays", () => {
  const merged = mergeParameters("read", schema, {
    path: { type: ["string", "null"], enum: ["a", null], default: "a", description: "Here." },
  });
  expect(merged).toEqual({
    ...schema,
    properties: {
      ...schema.properties,
      path: {
        type: ["string", "null"],
        description: "Here.",
        minLength: 1,
        enum: ["a", null],
        default: "a",
      },
    },
  });
});

test("a parameter can be made required, never optional", () => {
  const merged = mergeParameters("read", schema, {
    path: { required: false },
    lines: { required: true },
  });
  expect(merged["required"]).toEqual(["path", "lines"]);
});

test("members and items replace those of the server with all that was said about them", () => {
  const merged = mergeParameters("read", schema, {
    filter: { properties: { size: { type: "integer", required: true } } },
    tags: { items: { type: "integer" } },
  });
  expect(merged).toMatchObject({
    properties: {
      filter: {
        type: "object",
        description: "Which ones.",
        properties: { size: { type: "integer" } },
        required: ["size"],
      },
      tags: { type: "array", items: { type: "integer" } },
    },
  });
  expect(merged).not.toHaveProperty("properties.filter.properties.name");
  expect(merged).not.toHaveProperty("properties.tags.items.description");
});

test("descriptions may quote those of the server, at every depth", () => {
  const merged = mergeParameters("read", schema, {
    path: { summary: "{{description}} Absolute." },
    lines: { description: "How many. {{description}}" },
    filter: { properties: { name: { type: "string", description: "{{description}} Exactly." } } },
    tags: { items: { type: "string", description: "{{description}} In lower case." } },
  });
  expect(merged).toMatchObject({
    properties: {
      path: { description: "Where it is. Absolute." },
      lines: { description: "How many. " },
      filter: { properties: { name: { description: "By name. Exactly." } } },
      tags: { items: { description: "A tag. In lower case." } },
    },
  });
});

test("a parameter that the tool does not have is an error that names those it has", () => {
  expect(() => mergeParameters("my_read", schema, { pth: { type: "string" } })).toThrow(
    expect.objectContaining({
      code: "mcp_unknown_parameter",
      message:
        "conversation.tools.my_read.parameters.pth is about a parameter that the tool does not have.",
      hint: "It has: path, lines, filter, tags",
    }),
  );
});

test("the server's schema is not changed by it", () => {
  const before = structuredClone(schema);
  mergeParameters("read", schema, { path: { description: "Here." }, lines: { required: true } });
  expect(schema).toEqual(before);
});
