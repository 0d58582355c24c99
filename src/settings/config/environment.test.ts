import { describe, expect, test } from "vitest";
import { ofTool, SECRET } from "./any-config.fixture.ts";
import { readEnvironment } from "./environment.ts";

describe("a variable", () => {
  test.each([
    ["JP_CFG_ASSISTANT_NAME", "a b", { assistant: { name: "a b" } }],
    ["JP_CFG_ASSISTANT_MODEL_ID", "openai/gpt", { assistant: { model: { id: "openai/gpt" } } }],
    ["JP_CFG_ASSISTANT_TOOL_CHOICE", "none", { assistant: { tool_choice: "none" } }],
    ["JP_CFG_ASSISTANT_REQUEST_MAX_RETRIES", "0", { assistant: { request: { max_retries: 0 } } }],
    [
      "JP_CFG_ASSISTANT_MODEL_PARAMETERS_MAX_TOKENS",
      "5",
      { assistant: { model: { parameters: { max_tokens: 5 } } } },
    ],
    ["JP_CFG_CONVERSATION_START_LOCAL", "true", { conversation: { start_local: true } }],
    [
      "JP_CFG_CONVERSATION_TITLE_GENERATE_AUTO",
      "false",
      { conversation: { title: { generate: { auto: false } } } },
    ],
    ["JP_CFG_CONVERSATION_TOOLS_X_RUN", "skip", ofTool({ run: "skip" })],
    [
      "JP_CFG_CONVERSATION_TOOLS_*_RUN",
      "skip",
      { conversation: { tools: { "*": { run: "skip" } } } },
    ],
    ["JP_CFG_CONVERSATION_TOOLS_FS_READ_FILE_RUN", "skip", ofTool({ run: "skip" }, "fs_read_file")],
    ["JP_CFG_CONVERSATION_TOOLS_RUN_RUN", "skip", ofTool({ run: "skip" }, "run")],
    ["JP_CFG_CONVERSATION_TOOLS_X_POLICY_RUN", "skip", ofTool({ policy: { run: "skip" } })],
    [
      "JP_CFG_CONVERSATION_TOOLS_*_POLICY_RESULT",
      "ask",
      ofTool({ policy: { result: "ask" } }, "*"),
    ],
    [
      "JP_CFG_CONVERSATION_TOOLS_FS_MODIFY_FILE_POLICY_RUN",
      ':[{"mode":"ask"}]',
      ofTool({ policy: { run: [{ mode: "ask" }] } }, "fs_modify_file"),
    ],
    [
      "JP_CFG_CONVERSATION_TOOLS_X_Y_DETACHED_RUN",
      "deny",
      ofTool({ detached: { run: "deny" } }, "x_y"),
    ],
    [
      "JP_CFG_CONVERSATION_TOOLS_X_Y_STYLE_ERROR_INLINE_RESULTS",
      "off",
      ofTool({ style: { error: { inline_results: "off" } } }, "x_y"),
    ],
    [
      "JP_CFG_CONVERSATION_TOOLS_FS_MODIFY_FILE_QUESTIONS_APPLY_CHANGES_ANSWER",
      ":true",
      ofTool({ questions: { apply_changes: { answer: true } } }, "fs_modify_file"),
    ],
    [
      "JP_CFG_CONVERSATION_TOOLS_X_Y_CANCELLATION_RESPONSE",
      "no",
      ofTool({ cancellation_response: "no" }, "x_y"),
    ],
    [
      "JP_CFG_PROVIDERS_LLM_ALIASES_MY_FAST",
      "a/b",
      { providers: { llm: { aliases: { my_fast: "a/b" } } } },
    ],
    [
      "JP_CFG_PROVIDERS_MCP_MY_SERVER_STARTUP_TIMEOUT_SECS",
      "5",
      { providers: { mcp: { my_server: { startup_timeout_secs: 5 } } } },
    ],
    ["JP_CFG_CONFIG_LOAD_PATHS", ':["a"]', { config_load_paths: ["a"] }],
  ])("%s names a key, underscores and all", (variable, text, value) => {
    expect(readEnvironment({ [variable]: text }).settings).toStrictEqual([
      { variable, assignment: { value, cleared: [] } },
    ]);
  });

  test.each([
    ["JP_CFG_CONVERSATION_TOOLS_X_ENABLE_STATE", "false", ofTool({ enable: { state: false } })],
    ["JP_CFG_CONVERSATION_TOOLS_X_DETACHED_TOOL", "deny", ofTool({ detached: { tool: "deny" } })],
    [
      "JP_CFG_ASSISTANT_MODEL_PARAMETERS_SEED",
      ":1",
      { assistant: { model: { parameters: { seed: 1 } } } },
    ],
    ["JP_CFG_TEMPLATE_VALUES", ':{"a":1}', { template: { values: { a: 1 } } }],
    [
      "JP_CFG_ASSISTANT_MODEL_PARAMETERS_TOP_LOGPROBS",
      ":1",
      { assistant: { model: { parameters: { top_logprobs: 1 } } } },
    ],
    ["JP_CFG_CONVERSATION_TOOLS_X_OPTIONS_SRC_DIR", "a", ofTool({ options: { src_dir: "a" } })],
    [
      "JP_CFG_PROVIDERS_LLM_ALIASES_MY_NAME",
      "a/b",
      { providers: { llm: { aliases: { my_name: "a/b" } } } },
    ],
  ])("%s sets what a file and --cfg can set", (variable, text, value) => {
    expect(readEnvironment({ [variable]: text }).settings[0]?.assignment.value).toStrictEqual(
      value,
    );
  });

  test("with a colon holds JSON, with a plus appends, with both appends JSON", () => {
    const prompt = "JP_CFG_ASSISTANT_SYSTEM_PROMPT";
    expect([
      read(prompt, "a"),
      read(prompt, "+a"),
      read(prompt, ':"a"'),
      read(prompt, ':+"a"'),
      read("JP_CFG_CONVERSATION_TOOLS_X", ':{"run":"ask"}'),
      read("JP_CFG_ASSISTANT_NAME", ":null"),
      read("JP_CFG_CONVERSATION_ATTACHMENTS", ':+["a"]'),
    ]).toStrictEqual([
      prompted({ value: "a", strategy: "replace" }),
      prompted({ value: "a", strategy: "append" }),
      prompted({ value: "a", strategy: "replace" }),
      prompted({ value: "a", strategy: "append" }),
      { value: ofTool({ run: "ask" }), cleared: [] },
      { value: {}, cleared: [["assistant", "name"]] },
      {
        value: { conversation: { attachments: { value: ["a"], strategy: "append" } } },
        cleared: [],
      },
    ]);
  });

  test.each([
    ["JP_CFG_COMPLETELY_DIFFERENT_WORDS", undefined],
    ["JP_CFG_ASSISTANT_NMAE", "JP_CFG_ASSISTANT_NAME"],
    ["JP_CFG_ASSISTANT_REQUEST_MAX_RETRYS", "JP_CFG_ASSISTANT_REQUEST_MAX_RETRIES"],
    ["JP_CFG___PROTO___X", undefined],
  ])("%s matches no key and sets nothing; %s may be meant", (variable, meant) => {
    expect(readEnvironment({ [variable]: "1" })).toStrictEqual({
      settings: [],
      unknown: [{ variable, meant }],
    });
  });
});

