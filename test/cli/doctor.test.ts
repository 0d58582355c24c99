import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { EVERYTHING, isRunning, TEST_PROGRAM } from "../mcp/support.ts";
import { counters } from "../security/threats.ts";
import { findSandboxProblem } from "../../src/reach/shell/index.ts";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { ModelServer } from "./model-server.ts";
import { holdConversation } from "./query-project.ts";
import { question, request } from "./records.ts";
import { Screen } from "./screen.ts";
import { jsonLines, Project } from "./support.ts";

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly hint?: string;
}

interface Examined {
  readonly status: number | null;
  readonly findings: readonly Finding[];
  /** The lines of one check. */
  readonly of: (check: string) => readonly Finding[];
}

type Variables = Readonly<Record<string, string>>;

/** A workspace that reaches no server but this one, if any. */
async function projectWith(config = "", server?: ModelServer): Promise<Project> {
  const project = new Project();
  const closed = await ModelServer.closedUrl();
  writeFileSync(
    path.join(project.root, ".jp", "config.toml"),
    [
      `providers.llm.ollama.base_url = "${closed}"`,
      `providers.llm.llamacpp.base_url = "${server?.url ?? closed}"`,
      config,
    ].join("\n"),
  );
  return project;
}

async function examine(
  project: Project,
  variables: Variables = {},
  ...words: readonly string[]
): Promise<Examined> {
  const all = { EDITOR: "vim", JP_NONINTERACTIVE: "1", ...variables };
  const end = await project.jpWith(all, "doctor", "--format", "json", ...words);
  expect(end.stderr).toBe("");
  const findings = jsonLines(end) as readonly Finding[];
  const of = (check: string) => findings.filter((finding) => finding.check === check);
  return { status: end.status, findings, of };
}

function stdioServer(name: string, ...words: readonly string[]): string {
  return `[providers.mcp.${name}]\ncommand = ${JSON.stringify(process.execPath)}\narguments = ${JSON.stringify(words)}\n`;
}

describe("a healthy workspace", () => {
  test("prints one line per check and exits with status 0", async () => {
    await using server = await ModelServer.start([]);
    const project = await projectWith('assistant.model.id = "llamacpp/scripted"', server);
    project.place({ second: 10, title: "One", events: [request(10, "Hello.")] });
    const { stdout, stderr, status } = await project.jpWith(
      { EDITOR: "vim", JP_NONINTERACTIVE: "1" },
      "doctor",
    );
    const config = path.join(project.root, ".jp", "config.toml");
    const [closed = ""] = /(?<=ollama +no server at )\S+/.exec(stdout) ?? [];
    // Whether there is a sandbox depends on the machine.
    const lines = stdout
      .trimEnd()
      .split("\n")
      .filter((line) => !/^\w+ +(?:sandbox|environment) /.test(line));
    expect({ status, stderr, lines }).toEqual({
      status: 0,
      stderr: "",
      lines: [
        `ok       node           Node ${process.versions.node}`,
        "warning  terminal       JP_NONINTERACTIVE is 1, so jp never prompts and applies the configured policy. Unset it to get prompts.",
        "ok       editor         vim (EDITOR)",
        `ok       user data      ${project.data} (created when needed)`,
        `ok       workspace      ${project.root} (abc12)`,
        "ok       locks          none held",
        "ok       conversations  1, all readable",
        `ok       config         ${config}`,
        "ok       model          llamacpp/scripted is available",
        `ok       ollama         no server at ${closed}`,
        `ok       llamacpp       1 model at ${server.url}`,
        "ok       tools          ask_user, tell_user, describe_tools",
      ],
    });
  });

  test("reports width, colors and notifications of the terminal", async () => {
    const project = await projectWith("style.notification.desktop = false");
    const colored = await new Screen(project, ["doctor"], { columns: 100 }).end();
    const plain = await new Screen(project, ["doctor"], { variables: { NO_COLOR: "1" } }).end();
    const line = /terminal +(.*?)\s*$/m;
    const reported = [colored, plain].map(({ lines }) => line.exec(lines.join("\n"))?.[1]);
    expect(reported[0]).toBe("prompts work, 100 columns, colors, notifications: bell");
    expect(reported[1]).toContain("prompts work, 80 columns, no colors");
  });

  test("is not changed", async () => {
    const project = await projectWith('[conversation.tools."*"]\nrun = "ask"');
    project.place({ second: 10, events: '[\n  {\n    "timestamp": "2026' });
    const folders = [project.root, project.data, project.home, project.temporary];
    const before = snapshotOf(...folders);
    await examine(project);
    expect(snapshotOf(...folders)).toEqual(before);
  });
});

