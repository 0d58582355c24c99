import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import {
  ChainBuilder,
  ChainedEntries,
  chainLineToText,
  type ConversationId,
  parseChainLine,
  StreamEntry,
} from "../../src/record/conversation/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { ModelServer } from "./model-server.ts";
import { entriesOf, query, queryProject, recordsOf } from "./query-project.ts";
import { Screen, shows } from "./screen.ts";
import { jsonLines, lines, printed, Project } from "./support.ts";

/** A model that creates these files, one in each turn. */
function creating(...files: readonly string[]): Promise<ModelServer> {
  const left = [...files];
  return ModelServer.start((body) => {
    if (body.messages.at(-1)?.role === "tool") return "Done.";
    const [name = "none"] = left.splice(0, 1);
    return {
      text: "",
      calls: [{ name: "fs_create_file", arguments: { path: name, content: "x\n" } }],
    };
  });
}

const noticed = (stderr: string) => ({ status: 0, stdout: "", stderr });

const CONFIG = "[conversation.tools.fs_create_file]\nenable = true\n";

test("a rule that is saved at a prompt lets later turns go on without asking, until it is removed", async () => {
  await using server = await creating("src/new/a.ts", "src/new/b.ts", "test/c.ts", "src/new/d.ts");
  const project = queryProject({ server, config: CONFIG });
  const screen = new Screen(project, ["query", "one"], { columns: 100 });
  await screen.answer(["s always…", "s"], ["❯ 1: the path src/new/a.ts", "2"]);
  await screen.answer(["❯ 2: files in src/new/", "7"], ["❯ 7: always", "\r"]);
  await screen.end();
  expect(screen.lines.join("\n")).toContain("yes, and always for files in src/new/");
  const second = await query(project, ["two"]);
  expect((await project.jp("conversation", "verify")).stdout).toContain(
    "2 turns, all as recorded.",
  );
  const third = await query(project, ["three"]);
  const made = ["src/new/a.ts", "src/new/b.ts", "test/c.ts"].map((name) =>
    existsSync(path.join(project.root, name)),
  );
  expect([second.status, third.status, made]).toEqual([0, 3, [true, true, false]]);
  const [record] = recordsOf(project);
  const answers = record === undefined ? [] : entriesOf(record, "inquiry_response");
  const rule = { mode: "unattended", arg: "/path", prefix: "src/new" };
  expect(answers).toMatchObject([
    { answered_by: { kind: "user" }, grant: { rule, until: "always" } },
    { answered_by: { kind: "policy", rules: [{ from: "saved", rule }] } },
    { outcome: "cancelled" },
  ]);

  const [listed] = jsonLines(await project.jp("permissions", "ls", "--format", "json"));
  expect(listed).toMatchObject({
    tool: "fs_create_file",
    rule,
    limits: { folder: "." },
    scope: { code: "folder", parts: ["src/new"] },
    until: "always",
    expired: false,
    last_used: expect.any(String) as string,
    workspace: project.root,
  });
  const id = (listed as { id: string }).id;
  const table = await project.jp("permissions", "ls");
  expect(table.stdout.split("\n").slice(0, 2)).toEqual([
    "ID        TOOL            FOR                UNTIL   USED",
    `${id}  fs_create_file  files in src/new/  always  just now`,
  ]);
  const check = [
    "permissions",
    "check",
    "fs_create_file",
    "-a",
    "path=src/new/e.ts",
    "-a",
    "content=x",
  ];
  expect((await project.jp(...check)).stdout).toContain(`Decided by: ${id} (saved)`);
  expect(await project.jp("permissions", "rm", id)).toEqual(
    noticed(lines(`Removed ${id}: fs_create_file for files in src/new/`)),
  );
  expect((await query(project, ["four"])).status).toBe(3);
  expect((await project.jp(...check)).stdout).not.toContain("saved");
});

