import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import { ModelServer } from "./model-server.ts";
import { query, queryProject, recordOf } from "./query-project.ts";
import { lines, printed, Project } from "./support.ts";

function configure(project: Project, text: string): string {
  const file = path.join(project.root, ".jp", "config.toml");
  writeFileSync(file, text);
  return file;
}

describe("the effective config", () => {
  test("is shown as TOML, or only the part under a key", async () => {
    const project = new Project();
    configure(project, 'assistant.model.id = "ollama/qwen3"\n');
    expect(await project.jp("config", "show", "assistant.model")).toEqual(
      printed(lines('assistant.model.id = "ollama/qwen3"')),
    );
  });

  test("is explained with the source of each value and what it overrides", async () => {
    const project = new Project();
    const file = configure(project, "assistant.request.max_retries = 7\n");
    const variable = "JP_CFG_ASSISTANT_REQUEST_MAX_RETRIES";
    const words = ["config", "show", "assistant.request.max_retries", "--explain"];
    expect([
      await project.jpWith({ [variable]: "8" }, ...words),
      await project.jpWith({ [variable]: "8" }, ...words, "-c", "assistant.request.max_retries=9"),
    ]).toEqual([
      printed(lines(`assistant.request.max_retries = 8  # ${variable} (over ${file}, defaults)`)),
      printed(
        lines(
          "assistant.request.max_retries = 9  # --cfg assistant.request.max_retries " +
            `(over ${variable}, ${file}, defaults)`,
        ),
      ),
    ]);
  });

  test("never shows a configured answer", async () => {
    const project = new Project();
    configure(
      project,
      'conversation.tools.x = { source = "local", questions.q.answer = "hunter2" }\n',
    );
    const shown = await Promise.all([
      project.jp("config", "show"),
      project.jp("config", "show", "--explain"),
      project.jp("config", "show", "--format", "json"),
      project.jp("config", "get", "conversation.tools"),
    ]);
    expect(shown.map(({ status, stdout }) => [status, stdout.includes("hunter2")])).toEqual(
      shown.map(() => [0, false]),
    );
    expect(shown[0]?.stdout).toContain('conversation.tools.x.questions.q.answer = "<set>"\n');
  });

  test("prints a list as it is written, however layers were merged into it", async () => {
    const project = new Project();
    configure(project, 'conversation.attachments = ["a.md"]\n');
    const key = "conversation.attachments";
    const added = ["-c", `${key}+=b.md`];
    expect(await project.jp("config", "get", key, ...added)).toEqual(
      printed(lines('["a.md","b.md"]')),
    );
    expect((await project.jp("config", "show", key, ...added)).stdout).toBe(
      lines('conversation.attachments = ["a.md","b.md"]'),
    );
  });

  test("prints one value: a string as is, anything else as JSON", async () => {
    const project = new Project();
    expect(
      await Promise.all([
        project.jp("config", "get", "assistant.tool_choice"),
        project.jp("config", "get", "conversation.max_cycles"),
        project.jp("config", "get", "providers.llm.ollama"),
        project.jp("config", "get", "assistant.model.id", "-c", "assistant.model.id=openai/gpt"),
      ]),
    ).toEqual([
      printed(lines("auto")),
      printed(lines("50")),
      printed(lines('{"base_url":"http://localhost:11434"}')),
      printed(lines("openai/gpt")),
    ]);
  });

  test("reports a key that is not set", async () => {
    const { status, stderr } = await new Project().jp("config", "get", "assistant.nmae");
    expect([status, stderr.split("\n")[0]]).toEqual([1, "jp: assistant.nmae is not set."]);
  });

  test("works outside a workspace, from the user's own file", async () => {
    const project = new Project({ isBare: true });
    mkdirSync(path.join(project.home, ".config", "jp"), { recursive: true });
    const file = path.join(project.home, ".config", "jp", "config.toml");
    writeFileSync(file, 'user.name = "Ada"\n');
    expect([
      await project.jp("config", "get", "user.name"),
      await project.jp("config", "path"),
    ]).toEqual([printed(lines("Ada")), printed(lines(file))]);
  });
});

