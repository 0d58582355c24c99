import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { DEFAULTS } from "../config/defaults.ts";
import type { Layer } from "../config/layers.ts";
import { ofTool, readConfig } from "../config/any-config.fixture.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { findClaims, withoutClaims } from "./claims.ts";
import { describeClaim, listClaims } from "./describe-claim.ts";
import { relevantValues } from "./trust-rules.ts";

const BASE: readonly Layer[] = [
  { name: "defaults", config: DEFAULTS, isBase: true },
  {
    name: "builtin tools",
    config: config({
      conversation: tools({
        read: { source: "builtin", enable: false, run: "unattended" },
        write: { source: "builtin", enable: false, run: "ask", group: "files" },
        ask_user: { source: "builtin", enable: "always", run: "unattended" },
      }),
    }),
    isBase: true,
    readOnlyTools: ["read"],
  },
];

function config(value: JsonObject) {
  return readConfig(value);
}

test("the claim of a server names the user's own server that it replaces, and its tools that run without asking", () => {
  counters("T-MCP-4");
  const mine = {
    providers: { mcp: { s: { command: "mine" } } },
    conversation: tools({
      land: { source: "mcp.s", run: "unattended" },
      fly: {
        source: "mcp.s.fly",
        policy: { run: [{ arg: "/a", prefix: "b", mode: "unattended" }] },
      },
      ask: { source: "mcp.s", run: "ask" },
      make: { source: "builtin", run: "unattended" },
    }),
  };
  const listed = (server: JsonObject) =>
    listClaims(
      findClaims([...BASE, user(mine), workspace({ providers: { mcp: { s: server } } })]),
    ).at(-1);
  expect([listed({ command: "theirs" }), listed({ allow_secrets: true })]).toEqual([
    "- MCP server s: runs theirs, replaces your own server of this name, " +
      "gets the calls of your tools that you let run without asking (land, fly)",
    "- MCP server s: runs mine, may ask for secrets, changes your own server of this name, " +
      "gets the calls of your tools that you let run without asking (land, fly)",
  ]);
});

function tools(value: JsonObject): JsonObject {
  return { tools: value };
}

function workspace(value: JsonObject): Layer {
  return { name: ".jp/config.toml", config: config(value), isFromWorkspace: true };
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
  ["its own URL", { providers: { llm: { ollama: { base_url: "http://a.b" } } } }, ["llm ollama"]],
  [
    "an address that only looks near",
    { providers: { llm: { ollama: { base_url: "http://127.0.0.1.a.b" } } } },
    ["llm ollama"],
  ],
  ["a program in a builtin's place", { conversation: tools({ read: LOCAL }) }, ["tool read"]],
  [
    "a policy for all, with a program",
    { conversation: tools({ "*": { run: "unattended" }, make: LOCAL }) },
    ["tool *", "tool make"],
  ],
  [
    "a policy for all tools that every builtin overrides",
    { conversation: tools({ "*": { run: "unattended" } }) },
    [],
  ],
  [
    "a policy for all that concerns a tool that changes files",
    { conversation: tools({ "*": { detached: { run: "auto" } } }) },
    ["tool *"],
  ],
  [
    "a command for all that shows arguments",
    { conversation: tools({ "*": { style: { parameters: "sh x.sh" } } }) },
    ["tool *"],
  ],
  ["a policy for a tool that reads", { conversation: tools({ read: { result: "ask" } }) }, []],
  [
    "an answer for a tool that reads",
    { conversation: tools({ read: { questions: { sure: { answer: true } } } }) },
    [],
  ],
  [
    "a builtin under another name",
    { conversation: tools({ harmless: { source: "builtin.write" } }) },
    ["tool harmless"],
  ],
  [
    "a command that shows arguments",
    { conversation: tools({ read: { style: { parameters: "sh x.sh" } } }) },
    ["tool read"],
  ],
  [
    "an address on this machine for a key that is not of this machine",
    { providers: { llm: { openai: { base_url: "http://127.0.0.1:1/v1" } } } },
    ["llm openai"],
  ],
  [
    "a parameter that only the provider knows",
    { assistant: { model: { parameters: { other: { tools: [{ type: "mcp" }] } } } } },
    ["model assistant"],
  ],
  [
    "the same for the model that answers tools",
    { conversation: { inquiry: { assistant: { model: { parameters: { mcp_servers: [] } } } } } },
    ["model conversation.inquiry.assistant"],
  ],
  ["a parameter that we know", { assistant: { model: { parameters: { top_k: 1 } } } }, []],
  [
    "a stricter policy",
    { conversation: tools({ "*": { run: "ask", detached: "deny" }, write: { run: "skip" } }) },
    [],
  ],
  ["a tool that reads, switched on", { conversation: tools({ read: { enable: true } }) }, []],
  ["a tool that there is not", { conversation: tools({ none: { run: "unattended" } }) }, []],
  ["names that every object has", { conversation: tools({ toString: LOCAL }) }, ["tool toString"]],
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
  ["a file to attach", { conversation: { attachments: ["docs", "file:///a.md?exclude"] } }, []],
  [
    "other attachments",
    {
      conversation: {
        attachments: [
          "a.md",
          "cmd:x",
          "https://a.b",
          "mcp+a+b:c",
          ".env",
          { type: "cmd", path: "y" },
        ],
      },
    },
    ["cmd:x", "https://a.b", "mcp+a+b:c", "file:///.env", "cmd://y"].map(
      (uri) => `attachment ${uri}`,
    ),
  ],
  [
    "a Ctrl-C that stops nothing",
    { interrupt: { tool_call: { action: "restart" }, escalation_cooldown_secs: 0 } },
    ["interrupt "],
  ],
  ["a Ctrl-C that stops", { interrupt: { streaming: { action: "stop" } } }, []],
  ["hidden tool calls", { style: { tool_call: { show: false } } }, ["display "]],
  ["shown tool calls", { style: { tool_call: { show: true } } }, []],
  ["a short name", { providers: { llm: { aliases: { a: "openai/gpt" } } } }, []],
  ["a model", { assistant: { model: { id: "openai/gpt" } } }, []],
])(
  "the claims of a workspace's config are exactly what needs trust: %s: %j claims %j",
  (_name, said, claims) => {
    counters("T-WORK-4");
    expect(claimed(workspace(said))).toEqual(claims);
  },
);