test("two keys save a rule for 30 days, so that the next run of a command does not ask", async () => {
  await using server = await creating("src/new/a.ts", "src/new/a.ts");
  const project = queryProject({ server, config: CONFIG });
  const screen = new Screen(project, ["query", "one"], { columns: 100 });
  await screen.answer(["s always…", "s"], ["❯ 6: 30 days", "\r"]);
  await screen.end();
  const [saved] = jsonLines(await project.jp("permissions", "ls", "--format", "json"));
  expect(saved).toMatchObject({
    tool: "fs_create_file",
    rule: { mode: "unattended", arg: "/path", const: "src/new/a.ts" },
    until: expect.stringMatching(/^\d{4}-/) as string,
  });
});

test("a rule for the turn covers the other calls of it, is not saved, and is the same in a replay", async () => {
  const calls = ["a", "b"].map((name) => {
    return { name: "fs_create_file", arguments: { path: `src/${name}`, content: "x\n" } };
  });
  await using server = await ModelServer.start([{ text: "", calls }, "Done."]);
  const project = queryProject({ server, config: CONFIG });
  const screen = new Screen(project, ["query", "one"], { columns: 100 });
  await screen.answer(["s always…", "s"], ["❯ 1: the path src/", "2"]);
  await screen.answer(["❯ 2: files in src/", "4"], ["❯ 4: this turn", "\r"]);
  await screen.end();
  expect(["a", "b"].map((name) => existsSync(path.join(project.root, "src", name)))).toEqual([
    true,
    true,
  ]);
  expect(existsSync(path.join(project.data, "permissions"))).toBe(false);
  expect((await project.jp("conversation", "verify")).stdout).toContain("1 turn, all as recorded.");
});

/** As earlier versions wrote them, for `shell_run` in a workspace. */
function saveUnlimited(project: Project, ...rules: readonly object[]): void {
  const folder = path.join(project.data, "permissions");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const saved = rules.map((rule, index) => ({
    id: `0000000${index}`,
    tool: "shell_run",
    rule,
    kind: "command",
    source: "[]",
    created: "2026-01-01 00:00:00.0",
    until: "always",
    inquiry: "",
  }));
  const name = `${createHash("sha256").update(project.root).digest("hex")}.json`;
  const text = JSON.stringify({ workspace: project.root, rules: saved, removed: [] });
  writeFileSync(path.join(folder, name), text, { mode: 0o600 });
}

test("a rule of an earlier version, which names no folder, is marked in the list", async () => {
  const project = new Project();
  const allowing = { mode: "unattended", arg: "/command", prefix: "npm test" };
  const asking = { mode: "ask", arg: "/command", const: "npm publish" };
  saveUnlimited(project, allowing, asking);
  const { stdout, stderr } = await project.jp("permissions", "ls");
  expect([stdout, stderr]).toEqual([
    lines(
      "ID        TOOL       FOR                                                  UNTIL   USED",
      "00000000  shell_run  * commands that begin with npm test, in any folder   always  never",
      "00000001  shell_run  asking about the command npm publish, in any folder  always  never",
    ),
    expect.stringContaining("* Saved by an earlier version of jp") as string,
  ]);
  const [first, second] = jsonLines(await project.jp("permissions", "ls", "--format", "json"));
  expect(first).toMatchObject({ unlimited: true });
  expect(first).not.toHaveProperty("limits");
  expect(second).not.toHaveProperty("unlimited");
});

test("without saved permissions, nothing is created or listed, and nothing can be removed", async () => {
  const project = new Project();
  expect([
    await project.jp("permissions", "ls"),
    await project.jp("permissions", "ls", "--all", "--format", "json"),
    await project.jp("permissions", "rm", "--expired"),
    await project.jp("permissions", "rm", "--all"),
  ]).toEqual([
    noticed(lines("No permissions are saved here. At a prompt, s saves one.")),
    printed(""),
    noticed(lines("Nothing to remove.")),
    noticed(lines("Nothing to remove.")),
  ]);
  const { status, stderr } = await project.jp("permissions", "rm", "12345678");
  expect([status, stderr]).toEqual([1, expect.stringContaining("12345678")]);
  expect((await project.jp("permissions", "rm")).status).toBe(2);
  expect(existsSync(path.join(project.data, "permissions"))).toBe(false);
});