describe("outside a workspace", () => {
  test("the other checks still run", async () => {
    const project = new Project({ isBare: true });
    const { of, findings } = await examine(project);
    expect([of("workspace"), findings.some(({ check }) => check === "conversations")]).toEqual([
      [
        {
          check: "workspace",
          state: "ok",
          message: `${project.root} is not a workspace; its conversations are stored in your data folder`,
        },
      ],
      true,
    ]);
  });
});

describe("records", () => {
  test("are printed as one sentence if they are damaged, and how to repair them as another", async () => {
    const project = await projectWith();
    const { id, events } = project.place({ second: 20 });
    writeFileSync(events, "garbage");
    const { stdout } = await project.jp("doctor");
    expect(stdout).toContain(`(7 bytes). Edit it: jp conversation edit --events ${id}`);
  });

  test("are a warning if they are torn, and a problem if they are damaged, each with its location", async () => {
    const project = await projectWith();
    const torn = project.place({
      second: 10,
      events:
        '[\n  {\n    "timestamp": "2026-01-02 03:04:05.0",\n    "type": "turn_start"\n  },\n  {\n',
    });
    const damaged = project.place({ second: 20 });
    writeFileSync(
      damaged.events,
      '[\n  {\n    "type": "turn_start",\n    "timestamp": "2026-01-02 03:04:05.0"\n  },\n  }{ nothing,\n  {\n    "type": "turn_start",\n    "timestamp": "2026-01-02 03:04:06.0"\n  }\n]\n',
    );
    const unreadable = project.place({ second: 30, metadata: "{" });
    const { status, of } = await examine(project);
    const found = of("conversations").map(({ state, message, hint }) => ({
      state,
      place: [torn.events, damaged.events, unreadable.id].find((one) => message.includes(one)),
      hint,
    }));
    expect([status, found]).toEqual([
      1,
      expect.arrayContaining([
        {
          state: "warning",
          place: torn.events,
          hint: "The next command that writes to it moves these bytes to a separate file.",
        },
        {
          state: "problem",
          place: damaged.events,
          hint: `Edit it: jp conversation edit --events ${damaged.id}`,
        },
        {
          state: "problem",
          place: unreadable.id,
          hint: `Edit it: jp conversation edit --metadata ${unreadable.id}`,
        },
      ]),
    ]);
    expect(found).toHaveLength(3);
  });

  test("are listed if the Rust version cannot open them, because they ask for a secret", async () => {
    counters("T-COMPAT-2");
    const project = await projectWith();
    const secret = question(11, "a.key.1", { answer_type: { type: "secret" } });
    const { id } = project.place({ second: 10, events: [secret] });
    project.place({ second: 20, events: [question(21, "a.ok.1")] });
    const { of } = await examine(project);
    expect(of("conversations").map(({ state, message }) => [state, message])).toEqual([
      ["ok", "2, all readable"],
      ["ok", `The Rust version of jp cannot open conversations that ask for a secret: ${id}`],
    ]);
  });

  test("are listed with their process if they are in use, and stay writable", async () => {
    const project = await projectWith();
    const { id } = project.place({ second: 10, config: {} });
    const holder = await holdConversation(project);
    const { of } = await examine(project);
    const [held] = of("locks");
    expect([held?.state, held?.message.replace(/ since .*/, "")]).toEqual([
      "ok",
      `${id} is in use by process ${holder.pid}`,
    ]);
    await holder.kill();
    const [left] = (await examine(project)).of("locks");
    expect(left?.message).toMatch(
      new RegExp(`^${id} was in use by process ${holder.pid} since .*, which has ended`),
    );
  });
});

