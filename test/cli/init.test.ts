import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { parseToml } from "../../src/settings/config/index.ts";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import { resultsIn } from "./calling-model.ts";
import { ModelServer } from "./model-server.ts";
import { placeRelease } from "./samples.ts";
import { Screen } from "./screen.ts";
import { type Finished, lines, printed, Project } from "./support.ts";

interface Machine {
  readonly project: Project;
  readonly variables: Readonly<Record<string, string>>;
}

/** A machine with no models but those of the server, if any. */
async function machine(server?: ModelServer, config = ""): Promise<Machine> {
  const project = new Project({ isBare: true });
  const closed = await ModelServer.closedUrl();
  const folder = path.join(project.home, "own");
  mkdirSync(folder);
  writeFileSync(
    path.join(folder, "config.toml"),
    [
      `providers.llm.ollama.base_url = "${closed}"`,
      `providers.llm.llamacpp.base_url = "${server?.url ?? closed}"`,
      config,
    ].join("\n"),
  );
  return { project, variables: { JP_GLOBAL_CONFIG_DIR: folder } };
}

/** Without prompts. */
function init({ project, variables }: Machine, ...words: readonly string[]): Promise<Finished> {
  return project.jpWith({ ...variables, JP_NONINTERACTIVE: "1" }, "init", ...words);
}

function onScreen({ project, variables }: Machine, ...words: readonly string[]): Screen {
  return new Screen(project, ["init", ...words], { variables: { ...variables, NO_COLOR: "1" } });
}

async function answer(
  screen: Screen,
  ...steps: readonly (readonly [shown: string, keys: string])[]
) {
  for (const [shown, keys] of steps) {
    await screen.untilShown((all) => all.join("\n").includes(shown));
    screen.type(keys);
  }
  return screen.end();
}

function configFile({ project }: Machine): string {
  return path.join(project.root, ".jp", "config.toml");
}

/** What the user's own config for the workspace says about tools, one line for each. */
async function ownTools({ project }: Machine): Promise<readonly string[]> {
  const folder = path.join(project.data, "workspace");
  const [name = ""] = readdirSync(folder);
  const text = readFileSync(path.join(folder, name, "config.toml"), "utf8");
  const { conversation } = (await parseToml(text)) as { conversation?: { tools?: object } };
  return Object.entries(conversation?.tools ?? {}).map(
    ([tool, { enable }]: [string, { enable: unknown }]) =>
      `${tool} = { enable = ${JSON.stringify(enable)} }`,
  );
}

