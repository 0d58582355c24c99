import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { Rule, RuleConfig, ToolSource } from "../../settings/config/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { compileRules, evaluateRules } from "./evaluate.ts";

const ROOT = "/nowhere/work";
const BUILTIN: ToolSource = { type: "builtin" };

/** The place of the rule that decides. */
async function decide(
  rules: readonly RuleConfig[],
  args: JsonObject,
  { name = "fs_modify_file", source = BUILTIN } = {},
): Promise<number | undefined> {
  const placed = rules.map((rule, index): Rule => ({
    ...rule,
    place: { from: "user", key: String(index), layer: "config.toml" },
  }));
  const kinds = { "/path": "path", "/patterns/paths": "path", "/url": "url" } as const;
  const call = { tool: { name, source }, arguments: args, kinds, root: ROOT };
  const verdict = await evaluateRules(await compileRules(placed, call), call);
  return verdict && Number(verdict.rules[0]?.place.key);
}

test("the first rule that matches decides, and without one nothing is decided", async () => {
  const rules: readonly RuleConfig[] = [
    { arg: "/path", prefix: "src/sensitive/", mode: "ask" },
    { arg: "/path", prefix: "src/", mode: "unattended" },
  ];
  expect(await decide(rules, { path: "src/sensitive/secret.rs" })).toBe(0);
  expect(await decide(rules, { path: "src/lib.rs" })).toBe(1);
  expect(await decide(rules, { path: "README.md" })).toBeUndefined();
  expect(await decide([...rules, { mode: "ask" }], { path: "README.md" })).toBe(2);
});

function patterns(...paths: readonly (readonly string[] | undefined)[]): JsonObject {
  return { patterns: paths.map((each) => ({ old: "a", ...(each && { paths: [...each] }) })) };
}

describe("of a list", () => {
  const letting = [{ arg: "/patterns/paths", prefix: "src", mode: "unattended" }] as const;
  const stopping = [{ arg: "/patterns/paths", prefix: ".env", mode: "ask" }] as const;

  test("one element is enough for a rule that stops a call", async () => {
    expect(await decide(stopping, patterns(["src/a.rs"], [".env"]))).toBe(0);
    expect(await decide(stopping, patterns(["src/a.rs"], undefined))).toBeUndefined();
  });

  test("every element has to match for a rule that lets it run", async () => {
    counters("T-RULE-2");
    expect(await decide(letting, patterns(["src/a.rs", "src/b.rs"], ["src/c.rs"]))).toBe(0);
    expect(await decide(letting, patterns(["src/a.rs"], [".env"]))).toBeUndefined();
  });

  test("an element without the argument, or with an empty list, is not let through", async () => {
    counters("T-RULE-2");
    expect(await decide(letting, patterns(["src/a.rs"], undefined))).toBeUndefined();
    expect(await decide(letting, patterns(["src/a.rs"], []))).toBeUndefined();
    expect(await decide(letting, patterns([]))).toBeUndefined();
    expect(await decide(letting, patterns())).toBeUndefined();
    expect(await decide(letting, {})).toBeUndefined();
  });

  test("an index names no element", async () => {
    const rule = { arg: "/patterns/0/paths", prefix: "", mode: "skip" } as const;
    expect(await decide([rule], patterns(["src/a.rs"]))).toBeUndefined();
  });
});

const anyTextAt = (arg: string) => [{ arg, pattern: "", mode: "skip" }] as const;

test("a pointer can name every key, and never what all objects have", async () => {
  expect(await decide(anyTextAt("/a~1b/m~0n/"), { "a/b": { "m~n": { "": "x" } } })).toBe(0);
  expect(await decide(anyTextAt("/__proto__"), {})).toBeUndefined();
  expect(await decide(anyTextAt("/constructor/name"), { a: 1 })).toBeUndefined();
  expect(await decide(anyTextAt("/text/length"), { text: "x" })).toBeUndefined();
});

test("values are compared by what they are", async () => {
  const is = (value: RuleConfig["const"], args: JsonObject) =>
    decide([{ arg: "/a", const: value as never, mode: "skip" }], args);
  expect(await is(0, { a: -0 })).toBe(0);
  expect(await is(1, { a: "1" })).toBeUndefined();
  expect(await is(true, { a: 1 })).toBeUndefined();
  expect(await is(null, { a: null })).toBe(0);
  expect(await is({ b: [1], c: 2 }, { a: { c: 2, b: [1] } })).toBe(0);
  expect(await decide([{ arg: "/a", minimum: 1, mode: "skip" }], { a: "2" })).toBeUndefined();
});

test("all arguments together can be compared", async () => {
  const rule = { arg: "", const: { a: 1, b: ["x"] }, mode: "unattended" } as const;
  expect(await decide([rule], { b: ["x"], a: 1 })).toBe(0);
  expect(await decide([rule], { a: 1, b: ["x"], c: 2 })).toBeUndefined();
});

const REMOTE = { type: "mcp", server: "github", tool: "delete_file" } as const;

const skipped = (rule: Omit<RuleConfig, "mode">, name: string, source: ToolSource = BUILTIN) =>
  decide([{ ...rule, mode: "skip" }], {}, { name, source });
const ofRemote = (rule: RuleConfig) => decide([rule], {}, { name: "gh_delete", source: REMOTE });

