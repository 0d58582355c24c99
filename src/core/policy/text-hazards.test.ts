import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { Rule, RuleConfig } from "../../settings/config/index.ts";
import { compileRules, evaluateRules } from "./evaluate.ts";
import { findTextHazards } from "./text-hazards.ts";

async function isMatched(rule: Omit<RuleConfig, "arg">, text: string): Promise<boolean> {
  const placed: Rule = {
    arg: "/target",
    ...rule,
    place: { from: "user", key: "conversation.tools.deploy.policy.run[0]", layer: "config.toml" },
  };
  const call = {
    tool: { name: "deploy", source: { type: "local" } },
    arguments: { target: text },
    kinds: {},
    root: "/nowhere/work",
  } as const;
  return (await evaluateRules(await compileRules([placed], call), call)) !== undefined;
}

const IN_SRC = [
  { prefix: "src/" },
  { glob: "src/**" },
] as const satisfies readonly Partial<RuleConfig>[];

const ESCAPES = [
  "src/../.env",
  "src/..",
  "src/./../.env",
  "src/.",
  "src/a/../../.env",
  "src/%2e%2e/.env",
  "src/%2E./.env",
  "src/.%2e%2f.env",
  "src/%252e%252e/.env",
  "src/%25252E%25252e/.env",
  "src/%2%65%2%65/.env",
  "src/%%32%65./.env",
  "src%2f..%2f.env",
  "src/..?x",
  "src/..#x",
  "src//etc/passwd",
  "src/%2fetc/passwd",
  "src/..\\.env",
  "src/a%5c..%5c.env",
  "src/.\t./.env",
  "src/a\u0000",
  "src/a%00",
  "src/a%0d%0ab",
  "src/a\u0085b",
  "src/x:///etc",
];

describe("a rule that names a folder, on an argument without a type,", () => {
  test.each(ESCAPES)("lets through no text that may lead out of the folder: %j", async (text) => {
    counters("T-RULE-8");
    for (const condition of [...IN_SRC, { prefix: "src/" }, { glob: "*/*" }]) {
      expect(await isMatched({ ...condition, mode: "unattended" }, text)).toBe(false);
    }
  });

  test.each(ESCAPES.filter((text) => text.startsWith("src/")))(
    "still stops a text that may lead out of the folder: %j",
    async (text) => {
      counters("T-RULE-8");
      for (const condition of IN_SRC) {
        for (const mode of ["ask", "edit", "skip"] as const) {
          expect(await isMatched({ ...condition, mode }, text)).toBe(true);
        }
      }
    },
  );

  test.each([
    "src/a.ts",
    "src/",
    "src/a/b/",
    "src/.hidden",
    "src/..a/...",
    "src/a%20b",
    "src/100%",
    "src/50%25",
    "src/é%C3%A9",
    "src/?q=a.b",
    "src/get?url=https://example.com/",
    "src/2026/https://example.com/",
  ])("lets other text in the folder through: %j", async (text) => {
    for (const condition of IN_SRC) {
      expect(await isMatched({ ...condition, mode: "unattended" }, text)).toBe(true);
    }
  });

  test.each([
    ["https://example.com/docs/", "https://example.com/docs/a?b#c"],
    ["file:///srv/", "file:///srv/a"],
    ["/srv/", "/srv/a"],
  ])("lets an address or an absolute path through: %s", async (prefix, text) => {
    expect(await isMatched({ prefix, mode: "unattended" }, text)).toBe(true);
    expect(await isMatched({ prefix, mode: "unattended" }, `${text}/../b`)).toBe(false);
    expect(await isMatched({ prefix, mode: "unattended" }, `${text}//b`)).toBe(false);
  });
});

test("a rule without a slash, and a regular expression, take text as it is", async () => {
  for (const condition of [{ prefix: "src" }, { glob: "src*" }, { pattern: "^src/" }]) {
    expect(await isMatched({ ...condition, mode: "unattended" }, "src/../a//b\\c\u0000")).toBe(
      true,
    );
  }
});

test("text that is encoded many times is decoded in linear time", () => {
  counters("T-RULE-8");
  expect(findTextHazards(`src/%${"25".repeat(200_000)}2e%2e/x`)).toEqual(["dot_segment"]);
});
