import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { anyConfig, ofTool, readConfig, SECRET } from "../../test/support/any-config.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { conversationConfig, withoutMachine } from "./conversation-layer.ts";
import { configDelta, configToJson } from "./delta.ts";
import { explainLayers } from "./layer.ts";
import { mergeConfig } from "./merge.ts";
import { parseConfig } from "./parse-config.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

describe("a stored config", () => {
  test("has tables for shorthands, two fields for models, and whole lists", () => {
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

  test("never holds a configured answer, whatever it is", () => {
    const answers: Json[] = [SECRET, [SECRET], { a: SECRET }, false, null];
    const stored = answers.map((answer) =>
      configToJson(readConfig(ofTool({ questions: { q: { answer, prompt_label: "A" } } }))),
    );
    expect(stored).toStrictEqual(
      answers.map(() => ofTool({ questions: { q: { prompt_label: "A" } } })),
    );
  });

  test("reads back as the same config, through the text of a file, over any layer", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (raw, below) => {
        const config = readConfig(raw);
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
  test("is only what differs", () => {
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

  test("is nothing where only the notation differs", () => {
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

  test("is nothing where only an answer differs, or is new", () => {
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

  test("holds parameters that nobody knows", () => {
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

  test("holds a list as a whole, so that one entry less is told", () => {
    expect([
      configDelta(withAttachments(["a", "b"]), withAttachments(["a"])),
      configDelta(withAttachments(["a"]), withAttachments([])),
    ]).toEqual([
      { conversation: { attachments: { value: ["a"], strategy: "replace" } } },
      { conversation: { attachments: { value: [], strategy: "replace" } } },
    ]);
  });

  test("of a config and itself is nothing", () => {
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
        const before = withoutMachine(readConfig(raw));
        const after = withoutMachine(mergeConfig(before, readConfig(change)));
        const delta = configDelta(before, after);
        const deltas = delta === undefined ? [] : [throughText(delta)];
        const read = conversationConfig(throughText(configToJson(before)), deltas);
        expect(leavesOf(read)).toEqual(leavesOf(after));
      }),
    );
  });

  test("is nothing the second time: what was stored is not stored again", () => {
    fc.assert(
      fc.property(anyConfig(), anyConfig(), (raw, change) => {
        const before = withoutMachine(readConfig(raw));
        const after = withoutMachine(mergeConfig(before, readConfig(change)));
        const delta = configDelta(before, after) ?? {};
        const read = conversationConfig(configToJson(before), [delta]);
        expect(configDelta(read, after)).toBeUndefined();
      }),
    );
  });

  test("of names that every object has is as of any other", () => {
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
