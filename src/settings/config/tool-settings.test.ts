import { describe, expect, test } from "vitest";
import { ofTool, readConfig } from "./any-config.fixture.ts";
import type { Json, JsonObject } from "../../util/index.ts";
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
          policy: { run: [], result: [] },
          parameters: {},
          questions: new Map(),
          options: {},
          detached: { run: "deny", deliver: "auto", tool: "auto" },
          cancellationResponse: expect.stringMatching(/./),
          style: {
            isHidden: false,
            hasHeader: true,
            inlineLines: both(10),
            areLinesSet: false,
            errorLines: both(10),
            parameters: "function_call",
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
    cancellation_response: "no",
    timeout_secs: 1.5,
    detached: "auto",
    style: { hidden: true, inline_results: "off", parameters: "json" },
  });
  expect(tool).toStrictEqual({
    name: "x",
    source: { type: "local" },
    group: "fs",
    isEnabled: false,
    allowToggle: "any",
    run: "skip",
    result: "edit",
    policy: { run: [], result: [] },
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
      hasHeader: true,
      inlineLines: both(0),
      areLinesSet: true,
      errorLines: both(0),
      parameters: "json",
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
      cancellation_response: "no",
      timeout_secs: 2,
    };
    const tool = resolve({ source: "local", result: "skip" }, common);
    expect(tool).toMatchObject({
      run: "unattended",
      result: "skip",
      cancellationResponse: "no",
      timeoutMs: 2000,
    });
  });

  test("is as shipped for an alias of ask_user: neither asking nor the answer needs a permission", () => {
    const alias = { source: "builtin.ask_user" };
    const asking = { run: "ask", result: "ask" };
    const unattended = { run: "unattended", result: "unattended" };
    expect([
      resolve(alias),
      resolve(alias, asking),
      resolve({ ...alias, ...asking }),
      resolve({ source: "builtin.fs_delete_file" }),
      resolve({ source: "local.ask_user" }),
    ]).toMatchObject([unattended, unattended, asking, { run: "ask" }, { run: "ask" }]);
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
      parameters: "off",
      error: { inline_results: "full" },
    };
    const styleOf = (style: JsonObject) =>
      resolve({ source: "local", style }, { style: common })?.style;
    const inherited = {
      isHidden: true,
      hasHeader: true,
      inlineLines: both(3),
      areLinesSet: true,
      errorLines: both(ALL),
      parameters: "off",
    };
    expect({
      nothing: styleOf({}),
      shown: styleOf({ hidden: false }),
      lines: styleOf({ inline_results: 7 }),
      error: styleOf({ error: { inline_results: 1 } }),
      parameters: styleOf({ parameters: "function_call" }),
    }).toStrictEqual({
      nothing: inherited,
      shown: { ...inherited, isHidden: false },
      lines: { ...inherited, inlineLines: both(7) },
      error: { ...inherited, errorLines: both(1) },
      parameters: { ...inherited, parameters: "function_call" },
    });
  });

  test("of its style says whether the config has set how much of results is shown", () => {
    const styles = [
      [{ hidden: true }, {}],
      [{ inline_results: 10 }, {}],
      [{}, { inline_results: 3 }],
      [{}, { inline_results: 10 }],
    ].map(([style = {}, common = {}]) =>
      resolve({ source: "local", style }, { style: common as JsonObject }),
    );
    expect(styles.map((tool) => tool?.style.areLinesSet)).toEqual([false, true, true, false]);
  });

  test("of the style of errors comes from the style of results", () => {
    expect(resolve({ source: "local", style: { inline_results: 4 } })?.style).toMatchObject({
      inlineLines: both(4),
      errorLines: both(4),
    });
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
  expect(style).toMatchObject({ inlineLines: both(lines), errorLines: both(lines) });
});

test("how much of a result is shown may depend on whom it is addressed to", () => {
  expect([
    linesOf({ user: 5, assistant: "off" }),
    linesOf({ assistant: "full" }),
    linesOf({ user: "chat", assistant: 0 }),
  ]).toEqual([
    { user: 5, assistant: 0, isChat: false },
    { user: 10, assistant: ALL, isChat: false },
    { user: ALL, assistant: 0, isChat: true },
  ]);
  const chat = { x: { source: "local", style: { inline_results: { assistant: "chat" } } } };
  expect(parseConfig({ conversation: { tools: chat } }).errors).not.toEqual([]);
});

test.each([
  [true, true],
  ["on", true],
  [false, false],
  ["off", false],
])("the header %j shows a line for each call: %s", (header, isShown) => {
  expect(resolve({ source: "local", style: { header } })?.style.hasHeader).toBe(isShown);
});

function linesOf(inline: JsonObject) {
  return resolve({ source: "local", style: { inline_results: inline } })?.style.inlineLines;
}

function both(lines: number) {
  return { user: lines, assistant: lines, isChat: false };
}

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
