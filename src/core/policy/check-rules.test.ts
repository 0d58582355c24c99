import { describe, expect, test } from "vitest";
import type { Rule, RuleConfig, RulePlace } from "../../settings/config/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { findRuleProblems } from "./check-rules.ts";

const ROOT = "/nowhere/work";

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    path: { type: "string" },
    util: { type: "string" },
    line: { type: "integer" },
    ratio: { type: "number" },
    all: { type: "boolean" },
    either: { type: ["string", "null"] },
    patterns: {
      type: "array",
      items: {
        type: "object",
        properties: {
          old: { type: "string" },
          paths: { type: "array", items: { type: "string" } },
        },
      },
    },
    matrix: { type: "array", items: { type: "array", items: { type: "integer" } } },
    some: { type: "array" },
    mixed: { type: ["string", "array"], items: { type: "integer" } },
    open: { type: "object", additionalProperties: true },
    union: { type: "object", properties: { a: { type: "string" } }, anyOf: [{}] },
    any: {},
    address: { type: "string" },
    command: { type: "string" },
  },
  additionalProperties: false,
};

const KINDS = {
  "/path": "path",
  "/patterns/paths": "path",
  "/address": "url",
  "/command": "command",
} as const;

function placed(rule: RuleConfig, index: number, place: Partial<RulePlace> = {}): Rule {
  const key = `conversation.tools.edit.policy.run[${index}]`;
  return { ...rule, place: { from: "user", layer: "config.toml", key, ...place } };
}

/** By the place of the rule. */
async function problemsOf(rules: readonly Rule[]): Promise<Readonly<Record<number, string>>> {
  const tool = { name: "edit", parameters: PARAMETERS, kinds: KINDS };
  const problems = await findRuleProblems(rules, tool, ROOT);
  return Object.fromEntries(problems.map(({ rule, message }) => [rules.indexOf(rule), message]));
}

function problemsIn(...rules: readonly RuleConfig[]) {
  return problemsOf(rules.map((rule, index) => placed(rule, index)));
}

async function problemOf(rule: Omit<RuleConfig, "mode">): Promise<string | undefined> {
  return (await problemsIn({ ...rule, mode: "ask" }))[0];
}

describe("a rule on an argument that the tool lacks", () => {
  test.each(["/pth", "/path/more", "/patterns/new", "/patterns/0/old", "/line/0", "/address/user"])(
    "is an error: %s",
    async (arg) => {
      expect(await problemOf({ arg, const: "x" })).toBe(`edit has no argument ${arg}`);
    },
  );

  test.each(["/open/x", "/union/b", "/any", "/any/x", "/some", "/address/host"])(
    "is none where the schema leaves it open: %s",
    async (arg) => {
      expect(await problemOf({ arg, prefix: "x" })).toBeUndefined();
    },
  );

  test("is none if it is written for several tools, nor if it is another kind of argument there", async () => {
    const rules = [
      placed({ arg: "/nothing", prefix: "x", mode: "ask" }, 0, { isShared: true }),
      placed({ arg: "/line", prefix: "x", mode: "ask" }, 1, { isShared: true }),
    ];
    expect(await problemsOf(rules)).toEqual({});
  });
});

test("a rule on what an earlier one with a slash does not let through can be reached", async () => {
  const rules = [
    { arg: "/util", prefix: "src/", mode: "unattended" },
    { arg: "/util", const: "src/../.env", mode: "skip" },
    { arg: "/util", const: "src/a", mode: "skip" },
  ] as const;
  expect(Object.keys(await problemsIn(...rules))).toEqual(["2"]);
});

describe("a condition", () => {
  test.each<Omit<RuleConfig, "mode">>([
    { arg: "/line", prefix: "1" },
    { arg: "/line", pattern: "1" },
    { arg: "/line", glob: "1" },
    { arg: "/all", pattern: "t" },
    { arg: "/path", minimum: 1 },
    { arg: "/all", exclusive_maximum: 1 },
    { arg: "/matrix", prefix: "1" },
    { arg: "/patterns/paths", maximum: 1 },
    { arg: "/line", const: "1" },
    { arg: "/line", const: 1.5 },
    { arg: "/ratio", const: true },
    { arg: "/all", const: 1 },
    { arg: "/path", enum: ["a", 1] },
    { arg: "/patterns/paths", const: ["a"] },
    { arg: "/either", const: 1 },
    { arg: "/mixed", const: true },
    { arg: "/address", prefix: "example.com" },
  ])("that the argument can never meet is an error: %o", async (rule) => {
    expect(await problemOf(rule)).toContain(rule.arg === "/address" ? "address" : rule.arg);
  });

  test.each<Omit<RuleConfig, "mode">>([
    { arg: "/line", minimum: 1 },
    { arg: "/line", const: 2 },
    { arg: "/ratio", exclusive_minimum: 0.5 },
    { arg: "/all", const: false },
    { arg: "/path", prefix: "src" },
    { arg: "/patterns/paths", glob: "src/**" },
    { arg: "/matrix", enum: [1, 2] },
    { arg: "/either", const: null },
    { arg: "/mixed", const: "a" },
    { arg: "/mixed", const: 1 },
    { arg: "/address/port", minimum: 1 },
    { arg: "/address", prefix: "https://example.com/docs" },
    { arg: "", const: { path: "a" } },
  ])("that fits is none: %o", async (rule) => {
    expect(await problemOf(rule)).toBeUndefined();
  });

  test.each([
    "(?=a)",
    "(?!a)",
    "(?<=a)b",
    "(?<!a)b",
    "(a)\\1",
    "(?<n>a)\\k<n>",
    "(",
    "[",
    "a{1001}",
  ])("with a pattern that cannot be used is an error: %s", async (pattern) => {
    expect(await problemOf({ arg: "/path", pattern })).toMatch(
      /^pattern cannot be used \(.+\); lookaround and backreferences are not supported$/,
    );
  });

  test.each(["(?:a)", "(?<name>a)", "\\(?=", "[(?=]", "\\\\k", "a{1000}", "^\\p{L}+$", "[\\s\\S]"])(
    "with any other pattern is none: %s",
    async (pattern) => {
      expect(await problemOf({ arg: "/path", pattern })).toBeUndefined();
    },
  );

  test("with a glob that cannot be used is an error", async () => {
    expect(await problemOf({ arg: "/path", glob: "[z-a]" })).toMatch(/^glob cannot be used/);
    expect(await problemOf({ arg: "/path", glob: "[a-z]{b,c}**" })).toBeUndefined();
  });
});

