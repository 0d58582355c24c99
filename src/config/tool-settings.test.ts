import { describe, expect, test } from "vitest";
import { ofTool, readConfig } from "./any-config.fixture.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { DEFAULTS } from "./defaults.ts";
import { mergeConfig } from "./layers.ts";
import { parseConfig } from "./parse-config.ts";
import { resolveTools } from "./tool-settings.ts";

const ALL = Number.POSITIVE_INFINITY;

test("a tool with only a source gets the defaults", () => {
  expect(
    resolveTools(mergeConfig(DEFAULTS, readConfig(ofTool({ source: "local" })))),
  ).toStrictEqual(
    new Map([
      [
        "x",
        {
          name: "x",
          source: { type: "local" },
          isEnabled: true,
          allowToggle: "any",
          run: "ask",
          result: "unattended",
          format: "ask",
          parameters: {},
          questions: new Map(),
          options: {},
          detached: { run: "deny", deliver: "auto", tool: "auto" },
          cancellationResponse: expect.stringMatching(/./),
          style: {
            isHidden: false,
            inlineLines: 10,
            errorLines: 10,
            resultsFileLink: "full",
            errorResultsFileLink: "full",
            parameters: "json",
          },
        },
      ],
    ]),
  );
});

test("it gets the same defaults without the layer of defaults", () => {
  const raw = ofTool({ source: "local" });
  expect(resolveTools(readConfig(raw))).toStrictEqual(
    resolveTools(mergeConfig(DEFAULTS, readConfig(raw))),
  );
});

test("a tool has everything in its config", () => {
  const tool = resolve({
    source: "local",
    group: "fs",
    enable: "off",
    command: "just x",
    summary: "S",
    description: "D",
    examples: "E",
    parameters: { p: { type: ["string", "null"], minLength: 1 } },
    questions: { q: { target: "assistant", answer: false, exclusive: false, prompt_label: "L" } },
    options: { o: { deep: [1, null] } },
    run: "skip",
    result: "edit",
    format: "unattended",
    cancellation_response: "no",
    timeout_secs: 1.5,
    detached: "auto",
    style: { hidden: true, inline_results: "off", results_file_link: false, parameters: "fmt -x" },
  });
  expect(tool).toStrictEqual({
    name: "x",
    source: { type: "local" },
    group: "fs",
    isEnabled: false,
    allowToggle: "any",
    run: "skip",
    result: "edit",
    format: "unattended",
    command: { program: "just", args: ["x"], shell: false },
    summary: "S",
    description: "D",
    examples: "E",
    parameters: { p: { type: ["string", "null"], minLength: 1 } },
    questions: new Map([
      [
        "q",
        {
          target: { type: "assistant", assistant: {} },
          answer: { value: false },
          exclusive: false,
          promptLabel: "L",
        },
      ],
    ]),
    options: { o: { deep: [1, null] } },
    detached: { run: "auto", deliver: "auto", tool: "auto" },
    cancellationResponse: "no",
    timeoutMs: 1500,
    style: {
      isHidden: true,
      inlineLines: 0,
      errorLines: 0,
      resultsFileLink: "off",
      errorResultsFileLink: "off",
      parameters: { program: "fmt", args: ["-x"], shell: false },
    },
  });
});

describe("a source", () => {
  test.each([
    ["builtin", { type: "builtin" }],
    ["builtin.ask_user", { type: "builtin", tool: "ask_user" }],
    ["local", { type: "local" }],
    ["local.other.name", { type: "local", tool: "other.name" }],
    ["mcp.github", { type: "mcp", server: "github" }],
    ["mcp.github.get_me", { type: "mcp", server: "github", tool: "get_me" }],
    ["mcp.github.repo.get", { type: "mcp", server: "github", tool: "repo.get" }],
  ])("may be %s", (source, expected) => {
    expect(resolve({ source })?.source).toStrictEqual(expected);
  });

  test.each([
    "mcp",
    "mcp.",
    "mcp..tool",
    "mcp.server.",
    "builtin.",
    "local.",
    "",
    "Local",
    "remote",
    "xlocal",
    "localx",
    "local\n",
  ])("is rejected, with the valid forms: %j", (source) => {
    expect(parseConfig(ofTool({ source })).errors).toEqual([
      {
        path: ["conversation", "tools", "x", "source"],
        message: expect.stringMatching(/builtin.*local.*mcp\.<server>/),
      },
    ]);
  });
});

