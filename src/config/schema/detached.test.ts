import { expect, test } from "vitest";
import { ofTool, readConfig } from "../../../test/support/any-config.ts";
import type { Json } from "../../util/index.ts";
import { DEFAULTS } from "../defaults.ts";
import { mergeConfig } from "../merge.ts";
import { parseConfig } from "../parse-config.ts";
import { resolveTools } from "../tool-settings.ts";

test("one word stands for all three kinds of prompt", () => {
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

test("other words, kinds and types are refused", () => {
  const wrong: Json[] = ["allow", "", true, 1, null, [], { run: true }, { ask: "deny" }];
  const accepted = wrong.filter(
    (detached) => parseConfig(ofTool({ detached })).errors.length === 0,
  );
  expect(accepted).toEqual([]);
});

test("without any config nothing runs that would ask, results are delivered, questions are routed", () => {
  expect(resolved([])).toStrictEqual({ run: "deny", deliver: "auto", tool: "auto" });
});

test("each kind comes from the tool, else from what all tools have in common", () => {
  expect({
    common: resolved([{ "*": { detached: "deny" } }]),
    own: resolved([{ "*": { detached: "deny" }, x: { detached: { tool: "defaults" } } }]),
    scalar: resolved([{ "*": { detached: "deny" }, x: { detached: "auto" } }]),
    table: resolved([{ "*": { detached: { run: "auto" } }, x: { detached: { deliver: "deny" } } }]),
  }).toStrictEqual({
    common: { run: "deny", deliver: "deny", tool: "deny" },
    own: { run: "deny", deliver: "deny", tool: "defaults" },
    scalar: { run: "auto", deliver: "auto", tool: "auto" },
    table: { run: "auto", deliver: "deny", tool: "auto" },
  });
});

test("layers meet kind by kind, and a word in an upper one covers all that lower ones say", () => {
  expect({
    table: resolved([{ x: { detached: "deny" } }, { x: { detached: { tool: "auto" } } }]),
    word: resolved([{ x: { detached: { tool: "auto" } } }, { x: { detached: "deny" } }]),
    empty: resolved([{ x: { detached: "defaults" } }, { x: { detached: {} } }]),
    // The tool's own word in a lower layer still beats the common one in an upper layer.
    common: resolved([{ x: { detached: "defaults" } }, { "*": { detached: "deny" } }]),
  }).toStrictEqual({
    table: { run: "deny", deliver: "deny", tool: "auto" },
    word: { run: "deny", deliver: "deny", tool: "deny" },
    empty: { run: "defaults", deliver: "defaults", tool: "defaults" },
    common: { run: "defaults", deliver: "defaults", tool: "defaults" },
  });
});

function resolved(layers: readonly Json[]) {
  const config = [{ x: { source: "local" } }, ...layers]
    .map((tools) => readConfig({ conversation: { tools } }))
    .reduce(mergeConfig, DEFAULTS);
  return resolveTools(config).get("x")?.detached;
}

function detachedOf(detached: Json) {
  return readConfig(ofTool({ detached })).conversation?.tools?.["x"]?.detached;
}
