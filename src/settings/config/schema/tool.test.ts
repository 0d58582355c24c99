import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ofTool, readConfig } from "../any-config.fixture.ts";
import type { Json } from "../../../util/index.ts";
import { DEFAULTS } from "../defaults.ts";
import { configToJson, mergeConfig } from "../layers.ts";
import { parseConfig } from "../parse-config.ts";
import { resolveTools } from "../tool-settings.ts";

describe("a shorthand", () => {
  test.each([
    [true, { state: true, allow_toggle: "any" }],
    ["on", { state: true, allow_toggle: "any" }],
    [false, { state: false, allow_toggle: "any" }],
    ["off", { state: false, allow_toggle: "any" }],
    ["always", { state: true, allow_toggle: "never" }],
    ["explicit", { state: false, allow_toggle: "if_named" }],
  ] as const)("%j sets both halves", (shorthand, expected) => {
    expect(enableOf(shorthand)).toStrictEqual(expected);
  });
});

test("a table sets only the fields it names", () => {
  expect({
    both: enableOf({ state: false, allow_toggle: "if_named_or_group" }),
    state: enableOf({ state: true }),
    policy: enableOf({ allow_toggle: "never" }),
    nothing: enableOf({}),
  }).toStrictEqual({
    both: { state: false, allow_toggle: "if_named_or_group" },
    state: { state: true },
    policy: { allow_toggle: "never" },
    nothing: {},
  });
});

test("other words, policies and types are rejected", () => {
  const wrong = ["yes", "never", "Always", "", 1, 0, null, { state: "on" }, { allow_toggle: true }];
  const accepted = wrong.filter(
    (value) => parseConfig(ofTool({ enable: value })).errors.length === 0,
  );
  expect(accepted).toEqual([]);
});

test("a list is rejected in place of a table", () => {
  expect(parseConfig(ofTool({ enable: [] })).errors.map(({ path }) => path)).toEqual([
    ["conversation", "tools", "x", "enable"],
  ]);
});

test("an unknown field is an error with a suggestion", () => {
  expect(parseConfig(ofTool({ enable: { stat: true } })).errors).toEqual([
    {
      path: ["conversation", "tools", "x", "enable", "stat"],
      message: "unknown key; did you mean conversation.tools.x.enable.state?",
    },
  ]);
});

describe("over a layer that says explicit", () => {
  const lower = { state: true, allow_toggle: "if_named" };

  test("a table with a state keeps the policy", () => {
    expect(enabledBy(lower, { state: false })).toStrictEqual([false, "if_named"]);
  });

  test("a table with a policy keeps the state", () => {
    expect(enabledBy(lower, { allow_toggle: "never" })).toStrictEqual([true, "never"]);
  });

  test.each([
    [false, [false, "any"]],
    [true, [true, "any"]],
    ["off", [false, "any"]],
    ["always", [true, "never"]],
    ["explicit", [false, "if_named"]],
  ] as const)("the shorthand %j resets it", (shorthand, expected) => {
    expect(enabledBy(lower, shorthand)).toStrictEqual(expected);
  });

  test("an empty table changes nothing", () => {
    expect(enabledBy(lower, {})).toStrictEqual([true, "if_named"]);
  });
});

test("fields that a tool does not set come from the defaults for all tools", () => {
  expect({
    state: underCommon("explicit", { state: true }),
    policy: underCommon("explicit", { allow_toggle: "any" }),
    neither: underCommon("always", {}),
    both: underCommon("always", false),
  }).toStrictEqual({
    state: [true, "if_named"],
    policy: [false, "any"],
    neither: [true, "never"],
    both: [false, "any"],
  });
});

test("by default a tool is on, and any directive may change that", () => {
  expect(toolSettings(readConfig(ofTool({ source: "local" })))).toStrictEqual([true, "any"]);
});

function enableOf(enable: unknown): unknown {
  return readConfig(ofTool({ enable: enable as never })).conversation?.tools?.["x"]?.enable;
}

function enabledBy(lower: unknown, upper: unknown) {
  const layers = [lower, upper].map((enable) =>
    readConfig(ofTool({ source: "local", enable: enable as never })),
  );
  return toolSettings(layers.reduce(mergeConfig));
}

function toolSettings(config: ReturnType<typeof readConfig>) {
  const tool = resolveTools(config).get("x");
  return [tool?.isEnabled, tool?.allowToggle];
}

