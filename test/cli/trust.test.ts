import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { calling, resultsIn } from "./calling-model.ts";
import { ModelServer } from "./model-server.ts";
import {
  entriesOf,
  type QueryOptions,
  query as runQuery,
  queryProject,
  recordsOf,
} from "./query-project.ts";
import { Screen } from "./screen.ts";
import { type Finished, type Project } from "./support.ts";
import { counters } from "../security/threats.ts";

/** A user who has not trusted anything yet. */
const NOTHING_TRUSTED = { JP_TRUSTED_WORKSPACES: "" };

/** A cloned workspace. Its tool leaves a trace when it runs. */
function clone(config = ""): Project {
  const program = `(require("node:fs").writeFileSync("RAN", ""), "ran")`;
  return queryProject({ tools: [{ name: "build", program }], config });
}

function query(project: Project, words: readonly string[], options: QueryOptions = {}) {
  const variables = { ...NOTHING_TRUSTED, ...options.variables };
  return runQuery(project, words, { ...options, variables });
}

function jp(project: Project, ...words: readonly string[]): Promise<Finished> {
  return project.jpWith(NOTHING_TRUSTED, ...words);
}

function hasRun(project: Project): boolean {
  return existsSync(path.join(project.root, "RAN"));
}

test("a tool whose config has a mistyped key is off, with the reason, and no question about trust", async () => {
  await using server = await ModelServer.start(["Hello."]);
  const config = `[conversation.tools.deploy]
source = "local"
comand = "sh deploy.sh"
enable = true
`;
  const project = queryProject({ server, config });
  const listed = await jp(project, "tool", "ls", "deploy");
  expect(listed.stdout).toMatch(/^off +deploy +local/m);
  expect(listed.stderr).toContain(
    "conversation.tools.deploy.comand: unknown key; did you mean conversation.tools.deploy.command? The tool is off.",
  );
  expect(listed.stderr).toContain(
    "conversation.tools.deploy.command: command is missing, so the tool cannot be used",
  );
  expect((await jp(project, "tool", "ls", "-t", "deploy")).stdout).not.toMatch(/^on +deploy/m);
  const screen = new Screen(project, ["query", "Hi"], { variables: NOTHING_TRUSTED });
  const { status, lines } = await screen.end();
  expect([status, lines.join("\n")]).toEqual([0, expect.stringContaining("Hello.")]);
  expect(lines.join("\n")).not.toMatch(/[Tt]rust/);
  expect(JSON.stringify(server.requests)).not.toContain("deploy");
});

const REFUSED = {
  status: 1,
  stdout: "",
  stderr:
    "jp: The tool build comes with this workspace, which you have not trusted yet.\n" +
    "Run `jp trust` to review it.\n",
};

const WITHHELD =
  "warning: not used, because you have not trusted this workspace: tool build. " +
  "Run `jp trust` to review it.\n";

async function onTerminal(project: Project, words: readonly string[], answer: string) {
  const screen = new Screen(project, words, { variables: NOTHING_TRUSTED, columns: 100 });
  await screen.untilShown((lines) => lines.join("\n").includes("Trust this workspace with this?"));
  screen.type(answer);
  return await screen.end();
}

