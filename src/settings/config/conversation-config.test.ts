import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { anyConfig, ofTool, readConfig } from "./any-config.fixture.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { conversationConfig } from "./conversation-config.ts";
import { mergeConfig } from "./layers.ts";
import { resolveTools } from "./tool-settings.ts";

test("the base is applied first, then every change in order", () => {
  const base = { assistant: { name: "a", model: { id: "openai/x" } }, user: { name: "me" } };
  const deltas = [
    { assistant: { name: "b" }, conversation: { tools: { x: { enable: { state: false } } } } },
    { assistant: { name: "c" }, conversation: { tools: { x: { run: "ask" } } } },
  ];
  expect(conversationConfig(base, deltas)).toStrictEqual({
    assistant: { name: "c", model: { id: { provider: "openai", name: "x" } } },
    user: { name: "me" },
    conversation: { tools: { x: { enable: { state: false }, run: "ask" } } },
  });
});

test("a conversation cannot set how config files are found", () => {
  const how = { inherit: false, extends: ["config.d/**/*"], config_load_paths: [".jp/config"] };
  expect(conversationConfig({ ...how, user: { name: "me" } }, [how])).toStrictEqual({
    user: { name: "me" },
  });
});

test("a conversation cannot set addresses, but everything beside them", () => {
  counters("T-WORK-14", "T-WEB-1");
  const places = {
    llm: {
      aliases: { fast: "openai/gpt" },
      anthropic: { base_url: "http://a", api_key_env: "A", chain_on_max_tokens: false },
      openai: { base_url: "http://b", base_url_env: "B", api_key_env: "C" },
      ollama: { base_url: "http://c" },
    },
    mcp: { s: { command: "s", variables: ["V"] }, h: { url: "http://h", headers: { A: "$B" } } },
  };
  const base = { providers: places, assistant: { name: "a" } };
  const web = { private_hosts: ["localhost:3000"] };
  const delta = { providers: places, web, ...ofTool({ run: "ask" }) };
  const config = conversationConfig({ ...base, web }, [delta]);
  expect(config).toStrictEqual({
    assistant: { name: "a" },
    conversation: { tools: { x: { run: "ask" } } },
    providers: {
      llm: {
        aliases: { fast: { provider: "openai", name: "gpt" } },
        anthropic: { chain_on_max_tokens: false },
      },
    },
  });
});

test("a conversation cannot say what needs no permission: neither rules nor a mode nor what a tool does", () => {
  counters("T-WORK-14");
  const policy = { run: [{ mode: "unattended" }], result: "unattended" };
  const loosened = {
    conversation: {
      mode: "edits",
      tools: { "*": { policy }, x: { policy, effect: "reads", run: "ask" } },
    },
  };
  for (const config of [conversationConfig(loosened, []), conversationConfig({}, [loosened])])
    expect(config).toStrictEqual({ conversation: { tools: { x: { run: "ask" } } } });
});

describe("what cannot be read is ignored, and the rest applies", () => {
  test("unknown keys", () => {
    const base = {
      colour: 1,
      providers: { llm: { unheard_of: { app_name: "x" }, openrouter: { app_name: "y" } } },
    };
    expect(conversationConfig(base, [])).toStrictEqual({
      providers: { llm: { openrouter: { app_name: "y" } } },
    });
  });

  test("wrong types, key by key", () => {
    const base = {
      assistant: { name: 3, tool_choice: "none", model: { id: 4, parameters: { top_k: "many" } } },
      conversation: {
        tools: { x: { run: "maybe", result: "ask" }, y: 5, "*": { enable: "perhaps" } },
        attachments: [1, "a"],
      },
      user: "me",
    };
    expect(conversationConfig(base, [{ user: { name: "me" } }, { assistant: [] }])).toStrictEqual({
      assistant: { tool_choice: "none", model: { parameters: {} } },
      conversation: { tools: { "*": {}, x: { result: "ask" } } },
      user: { name: "me" },
    });
  });

  test.each<[string, JsonObject, JsonObject]>([
    ["a command without a program", ofTool({ command: { args: ["a"] } }), ofTool({})],
    [
      "a model without a name",
      { assistant: { model: { id: { provider: "x" } } } },
      { assistant: { model: {} } },
    ],
    [
      "a list without a value",
      { conversation: { attachments: { strategy: "append" } } },
      { conversation: {} },
    ],
    [
      "a title of a model without a name",
      { conversation: { title: { generate: { model: { id: { name: "x" } } } } } },
      { conversation: { title: { generate: { model: {} } } } },
    ],
  ])("values with a missing part: %s", (_name, base, expected) => {
    expect(readTame(base)).toStrictEqual({ ...expected, user: { name: "me" } });
  });

  test("an unknown key of a strict table", () => {
    expect(conversationConfig(ofTool({ enable: { state: false, since: 1 } }), [])).toStrictEqual(
      readConfig(ofTool({ enable: { state: false } })),
    );
  });
});

