import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { anyConfig, ofTool, readConfig, SECRET } from "./any-config.fixture.ts";
import type { Json } from "../../util/index.ts";
import { parseAssignment } from "./assignment.ts";
import { DEFAULTS } from "./defaults.ts";
import {
  configToJson,
  explainLayers,
  foldLayers,
  type Layer,
  mergeConfig,
  valueAt,
} from "./layers.ts";
import { configSchema } from "./schema/config-schema.ts";
import { resolveTools } from "./tool-settings.ts";

describe("layers", () => {
  test("are folded from the lowest to the highest", () => {
    const layers = [
      layer("a", name("a")),
      layer("b", name("b")),
      layer("c", { editor: { cmd: "vi" } }),
    ];
    expect(foldLayers(layers)).toStrictEqual({ user: { name: "b" }, editor: { cmd: "vi" } });
  });

  test("may be empty", () => {
    expect([foldLayers([]), explainLayers([])]).toEqual([{}, []]);
  });

  test("below one with inherit = false are dropped, except the base layers", () => {
    const layers = [
      { ...layer("defaults", { editor: { cmd: "vi" } }), isBase: true },
      layer("a", { user: { name: "a" }, assistant: { name: "a" } }),
      layer("b", { inherit: false, assistant: { name: "b" } }),
      layer("c", { conversation: { max_cycles: 1 } }),
    ];
    expect(foldLayers(layers)).toStrictEqual({
      editor: { cmd: "vi" },
      inherit: false,
      assistant: { name: "b" },
      conversation: { max_cycles: 1 },
    });
  });

  test("start at the last one with inherit = false", () => {
    const layers = [
      layer("a", { inherit: false, user: { name: "a" } }),
      layer("b", { inherit: false, editor: { cmd: "b" } }),
      layer("c", { inherit: true, assistant: { name: "c" } }),
    ];
    expect(foldLayers(layers)).toStrictEqual({
      inherit: true,
      editor: { cmd: "b" },
      assistant: { name: "c" },
    });
  });

  test("that clear a key reset lower layers and not higher ones", () => {
    const below = layer("below", {
      assistant: { name: "a", tool_choice: "none" },
      ...ofTool({ run: "ask", options: { a: 1 } }),
    });
    expect([
      foldLayers([
        below,
        clearing(["assistant", "name"], ["conversation", "tools", "x", "options", "a"]),
      ]),
      foldLayers([below, clearing(["assistant"], ["conversation"])]),
      foldLayers([below, clearing(["no", "such"], ["assistant", "name", "deeper"])]),
      foldLayers([clearing(["assistant"]), below]),
    ]).toStrictEqual([
      readConfig({ assistant: { tool_choice: "none" }, ...ofTool({ run: "ask", options: {} }) }),
      {},
      below.config,
      below.config,
    ]);
  });
});

describe("the explanation", () => {
  test("names the layers that set each value, the highest first", () => {
    const layers = [
      layer("a", { assistant: { name: "a" }, ...ofTool({ enable: false }) }),
      layer("b", { user: { name: "b" } }),
      layer("c", { user: { name: "c" }, ...ofTool({ enable: true }) }),
    ];
    expect(explainLayers(layers)).toEqual([
      { path: ["assistant", "name"], value: "a", isPrivate: false, layers: ["a"] },
      {
        path: ["conversation", "tools", "x", "enable"],
        value: { state: true, allow_toggle: "any" },
        isPrivate: false,
        layers: ["c", "a"],
      },
      { path: ["user", "name"], value: "c", isPrivate: false, layers: ["c", "b"] },
    ]);
  });

  test("names no layer that is dropped", () => {
    const layers = [layer("a", name("a")), layer("b", { inherit: false, ...name("b") })];
    expect(explainLayers(layers).find(({ path }) => path[0] === "user")?.layers).toEqual(["b"]);
  });

  test("is in the order of the schema, not of the layers", () => {
    const layers = [
      { name: "defaults", config: DEFAULTS },
      layer("a", {
        providers: { mcp: { s: { command: "x" } } },
        user: { name: "a" },
        inherit: true,
      }),
    ];
    const sections = [...new Set(explainLayers(layers).map(({ path }) => path[0] ?? ""))];
    const order = Object.keys(configSchema.entries);
    expect(sections).toEqual(order.filter((section) => sections.includes(section)));
  });

  test("shows values as people write them", () => {
    const layers = [
      layer("a", {
        assistant: { model: { id: "openai/gpt" }, system_prompt: "p" },
        conversation: { attachments: ["a"] },
        template: { values: { a: 1 } },
      }),
    ];
    expect(explainLayers(layers).map(({ path, value }) => [path.join("."), value])).toEqual([
      ["assistant.system_prompt", "p"],
      ["assistant.model.id", "openai/gpt"],
      ["conversation.attachments", ["a"]],
      ["template.values", { a: 1 }],
    ]);
  });

  test("shows that an answer is set and where, but never the answer", () => {
    const answers: Json[] = [SECRET, false, null, { deep: SECRET }];
    const explained = answers.map((answer) =>
      explainLayers([
        layer("a", ofTool({ questions: { q: { answer: 1 } } })),
        layer("b", ofTool({ questions: { q: { answer } } })),
      ]),
    );
    expect(explained).toEqual(
      answers.map(() => [
        {
          path: ["conversation", "tools", "x", "questions", "q", "answer"],
          value: undefined,
          isPrivate: true,
          layers: ["b", "a"],
        },
      ]),
    );
  });

  test("holds no answer, whatever else it holds", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (first, second) => {
        const explained = explainLayers([layer("a", first), layer("b", second)]);
        expect(JSON.stringify(explained)).not.toContain(SECRET);
      }),
    );
  });

  test("has every value exactly once, each with a layer", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (first, second) => {
        const explained = explainLayers([layer("a", first), layer("b", second)]);
        const paths = explained.map(({ path }) => JSON.stringify(path));
        expect(new Set(paths).size).toBe(paths.length);
        expect(explained.filter((value) => value.layers.length === 0)).toEqual([]);
      }),
    );
  });

  test("ignores keys that every object has", () => {
    const layers = [layer("a", ofAliases({ x: "y" })), layer("b", ofAliases({ toString: "z" }))];
    const explained = explainLayers(layers).map(({ path, layers: from }) => [path.at(-1), from]);
    expect(explained).toEqual([
      ["x", ["a"]],
      ["toString", ["b"]],
    ]);
  });
});