function common(enable: unknown) {
  return { conversation: { tools: { "*": { enable } } } };
}

/** The settings in force for a tool that says one thing where all tools say another. */
function underCommon(all: unknown, own: unknown) {
  const tool = readConfig(ofTool({ source: "local", enable: own as never }));
  return toolSettings(mergeConfig(readConfig(common(all)), tool));
}

test("one word sets all three kinds of prompt", () => {
  expect({
    auto: detachedOf("auto"),
    defaults: detachedOf("defaults"),
    deny: detachedOf("deny"),
    one: detachedOf({ tool: "deny" }),
    all: detachedOf({ run: "auto", deliver: "deny", tool: "defaults" }),
    none: detachedOf({}),
  }).toStrictEqual({
    auto: { run: "auto", deliver: "auto", tool: "auto" },
    defaults: { run: "defaults", deliver: "defaults", tool: "defaults" },
    deny: { run: "deny", deliver: "deny", tool: "deny" },
    one: { tool: "deny" },
    all: { run: "auto", deliver: "deny", tool: "defaults" },
    none: {},
  });
});

test("other words, kinds and types are rejected", () => {
  const wrong: Json[] = ["allow", "", true, 1, null, [], { run: true }, { ask: "deny" }];
  const accepted = wrong.filter(
    (detached) => parseConfig(ofTool({ detached })).errors.length === 0,
  );
  expect(accepted).toEqual([]);
});

test("by default nothing runs that would ask, results are delivered, questions are routed", () => {
  expect(detachedBy([])).toStrictEqual({ run: "deny", deliver: "auto", tool: "auto" });
});

test("each kind comes from the tool, else from the defaults for all tools", () => {
  expect({
    common: detachedBy([{ "*": { detached: "deny" } }]),
    own: detachedBy([{ "*": { detached: "deny" }, x: { detached: { tool: "defaults" } } }]),
    scalar: detachedBy([{ "*": { detached: "deny" }, x: { detached: "auto" } }]),
    table: detachedBy([
      { "*": { detached: { run: "auto" } }, x: { detached: { deliver: "deny" } } },
    ]),
  }).toStrictEqual({
    common: { run: "deny", deliver: "deny", tool: "deny" },
    own: { run: "deny", deliver: "deny", tool: "defaults" },
    scalar: { run: "auto", deliver: "auto", tool: "auto" },
    table: { run: "auto", deliver: "deny", tool: "auto" },
  });
});

test("layers merge kind by kind, and a word replaces all kinds of lower layers", () => {
  expect({
    table: detachedBy([{ x: { detached: "deny" } }, { x: { detached: { tool: "auto" } } }]),
    word: detachedBy([{ x: { detached: { tool: "auto" } } }, { x: { detached: "deny" } }]),
    empty: detachedBy([{ x: { detached: "defaults" } }, { x: { detached: {} } }]),
    // The tool's own word in a lower layer still beats the common one in an upper layer.
    common: detachedBy([{ x: { detached: "defaults" } }, { "*": { detached: "deny" } }]),
  }).toStrictEqual({
    table: { run: "deny", deliver: "deny", tool: "auto" },
    word: { run: "deny", deliver: "deny", tool: "deny" },
    empty: { run: "defaults", deliver: "defaults", tool: "defaults" },
    common: { run: "defaults", deliver: "defaults", tool: "defaults" },
  });
});

function detachedBy(layers: readonly Json[]) {
  const config = [{ x: { source: "local" } }, ...layers]
    .map((tools) => readConfig({ conversation: { tools } }))
    .reduce(mergeConfig, DEFAULTS);
  return resolveTools(config).get("x")?.detached;
}

function detachedOf(detached: Json) {
  return readConfig(ofTool({ detached })).conversation?.tools?.["x"]?.detached;
}

const CHEAP = { model: { id: "openai/mini" }, request: { max_retries: 1 } };