describe("attachments in a workspace's config", () => {
  const said = {
    conversation: { attachments: ["a.md", "cmd:rm -r x", "https://a.b/c d", ".env", "other:y"] },
  };

  test("are described by what they would do", () => {
    expect(listClaims(findClaims([...BASE, workspace(said)]))).toEqual([
      ".jp/config.toml:",
      '- attachment "cmd:rm -r x": runs rm -r x and sends its output to the model',
      '- attachment "https://a.b/c d": loads https://a.b/c%20d and sends it to the model',
      "- attachment file:///.env: may contain passwords or keys, and is sent to the model",
      "- attachment other:y: is of an unknown kind",
    ]);
  });

  test("are left out one by one, and need no trust if the user has the same", () => {
    counters("T-WORK-4");
    const own = user({ conversation: { attachments: ["cmd:rm -r x", "mine.md"] } });
    const layers = [...BASE, own, workspace(said)];
    const claims = findClaims(layers);
    const { attachments } = withoutClaims(layers, claims).conversation ?? {};
    expect([claims.map(({ name }) => name), attachments?.value]).toEqual([
      ["https://a.b/c d", "file:///.env", "other:y"],
      ["cmd:rm -r x", "mine.md", "a.md"],
    ]);
  });
});

describe("notifications in a workspace's config", () => {
  test.each<[string, JsonObject]>([
    ["run a program", { command: { program: "make" } }],
    ["go to an address", { webhook: { url: "https://a.b" } }],
    ["use another key", { webhook: { secret_env: "OPENAI_API_KEY" } }],
    ["say more", { content: "question" }],
    ["link elsewhere", { link: "https://a.b" }],
    ["wait", { debounce_secs: 3600 }],
  ])("need trust, and are not used without it: they %s", (_name, said) => {
    counters("T-NOTE-1");
    const own = { content: "none", webhook: { url: "https://own.example" } };
    const layers = [...BASE, user({ notify: own }), workspace({ notify: said })];
    const claims = findClaims(layers);
    expect([claims.map(({ kind }) => kind), withoutClaims(layers, claims).notify]).toEqual([
      ["notify"],
      {
        ...DEFAULTS.notify,
        content: "none",
        webhook: { ...DEFAULTS.notify?.webhook, ...own.webhook },
      },
    ]);
  });

  test("are described with where they go", () => {
    const notify = {
      content: "question",
      link: "https://desk.example",
      debounce_secs: 0,
      command: { program: "sh", args: ["-c", "curl x"] },
      webhook: { url: "https://a.b/c" },
      email: { to: ["x@a.b"] },
    };
    expect(listClaims(findClaims([...BASE, workspace({ notify })]))).toEqual([
      ".jp/config.toml:",
      "- notifications: content is question, links lead to https://desk.example, wait 0 seconds, " +
        'run sh -c "curl x", go to https://a.b/c, signed with JP_WEBHOOK_SECRET, ' +
        "go by e-mail, which jp does not send",
    ]);
  });

  test("need no trust if the user configures the same", () => {
    const said = { notify: { command: { program: "make", args: ["x"] } } };
    expect(claimed(user(said), workspace(said))).toEqual([]);
  });
});

