import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../util/index.ts";
import { checkArguments, findViolations, matchesSchema } from "./check-arguments.ts";
import { toParametersSchema } from "../executor/parameters-schema.ts";

const HINT =
  'You can call `describe_tools(tools: ["x"])` to learn more about how to use this tool.';

async function problemsOf(schema: JsonObject, given: JsonObject): Promise<string[]> {
  const check = await checkArguments({ name: "x", parameters: schema, hasDetails: true }, given);
  if (check.ok) return [];
  const [title, ...lines] = check.message.split("\n");
  expect([title, lines.pop()]).toEqual(["Invalid arguments for tool 'x'. It was not run.", HINT]);
  return lines;
}

test("the model is not told of `describe_tools` where it is not offered", async () => {
  const tool = { name: "x", parameters: { type: "object", required: ["a"] } };
  expect(await checkArguments(tool, {})).toMatchObject({
    message: "Invalid arguments for tool 'x'. It was not run.\n- `a`: missing",
  });
});

const valueProblems = (schema: JsonObject, value: Json) =>
  problemsOf({ type: "object", properties: { value: schema } }, { value });

test("valid arguments are returned with strings of JSON parsed and defaults filled in", async () => {
  const parameters = toParametersSchema({
    path: { type: "string", required: true },
    lines: { type: "array", items: { type: "integer" } },
    options: {
      type: "object",
      properties: { depth: { type: "integer", default: 2 } },
      default: {},
    },
  });
  const given = { path: "12", lines: '["1", 2]' };
  expect(await checkArguments({ name: "x", parameters }, given)).toEqual({
    ok: true,
    arguments: { path: "12", lines: [1, 2], options: { depth: 2 } },
  });
});

test("missing and unknown keys are named, with the nearest known one", async () => {
  const schema = toParametersSchema({
    path: { type: "string", required: true },
    pattern: { type: "string", required: true },
    options: { type: "object", properties: { depth: { type: "integer", required: true } } },
  });
  const given = { pth: "a", other: 1, options: { dpeth: 1 } };
  expect(await problemsOf(schema, given)).toEqual([
    "- `path`: missing",
    "- `pattern`: missing",
    "- `options.depth`: missing",
    "- `options.dpeth`: unknown; did you mean `depth`?",
    "- `pth`: unknown; did you mean `path`?",
    "- and 1 more",
  ]);
  expect(await problemsOf(schema, { path: "a", pattern: "b", zzzzzz: 1 })).toEqual([
    "- `zzzzzz`: unknown; known keys: `path`, `pattern`, `options`",
  ]);
  expect(await problemsOf(toParametersSchema({}), { a: 1 })).toEqual(["- `a`: unknown"]);
});

test.each<[JsonObject, Json, string]>([
  [{ type: "integer" }, "abc", 'expected integer, got "abc"'],
  [{ type: ["integer", "null"] }, [], "expected integer or null, got []"],
  [{ enum: ["a", 2] }, "c", 'expected "a" or 2, got "c"'],
  [{ const: "a" }, "b", 'expected "a", got "b"'],
  [{ minimum: 2 }, 1, "expected at least 2, got 1"],
  [{ maximum: 2 }, 3, "expected at most 2, got 3"],
  [{ exclusiveMinimum: 2 }, 2, "expected more than 2, got 2"],
  [{ exclusiveMaximum: 2 }, 2, "expected less than 2, got 2"],
  [{ multipleOf: 2 }, 3, "expected a multiple of 2, got 3"],
  [{ minLength: 2 }, "", 'expected at least 2 characters, got ""'],
  [{ maxLength: 1 }, "ab", 'expected at most 1 characters, got "ab"'],
  [{ pattern: "^a" }, "b", 'expected text that matches "^a", got "b"'],
  [{ format: "date" }, "b", 'expected text in the format "date", got "b"'],
  [{ minItems: 1 }, [], "expected at least 1 items, got []"],
  [{ maxItems: 1 }, [1, 2], "expected at most 1 items, got [1,2]"],
  [{ uniqueItems: true }, [1, 1], "expected items that differ from each other, got [1,1]"],
  [{ not: { type: "string" } }, "a", 'Instance matched "not" schema, got "a"'],
  [{ contains: { const: 1 } }, [2], "Array does not contain item matching schema, got [2]"],
  [{ type: "string" }, { a: "x".repeat(99) }, `expected string, got {"a":"${"x".repeat(54)}…`],
])("%j explains what is wrong with %j", async (schema, value, problem) => {
  expect(await valueProblems(schema, value)).toEqual([`- \`value\`: ${problem}`]);
});

test("only the deepest problem is reported, with its path", async () => {
  const inner = {
    type: "object",
    properties: { "a/b": { type: "array", items: { type: "integer" } } },
  };
  expect(await valueProblems({ type: "array", items: inner }, [{}, { "a/b": [1, "x"] }])).toEqual([
    '- `value[1]["a/b"][1]`: expected integer, got "x"',
  ]);
});

test("a problem behind a reference is just as clear", async () => {
  const $defs = { a: { type: "object", properties: { b: { type: "integer" } }, required: ["c"] } };
  const schema = { type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs };
  expect(await problemsOf(schema, { a: { b: true } })).toEqual([
    "- `a.c`: missing",
    "- `a.b`: expected integer, got true",
  ]);
});

test("behind a reference that only the validator understands, its own message is used", async () => {
  const $defs = { a: { $anchor: "a", type: "object", required: ["c"] } };
  const schema = { type: "object", properties: { a: { $ref: "#a" } }, $defs };
  expect(await problemsOf(schema, { a: {} })).toEqual([
    '- `a`: Instance does not have required property "c".',
  ]);
});