describe("a rule for certain tools", () => {
  test("names them, or their server, with stars for any characters", async () => {
    expect(await skipped({ tool: "fs_*" }, "fs_edit")).toBe(0);
    expect(await skipped({ tool: "*_e*t" }, "fs_edit")).toBe(0);
    expect(await skipped({ tool: "a*a" }, "a")).toBeUndefined();
    expect(await skipped({ tool: "fs_" }, "fs_edit")).toBeUndefined();
    expect(await skipped({ tool: "f?_edit" }, "fs_edit")).toBeUndefined();
    expect(await skipped({ server: "git*" }, "x", REMOTE)).toBe(0);
    expect(await skipped({ server: "*" }, "x")).toBeUndefined();
    expect(await skipped({ server: "github", tool: "create" }, "x", REMOTE)).toBeUndefined();
  });

  test("holds by the server's own name of a tool, but lets that run only if it names the server", async () => {
    counters("T-RULE-6");
    expect(await ofRemote({ tool: "delete_file", mode: "skip" })).toBe(0);
    expect(await ofRemote({ tool: "delete_file", mode: "unattended" })).toBeUndefined();
    expect(await ofRemote({ tool: "gh_delete", mode: "unattended" })).toBe(0);
    expect(await ofRemote({ tool: "delete_file", server: "github", mode: "unattended" })).toBe(0);
  });
});

const find = (pattern: string, text: string, mode: RuleConfig["mode"] = "skip") =>
  decide([{ arg: "/text", pattern, mode }], { text });

describe("a pattern", () => {
  test("is searched for, in the words of ECMAScript", async () => {
    expect(await find("b", "abc")).toBe(0);
    expect(await find("^b", "abc")).toBeUndefined();
    expect(await find("rm\\s+-rf", "rm\u00a0\v-rf")).toBe(0);
    expect(await find("a[\\s,]b", "a\u2003b")).toBe(0);
    expect(await find("a\\Sb", "a\u00a0b")).toBeUndefined();
    expect(await find("^\\u{1f600}\\/$", "😀/")).toBe(0);
    expect(await find("a$", "a\n")).toBeUndefined();
    expect(await find("\\[\\s\\]", "[ ]")).toBe(0);
  });

  test("takes no longer for being hostile", async () => {
    counters("T-RULE-3");
    const text = `${"a".repeat(100_000)}!`;
    expect(await find("(a+)+$", text)).toBeUndefined();
    expect(await find("(a|a)*b|(.*)*,", text)).toBeUndefined();
    expect(await find("^(a?){50}a{50}!", `${"a".repeat(50)}!`)).toBe(0);
  });

  test("a pattern that cannot be used lets nothing run, and stops whatever it may be about", async () => {
    counters("T-RULE-3");
    expect(await find("(?=a)", "a", "unattended")).toBeUndefined();
    expect(await find("(?=a)", "b", "skip")).toBe(0);
  });
});

const on = (arg: string, glob: string, value: string) =>
  decide([{ arg, glob, mode: "unattended" }], { [arg.slice(1)]: value });

test.each<[url: string, isAllowed: boolean]>([
  ["https://docs.example/guide", true],
  ["https://docs.example/guide/a?b#c", true],
  ["https://docs.example:443/guide/a", true],
  ["https://docs.example/guides", false],
  ["https://docs.example/guide/../admin", false],
  ["http://docs.example/guide/a", false],
  ["https://docs.example:8443/guide/a", false],
  ["https://docs.example.evil.example/guide/a", false],
  ["https://me@docs.example/guide/a", false],
  ["https://:pw@docs.example/guide/a", false],
])(
  "a prefix of an address allows the same server and what is below: %s",
  async (url, isAllowed) => {
    const rule = {
      arg: "/url",
      prefix: "https://docs.example/guide/",
      mode: "unattended",
    } as const;
    expect(await decide([rule], { url })).toBe(isAllowed ? 0 : undefined);
  },
);

test("a glob stops at separators of paths alone, unless it has two stars", async () => {
  expect(await on("/path", "src/*.ts", "src/a.ts")).toBe(0);
  expect(await on("/path", "src/*.ts", "src/b/a.ts")).toBeUndefined();
  expect(await on("/path", "src/**/*.ts", "src/a.ts")).toBe(0);
  expect(await on("/path", "src/**/*.ts", "src/b/c/a.ts")).toBe(0);
  expect(await on("/path", "**", "src/b/.hidden")).toBe(0);
  expect(await on("/path", "*.{ts,js}", "a.js")).toBe(0);
  expect(await on("/path", "[!a].ts", "b.ts")).toBe(0);
  expect(await on("/path", "a?b", "a/b")).toBeUndefined();
  expect(await on("/path", "a[!x]b", "a/b")).toBeUndefined();
  expect(await on("/path", "a.ts", "abts")).toBeUndefined();
  expect(await on("/text", "a*c", "a/b\nc")).toBe(0);
  expect(await on("/text", "\\*", "*")).toBe(0);
  expect(await on("/text", "\\*", "a")).toBeUndefined();
  expect(await on("/text", "a\\", "a\\")).toBe(0);
  expect(await on("/text", "a\\", "a")).toBeUndefined();
});

test.each<[string, Omit<RuleConfig, "mode">]>([
  ["a prefix", { arg: "/text", prefix: "" }],
  ["a prefix of a path", { arg: "/path", prefix: "src" }],
  ["a prefix of an address", { arg: "/url", prefix: "https://docs.example" }],
  ["a pattern", { arg: "/text", pattern: "" }],
  ["a glob", { arg: "/text", glob: "*" }],
  ["a glob of paths", { arg: "/path", glob: "**" }],
  ["some paths", { arg: "/path", enum: ["src"] }],
  ["a minimum", { arg: "/text", minimum: 0 }],
])("a value of another type is let through by no condition: %s", async (_, rule) => {
  const { arg = "" } = rule;
  const other = rule.minimum === undefined ? [5, true, null, {}] : ["5", true, null, {}];
  const found = other.map((value) =>
    decide([{ ...rule, mode: "unattended" }], { [arg.slice(1)]: value }),
  );
  expect(await Promise.all(found)).toEqual([undefined, undefined, undefined, undefined]);
});