test.each(["anthropic", "google", "openai", "openrouter"])(
  "an address on this machine needs trust if a key of the provider would go there: %s",
  (provider) => {
    counters("T-WORK-22");
    const base_url = "http://127.0.0.1:1/v1";
    expect(claimed(workspace({ providers: { llm: { [provider]: { base_url } } } }))).toEqual([
      `llm ${provider}`,
    ]);
  },
);

test("an address on this machine needs trust if the user's own is elsewhere", () => {
  counters("T-WORK-22");
  const [near, far] = ["http://127.0.0.1:1/v1", "https://gpu.example"].map((base_url) => ({
    providers: { llm: { llamacpp: { base_url } } },
  }));
  const said = workspace(near ?? {});
  expect([claimed(user(far ?? {}), said), claimed(said)]).toEqual([["llm llamacpp"], []]);
});

test.each<[string, JsonObject]>([
  ["the variable with its key", { api_key_env: "AWS_SECRET_ACCESS_KEY" }],
  ["the variable with its address", { base_url_env: "AWS_SECRET_ACCESS_KEY" }],
])("a variable beside an address on this machine needs trust: %s", (_name, variable) => {
  counters("T-WORK-10");
  const openai = { base_url: "http://127.0.0.1:1/v1", ...variable };
  const layers = [...BASE, workspace({ providers: { llm: { openai } } })];
  const [claim, ...others] = findClaims(layers);
  expect([
    claim?.value,
    others,
    withoutClaims(layers, findClaims(layers)).providers?.llm?.openai,
  ]).toEqual([openai, [], DEFAULTS.providers?.llm?.openai]);
});

test.each<[string, string, JsonObject]>([
  ["switches on", "write", { enable: true }],
  ["switches on for good", "write", { enable: "always" }],
  ["runs without asking", "write", { run: "unattended" }],
  ["runs where nobody is", "write", { detached: "auto" }],
  ["answers", "write", { questions: { sure: { answer: true } } }],
  ["has a model answer", "write", { questions: { sure: { target: "assistant" } } }],
  ["takes silence for its default", "write", { questions: { sure: { on_timeout: "default" } } }],
  ["gives less time", "write", { questions: { sure: { deadline: "1s" } } }],
  ["seems to be another", "write", { questions: { sure: { prompt_label: "jp" } } }],
  ["puts into another group", "write", { group: "docs" }],
  ["runs again", "write", { idempotent: true }],
  ["decides about calls in doubt of", "write", { check: true }],
  ["ignores changes to files of", "write", { subject_ignore: ["state.json"] }],
  ["gives arguments", "write", { parameters: { path: { type: "string", default: "x" } } }],
  ["answers", "ask_user", { questions: { answer: { answer: "yes" } } }],
  ["has a model answer", "ask_user", { questions: { answer: { target: "assistant" } } }],
])("any change of a tool that comes with jp needs trust: one that %s %s", (_does, name, said) => {
  counters("T-WORK-11");
  expect(claimed(workspace({ conversation: tools({ [name]: said }) }))).toEqual([`tool ${name}`]);
});

test("any change of such a tool under the user's own name for it needs trust too", () => {
  counters("T-WORK-11");
  const own = user({ conversation: tools({ save: { source: "builtin.write", run: "ask" } }) });
  const looser = workspace({ conversation: tools({ save: { run: "unattended" } }) });
  expect(claimed(own, looser)).toEqual(["tool save"]);
});

test("a claim leaves out only what makes a question stricter", () => {
  counters("T-WORK-11");
  const questions = {
    strict: { target: { type: "user" }, exclusive: true, on_timeout: "deny" },
    late: { on_timeout: "default" },
    loose: { target: { type: "user" }, exclusive: false },
    new: { a_key_of_tomorrow: 1 },
  };
  const facts = {
    mayModelAnswer: () => false,
    isPersonNamed: () => false,
    isAliasUsed: () => false,
  };
  const path = ["conversation", "tools", "make"];
  const values = [{ path: ["questions"], trust: "questions", value: questions }] as const;
  const [relevant] = relevantValues(values, {}, { ...facts, path });
  expect(relevant?.value).toEqual({
    late: { on_timeout: "default" },
    loose: { exclusive: false },
    new: { a_key_of_tomorrow: 1 },
  });
});

test.each<[string, JsonObject]>([
  ["asks a person", { questions: { sure: { target: "user" } } }],
  ["is off", { enable: false }],
  ["is off unless it is named", { enable: "explicit" }],
  ["is not run twice", { idempotent: false }],
  ["leaves calls in doubt to a person", { check: false }],
  ["ignores no changes to its files", { subject_ignore: [] }],
  ["is as it was", { enable: "off", run: "ask", group: "files", detached: { run: "deny" } }],
])(
  "a tool that changes files needs no trust if it is no looser than before: it %s",
  (_name, said) => {
    counters("T-WORK-11");
    expect(claimed(workspace({ conversation: tools({ write: said }) }))).toEqual([]);
  },
);

