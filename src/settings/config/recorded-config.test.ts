import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { anyConfig, ofTool, readConfig, SECRET } from "./any-config.fixture.ts";
import { configProblems } from "./original-config.fixture.ts";
import { withRequiredConfig } from "../../record/conversation/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { conversationConfig, withoutMachineSettings } from "./conversation-config.ts";
import { DEFAULTS } from "./defaults.ts";
import { configToJson, explainLayers, mergeConfig } from "./layers.ts";
import { parseConfig } from "./parse-config.ts";
import { configDelta, recordConfig, type RecordedConfig } from "./recorded-config.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

const MODEL = { assistant: { model: { id: "openai/gpt" } } };
const REQUIRED = {
  assistant: { model: { id: { provider: "openai", name: "gpt" } } },
  conversation: { tools: { "*": { run: "ask" } } },
};

describe("a new conversation", () => {
  test("records the model and how tools run, but no defaults", () => {
    counters("T-COMPAT-1");
    const builtins = readConfig(ofTool({ source: "builtin", group: "fs", enable: "explicit" }));
    const config = mergeConfig(mergeConfig(DEFAULTS, builtins), readConfig(MODEL));
    expect(recordConfig({ builtins, config })).toEqual({ shared: REQUIRED });
  });

  test("records what the Rust original knows where it looks for it, with the source of each tool", () => {
    counters("T-COMPAT-1");
    const x = { source: "local", command: "just x", run: "edit", enable: false };
    const y = { source: "mcp.files.read", questions: { q: { target: "assistant" } } };
    const config = { ...MODEL, conversation: { tools: { x, y } }, user: { name: "Ada" } };
    expect(recordNew(config)).toEqual({
      shared: {
        assistant: REQUIRED.assistant,
        conversation: {
          tools: {
            "*": { run: "ask" },
            x: {
              source: "local",
              command: { program: "just", args: ["x"], shell: false },
              run: "edit",
              enable: { state: false, allow_toggle: "any" },
            },
            y,
          },
        },
        user: { name: "Ada" },
      },
    });
  });

  test.each<[string, JsonObject]>([
    ["who is said to ask", ofLocal({ questions: { q: { prompt_label: "Me" } } })],
    ["a group", ofLocal({ group: "fs" })],
    ["what happens in a non-interactive run", ofLocal({ detached: { run: "deny" } })],
    ["a timeout", ofLocal({ timeout_secs: 3 })],
    ["files that a tool writes itself", ofLocal({ subject_ignore: ["state.json"] })],
    ["a keyword of a JSON Schema", ofLocal({ parameters: { a: { minLength: 3 } } })],
    [
      "a keyword deep in a JSON Schema",
      ofLocal({ parameters: { a: { items: { type: "string", minLength: 3 } } } }),
    ],
    [
      "an assistant with a parameter called other",
      ofLocal({ questions: { q: { target: { model: { parameters: { other: { a: 1 } } } } } } }),
    ],
    ["two answerers", ofLocal({ questions: { q: { target: ["assistant", "user"] } } })],
    [
      "two answerers, one of them with settings",
      ofLocal({ questions: { q: { target: [{ name: "Judge" }, "user"] } } }),
    ],
    [
      "a deadline, and what happens then",
      ofLocal({ questions: { q: { deadline: "2h", on_timeout: "default" } } }),
    ],
    ["an access that it does not understand", ofLocal({ access: { net: true } })],
    ["the defaults of tools", ofTool({ timeout_secs: 3 }, "*")],
    ["a limit", { conversation: { max_cycles: 3 } }],
    ["how questions are put to a model", { conversation: { inquiry: { schema: "bound" } } }],
    [
      "parameters of a model that has no id",
      { conversation: { inquiry: { assistant: { model: { parameters: { top_k: 1 } } } } } },
    ],
    ["a conversation that it could not save", { conversation: { default_id: "jp-c17" } }],
    [
      "an attachment that is not a URL",
      { conversation: { attachments: { value: ["a.md"], strategy: "replace" } } },
    ],
    ["how questions are drawn", { style: { prompt: "plain" } }],
    ["a notification", { style: { notification: { bell: false } } }],
    ["a number of characters", { style: { reasoning: { display: 80 } } }],
    ["a delay without a unit", { style: { typewriter: { text_delay: 3 } } }],
    ["an effort", parametersOf({ reasoning: { effort: "minimal", exclude: false } })],
    ["an effort in tokens", parametersOf({ reasoning: { effort: 1000, exclude: false } })],
    ["a fraction", parametersOf({ max_tokens: 0.5 })],
    ["a number that is too large", parametersOf({ top_k: 2 ** 40 })],
    ["further parameters", parametersOf({ other: { seed: 1 } })],
    ["a timeout that it refuses", { assistant: { request: { stream_idle_timeout_secs: 5 } } }],
    ["a duration", { assistant: { request: { cache: "1.5h" } } }],
  ])("records apart what the original does not know: %s", (_name, config) => {
    counters("T-COMPAT-1");
    const { own } = recordNew({ ...MODEL, ...withModel(config) });
    expect(own).toEqual(withoutSource(config));
  });

  test.each<[string, JsonObject]>([
    ["tools that come with jp", ofTool({ source: "builtin", run: "skip" })],
    ["a tool without a source", ofTool({ run: "skip" })],
  ])("records apart %s", (_name, config) => {
    expect(recordNew({ ...MODEL, ...config })).toEqual({ shared: REQUIRED, own: config });
  });

  test("records access apart where the original would reject the tool", () => {
    const access = { fs: [{ path: "a", read: true }] };
    const tools = { x: { source: "local", access }, y: { source: "mcp.s", access } };
    const { shared, own } = recordNew({ ...MODEL, conversation: { tools } });
    expect({ shared, own }).toMatchObject({
      shared: { conversation: { tools: { x: { access } } } },
      own: { conversation: { tools: { y: { access } } } },
    });
  });

  test("records a model apart if the original rejects its name", () => {
    const id = { provider: "ollama", name: "größe@q4" };
    expect(recordNew({ assistant: { model: { id } } })).toEqual({
      shared: { conversation: REQUIRED.conversation },
      own: { assistant: { model: { id } } },
    });
  });

  test("records the model behind an alias, but neither aliases nor addresses", () => {
    const llm = { aliases: { fast: "openai/gpt" }, openai: { base_url: "http://127.0.0.1:1" } };
    const providers = { llm, mcp: { s: { command: "serve" } } };
    const config = { assistant: { model: { id: "fast" } }, providers };
    expect(recordNew(config)).toEqual({ shared: REQUIRED });
  });

  test.each([
    [true, "auto"],
    [false, "off"],
    ["high", { effort: "high", exclude: false }],
    [{ exclude: true }, { effort: "auto", exclude: true }],
  ])("records reasoning in the notation of the original: %j", (written, recorded) => {
    const { shared, own } = recordNew({
      assistant: { model: { id: "openai/gpt", parameters: { reasoning: written } } },
    });
    expect([shared, own]).toMatchObject([
      { assistant: { model: { parameters: { reasoning: recorded } } } },
      undefined,
    ]);
  });
});

