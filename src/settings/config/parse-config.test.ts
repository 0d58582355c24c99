import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { anyConfig, ofTool, readConfig, SECRET } from "./any-config.fixture.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { findUnusable, parseConfig, parseConfigOrThrow } from "./parse-config.ts";
import { resolveTools } from "./tool-settings.ts";

describe("a wrong type", () => {
  test("is reported with its key, the expected and the actual type", () => {
    expect(
      parseConfig({
        assistant: { name: 3, request: { max_retries: "5" } },
        conversation: { start_local: "yes", tools: { "my.tool": { run: "sometimes" } } },
        providers: { mcp: { s: { type: "sse", headers: { a: 1 } } } },
      }).errors,
    ).toEqual([
      { path: ["assistant", "name"], message: "expected string, got a number" },
      { path: ["assistant", "request", "max_retries"], message: "expected number, got a string" },
      {
        path: ["conversation", "tools", "my.tool", "run"],
        message: 'expected "ask" or "unattended" or "edit" or "skip", got another string',
      },
      { path: ["conversation", "start_local"], message: "expected boolean, got a string" },
      {
        path: ["providers", "mcp", "s", "type"],
        message: 'expected "stdio" or "http", got another string',
      },
      { path: ["providers", "mcp", "s", "headers", "a"], message: "expected string, got a number" },
    ]);
  });

  test("of the whole config is reported too", () => {
    const whole: Json[] = [null, "text", 3, true];
    expect(whole.map((value) => parseConfig(value).errors)).toEqual([
      [{ path: [], message: "expected a table, got null" }],
      [{ path: [], message: "expected a table, got a string" }],
      [{ path: [], message: "expected a table, got a number" }],
      [{ path: [], message: "expected a table, got a boolean" }],
    ]);
  });

  test("is a list in place of a table", () => {
    const places: readonly (readonly [string, Json])[] = [
      ["", []],
      ["assistant", { assistant: [] }],
      ["conversation.tools", { conversation: { tools: [] } }],
      ["conversation.tools.x", ofTool([])],
      ["conversation.tools.x.questions", ofTool({ questions: [] })],
      ["conversation.tools.x.parameters.p", ofTool({ parameters: { p: [] } })],
      ["template", { template: [] }],
      ["providers.llm.aliases", { providers: { llm: { aliases: [] } } }],
    ];
    const found = places.map(([, value]) =>
      parseConfig(value).errors.map(({ path }) => path.join(".")),
    );
    expect(found).toEqual(places.map(([path]) => [path]));
  });

  test("is a missing required key", () => {
    expect(parseConfig({ assistant: null, user: { name: null } }).errors).toEqual([
      { path: ["assistant"], message: "expected a table, got null" },
      { path: ["user", "name"], message: "expected string, got null" },
    ]);
  });

  test("inside one of several forms is reported with its path, all of them", () => {
    const found = parseConfig({
      assistant: {
        model: { id: { provider: "openai", name: 5 } },
        system_prompt: { value: 1, strategy: "add" },
      },
      extends: ["a.toml", { path: 1 }],
    }).errors.map(({ path }) => path.join("."));
    expect(found.toSorted()).toEqual([
      "assistant.model.id.name",
      "assistant.system_prompt.strategy",
      "assistant.system_prompt.value",
      "extends.1.path",
    ]);
  });

  test("is described in words of config files, not of the library", () => {
    const messages = [
      ofTool({ command: { args: [] } }),
      { extends: "a.toml" },
      ofTool({ enable: { stat: true } }),
    ].flatMap((value) => parseConfig(value).errors.map(({ message }) => message));
    expect(messages.filter((message) => /undefined|Array|never|Object/.test(message))).toEqual([]);
  });
});

test("a number that is too small is reported with the minimum", () => {
  const wrong: readonly (readonly [Json, string])[] = [
    [{ conversation: { max_cycles: 0 } }, "expected 1 or more"],
    [{ conversation: { inquiry: { max_parallel: 0 } } }, "expected a whole number from 1 to 1000"],
    [{ assistant: { request: { max_retries: -1 } } }, "expected 0 or more"],
    [{ assistant: { request: { prompt_timeout_secs: -1 } } }, "expected 0 or more"],
    [ofTool({ timeout_secs: -1 }), "expected 0 or more"],
    [ofTool({ style: { inline_results: -1 } }), "expected 0 or more"],
  ];
  const found = wrong.map(([value]) => parseConfig(value).errors.map(({ message }) => message));
  expect(found).toEqual(wrong.map(([, message]) => [message]));
});

