import { expect, test } from "vitest";
import { findClaims, withoutClaims } from "./claims.ts";
import { DEFAULTS } from "./defaults.ts";
import type { Layer } from "./layer.ts";
import { parseConfigOrThrow } from "./parse-config.ts";
import type { JsonObject } from "../util/index.ts";
import { counters } from "../../test/security/threats.ts";

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
    "an answer for a builtin",
    { conversation: tools({ fs: { questions: { sure: { answer: true } } } }) },
    [],
  ],
  [
    "a builtin under another name",
    { conversation: tools({ harmless: { source: "builtin.fs" } }) },
    ["tool harmless"],
  ],
  [
    "a command that shows arguments",
    { conversation: tools({ fs: { style: { parameters: "sh x.sh" } } }) },
    ["tool fs"],
  ],
  [
    "an address on this machine",
    { providers: { llm: { openai: { base_url: "http://127.0.0.1:1/v1", api_key_env: "X" } } } },
    [],
  ],
  [
    "a parameter that only the provider knows",
    { assistant: { model: { parameters: { other: { tools: [{ type: "mcp" }] } } } } },
    ["model assistant"],
  ],
  [
    "the same for the model that answers tools",
    { conversation: { inquiry: { assistant: { model: { parameters: { mcp_servers: [] } } } } } },
    ["model inquiry"],
  ],
  ["a parameter that we know", { assistant: { model: { parameters: { top_k: 1 } } } }, []],
  [
    "a stricter policy",
    { conversation: tools({ "*": { run: "ask", detached: "deny" }, fs: { run: "skip" } }) },
    [],
  ],
  ["a builtin that is switched on", { conversation: tools({ fs: { enable: true } }) }, []],
  ["a tool that there is not", { conversation: tools({ none: { run: "unattended" } }) }, []],
  ["names that every object has", { conversation: tools({ constructor: LOCAL }) }, []],
  [
    "a model on this machine",
    { providers: { llm: { ollama: { base_url: "http://127.0.0.1:1" } } } },
    [],
  ],
  [
    "another service of this machine",
    { providers: { llm: { ollama: { base_url: "http://127.0.0.1:2375/containers/x/start?" } } } },
    ["llm ollama"],
  ],
  [
    "the default address",
    { providers: { llm: { openai: { base_url: "https://api.openai.com" } } } },
    [],
  ],
  ["a short name", { providers: { llm: { aliases: { a: "openai/gpt" } } } }, []],
  ["a model", { assistant: { model: { id: "openai/gpt" } } }, []],
])("of what a workspace says, %s: %j needs trust: %j", (_name, said, claims) => {
  counters("T-WORK-4");
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

test.each<[string, JsonObject, JsonObject]>([
  ["runs it unasked", { run: "ask" }, { run: "unattended" }],
  ["runs it unasked as we would", { run: "ask" }, { detached: { run: "auto" } }],
  ["delivers its results unasked", { result: "ask" }, { result: "unattended" }],
  ["switches it on", { enable: false }, { enable: true }],
  ["lets a model answer", {}, { questions: { sure: { exclusive: false } } }],
  ["fills its command", {}, { options: { a: "b" } }],
  ["gives its arguments", {}, { parameters: { a: { type: "string", default: "b" } } }],
])("of a tool of the person's, what %s needs trust", (_name, own, said) => {
  const layers = [
    user({ conversation: tools({ make: { ...LOCAL, ...own } }) }),
    workspace({ conversation: tools({ make: said }) }),
  ];
  counters("T-FILE-5");
  expect(claimed(...layers)).toEqual(["tool make"]);
});

test("to keep a question of the person's tool from models needs no trust", () => {
  const own = user({ conversation: tools({ make: LOCAL }) });
  const stricter = { make: { questions: { sure: { exclusive: true } } } };
  expect(claimed(own, workspace({ conversation: tools(stricter) }))).toEqual([]);
});

test("what is ours needs trust again where the person wants it otherwise", () => {
  const base: Layer = { ...workspace({ conversation: tools({ fs: { run: "unattended" } }) }) };
  const layers = [
    ...BASE,
    { ...base, isOfWorkspace: false, isBase: true },
    user({ conversation: tools({ fs: { run: "ask" } }) }),
    base,
  ];
  expect(findClaims(layers).map(({ name }) => name)).toEqual(["fs"]);
});

test("to silence the person's config needs trust, and hides no other claim", () => {
  const own = user({
    inherit: false,
    conversation: tools({ make: LOCAL, "*": { detached: "deny" } }),
  });
  const silent = workspace({
    inherit: false,
    conversation: tools({ make: { run: "unattended" } }),
  });
  const layers = [...BASE, own, silent];
  const claims = findClaims(layers);
  const { tools: left } = withoutClaims(layers, claims).conversation ?? {};
  expect([
    claims.map(({ kind, name }) => `${kind} ${name}`),
    left?.["make"]?.run,
    left?.["*"]?.detached,
    claimed(silent),
  ]).toEqual([
    ["inherit ", "tool make"],
    undefined,
    { run: "deny", deliver: "deny", tool: "deny" },
    [],
  ]);
});

test("how a tool is described and shown makes no difference to a claim", () => {
  const shown = { summary: "Makes.", enable: "off", style: { hidden: true }, group: "g" };
  const [plain, decorated] = [LOCAL, { ...LOCAL, ...shown }].map((make) =>
    findClaims([...BASE, workspace({ conversation: tools({ make }) })]).map(({ value }) => value),
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
  const { conversation, providers } = withoutClaims(layers, findClaims(layers));
  const { "*": _all, ...left } = conversation?.tools ?? {};
  expect([left, providers?.mcp]).toEqual([
    {
      fs: { source: "builtin", run: "ask" },
      make: { source: "local", command: { program: "make", args: [], shell: false } },
    },
    {},
  ]);
});