describe("a target", () => {
  test("is the user, the assistant, or the config of one", () => {
    expect({
      user: targetOf("user"),
      assistant: targetOf("assistant"),
      empty: targetOf({}),
      table: targetOf({ model: { id: "openai/mini" }, system_prompt: "Be brief." }),
      stays: targetOf({ escalation: false }),
    }).toStrictEqual({
      stays: { type: "assistant", assistant: {} },
      user: { type: "user" },
      assistant: { type: "assistant", assistant: {} },
      empty: { type: "assistant", assistant: {} },
      table: {
        type: "assistant",
        assistant: {
          system_prompt: { value: "Be brief.", strategy: "replace" },
          model: { id: { provider: "openai", name: "mini" } },
        },
      },
    });
  });

  test("can be the assistant first and then the user, in three notations", () => {
    const both = { type: "assistant", assistant: {}, escalates: true };
    const judge = { type: "assistant", assistant: { name: "Judge" }, escalates: true };
    expect([
      targetOf(["assistant", "user"]),
      targetOf("assistant_with_escalation"),
      targetOf({ escalation: true }),
      targetOf([{ name: "Judge" }, "user"]),
      targetOf({ name: "Judge", escalation: true }),
    ]).toStrictEqual([both, both, both, judge, judge]);
  });

  test("can name the only person who may answer, alone or after an assistant", () => {
    const judge = { type: "assistant", assistant: { name: "Judge" }, escalates: true };
    expect([
      targetOf({ user: "ada" }),
      targetOf({ user: " Ada Lovelace " }),
      targetOf(["assistant", { user: "ada" }]),
      targetOf([{ name: "Judge" }, { user: "ada" }]),
    ]).toStrictEqual([
      { type: "user", user: "ada" },
      { type: "user", user: "Ada Lovelace" },
      { type: "assistant", assistant: {}, escalates: true, user: "ada" },
      { ...judge, user: "ada" },
    ]);
  });

  test("can be whoever has a role, or any of several, alone or after an assistant", () => {
    const any = [{ user: "ada" }, { role: "finance" }, { user: "bob" }];
    expect([
      targetOf({ role: " finance " }),
      targetOf({ any: ["ada", { role: "finance" }, { user: "bob" }] }),
      targetOf({ any: ["ada"] }),
      targetOf(["assistant", { role: "finance" }]),
    ]).toStrictEqual([
      { type: "user", any: [{ role: "finance" }] },
      { type: "user", any },
      { type: "user", user: "ada" },
      { type: "assistant", assistant: {}, escalates: true, any: [{ role: "finance" }] },
    ]);
  });

  test("can be people in order, each with a time, before or after an assistant", () => {
    const ada = { user: "ada", within: "2h" };
    const finance = { role: "finance", quorum: 2, within: "1d" };
    const next = [{ any: [{ role: "finance" }], terms: { quorum: 2 }, withinMs: 86_400_000 }];
    const ladder = { user: "ada", withinMs: 7200_000, next };
    expect([
      targetOf([ada, finance]),
      targetOf(["assistant", ada, finance]),
      targetOf([ada, finance, "assistant"]),
      targetOf([ada, { name: "Judge" }]),
      targetOf([ada, "user"]),
      targetOf(ada),
      targetOf({ within: "90s" }),
    ]).toStrictEqual([
      { type: "user", ...ladder },
      { type: "assistant", assistant: {}, escalates: true, ...ladder },
      { type: "user", ...ladder, lastly: {} },
      { type: "user", user: "ada", withinMs: 7200_000, lastly: { name: "Judge" } },
      { type: "user", user: "ada", withinMs: 7200_000, next: [{}] },
      { type: "user", user: "ada", withinMs: 7200_000 },
      { type: "user", withinMs: 90_000 },
    ]);
  });

  test.each<[Json]>([
    [[{ user: "ada", within: "2h" }, { user: "bob" }, { role: "finance" }]],
    [[{ user: "ada", within: "2h" }, { user: "bob" }, "assistant"]],
    [[{ user: "ada", within: "2h" }, "assistant", { user: "bob" }]],
    [["assistant", { user: "ada", within: "2h" }, "assistant"]],
    [[{ user: "ada", within: "soon" }, { user: "bob" }]],
    [[{ user: "ada", within: "2h", name: "Judge" }, { user: "bob" }]],
    [Array.from({ length: 9 }, () => ({ user: "ada", within: "2h" }))],
    [{ role: "" }],
    [{ role: "a\nb" }],
    [{ role: "finance", user: "ada" }],
    [{ any: [] }],
    [{ any: "ada" }],
    [{ any: [{ role: "finance", user: "ada" }] }],
    [{ any: ["user", 1] }],
    [{ any: Array.from({ length: 17 }, (_each, index) => `p${index}`) }],
    [{ role: "finance", name: "Judge" }],
    [[{ role: "finance" }, "user"]],
    [{ user: "" }],
    [{ user: " " }],
    [{ user: "a\nb" }],
    [{ user: "a\u001b[2J" }],
    [{ user: "x".repeat(65) }],
    [{ user: 1 }],
    [{ user: "ada", name: "Judge" }],
    [{ user: "ada", escalation: true }],
    [[{ user: "ada" }, "user"]],
    [[{ user: "ada" }]],
    [["user", { user: "ada" }]],
    [["assistant", { user: "ada", name: "Judge" }]],
    [["user", "assistant"]],
    [["assistant"]],
    [["user"]],
    [["assistant", "user", "user"]],
    [["assistant", "assistant"]],
    [["assistant", 1]],
    [["assistent", "user"]],
  ])("cannot be %j", (target) => {
    expect(problemsOf(target)).toHaveLength(1);
  });

  test.each<[Json, string]>([
    [{ user: "ada", quorum: 2 }, "one person cannot be a quorum"],
    [{ role: "finance", refusal: "counts" }, 'refusal = "counts" needs a quorum'],
    [{ role: "finance", quorum: 0 }, "expected at least 1"],
    [{ role: "finance", quorum: 1.5 }, "expected a whole number"],
    [{ role: "finance", user: "ada" }, "expected one of user, role and any"],
  ])("says why it cannot be %j, of a question and of a tool", (target, message) => {
    const tool = { conversation: { tools: { x: { target } } } };
    for (const config of [configWithQuestion({ target }), tool]) {
      expect(parseConfig(config).errors.map((error) => error.message)).toEqual([message]);
    }
  });

  test("of a tool that is a list says which of them needs a time", () => {
    const target = [{ user: "ada" }, { role: "finance" }];
    const { errors } = parseConfig({ conversation: { tools: { x: { target } } } });
    expect(errors.map((error) => error.message)).toEqual([
      'all but the last need a time: { user = "NAME", within = "2h" }',
    ]);
  });

  test("of another type is rejected, with the errors inside a table", () => {
    const path = ["conversation", "tools", "x", "questions", "q", "target"];
    expect({
      word: problemsOf("assistent"),
      number: problemsOf(1),
      list: problemsOf([]),
      nothing: problemsOf(null),
      inside: problemsOf({ model: { id: 3 }, request: { max_retries: "x" } }),
    }).toEqual({
      word: [path],
      number: [path],
      list: [path],
      nothing: [path],
      inside: [
        [...path, "model", "id"],
        [...path, "request", "max_retries"],
      ],
    });
  });

  test("with a misspelt key is reported", () => {
    expect(
      parseConfig(configWithQuestion({ target: { modle: { id: "openai/mini" } } })).warnings,
    ).toEqual([
      {
        path: ["conversation", "tools", "x", "questions", "q", "target", "modle"],
        message: "unknown key; did you mean conversation.tools.x.questions.q.target.model.id?",
      },
    ]);
  });

  test("replaces a lower one as a whole, in any form", () => {
    const forms: Json[] = ["user", "assistant", {}, CHEAP, { name: "Judge" }, { user: "ada" }];
    for (const lower of forms)
      for (const upper of forms) {
        const merged = mergeConfig(
          readConfig(configWithQuestion({ target: lower })),
          readConfig(configWithQuestion({ target: upper })),
        );
        expect(merged).toStrictEqual(readConfig(configWithQuestion({ target: upper })));
      }
  });

  test("reads back as it was stored", () => {
    const stored = (target: Json) => configToJson(readConfig(configWithQuestion({ target })));
    expect([
      stored("user"),
      stored("assistant"),
      stored({}),
      stored({ user: "ada" }),
      stored(["assistant", { user: "ada" }]),
      stored({ role: "finance" }),
      stored(["assistant", { any: ["ada", { role: "finance" }] }]),
      stored([
        { user: "ada", within: "90m" },
        { any: ["bob", "cy"], not_by: "asker" },
      ]),
      stored([{ user: "ada", within: "90m" }, { name: "Judge" }]),
      stored(["assistant", { user: "ada", within: "90m" }, { role: "finance" }]),
      stored("assistant_with_escalation"),
      stored({ name: "Judge", escalation: true }),
      stored({ instructions: [{ title: "a" }], system_prompt: { value: "b", strategy: "append" } }),
    ]).toStrictEqual([
      configWithQuestion({ target: "user" }),
      configWithQuestion({ target: "assistant" }),
      configWithQuestion({ target: "assistant" }),
      configWithQuestion({ target: { user: "ada" } }),
      configWithQuestion({ target: ["assistant", { user: "ada" }] }),
      configWithQuestion({ target: { role: "finance" } }),
      configWithQuestion({ target: ["assistant", { any: ["ada", { role: "finance" }] }] }),
      configWithQuestion({
        target: [
          { user: "ada", within: "5400000ms" },
          { any: ["bob", "cy"], not_by: "asker" },
        ],
      }),
      configWithQuestion({ target: [{ user: "ada", within: "5400000ms" }, { name: "Judge" }] }),
      configWithQuestion({
        target: ["assistant", { user: "ada", within: "5400000ms" }, { role: "finance" }],
      }),
      configWithQuestion({ target: ["assistant", "user"] }),
      configWithQuestion({ target: [{ name: "Judge" }, "user"] }),
      configWithQuestion({
        target: {
          instructions: { value: [{ title: "a" }], strategy: "replace" },
          system_prompt: "b",
        },
      }),
    ]);
  });
});