test("a list is called a list, and a missing key is named", () => {
  const messages = [{ user: [] }, { extends: "a" }, ofTool({ command: { args: [] } })].map(
    (value) => parseConfig(value).errors.map(({ message }) => message),
  );
  expect(messages).toEqual([
    ["expected a table, got a list"],
    ["expected a list, got a string"],
    ["program is missing"],
  ]);
});

test("a config with an error is empty", () => {
  expect(parseConfig({ assistant: { name: 3 }, user: { name: "me" } }).config).toEqual({});
});

describe("an unknown key", () => {
  test.each<[string, JsonObject, string]>([
    [
      "a word of other programs",
      { providers: { mcp: { s: { args: ["x"] } } } },
      "providers.mcp.s.arguments",
    ],
    ["a key of a table below", { assistant: { top_p: 1 } }, "assistant.model.parameters.top_p"],
    ["the end of a key", { model: { id: "a/b" } }, "assistant.model.id"],
    ["a misspelt table of one key", { asistant: { model: { id: "a/b" } } }, "assistant.model.id"],
    ["the end of a key with a name", { tools: { x: { run: "ask" } } }, "conversation.tools.x.run"],
    ["the name of a tool or group", { fs: { enable: true } }, "conversation.tools.fs.enable"],
    [
      "the name of a tool below its table",
      { conversation: { fs: { enable: { state: true } } } },
      "conversation.tools.fs.enable.state",
    ],
    ["the name of a server", { github: { url: "x" } }, "providers.mcp.github.url"],
  ])("is reported with the whole key that was meant: %s", (_name, value, meant) => {
    const messages = parseConfig(value).warnings.map(({ message }) => message);
    expect(messages).toEqual([`unknown key; did you mean ${meant}?`]);
  });

  test("is reported with the closest known key", () => {
    expect(
      parseConfig({
        asistant: {},
        assistant: { nmae: "x", request: { max_retry: 1 } },
        conversation: { tools: { x: { rum: "ask", questions: { q: { targt: "user" } } } } },
        providers: { mcp: { s: { comand: "x" } }, llm: { anthropc: {} } },
        entirely_different: 1,
      }),
    ).toEqual({
      config: {
        assistant: { request: {} },
        conversation: { tools: { x: { questions: { q: {} } } } },
        providers: { mcp: { s: {} }, llm: {} },
      },
      errors: [],
      warnings: [
        unknown("asistant", "assistant"),
        unknown("assistant.nmae", "name"),
        unknown("assistant.request.max_retry", "max_retries"),
        unknown("conversation.tools.x.rum", "run"),
        unknown("conversation.tools.x.questions.q.targt", "target"),
        unknown("providers.mcp.s.comand", "command"),
        unknown("providers.llm.anthropc", "anthropic"),
        { path: ["entirely_different"], message: "unknown key" },
      ],
    });
  });

  test("is a key of a single tool in the defaults for all tools", () => {
    const tools = { "*": { source: "local", questions: {}, run: "ask" } };
    expect(parseConfig({ conversation: { tools } }).warnings).toEqual([
      { path: ["conversation", "tools", "*", "source"], message: "unknown key" },
      { path: ["conversation", "tools", "*", "questions"], message: "unknown key" },
    ]);
  });

  test("is allowed in open tables", () => {
    const config = {
      assistant: { model: { parameters: { seed: 1, other: { x: 1 } } } },
      conversation: {
        tools: {
          "any name": { options: { any: { thing: 1 } }, parameters: { p: { minLength: 1 } } },
        },
      },
      providers: { llm: { aliases: { any: "x" } }, mcp: { any: { headers: { "X-Any": "x" } } } },
    };
    expect(parseConfig(config)).toMatchObject({ errors: [], warnings: [] });
  });

  test("of other versions that has no effect here is refused by name, and a wrong type of it is an error", () => {
    const config = {
      template: { values: { any: 1 } },
      style: { markdown: { hr_style: "line" } },
      conversation: {
        tools: { x: { style: { parameters: "sh x.sh" } } },
        labels: { team: "web" },
      },
      providers: { llm: { cerebras: { api_key_env: "KEY" }, deepseek: { base_url: "x" } } },
    };
    expect(parseConfig(config).errors).toEqual([]);
    expect(
      parseConfig(config).warnings.map(({ path, message }) => [path.join("."), message]),
    ).toEqual([
      ["template", "not supported: messages are not templates"],
      ["style.markdown.hr_style", "not supported: jp always draws a line"],
      [
        "conversation.tools.x.style.parameters",
        "not supported: jp does not run commands to format arguments",
      ],
      [
        "conversation.labels",
        "not supported: label conversations with jp conversation label or --label",
      ],
      ["providers.llm.cerebras", expect.stringContaining("not supported: jp has no such provider")],
      ["providers.llm.deepseek", expect.stringContaining("not supported: jp has no such provider")],
    ]);
    expect(parseConfig({ style: { markdown: { hr_style: 1 } } }).errors).toHaveLength(1);
  });

  test("is an error for flags, like everything else that is wrong", () => {
    expect(() => parseConfigOrThrow("these words", { user: { nam: 1, name: 2 } })).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message:
          "these words: user.name: expected string, got a number\n" +
          "these words: user.nam: unknown key; did you mean user.name?",
      }),
    );
  });
});