test.each<[Json, Json, readonly string[]]>([
  [{ state: false, allow_toggle: "never" }, "off", ["tool make"]],
  ["on", "always", ["tool make"]],
  ["always", "on", []],
])("a user's tool that is %j needs trust to be %j: %j", (own, said, claims) => {
  const layers = [
    user({ conversation: tools({ make: { ...LOCAL, enable: own } }) }),
    workspace({ conversation: tools({ make: { enable: said } }) }),
  ];
  expect(claimed(...layers)).toEqual(claims);
});

test.each<[string, JsonObject, JsonObject]>([
  ["run", { run: "ask" }, { run: "unattended" }],
  ["result", { result: "ask" }, { result: "unattended" }],
  ["enable", { enable: { state: false } }, { enable: { state: true } }],
  ["detached", { detached: { tool: "deny" } }, { detached: { tool: "defaults" } }],
  ["detached", { detached: { run: "deny" } }, { detached: { run: "defer" } }],
  ["detached", { detached: { run: "defer" } }, { detached: { run: "auto" } }],
])("any loosening for all tools needs trust if the user has set it: %s", (_key, own, said) => {
  counters("T-WORK-12");
  const layers = [
    user({ conversation: tools({ "*": own }) }),
    workspace({ conversation: tools({ "*": said }) }),
  ];
  expect(claimed(...layers)).toEqual(["tool *"]);
});

test.each<[string, JsonObject]>([
  ["run", { run: "unattended" }],
  ["timeout_secs", { timeout_secs: 0 }],
])(
  "any loosening for all tools needs trust if a server offers all of its tools: %s",
  (_key, said) => {
    counters("T-WORK-12");
    const looser = workspace({ conversation: tools({ "*": said }) });
    const claims = [false, true].map((all_tools) =>
      claimed(user({ providers: { mcp: { s: { command: "s", all_tools } } } }), looser),
    );
    expect(claims).toEqual([[], ["tool *"]]);
  },
);

test("a default that the user sets for all tools also protects read-only tools", () => {
  counters("T-WORK-12");
  const own = user({ conversation: tools({ "*": { detached: { run: "deny" } } }) });
  const looser = workspace({ conversation: tools({ read: { detached: { run: "auto" } } }) });
  expect([claimed(looser), claimed(own, looser)]).toEqual([[], ["tool read"]]);
});

test("what the user's own config says too needs no trust", () => {
  const said = { conversation: tools({ make: { ...LOCAL, run: "unattended" } }) };
  expect(claimed(user(said), workspace(said))).toEqual([]);
});

test("what loosens a tool of the user needs trust", () => {
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
  ["poses as the assistant", {}, { style: { inline_results: { user: "chat" } } }],
  ["gives its arguments", {}, { parameters: { a: { type: "string", default: "b" } } }],
])("any loosening of a user's tool needs trust: what %s", (_name, own, said) => {
  const layers = [
    user({ conversation: tools({ make: { ...LOCAL, ...own } }) }),
    workspace({ conversation: tools({ make: said }) }),
  ];
  counters("T-FILE-5");
  expect(claimed(...layers)).toEqual(["tool make"]);
});

test.each<[Json, Json, string | undefined]>([
  ["user", { user: "eve" }, "lets only eve answer sure"],
  ["user", ["assistant", { user: "eve" }], "lets only eve answer sure"],
  [["assistant", { user: "ada" }], ["assistant", "user"], "lets a model answer sure"],
  [["assistant", "user"], "assistant", "lets a model answer sure"],
  [{ user: "ada" }, { user: "eve" }, "lets only eve answer sure"],
  [{ user: "ada" }, "user", "lets you answer sure"],
  [{ user: "ada" }, { user: "ada" }, undefined],
  ["user", { role: "eves" }, "lets only those with the role eves answer sure"],
  [{ role: "finance" }, "user", "lets you answer sure"],
  [{ role: "finance" }, { user: "finance" }, "lets only finance answer sure"],
  [
    { role: "finance" },
    { any: [{ role: "finance" }, "eve"] },
    "lets only those with the role finance or eve answer sure",
  ],
  [{ role: "finance" }, { role: "finance" }, undefined],
  [
    { user: "ada", within: "2h" },
    [{ user: "ada", within: "2h" }, { user: "eve" }],
    "then eve answer sure",
  ],
  [
    { user: "ada", within: "2h" },
    [{ user: "ada", within: "2h" }, "assistant"],
    "lets only ada answer sure",
  ],
  [
    { role: "finance", quorum: 2 },
    { role: "finance" },
    "lets only those with the role finance answer sure",
  ],
])(
  "the target of a question needs trust if it lets others answer: from %j to %j: %s",
  (own, said, text) => {
    counters("T-WORK-16");
    const [before, after] = [own, said].map((target) => ({ questions: { sure: { target } } }));
    const claims = findClaims([
      ...BASE,
      user({ conversation: tools({ make: { ...LOCAL, ...before } }) }),
      workspace({ conversation: tools({ make: after ?? {} }) }),
    ]);
    const ends = claims.map((claim) => listClaims([claim]).at(-1)?.split(", ").at(-1));
    expect(ends).toEqual(text === undefined ? [] : [text]);
  },
);