test("jp tool run offers no rule: there is nothing to save it for", async () => {
  const project = queryProject({ config: CONFIG });
  const words = ["tool", "run", "fs_create_file", "-a", "path=src/a.ts", "-a", "content=x"];
  const screen = new Screen(project, words, { columns: 100 });
  await shows(screen, "y yes");
  expect(screen.lines.join("\n")).not.toContain("always");
  screen.type("y");
  await screen.end();
  expect(readFileSync(path.join(project.root, "src/a.ts"), "utf8")).toBe("x");
});

/** A turn in which the person approves six new files and refuses one. */
async function decidedProject(): Promise<Project> {
  const names = ["a", "b", "c", "d", "e", "f"].map((name) => `src/new/${name}.ts`);
  const calls = [...names, "src/new/.env"].map((name) => {
    return { name: "fs_create_file", arguments: { path: name, content: "x\n" } };
  });
  await using server = await ModelServer.start([{ text: "", calls }, "Done."]);
  const project = queryProject({ server, config: CONFIG });
  const screen = new Screen(project, ["query", "one"], { columns: 100 });
  // Tools run at the same time, so the first one to ask can be any of them.
  const left = new Set([...names, "src/new/.env"]);
  while (left.size > 0) {
    const asked = () => [...left].find((name) => screen.lines.includes(`? Create ${name}?`));
    await screen.untilShown(() => asked() !== undefined);
    const name = asked() ?? "";
    left.delete(name);
    screen.type(name.endsWith(".env") ? "n\r" : "y\r");
  }
  await screen.end();
  return project;
}

test("rules are proposed from what a person has decided, saved, and tried on it", async () => {
  const project = await decidedProject();
  const proposed = await project.jp("permissions", "propose", "--format", "json");
  expect(jsonLines(proposed)).toMatchObject([
    { tool: "fs_create_file", rule: { mode: "ask", glob: "**/.env*" }, refusals: 1 },
    { tool: "fs_create_file", rule: { mode: "unattended", prefix: "src/new" }, prompts: 6 },
  ]);
  expect(await project.jp("permissions", "try")).toEqual(
    noticed(lines("0 of your 7 decisions would have been made without asking you.")),
  );
  const file = path.join(project.root, "rules.jsonl");
  writeFileSync(file, proposed.stdout);
  const tried = await project.jp("permissions", "try", "--rules", file, "-F", "json");
  const changes = jsonLines(tried).map((line) => {
    const { about, before, after } = line as Record<string, string>;
    return `${about}: ${before}, ${after}`;
  });
  expect([tried.status, changes.toSorted()]).toEqual([
    0,
    ["a", "b", "c", "d", "e", "f"].map((name) => `src/new/${name}.ts: approved, run`),
  ]);

  writeFileSync(file, proposed.stdout.split("\n").slice(1).join("\n"));
  const broken = await project.jp("permissions", "try", "--rules", file);
  expect([broken.status, broken.stdout.split("\n").slice(0, 3)]).toEqual([
    1,
    [
      "1 call that you refused, and would run without asking",
      "  COUNT  TOOL            CALL",
      "  1      fs_create_file  src/new/.env",
    ],
  ]);

  const saved = await project.jp("permissions", "propose", "--save");
  expect(saved.stderr).toContain("Saved 2 rules.");
  const check = async (argument: string) => {
    const words = ["fs_create_file", "-a", "content=x", "-a", argument, "--format", "json"];
    const [verdict] = jsonLines(await project.jp("permissions", "check", ...words));
    const { mode, rules = [] } = verdict as { mode: string; rules?: readonly unknown[] };
    return [mode, rules.length];
  };
  expect([await check("path=src/new/l.ts"), await check("path=src/new/.env.local")]).toEqual([
    ["unattended", 1],
    ["ask", 1],
  ]);
  const listed = await project.jp("permissions", "ls");
  expect(listed.stdout).toContain("asking about files that match **/.env*");
  expect((await project.jp("permissions", "propose")).stderr).toContain(
    "Nothing to propose from 7 decisions of yours in 1 conversation.",
  );
});