describe("keys that every object has", () => {
  const POLLUTION = '{"polluted":true}';

  test("never reach the prototype of anything", () => {
    const raw: unknown = JSON.parse(
      `{"__proto__":${POLLUTION},"constructor":{"prototype":${POLLUTION}},` +
        `"assistant":{"__proto__":${POLLUTION},"model":{"parameters":{"__proto__":${POLLUTION}}}},` +
        `"conversation":{"tools":{"__proto__":{"run":"ask"},"constructor":{"run":"ask"},` +
        `"x":{"options":{"__proto__":${POLLUTION}},"questions":{"__proto__":{"answer":1}}}}},` +
        `"template":{"__proto__":${POLLUTION}},"providers":{"llm":{"aliases":{"__proto__":"a"}}}}`,
    );
    const { config, errors } = parseConfig(raw);
    expect({ config, errors, polluted: ({} as { polluted?: unknown }).polluted }).toEqual({
      config: {
        assistant: { model: { parameters: {} } },
        conversation: { tools: { x: { options: {}, questions: {} } } },
        template: {},
        providers: { llm: { aliases: {} } },
      },
      errors: [],
      polluted: undefined,
    });
    expect(Object.getPrototypeOf(config.conversation?.tools)).toBe(Object.prototype);
  });

  test("are reported where they are left out", () => {
    const tools = Object.fromEntries([
      ["__proto__", { run: "ask" }],
      ["constructor", { run: "ask" }],
    ]);
    expect(parseConfig({ conversation: { tools } }).warnings).toEqual(
      ["__proto__", "constructor"].map((name) => ({
        path: ["conversation", "tools", name],
        message: "this name cannot be used",
      })),
    );
  });

  test("are ordinary names where they are harmless", () => {
    const tools = { toString: { run: "ask" }, valueOf: { run: "skip" }, hasOwnProperty: {} };
    expect(parseConfig({ conversation: { tools } })).toStrictEqual({
      config: { conversation: { tools } },
      errors: [],
      warnings: [],
    });
  });
});

test("every valid config is parsed without warnings", () => {
  fc.assert(
    fc.property(anyConfig(), (raw) => {
      expect(parseConfig(raw)).toMatchObject({ errors: [], warnings: [] });
    }),
  );
});

test("the parser never throws", () => {
  const keys = fc.constantFrom(
    "assistant",
    "conversation",
    "tools",
    "x",
    "enable",
    "model",
    "id",
    "questions",
    "q",
    "target",
    "command",
    "value",
  );
  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 7 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.dictionary(keys, tie("value"), { maxKeys: 3 }),
      fc.array(tie("value"), { maxLength: 2 }),
    ),
  })).value;
  fc.assert(
    fc.property(value, (raw) => {
      const { errors, config } = parseConfig(raw);
      expect(errors.length > 0 ? config : {}).toEqual({});
    }),
  );
});

function unknown(path: string, meant: string) {
  const keys = path.split(".");
  const whole = [...keys.slice(0, -1), meant].join(".");
  return { path: keys, message: `unknown key; did you mean ${whole}?` };
}

