import { expect, test } from "vitest";
import { findClaims, withoutClaims } from "./claims.ts";
import { DEFAULTS } from "./defaults.ts";
import { foldLayers, type Layer } from "./layer.ts";
import { parseConfigOrThrow } from "./parse-config.ts";
import type { JsonObject } from "../util/index.ts";

const BASE: readonly Layer[] = [
  { name: "defaults", config: DEFAULTS, isBase: true },
  {
    name: "builtin tools",
    config: config({ conversation: tools({ fs: { source: "builtin" } }) }),
    isBase: true,
  },
];

function config(value: JsonObject) {
  return parseConfigOrThrow("test", value);
}

function tools(value: JsonObject): JsonObject {
  return { tools: value };
}

function workspace(value: JsonObject): Layer {
  return { name: ".jp/config.toml", config: config(value), isOfWorkspace: true };
}

function user(value: JsonObject): Layer {
  return { name: "config.toml", config: config(value) };
}

function claimed(...layers: readonly Layer[]): readonly string[] {
  return findClaims([...BASE, ...layers]).map(({ kind, name }) => `${kind} ${name}`);
}

const LOCAL = { source: "local", command: "make" };

test.each<[string, JsonObject, readonly string[]]>([
  ["a program", { conversation: tools({ make: LOCAL }) }, ["tool make"]],
  ["a tool of a server", { conversation: tools({ x: { source: "mcp.s" } }) }, ["tool x"]],
  ["a server", { providers: { mcp: { s: { command: "s" } } } }, ["mcp s"]],
  ["an address", { providers: { llm: { openai: { base_url: "https://a.b" } } } }, ["llm openai"]],
  ["a key's name", { providers: { llm: { google: { api_key_env: "X" } } } }, ["llm google"]],
  [
    "an address of its own",
    { providers: { llm: { ollama: { base_url: "http://a.b" } } } },
    ["llm ollama"],
  ],
  [
    "an address that only looks near",
    { providers: { llm: { ollama: { base_url: "http://127.0.0.1.a.b" } } } },
    ["llm ollama"],
  ],
  ["a program in a builtin's place", { conversation: tools({ fs: LOCAL }) }, ["tool fs"]],
  [
    "a policy for all, with a program",
    { conversation: tools({ "*": { run: "unattended" }, make: LOCAL }) },
    ["tool *", "tool make"],
  ],
  ["a policy for all, without", { conversation: tools({ "*": { run: "unattended" } }) }, []],
  ["a policy for a builtin", { conversation: tools({ fs: { run: "unattended" } }) }, []],
  [
    "a model on this machine",
    { providers: { llm: { ollama: { base_url: "http://127.0.0.1:1" } } } },
    [],
  ],
  [
    "the default address",
    { providers: { llm: { openai: { base_url: "https://api.openai.com" } } } },
    [],
  ],
  ["a short name", { providers: { llm: { aliases: { a: "openai/gpt" } } } }, []],
  ["a model", { assistant: { model: { id: "openai/gpt" } } }, []],
])("of what a workspace says, %s: %j needs trust: %j", (_name, said, claims) => {
  expect(claimed(workspace(said))).toEqual(claims);
});

test("what the person says too needs none", () => {
  const said = { conversation: tools({ make: { ...LOCAL, run: "unattended" } }) };
  expect(claimed(user(said), workspace(said))).toEqual([]);
});

test("what loosens a tool of the person's does", () => {
  const own = user({ conversation: tools({ make: LOCAL }) });
  const looser = workspace({ conversation: tools({ make: { run: "unattended" } }) });
  expect(claimed(own, looser)).toEqual(["tool make"]);
});

test("how a tool is described and shown makes no difference to a claim", () => {
  const shown = { summary: "Makes.", enable: "off", style: { hidden: true }, group: "g" };
  const [plain, decorated] = [LOCAL, { ...LOCAL, ...shown }].map((make) =>
    findClaims([...BASE, workspace({ conversation: tools({ make }) })]),
  );
  expect(decorated).toEqual(plain);
});

test("without its claims a config has what the person says of the same things", () => {
  const own = user({ conversation: tools({ make: LOCAL }) });
  const foreign = workspace({
    conversation: tools({ make: { command: "rm" }, more: LOCAL, fs: { run: "ask" } }),
    providers: { mcp: { s: { command: "s" } } },
  });
  const layers = [...BASE, own, foreign];
  const { conversation, providers } = withoutClaims(foldLayers(layers), findClaims(layers), layers);
  const { "*": _all, ...left } = conversation?.tools ?? {};
  expect([left, providers?.mcp]).toEqual([
    {
      fs: { source: "builtin", run: "ask" },
      make: { source: "local", command: { program: "make", args: [], shell: false } },
    },
    {},
  ]);
});