test("20,000 tools are recorded before the test times out, because none is copied for each other one", () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `t${index}`);
  const tools = Object.fromEntries(names.map((name) => [name, { source: "local", run: "skip" }]));
  const { shared } = recordNew({ ...MODEL, conversation: { tools } });
  expect(shared).toMatchObject({ conversation: { tools: { "*": { run: "ask" }, ...tools } } });
});

describe("settings that belong to a machine", () => {
  const settings: readonly JsonObject[] = [
    { providers: { llm: { aliases: { fast: "openai/gpt" } } } },
    { providers: { mcp: { s: { command: "serve" } } } },
    { notify: { content: "question", debounce_secs: 1, link: "https://desk.example" } },
    { notify: { command: { program: "send", args: ["-x"] } } },
    { notify: { webhook: { url: "https://hooks.example", secret_env: "KEY" } } },
    { usage: { currency: "EUR", prices: { "openai/gpt": { input: 1 } } } },
    { web: { private_hosts: ["localhost:3000"] } },
    { conversation: { mode: "edits" } },
    ofTool({ effect: "reads" }),
    ofTool({ parallel: true }),
    ofTool({ policy: { run: "unattended", result: "ask" } }),
    ofTool({ policy: { run: [{ arg: "/path", prefix: "src", mode: "unattended" }] } }),
    ofTool({ policy: { run: "skip", result: [{ mode: "ask" }] } }, "*"),
    { shell: { unsandboxed: "unattended", env: ["Y"], hide_env: ["X"], readable: ["~/x"] } },
  ];

  test.each(settings)("are not recorded, neither with a new conversation nor later: %j", (own) => {
    counters("T-NOTE-1");
    const remembered = conversationConfig(REQUIRED, []);
    const config = mergeConfig(mergeConfig(DEFAULTS, remembered), readConfig(own));
    expect([
      recordNew({ ...MODEL, ...own }),
      recordConfig({ builtins: {}, remembered, config }),
    ]).toEqual([{ shared: REQUIRED }, {}]);
  });
});