test("a value is found by its path, but not on the prototype", () => {
  const config = readConfig(ofTool({ run: "ask", options: { a: { b: 1 } } }));
  const of = (...path: string[]) => valueAt(config, path);
  expect([
    of(),
    of("conversation", "tools", "x", "options", "a", "b"),
    of("conversation", "tools", "y"),
    of("conversation", "tools", "x", "run", "length"),
    of("constructor"),
    of("conversation", "tools", "toString"),
    of("__proto__"),
  ]).toEqual([config, 1, undefined, undefined, undefined, undefined, undefined]);
});

test("headers of a server, which may hold a token, are neither shown nor stored", () => {
  const own = layer("a", { providers: { mcp: { s: { headers: { Authorization: SECRET } } } } });
  expect(explainLayers([own])).toEqual([
    {
      path: ["providers", "mcp", "s", "headers", "Authorization"],
      value: undefined,
      isPrivate: true,
      layers: ["a"],
    },
  ]);
  expect(JSON.stringify(configToJson(own.config))).not.toContain(SECRET);
});

function layer(layerName: string, config: Json): Layer {
  return { name: layerName, config: readConfig(config) };
}

function name(of: string) {
  return { user: { name: of } };
}

function clearing(...cleared: string[][]): Layer {
  return { name: "clears", config: {}, cleared };
}

function ofAliases(aliases: Json) {
  return { providers: { llm: { aliases } } };
}

test("tables merge key by key, and the higher layer wins", () => {
  const lower = readConfig({
    assistant: { name: "a", request: { max_retries: 1, cache: true } },
    user: { name: "me" },
  });
  const upper = readConfig({ assistant: { request: { cache: "long" }, tool_choice: "none" } });
  expect(mergeConfig(lower, upper)).toStrictEqual({
    assistant: { name: "a", request: { max_retries: 1, cache: "long" }, tool_choice: "none" },
    user: { name: "me" },
  });
});

test("a plain list is replaced", () => {
  expect(mergeConfig(withEnvs(["A", "B"]), withEnvs(["C"]))).toStrictEqual(withEnvs(["C"]));
});

test("false, zero and the empty text are values", () => {
  const lower = readConfig({
    conversation: { start_local: true },
    assistant: { request: { max_retries: 5 } },
    user: { name: "me" },
  });
  const upper = readConfig({
    conversation: { start_local: false },
    assistant: { request: { max_retries: 0 } },
    user: { name: "" },
  });
  expect(mergeConfig(lower, upper)).toStrictEqual(upper);
});

test("named entries merge one by one: tools, servers, aliases, options, headers", () => {
  const lower = readConfig({
    conversation: { tools: { a: { run: "ask", options: { x: { deep: 1 }, y: 2 } } } },
    providers: {
      mcp: { s: { url: "http://a", headers: { A: "1" } } },
      llm: { aliases: { f: "m" } },
    },
  });
  const upper = readConfig({
    conversation: { tools: { a: { options: { x: { other: 1 } } }, b: { run: "skip" } } },
    providers: { mcp: { s: { headers: { B: "2" } } }, llm: { aliases: { g: "n" } } },
  });
  expect(mergeConfig(lower, upper)).toStrictEqual({
    conversation: {
      tools: { a: { run: "ask", options: { x: { other: 1 }, y: 2 } }, b: { run: "skip" } },
    },
    providers: {
      mcp: { s: { url: "http://a", headers: { A: "1", B: "2" } } },
      llm: { aliases: { f: { alias: "m" }, g: { alias: "n" } } },
    },
  });
});

