import { expect, test } from "vitest";
import type { Json } from "../../util/index.ts";
import { configToJson } from "../delta.ts";
import { mergeConfig } from "../merge.ts";
import { parseConfig } from "../parse-config.ts";
import { readConfig } from "../../../test/support/any-config.ts";
import { modelIdToText, parseModelId } from "./model-id.ts";

test("a model is called provider/name, the same in two fields, or by an alias", () => {
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

test("what names no model is refused", () => {
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

test("an id replaces a lower one as a whole, whichever form either has", () => {
  const forms: Json[] = ["openai/gpt", { provider: "google", name: "gemini" }, "opus"];
  for (const lower of forms)
    for (const upper of forms) {
      const merged = mergeConfig(readConfig(config(lower)), readConfig(config(upper)));
      expect(merged).toStrictEqual(readConfig(config(upper)));
    }
});

test("an id as text reads as the same id", () => {
  const texts = ["openai/gpt-5", "openrouter/a/b/c", "opus"];
  expect(texts.map((text) => modelIdToText(parseModelId(text)))).toEqual(texts);
});

test("aliases are models of any form, and merge by name", () => {
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