describe("a config with mistakes", () => {
  test("of type fails with file, line, key and what was expected", async () => {
    const project = new Project();
    const file = configure(
      project,
      '# tools\n\n[conversation.tools.x]\nsource = "local"\nrun = "maybe"\n',
    );
    const { status, stdout, stderr } = await project.jp("config", "show");
    expect({ status, stdout, first: stderr.split("\n")[0] }).toEqual({
      status: 1,
      stdout: "",
      first: `jp: ${file}:5: conversation.tools.x.run: expected "ask" or "unattended" or "edit" or "skip", got another string`,
    });
  });

  test("in a key warns, suggests the nearest key, and keeps the rest", async () => {
    const project = new Project();
    const file = configure(project, '[assistant]\nnmae = "x"\ntool_choice = "none"\n');
    expect(await project.jp("config", "get", "assistant.tool_choice")).toEqual({
      status: 0,
      stdout: lines("none"),
      stderr: lines(
        `warning: ${file}:2: assistant.nmae: unknown key; did you mean assistant.name?`,
      ),
    });
  });

  test("in a key on the command line warns too", async () => {
    const settings = ["--cfg", "assistant.nmae=x", "--cfg", "assistant.tool_choice=none"];
    expect(await new Project().jp("config", "get", "assistant.tool_choice", ...settings)).toEqual({
      status: 0,
      stdout: lines("none"),
      stderr: lines("warning: --cfg assistant.nmae: unknown key; did you mean assistant.name?"),
    });
  });

  test("that other versions know is refused by name on the command line", async () => {
    for (const [setting, message] of [
      ["style.markdown.hr_style=line", "style.markdown.hr_style: not supported: jp always"],
      ["style.reasoning.display=summary", "style.reasoning.display: not supported: jp does not"],
    ] as const) {
      const { status, stderr } = await new Project().jp("config", "get", "user", "--cfg", setting);
      expect([status, stderr]).toEqual([1, expect.stringContaining(`jp: --cfg ${message}`)]);
    }
  });

  test("in the name of a variable warns and suggests the nearest one", async () => {
    const project = new Project();
    const variables = { JP_CFG_ASSISTANT_NMAE: "x" };
    expect(await project.jpWith(variables, "config", "get", "assistant.name")).toEqual({
      status: 0,
      stdout: lines("jp"),
      stderr: lines(
        "warning: JP_CFG_ASSISTANT_NMAE: unknown config key; " +
          "did you mean JP_CFG_ASSISTANT_NAME?",
      ),
    });
  });

  test("in the syntax fails and shows the place", async () => {
    const project = new Project();
    const file = configure(project, "[assistant\n");
    const { status, stderr } = await project.jp("config", "show");
    expect([status, stderr.startsWith(`jp: ${file}: `)]).toEqual([1, true]);
  });
});