test("only the first of many choices are listed", async () => {
  const choices = Array.from({ length: 20 }, (_, index) => index);
  expect(await valueProblems({ enum: choices }, "a")).toEqual([
    `- \`value\`: expected ${choices.slice(0, 12).join(" or ")} or …, got "a"`,
  ]);
});

test("for alternatives, the one that was meant is reported, or else all their types", async () => {
  const circle = { type: "object", properties: { r: { type: "number" } }, required: ["r"] };
  const point = {
    type: "object",
    properties: { x: { type: "number" }, y: { type: "number" } },
    required: ["x", "y"],
  };
  const schema = { anyOf: [{ type: "null" }, circle, point] };
  expect([
    await valueProblems(schema, true),
    await valueProblems(schema, { r: "big" }),
    await valueProblems({ oneOf: [{ const: "a" }, { const: "b" }] }, "c"),
    await valueProblems({ oneOf: [{ type: "integer" }, { minimum: 1 }] }, 2),
  ]).toEqual([
    ["- `value`: expected null or object, got true"],
    ['- `value.r`: expected number, got "big"'],
    ['- `value`: expected "a" or "b", got "c"'],
    ["- `value`: Instance does not match exactly one subschema (2 matches), got 2"],
  ]);
});

test("a condition is explained by what it requires", async () => {
  const schema = { type: "object", if: { not: { required: ["a"] } }, else: { required: ["b"] } };
  expect(await problemsOf(schema, { a: 1 })).toEqual(["- `b`: missing"]);
});

test("at most five problems are reported", async () => {
  const list = { type: "array", items: { type: "integer" } };
  const problems = await valueProblems(list, ["a", "b", "c", "d", "e", "f", "g"]);
  expect([problems.length, problems[4], problems[5]]).toEqual([
    6,
    '- `value[4]`: expected integer, got "e"',
    "- and 2 more",
  ]);
});

test("an invalid schema is reported as such", async () => {
  const messages = await Promise.all(
    [{ $ref: "#/$defs/none" }, { properties: { a: { pattern: "(" } } }].map((parameters) =>
      checkArguments({ name: "x", parameters }, { a: "b" }),
    ),
  );
  expect(messages.map((check) => !check.ok && check.message)).toEqual([
    `Tool 'x' was not run: its parameters are not a valid JSON Schema. Unresolved $ref "#/$defs/none".  Absolute URI "https://github.com/cfworker#/$defs/none".`,
    "Tool 'x' was not run: its parameters are not a valid JSON Schema. " +
      "Invalid regular expression: /(/u: Unterminated group",
  ]);
});

test("neither arguments nor schema are changed, not even frozen ones", async () => {
  const parameters = Object.freeze({
    type: "object",
    properties: Object.freeze({ a: { default: 1 } }),
  });
  const check = await checkArguments({ name: "x", parameters }, Object.freeze({}));
  expect([check, JSON.stringify(parameters)]).toEqual([
    { ok: true, arguments: { a: 1 } },
    '{"type":"object","properties":{"a":{"default":1}}}',
  ]);
});

test("a check that only a busy machine holds up is done again, more than once", async () => {
  let stalls = 3;
  const given = {
    get path() {
      stalls -= 1;
      if (stalls >= 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 510);
      return "a.txt";
    },
  };
  const parameters = { type: "object", properties: { path: { type: "string" } } };
  expect(await checkArguments({ name: "x", parameters }, given)).toMatchObject({ ok: true });
});

test("arguments that take too long to check are refused", async () => {
  const levels = Array.from({ length: 40 }, (_, index) => {
    const next = { $ref: `#/$defs/d${index + 1}` };
    return [`d${index}`, index === 39 ? {} : { allOf: [next, next] }];
  });
  const schemas: readonly JsonObject[] = [
    { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } },
    {
      type: "object",
      properties: { a: { $ref: "#/$defs/d0" } },
      $defs: Object.fromEntries(levels),
    },
  ];
  const given = { a: `${"a".repeat(60)}!` };
  const checks = schemas.map((parameters) => checkArguments({ name: "x", parameters }, given));
  const refused = {
    ok: false,
    message:
      "Tool 'x' was not run: checking these arguments against its parameters takes too long.",
  };
  expect(await Promise.all(checks)).toMatchObject([refused, refused]);
});

test.each<[JsonObject, string]>([
  [{ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`],
  // The time of the validator's expression doubles with every letter.
  [{ format: "url" }, `http://${"a".repeat(60)} {`],
])("a value that takes too long to check counts as matched: %j", async (keyword, value) => {
  expect(await matchesSchema({ type: "string", ...keyword }, value, 20)).toBe(true);
});

test("a check that took too long only once, because the machine was busy, is repeated", async () => {
  let isBusy = true;
  const value: JsonObject = {
    get name() {
      const end = performance.now() + (isBusy ? 600 : 0);
      isBusy = false;
      while (performance.now() < end);
      return 1;
    },
  };
  const schema = { type: "object", properties: { name: { type: "string" } } };
  expect(await findViolations(schema, value)).toEqual(["`name`: expected string, got 1"]);
});

test("arguments that are nested too deep are refused", async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`) as JsonObject;
  expect(await checkArguments({ name: "x", parameters: { type: "object" } }, deep)).toMatchObject({
    ok: false,
    message: expect.stringContaining("- the arguments: nested more than 1000 levels deep"),
  });
});