describe("a continued conversation", () => {
  const remembered = conversationConfig(REQUIRED, [
    ofTool({ source: "local", options: { a: 1 } }),
    { assistant: { model: { parameters: { stop_words: ["a"] } } } },
  ]);

  test("records nothing if nothing changed", () => {
    expect(recordChange({})).toEqual({});
  });

  test("records what changed, with the source of the tool", () => {
    expect(recordChange(ofTool({ run: "skip", timeout_secs: 3 }))).toEqual({
      shared: ofTool({ source: "local", run: "skip" }),
      own: ofTool({ timeout_secs: 3 }),
    });
  });

  test("records a replaced list apart, because the original would append to it", () => {
    const change = { assistant: { model: { parameters: { stop_words: ["b"] } } } };
    expect(recordChange(change)).toEqual({ own: change });
  });

  test("of the original does not record defaults", () => {
    const builtins = readConfig(ofTool({ source: "builtin" }, "ask_user"));
    const config = [DEFAULTS, builtins, remembered].reduce(mergeConfig);
    expect(recordConfig({ builtins, remembered, config })).toEqual({});
  });

  function recordChange(change: JsonObject): RecordedConfig {
    const config = mergeConfig(mergeConfig(DEFAULTS, remembered), readConfig(change));
    return recordConfig({ builtins: {}, remembered, config });
  }
});

test("every record can be read by the original, and reads back as the same config", () => {
  counters("T-COMPAT-1");
  fc.assert(
    fc.property(anyConfig(), anyConfig(), (first, second) => {
      const config = mergeConfig(DEFAULTS, readConfig(first));
      const created = recordConfig({ builtins: {}, config });
      const base = withRequiredConfig(created.shared ?? {});
      const remembered = readBack(created.shared ?? {}, [created.own]);
      expect(recordConfig({ builtins: {}, remembered, config })).toEqual({});

      const next = mergeConfig(mergeConfig(DEFAULTS, remembered), readConfig(second));
      const changed = recordConfig({ builtins: {}, remembered, config: next });
      const deltas = [created.own, changed.shared, changed.own];
      const after = readBack(created.shared ?? {}, deltas);
      expect(recordConfig({ builtins: {}, remembered: after, config: next })).toEqual({});

      const delta = { type: "config_delta", delta: changed.shared ?? {} };
      expect(configProblems(base, [delta])).toEqual([]);
      expect(JSON.stringify([created, changed])).not.toContain(SECRET);
    }),
  );
});

function recordNew(config: JsonObject): RecordedConfig {
  return recordConfig({ builtins: {}, config: mergeConfig(DEFAULTS, readConfig(config)) });
}

function readBack(base: JsonObject, deltas: readonly (JsonObject | undefined)[]): PartialConfig {
  const text = JSON.stringify([base, ...deltas.filter((delta) => delta !== undefined)]);
  const [first = {}, ...rest] = JSON.parse(text) as JsonObject[];
  return conversationConfig(first, rest);
}

/** The config of a tool that the original could run. */
function ofLocal(settings: JsonObject): JsonObject {
  return ofTool({ source: "local", ...settings });
}

function parametersOf(parameters: JsonObject): JsonObject {
  return { assistant: { model: { parameters } } };
}

function withModel({ assistant, ...rest }: JsonObject): JsonObject {
  if (assistant === undefined) return rest;
  const { model = {}, ...others } = assistant as { readonly model?: JsonObject };
  return { ...rest, assistant: { ...others, model: { ...MODEL.assistant.model, ...model } } };
}

