/** The committed schema must accept every config that jp accepts. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { Validator } from "@cfworker/json-schema";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { parseConfig } from "../src/settings/config/index.ts";
import type { Json, JsonObject } from "../src/util/index.ts";
import { Project } from "./cli/support.ts";
import { CONFIG_SCHEMA, renderConfigSchema } from "./support/config-schema.ts";
import { blocksOf, readDocuments, ROOT } from "./support/documents.ts";

const text = readFileSync(CONFIG_SCHEMA, "utf8");
const schema = JSON.parse(text) as JsonObject;
const validator = new Validator(schema, "7");

test("the committed schema is up to date", async () => {
  expect(text).toBe(await renderConfigSchema());
});

test("the committed schema is what jp config schema prints", async () => {
  expect((await new Project().jp("config", "schema")).stdout).toBe(text);
});

test("the package exports the schema and contains it", () => {
  const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
    readonly files: readonly string[];
    readonly exports: Readonly<Record<string, unknown>>;
  };
  expect(path.join(ROOT, String(manifest.exports["./config.schema.json"]))).toBe(CONFIG_SCHEMA);
  expect(manifest.files).toContain("schema");
});

describe("the schema accepts", () => {
  test.each(globSync("examples/**/*.toml", { cwd: ROOT }))("%s", (name) => {
    expect(problems(readToml(path.join(ROOT, name)))).toEqual([]);
  });

  test("every config in the documentation", () => {
    const blocks = blocksOf(readDocuments(), "toml");
    const flagged = blocks.filter(({ code }) => problems(parse(code)).length > 0);
    expect([blocks.length > 5, flagged.map(({ place }) => place)]).toEqual([true, []]);
  });

  test("the config of jp init, with and without its examples", async () => {
    const project = new Project({ isBare: true });
    await project.jpWith({ JP_NONINTERACTIVE: "1" }, "init");
    const file = path.join(project.root, ".jp", "config.toml");
    const written = readFileSync(file, "utf8");
    const uncommented = parse(written.replaceAll(/^#(?=[^\s:])/gm, ""));
    expect([problems(parse(written)), problems(uncommented)]).toEqual([[], []]);
    expect(uncommented).toHaveProperty("conversation.tools.clean.command.shell", true);
  });

  test.each<[string, Json]>([
    ["the address of a schema", { $schema: "./config.schema.json" }],
    ["a key that jp warns about", { assistant: { nmae: "Ada" }, unheard: { of: 1 } }],
    [
      "keys of the Rust version that jp does not know",
      {
        conversation: { labels: { team: "core" }, compaction: { rules: [] } },
        style: { inline_code: { color: 1 } },
        providers: { llm: { deepseek: { api_key_env: "KEY" } } },
      },
    ],
    ["defaults for all tools alone", { conversation: { tools: { "*": { run: "unattended" } } } }],
    ["part of a tool, for another layer", { conversation: { tools: { x: { enable: "off" } } } }],
  ])("%s", (_title, config) => {
    const { $schema: _address, ...rest } = config as JsonObject;
    expect([problems(config), parseConfig(rest).errors]).toEqual([[], []]);
  });
});

test.each<[string, string, string]>([
  ["a value of another type", 'conversation.max_cycles = "many"', "#/conversation/max_cycles"],
  ["a word that is not a choice", '[conversation.tools.x]\nrun = "maybe"', "/tools/x/run"],
  ["a number out of range", "conversation.limits.record_bytes_per_call = 1", "/limits/"],
  ["a tool with an invalid source", '[conversation.tools.x]\nsource = "mcp"', "/tools/x/source"],
  ["a text in place of a table", 'assistant = "jp"', "#/assistant"],
  ["an unknown transport", '[providers.mcp.s]\ntype = "smtp"', "/mcp/s/type"],
])("the schema reports %s at its location", (_title, toml, place) => {
  const config = parse(toml);
  expect(problems(config).join("\n")).toContain(place);
  expect(parseConfig(config).errors).not.toEqual([]);
});

test("the schema has the description, the choices and the default of a key", () => {
  expect(propertyAt("conversation", "tools", "*", "run")).toEqual({
    type: "string",
    enum: ["ask", "unattended", "edit", "skip"],
    description: expect.stringMatching(/^before a call runs: /) as unknown,
    default: "ask",
  });
});

function problems(config: unknown): readonly string[] {
  // Plain JSON, because TOML has dates.
  const value = JSON.parse(JSON.stringify(config)) as Json;
  return validator.validate(value).errors.map((error) => error.instanceLocation);
}

function readToml(file: string): unknown {
  return parse(readFileSync(file, "utf8"));
}

function propertyAt(...keys: readonly string[]): Json | undefined {
  return keys.reduce<Json | undefined>((node, key) => {
    const { properties } = (node ?? {}) as JsonObject;
    return ((properties ?? {}) as JsonObject)[key];
  }, schema);
}