describe("the user's data", () => {
  test.skipIf(process.getuid?.() === 0)("must be writable", async () => {
    const project = await projectWith();
    mkdirSync(project.data, { mode: 0o500 });
    const { status, of } = await examine(project);
    chmodSync(project.data, 0o700);
    expect([status, of("user data")[0]?.state]).toEqual([1, "problem"]);
  });

  test("is a problem if a file is in the way", async () => {
    const project = await projectWith();
    writeFileSync(project.data, "");
    const { status, of } = await examine(project);
    expect([status, of("user data")]).toEqual([
      1,
      [
        {
          check: "user data",
          state: "problem",
          message: `Cannot write to ${project.data}.`,
          hint: "Check its owner and permissions, or set JP_USER_DATA_DIR.",
        },
      ],
    ]);
  });
});

describe("the config", () => {
  test("reports each mistake with file and line, and skips checks that need the config", async () => {
    const project = await projectWith('assistant.name = 3\nconversation.max_cycles = "many"');
    const file = path.join(project.root, ".jp", "config.toml");
    const { status, of, findings } = await examine(project);
    expect([status, of("config").map(({ state, message }) => [state, message])]).toEqual([
      1,
      [
        ["problem", expect.stringContaining(`${file}:3: assistant.name: `)],
        ["problem", expect.stringContaining(`${file}:4: conversation.max_cycles: `)],
      ],
    ]);
    expect(findings.at(-1)?.check).toBe("config");
  });

  test("shows the place if it is not valid TOML", async () => {
    const project = await projectWith("not TOML");
    const { of } = await examine(project);
    expect(of("config")).toMatchObject([
      { state: "problem", message: expect.stringMatching(/config\.toml: 3:\d+: invalid TOML/) },
    ]);
  });

  test("warns about unknown keys and unusable tools", async () => {
    const project = await projectWith(
      'asistant.name = "x"\n[conversation.tools.lost]\nrun = "ask"',
    );
    const { of } = await examine(project);
    expect(
      of("config").map(({ state, message }) => [state, message.replace(/^.*config\.toml/, "")]),
    ).toEqual([
      ["warning", expect.stringMatching(/^:3: asistant: .*assistant/)],
      ["warning", "conversation.tools.lost.source: source is missing, so the tool cannot be used"],
    ]);
  });
});

test("warns about settings for questions that a builtin tool does not ask", async () => {
  const project = await projectWith(
    [
      "[conversation.tools.fs_delete_file.questions.delet_file]",
      'target = { user = "lead" }',
      "[conversation.tools.fs_read_file.questions.sure]",
      "answer = true",
      "[conversation.tools.ask_user.questions.answer]",
      'prompt_label = "jp"',
      "[conversation.tools.ask]",
      'source = "builtin.ask_user"',
      "questions.anwser.answer = 1",
    ].join("\n"),
  );
  const { of } = await examine(project);
  const messages = of("config").map(({ message }) =>
    message.replace(/^.*config\.toml: conversation\.tools\./, ""),
  );
  expect(messages).toEqual([
    "fs_delete_file.questions.delet_file: unknown question; did you mean delete_file?",
    "fs_read_file.questions.sure: unknown question; fs_read_file asks no questions",
    "ask.questions.anwser: unknown question; did you mean answer?",
  ]);
});

