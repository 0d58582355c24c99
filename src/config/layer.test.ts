import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { anyConfig, ofTool, readConfig, SECRET } from "../../test/support/any-config.ts";
import type { Json } from "../util/index.ts";
import { DEFAULTS } from "./defaults.ts";
import { configToJson } from "./delta.ts";
import { explainLayers, foldLayers, type Layer, valueAt } from "./layer.ts";
import { configSchema } from "./schema/config-schema.ts";

describe("layers", () => {
  test("are folded from the lowest to the highest", () => {
    const layers = [
      layer("a", name("a")),
      layer("b", name("b")),
      layer("c", { editor: { cmd: "vi" } }),
    ];
    expect(foldLayers(layers)).toStrictEqual({ user: { name: "b" }, editor: { cmd: "vi" } });
  });

  test("are none at all where there are none", () => {
    expect([foldLayers([]), explainLayers([])]).toEqual([{}, []]);
  });

  test("below one that does not inherit are silent, but for our own", () => {
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

  test("start at the last one that does not inherit, and not at one that does", () => {
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

  test("that clear a key take away what lower ones say of it, and not what upper ones say", () => {
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
  test("says who says something of each value, the highest first", () => {
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

  test("names no layer that is not heard", () => {
    const layers = [layer("a", name("a")), layer("b", { inherit: false, ...name("b") })];
    expect(explainLayers(layers).find(({ path }) => path[0] === "user")?.layers).toEqual(["b"]);
  });

  test("is in the order of the schema, whatever order the layers have", () => {
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

  test("shows values as files write them", () => {
    const layers = [
      layer("a", {
        assistant: { model: { id: "openai/gpt" }, system_prompt: "p" },
        conversation: { attachments: ["a"] },
        template: { values: { a: 1 } },
      }),
    ];
    expect(explainLayers(layers).map(({ path, value }) => [path.join("."), value])).toEqual([
      ["assistant.system_prompt", "p"],
      ["assistant.model.id", { provider: "openai", name: "gpt" }],
      ["conversation.attachments", { value: ["a"], strategy: "replace" }],
      ["template.values", { a: 1 }],
    ]);
  });

  test("tells that there is an answer and where, and never the answer", () => {
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

  test("gives every value exactly once, and each of them a layer", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (first, second) => {
        const explained = explainLayers([layer("a", first), layer("b", second)]);
        const paths = explained.map(({ path }) => JSON.stringify(path));
        expect(new Set(paths).size).toBe(paths.length);
        expect(explained.filter((value) => value.layers.length === 0)).toEqual([]);
      }),
    );
  });

  test("does not take what every object has for something a layer says", () => {
    const layers = [layer("a", ofAliases({ x: "y" })), layer("b", ofAliases({ toString: "z" }))];
    const explained = explainLayers(layers).map(({ path, layers: from }) => [path.at(-1), from]);
    expect(explained).toEqual([
      ["x", ["a"]],
      ["toString", ["b"]],
    ]);
  });
});

test("a value is found by its path, and what every object has is none", () => {
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

test("headers of a server may hold a token: they are not shown, and not stored", () => {
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