function uncomment(file: string): void {
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(/^#(?=[^\s:])/gm, ""));
}

async function settings({ project, variables }: Machine, ...keys: readonly string[]) {
  const got = await Promise.all(keys.map((key) => project.jpWith(variables, "config", "get", key)));
  return got.map(({ stdout, stderr }) => stdout.trim() + stderr.split("\n")[0]);
}

const MODEL = "assistant.model.id";
const RUN = "conversation.tools.*.run";
const WHICH = "Which model should answer?";
const MAY = "What may models do in this folder?";
const ASK = "Ask before your own tools run?";

describe("a new workspace", () => {
  test("has an ID and a config with all choices open if jp cannot ask", async () => {
    const here = await machine();
    const { project } = here;
    const made = await init(here);
    const names = snapshotOf(project.root).map(({ name }) => path.relative(project.root, name));
    expect({
      made,
      names,
      id: readFileSync(path.join(project.root, ".jp", ".id"), "utf8"),
      data: snapshotOf(project.data),
      settings: await settings(here, MODEL, RUN),
    }).toEqual({
      made: {
        status: 0,
        stdout: "",
        stderr: lines(
          `Created a workspace in ${project.root}; conversations are stored in .jp`,
          `Config with examples: ${configFile(here)}`,
          "No model chosen yet, and none was found. Start Ollama or a llama.cpp server, or set a provider's API key.",
          'Next: jp to start a session, jp query "…" to ask one thing, jp doctor to check your setup.',
        ),
      },
      names: ["", ".jp", ".jp/.gitignore", ".jp/.id", ".jp/config.schema.json", ".jp/config.toml"],
      id: expect.stringMatching(/^# .*\n[0-9a-z]{5}$/) as unknown,
      data: [],
      settings: ["jp: assistant.model.id is not set.", "ask"],
    });
  });

  test("lists the models found, commented out, if jp cannot ask", async () => {
    await using server = await ModelServer.start([], ["qwen3", "evil\u001b[2J\nname", "small"]);
    const here = await machine(server);
    const { status, stderr } = await init(here);
    const text = readFileSync(configFile(here), "utf8");
    expect({
      status,
      isTold: stderr.includes("Available: llamacpp/qwen3, llamacpp/small\n"),
      lines: text.split("\n").filter((line) => line.includes("llamacpp/")),
      settings: await settings(here, MODEL),
    }).toEqual({
      status: 0,
      isTold: true,
      lines: ['#id = "llamacpp/qwen3"', "# Also found: llamacpp/small"],
      settings: ["jp: assistant.model.id is not set."],
    });
  });

  test("can be in another folder, which is created if missing", async () => {
    const here = await machine();
    await init(here, "new/shop");
    const { status } = await here.project.jp("-w", "new/shop", "conversation", "ls");
    expect(status).toBe(0);
  });

  test("has the choices that flags make, if jp cannot ask", async () => {
    const here = await machine();
    await init(here, "--allow", "edit", "--commit-conversations");
    const ignored = existsSync(path.join(here.project.root, ".jp", ".gitignore"));
    const wrong = await init(await machine(), "--allow", "everything");
    expect([await ownTools(here), ignored, wrong.status]).toEqual([
      ["fs = { enable = true }"],
      false,
      2,
    ]);
  });

  test("is not created if the user's own config is invalid", async () => {
    const here = await machine(undefined, "assistant = 3");
    const { status, stderr } = await init(here);
    expect([
      status,
      stderr.includes("own/config.toml:3: assistant: "),
      existsSync(configFile(here)),
    ]).toEqual([1, true, false]);
  });
});

describe("existing files", () => {
  test("a config is kept, with a notice", async () => {
    const here = await machine();
    const { project } = here;
    const own = path.join(project.root, ".jp.toml");
    writeFileSync(own, 'user.name = "Ada"\n');
    expect([await init(here), readFileSync(own, "utf8"), existsSync(configFile(here))]).toEqual([
      {
        status: 0,
        stdout: "",
        stderr: lines(
          `Keeping the existing config: ${own}`,
          `Created a workspace in ${project.root}; conversations are stored in .jp`,
        ),
      },
      'user.name = "Ada"\n',
      false,
    ]);
  });

  test("a workspace with a config is an error, and nothing changes", async () => {
    const here = await machine();
    const { project } = here;
    await init(here);
    rmSync(path.join(project.root, ".jp", ".id"));
    const before = snapshotOf(project.root);
    const screen = await onScreen(here).end();
    expect([await init(here), screen.status, snapshotOf(project.root)]).toEqual([
      {
        status: 1,
        stdout: "",
        stderr: lines(
          `Keeping the existing config: ${configFile(here)}`,
          `jp: ${project.root} is already a jp workspace.`,
          "Nothing was changed.",
        ),
      },
      1,
      before,
    ]);
  });

  test("something else with the config's name is not written through", async () => {
    const here = await machine();
    const elsewhere = path.join(here.project.home, "elsewhere.toml");
    mkdirSync(path.join(here.project.root, ".jp"));
    symlinkSync(elsewhere, configFile(here));
    const { status, stderr } = await init(here);
    expect([status, stderr.includes("\njp: Cannot write "), existsSync(elsewhere)]).toEqual([
      1,
      true,
      false,
    ]);
  });

  test("a schema is kept, whatever it is", async () => {
    const here = await machine();
    const elsewhere = path.join(here.project.home, "elsewhere.json");
    const schema = path.join(here.project.root, ".jp", "config.schema.json");
    mkdirSync(path.dirname(schema));
    symlinkSync(elsewhere, schema);
    const { status } = await init(here);
    expect([status, existsSync(configFile(here)), existsSync(elsewhere)]).toEqual([0, true, false]);
  });

  test("a workspace without a config gets one and keeps everything else", async () => {
    const project = new Project();
    placeRelease(project);
    const { variables } = await machine();
    const here = { project, variables };
    const before = snapshotOf(project.root).filter(({ content }) => !content.includes("\n"));
    const { status, stderr } = await init(here);
    const after = snapshotOf(project.root).filter(({ name }) => name !== configFile(here));
    const kept = after.filter(({ name }) => before.some((file) => file.name === name));
    expect([status, kept.map(({ content }) => content)]).toEqual([
      0,
      before.map(({ content }) => content),
    ]);
    expect(existsSync(configFile(here))).toBe(true);
    expect(stderr.split("\n").slice(0, 3)).toEqual([
      `${path.join(project.root, ".jp")} exists already. It has no config yet.`,
      "Added config.toml, config.schema.json, .gitignore. Everything else in .jp is unchanged.",
      `Config with examples: ${configFile(here)}`,
    ]);
  });
});

describe("on a terminal", () => {
  test("wraps what to do next at words", async () => {
    const { lines: shown } = await answer(
      onScreen(await machine()),
      [WHICH, "\r"],
      [MAY, "\r"],
      [ASK, "\r"],
    );
    expect(shown.slice(-4)).toEqual([
      "No model chosen yet, and none was found. Start Ollama or a llama.cpp server, or",
      "set a provider's API key.",
      'Next: jp to start a session, jp query "…" to ask one thing, jp doctor to check',
      "your setup.",
    ]);
  });

  test("Enter accepts the first model found and asking before tools run", async () => {
    await using server = await ModelServer.start([], ["qwen3", "small"]);
    const here = await machine(server);
    const {
      status,
      lines: shown,
      bytes,
    } = await answer(onScreen(here), [WHICH, "\r"], [MAY, "\r"], [ASK, "\r"]);
    expect({
      status,
      settings: await settings(here, MODEL, RUN),
      isOffered: bytes.includes("llamacpp/small"),
      isRung: bytes.includes("\u0007"),
      last: shown.slice(-2),
      hasKey: !bytes.includes("No API key"),
    }).toEqual({
      status: 0,
      settings: ["llamacpp/qwen3", "ask"],
      isOffered: true,
      isRung: false,
      last: [
        'Next: jp to start a session, jp query "…" to ask one thing, jp doctor to check',
        "your setup.",
      ],
      hasKey: true,
    });
  });

  test.each([
    ["read files", "", [`fs = { enable = "read" }`], 3, "off"],
    ["read and change files", "read and", ["fs = { enable = true }"], 7, "off"],
    ["nothing", "nothing", ["fs = { enable = false }", "shell = { enable = false }"], 0, "off"],
  ])(
    "what models may do is in the user's own config, and nothing of it in the workspace: %s",
    async (_, typed, kept, on, shell) => {
      const here = await machine();
      const { project } = here;
      const { bytes } = await answer(
        onScreen(here),
        [WHICH, "\r"],
        [MAY, typed],
        [typed, "\r"],
        [ASK, "\r"],
      );
      const variables = { ...here.variables, JP_TRUSTED_WORKSPACES: "" };
      const { stdout } = await project.jpWith(variables, "tool", "ls");
      const trust = await project.jpWith(variables, "trust");
      expect({
        own: await ownTools(here),
        inWorkspace: readFileSync(configFile(here), "utf8").match(/^(fs|shell|mode|run).*$/gm),
        on: stdout.match(/^on .* fs_/gm)?.length ?? 0,
        shell: /^(\w+) +shell_run/m.exec(stdout)?.[1],
        trust: trust.stderr,
        // As `jp doctor` says it.
        isSandboxNamed: /In the sandbox|has no sandbox|has none|no sandbox/.test(bytes),
      }).toEqual({
        own: kept,
        inWorkspace: null,
        on,
        shell,
        trust: "Nothing here needs to be trusted.\n",
        isSandboxNamed: true,
      });
    },
  );

  test("a choice of what models may do replaces one that was made before the folder was a workspace", async () => {
    const here = await machine();
    const { project, variables } = here;
    await project.jpWith(variables, "config", "set", "conversation.tools.shell.enable", "true");
    await project.jpWith(variables, "config", "set", "conversation.mode", "sandbox");
    await project.jpWith(variables, "config", "set", "user.name", "Ada");
    await init(here, "--allow", "read");
    expect([await ownTools(here), await settings(here, "conversation.mode", "user.name")]).toEqual([
      [`fs = { enable = "read" }`],
      ["jp: conversation.mode is not set.", "Ada"],
    ]);
  });

  test("Git ignores the conversations, unless the user wants to commit them", async () => {
    const [ignoring, committing] = [await machine(), await machine()];
    const commit = "Commit conversations to Git?";
    for (const [here, key] of [
      [ignoring, "\r"],
      [committing, "y"],
    ] as const) {
      mkdirSync(path.join(here.project.root, ".git"));
      await answer(onScreen(here), [WHICH, "\r"], [MAY, "\r"], [ASK, "\r"], [commit, key]);
    }
    const ignored = [ignoring, committing].map(({ project }) => {
      const file = path.join(project.root, ".jp", ".gitignore");
      return existsSync(file) && readFileSync(file, "utf8").split("\n");
    });
    expect(ignored).toEqual([
      ["# Git ignores the conversations. To commit them, delete this file.", "/conversations/", ""],
      false,
    ]);
  });

  test("yes makes tools ask, and no makes them run unattended", async () => {
    const [careful, trusting] = [await machine(), await machine()];
    await answer(onScreen(careful), [WHICH, "\r"], [MAY, "\r"], [ASK, "y"]);
    await answer(onScreen(trusting), [WHICH, "\r"], [MAY, "\r"], [ASK, "n\r"]);
    expect([await settings(careful, RUN), await settings(trusting, RUN)]).toEqual([
      ["ask"],
      ["unattended"],
    ]);
  });

  test.each([
    ["yes", "y", false],
    ["no", "n\r", true],
  ])(
    "the answer to jp init does what the question says for each tool: %s",
    async (_answer, key, isRun) => {
      counters("T-FILE-6");
      const paths = { path: "a.txt" };
      const calls = [
        { name: "fs_read_file", arguments: paths },
        { name: "fs_delete_file", arguments: paths },
        { name: "touch" },
      ];
      await using server = await ModelServer.start([{ calls }, "Done."], ["qwen3"]);
      const here = await machine(
        server,
        '[conversation.tools.touch]\nsource = "local"\ncommand = "touch made"',
      );
      const { root } = here.project;
      const { bytes } = await answer(onScreen(here), [WHICH, "\r"], [MAY, "\r"], [ASK, key]);
      writeFileSync(path.join(root, "a.txt"), "content\n");
      await here.project.jpWith(here.variables, "query", "--non-interactive", "-t", "fs", "Go.");
      expect({
        isSaid: [
          "read files - without asking",
          "jp shows you each change, and asks",
          "With yes, jp asks before it runs one; with no, it runs at once.",
        ].map((words) => bytes.replaceAll(/\s+/g, " ").includes(words)),
        isRead: resultsIn(server)[0],
        isDeleted: !existsSync(path.join(root, "a.txt")),
        isRun: existsSync(path.join(root, "made")),
      }).toEqual({
        isSaid: [true, true, true],
        isRead: "content\n",
        isDeleted: false,
        isRun,
      });
    },
  );

  test("choices need no further trust", async () => {
    const here = await machine();
    await answer(onScreen(here), [WHICH, "\r"], [MAY, "\r"], [ASK, "n\r"]);
    const variables = { ...here.variables, JP_TRUSTED_WORKSPACES: "" };
    expect(await here.project.jpWith(variables, "trust")).toEqual({
      status: 0,
      stdout: "",
      stderr: "Nothing here needs to be trusted.\n",
    });
  });

  test("an API key offers the preferred models", async () => {
    const names = ["some/thing", "openrouter/auto", "openai/gpt-5", "openai/gpt-5-image"];
    await using server = await ModelServer.start([], names);
    const base = `providers.llm.openrouter.base_url = "${server.url}"`;
    const { project, variables } = await machine(undefined, base);
    const here = { project, variables: { ...variables, OPENROUTER_API_KEY: "hush" } };
    const { bytes } = await answer(
      onScreen(here),
      [WHICH, "gpt"],
      ["OPENROUTER_API_KEY is set", "\r"],
      [MAY, "\r"],
      [ASK, "\r"],
    );
    expect({
      settings: await settings(here, MODEL),
      isOffered: names.map((name) => bytes.includes(`openrouter/${name}`)),
      isKeyShown: bytes.includes("hush") || readFileSync(configFile(here), "utf8").includes("hush"),
    }).toEqual({
      settings: ["openrouter/openai/gpt-5"],
      isOffered: [false, true, true, false],
      isKeyShown: false,
    });
  });

  test("another model can be typed; mistakes and a missing key are reported", async () => {
    const here = await machine();
    const screen = onScreen(here);
    const { status, bytes } = await answer(
      screen,
      [WHICH, "opnai/gpt-5"],
      ["opnai/gpt-5", "\r"],
      ["is not a model. Write provider/name", "unheard-of"],
      ["unheard-of", "\r"],
      ["Unknown model alias", "openai/gpt-5"],
      ["openai/gpt-5", "\r"],
      [MAY, "\r"],
      [ASK, "\r"],
    );
    expect({
      status,
      settings: await settings(here, MODEL),
      isTold: bytes.includes("No API key for openai yet: set OPENAI_API_KEY."),
    }).toEqual({
      status: 0,
      settings: ["openai/gpt-5"],
      isTold: true,
    });
  });

  test("the choice of model can be deferred", async () => {
    await using server = await ModelServer.start([], ["qwen3"]);
    const here = await machine(server);
    await answer(
      onScreen(here),
      [WHICH, "later"],
      ["jp query uses the first", "\r"],
      [MAY, "\r"],
      [ASK, "\r"],
    );
    const text = readFileSync(configFile(here), "utf8");
    expect([text.includes('\n#id = "llamacpp/qwen3"\n'), await settings(here, RUN)]).toEqual([
      true,
      ["ask"],
    ]);
  });

  test.each([
    ["the first question", [[WHICH, "\u001b"]]],
    [
      "the second question",
      [
        [WHICH, "\r"],
        [MAY, "\u0003"],
      ],
    ],
  ] as const)("cancelling at %s leaves nothing behind", async (_at, steps) => {
    const here = await machine();
    const { status, lines: shown } = await answer(onScreen(here), ...steps);
    expect([status, shown.at(-1), existsSync(path.join(here.project.root, ".jp"))]).toEqual([
      130,
      "Cancelled. Nothing was created.",
      false,
    ]);
  });

  test("nothing is asked with --non-interactive", async () => {
    const here = await machine();
    const { status, bytes } = await onScreen(here, "--non-interactive").end();
    expect([status, bytes.includes(WHICH), existsSync(configFile(here))]).toEqual([0, false, true]);
  });
});

describe("the config", () => {
  test("tells editors on its first line where its schema is", async () => {
    const here = await machine();
    const { project, variables } = here;
    await init(here);
    const [first = ""] = readFileSync(configFile(here), "utf8").split("\n");
    const { groups = {} } = /^#:schema (?<file>\.\/\S+)$/.exec(first) ?? {};
    const schema = path.resolve(path.dirname(configFile(here)), groups["file"] ?? "");
    expect([
      readFileSync(schema, "utf8"),
      await project.jpWith({ ...variables, JP_TRUSTED_WORKSPACES: "" }, "trust"),
    ]).toEqual([
      (await project.jp("config", "schema")).stdout,
      { status: 0, stdout: "", stderr: "Nothing here needs to be trusted.\n" },
    ]);
  });

  test("has examples that work as they are, without a warning", async () => {
    const here = await machine();
    const { project, variables } = here;
    await init(here);
    uncomment(configFile(here));
    const { status, stderr } = await project.jpWith(variables, "config", "show");
    const list = await project.jpWith(variables, "tool", "ls", "--format", "json");
    const tools = list.stdout.match(/"name":"\w+"(?=.*"enabled":true)/g);
    expect({ status, stderr, tools: tools?.map((name) => name.slice(8, -1)) }).toEqual({
      status: 0,
      stderr: "",
      tools: [
        "ask_user",
        "tell_user",
        "describe_tools",
        "fs_read_file",
        "fs_list_files",
        "fs_grep_files",
        "shell_run",
        "clean",
        "echo",
      ],
    });
  });

  test("has an example tool that asks and acts on the answer", async () => {
    const here = await machine();
    const { project } = here;
    await init(here);
    uncomment(configFile(here));
    const build = path.join(project.root, "build");
    mkdirSync(build);
    const command = ["tool", "run", "clean", "--non-interactive"];
    const key = "conversation.tools.clean.questions.sure.answer";
    const run = (answered: boolean) => project.jp(...command, "--cfg", `${key}:=${answered}`);
    const asked = await project.jp(...command);
    expect([asked.status, asked.stderr.split("\n")[0]]).toEqual([
      3,
      "jp: clean asks, and no terminal is available: Delete the build folder?",
    ]);
    expect([await run(false), existsSync(build)]).toEqual([
      printed("Nothing was deleted.\n"),
      true,
    ]);
    expect([await run(true), existsSync(build)]).toEqual([
      printed("Deleted the build folder.\n"),
      false,
    ]);
  });

  test("can be changed with jp config set and keeps its comments", async () => {
    const here = await machine();
    const { project, variables } = here;
    await init(here);
    const before = readFileSync(configFile(here), "utf8");
    const set = (key: string, value: string) =>
      project.jpWith(variables, "config", "set", key, value);
    const ends = [
      await set(MODEL, "ollama/small"),
      await set(RUN, "unattended"),
      await set("user.name", "Ada"),
    ];
    const after = readFileSync(configFile(here), "utf8");
    const isKept = (line: string) => after.split("\n").includes(line);
    expect({
      statuses: ends.map(({ status }) => status),
      lost: before.split("\n").filter((line) => !isKept(line)),
      settings: await settings(here, MODEL, RUN, "user.name"),
    }).toEqual({
      statuses: [0, 0, 0],
      lost: [],
      settings: ["ollama/small", "unattended", "Ada"],
    });
  });
});
