import { expect, test } from "vitest";
import { describeRemoteTool, firstSentence, mergeParameters } from "./remote-description.ts";

const remote = { name: "read", description: "Reads a file. It must exist.", inputSchema: {} };

test("without configured texts, the server's description is split", () => {
  expect(describeRemoteTool({}, remote)).toEqual({
    summary: "Reads a file.",
    description: "It must exist.",
  });
});

test("with a configured summary, the server's whole description follows on demand", () => {
  expect(describeRemoteTool({ summary: "Reads." }, remote)).toEqual({
    summary: "Reads.",
    description: "Reads a file. It must exist.",
  });
});

test("a configured description replaces the server's, and may include it", () => {
  expect([
    describeRemoteTool({ description: "Only for notes." }, remote),
    describeRemoteTool({ description: "Only for notes. {{description}}" }, remote),
    describeRemoteTool({ summary: "My {{description}}", description: "{{description}}!" }, remote),
  ]).toEqual([
    { summary: "Only for notes." },
    { summary: "Only for notes.", description: "Reads a file. It must exist." },
    {
      summary: "My Reads a file. It must exist.",
      description: "Reads a file. It must exist.!",
    },
  ]);
});

test("a tool without a description has its name as summary", () => {
  expect(describeRemoteTool({}, { name: "read", inputSchema: {} })).toEqual({ summary: "read" });
});

test("replacement patterns in the server's text are not expanded", () => {
  const hostile = { ...remote, description: "$& and $1 {{description}}" };
  expect(describeRemoteTool({ summary: "{{description}}" }, hostile).summary).toBe(
    "$& and $1 {{description}}",
  );
});

test.each([
  ["Reads a file. It must exist.", "Reads a file.", "It must exist."],
  ["Reads a file", "Reads a file", ""],
  ["Reads a file.", "Reads a file.", ""],
  ["", "", ""],
  ["  Reads\n  a file.\n\nMore.", "Reads a file.", "More."],
  ["Reads a file\n\nIt must exist.", "Reads a file", "It must exist."],
  ["Reads:\n- files\n- folders. Often.", "Reads:", "- files\n- folders. Often."],
  ["Reads files, e.g. Markdown. And more.", "Reads files, e.g. Markdown.", "And more."],
  ["Reads file.txt from version 1.2 on. Really?", "Reads file.txt from version 1.2 on.", "Really?"],
  ["Reads it (all of it.) Then stops!", "Reads it (all of it.)", "Then stops!"],
  ["Liest es. Über alles.", "Liest es.", "Über alles."],
])("%j is split at its first sentence", (text, sentence, rest) => {
  expect(firstSentence(text)).toEqual({ sentence, rest });
});

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

test("without overrides, the server's schema is used", () => {
  expect(mergeParameters("read", schema, {})).toEqual(schema);
  expect(mergeParameters("read", { type: "object" }, {})).toEqual({
    type: "object",
    properties: {},
  });
});

test("type, enum, default and description are replaced, and the rest stays", () => {
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

test("properties and items replace the server's, with the rules about them", () => {
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

test("descriptions may include the server's, at every depth", () => {
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

test("an unknown parameter is an error that lists the known ones", () => {
  expect(() => mergeParameters("my_read", schema, { pth: { type: "string" } })).toThrow(
    expect.objectContaining({
      code: "mcp_unknown_parameter",
      message: "conversation.tools.my_read.parameters.pth is not a parameter of the tool.",
      hint: "Its parameters: path, lines, filter, tags",
    }),
  );
});

test("the server's schema is not mutated", () => {
  const before = structuredClone(schema);
  mergeParameters("read", schema, { path: { description: "Here." }, lines: { required: true } });
  expect(schema).toEqual(before);
});