/** Where a tool comes from, the original knows. */
function withoutSource(config: JsonObject): JsonObject {
  const text = JSON.stringify(config).replace('"source":"local",', "");
  return JSON.parse(text) as JsonObject;
}

describe("a stored config", () => {
  test("has tables for shorthands, two fields for models, and complete lists", () => {
    const config = readConfig({
      assistant: { model: { id: "openai/gpt" }, system_prompt: { value: "a", strategy: "append" } },
      conversation: {
        attachments: ["a"],
        tools: {
          "*": { enable: "explicit", detached: "deny" },
          x: { enable: true, command: "just 'a b'", questions: { q: { target: {} } } },
        },
      },
      template: { values: { a: null } },
    });
    expect(configToJson(config)).toStrictEqual({
      assistant: { system_prompt: "a", model: { id: { provider: "openai", name: "gpt" } } },
      conversation: {
        tools: {
          "*": {
            enable: { state: false, allow_toggle: "if_named" },
            detached: { run: "deny", deliver: "deny", tool: "deny" },
          },
          x: {
            enable: { state: true, allow_toggle: "any" },
            command: { program: "just", args: ["a b"], shell: false },
            questions: { q: { target: "assistant" } },
          },
        },
        attachments: { value: ["a"], strategy: "replace" },
      },
      template: { values: { a: null } },
    });
  });

  test("never holds a configured answer", () => {
    const answers: Json[] = [SECRET, [SECRET], { a: SECRET }, false, null];
    const stored = answers.map((answer) =>
      configToJson(readConfig(ofTool({ questions: { q: { answer, prompt_label: "A" } } }))),
    );
    expect(stored).toStrictEqual(
      answers.map(() => ofTool({ questions: { q: { prompt_label: "A" } } })),
    );
  });

  test("reads back as the same config, as text, over any layer", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (raw, below) => {
        const config = withoutMachineSettings(readConfig(raw));
        const stored = throughText(configToJson(config));
        const read = parseConfig(stored);
        expect(read).toMatchObject({ errors: [], warnings: [] });
        expect(configToJson(read.config)).toEqual(configToJson(config));
        // Over whatever is below, what it says is in force: nothing is added to it a second time.
        const folded = leavesOf(mergeConfig(readConfig(below), read.config));
        expect(folded).toMatchObject(leavesOf(read.config));
      }),
    );
  });

  test("holds no answer, whatever else it holds", () => {
    fc.assert(
      fc.property(anyConfig(), (raw) => {
        expect(JSON.stringify(configToJson(readConfig(raw)))).not.toContain(SECRET);
      }),
    );
  });
});

