import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { counters } from "../../../test/security/threats.ts";
import type { ToolSource } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { callOf, localSource, type ToolOptions } from "./call-of-tool.fixture.ts";
import { checkGrant, proposeGrants } from "./grants.ts";

function workspace(): string {
  const root = temporaryFolder();
  mkdirSync(path.join(root, "src", "agent"), { recursive: true });
  writeFileSync(path.join(root, "src", "agent", "a.ts"), "");
  return root;
}

async function proposed(args: JsonObject, options: ToolOptions = {}, root = workspace()) {
  const proposals = await proposeGrants(callOf(args, options), { root });
  return proposals.map(({ rule: { mode, ...rule }, code, parts }) => {
    expect(mode).toBe("unattended");
    return { code, parts, rule };
  });
}

const EDITS = { effect: "edits", argumentKinds: { "/path": "path" } } as const;
const FETCHES = { name: "web_fetch", argumentKinds: { "/url": "url" } } as const;
const RUNS = {
  name: "shell_run",
  argumentKinds: { "/command": "command", "/stdin": "input" },
} as const;

const file = (name: string) => ({
  code: "files",
  parts: [name],
  rule: { arg: "/path", const: name },
});
const folder = (name: string) => ({
  code: "folder",
  parts: [name],
  rule: { arg: "/path", prefix: name },
});

describe("for a file, the proposals", () => {
  test("are the file and its folder", async () => {
    expect(await proposed({ path: "src/agent/a.ts", patch: "x" }, EDITS)).toEqual([
      file("src/agent/a.ts"),
      folder("src/agent"),
    ]);
  });

  test("are for a file that does not exist yet, too, however it is written", async () => {
    expect(await proposed({ path: "./src/agent/../new.ts" }, EDITS)).toEqual([
      file("src/new.ts"),
      folder("src"),
    ]);
  });

  test("a proposed folder never is the workspace itself", async () => {
    counters("T-SAVED-5");
    expect(await proposed({ path: "README.md" }, EDITS)).toEqual([file("README.md")]);
    expect((await proposed({ path: "." }, EDITS)).map(({ code }) => code)).toEqual(["exact_call"]);
  });

  test.each([".jp/config.toml", ".git/hooks/pre-commit", ".GIT/config", "src/.git/config"])(
    "are none about what decides what else may run: %s",
    async (name) => {
      const found = await proposed({ path: name, content: "x" }, EDITS);
      expect(found.filter(({ code }) => code !== "exact_call")).toEqual([]);
    },
  );

  test.each(["/etc/passwd", "../other/a.ts", "~/a.ts", "a\0b"])(
    "are none outside the workspace, or where no one can say which file it is: %j",
    async (name) => {
      const found = await proposed({ path: name }, EDITS);
      expect(found.filter(({ code }) => code !== "exact_call")).toEqual([]);
    },
  );

  test("are none through a link, which may lead elsewhere tomorrow", async () => {
    const root = workspace();
    symlinkSync("src", path.join(root, "lib"));
    const found = await proposed({ path: "lib/agent/a.ts" }, EDITS, root);
    expect(found.filter(({ code }) => code !== "exact_call")).toEqual([]);
  });

  test("are for a list of files those files, and the folder that they have in common", async () => {
    const reads = {
      name: "fs_grep_files",
      effect: "reads",
      argumentKinds: { "/paths": "path" },
    } as const;
    const paths = ["src/agent/a.ts", "src/b.ts"];
    expect(await proposed({ paths, pattern: "x" }, reads)).toEqual([
      { code: "files", parts: paths, rule: { arg: "/paths", enum: paths } },
      { code: "folder", parts: ["src"], rule: { arg: "/paths", prefix: "src" } },
      {
        code: "exact_call",
        parts: [JSON.stringify({ paths, pattern: "x" })],
        rule: { arg: "", const: { paths, pattern: "x" } },
      },
    ]);
  });
});