describe("the model", () => {
  const KEYED = 'assistant.model.id = "openrouter/scripted"';

  test("is a problem without its API key, and names the variable", async () => {
    const { status, of } = await examine(await projectWith(KEYED));
    expect([status, of("model")]).toEqual([
      1,
      [
        {
          check: "model",
          state: "problem",
          message: "No API key for openrouter.",
          hint: "Set OPENROUTER_API_KEY.",
        },
      ],
    ]);
  });

  test("is looked up with its API key, and the key is never shown", async () => {
    await using server = await ModelServer.start([]);
    const base = `providers.llm.openrouter.base_url = "${server.url}"`;
    const project = await projectWith(`${KEYED}\n${base}`);
    const variables = { OPENROUTER_API_KEY: "hush-hush" };
    const known = await examine(project, variables);
    expect([known.status, known.of("model")[0]?.message]).toEqual([
      0,
      "openrouter/scripted is available",
    ]);
    expect(JSON.stringify(known.findings)).not.toContain("hush");
  });

  test("is a warning if its provider does not list it", async () => {
    await using server = await ModelServer.start([], ["one", "another"]);
    const project = await projectWith('assistant.model.id = "llamacpp/scripted"', server);
    const { status, of } = await examine(project);
    expect([status, of("model")[0]]).toEqual([
      0,
      {
        check: "model",
        state: "warning",
        message: "llamacpp is reachable, but does not list scripted.",
        hint: "See: jp model ls llamacpp",
      },
    ]);
  });

  test("may have any name on a llama.cpp server with only one model", async () => {
    await using server = await ModelServer.start([], ["/models/some.gguf"]);
    const project = await projectWith('assistant.model.id = "llamacpp/scripted"', server);
    const { status, of } = await examine(project);
    expect([status, of("model")]).toEqual([
      0,
      [{ check: "model", state: "ok", message: "llamacpp/scripted is available" }],
    ]);
  });

  test("is a warning if it is not configured and one is available, else a problem", async () => {
    await using server = await ModelServer.start([]);
    const found = await examine(await projectWith("", server));
    const keyed = await examine(await projectWith(), { OPENAI_API_KEY: "x" });
    const none = await examine(await projectWith());
    const ends = [found, keyed, none].map(({ status, of }) => [status, of("model")[0]?.state]);
    expect(ends).toEqual([
      [0, "warning"],
      [0, "warning"],
      [1, "problem"],
    ]);
  });

  test("behind an unknown alias is a problem", async () => {
    const { status, of } = await examine(await projectWith('assistant.model.id = "fats"'));
    expect([status, of("model")[0]?.message]).toEqual([1, "Unknown model alias `fats`."]);
  });
});

