import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../util/index.ts";
import { callOf, localSource, type ToolOptions } from "./call-of-tool.fixture.ts";
import type { PastDecision } from "./decided-calls.ts";
import { proposeRules } from "./propose.ts";

const EDIT: ToolOptions = { effect: "edits", argumentKinds: { "/path": "path" } };
const SHELL: ToolOptions = { name: "shell_run", argumentKinds: { "/command": "command" } };
const PAGE: ToolOptions = { name: "web_fetch", argumentKinds: { "/url": "url" } };
const SEVERAL: ToolOptions = { effect: "edits", argumentKinds: { "/files/path": "path" } };

function decided(isApproved: boolean, tool: ToolOptions, ...all: readonly JsonObject[]) {
  return all.map((args): PastDecision => ({ call: callOf(args, tool), isApproved, identity: "" }));
}

const yes = (tool: ToolOptions, ...all: readonly JsonObject[]) => decided(true, tool, ...all);
const no = (tool: ToolOptions, ...all: readonly JsonObject[]) => decided(false, tool, ...all);

/** Twice each. */
function filesIn(folder: string, count = 6): readonly JsonObject[] {
  const files = Array.from({ length: count }, (_, index) => ({ path: `${folder}/f${index}.ts` }));
  return [...files, ...files];
}

/** Nothing is there. */
const root = "/nowhere";

async function rulesFrom(...decisions: readonly (readonly PastDecision[])[]) {
  const proposed = await proposeRules(decisions.flat(), root);
  return proposed.map(({ rule }) => rule);
}

const allow = (rule: JsonObject) => ({ mode: "unattended", ...rule });
const ask = (rule: JsonObject) => ({ mode: "ask", ...rule });

describe("a folder is proposed", () => {
  test("after several of its files were approved and none refused, with what that would have spared", async () => {
    const proposed = await proposeRules(yes(EDIT, ...filesIn("src/api")), root);
    expect(proposed).toMatchObject([
      {
        tool: "fs_modify_file",
        rule: allow({ arg: "/path", prefix: "src/api" }),
        scope: { code: "folder", parts: ["src/api"] },
        count: 12,
      },
    ]);
    expect(proposed[0]?.calls[0]).toEqual({ about: "src/api/f0.ts", count: 2 });
  });

  test("not after two files, and never the whole workspace", async () => {
    const two = yes(EDIT, ...filesIn("src", 2));
    const top = yes(EDIT, ...["a", "b", "c", "d", "e", "f", "g"].map((path) => ({ path })));
    expect([await rulesFrom(two), await rulesFrom(top, top)]).toEqual([[], []]);
  });

  test("as the one above, if several below it were approved", async () => {
    const rules = await rulesFrom(
      yes(EDIT, ...filesIn("src/api")),
      yes(EDIT, ...filesIn("src/ui")),
    );
    expect(rules).toEqual([allow({ arg: "/path", prefix: "src" })]);
  });

  test("once for the files of several folders that are changed in one call", async () => {
    const both = "abcdefgh".split("").map((name) => ({
      files: [{ path: `src/${name}.ts` }, { path: `test/${name}.test.ts` }],
    }));
    expect(await rulesFrom(yes(SEVERAL, ...both, ...both))).toEqual([
      allow({ arg: "/files/path", glob: "{src,test}/**" }),
    ]);
  });
});

describe("what was refused once", () => {
  test("is asked about before the folder that it is in", async () => {
    const rules = await rulesFrom(
      yes(EDIT, ...filesIn("src", 12)),
      no(EDIT, { path: "src/f3.ts" }),
      yes(EDIT, ...filesIn("src", 12)),
    );
    expect(rules).toEqual([
      ask({ arg: "/path", const: "src/f3.ts" }),
      allow({ arg: "/path", prefix: "src" }),
    ]);
  });

  test("and never approved makes jp ask about all files of the kind, by any tool that edits", async () => {
    const create: ToolOptions = { ...EDIT, name: "fs_create_file" };
    const rules = await rulesFrom(
      no(EDIT, { path: "src/.env" }, { path: "src/db/migrations/1.sql" }),
      yes(create, ...filesIn("src", 12)),
    );
    expect(rules).toEqual([
      ask({ arg: "/path", glob: "**/.env*" }),
      ask({ arg: "/path", glob: "**/db/**" }),
      allow({ arg: "/path", prefix: "src" }),
    ]);
  });

  test("many times in a folder keeps the folder from being proposed", async () => {
    const mixed = filesIn("src", 12).flatMap((_, index) =>
      decided(index % 4 > 0, EDIT, { path: `src/g${index}.ts` }),
    );
    expect(await rulesFrom(mixed)).toEqual([]);
  });

  test("and lately takes back the folder that was approved for long", async () => {
    const files = filesIn("src", 40);
    const rules = await rulesFrom(yes(EDIT, ...files, ...files), no(EDIT, ...files.slice(0, 3)));
    expect(rules).not.toContainEqual(allow({ arg: "/path", prefix: "src" }));
  });

  test("as a line of several commands is asked about, although each of them may run", async () => {
    const both = { command: "npm test -- a && git diff b" };
    const lines = ["a", "b", "c"].flatMap((name) => [
      { command: `npm test -- ${name}` },
      { command: `git diff ${name}` },
    ]);
    expect(await rulesFrom(yes(SHELL, ...lines, ...lines), no(SHELL, both))).toEqual([
      ask({ arg: "/command", const: both.command }),
      allow({ arg: "/command", prefix: "npm test" }),
      allow({ arg: "/command", prefix: "git diff" }),
    ]);
  });
});