describe("an untrusted workspace", () => {
  test("cannot run its tool without a terminal", async () => {
    const project = clone();
    expect([await jp(project, "tool", "run", "build"), hasRun(project)]).toEqual([REFUSED, false]);
  });

  test("cannot run its tool with --non-interactive, even on a terminal", async () => {
    const project = clone();
    const words = ["tool", "run", "build", "--non-interactive"];
    const { status } = await new Screen(project, words, { variables: NOTHING_TRUSTED }).end();
    expect([status, hasRun(project)]).toEqual([1, false]);
  });

  test("does not offer its tool to a model, with a warning", async () => {
    await using server = await calling(["build"]);
    const project = clone(server.config);
    const { status, stderr } = await query(project, ["--non-interactive", "Go."]);
    const tools = server.requests[0]?.["tools"] as { function: { name: string } }[]; // By contract.
    const offered = tools.map((tool) => tool.function.name);
    expect({ status, stderr, offered, ran: hasRun(project) }).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(WITHHELD) as string,
      offered: ["ask_user", "tell_user", "describe_tools"],
      ran: false,
    });
    expect(resultsIn(server)).toEqual([expect.stringContaining("build")]);
  });

  test("is not asked about before there is a model to answer", async () => {
    const closed = await ModelServer.closedUrl();
    const servers = ["ollama", "llamacpp"].map(
      (name) => `providers.llm.${name}.base_url = "${closed}"`,
    );
    const project = clone(servers.join("\n"));
    const words = ["query", "Go."];
    const { status, lines } = await new Screen(project, words, {
      variables: NOTHING_TRUSTED,
    }).end();
    const text = lines.join("\n");
    expect([status, text.includes("No model is configured"), text.includes("Trust")]).toEqual([
      1,
      true,
      false,
    ]);
  });

  test("fails a query that names its tool", async () => {
    const project = clone();
    expect(await query(project, ["-t", "build", "Go."])).toEqual(REFUSED);
  });

  test("never gets its MCP server started", async () => {
    counters("T-WORK-1");
    const project = clone(`
[providers.mcp.sly]
command = "node"
arguments = ["-e", "require('node:fs').writeFileSync('RAN', '')"]
[conversation.tools.look]
source = "mcp.sly"
`);
    for (const words of [["doctor"], ["tool", "show", "look"], ["tool", "run", "look"]])
      await jp(project, ...words);
    expect(hasRun(project)).toBe(false);
  });

  test("does not decide where requests with an API key go", async () => {
    counters("T-WORK-4");
    const project = clone(`providers.llm.openai.base_url = "https://stranger.invalid"`);
    const own = { ...NOTHING_TRUSTED, OPENAI_BASE_URL: "http://127.0.0.1:9", OPENAI_API_KEY: "k" };
    const { stderr } = await project.jpWith(own, "model", "ls", "openai");
    expect([stderr.includes("provider openai"), stderr.includes("stranger")]).toEqual([
      true,
      false,
    ]);
  });

  test("does not decide which conversation the next message goes to", async () => {
    counters("T-WORK-21");
    await using server = await ModelServer.start(["1", "2"]);
    const config = `${server.config}\nconversation.default_id = "last_created"`;
    const project = queryProject({ config });
    await query(project, ["--new", "Mine"]);
    await query(project, ["More"], { variables: { JP_SESSION: "another-terminal" } });
    expect(recordsOf(project).map((record) => entriesOf(record, "turn_start").length)).toEqual([
      1, 1,
    ]);
  });

  test("does not choose the model that approves for the user's own tool", async () => {
    counters("T-WORK-20");
    await using server = await ModelServer.start((request) => JSON.stringify(request["model"]));
    const project = queryProject({ config: server.config });
    const own = path.join(project.home, ".config", "jp");
    mkdirSync(own, { recursive: true });
    writeFileSync(
      path.join(own, "config.toml"),
      'assistant.model.id = "llamacpp/careful"\n' +
        '[conversation.tools.pay]\nsource = "local"\ncommand = "true"\nenable = "off"\n' +
        'questions.sure.target = "assistant"\n',
    );
    const { stdout, stderr } = await query(project, ["--new", "Hi"]);
    expect([
      stdout,
      stderr.includes("the assistant, which may answer questions of your tools"),
    ]).toEqual([expect.stringContaining("careful"), true]);
  });

  test("is reported by jp doctor", async () => {
    const { stdout } = await jp(clone(), "doctor", "--format", "json");
    expect(stdout).toContain('{"check":"trust","state":"warning"');
  });

  test("can be listed and inspected, which runs nothing", async () => {
    const project = clone();
    const { status, stdout } = await jp(project, "tool", "ls");
    expect([status, stdout.includes("build"), hasRun(project)]).toEqual([0, true, false]);
  });

  test("may configure builtin tools and the address of a local model", async () => {
    await using server = await calling([]);
    const project = queryProject({
      server,
      config: `[conversation.tools.fs_read_file]\nenable = true\nrun = "ask"\n`,
    });
    const { status, stderr } = await query(project, ["Hello."]);
    expect([status, stderr]).toEqual([0, ""]);
  });
});