test("for a page, the host on its usual port is proposed", async () => {
  const [host, exact] = await proposed({ url: "https://Docs.example.com./a?b" }, FETCHES);
  expect([exact?.code, host]).toEqual([
    "exact_call",
    {
      code: "host",
      parts: ["docs.example.com"],
      rule: { arg: "/url/host", const: "docs.example.com" },
    },
  ]);
  const codes = async (url: string) => (await proposed({ url }, FETCHES)).map(({ code }) => code);
  expect(await codes("https://docs.example.com:8443/a")).toEqual(["exact_call"]);
  expect(await codes("https://me:pw@docs.example.com/a")).toEqual(["exact_call"]);
  expect(await codes("file:///etc/passwd")).toEqual(["exact_call"]);
});

test("a rule proposed for a tool of the user's is for this exact call alone if other arguments may matter", async () => {
  counters("T-SAVED-1");
  const args = { path: "src/agent/a.ts", to: "production" };
  const options = {
    name: "deploy",
    source: localSource(),
    argumentKinds: { "/path": "path" },
  } as const;
  expect((await proposed(args, options)).map(({ code }) => code)).toEqual(["exact_call"]);
  const only = { ...options, properties: { path: { type: "string" } } };
  expect((await proposed({ path: "src/agent/a.ts" }, only)).map(({ code }) => code)).toEqual([
    "files",
    "folder",
    "exact_call",
  ]);
});

test("a proposed rule has the arguments verbatim, whatever characters a model puts there", async () => {
  counters("T-SAVED-2");
  const args = { "a\u202e": '\u001b[2J\n"}, {"mode":"unattended"}', path: "*/../**" };
  const [exact] = await proposed(args, { name: "deploy", source: localSource() });
  expect(exact?.rule).toEqual({ arg: "", const: args });
  const odd = "src/agent/{a,b}*[x].ts";
  expect(await proposed({ path: odd }, EDITS)).toEqual([file(odd), folder("src/agent")]);
});

test("no rule is proposed for calls that destroy, for questions about that, and for what is asked each time", async () => {
  counters("T-SAVED-1");
  const args = { path: "src/agent/a.ts" };
  const options = { root: workspace() };
  const destroys = callOf(args, { ...EDITS, effect: "destroys" });
  const declared = callOf(args, { ...EDITS, config: { effect: "destroys" } });
  const outside = callOf(
    { command: "ls" },
    { ...RUNS, source: { origin: { type: "builtin", confinement: "none" } } },
  );
  expect(await proposeGrants(destroys, options)).toEqual([]);
  expect(await proposeGrants(declared, options)).toEqual([]);
  expect(await proposeGrants(outside, options)).toEqual([]);
  for (const questionId of ["overwrite_file", "delete_file", "anything"]) {
    expect(await proposeGrants(callOf(args, EDITS), { ...options, questionId })).toEqual([]);
  }
  const create = await proposeGrants(callOf(args, EDITS), {
    ...options,
    questionId: "create_file",
  });
  expect(create).toHaveLength(2);
});

async function codesFor(args: JsonObject, source?: ToolSource) {
  return (await proposed(args, { ...RUNS, ...(source && { source }) })).map(({ code }) => code);
}

test("a rule proposed for a command with an input, a network or write access to .git is for this exact call alone", async () => {
  counters("T-SAVED-1");
  expect(await codesFor({ command: "npm test", stdin: "x" })).toEqual(["exact_call"]);
  expect(await codesFor({ command: "npm test", stdin: "" })).toEqual(["command", "command_prefix"]);
  const online = { origin: { type: "builtin", confinement: "sandbox", network: true } } as const;
  expect(await codesFor({ command: "npm test", network: true }, online)).toEqual(["exact_call"]);
  const git = { origin: { type: "builtin", confinement: "sandbox", git: true } } as const;
  expect(await codesFor({ command: "npm test", git: true }, git)).toEqual(["exact_call"]);
});

