import { configToJson } from "./layers.ts";
import { Validator } from "@cfworker/json-schema";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { anyConfig, ofTool, readConfig } from "./any-config.fixture.ts";
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { DEFAULTS } from "./defaults.ts";
import { parseConfig } from "./parse-config.ts";
import { configJsonSchema } from "./config-json-schema.ts";

let schema: JsonObject;
let validator: Validator;

beforeAll(async () => {
  schema = await configJsonSchema();
  validator = new Validator(schema, "7");
});

test("the schema is JSON, names its dialect, and has a title", () => {
  expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  expect(schema).toMatchObject({
    $schema: expect.stringMatching(/^https?:\/\/json-schema\.org\//),
    title: "jp configuration",
    type: "object",
  });
});

test("the schema uses only keywords of JSON Schema", () => {
  const known = new Set(
    "$schema $ref $defs title description type properties required additionalProperties propertyNames items anyOf enum const default minItems minLength minimum maximum exclusiveMinimum pattern examples".split(
      " ",
    ),
  );
  expect([...wordsOf(schema)].filter((word) => !known.has(word))).toEqual([]);
});

test.each([
  "assistant.model.id",
  "assistant.system_prompt",
  "conversation.attachments",
  "conversation.tools.x.enable",
  "conversation.tools.x.detached",
  "conversation.tools.x.command",
  "conversation.tools.x.run",
  "conversation.tools.x.source",
  "conversation.tools.x.questions.q.target",
  "conversation.tools.x.questions.q.answer",
])("%s has a description", (key) => {
  expect(at(key)?.["description"]).toEqual(expect.stringMatching(/\w/));
});

test("the label of a question is a string in the schema", () => {
  verifies("083/label/in-the-config-schema");
  expect(at("conversation.tools.x.questions.q.prompt_label")).toEqual({
    description: expect.stringMatching(/\w/),
    type: "string",
  });
});

test("exclusive is a boolean in the schema", () => {
  expect(at("conversation.tools.x.questions.q.exclusive")).toEqual({
    description: expect.stringMatching(/\w/),
    type: "boolean",
  });
});

describe("what may be written", () => {
  test.each<[string, Json]>([
    ["nothing", {}],
    [
      "every shorthand of enable",
      {
        conversation: {
          tools: Object.fromEntries(
            [
              true,
              false,
              "on",
              "off",
              "always",
              "explicit",
              {},
              { state: true },
              { allow_toggle: "if_named_or_group" },
            ].map((enable, index) => [`t${index}`, { enable }]),
          ),
        },
      },
    ],
    ["enable for all tools", { conversation: { tools: { "*": { enable: "explicit" } } } }],
    ["detached as a word", ofTool({ detached: "deny" })],
    ["detached as a table", ofTool({ detached: { run: "auto" } })],
    ["a command as a line", ofTool({ command: "just 'a b'" })],
    ["a command as a table", ofTool({ command: { program: "just" } })],
    [
      "targets",
      ofTool({
        questions: {
          a: { target: "user" },
          b: { target: "assistant" },
          c: { target: {} },
          d: { target: { model: { id: "x" } } },
        },
      }),
    ],
    [
      "any answer",
      ofTool({
        questions: { a: { answer: false }, b: { answer: null }, c: { answer: { d: [0] } } },
      }),
    ],
    [
      "models",
      {
        assistant: { model: { id: "a/b" } },
        conversation: { inquiry: { assistant: { model: { id: { provider: "a", name: "b" } } } } },
      },
    ],
    [
      "lists",
      {
        conversation: {
          attachments: [
            "a",
            { type: "cmd", path: "git", params: { arg: ["diff"], description: "x" } },
          ],
        },
        assistant: { instructions: { value: [{ title: "a" }], strategy: "prepend" } },
      },
    ],
    ["a list without its strategy", { conversation: { attachments: { value: ["a"] } } }],
    ["texts", { assistant: { system_prompt: { value: "a" } } }],
    [
      "any parameter of a model",
      { assistant: { model: { parameters: { seed: 1, reasoning: { effort: 3 } } } } },
    ],
    [
      "nested parameters of a tool",
      ofTool({
        parameters: {
          p: { type: "array", items: { type: "object", properties: { a: { enum: [1] } } } },
        },
      }),
    ],
    [
      "sources",
      {
        conversation: {
          tools: { a: { source: "builtin" }, b: { source: "local.x" }, c: { source: "mcp.s.t" } },
        },
      },
    ],
    ["files to extend", { extends: ["a", { path: "b", strategy: "after" }, { path: "c" }] }],
    [
      "lines of results",
      {
        conversation: {
          tools: Object.fromEntries(
            [true, "off", 3, { truncate: { lines: 1 } }].map((inline, index) => [
              `t${index}`,
              { style: { inline_results: inline } },
            ]),
          ),
        },
      },
    ],
  ])("passes: %s", (_name, value) => {
    expect(problems(value)).toEqual([]);
    expect(parseConfig(value).errors).toEqual([]);
  });

  test("passes for every valid config", () => {
    fc.assert(
      fc.property(anyConfig(), (raw) => {
        expect(problems(raw)).toEqual([]);
      }),
    );
  });

  test("passes as it is stored, defaults included", () => {
    expect(problems(configToJson(DEFAULTS))).toEqual([]);
    fc.assert(
      fc.property(anyConfig(), (raw) => {
        expect(problems(configToJson(readConfig(raw)))).toEqual([]);
      }),
    );
  });
});

test("nothing that the parser accepts fails in the JSON Schema", () => {
  const value = fc.oneof(
    fc.constantFrom<Json>(null, true, -1, 0, 2.5, "", "on", "off", "a/b", [], ["a"], {}),
    fc.jsonValue({ maxDepth: 2 }).map((json) => JSON.parse(JSON.stringify(json)) as Json),
  );
  let accepted = 0;
  fc.assert(
    fc.property(anyConfig(), fc.infiniteStream(fc.nat()), value, (raw, choices, other) => {
      const changed = withOther(raw, () => Number(choices.next().value), other);
      if (parseConfig(changed).errors.length > 0) return;
      accepted += 1;
      expect(problems(changed)).toEqual([]);
    }),
    { numRuns: 500 },
  );
  expect(accepted).toBeGreaterThan(50);
});

describe("what may not be written", () => {
  test.each<[string, Json]>([
    ["a text for a table", { assistant: "x" }],
    ["a list for a table", { assistant: [] }],
    ["a number for a text", { user: { name: 3 } }],
    ["a word that enable does not know", ofTool({ enable: "yes" })],
    ["a half that enable does not know", ofTool({ enable: { stat: true } })],
    ["a mode that detached does not know", ofTool({ detached: { run: "allow" } })],
    ["a way to run that there is not", { conversation: { tools: { "*": { run: "never" } } } }],
    ["a command without a program", ofTool({ command: { args: [] } })],
    ["an unknown target", ofTool({ questions: { q: { target: "nobody" } } })],
    ["a model without a name", { assistant: { model: { id: { provider: "a" } } } }],
    ["a model of no letters", { assistant: { model: { id: "" } } }],
    [
      "a strategy that there is not",
      { conversation: { attachments: { value: [], strategy: "merge" } } },
    ],
    ["a source that there is not", ofTool({ source: "mcp" })],
    ["an extension without a path", { extends: [{ strategy: "after" }] }],
    [
      "a checksum that there is not",
      { providers: { mcp: { s: { checksum: { algorithm: "md5", value: "" } } } } },
    ],
    [
      "items of a parameter that are not a table",
      ofTool({ parameters: { p: { items: { items: 3 } } } }),
    ],
  ])("fails in the parser and in the JSON Schema: %s", (_name, value) => {
    expect(problems(value)).not.toEqual([]);
    expect(parseConfig(value).errors).not.toEqual([]);
  });
});

function problems(value: Json) {
  return validator
    .validate(value)
    .errors.map(({ error, instanceLocation }) => `${instanceLocation}: ${error}`);
}

/** The config with another value at some place in it. */
function withOther(config: JsonObject, choose: () => number, other: Json): JsonObject {
  const keys = Object.keys(config);
  const key = keys[choose() % Math.max(1, keys.length)];
  if (key === undefined) return { ...config, key: other };
  const member = config[key];
  const isInside = isJsonObject(member) && choose() % 4 > 0;
  return { ...config, [key]: isInside ? withOther(member, choose, other) : other };
}

/** The schema of a key; names go through what other keys hold. */
function at(key: string): JsonObject | undefined {
  return key.split(".").reduce<JsonObject | undefined>((node, part) => {
    const properties = node?.["properties"] as JsonObject | undefined;
    return (properties?.[part] ?? node?.["additionalProperties"]) as JsonObject | undefined;
  }, schema);
}

/** The keywords in use; the names of properties and definitions are none. */
function wordsOf(node: Json): ReadonlySet<string> {
  if (Array.isArray(node)) return new Set(node.flatMap((item: Json) => [...wordsOf(item)]));
  if (typeof node !== "object" || node === null) return new Set();
  const found = Object.entries(node as JsonObject).flatMap(([word, value]) => {
    const isNames = word === "properties" || word === "$defs";
    const inner = isNames
      ? Object.values(value as JsonObject)
      : word === "enum" || word === "default"
        ? []
        : [value];
    return [word, ...inner.flatMap((item) => [...wordsOf(item)])];
  });
  return new Set(found);
}