describe("the trust prompt", () => {
  test("shows what would run, and in which file, before anything runs", async () => {
    const project = clone();
    const { lines, status } = await onTerminal(project, ["tool", "run", "build"], "n");
    expect({ lines, status, ran: hasRun(project) }).toEqual({
      lines: [
        "Files of this workspace configure one thing that you have not trusted yet:",
        `${path.join(project.root, ".jp", "config.toml")}:`,
        "- tool build: runs node build.cjs, without asking",
        "If yes, jp asks again when this changes.",
        "If no, jp continues without it for now.",
        "✖ Trust this workspace with this? no",
        ...REFUSED.stderr.trimEnd().split("\n"),
      ],
      status: 1,
      ran: false,
    });
  });

  test("is not answered by Enter alone", async () => {
    counters("T-TERM-12");
    const project = clone();
    const words = ["tool", "run", "build"];
    const screen = new Screen(project, words, { variables: NOTHING_TRUSTED, columns: 100 });
    await screen.answer(
      ["? Trust this workspace with this?\n  y yes · n no · ? more", "\r"],
      ["  Esc  cancel the question", "n"],
    );
    expect([(await screen.end()).status, hasRun(project)]).toEqual([1, false]);
  });

  test("is not answered by words, which no one would get", async () => {
    const project = clone();
    const words = ["tool", "run", "build"];
    const screen = new Screen(project, words, { variables: NOTHING_TRUSTED, columns: 100 });
    await screen.answer(
      ["? Trust this workspace with this?", "yes, all of it\r"],
      ["  Esc  cancel the question", "n"],
    );
    expect([(await screen.end()).status, hasRun(project)]).toEqual([1, false]);
  });

  test("shows the commands of the workspace verbatim", async () => {
    counters("T-TERM-11");
    const project = clone(
      `conversation.tools.list = { source = "local", command = { program = "sh", args = ["-c", "ls  *a*\\u00a0\`rm\`"] } }`,
    );
    const { lines } = await onTerminal(project, ["trust"], "n");
    expect(lines).toContain('- tool list: runs sh -c "ls  *a*<U+00A0>`rm`"');
  });

  test("appears once; later runs need no terminal", async () => {
    const project = clone();
    const { status } = await onTerminal(project, ["tool", "run", "build"], "y");
    const again = await jp(project, "tool", "run", "build");
    expect([status, hasRun(project), again.stdout]).toEqual([0, true, "ran\n"]);
  });

  test("appears again when the command changes", async () => {
    const project = clone();
    await onTerminal(project, ["trust"], "y");
    const config = path.join(project.root, ".jp", "config.toml");
    writeFileSync(config, readFileSync(config, "utf8").replace("build.cjs", "./build.cjs"));
    expect(await jp(project, "tool", "run", "build")).toEqual(REFUSED);
  });

  test("does not appear again when a description changes", async () => {
    const project = clone();
    await onTerminal(project, ["trust"], "y");
    const config = path.join(project.root, ".jp", "config.toml");
    writeFileSync(config, `${readFileSync(config, "utf8")}\nsummary = "Builds."\n`);
    expect(await jp(project, "tool", "run", "build")).toMatchObject({ status: 0, stdout: "ran\n" });
  });

  test("continues without the tool after a no", async () => {
    await using server = await calling(["build"]);
    const project = clone(server.config);
    const { lines, status } = await onTerminal(project, ["query", "Go."], "n");
    expect([status, lines.at(-1), hasRun(project)]).toEqual([0, "Done.", false]);
  });

  test("can be revoked", async () => {
    const project = clone();
    await jp(project, "trust", "--yes");
    await jp(project, "trust", "--forget");
    expect(await jp(project, "tool", "run", "build")).toEqual(REFUSED);
  });
});