test("variables are read in order of name, and others are ignored", () => {
  const found = readEnvironment({
    PATH: "/bin",
    JP_CFG_USER_NAME: "b",
    JP_CFG_ASSISTANT_NAME: "a",
    JP_EDITOR: "vi",
    JP_CFGX: "1",
    MY_JP_CFG_USER_NAME: "c",
  });
  expect(found.settings.map(({ variable }) => variable)).toEqual([
    "JP_CFG_ASSISTANT_NAME",
    "JP_CFG_USER_NAME",
  ]);
});

test("a name that every object has is harmless", () => {
  const variables = {
    JP_CFG_CONVERSATION_TOOLS___PROTO___RUN: "ask",
    JP_CFG_TEMPLATE: ':{"__proto__":{"polluted":1}}',
  };
  readEnvironment(variables);
  expect({ ...({} as { run?: unknown; polluted?: unknown }) }).toStrictEqual({});
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test("no error repeats an answer", () => {
  const variable = "JP_CFG_CONVERSATION_TOOLS_X_QUESTIONS_Q_ANSWER";
  let message = "";
  try {
    readEnvironment({ [variable]: `:${SECRET}` });
  } catch (error) {
    message = String(error);
  }
  expect({ names: message.includes(variable), repeats: message.includes(SECRET) }).toEqual({
    names: true,
    repeats: false,
  });
});

function read(variable: string, text: string) {
  return readEnvironment({ [variable]: text }).settings[0]?.assignment;
}

function prompted(value: unknown) {
  return { value: { assistant: { system_prompt: value } }, cleared: [] };
}