describe("setting a value", () => {
  test("changes the workspace's file and keeps its comments", async () => {
    const project = new Project();
    const before = '# mine\n[assistant] # who\nname = "Ada" # her\n\n[user]\nname = "me"\n';
    const file = configure(project, before);
    expect(await project.jp("config", "set", "assistant.name", "Grace")).toEqual({
      status: 0,
      stdout: "",
      stderr: lines(`Set assistant.name in ${file}`),
    });
    expect(readFileSync(file, "utf8")).toBe(before.replace('"Ada"', '"Grace"'));
  });

  test("creates the file in the chosen place", async () => {
    const project = new Project();
    await project.jp("config", "set", "user.name", "Ada", "--in", "user");
    await project.jp("config", "set", "conversation.max_cycles", "3", "--in", "local");
    expect([
      readFileSync(path.join(project.home, ".config", "jp", "config.toml"), "utf8"),
      await project.jp("config", "get", "conversation.max_cycles"),
      existsSync(path.join(project.root, ".jp", "config.toml")),
    ]).toEqual(['[user]\nname = "Ada"\n', printed(lines("3")), false]);
  });

  test("follows a link of the user's own, and refuses one that came with the workspace", async () => {
    counters("T-PATH-7");
    const project = new Project();
    const folder = path.join(project.home, ".config", "jp");
    const [own, other] = ["own.toml", "other.toml"].map((name) => path.join(project.home, name));
    for (const file of [own, other]) writeFileSync(file ?? "", 'user.name = "Ada"\n');
    mkdirSync(folder, { recursive: true });
    symlinkSync(own ?? "", path.join(folder, "config.toml"));
    const link = path.join(project.root, ".jp", "config.toml");
    symlinkSync(other ?? "", link);
    await project.jp("config", "set", "user.name", "Grace", "--in", "user");
    const { status, stderr } = await project.jp("config", "set", "user.name", "Grace");
    expect([status, stderr.split("\n")[0]]).toEqual([
      1,
      `jp: Cannot write ${link}: it is a symbolic link, which jp does not follow.`,
    ]);
    expect([own, other].map((file) => readFileSync(file ?? "", "utf8"))).toEqual([
      'user.name = "Grace"\n',
      'user.name = "Ada"\n',
    ]);
    expect(lstatSync(path.join(folder, "config.toml")).isSymbolicLink()).toBe(true);
  });

  test("writes valid TOML whatever the file looked like", async () => {
    const project = new Project();
    const file = configure(project, '[editor]\nenvs = [\n  "A",\n]\n');
    await project.jp("config", "set", "assistant.request.max_retries", "2");
    await project.jp("config", "set", "assistant.system_prompt", "Be brief.");
    expect(readFileSync(file, "utf8")).not.toMatch(/,\s*\}/);
    expect([
      await project.jp("config", "get", "assistant.request.max_retries"),
      await project.jp("config", "get", "assistant.system_prompt"),
    ]).toEqual([printed(lines("2")), printed(lines("Be brief."))]);
  });

  test("can set a private key, and reading it shows only that it is set", async () => {
    const project = new Project();
    const key = "conversation.tools.x.questions.q.answer";
    await project.jp("config", "set", key, "hunter2", "--in", "local");
    const { status, stdout, stderr } = await project.jp("config", "get", key);
    expect({
      status,
      stdout,
      first: stderr.split("\n").find((line) => line.startsWith("jp:")),
    }).toEqual({
      status: 1,
      stdout: "",
      first: `jp: ${key} is set but not shown, because it may be a secret.`,
    });
    const file = path.join(project.userFolder, "config.toml");
    expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
  });

  test("of the wrong type, or under an unknown key, changes nothing", async () => {
    const project = new Project();
    const file = configure(project, 'user.name = "Ada"\n');
    const results = await Promise.all([
      project.jp("config", "set", "conversation.max_cycles", "many"),
      project.jp("config", "set", "assistant.nmae", "x"),
      project.jp("config", "set", "user.name", "{", "--json"),
      project.jp("config", "set", "", "x"),
      project.jp("config", "set", "user.name=", "x"),
      project.jp("config", "set", "user.name", "null", "--json"),
    ]);
    expect([results.map(({ status }) => status), readFileSync(file, "utf8")]).toEqual([
      [1, 1, 1, 2, 2, 2],
      'user.name = "Ada"\n',
    ]);
  });

  test.each([
    [
      "an unknown provider",
      ["assistant.model.id", "foo/bar"],
      "assistant.model.id: unknown provider foo; use one of anthropic, google, llamacpp, ollama, openai, openrouter",
    ],
    [
      "an unknown provider inside a value",
      ["conversation.tools.x.questions.q.target", '{"model":{"id":"foo/bar"}}', "--json"],
      "conversation.tools.x.questions.q.target.model.id: unknown provider foo; use one of anthropic, google, llamacpp, ollama, openai, openrouter",
    ],
    [
      "a model without its provider",
      ["assistant.model.id", "smal"],
      "assistant.model.id: smal is neither provider/name nor a known alias; did you mean small?",
    ],
    [
      "a key of one tool for a group",
      ["conversation.tools.db.command", "ls"],
      "conversation.tools.db.command: db is a group of tools (db_read, db_write), and this belongs to one tool, such as conversation.tools.db_read.command",
    ],
    [
      "a group where a tool is expected",
      ["assistant.tool_choice", "db"],
      "assistant.tool_choice: db is a group of tools (db_read, db_write)",
    ],
    [
      "a tool where a group is expected",
      ["conversation.tools.db_write.group", "db_read"],
      "conversation.tools.db_write.group: db_read is the name of a tool",
    ],
    [
      "a word of other programs",
      ["providers.mcp.s.args", '["x"]', "--json"],
      "providers.mcp.s.args: unknown key; did you mean providers.mcp.s.arguments?",
    ],
  ])("is refused if it means nothing: %s", async (_name, args, message) => {
    const project = new Project();
    const before = lines(
      "[providers.llm.aliases]",
      'small = "ollama/small"',
      ...["db_read", "db_write"].flatMap((name) => [
        `[conversation.tools.${name}]`,
        'source = "local"',
        'command = "true"',
        'group = "db"',
      ]),
    );
    const file = configure(project, before);
    const { status, stderr } = await project.jp("config", "set", ...args);
    expect([status, stderr.split("\n")[0], readFileSync(file, "utf8")]).toEqual([
      1,
      `jp: jp config set: ${message}`,
      before,
    ]);
  });

  test("accepts providers and aliases that are known, and warns about a tool that may be misspelt", async () => {
    const project = new Project();
    const set = (...args: string[]) => project.jp("config", "set", ...args);
    const ends = [
      await set("providers.llm.aliases.small", "ollama/small"),
      await set("assistant.model.id", "small"),
      await set("conversation.tools.mine.source", "local"),
      await set("conversation.tools.fs_raed_file.run", "unattended"),
    ];
    expect(ends.map(({ status, stderr }) => [status, stderr.split("\n")[0]])).toEqual([
      [0, expect.stringMatching(/^Set providers/)],
      [0, expect.stringMatching(/^Set assistant/)],
      [0, expect.stringMatching(/^Set conversation/)],
      [0, "warning: No tool is named fs_raed_file; did you mean conversation.tools.fs_read_file?"],
    ]);
  });
});