test.each<[string, readonly string[]]>([
  ["npm test", ["command npm test", "command_prefix npm test"]],
  ["npm run lint -- --fix", ["command npm run lint -- --fix", "command_prefix npm run lint"]],
  ["git status", ["command git status", "command_prefix git status"]],
  ["gh pr list", ["command gh pr list", "command_prefix gh pr list"]],
  [
    "python3 -m unittest -q",
    ["command python3 -m unittest -q", "command_prefix python3 -m unittest"],
  ],
  ["python3.12 -m pytest", ["command python3.12 -m pytest", "command_prefix python3.12 -m pytest"]],
  ["python3 -m -c x", ["command python3 -m -c x"]],
  ["python3 -m", ["command python3 -m"]],
  ["python3 -c pass", ["command python3 -c pass"]],
  ["python3 check.py", ["command python3 check.py"]],
  ["git -c core.pager=x log", ["command git -c core.pager=x log"]],
  ["ls -la src", ["command ls -la src"]],
  ["sudo npm test", ["command sudo npm test"]],
  ["npm test; rm -rf /", ["exact_call"]],
  ["npm test $(id)", ["exact_call"]],
  ["npm test > /etc/passwd", ["exact_call"]],
  ["npm\ttest", ["exact_call"]],
  ["FOO=1 npm test", ["exact_call"]],
])(
  "for a command, its first words are proposed only if it is one plain command: %j",
  async (command, expected) => {
    const found = await proposed({ command }, RUNS);
    const texts = found.map(({ code, parts }) =>
      code === "exact_call" ? code : `${code} ${parts.join()}`,
    );
    expect(texts).toEqual(expected);
  },
);

test("a rule proposed for a command is limited to how it was shown to run, and its first words to the options shown", async () => {
  counters("T-SAVED-6");
  const source = { origin: { type: "builtin", confinement: "sandbox", undo: "git" } } as const;
  const call = callOf(
    { command: "git diff --stat -M -- src" },
    { ...RUNS, source: { ...source, folder: "src" } },
  );
  const proposals = await proposeGrants(call, { root: workspace() });
  const shown = { confinement: "sandbox", folder: "src" };
  expect(proposals.map(({ code, limits }) => [code, limits])).toEqual([
    ["command", shown],
    ["command_prefix", { ...shown, options: ["--stat", "-M"] }],
  ]);
});

test("a rule of the person's own has the options of each command that it is about", async () => {
  const call = callOf({ command: "git diff --a; npm test --b && git diff --c --a" }, RUNS);
  const check = (prefix: string) =>
    checkGrant({ mode: "unattended", arg: "/command", prefix }, call, { root: workspace() });
  const whole = await check("git diff");
  expect("problem" in whole).toBe(true); // It does not cover npm.
  const only = callOf({ command: "git diff --a; git diff --c --a" }, RUNS);
  const rule = { mode: "unattended", arg: "/command", prefix: "git diff" };
  expect(await checkGrant(rule, only, { root: workspace() })).toMatchObject({
    code: "command_prefix",
    limits: { options: ["--a", "--c"] },
  });
});

describe("a rule of the person's own", () => {
  const call = callOf(
    { path: "src/agent/a.ts" },
    { ...EDITS, properties: { path: { type: "string" } } },
  );
  const check = (rule: JsonObject) => checkGrant(rule, call, { root: workspace() });

  test("may be as broad as they say", async () => {
    const rule = { mode: "unattended", arg: "/path", glob: "src/**" };
    const limits = { folder: "." };
    expect(await check(rule)).toEqual({
      rule,
      code: "rule",
      parts: [JSON.stringify(rule)],
      limits,
    });
    expect(await check({ mode: "unattended" })).toMatchObject({ code: "rule" });
  });

  test.each<[string, JsonObject, string]>([
    ["no rule", { allow: true }, "mode"],
    ["another mode", { mode: "ask" }, "The mode has to be"],
    ["another tool", { mode: "unattended", tool: "shell_run" }, "about fs_modify_file"],
    ["all tools", { mode: "unattended", tool: "*" }, "about fs_modify_file"],
    [
      "an argument that does not exist",
      { mode: "unattended", arg: "/file", const: "a" },
      "no argument /file",
    ],
    [
      "a pattern that cannot be used",
      { mode: "unattended", arg: "/path", pattern: "(?=a)" },
      "pattern cannot be used",
    ],
    [
      "another call",
      { mode: "unattended", arg: "/path", prefix: "test" },
      "does not match this call",
    ],
  ])("is refused if it is not about this call: %s", async (_, rule, problem) => {
    const checked = await check(rule);
    expect("problem" in checked && checked.problem).toContain(problem);
  });
});
