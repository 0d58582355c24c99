import { expect, test } from "vitest";
import { resolveModelId } from "./resolve-model-id.ts";
import { parseModelId } from "./schema/model-id.ts";

const ALIASES = {
  fast: parseModelId("google/gemini-flash"),
  default: parseModelId("fast"),
  gone: parseModelId("nowhere"),
  left: parseModelId("right"),
  right: parseModelId("left"),
  self: parseModelId("self"),
};

const resolve = (text: string) => resolveModelId(parseModelId(text), ALIASES);

test("a provider and a name are taken as they are, also if the name is a path", () => {
  expect(resolve("openrouter/qwen/qwen3")).toEqual({ provider: "openrouter", name: "qwen/qwen3" });
});

test("an alias is followed, and an alias of an alias too", () => {
  expect([resolve("fast"), resolve("default")]).toEqual([
    { provider: "google", name: "gemini-flash" },
    { provider: "google", name: "gemini-flash" },
  ]);
});

test.each([
  ["left", "model_alias_cycle", "The model alias `left` leads to no model: left → right → left."],
  ["self", "model_alias_cycle", "The model alias `self` leads to no model: self → self."],
  ["gone", "unknown_model_alias", "There is no model alias `nowhere` (by gone)."],
  ["toString", "unknown_model_alias", "There is no model alias `toString`."],
])("an alias that leads nowhere is refused: %s", (alias, code, message) => {
  expect(() => resolve(alias)).toThrow(expect.objectContaining({ code, message }));
});

test("the alias that was probably meant is named", () => {
  expect(() => resolve("fsat")).toThrow(expect.objectContaining({ hint: "Did you mean fast?" }));
});

test("where none is close, it is said how to define one", () => {
  expect(() => resolve("opus")).toThrow(
    expect.objectContaining({
      hint: expect.stringContaining("jp config set providers.llm.aliases.opus provider/name"),
    }),
  );
});
