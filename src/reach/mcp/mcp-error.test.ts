import { expect, test } from "vitest";
import { reasonOf, startFailed } from "./mcp-error.ts";

test("the suggested command can be pasted into a shell", () => {
  const settings = {
    type: "stdio",
    name: "docs",
    command: "sh",
    arguments: ["-c", "echo it's; cat"],
    variables: [],
    isOptional: false,
    allowsSecrets: false,
    allowsSampling: false,
    startupTimeoutMs: 1,
  } as const;
  const { hint } = startFailed(settings, { reason: "it ended", lastLines: [] });
  expect(hint).toBe(String.raw`Run it yourself to see why: sh -c 'echo it'\''s; cat'`);
});

test("the reason of an error is its innermost cause", () => {
  const refused = new AggregateError([new Error("connect ECONNREFUSED 127.0.0.1:1")]);
  const failed = new TypeError("fetch failed", { cause: refused });
  expect(reasonOf(new Error("the probe failed", { cause: failed }))).toBe(
    "connect ECONNREFUSED 127.0.0.1:1",
  );
});

test("a reason is a sentence without its end, however long it was", () => {
  expect([
    reasonOf(new Error("It is over...")),
    reasonOf(new RangeError("")),
    reasonOf("just so"),
    reasonOf(new Error("x".repeat(5000))).length,
  ]).toEqual(["It is over", "RangeError", "just so", 1000]);
});