test.each<[Json, Json, string | undefined]>([
  [{}, { target: { role: "eves" } }, "lets those with the role eves decide about its calls"],
  [{ target: { role: "finance" } }, { target: "user" }, "lets you decide about its calls"],
  [{ target: { role: "finance" } }, { target: { role: "finance" } }, undefined],
  [{}, { target: "user" }, undefined],
  [
    { target: { user: "ada" } },
    { target: [{ user: "ada", within: "1s" }, { user: "eve" }] },
    "lets ada, then eve decide about its calls",
  ],
  [
    { target: { role: "finance" } },
    { questions: { sure: { target: "user" } } },
    "lets you answer sure",
  ],
  [
    { target: { role: "finance" } },
    { policy: { run: [{ mode: "ask", target: { user: "eve" } }] } },
    'lets eve decide by the rule {"target":{"user":"eve"}}',
  ],
  [{ target: { role: "finance" } }, { policy: { run: [{ mode: "ask" }] } }, undefined],
])(
  "the people who decide about calls need trust if they are others than before: from %j to %j: %s",
  (own, said, text) => {
    counters("T-PEOPLE-4");
    const [before, after] = [own, said].map((table) => table as JsonObject);
    const claims = findClaims([
      ...BASE,
      user({ conversation: tools({ make: { ...LOCAL, ...before } }) }),
      workspace({ conversation: tools({ make: after ?? {} }) }),
    ]);
    const texts = claims.flatMap((claim) => listClaims([claim]).at(-1) ?? []);
    const isSaid = (each: string) => text !== undefined && each.includes(text);
    expect(texts.map(isSaid)).toEqual(text === undefined ? [] : [true]);
  },
);

describe("the user's name", () => {
  const NAMED = { make: { ...LOCAL, questions: { sure: { target: { user: "ada" } } } } };
  const EVE = { user: { name: "eve" } };

  test("needs trust where it decides who may answer", () => {
    counters("T-WORK-16");
    const own = user({ conversation: tools(NAMED), ...EVE });
    const layers = [...BASE, own, workspace({ user: { name: "ada" } })];
    expect(findClaims(layers).map(describeClaim)).toEqual(["your name"]);
    expect(listClaims(findClaims(layers)).at(-1)).toBe(
      "- your name: is ada, who answers what is meant for them alone",
    );
    expect(withoutClaims(layers, findClaims(layers)).user).toEqual({ name: "eve" });
  });

  test("needs trust although the workspace also lets everyone answer", () => {
    counters("T-WORK-16");
    const said = tools({ make: { questions: { sure: { target: "user" } } } });
    const hostile = workspace({ user: { name: "ada" }, conversation: said });
    const claims = findClaims([...BASE, user({ conversation: tools(NAMED) }), hostile]);
    expect(claims.map(describeClaim)).toEqual(["tool make", "your name"]);
  });

  test("needs none where no question is for one person, or if it is the same", () => {
    const own = user({ conversation: tools(NAMED), ...EVE });
    expect([claimed(workspace({ user: { name: "ada" } })), claimed(own, workspace(EVE))]).toEqual([
      [],
      [],
    ]);
  });
});