describe("nothing is proposed", () => {
  test("for tools that destroy, and for commands that cannot be taken back", async () => {
    const destroying = yes({ ...EDIT, effect: "destroys" }, ...filesIn("src"));
    const lines = ["rm -rf dist", "git push origin main", "git reset --hard", "npm publish"];
    const commands = lines.flatMap((command) => yes(SHELL, ...repeat(9, { command })));
    expect(await rulesFrom(destroying, commands)).toEqual([]);
  });

  test("to someone who decides about the same calls now so, now so", async () => {
    const whims = "abcdef"
      .split("")
      .flatMap((name) =>
        [true, false, true, true].flatMap((is) => decided(is, EDIT, { path: `src/${name}` })),
      );
    expect(await rulesFrom(whims, yes(EDIT, ...repeat(9, { path: "src/g" })))).toEqual([]);
  });

  test("that goes beyond the exact call of a tool with other arguments", async () => {
    const tool: ToolOptions = {
      name: "deploy",
      source: localSource(),
      argumentKinds: { "/path": "path" },
      properties: { path: { type: "string" }, force: { type: "boolean" } },
    };
    const same = repeat(5, { path: "src/a", force: true });
    const others = filesIn("src").map((args) => ({ ...args, force: false }));
    expect(await rulesFrom(yes(tool, ...same, ...others))).toEqual([
      allow({ arg: "", const: { path: "src/a", force: true } }),
    ]);
  });

  test("for calls of another version of the tool together with this one", async () => {
    const [old, now] = ["old", "now"].map((identity) =>
      yes(EDIT, ...filesIn("src/api", 2)).map((each) => ({ ...each, identity })),
    );
    expect(await rulesFrom(old ?? [], now ?? [])).toEqual([]);
  });
});

test("commands are proposed by their first words after several lines, and otherwise as they are", async () => {
  const tests = ["a", "b", "c"].map((name) => ({ command: `npm test -- ${name}` }));
  const looks = ["a", "b", "c", "d"].map((name) => ({ command: `cat ${name}` }));
  const rules = await rulesFrom(
    yes(SHELL, ...tests, ...tests, ...looks),
    yes(SHELL, ...repeat(5, { command: "node build.mjs" })),
    yes(SHELL, { command: "node other.mjs" }),
  );
  expect(rules).toEqual([
    allow({ arg: "/command", prefix: "npm test" }),
    allow({ arg: "/command", prefix: "cat" }),
    allow({ arg: "/command", const: "node build.mjs" }),
  ]);
});

test("a host is proposed after several pages, and a page that was refused is still asked about", async () => {
  const pages = Array.from({ length: 30 }, (_, index) => ({
    url: `https://docs.example/${index}`,
  }));
  const proposed = await proposeRules(
    [...yes(PAGE, ...pages), ...no(PAGE, { url: "https://docs.example/admin?token=abc" })],
    root,
  );
  expect(proposed.map(({ rule }) => rule)).toEqual([
    ask({ arg: "/url", const: "https://docs.example/admin?token=abc" }),
    allow({ arg: "/url/host", const: "docs.example" }),
  ]);
  expect(proposed[0]?.calls).toEqual([{ about: "https://docs.example/admin", count: 1 }]);
});

function repeat(count: number, args: JsonObject): readonly JsonObject[] {
  return Array.from({ length: count }, () => args);
}

/** A command in the sandbox. */
const inFolder = (folder: string): ToolOptions => ({
  ...SHELL,
  source: { origin: { type: "builtin", confinement: "sandbox" }, folder },
});

/** Three lines for each. */
const diffs = (...rest: readonly string[]) =>
  ["a", "b", "c"].flatMap((name) => rest.map((each) => ({ command: `git diff${each} ${name}` })));

async function limitsFrom(...decisions: readonly (readonly PastDecision[])[]) {
  const proposed = await proposeRules(decisions.flat(), root);
  return proposed.map(({ rule, scope }) => [rule.mode, scope.limits]);
}

describe("a rule that is proposed for a command", () => {
  test("names the folder of all its decisions, and the options that were approved", async () => {
    const all = diffs("", " --stat", " -M --");
    expect(await limitsFrom(yes(inFolder("src"), ...all, ...all))).toEqual([
      ["unattended", { confinement: "sandbox", folder: "src", options: ["--stat", "-M"] }],
    ]);
  });

  test("names the folder that its decisions have in common", async () => {
    const all = diffs("");
    const others = ["d", "e"].map((name) => ({ command: `git diff ${name}` }));
    expect([
      await limitsFrom(yes(inFolder("src/a"), ...all), yes(inFolder("src/b"), ...others)),
      await limitsFrom(yes(inFolder("src"), ...all), yes(inFolder("test"), ...others)),
    ]).toEqual([
      [["unattended", { confinement: "sandbox", folder: "src", options: [] }]],
      [["unattended", { confinement: "sandbox", folder: ".", options: [] }]],
    ]);
  });

  test("does not allow an option that was refused, and one that asks has no limits", async () => {
    const all = diffs("", " --stat");
    const refused = { command: "git diff --output=x" };
    const approved = Array.from({ length: 6 }, () => yes(inFolder("."), ...all)).flat();
    expect(await limitsFrom(approved, no(inFolder("."), refused))).toEqual([
      ["ask", undefined],
      ["unattended", { confinement: "sandbox", folder: ".", options: ["--stat"] }],
    ]);
  });
});