describe("a deadline", () => {
  test("is a duration, and the config says what happens then", () => {
    const config = configWithQuestion({ deadline: "1h 30m", on_timeout: "escalate" });
    expect(settingsOf(readConfig(config))).toStrictEqual({
      target: { type: "user" },
      deadlineMs: 5400_000,
      onTimeout: "escalate",
    });
  });

  test.each(["", "0", "0s", "soon", "-1h", "2", "4000d", 3600])("is not %j", (deadline) => {
    expect(parseConfig(configWithQuestion({ deadline })).errors.map(({ path }) => path)).toEqual([
      ["conversation", "tools", "x", "questions", "q", "deadline"],
    ]);
  });
});

describe("an answer", () => {
  test("is any JSON, null and false included", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(false, 0, "", null, [], {}), fc.jsonValue()),
        (answer) => {
          const settings = settingsOf(readConfig(configWithQuestion({ answer: answer as Json })));
          expect(settings).toStrictEqual({ target: { type: "user" }, answer: { value: answer } });
        },
      ),
    );
  });

  test("of a higher layer wins, also if it is false or null", () => {
    expect([false, 0, "", null].map((answer) => answerOver(answer))).toStrictEqual([
      { value: false },
      { value: 0 },
      { value: "" },
      { value: null },
    ]);
  });

  test("that is a table is replaced, not merged", () => {
    const lower = readConfig(configWithQuestion({ answer: { a: 1, b: 2 } }));
    const upper = readConfig(configWithQuestion({ answer: { c: 3 } }));
    expect(settingsOf(mergeConfig(lower, upper))?.answer).toStrictEqual({ value: { c: 3 } });
  });
});

