import { expect, test } from "vitest";
import { readConfig } from "../../test/support/any-config.ts";
import { findProblems } from "./problems.ts";

test("a tool without a source and a server without its place are told by their keys", () => {
  const config = readConfig({
    conversation: {
      tools: { "*": { run: "ask" }, a: { source: "local" }, "b.c": { run: "ask" } },
    },
    providers: {
      mcp: {
        none: {},
        program: { command: "x" },
        address: { url: "http://x" },
        web: { type: "http", command: "x" },
      },
    },
  });
  expect(findProblems(config)).toEqual([
    {
      path: ["conversation", "tools", "b.c", "source"],
      message: "source is missing, so there is no such tool",
    },
    {
      path: ["providers", "mcp", "none", "command"],
      message: "command is missing, so the server cannot be used",
    },
    {
      path: ["providers", "mcp", "web", "url"],
      message: "url is missing, so the server cannot be used",
    },
  ]);
});

test("a config that says nothing has no problems", () => {
  expect(findProblems({})).toEqual([]);
});