/** Approves the creation of these files in one turn, which waits for `jp inquiry answer`. */
async function approve(project: Project, names: readonly string[], ...words: readonly string[]) {
  const calls = names.map((name) => {
    return { name: "fs_create_file", arguments: { path: name, content: "x\n" } };
  });
  await using server = await ModelServer.start([{ text: "", calls }, "Done."]);
  queryProject({ project, server, config: DEFERRING });
  expect((await query(project, [...words, "create them"])).status).toBe(4);
  const pending = await project.jp("inquiry", "ls", "--pending", "--format", "json");
  for (const { id } of jsonLines(pending) as readonly { readonly id: string }[]) {
    await project.jp("inquiry", "answer", id, "yes");
  }
  expect((await query(project, [...words, "--continue-turn"])).status).toBe(0);
}

const DEFERRING = `${CONFIG}detached = "defer"\n`;

function filesIn(folder: string): readonly string[] {
  return ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => `${folder}/${name}.ts`);
}

/** A clone of a workspace in which someone else has approved eight files. */
async function cloneOfAnother(): Promise<{ readonly clone: Project; readonly id: string }> {
  const other = new Project();
  await approve(other, filesIn("src/theirs"));
  const clone = new Project();
  cpSync(
    path.join(other.root, ".jp", "conversations"),
    path.join(clone.root, ".jp", "conversations"),
    { recursive: true },
  );
  const [{ id } = { id: "" }] = recordsOf(clone);
  return { clone, id };
}

async function sendMessage(project: Project, id: string): Promise<void> {
  await using server = await ModelServer.start(["Hello."]);
  queryProject({ project, server, config: DEFERRING });
  expect((await query(project, ["--id", id, "hi"])).status).toBe(0);
}

const EIGHT_LEFT_OUT =
  "warning: 8 decisions in 1 conversation are left out: nothing in your data folder shows that you made them here.";

test("what others have decided in a clone is neither proposed from nor tried, also after a message of yours", async () => {
  counters("T-WORK-26");
  const { clone, id } = await cloneOfAnother();
  await sendMessage(clone, id);
  const none = noticed(lines(EIGHT_LEFT_OUT, "You have not decided about any calls here yet."));
  expect([
    await clone.jp("permissions", "propose", "--save"),
    await clone.jp("permissions", "try"),
  ]).toEqual([none, none]);
  await approve(clone, filesIn("src/yours"), "--id", id);
  const proposed = await clone.jp("permissions", "propose", "--format", "json");
  expect(jsonLines(proposed)).toMatchObject([{ rule: { prefix: "src/yours" }, prompts: 8 }]);
  expect(proposed.stderr).toBe(lines(EIGHT_LEFT_OUT));
});

/** Adds their turn once more, as if you had decided at a terminal, with links that fit the chain. */
function forgeTurn({ root }: Project): void {
  const conversations = path.join(root, ".jp", "conversations");
  const [name = ""] = readdirSync(conversations);
  const [record, chain] = ["events.json", "decisions.jsonl"].map((file) =>
    path.join(conversations, name, file),
  ) as [string, string];
  const elements = JSON.parse(readFileSync(record, "utf8")) as readonly JsonObject[];
  const [start = 0, end] = elements.flatMap(({ type }, at) => (type === "turn_start" ? [at] : []));
  const forged = elements.slice(start, end).map((element) => {
    const by = { kind: "user", channel: "terminal", auth: "os_user" };
    return "answered_by" in element ? { ...element, answered_by: by } : element;
  });
  writeFileSync(record, JSON.stringify([...elements, ...forged]));
  const last = parseChainLine(readFileSync(chain, "utf8").trimEnd().split("\n").at(-1) ?? "");
  const builder = new ChainBuilder(name as ConversationId, [last]);
  const picked = new ChainedEntries().pick(forged.map((each) => StreamEntry.fromJson(each)));
  for (const entry of picked) appendFileSync(chain, chainLineToText(builder.event(entry, "salt")));
}