test("parameters of a model merge one by one, also unknown ones", () => {
  expect(
    mergeConfig(
      withParameters({ max_tokens: 1, seed: 1, other: { a: 1 } }),
      withParameters({ seed: 2, mirostat: 1, other: { b: 1 } }),
    ),
  ).toStrictEqual(withParameters({ max_tokens: 1, seed: 2, mirostat: 1, other: { a: 1, b: 1 } }));
});

test("values of templates merge one by one", () => {
  expect(mergeConfig(withValues({ a: 1 }), withValues({ b: 2 }))).toStrictEqual(
    withValues({ a: 1, b: 2 }),
  );
});

const BUILTIN = readConfig(
  ofTool(
    {
      source: "builtin",
      enable: { state: true, allow_toggle: "if_named" },
      run: "unattended",
      result: "unattended",
      style: { hidden: true },
      questions: { answer: { prompt_label: "Assistant" } },
      parameters: { question: { type: "string", required: true } },
    },
    "ask_user",
  ),
);

describe("a builtin tool's own config", () => {
  test("stays under a user's that changes one field", () => {
    const user = readConfig(ofTool({ questions: { answer: { prompt_label: "JP" } } }, "ask_user"));
    const before = resolveTools(BUILTIN).get("ask_user");
    expect(resolveTools(mergeConfig(BUILTIN, user)).get("ask_user")).toStrictEqual({
      ...before,
      questions: new Map([["answer", { target: { type: "user" }, promptLabel: "JP" }]]),
    });
  });

  test("gives a label that the user's file replaces, and a flag replaces that", () => {
    verifies("083/label/merges-across-layers");
    const file = readConfig(ofTool({ questions: { answer: { prompt_label: "JP" } } }, "ask_user"));
    const key = "conversation.tools.ask_user.questions.answer.prompt_label";
    const flag = readConfig(parseAssignment(`${key}=Me`)?.value ?? {});
    const layers = [[], [file], [flag], [file, flag]];
    const labels = layers.map((above) => {
      const tool = resolveTools(above.reduce(mergeConfig, BUILTIN)).get("ask_user");
      return tool?.questions.get("answer")?.promptLabel;
    });
    expect(labels).toEqual(["Assistant", "JP", "Me", "Me"]);
  });

  test("is kept below a user's tool with another source", () => {
    const user = readConfig(ofTool({ source: "local", command: "my-ask" }, "ask_user"));
    const before = resolveTools(BUILTIN).get("ask_user");
    expect(resolveTools(mergeConfig(BUILTIN, user)).get("ask_user")).toStrictEqual({
      ...before,
      source: { type: "local" },
      command: { program: "my-ask", args: [], shell: false },
    });
  });

  test("can be switched off and keeps its policy, unless a shorthand sets both", () => {
    expect([afterEnable({ state: false }), afterEnable(false)]).toEqual([
      [false, "if_named"],
      [false, "any"],
    ]);
  });
});

test("a name that every object has is an ordinary name", () => {
  const lower = readConfig({ providers: { llm: { aliases: { a: "m" } } } });
  const upper = readConfig({
    providers: { llm: { aliases: { toString: "n" } } },
    conversation: { tools: { valueOf: { run: "ask", questions: { toString: { target: {} } } } } },
  });
  expect(mergeConfig(lower, upper)).toStrictEqual({
    providers: { llm: { aliases: { a: { alias: "m" }, toString: { alias: "n" } } } },
    conversation: {
      tools: {
        valueOf: {
          run: "ask",
          questions: { toString: { target: { type: "assistant", assistant: {} } } },
        },
      },
    },
  });
});

test("merging a layer with an empty one gives the layer", () => {
  fc.assert(
    fc.property(anyConfig(), (raw) => {
      const config = readConfig(raw);
      expect([mergeConfig({}, config), mergeConfig(config, {})]).toEqual([config, config]);
    }),
  );
});

test("neither layer is changed", () => {
  fc.assert(
    fc.property(anyConfig(), anyConfig(), (first, second) => {
      const layers = [readConfig(first), readConfig(second)] as const;
      const copies = structuredClone(layers);
      mergeConfig(...layers);
      expect(layers).toStrictEqual(copies);
    }),
  );
});

function withEnvs(envs: string[]) {
  return readConfig({ editor: { envs } });
}

function withParameters(parameters: object) {
  return readConfig({ assistant: { model: { parameters } } });
}

function withValues(values: object) {
  return readConfig({ template: { values } });
}

/** Whether the builtin tool is on, and who may change that. */
function afterEnable(enable: Json) {
  const user = readConfig(ofTool({ enable }, "ask_user"));
  const tool = resolveTools(mergeConfig(BUILTIN, user)).get("ask_user");
  return [tool?.isEnabled, tool?.allowToggle];
}