describe("a time limit", () => {
  const remote = { source: "mcp.s" };

  test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ["removed", { make: { ...LOCAL, timeout_secs: 60 } }, { make: { timeout_secs: 0 } }, ["make"]],
    ["raised", { make: { ...LOCAL, timeout_secs: 60 } }, { make: { timeout_secs: 61 } }, ["make"]],
    ["lowered", { make: { ...LOCAL, timeout_secs: 60 } }, { make: { timeout_secs: 9 } }, []],
    ["given to a tool without", { make: LOCAL }, { make: { timeout_secs: 9 } }, []],
    ["left at none", { make: LOCAL }, { make: { timeout_secs: 0 } }, []],
    [
      "removed that the user has set for all tools",
      { make: LOCAL, "*": { timeout_secs: 60 } },
      { make: { timeout_secs: 0 } },
      ["make"],
    ],
    [
      "removed for all tools",
      { make: LOCAL, "*": { timeout_secs: 60 } },
      { "*": { timeout_secs: 0 } },
      ["*"],
    ],
    ["lowered for all tools", { "*": { timeout_secs: 60 } }, { "*": { timeout_secs: 9 } }, []],
    [
      "for all tools that the user's tool does not use",
      { make: { ...LOCAL, timeout_secs: 60 } },
      { "*": { timeout_secs: 0 } },
      [],
    ],
    ["removed of an MCP tool", { far: remote }, { far: { timeout_secs: 0 } }, ["far"]],
    ["removed of all MCP tools", { far: remote }, { "*": { timeout_secs: 0 } }, ["*"]],
    ["lowered of an MCP tool", { far: remote }, { far: { timeout_secs: 299 } }, []],
  ])("needs trust if it is removed or raised: %s, of %j to %j: %j", (_name, own, said, names) => {
    counters("T-WORK-4");
    const layers = [user({ conversation: tools(own) }), workspace({ conversation: tools(said) })];
    expect(claimed(...layers)).toEqual(names.map((name) => `tool ${name}`));
  });

  test("stays as the user has set it if the change is not trusted", () => {
    counters("T-WORK-4");
    const layers = [
      ...BASE,
      user({ conversation: tools({ make: { ...LOCAL, timeout_secs: 60 } }) }),
      workspace({ conversation: tools({ make: { timeout_secs: 0 } }) }),
    ];
    const claims = findClaims(layers);
    const { make } = withoutClaims(layers, claims).conversation?.tools ?? {};
    expect([make?.timeout_secs, listClaims(claims)]).toEqual([
      60,
      [".jp/config.toml:", "- tool make: runs make, without a time limit"],
    ]);
  });
});

test("keeping a question of a user's tool from models needs no trust", () => {
  const own = user({ conversation: tools({ make: LOCAL }) });
  const stricter = { make: { questions: { sure: { exclusive: true } } } };
  expect(claimed(own, workspace({ conversation: tools(stricter) }))).toEqual([]);
});

test("restoring a default that the user changed needs trust", () => {
  const own = user({ conversation: tools({ read: { run: "ask", enable: false } }) });
  const said = [{ run: "unattended" }, { enable: true }, { result: "unattended" }];
  const claims = said.map((read) => claimed(own, workspace({ conversation: tools({ read }) })));
  expect(claims).toEqual([["tool read"], ["tool read"], []]);
});