test("tools are read in the older notation of the original", () => {
  const style = {
    hidden: false,
    inline_results: { truncate: { lines: 10 } },
    results_file_link: "osc8",
    parameters: "json",
  };
  const config = conversationConfig(
    {
      conversation: {
        tools: {
          "*": { run: "ask", result: "unattended", style },
          off: { source: "mcp.bookworm", enable: false },
          on: { source: "mcp.bookworm", enable: true },
          named: {
            source: "local",
            enable: "explicit",
            style: { ...style, inline_results: "full", parameters: "function_call" },
          },
          always: { source: "builtin", enable: "always" },
        },
      },
    },
    [{ conversation: { tools: { off: { enable: true } } } }],
  );
  const tools = [...resolveTools(config).values()];
  expect(
    tools.map(({ name, isEnabled, allowToggle, style: { inlineLines } }) => ({
      name,
      isEnabled,
      allowToggle,
      inlineLines: inlineLines.user,
    })),
  ).toEqual([
    { name: "off", isEnabled: true, allowToggle: "any", inlineLines: 10 },
    { name: "on", isEnabled: true, allowToggle: "any", inlineLines: 10 },
    {
      name: "named",
      isEnabled: false,
      allowToggle: "if_named",
      inlineLines: Number.POSITIVE_INFINITY,
    },
    { name: "always", isEnabled: true, allowToggle: "never", inlineLines: 10 },
  ]);
});

test("values are read in every notation of the original", () => {
  expect(
    conversationConfig(
      {
        assistant: {
          system_prompt: {
            value: "a",
            strategy: "replace",
            separator: "none",
            discard_when_merged: false,
          },
          instructions: {
            value: [{ title: "b", position: 0, items: [] }],
            strategy: "replace",
            discard_when_merged: false,
          },
          model: {
            id: { provider: "anthropic", name: "claude" },
            parameters: {
              reasoning: { effort: "auto", exclude: false },
              stop_words: [],
              other: {},
            },
          },
        },
        conversation: {
          title: { generate: { model: { id: "haiku", parameters: { reasoning: "off" } } } },
        },
        style: {
          typewriter: { text_delay: { secs: 0, nanos: 3_000_000 } },
          reasoning: { background: 236 },
        },
      },
      [],
    ),
  ).toStrictEqual({
    assistant: {
      system_prompt: { value: "a", strategy: "replace" },
      instructions: { value: [{ title: "b", position: 0, items: [] }], strategy: "replace" },
      model: {
        id: { provider: "anthropic", name: "claude" },
        parameters: { reasoning: { effort: "auto", exclude: false }, stop_words: [], other: {} },
      },
    },
    conversation: {
      title: { generate: { model: { id: { alias: "haiku" }, parameters: { reasoning: "off" } } } },
    },
    style: {
      typewriter: { text_delay: { secs: 0, nanos: 3_000_000 } },
      reasoning: { background: 236 },
    },
  });
});

test("a list of the base is complete, also as the original writes it", () => {
  const files = readConfig({ conversation: { attachments: ["a", "b"] } });
  const base = conversationConfig({ conversation: { attachments: ["a", "b"] } }, []);
  expect(mergeConfig(files, base).conversation?.attachments?.value).toEqual(["a", "b"]);
});

test("keys that every object has are harmless", () => {
  const base = JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"conversation":{"tools":{"__proto__":{"run":"bad"},"x":{"run":"bad","__proto__":3}}}}',
  ) as JsonObject;
  const config = conversationConfig(base, [base]);
  expect({ config, polluted: ({} as { polluted?: unknown }).polluted }).toEqual({
    config: { conversation: { tools: { x: {} } } },
    polluted: undefined,
  });
});

test("it never throws, and reads what is valid", () => {
  fc.assert(
    fc.property(anyConfig(), fc.jsonValue({ maxDepth: 3 }), anyPlace(), (raw, junk, place) => {
      const spoilt = place.reduceRight<Json>((value, key) => ({ [key]: value }), junk as Json);
      const { user } = conversationConfig(raw, [spoilt as JsonObject, { user: { name: "me" } }]);
      expect(user).toEqual({ name: "me" });
    }),
  );
});

/** Reads it with a key beside it that gives up when it was looked at too often: a loop must end. */
function readTame(base: JsonObject) {
  let looks = 0;
  const user = {
    get name(): string {
      looks += 1;
      if (looks > 1000) throw new Error("this does not end");
      return "me";
    },
  };
  return conversationConfig({ ...base, user }, []);
}

/** Where a value of the wrong type may stand; places of which a part may be missing are tested apart. */
function anyPlace() {
  return fc.constantFrom(
    ["assistant"],
    ["assistant", "name"],
    ["conversation", "tools"],
    ["conversation", "tools", "x"],
    ["conversation", "tools", "x", "enable"],
    ["conversation", "tools", "x", "questions", "q"],
    ["assistant", "model", "parameters", "reasoning"],
    ["nothing", "known"],
  );
}