describe("a delta", () => {
  test("holds only what changed", () => {
    const before = readConfig({
      assistant: { name: "a", model: { id: "openai/x", parameters: { top_k: 1, top_p: 1 } } },
      conversation: { tools: { x: { run: "ask" }, y: { run: "ask" } } },
    });
    const after = readConfig({
      assistant: { name: "a", model: { id: "openai/y", parameters: { top_k: 2, top_p: 1 } } },
      conversation: { tools: { x: { run: "ask" }, y: { run: "skip" }, z: { enable: "off" } } },
      user: { name: "me" },
    });
    expect(configDelta(before, after)).toStrictEqual({
      assistant: { model: { id: { provider: "openai", name: "y" }, parameters: { top_k: 2 } } },
      conversation: {
        tools: { y: { run: "skip" }, z: { enable: { state: false, allow_toggle: "any" } } },
      },
      user: { name: "me" },
    });
  });

  test("is empty if only the notation changed", () => {
    const before = readConfig({
      assistant: { model: { id: "openai/x" }, system_prompt: { value: "a", strategy: "append" } },
      conversation: { attachments: ["a"], tools: { x: { enable: "on", command: "a b" } } },
    });
    const after = readConfig({
      assistant: { model: { id: { provider: "openai", name: "x" } }, system_prompt: "a" },
      conversation: {
        attachments: { value: ["a"], strategy: "replace" },
        tools: { x: { enable: true, command: { program: "a", args: ["b"] } } },
      },
    });
    expect(configDelta(before, after)).toBeUndefined();
  });

  test("is empty if only an answer changed or is new", () => {
    expect([
      configDelta(withAnswer(1), withAnswer(2)),
      configDelta({}, withAnswer(1)),
      configDelta(withAnswer(1), {}),
    ]).toEqual([undefined, undefined, undefined]);
  });

  test("never holds an answer", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (first, second) => {
        const delta = configDelta(readConfig(first), readConfig(second));
        expect(JSON.stringify(delta) ?? "").not.toContain(SECRET);
      }),
    );
  });

  test("never holds what belongs to a machine", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (first, second) => {
        const [before, after] = [readConfig(first), readConfig(second)];
        const [known, wanted] = [withoutMachineSettings(before), withoutMachineSettings(after)];
        expect(configDelta(before, after)).toEqual(configDelta(known, wanted));
      }),
    );
  });

  test("holds unknown parameters", () => {
    expect(
      configDelta(withParameters({ seed: 1, top_k: 1 }), withParameters({ seed: 2, top_k: 1 })),
    ).toEqual({
      assistant: { model: { parameters: { seed: 2 } } },
    });
  });

  test("holds an option that became an empty table", () => {
    expect(configDelta(withPaths({ a: 1 }), withPaths({}))).toEqual(
      ofTool({ options: { paths: {} } }),
    );
  });

  test("holds complete lists, so that a removed entry is recorded", () => {
    expect([
      configDelta(withAttachments(["a", "b"]), withAttachments(["a"])),
      configDelta(withAttachments(["a"]), withAttachments([])),
    ]).toEqual([
      { conversation: { attachments: { value: ["a"], strategy: "replace" } } },
      { conversation: { attachments: { value: [], strategy: "replace" } } },
    ]);
  });

  test("of a config and itself is empty", () => {
    fc.assert(
      fc.property(anyConfig(), (raw) => {
        const [one, other] = [readConfig(raw), readConfig(structuredClone(raw))];
        expect(configDelta(one, other)).toBeUndefined();
      }),
    );
  });

  test("over the base it was made from gives the new config", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (raw, change) => {
        const before = withoutMachineSettings(readConfig(raw));
        const after = withoutMachineSettings(mergeConfig(before, readConfig(change)));
        const delta = configDelta(before, after);
        const deltas = delta === undefined ? [] : [throughText(delta)];
        const read = conversationConfig(throughText(configToJson(before)), deltas);
        expect(leavesOf(read)).toEqual(leavesOf(after));
      }),
    );
  });

  test("is empty the second time", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (raw, change) => {
        const before = withoutMachineSettings(readConfig(raw));
        const after = withoutMachineSettings(mergeConfig(before, readConfig(change)));
        const delta = configDelta(before, after) ?? {};
        const read = conversationConfig(configToJson(before), [delta]);
        expect(configDelta(read, after)).toBeUndefined();
      }),
    );
  });

  test("handles names that every object has like any other", () => {
    const before = readConfig({ providers: { llm: { aliases: { a: "b" } } } });
    const after = readConfig({
      providers: { llm: { aliases: { a: "b", toString: "c" } } },
      conversation: { tools: { valueOf: { run: "ask" } } },
    });
    expect(configDelta(before, after)).toStrictEqual({
      providers: { llm: { aliases: { toString: "c" } } },
      conversation: { tools: { valueOf: { run: "ask" } } },
    });
  });
});

/** Every value that is not private, by its key, as files write it. */
function leavesOf(config: PartialConfig): Record<string, unknown> {
  const leaves = explainLayers([{ name: "a test", config }])
    .filter(({ isPrivate }) => !isPrivate)
    .map(({ path, value }) => [JSON.stringify(path), { value }] as const);
  return Object.fromEntries(leaves);
}

function throughText(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

function withAnswer(answer: Json) {
  return readConfig(ofTool({ questions: { q: { answer } } }));
}

function withParameters(parameters: JsonObject) {
  return readConfig({ assistant: { model: { parameters } } });
}

function withPaths(paths: Json) {
  return readConfig(ofTool({ options: { paths } }));
}

function withAttachments(attachments: Json) {
  return readConfig({ conversation: { attachments } });
}