test("a forged chain in a clone counts for nothing, whether it comes before or after what you decide", async () => {
  counters("T-WORK-26");
  const { clone, id } = await cloneOfAnother();
  forgeTurn(clone);
  await sendMessage(clone, id);
  await approve(clone, filesIn("src/yours"), "--id", id);
  forgeTurn(clone);
  await sendMessage(clone, id);
  const proposed = await clone.jp("permissions", "propose", "--format", "json");
  expect(jsonLines(proposed)).toMatchObject([{ rule: { prefix: "src/yours" }, prompts: 8 }]);
  expect(proposed.stderr).toContain("24 decisions in 1 conversation are left out");
});

test("a decision of yours does not count for another call that someone has put in its place", async () => {
  counters("T-WORK-26");
  const project = new Project();
  await approve(project, filesIn("src/yours"));
  const [{ folder } = { folder: "" }] = recordsOf(project);
  const record = path.join(folder, "events.json");
  writeFileSync(record, readFileSync(record, "utf8").replaceAll('"src/yours/', '"src/theirs/'));
  const { stdout, stderr } = await project.jp("permissions", "propose", "--save");
  expect([stdout, stderr]).toEqual([
    "",
    lines(EIGHT_LEFT_OUT, "You have not decided about any calls here yet."),
  ]);
});

test("a decision of yours counts once, though a fork has a copy of it", async () => {
  const project = new Project();
  await approve(project, filesIn("src/yours"));
  await project.jp("conversation", "fork");
  const { stderr } = await project.jp("permissions", "propose");
  expect(stderr).toBe(
    lines(
      "From 8 decisions of yours in 1 conversation: 1 rule would have spared 8 prompts.",
      "To save them all: jp permissions propose --save",
    ),
  );
});

test("a file of rules that cannot be used is an error of usage", async () => {
  const project = new Project();
  const file = path.join(project.root, "rules.jsonl");
  const run = async (text: string) => {
    writeFileSync(file, text);
    return project.jp("permissions", "try", "--rules", file);
  };
  const results = [
    await run("{}\n"),
    await run('{"tool":"x","rule":{"mode":"\u001b[31m"}}\n'),
    await project.jp("permissions", "try", "--rules", "none.jsonl"),
    await project.jp("permissions", "propose", "--from", "soon"),
  ];
  expect(results.map(({ status }) => status)).toEqual([2, 2, 2, 2]);
  expect(results.map(({ stderr }) => stderr).join("")).not.toContain("\u001b");
});

test("jp tool check says whom a call is for, and which rule decides", async () => {
  const project = new Project();
  const place = path.join(project.home, ".config", "jp");
  mkdirSync(place, { recursive: true });
  writeFileSync(
    path.join(place, "config.toml"),
    '[conversation.tools.fs_create_file]\nenable = true\npolicy.run = [{ arg = "/path", prefix = "pay", mode = "ask", target = { role = "finance" } }]\n',
  );
  const words = ["tool", "check", "fs_create_file", "-a", "content=x", "-a"];
  const [paid, other] = [
    await project.jp(...words, "path=pay/a.txt"),
    await project.jp(...words, "path=src/a.txt"),
  ];
  expect(paid.stdout.split("\n").slice(0, 2)).toEqual([
    "jp asks someone with the role finance before this call runs.",
    "Decided by: conversation.tools.fs_create_file.policy.run[0] (user)",
  ]);
  expect(other.stdout).toMatch(/^This call runs without asking\./);
});