test("questions merge by id, and each by key", () => {
  const lower = readConfig(
    ofTool({
      source: "local",
      questions: {
        q: { target: "assistant", exclusive: true, prompt_label: "A" },
        r: { answer: 1, exclusive: true },
      },
    }),
  );
  const upper = readConfig(
    ofTool({ questions: { q: { prompt_label: "B" }, r: { exclusive: false }, s: {} } }),
  );
  expect(resolveTools(mergeConfig(lower, upper)).get("x")?.questions).toStrictEqual(
    new Map<string, unknown>([
      ["q", { target: { type: "assistant", assistant: {} }, exclusive: true, promptLabel: "B" }],
      ["r", { target: { type: "user" }, answer: { value: 1 }, exclusive: false }],
      ["s", { target: { type: "user" } }],
    ]),
  );
});

function configWithQuestion(question: Json) {
  return ofTool({ questions: { q: question } });
}

function targetOf(target: Json) {
  return readConfig(configWithQuestion({ target })).conversation?.tools?.["x"]?.questions?.["q"]
    ?.target;
}

function settingsOf(partial: ReturnType<typeof readConfig>) {
  return resolveTools(mergeConfig(readConfig(ofTool({ source: "local" })), partial))
    .get("x")
    ?.questions.get("q");
}

function problemsOf(target: Json) {
  return parseConfig(configWithQuestion({ target })).errors.map((error) => error.path);
}

/** The answer in force where a lower layer says true. */
function answerOver(answer: Json) {
  const merged = mergeConfig(
    readConfig(configWithQuestion({ answer: true })),
    readConfig(configWithQuestion({ answer })),
  );
  return settingsOf(merged)?.answer;
}