describe("MCP servers", () => {
  const MODEL = 'assistant.model.id = "llamacpp/scripted"';

  test("are started and stopped again if their tools are enabled", async () => {
    await using server = await ModelServer.start([]);
    const { temporary } = await projectWith();
    const logOf = (name: string) => path.join(temporary, name);
    const config = [
      MODEL,
      ...["used", "idle"].map((name) => stdioServer(name, TEST_PROGRAM, `--log=${logOf(name)}`)),
      '[conversation.tools.echo]\nsource = "mcp.used"\n',
    ].join("\n");
    const { status, of } = await examine(await projectWith(config, server));
    expect([status, of("mcp")]).toEqual([
      0,
      [{ check: "mcp", state: "ok", message: "used started, with echo" }],
    ]);
    const [, pid] = /started (\d+)/.exec(readFileSync(logOf("used"), "utf8")) ?? [];
    expect(isRunning(Number(pid))).toBe(false);
    expect(() => readFileSync(logOf("idle"))).toThrow("ENOENT");
  });

  test("are started too if they offer all of their tools, without an entry for a tool", async () => {
    await using server = await ModelServer.start([]);
    const config = [
      MODEL,
      `${stdioServer("test", TEST_PROGRAM)}all_tools = true\n`,
      `${stdioServer("broken", "-e", "process.exit(3)")}all_tools = true\n`,
    ].join("\n");
    const { status, of } = await examine(await projectWith(config, server));
    expect([status, of("mcp").map(({ state, message }) => [state, message])]).toEqual([
      1,
      [
        ["ok", expect.stringMatching(/^test started, with .*\becho\b/)],
        ["problem", expect.stringContaining('The MCP server "broken"')],
      ],
    ]);
  });

  test("are reported once each, with a hint, if they do not start or lack a tool", async () => {
    await using server = await ModelServer.start([]);
    const config = [
      MODEL,
      stdioServer("everything", EVERYTHING, "stdio"),
      '[conversation.tools.missing]\nsource = "mcp.everything"\n',
      stdioServer("broken", "-e", "process.exit(3)"),
      '[conversation.tools.one]\nsource = "mcp.broken"\n',
      '[conversation.tools.two]\nsource = "mcp.broken"\n',
      '[conversation.tools.nowhere]\nsource = "mcp.unheard_of"\n',
    ].join("\n");
    const { status, of } = await examine(await projectWith(config, server));
    const reported = of("mcp").map(({ state, message, hint }) => [
      state,
      /MCP server "(\w+)"/.exec(message)?.[1],
      hint !== undefined,
    ]);
    expect([status, reported]).toEqual([
      1,
      [
        ["problem", "everything", true],
        ["problem", "broken", true],
        ["problem", "unheard_of", true],
      ],
    ]);
  });

  test("are only a warning if they are optional, and jp waits for none beyond the timeout", async () => {
    await using server = await ModelServer.start([]);
    const config = [
      MODEL,
      `${stdioServer("slow", "-e", "setInterval(() => {}, 1000)")}optional = true\n`,
      '[conversation.tools.one]\nsource = "mcp.slow"\n',
    ].join("\n");
    const { status, of } = await examine(await projectWith(config, server), {}, "--timeout", "1");
    expect([status, of("mcp")]).toEqual([
      0,
      [
        {
          check: "mcp",
          state: "warning",
          message: 'The MCP server "slow" was not ready within 1 s.',
          hint: "To wait longer: jp doctor --timeout 60",
        },
      ],
    ]);
  });
});

/** As the check of the config reports it. */
function warns(tool: string, what: string, hint?: string): Finding {
  return {
    check: "config",
    state: "warning",
    message: `conversation.tools.${tool}: ${what}`,
    ...(hint !== undefined && { hint }),
  };
}

describe("decisions for people", () => {
  const ROLE = 'target = { role = "finance" }';
  const CONFIG = [
    `[conversation.tools.pay]\nsource = "local"\ncommand = "true"\n${ROLE}\n`,
    '[conversation.tools.sign]\nsource = "local"\ncommand = "true"\n',
    'target = { user = "ada", proof = "signed" }\n',
    '[conversation.tools.ask]\nsource = "local"\ncommand = "true"\ntarget = { user = "ada" }\n',
  ].join("\n");
  const add = "To add yourself: jp serve people add NAME --roles ROLE --os-user USER";
  const alone = "To decide alone: jp config set --in user people.owner_alone true";
  const key = "Then add a key:  jp serve people key add NAME --new";
  const WAITS = "some decisions wait, because they take people and none are known";

  test("are reported while no people are known, with both ways out", async () => {
    const project = await projectWith(CONFIG);
    expect((await examine(project)).of("config")).toEqual([
      warns("pay", WAITS, `${add}\n${alone}`),
      warns("sign", WAITS, `${add}\n${key}`),
    ]);
    await project.jp("config", "set", "--in", "user", "people.owner_alone", "true");
    expect((await examine(project)).of("config")).toEqual([warns("sign", WAITS, `${add}\n${key}`)]);
  });

  test("are reported if no one has the role", async () => {
    const project = await projectWith(CONFIG);
    await project.jp("serve", "people", "add", "ada", "--roles", "ops");
    expect((await examine(project)).of("config")).toEqual([
      warns("pay", "no one has the role finance"),
    ]);
  });
});