test("jp tool check warns about a question that the tool does not ask", async () => {
  const project = new Project();
  const setting = "conversation.tools.fs_create_file.questions.creat_file.target=assistant";
  const words = ["tool", "check", "fs_create_file", "-a", "content=x", "-a", "path=a"];
  const { stderr } = await project.jp(...words, "--cfg", setting);
  expect(stderr).toContain("unknown question; did you mean create_file?");
});

/** A project whose own config has a rule for commands and rules for a tool of the user's. */
function projectWithRules(): Project {
  const project = new Project();
  const place = path.join(project.home, ".config", "jp");
  mkdirSync(place, { recursive: true });
  writeFileSync(
    path.join(place, "config.toml"),
    `[conversation.tools.shell_run]
enable = true
policy.run = [{ arg = "/command", prefix = "npm test", mode = "unattended" }]

[conversation.tools.deploy]
source = "local"
command = "true"
enable = true
parameters.target = { type = "string" }
parameters.file = { type = "path" }
policy.run = [
  { arg = "/target", prefix = "src/", mode = "unattended" },
  { arg = "/target", glob = "lib/**", mode = "unattended" },
  { arg = "/target", pattern = "^doc/", mode = "unattended" },
  { arg = "/target", prefix = "https://a.example/", mode = "unattended" },
  { arg = "/file", prefix = "src/", mode = "unattended" },
]
`,
  );
  return project;
}

test.each([
  ["FOO=1 npm test", ["assignment"], "an assignment"],
  ["npm test > out", ["redirection"], "a redirection"],
  ["cd sub && npm test", ["shell_state"], "cd sub changes what other commands do"],
  [
    "npm test $(cat x)",
    ["substitution", "unknown_syntax"],
    "a substitution, syntax that shells may read differently",
  ],
  ["npm test && make", ["other_command"], "no rule lets make run"],
  [
    "A=1 npm test | make $B",
    ["assignment", "expansion", "other_command"],
    "an assignment, a variable or another expansion, no rule lets make $B run",
  ],
])("jp tool check names what keeps a rule from counting: %s", async (command, because, text) => {
  const project = projectWithRules();
  const words = ["check", "shell_run", "--arg", `command=${command}`];
  const { stdout } = await project.jp("tool", ...words);
  expect(stdout).toContain(`Does not count: ${text}\n`);
  const json = jsonLines(await project.jp("permissions", ...words, "--format", "json"));
  expect(json).toMatchObject([{ mode: "ask", not_counted: [{ from: "user", because }] }]);
});

test.each(["make", "npm test"])(
  "jp tool check names no obstacle of a rule that counts or is about another command: %s",
  async (command) => {
    const words = ["tool", "check", "shell_run", "--arg", `command=${command}`];
    const { stdout } = await projectWithRules().jp(...words, "--format", "json");
    expect(stdout).toContain('"not_counted":[]');
  },
);

test("jp tool check says that a rule for a command answers no question of the file tools", async () => {
  const { stdout } = await projectWithRules().jp(
    "tool",
    "check",
    "shell_run",
    "-a",
    "command=npm test",
  );
  expect(stdout).toMatch(/^This call runs without asking\./);
  expect(stdout).not.toMatch(/answers|create_file/);
});

test("jp tool check says why a text in a folder does not count, and where type = path is missing", async () => {
  const project = projectWithRules();
  const words = ["tool", "check", "deploy", "--arg", "target=src/%2e%2e//.env"];
  const { stdout } = await project.jp(...words);
  expect(stdout).toContain("Does not count: a . or .. between slashes, two slashes in a row\n");
  const note = '/target of deploy has no type = "path", so it is compared as text\n';
  expect(stdout.split(note)).toHaveLength(4);
  const json = jsonLines(await project.jp(...words, "--format", "json"));
  const key = "conversation.tools.deploy.policy.run";
  expect(json).toMatchObject([
    {
      not_counted: [{ key: `${key}[0]`, because: ["dot_segment", "empty_segment"] }],
      untyped: [{ key: `${key}[0]` }, { key: `${key}[1]` }, { key: `${key}[2]` }],
    },
  ]);
});
