import { describe, expect, test } from "vitest";
import { ofTool, readConfig } from "../../../test/support/any-config.ts";
import { mergeConfig } from "../merge.ts";
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

test("a table sets what it names and leaves the rest alone", () => {
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

test("other words, other policies and other types are refused", () => {
  const wrong = ["yes", "never", "Always", "", 1, 0, null, { state: "on" }, { allow_toggle: true }];
  const accepted = wrong.filter(
    (value) => parseConfig(ofTool({ enable: value })).errors.length === 0,
  );
  expect(accepted).toEqual([]);
});

test("a list is no table", () => {
  expect(parseConfig(ofTool({ enable: [] })).errors.map(({ path }) => path)).toEqual([
    ["conversation", "tools", "x", "enable"],
  ]);
});

test("an unknown half is an error that says so, with the half that was meant", () => {
  expect(parseConfig(ofTool({ enable: { stat: true } })).errors).toEqual([
    {
      path: ["conversation", "tools", "x", "enable", "stat"],
      message: "there is no such key; did you mean state?",
    },
  ]);
});

describe("over a layer that says only by name", () => {
  const lower = { state: true, allow_toggle: "if_named" };

  test("a table with a state keeps who may change it", () => {
    expect(resolved(lower, { state: false })).toStrictEqual([false, "if_named"]);
  });

  test("a table with a policy keeps the state", () => {
    expect(resolved(lower, { allow_toggle: "never" })).toStrictEqual([true, "never"]);
  });

  test.each([
    [false, [false, "any"]],
    [true, [true, "any"]],
    ["off", [false, "any"]],
    ["always", [true, "never"]],
    ["explicit", [false, "if_named"]],
  ] as const)("the shorthand %j resets it", (shorthand, expected) => {
    expect(resolved(lower, shorthand)).toStrictEqual(expected);
  });

  test("an empty table changes nothing", () => {
    expect(resolved(lower, {})).toStrictEqual([true, "if_named"]);
  });
});

test("what a tool does not say, all tools say, half by half", () => {
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

test("where nobody says anything a tool is on, and everybody may change it", () => {
  expect(settings(readConfig(ofTool({ source: "local" })))).toStrictEqual([true, "any"]);
});

function enableOf(enable: unknown): unknown {
  return readConfig(ofTool({ enable: enable as never })).conversation?.tools?.["x"]?.enable;
}

function resolved(lower: unknown, upper: unknown) {
  const layers = [lower, upper].map((enable) =>
    readConfig(ofTool({ source: "local", enable: enable as never })),
  );
  return settings(layers.reduce(mergeConfig));
}

function settings(config: ReturnType<typeof readConfig>) {
  const tool = resolveTools(config).get("x");
  return [tool?.isEnabled, tool?.allowToggle];
}

function common(enable: unknown) {
  return { conversation: { tools: { "*": { enable } } } };
}

/** What is in force for a tool that says one thing where all tools say another. */
function underCommon(all: unknown, own: unknown) {
  const tool = readConfig(ofTool({ source: "local", enable: own as never }));
  return settings(mergeConfig(readConfig(common(all)), tool));
}
