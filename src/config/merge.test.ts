import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { verifies } from "../../test/conformance/manifest.ts";
import { anyConfig, ofTool, readConfig } from "../../test/support/any-config.ts";
import type { Json } from "../util/index.ts";
import { parseAssignment } from "./assignment.ts";
import { mergeConfig } from "./merge.ts";
import { resolveTools } from "./tool-settings.ts";

test("tables meet key by key, and the upper layer wins", () => {
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

test("a plain list that layers do not add to is replaced", () => {
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

test("names that nobody knows meet one by one: tools, servers, aliases, options, headers", () => {
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

test("parameters of a model meet one by one, also those that nobody knows", () => {
  expect(
    mergeConfig(
      withParameters({ max_tokens: 1, seed: 1, other: { a: 1 } }),
      withParameters({ seed: 2, mirostat: 1, other: { b: 1 } }),
    ),
  ).toStrictEqual(withParameters({ max_tokens: 1, seed: 2, mirostat: 1, other: { a: 1, b: 1 } }));
});

test("values of templates meet one by one", () => {
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

  test("stays under a user's that names another source", () => {
    const user = readConfig(ofTool({ source: "local", command: "my-ask" }, "ask_user"));
    const before = resolveTools(BUILTIN).get("ask_user");
    expect(resolveTools(mergeConfig(BUILTIN, user)).get("ask_user")).toStrictEqual({
      ...before,
      source: { type: "local" },
      command: { program: "my-ask", args: [], shell: false },
    });
  });

  test("can be switched off and stays only by name, unless it is switched by a shorthand", () => {
    expect([afterEnable({ state: false }), afterEnable(false)]).toEqual([
      [false, "if_named"],
      [false, "any"],
    ]);
  });
});

test("a name that every object has is a name like any other", () => {
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

test("a layer over nothing and nothing over a layer is that layer", () => {
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