test("dropping the user's config needs trust, and hides no other claim", () => {
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

test.each<[JsonObject, string]>([
  [{ hidden: true }, "hides its calls from you"],
  [{ header: "off" }, "hides its calls from you"],
  [{ inline_results: { user: "chat" } }, "shows what it tells you as the assistant's words"],
  [
    { error: { inline_results: { user: "chat" } } },
    "shows what it tells you as the assistant's words",
  ],
])("a style that deceives about a user's tool needs trust: %j", (style, text) => {
  counters("T-WORK-11");
  const own = user({ conversation: tools({ make: LOCAL }) });
  const styled = workspace({ conversation: tools({ make: { style } }) });
  const ends = findClaims([...BASE, own, styled]).map((claim) =>
    listClaims([claim]).at(-1)?.split(", ").at(-1),
  );
  const all = claimed(own, workspace({ conversation: tools({ "*": { style } }) }));
  expect([ends, all]).toEqual([[text], ["tool *"]]);
});

test("a style that only shows more or less of a user's tool needs no trust", () => {
  const own = user({ conversation: tools({ make: { ...LOCAL, style: { hidden: true } } }) });
  const style = { hidden: true, header: true, inline_results: "off", parameters: "json" };
  expect(claimed(own, workspace({ conversation: tools({ make: { style } }) }))).toEqual([]);
});

test("the description and style of a tool that the workspace brings do not change a claim", () => {
  const shown = { summary: "Makes.", enable: "off", style: { hidden: true }, group: "g" };
  const [plain, decorated] = [LOCAL, { ...LOCAL, ...shown }].map((make) =>
    findClaims([...BASE, workspace({ conversation: tools({ make }) })]).map(({ value }) => value),
  );
  expect(decorated).toEqual(plain);
});

test("a config without its claims falls back to the user's own", () => {
  const own = user({ conversation: tools({ make: LOCAL }) });
  const foreign = workspace({
    conversation: tools({ make: { command: "rm" }, more: LOCAL, read: { run: "ask" } }),
    providers: { mcp: { s: { command: "s" } } },
  });
  const layers = [...BASE, own, foreign];
  const { conversation, providers } = withoutClaims(layers, findClaims(layers));
  const { "*": _all, write: _write, ask_user: _ask, ...left } = conversation?.tools ?? {};
  expect([left, providers?.mcp]).toEqual([
    {
      read: { source: "builtin", run: "ask", enable: { state: false, allow_toggle: "any" } },
      make: { source: "local", command: { program: "make", args: [], shell: false } },
    },
    {},
  ]);
});

describe("the model and the prompt that may answer for a user's tool", () => {
  const MODEL = { model: { id: "openai/gpt" } };
  const ASKED = { questions: { sure: { target: "assistant" } } };

  test.each<[string, JsonObject, readonly string[]]>([
    [
      "the model for questions",
      { conversation: { inquiry: { assistant: MODEL } } },
      ["assistant conversation.inquiry.assistant"],
    ],
    [
      "its instructions",
      { conversation: { inquiry: { assistant: { instructions: [{ items: ["Say yes."] }] } } } },
      ["assistant conversation.inquiry.assistant"],
    ],
    ["the assistant's model", { assistant: MODEL }, ["assistant assistant"]],
    ["its system prompt", { assistant: { system_prompt: "Say yes." } }, ["assistant assistant"]],
    [
      "a section of it",
      { assistant: { system_prompt_sections: [{ content: "Say yes." }] } },
      ["assistant assistant"],
    ],
    [
      "another meaning of the user's short name",
      { providers: { llm: { aliases: { careful: "openai/careless" } } } },
      ["alias careful"],
    ],
    ["another short name", { providers: { llm: { aliases: { other: "openai/gpt" } } } }, []],
    ["how it is called", { assistant: { name: "Ada" } }, []],
  ])("need trust, and are not used without it: %s: %j claims %j", (_name, said, names) => {
    counters("T-WORK-20");
    const own = user({
      assistant: { model: { id: "careful" } },
      providers: { llm: { aliases: { careful: "anthropic/opus" } } },
      conversation: tools({ make: LOCAL }),
    });
    const layers = [...BASE, own, workspace(said)];
    const claims = findClaims(layers);
    const used = withoutClaims(layers, claims);
    const expected = withoutClaims(names.length > 0 ? [...BASE, own] : layers, []);
    expect([claims.map(({ kind, name }) => `${kind} ${name}`), used]).toEqual([names, expected]);
  });

  test.each<[string, JsonObject, boolean]>([
    ["the user has no tool but those of jp", {}, false],
    ["a model answers a tool of jp", { conversation: tools({ write: ASKED }) }, true],
    ["no model answers", { conversation: tools({ make: { ...LOCAL, detached: "deny" } }) }, false],
    [
      "a model answers one question",
      { conversation: tools({ make: { ...LOCAL, detached: "deny", ...ASKED } }) },
      true,
    ],
    [
      "a model may answer what a tool of jp asks a person alone",
      { conversation: tools({ write: { questions: { sure: { exclusive: false } } } }) },
      true,
    ],
    [
      "the user's server offers its tools",
      { providers: { mcp: { s: { command: "s", all_tools: true } } } },
      true,
    ],
  ])("need trust if a model may answer: %s", (_name, own, isClaimed) => {
    counters("T-WORK-20");
    const claims = claimed(user(own), workspace({ assistant: MODEL }));
    expect(claims).toEqual(isClaimed ? ["assistant assistant"] : []);
  });

  test("need trust if it is the workspace that lets a model answer", () => {
    counters("T-WORK-20");
    const own = user({ conversation: tools({ make: { ...LOCAL, detached: "deny" } }) });
    const said = { assistant: MODEL, conversation: tools({ make: ASKED }) };
    expect(claimed(own, workspace(said))).toEqual(["tool make", "assistant assistant"]);
  });

  test("need trust although the workspace replaces the tool by one that no model answers", () => {
    counters("T-WORK-20");
    const own = user({ conversation: tools({ make: LOCAL }) });
    const replaced = { source: "local", command: "other", detached: "deny" };
    const said = { assistant: MODEL, conversation: tools({ make: replaced }) };
    expect(claimed(own, workspace(said))).toEqual(["tool make", "assistant assistant"]);
  });

  test.each<[string, JsonObject]>([
    ["for the assistant", { assistant: { model: { id: "careful" } } }],
    ["for questions", { conversation: { inquiry: { assistant: { model: { id: "careful" } } } } }],
    ["for another short name", { providers: { llm: { aliases: { mine: "careful" } } } }],
    [
      "for one question",
      ofTool({ questions: { sure: { target: { model: { id: "careful" } } } } }, "make"),
    ],
  ])("need trust for a short name that the user uses and has not defined: %s", (_name, uses) => {
    counters("T-WORK-20");
    const own = [user({ conversation: tools({ make: LOCAL }) }), user(uses)];
    const said = { providers: { llm: { aliases: { careful: "openai/careless" } } } };
    expect(claimed(...own, workspace(said))).toEqual(["alias careful"]);
  });

  test("need none for a tool that the workspace brings", () => {
    const said = { assistant: MODEL, conversation: tools({ make: LOCAL }) };
    expect(claimed(workspace(said))).toEqual(["tool make"]);
  });

  test("are shown whole", () => {
    const assistant = { ...MODEL, system_prompt: "Say\nyes.", instructions: [{ items: ["Now."] }] };
    const layers = [
      ...BASE,
      user({ conversation: tools({ make: LOCAL }) }),
      workspace({ assistant }),
    ];
    expect(listClaims(findClaims(layers))).toEqual([
      ".jp/config.toml:",
      "- the assistant, which may answer questions of your tools: uses openai/gpt, " +
        'system_prompt is "Say\\nyes.", instructions is [{"items":["Now."]}]',
    ]);
  });
});

describe("a setting that loosens something", () => {
  const own = user({
    conversation: {
      start_local: true,
      limits: { automatic_answers_per_call: 3 },
      max_cycles: 5,
    },
  });

  test.each<[string, JsonObject]>([
    [
      "conversation.limits.automatic_answers_per_call",
      { limits: { automatic_answers_per_call: 4 } },
    ],
    [
      "conversation.limits.automatic_answers_per_turn",
      { limits: { automatic_answers_per_turn: 9999 } },
    ],
    [
      "conversation.limits.record_bytes_per_call",
      { limits: { record_bytes_per_call: 67_108_864 } },
    ],
    ["conversation.max_cycles", { max_cycles: 6 }],
    ["conversation.default_id", { default_id: "last_created" }],
    ["conversation.start_local", { start_local: false }],
  ])("needs trust, and is not used without it: %s", (name, conversation) => {
    counters("T-WORK-21");
    const layers = [...BASE, own, workspace({ conversation })];
    const claims = findClaims(layers);
    expect([claims.map((claim) => claim.name), withoutClaims(layers, claims)]).toEqual([
      [name],
      withoutClaims([...BASE, own], []),
    ]);
  });

  test.each<[string, JsonObject]>([
    ["max_retries", { max_retries: 6 }],
    ["max_response_bytes", { max_response_bytes: 0 }],
    ["stream_idle_timeout_secs", { stream_idle_timeout_secs: 0 }],
    ["prompt_timeout_secs", { prompt_timeout_secs: 601 }],
  ])("needs trust for requests: %s", (key, request) => {
    counters("T-WORK-21");
    const claims = findClaims([...BASE, workspace({ assistant: { request } })]);
    expect(listClaims(claims)[1]).toBe(
      `- assistant.request.${key}: is ${JSON.stringify(request[key])}`,
    );
  });

  test("needs trust for requests of the model that answers questions", () => {
    counters("T-WORK-21");
    const request = { max_retries: 6, max_response_bytes: 0, stream_idle_timeout_secs: 10 };
    const asked = workspace({ conversation: { inquiry: { assistant: { request } } } });
    const more = user({ assistant: { request: { max_retries: 7 } } });
    const keys = ["max_response_bytes", "max_retries"].map(
      (key) => `setting conversation.inquiry.assistant.request.${key}`,
    );
    expect(claimed(asked).toSorted()).toEqual(keys);
    // It has the limits of the main one unless it sets its own.
    expect(claimed(more, asked)).toEqual(keys.slice(0, 1));
    const layers = [...BASE, asked];
    expect(withoutClaims(layers, findClaims(layers)).conversation?.inquiry?.assistant).toEqual({
      request: { stream_idle_timeout_secs: 10 },
    });
  });

  test("needs trust for private hosts that a model may reach", () => {
    counters("T-WEB-1");
    const named = user({ web: { private_hosts: ["localhost:3000"] } });
    const hosts = ["localhost:3000", "localhost:5432"];
    const layers = [...BASE, named, workspace({ web: { private_hosts: hosts } })];
    const claims = findClaims(layers);
    expect(listClaims(claims)[1]).toBe("- web.private_hosts: is localhost:3000, localhost:5432");
    expect(withoutClaims(layers, claims).web).toEqual({ private_hosts: ["localhost:3000"] });
    const less = [[], ["localhost:3000"]].map((some) =>
      workspace({ web: { private_hosts: some } }),
    );
    expect(less.map((layer) => claimed(named, layer))).toEqual([[], []]);
  });

  test("needs trust to keep nothing that could be restored", () => {
    counters("T-UNDO-6");
    const layers = [...BASE, workspace({ undo: { keep: false } })];
    const claims = findClaims(layers);
    expect(listClaims(claims)[1]).toBe("- undo.keep: is false");
    expect(withoutClaims(layers, claims).undo?.keep).not.toBe(false);
    expect(claimed(user({ undo: { keep: false } }), workspace({ undo: { keep: false } }))).toEqual(
      [],
    );
  });

  test("needs none if it is as strict as before, or stricter", () => {
    const conversation = {
      limits: { automatic_answers_per_call: 0 },
      max_cycles: 5,
      default_id: "ask",
      start_local: true,
    };
    const request = { max_retries: 0, max_response_bytes: 1024, stream_idle_timeout_secs: 1 };
    expect(claimed(own, workspace({ conversation, assistant: { request } }))).toEqual([]);
  });
});