describe("a rule that no call can reach", () => {
  const UNREACHABLE =
    "no call can reach this rule: conversation.tools.edit.policy.run[0] comes first and matches all of them";

  test.each<readonly [Omit<RuleConfig, "mode">, Omit<RuleConfig, "mode">]>([
    [
      { arg: "/path", prefix: "src/" },
      { arg: "/path", prefix: "src/sensitive/" },
    ],
    [
      { arg: "/path", prefix: "./src" },
      { arg: "/path", prefix: "lib/../src" },
    ],
    [
      { arg: "/path", prefix: "src/" },
      { arg: "/path", const: "src/lib.rs" },
    ],
    [
      { arg: "/path", prefix: "." },
      { arg: "/path", enum: ["a", "b/c"] },
    ],
    [
      { arg: "/util", prefix: "j" },
      { arg: "/util", prefix: "jq" },
    ],
    [
      { arg: "/util", enum: ["jq", "wc"] },
      { arg: "/util", const: "jq" },
    ],
    [
      { arg: "/util", enum: ["jq", "wc", "date"] },
      { arg: "/util", enum: ["jq", "wc"] },
    ],
    [
      { arg: "/util", const: "jq" },
      { arg: "/util", const: "jq" },
    ],
    [{}, { arg: "/path", prefix: "src" }],
    [{}, {}],
  ])("is an error: %o, then %o", async (first, second) => {
    expect(await problemsIn({ ...first, mode: "ask" }, { ...second, mode: "unattended" })).toEqual({
      1: UNREACHABLE,
    });
  });

  test.each<readonly [Omit<RuleConfig, "mode">, Omit<RuleConfig, "mode">]>([
    [
      { arg: "/path", prefix: "src/sensitive/" },
      { arg: "/path", prefix: "src/" },
    ],
    [
      { arg: "/path", prefix: "src" },
      { arg: "/path", prefix: "src-old" },
    ],
    [
      { arg: "/path", prefix: "src" },
      { arg: "/util", prefix: "src" },
    ],
    [{ arg: "/path", prefix: "src" }, {}],
    [
      { arg: "/util", const: "jq" },
      { arg: "/util", enum: ["jq", "wc"] },
    ],
    [
      { arg: "/path", prefix: "src" },
      { arg: "/path", pattern: "^src/" },
    ],
    [
      { arg: "/line", minimum: 1 },
      { arg: "/line", minimum: 2 },
    ],
    [{ tool: "edit" }, { arg: "/path", prefix: "src" }],
    [{ server: "x" }, { tool: "edit" }],
  ])("is not: %o, then %o", async (first, second) => {
    expect(await problemsIn({ ...first, mode: "ask" }, { ...second, mode: "unattended" })).toEqual(
      {},
    );
  });

  test("is not one that needs one element of a list, after one that needs all", async () => {
    const both = { arg: "/patterns/paths", prefix: "src" } as const;
    expect(await problemsIn({ ...both, mode: "unattended" }, { ...both, mode: "ask" })).toEqual({});
    expect(
      await problemsIn({ ...both, mode: "ask" }, { ...both, mode: "unattended" }),
    ).toHaveProperty("1");
  });

  test("is not one of another list: other tools reach it, and another layer has its own reasons", async () => {
    const all = { mode: "ask" } as const;
    const forAll = { key: "conversation.tools.'*'.policy.run[0]", isShared: true };
    const rules = [
      placed(all, 0),
      placed({ arg: "/path", prefix: "src", mode: "skip" }, 0, forAll),
      placed({ arg: "/path", prefix: "src", mode: "skip" }, 0, { layer: "other.toml" }),
    ];
    expect(await problemsOf(rules)).toEqual({});
  });
});