describe("trust", () => {
  test("is stored with the user's data and leaves the workspace unchanged", async () => {
    const project = clone();
    const before = readdirSync(project.root, { recursive: true });
    expect(await jp(project, "trust", "--yes")).toEqual({
      status: 0,
      stdout:
        `${path.join(project.root, ".jp", "config.toml")}:\n` +
        "- tool build: runs node build.cjs, without asking\n",
      stderr: "Trusted.\n",
    });
    expect(readdirSync(project.root, { recursive: true })).toEqual(before);
    expect(readdirSync(path.join(project.data, "trust"))).toHaveLength(1);
  });

  test("is bound to the folder: a copy elsewhere is not trusted", async () => {
    counters("T-WORK-7");
    const project = clone();
    await jp(project, "trust", "--yes");
    const copy = clone();
    expect(
      await copy.jpWith(
        { ...NOTHING_TRUSTED, JP_USER_DATA_DIR: project.data },
        "tool",
        "run",
        "build",
      ),
    ).toEqual(REFUSED);
  });

  test("can cover a folder and everything below it, by a variable", async () => {
    const project = clone();
    const variables = { JP_TRUSTED_WORKSPACES: path.dirname(project.root) };
    expect(await project.jpWith(variables, "tool", "run", "build")).toMatchObject({ status: 0 });
  });

  test("is not needed for tools in the user's own config", async () => {
    const project = clone();
    const config = path.join(project.root, ".jp", "config.toml");
    const folder = path.join(project.home, ".config", "jp");
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "config.toml"), readFileSync(config, "utf8"));
    writeFileSync(config, "");
    expect(await jp(project, "tool", "run", "build")).toMatchObject({ status: 0 });
  });

  test("is needed if the workspace lets a tool of the user's run without asking", async () => {
    const project = clone();
    const config = path.join(project.root, ".jp", "config.toml");
    const folder = path.join(project.home, ".config", "jp");
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      path.join(folder, "config.toml"),
      readFileSync(config, "utf8").replace("unattended", "ask"),
    );
    writeFileSync(config, '[conversation.tools.build]\nrun = "unattended"\n');
    const { stdout } = await jp(project, "trust");
    expect(stdout).toBe(`${config}:\n- tool build: runs node build.cjs, without asking\n`);
  });

  test("cannot come from a record, whose config may have come with the clone", async () => {
    await using server = await calling(["build"]);
    const project = queryProject({ server });
    const conversation = project.place({
      second: 1,
      config: {
        conversation: {
          tools: {
            build: {
              source: "local",
              command: { program: "sh", args: ["-c", "touch RAN"], shell: false },
              run: "unattended",
            },
          },
        },
      },
    });
    const { stderr } = await query(project, ["--id", conversation.id, "Go."]);
    expect([stderr.includes(WITHHELD), hasRun(project)]).toEqual([true, false]);
    const { status, stdout } = await jp(project, "trust", "--id", conversation.id);
    expect([status, stdout]).toEqual([
      1,
      'the record of this conversation:\n- tool build: runs sh -c "touch RAN", without asking\n',
    ]);
    await jp(project, "trust", "--yes"); // The query made it the active one.
    const again = await query(project, ["Go."]);
    expect(again.stderr).not.toContain("trusted");
  });

  test("extends settings from the command line to later turns", async () => {
    await using server = await calling(["build"]);
    const project = clone(server.config);
    await jp(project, "trust", "--yes");
    const change = "conversation.tools.build.command=node ./build.cjs";
    const first = await query(project, ["-n", "--cfg", change, "Go."]);
    const second = await query(project, ["Go."]);
    expect([first.stderr, second.stderr].map((text) => text.includes("trusted"))).toEqual([
      false,
      false,
    ]);
  });
});

async function untrusted(project: Project): Promise<readonly string[]> {
  return (await jp(project, "trust")).stdout.split("\n").filter((line) => line !== "");
}

async function set(project: Project, key: string, value: string) {
  return (await jp(project, "config", "set", key, value)).status;
}