describe("the address of a schema", () => {
  test("is not config: not shown, not recorded, nothing to trust and nothing to warn about", async () => {
    await using server = await ModelServer.start(["Done."]);
    const project = queryProject({ server, config: '\n"$schema" = "./above.json"\n' });
    const file = path.join(project.root, ".jp.json");
    writeFileSync(file, '{ "$schema": "./config.schema.json", "assistant": { "name": "Ada" } }');
    const asked = await query(project, ["--new", "Go."]);
    const shown = await project.jp("config", "show", "--explain");
    const record = JSON.stringify(recordOf(project));
    const trust = await project.jpWith({ JP_TRUSTED_WORKSPACES: "" }, "trust");
    expect({
      asked,
      shown: [
        shown.status,
        shown.stderr,
        shown.stdout.includes(`assistant.name = "Ada"  # ${file}`),
      ],
      isRecorded: record.includes('"Ada"'),
      isMentioned: JSON.stringify([shown, trust, record]).includes("$schema"),
    }).toEqual({
      asked: printed(lines("Done.")),
      shown: [0, "", true],
      isRecorded: true,
      isMentioned: false,
    });
  });

  test("is a key like any other on the command line, and unknown there", async () => {
    const project = new Project();
    const { status, stderr } = await project.jp("config", "set", "$schema", "./s.json");
    expect([status, stderr.includes("unknown key")]).toEqual([1, true]);
  });
});

test("prints a JSON Schema with the config keys", async () => {
  const { status, stdout } = await new Project().jp("config", "schema");
  const schema = JSON.parse(stdout) as { type: string; properties: object };
  expect([status, schema.type, Object.keys(schema.properties)]).toEqual([
    0,
    "object",
    expect.arrayContaining(["assistant", "conversation", "providers", "style"]),
  ]);
});

test("without a config file, names the files that would be read", async () => {
  const project = new Project();
  const { status, stdout, stderr } = await project.jp("config", "path");
  expect([status, stdout, stderr.includes(`${project.root}/.jp/config.toml`)]).toEqual([
    0,
    "",
    true,
  ]);
});

test("every place is listed, and only files that exist on stdout", async () => {
  const project = new Project();
  await project.jp("config", "set", "user.name", "Ada");
  const variables = { JP_CFG_ASSISTANT_NAME: "x" };
  const { stdout, stderr } = await project.jpWith(variables, "config", "path");
  expect(stdout).toBe(`${project.root}/.jp/config.toml\n`);
  expect(stderr.split("\n")).toEqual([
    expect.stringMatching(/config\.toml \(does not exist\)$/),
    `${project.root}/.jp.toml (does not exist)`,
    "JP_CFG_ASSISTANT_NAME (environment variable)",
    "",
  ]);
  const json = await project.jpWith(variables, "config", "path", "--format", "json");
  expect(
    json.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toContainEqual({
    file: `${project.root}/.jp/config.toml`,
    exists: true,
  });
});
