import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readConfig } from "../any-config.fixture.ts";
import type { Json } from "../../../util/index.ts";
import { configToJson, mergeConfig } from "../layers.ts";
import { parseConfig } from "../parse-config.ts";

describe("a list", () => {
  test("written plainly appends to the lower one, unless a strategy is set", () => {
    expect({
      plain: attachmentsOver(["c"]),
      wrapped: attachmentsOver({ value: ["c"] }),
      append: attachmentsOver({ value: ["c"], strategy: "append" }),
      prepend: attachmentsOver({ value: ["c"], strategy: "prepend" }),
      replace: attachmentsOver({ value: ["c"], strategy: "replace" }),
      emptied: attachmentsOver({ value: [], strategy: "replace" }),
      nothing: attachmentsOver([]),
    }).toEqual({
      plain: ["a", "b", "c"],
      wrapped: ["a", "b", "c"],
      append: ["a", "b", "c"],
      prepend: ["c", "a", "b"],
      replace: ["c"],
      emptied: [],
      nothing: ["a", "b"],
    });
  });

  test("stays as it is without a lower one, whatever its strategy", () => {
    for (const strategy of ["append", "prepend", "replace"])
      expect(attachments({ value: ["a"], strategy })).toEqual(["a"]);
  });

  test("of many layers is built from the lowest to the highest", () => {
    expect(
      attachments(["a"], { value: ["b"], strategy: "prepend" }, ["c"], {
        value: ["d"],
        strategy: "prepend",
      }),
    ).toEqual(["d", "b", "a", "c"]);
  });

  test("is stored complete, so that reading it back appends nothing", () => {
    fc.assert(
      fc.property(anyList(), anyList(), (below, own) => {
        const stored = configToJson(readConfig({ conversation: { attachments: own } }));
        const merged = mergeConfig(
          readConfig({ conversation: { attachments: below } }),
          readConfig(JSON.parse(JSON.stringify(stored))),
        );
        expect(merged.conversation?.attachments?.value).toEqual(
          Array.isArray(own) ? own : own.value,
        );
      }),
    );
  });

  test("of another type is rejected", () => {
    const wrong: Json[] = [
      "a",
      1,
      {},
      { strategy: "append" },
      { value: "a" },
      { value: [], strategy: "merge" },
      [1],
      null,
    ];
    const accepted = wrong.filter(
      (value) => parseConfig({ conversation: { attachments: value } }).errors.length === 0,
    );
    expect(accepted).toEqual([]);
  });

  test("with a misspelt key in an item is reported", () => {
    expect(parseConfig({ assistant: { instructions: [{ titel: "a" }] } }).warnings).toEqual([
      {
        path: ["assistant", "instructions", "0", "titel"],
        message: "unknown key; did you mean assistant.instructions.0.title?",
      },
    ]);
  });
});

describe("a text", () => {
  test("written plainly replaces the lower one, unless a strategy is set", () => {
    expect({
      plain: promptOver("own"),
      wrapped: promptOver({ value: "own" }),
      append: promptOver({ value: "own", strategy: "append" }),
      prepend: promptOver({ value: "own", strategy: "prepend" }),
      replace: promptOver({ value: "own", strategy: "replace" }),
      empty: promptOver(""),
    }).toEqual({
      plain: "own",
      wrapped: "own",
      append: "below\n\nown",
      prepend: "own\n\nbelow",
      replace: "own",
      empty: "",
    });
  });

  test("of many layers is built from the lowest to the highest", () => {
    const layers = ["b", "c", "d"].map((value) => ({
      value,
      strategy: value === "c" ? "prepend" : "append",
    }));
    expect(systemPrompt("a", ...layers)).toBe("c\n\na\n\nb\n\nd");
  });

  test("is stored plainly, and replaces lower layers when read back", () => {
    const append = { assistant: { system_prompt: { value: "own", strategy: "append" } } };
    const stored = configToJson(readConfig(append));
    expect({
      stored,
      read: systemPromptOf(mergeConfig(prompt("below"), readConfig(stored))),
    }).toEqual({
      stored: { assistant: { system_prompt: "own" } },
      read: "own",
    });
  });

  test("accepts the extra fields that the original writes", () => {
    const { config, errors, warnings } = parseConfig({
      assistant: {
        system_prompt: {
          value: "a",
          strategy: "replace",
          separator: "none",
          discard_when_merged: false,
        },
      },
    });
    expect({ config, errors, warnings }).toStrictEqual({
      config: { assistant: { system_prompt: { value: "a", strategy: "replace" } } },
      errors: [],
      warnings: [],
    });
  });
});

function attachments(...layers: Json[]) {
  return layers
    .map((value) => readConfig({ conversation: { attachments: value } }))
    .reduce(mergeConfig).conversation?.attachments?.value;
}

function systemPrompt(...layers: Json[]) {
  return systemPromptOf(layers.map(prompt).reduce(mergeConfig));
}

function systemPromptOf(config: ReturnType<typeof readConfig>) {
  return config.assistant?.system_prompt?.value;
}

function prompt(value: Json) {
  return readConfig({ assistant: { system_prompt: value } });
}

function anyList() {
  const items = fc.array(fc.string(), { maxLength: 3 });
  const strategy = fc.constantFrom("append", "prepend", "replace");
  return fc.oneof(items, fc.record({ value: items, strategy }));
}

function attachmentsOver(upper: Json) {
  return attachments({ value: ["a", "b"], strategy: "replace" }, upper);
}

function promptOver(upper: Json) {
  return systemPrompt("below", upper);
}