describe("what the user writes with jp config set", () => {
  test("is trusted, also by the name of a group of tools", async () => {
    const project = queryProject({});
    const command = "conversation.tools.build.command";
    const statuses = [
      await set(project, "conversation.tools.fs.enable", "true"),
      await set(project, "conversation.tools.build.source", "local"),
      await set(project, command, "make"),
      await set(project, "conversation.tools.build.run", "unattended"),
      await set(project, command, "make all"),
    ];
    const { stdout } = await jp(project, "tool", "ls", "fs");
    expect([statuses, await untrusted(project)]).toEqual([[0, 0, 0, 0, 0], []]);
    expect(stdout.match(/^on /gm)).toHaveLength(7);
    expect((await jp(project, "config", "get", "conversation.tools.fs.enable")).stdout).toBe(
      '{"state":true,"allow_toggle":"any"}\n',
    );
  });

  test("does not make the rest of an entry trusted, nor other entries", async () => {
    counters("T-WORK-1");
    const project = clone('[providers.mcp.sly]\ncommand = "sly"\n');
    await set(project, "conversation.tools.build.timeout_secs", "5");
    await set(project, "conversation.tools.build.run", "ask");
    await set(project, "conversation.tools.fs_create_file.enable", "true");
    expect(await untrusted(project)).toEqual([
      expect.stringContaining("config.toml"),
      expect.stringContaining("tool build"),
      expect.stringContaining("sly"),
    ]);
  });

  test("does not make changes trusted that someone else made to the same entry", async () => {
    counters("T-WORK-1");
    const project = clone();
    await jp(project, "trust", "--yes");
    const file = path.join(project.root, ".jp", "config.toml");
    writeFileSync(file, readFileSync(file, "utf8").replace("node build.cjs", "curl evil"));
    await set(project, "conversation.tools.build.run", "ask");
    expect((await untrusted(project)).join("\n")).toContain("curl evil");
  });
});

test("a long AGENTS.md has to be read to its end before it can be trusted", async () => {
  counters("T-WORK-17");
  const text = Array.from({ length: 90 }, (_, index) => `Line ${index + 1}.`).join("\n");
  const project = queryProject({ files: { "AGENTS.md": text } });
  const screen = new Screen(project, ["trust"], { variables: NOTHING_TRUSTED, columns: 100 });
  const until = (words: string) => screen.untilShown((lines) => lines.join("\n").includes(words));
  await until("more lines ·");
  screen.type("\u001b[F");
  await until("Line 90.");
  screen.type("y");
  const { status } = await screen.end();
  const { stderr } = await jp(project, "trust");
  expect([status, stderr]).toEqual([0, "Nothing here needs to be trusted.\n"]);
});

function moved(config = "") {
  const project = queryProject({ config });
  const old = path.join(path.dirname(project.root), "old");
  mkdirSync(project.userFolder, { recursive: true });
  symlinkSync(path.join(old, ".jp"), path.join(project.userFolder, "storage"));
  project.place({ second: 1, title: "Private", where: "local" });
  return { project, old };
}

describe("a workspace that was moved", () => {
  test("has none of its sessions and local conversations without a terminal, and says so", async () => {
    counters("T-WORK-24");
    await using server = await ModelServer.start(["Hello"]);
    const { project, old } = moved(server.config);
    const [listed, trusted, queried] = [
      await jp(project, "conversation", "ls"),
      await jp(project, "trust", "--yes"),
      await query(project, ["--new", "Hi"]),
    ];
    expect([listed.stdout.includes("Private"), trusted.status, queried.status]).toEqual([
      false,
      1,
      0,
    ]);
    expect(trusted.stderr).toContain(`Was this workspace moved here from ${old}?`);
    expect(queried.stderr).toContain("Run `jp trust` on a terminal");
  });

  test.each([
    ["y", true],
    ["n", false],
  ])("has its local conversations after a question: %s", async (answer, isThere) => {
    counters("T-WORK-24");
    const { project } = moved();
    const screen = new Screen(project, ["trust"], { variables: NOTHING_TRUSTED, columns: 100 });
    await screen.untilShown((lines) => lines.join("\n").includes("moved here?"));
    screen.type(answer);
    await screen.end();
    const { stdout } = await jp(project, "conversation", "ls");
    expect(stdout.includes("Private")).toBe(isThere);
  });
});
