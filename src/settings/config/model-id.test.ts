import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { readConfig } from "./any-config.fixture.ts";
import type { Json } from "../../util/index.ts";
import { configToJson, mergeConfig } from "./layers.ts";
import { parseModelId, resolveModelId } from "./model-id.ts";
import { parseConfig } from "./parse-config.ts";

test("a model is named by provider/name, by the same as two fields, or by an alias", () => {
  expect({
    text: idOf("anthropic/claude-opus-4-6"),
    slashes: idOf("openrouter/meta-llama/llama-4:free"),
    fields: idOf({ provider: "ollama", name: "qwen3:8b" }),
    alias: idOf("opus"),
    prototype: idOf("toString"),
  }).toStrictEqual({
    text: { provider: "anthropic", name: "claude-opus-4-6" },
    slashes: { provider: "openrouter", name: "meta-llama/llama-4:free" },
    fields: { provider: "ollama", name: "qwen3:8b" },
    alias: { alias: "opus" },
    prototype: { alias: "toString" },
  });
});

test("other values are rejected", () => {
  const wrong: Json[] = [
    "",
    4,
    true,
    null,
    [],
    {},
    { provider: "openai" },
    { name: "x" },
    { alias: "x" },
  ];
  const accepted = wrong.filter((id) => parseConfig(config(id)).errors.length === 0);
  expect(accepted).toEqual([]);
});

test.each(["openai/../files", "google/a?key=x", "openai/a#b", "google/%2e%2e", "openai/a\\b"])(
  "a name that would lead to another address is rejected: %s",
  (id) => {
    counters("T-WORK-23");
    const [provider = "", ...name] = id.split("/");
    const accepted = [id, { provider, name: name.join("/") }].filter(
      (each) => parseConfig(config(each)).errors.length === 0,
    );
    expect(accepted).toEqual([]);
  },
);

test("neither the provider nor the name may be empty", () => {
  const wrong: Json[] = [
    "/gpt",
    "openai/",
    "/",
    { provider: "", name: "x" },
    { provider: "x", name: "" },
  ];
  const accepted = wrong.filter((id) => parseConfig(config(id)).errors.length === 0);
  expect(accepted).toEqual([]);
});

test("an id is stored in two fields, as the original does, and an alias as its name", () => {
  expect([
    configToJson(readConfig(config("openai/gpt/5"))),
    configToJson(readConfig(config({ provider: "openai", name: "gpt/5" }))),
    configToJson(readConfig(config("opus"))),
  ]).toStrictEqual([
    config({ provider: "openai", name: "gpt/5" }),
    config({ provider: "openai", name: "gpt/5" }),
    config("opus"),
  ]);
});

test("an id replaces a lower one as a whole, in any form", () => {
  const forms: Json[] = ["openai/gpt", { provider: "google", name: "gemini" }, "opus"];
  for (const lower of forms)
    for (const upper of forms) {
      const merged = mergeConfig(readConfig(config(lower)), readConfig(config(upper)));
      expect(merged).toStrictEqual(readConfig(config(upper)));
    }
});

test("aliases may have any form, and merge by name", () => {
  const lower = readConfig({ providers: { llm: { aliases: { a: "openai/x", b: "a" } } } });
  const upper = readConfig({ providers: { llm: { aliases: { b: "google/y", "c.d": "b" } } } });
  expect(mergeConfig(lower, upper).providers?.llm?.aliases).toStrictEqual({
    a: { provider: "openai", name: "x" },
    b: { provider: "google", name: "y" },
    "c.d": { alias: "b" },
  });
});

function config(id: Json) {
  return { assistant: { model: { id } } };
}

function idOf(id: Json) {
  return readConfig(config(id)).assistant?.model?.id;
}

const ALIASES = {
  fast: parseModelId("google/gemini-flash"),
  default: parseModelId("fast"),
  gone: parseModelId("nowhere"),
  left: parseModelId("right"),
  right: parseModelId("left"),
  self: parseModelId("self"),
};

const resolve = (text: string) => resolveModelId(parseModelId(text), ALIASES);

test("a provider and a name are used as they are, also if the name contains slashes", () => {
  expect(resolve("openrouter/qwen/qwen3")).toEqual({ provider: "openrouter", name: "qwen/qwen3" });
});

test("an alias is followed, and an alias of an alias too", () => {
  expect([resolve("fast"), resolve("default")]).toEqual([
    { provider: "google", name: "gemini-flash" },
    { provider: "google", name: "gemini-flash" },
  ]);
});

test.each([
  ["left", "model_alias_cycle", "The model alias `left` refers to itself: left → right → left."],
  ["self", "model_alias_cycle", "The model alias `self` refers to itself: self → self."],
  ["gone", "unknown_model_alias", "Unknown model alias `nowhere` (from gone)."],
  ["toString", "unknown_model_alias", "Unknown model alias `toString`."],
])("an alias without a model is rejected: %s", (alias, code, message) => {
  expect(() => resolve(alias)).toThrow(expect.objectContaining({ code, message }));
});

test("the closest alias is suggested", () => {
  expect(() => resolve("fsat")).toThrow(expect.objectContaining({ hint: "Did you mean fast?" }));
});

test("the hint says nothing of defining what cannot be an alias", () => {
  expect(() => resolve("first question")).toThrow(
    expect.objectContaining({ hint: "Write provider/name." }),
  );
});

test("without a close alias, the hint says how to define one", () => {
  expect(() => resolve("opus")).toThrow(
    expect.objectContaining({
      commandHint: expect.stringContaining(
        "jp config set providers.llm.aliases.opus provider/name",
      ),
    }),
  );
});