describe("what a tool does not set", () => {
  test("comes from the defaults for all tools, value by value", () => {
    const common = {
      run: "unattended",
      result: "ask",
      format: "ask",
      cancellation_response: "no",
      timeout_secs: 2,
    };
    const tool = resolve({ source: "local", result: "skip" }, common);
    expect(tool).toMatchObject({
      run: "unattended",
      result: "skip",
      format: "ask",
      cancellationResponse: "no",
      timeoutMs: 2000,
    });
  });

  test("a call of an MCP tool ends after five minutes, unless config sets another limit or none", () => {
    const mcp = { source: "mcp.web" };
    expect([
      resolve(mcp)?.timeoutMs,
      resolve({ ...mcp, timeout_secs: 7 })?.timeoutMs,
      resolve({ ...mcp, timeout_secs: 0 })?.timeoutMs,
      resolve(mcp, { timeout_secs: 2 })?.timeoutMs,
      resolve({ source: "local" })?.timeoutMs,
    ]).toEqual([300_000, 7000, undefined, 2000, undefined]);
  });

  test("of its style comes from the defaults, key by key", () => {
    const common = {
      hidden: true,
      inline_results: 3,
      results_file_link: "osc8",
      parameters: "off",
      error: { inline_results: "full" },
    };
    const styleOf = (style: JsonObject) =>
      resolve({ source: "local", style }, { style: common })?.style;
    const inherited = {
      isHidden: true,
      inlineLines: 3,
      errorLines: ALL,
      resultsFileLink: "osc8",
      errorResultsFileLink: "osc8",
      parameters: "off",
    };
    expect({
      nothing: styleOf({}),
      shown: styleOf({ hidden: false }),
      lines: styleOf({ inline_results: 7 }),
      error: styleOf({ error: { inline_results: 1 } }),
      link: styleOf({ results_file_link: true }),
      errorLink: styleOf({ error: { results_file_link: false } }),
      parameters: styleOf({ parameters: "function_call" }),
    }).toStrictEqual({
      nothing: inherited,
      shown: { ...inherited, isHidden: false },
      lines: { ...inherited, inlineLines: 7 },
      error: { ...inherited, errorLines: 1 },
      link: { ...inherited, resultsFileLink: "full", errorResultsFileLink: "full" },
      errorLink: { ...inherited, errorResultsFileLink: "off" },
      parameters: { ...inherited, parameters: "function_call" },
    });
  });

  test("of the style of errors comes from the style of results", () => {
    expect(resolve({ source: "local", style: { inline_results: 4 } })?.style).toMatchObject({
      inlineLines: 4,
      errorLines: 4,
    });
  });

  test("of when to format arguments follows from whether it asks", () => {
    const formats = ["ask", "unattended", "edit", "skip"].map(
      (run) => resolve({ source: "local", run })?.format,
    );
    expect(formats).toEqual(["ask", "unattended", "ask", "ask"]);
    expect(resolve({ source: "local" }, { run: "unattended" })?.format).toBe("unattended");
  });
});

test.each([
  [false, 0],
  ["off", 0],
  [0, 0],
  [3, 3],
  [{ truncate: { lines: 10 } }, 10],
  [true, ALL],
  ["full", ALL],
] as const)("%j is how much of a result is shown", (inline, lines) => {
  const style = resolve({ source: "local", style: { inline_results: inline as Json } })?.style;
  expect(style).toMatchObject({ inlineLines: lines, errorLines: lines });
});

test("tools are in the order of the config, without those that lack a source", () => {
  const tools = {
    "*": { run: "skip" },
    b: { source: "local" },
    none: { run: "ask" },
    a: { source: "builtin" },
    toString: { source: "local" },
  };
  expect([...resolveTools(readConfig({ conversation: { tools } })).keys()]).toEqual([
    "b",
    "a",
    "toString",
  ]);
  expect(resolveTools({}).size).toBe(0);
});

function resolve(tool: JsonObject, common: JsonObject = {}) {
  return resolveTools(readConfig({ conversation: { tools: { "*": common, x: tool } } })).get("x");
}