test("warns about a schema of another version, and says how to update it", async () => {
  const project = await projectWith();
  const file = path.join(project.root, ".jp", "config.schema.json");
  const { stdout } = await project.jp("config", "schema");
  writeFileSync(file, stdout.replace('"assistant"', '"old"'));
  const { of: before } = await examine(project);
  writeFileSync(file, stdout);
  const { of: after } = await examine(project);
  expect([...before("schema"), ...after("schema")]).toEqual([
    {
      check: "schema",
      state: "warning",
      message: `${file} does not have the keys of this version, so editors may report wrong mistakes.`,
      hint: `To update it: jp config schema > ${file}`,
    },
    { check: "schema", state: "ok", message: `${file} is up to date` },
  ]);
});

test("knows the editor of the config", async () => {
  const project = await projectWith('editor.cmd = "code --wait"');
  const { of } = await examine(project, { EDITOR: "" });
  expect(of("editor")).toMatchObject([{ state: "ok", message: "code --wait (editor.cmd)" }]);
});

test("warns if no editor is set", async () => {
  const { of } = await examine(await projectWith(), { EDITOR: "" });
  expect(of("editor")[0]?.state).toBe("warning");
});

test("doctor names the rules about paths whose argument has no type", async () => {
  const project = await projectWith();
  const file = path.join(project.home, ".config", "jp", "config.toml");
  mkdirSync(path.dirname(file), { recursive: true });
  const rules = ['prefix = "src/"', 'glob = "src/**"', 'pattern = "^src/"', 'prefix = "src"'].map(
    (condition) => `{ arg = "/target", ${condition}, mode = "unattended" }`,
  );
  writeFileSync(
    file,
    `[conversation.tools.deploy]
source = "local"
command = "true"
enable = true
parameters.target = { type = "string" }
policy.run = [${rules.join(", ")}]
`,
  );
  const { of } = await examine(project);
  const key = "conversation.tools.deploy.policy.run";
  expect(of("rules")).toEqual(
    [0, 1, 2].map((index) => ({
      check: "rules",
      state: "warning",
      message: `${file}: ${key}[${index}]: /target of deploy has no type = "path", so it is compared as text.`,
      hint: "If it is a path, set the type in the parameters of the tool.",
    })),
  );
});

test("doctor lists the variables that commands get, and those that are left out", async () => {
  const project = await projectWith();
  const folder = path.join(project.home, "config");
  mkdirSync(folder);
  writeFileSync(
    path.join(folder, "config.toml"),
    '[shell]\nenv = ["MYAPP_*"]\nhide_env = ["MYAPP_TOKEN"]\n',
  );
  const { findings, of } = await examine(project, {
    JP_GLOBAL_CONFIG_DIR: folder,
    MYAPP_A: "x",
    MYAPP_TOKEN: "geheim",
    PGPASSWORD: "geheim",
    HTTPS_PROXY: "http://ana:geheim@proxy.example",
  });
  const [finding] = of("environment");
  const [passed = "", leftOut = ""] = finding?.message.split("Left out: ") ?? [];
  const names = ["PATH", "MYAPP_A", "MYAPP_TOKEN", "PGPASSWORD", "HTTPS_PROXY"];
  const among = (text: string) => names.filter((name) => text.includes(name));
  expect([among(passed), among(leftOut)]).toEqual([
    ["PATH", "MYAPP_A"],
    ["PGPASSWORD", "HTTPS_PROXY"],
  ]);
  expect([of("environment"), JSON.stringify(findings).includes("geheim")]).toMatchObject([
    [{ state: "ok", hint: expect.stringContaining("shell.env") }],
    false,
  ]);
});

test("doctor says whether shell_run has a sandbox", async () => {
  const project = await projectWith();
  const { of } = await examine(project);
  const problem = await findSandboxProblem();
  expect(of("sandbox")).toMatchObject([{ state: problem === undefined ? "ok" : "warning" }]);
  symlinkSync("/", path.join(project.root, ".git"));
  const { of: withLink } = await examine(project);
  expect(withLink("sandbox")).toMatchObject([
    { state: "warning", message: expect.stringContaining("link"), hint: expect.any(String) },
  ]);
});