test("no error repeats a wrong value", () => {
  counters("T-PATH-5");
  const wrong: Json[] = [SECRET, 7654321, [SECRET], { [`${SECRET}s key`]: SECRET }];
  const places = [
    ...["assistant", "user", "conversation", "providers", "style", "inherit", "extends"].map(
      (key) => (value: Json) => ({ [key]: value }),
    ),
    ...[
      "source",
      "run",
      "enable",
      "detached",
      "command",
      "parameters",
      "questions",
      "timeout_secs",
    ].map((key) => (value: Json) => ofTool({ [key]: value })),
    (value: Json) => ofTool({ questions: { q: { target: value } } }),
    (value: Json) => ({ assistant: { model: { id: value, parameters: { reasoning: value } } } }),
    (value: Json) => ({ providers: { mcp: { s: { type: value, checksum: value } } } }),
    (value: Json) => value,
  ];
  const messages = places.flatMap((place) =>
    wrong.flatMap((value) => parseConfig(place(value)).errors.map(({ message }) => message)),
  );
  expect([messages.length > 60, messages.filter((text) => /hunter2|7654321/.test(text))]).toEqual([
    true,
    [],
  ]);
});

test("a config that is nested too deeply is rejected", () => {
  const deep: unknown = JSON.parse(`${'{"items":'.repeat(5_000)}1${"}".repeat(5_000)}`);
  expect(parseConfig(ofTool({ parameters: { a: deep as Json } }))).toEqual({
    config: {},
    errors: [{ path: [], message: "nested deeper than 100 levels" }],
    warnings: [],
  });
});

test("a tool without a source and a server without an address are reported by key", () => {
  const config = readConfig({
    conversation: {
      tools: { "*": { run: "ask" }, a: { source: "local", command: "a" }, "b.c": { run: "ask" } },
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
  expect(findUnusable(config)).toEqual([
    {
      path: ["conversation", "tools", "b.c", "source"],
      message: "source is missing, so the tool cannot be used",
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

test("an empty config has no problems", () => {
  expect(findUnusable({})).toEqual([]);
});

test.each([
  ["localhost", true],
  ["localhost:3000", true],
  ["192.168.1.5", true],
  ["[::1]:8080", true],
  ["intra.example", true],
  ["http://localhost:3000", false],
  ["localhost:3000/admin", false],
  ["me@localhost", false],
  ["*.example", false],
  ["192.168.0.0/16", false],
  ["localhost:99999", false],
  ["::1", false],
  ["", false],
])("a private host is a host, perhaps with a port: %s", (host, isValid) => {
  const { errors } = parseConfig({ web: { private_hosts: [host] } });
  const path = ["web", "private_hosts", "0"];
  expect(errors).toEqual(isValid ? [] : [{ path, message: "expected a host, or host:port" }]);
});

describe("a tool with an unknown key", () => {
  test("is off and cannot be switched on where it is defined, and the warning says so", () => {
    const { config, warnings } = parseTools({
      a: { source: "local", command: "a", enable: true, idempotnt: true },
      b: { source: "local", command: "b", enable: true },
    });
    const tools = [...resolveTools(config).values()];
    expect(tools.map(({ name, isEnabled, allowToggle }) => [name, isEnabled, allowToggle])).toEqual(
      [
        ["a", false, "never"],
        ["b", true, "any"],
      ],
    );
    expect(warnings.map(({ message }) => message)).toEqual([
      "unknown key; did you mean conversation.tools.a.idempotent? The tool is off.",
    ]);
  });

  test("is only warned about where other files define it, for a group, and below a key", () => {
    const { config, warnings } = parseTools({
      "*": { zzz: 1 },
      fs: { enable: true, zzz: 1 },
      a: { source: "local", command: "a", enable: true, style: { zzz: 1 } },
    });
    expect(resolveTools(config).get("a")?.isEnabled).toBe(true);
    expect(warnings.map(({ message }) => message)).toEqual(Array(3).fill("unknown key"));
  });
});

test("a local tool without a command is reported", () => {
  const tool = { source: "local", enable: true };
  const { config } = parseConfig({ conversation: { tools: { a: tool } } });
  expect(findUnusable(config).map(({ path }) => path.join("."))).toEqual([
    "conversation.tools.a.command",
  ]);
});

function parseTools(tools: JsonObject) {
  return parseConfig({ conversation: { tools } });
}
