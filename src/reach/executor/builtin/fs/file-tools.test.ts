import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../../../test/security/threats.ts";
import { parseConfig } from "../../../../settings/config/index.ts";
import { snapshotOf, temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { Outcome } from "../../../../record/tool/index.ts";
import type { JsonObject } from "../../../../util/index.ts";
import { askedTool, type AskedTool } from "./asked-tool.fixture.ts";
import { createFileTools } from "./file-tools.ts";

/** The arguments of each tool for a path. */
const CALLS: Readonly<Record<string, (path: string) => JsonObject>> = {
  fs_read_file: (each) => ({ path: each }),
  fs_list_files: (each) => ({ path: each }),
  fs_grep_files: (each) => ({ pattern: "secret", paths: [each] }),
  fs_create_file: (each) => ({ path: each, content: "new" }),
  fs_modify_file: (each) => ({ path: each, patterns: [{ old: "secret", new: "new" }] }),
  fs_edit: (each) => ({ files: [{ path: each, patterns: [{ old: "secret", new: "new" }] }] }),
  fs_delete_file: (each) => ({ path: each }),
};
const NAMES = Object.keys(CALLS);

/** Says yes to whatever the tool asks. */
async function call(root: string, name: string, file: string): Promise<Outcome> {
  return toolIn(root, name).answer(argumentsFor(name, file), true);
}

async function ask(root: string, name: string, file: string): Promise<Outcome> {
  return toolIn(root, name).ask(argumentsFor(name, file));
}

function toolIn(root: string, name: string): AskedTool {
  return askedTool(() => {
    const shipped = createFileTools({ root }).find(({ tool }) => tool.name === name);
    if (shipped === undefined) throw new Error(`unknown tool ${name}`);
    return shipped.tool;
  });
}

function argumentsFor(name: string, file: string): JsonObject {
  return CALLS[name]?.(file) ?? {};
}

/** Without what is behind links. */
/** Follows no link: one of them leads back to the root. */
function namesIn(root: string): readonly string[] {
  return snapshotOf(root).map(({ name }) => name);
}

interface Scene {
  readonly root: string;
  readonly outside: string;
}

/** A root with every kind of link in it, and a folder beside it with a secret. */
function scene(): Scene {
  const parent = temporaryFolder();
  const [root, outside] = [path.join(parent, "root"), path.join(parent, "root-outside")];
  for (const folder of [outside, path.join(root, "folder"), path.join(root, ".git")]) {
    mkdirSync(folder, { recursive: true });
  }
  mkdirSync(path.join(root, ".jp"));
  writeFileSync(path.join(outside, "secret.txt"), "secret");
  for (const file of ["a.txt", "folder/b.txt", ".git/config", ".jp/config.toml", ".jp.toml"]) {
    writeFileSync(path.join(root, file), "secret");
  }
  const links = {
    "link-out": outside,
    "link-file": path.join(outside, "secret.txt"),
    "folder/relative": "../../root-outside",
    chain: "link-out/secret.txt",
    dangling: path.join(outside, "new.txt"),
    "dangling-folder": path.join(outside, "new"),
    loop: "loop",
    up: "..",
    "to-git": ".git",
    "to-config": ".jp/config.toml",
    ".jp.yml": "a.txt",
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, path.join(root, name));
  return { root, outside };
}

describe("outside the root", () => {
  test.each<readonly [how: string, file: (scene: Scene) => string]>([
    ["a path that goes up", () => "../root-outside/secret.txt"],
    ["a path that goes down, then up", () => "folder/../../root-outside/secret.txt"],
    ["a path that goes up through a file", () => "a.txt/../../root-outside/secret.txt"],
    ["the folder above", () => ".."],
    ["an absolute path", ({ outside }) => path.join(outside, "secret.txt")],
    ["an absolute path that starts like the root", ({ root }) => `${root}-outside/secret.txt`],
    ["an absolute path that goes up", ({ root }) => `${root}/../root-outside/secret.txt`],
    ["a file of the system", () => "/etc/passwd"],
    ["a link to a folder", () => "link-out/secret.txt"],
    ["a link to a folder, with a new file in it", () => "link-out/new.txt"],
    ["a link to a folder, with a new folder in it", () => "link-out/new/new.txt"],
    ["a link to a folder, by an absolute path", ({ root }) => `${root}/link-out/secret.txt`],
    ["a relative link", () => "folder/relative/secret.txt"],
    ["a link to a file", () => "link-file"],
    ["a link to a link", () => "chain"],
    ["a link to the folder above", () => "up/root-outside/secret.txt"],
    ["a link to a missing file", () => "dangling"],
    ["a link to a missing folder", () => "dangling-folder/new.txt"],
    ["a link to itself", () => "loop"],
    ["something below a link to itself", () => "loop/new.txt"],
    ["a NUL character", () => "a.txt\0"],
    ["a NUL character before a path that goes up", () => "a\0/../../root-outside/secret.txt"],
    ["an empty path", () => ""],
  ])("nothing outside the root can be reached: %s", async (_, file) => {
    counters("T-PATH-1");
    const { root, outside } = scene();
    const before = namesIn(root);
    for (const name of NAMES) {
      const outcome = await call(root, name, file({ root, outside }));
      expect([name, outcome.type]).toEqual([name, "error"]);
      expect(JSON.stringify(outcome)).not.toContain(`${path.sep}root-outside${path.sep}secret"`);
    }
    expect(namesIn(root)).toEqual(before);
    expect([readdirSync(outside), readFileSync(path.join(outside, "secret.txt"), "utf8")]).toEqual([
      ["secret.txt"],
      "secret",
    ]);
  });

  test("the error says what is wrong and what to do instead", async () => {
    const { root } = scene();
    const messages: string[] = [];
    for (const file of ["../x", "link-out/x", "dangling", "loop", "a\0b", "", "\n/../.."]) {
      const outcome = await call(root, "fs_create_file", file);
      messages.push(outcome.type === "error" ? outcome.message : outcome.type);
    }
    expect(messages).toEqual([
      "../x is outside the workspace. Use a path relative to the workspace root.",
      "link-out/x leads outside the workspace through a symbolic link. Only files inside the workspace can be used.",
      "dangling leads through a symbolic link whose target is missing.",
      "Cannot use loop: its path contains a symbolic link that cannot be followed.",
      "The path contains a NUL character.",
      "The path is empty. Give a path relative to the workspace root.",
      '"\\n/../.." is outside the workspace. Use a path relative to the workspace root.',
    ]);
  });
});

describe("the files of Git and jp", () => {
  test.each([
    ".git/config",
    ".git/new",
    ".git",
    ".GIT/config",
    ".git./config",
    ".git::$INDEX_ALLOCATION/config",
    ".g\u200Dit/config",
    "folder/.git/hooks/new",
    "folder/../.git/config",
    "to-git/config",
    "to-git/new",
    ".jp/config.toml",
    ".jp/new/new.txt",
    ".Jp/new",
    "to-config",
    ".jp.toml",
    ".jp.json",
    "folder/.jp.yaml",
    ".jp.yml",
  ])("are neither read nor written: %j", async (file) => {
    counters("T-PATH-6");
    counters("T-PATH-8");
    const { root } = scene();
    const before = namesIn(root);
    for (const name of NAMES) {
      const outcome = await call(root, name, file);
      expect([name, outcome]).toMatchObject([
        name,
        { type: "error", message: expect.stringContaining("is protected") },
      ]);
    }
    expect(namesIn(root)).toEqual(before);
  });

  test("are not listed or searched, at any depth", async () => {
    counters("T-PATH-8");
    const { root } = scene();
    for (const folder of [".jp", "folder/.jp", "folder/.JP.d", "folder/.Git"]) {
      mkdirSync(path.join(root, folder), { recursive: true });
      writeFileSync(path.join(root, folder, "hidden.txt"), "secret");
    }
    writeFileSync(path.join(root, "folder", ".jp.json"), "secret");
    expect([
      await call(root, "fs_list_files", "."),
      await call(root, "fs_grep_files", "."),
    ]).toMatchObject([
      { content: expect.not.stringMatching(/hidden|\.jp|\.git/i) },
      { content: "a.txt:1:secret\nfolder/b.txt:1:secret" },
    ]);
  });

  test("are protected under any name that `.git` and `.jp` lead to", async () => {
    counters("T-PATH-8");
    const root = temporaryFolder();
    const place = (name: string) => {
      const file = path.join(root, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, "secret");
    };
    // A repository whose folder is elsewhere, one of a submodule, and a worktree's.
    for (const folder of ["meta", "sub/bare"]) {
      for (const name of ["HEAD", "config", "objects/x", "refs/x", "hooks/x"]) {
        place(`${folder}/${name}`);
      }
    }
    for (const name of ["HEAD", "commondir", "config.worktree"]) place(`trees/one/${name}`);
    writeFileSync(path.join(root, ".git"), "gitdir: meta\n");
    place("store/conversations/1/events.json");
    symlinkSync("store", path.join(root, ".jp"));
    const outcomes = [
      "meta/config",
      "sub/bare/hooks/x",
      "trees/one/config.worktree",
      "store/new",
    ].map(async (file) => Promise.all(NAMES.map((name) => call(root, name, file))));
    const messages = (await Promise.all(outcomes))
      .flat()
      .map((outcome) => outcome.type === "error" && outcome.message.includes("is protected"));
    expect([new Set(messages), await call(root, "fs_list_files", ".")]).toMatchObject([
      new Set([true]),
      { content: "[No files found.]" },
    ]);
  });

  test("do not include files with similar names", async () => {
    const { root } = scene();
    for (const name of [".gitignore", ".github/a.yml", ".jpg", "git/x", "a.jp", ".jp-x", "..x"]) {
      expect(await call(root, "fs_create_file", name)).toMatchObject({ type: "success" });
    }
  });
});

test("a hard link, whose file may be outside, is neither read nor written", async () => {
  counters("T-PATH-9");
  const { root, outside } = scene();
  linkSync(path.join(outside, "secret.txt"), path.join(root, "hard.txt"));
  const outcomes = await Promise.all(
    ["fs_read_file", "fs_create_file", "fs_modify_file", "fs_edit"].map((name) =>
      call(root, name, "hard.txt"),
    ),
  );
  const searched = await call(root, "fs_grep_files", "hard.txt");
  const deleted = await call(root, "fs_delete_file", "hard.txt");
  expect([outcomes, searched, deleted]).toMatchObject([
    outcomes.map(() => ({ type: "error", message: expect.stringContaining("is a hard link") })),
    { content: "[No matches.]\n[Cannot read these files: hard.txt]" },
    { content: "Deleted hard.txt." },
  ]);
  expect(readFileSync(path.join(outside, "secret.txt"), "utf8")).toBe("secret");
});

/** Replaces a folder with a link, and back, as fast as it can. */
const SWAPPER = `
const { renameSync, rmSync, symlinkSync } = require("node:fs");
const { workerData: { folder, outside } } = require("node:worker_threads");
const attempt = (step) => { try { step(); } catch {} };
for (;;) {
  attempt(() => renameSync(folder, folder + ".real"));
  attempt(() => symlinkSync(outside, folder));
  attempt(() => rmSync(folder, { recursive: true, force: true })); // A tool may have made one.
  attempt(() => renameSync(folder + ".real", folder));
}
`;

test.runIf(process.platform === "linux")(
  "nothing outside is reached while a folder is replaced with a link, again and again",
  async () => {
    counters("T-PATH-2");
    const [root, outside] = [temporaryFolder(), temporaryFolder()];
    const folder = path.join(root, "folder");
    mkdirSync(folder);
    for (const each of [folder, outside]) {
      for (let number = 0; number < 100; number += 1) {
        writeFileSync(path.join(each, `${number}.txt`), each === outside ? "secret" : "");
      }
    }
    const before = readdirSync(outside).toSorted();
    const worker = new Worker(SWAPPER, { eval: true, workerData: { folder, outside } });
    onTestFinished(async () => void (await worker.terminate()));
    const outcomes: string[] = [];
    for (let number = 0; number < 100; number += 1) {
      for (const name of NAMES.filter((each) => each !== "fs_list_files")) {
        outcomes.push(JSON.stringify(await call(root, name, `folder/${number}.txt`)));
      }
      outcomes.push(JSON.stringify(await call(root, "fs_create_file", `folder/new/${number}.txt`)));
    }
    await worker.terminate();
    expect(readdirSync(outside).toSorted()).toEqual(before);
    const texts = before.map((name) => readFileSync(path.join(outside, name), "utf8"));
    expect(new Set(texts)).toEqual(new Set(["secret"]));
    expect(outcomes.filter((text) => text.includes("secret"))).toEqual([]);
    expect(outcomes.some((text) => text.includes('"success"'))).toBe(true);
  },
);

test("their configs are valid: off until enabled, and without a permission prompt", () => {
  const shipped = createFileTools({ root: "/" });
  const tools = Object.fromEntries(shipped.map(({ tool, config }) => [tool.name, config]));
  const { errors, warnings } = parseConfig({ conversation: { tools } });
  const rest = {
    source: "builtin",
    group: "fs",
    enable: { state: false, allow_toggle: "any" },
    run: "unattended",
  };
  expect([errors, warnings]).toEqual([[], []]);
  expect(shipped.map(({ tool }) => tool.name)).toEqual(NAMES);
  for (const { tool, config } of shipped) {
    expect(config).toMatchObject({ ...rest, description: tool.description });
    expect(config.summary?.length).toBeLessThan(100);
  }
});

test.each([
  ["fs_create_file", "new.txt", "Create new.txt?", "turn"],
  ["fs_create_file", "a.txt", "Overwrite a.txt?", "none"],
  ["fs_modify_file", "a.txt", "Apply these changes to a.txt?", "turn"],
  ["fs_edit", "a.txt", "Apply these changes to a.txt?", "turn"],
  ["fs_delete_file", "a.txt", "Delete a.txt?", "none"],
])(
  "a tool that changes files changes nothing before you answer: %s of %s, %s",
  async (name, file, text, persistence) => {
    counters("T-FILE-1");
    counters("T-FILE-2");
    counters("T-FILE-3");
    const { root } = scene();
    const before = snapshotOf(root);
    const outcome = await ask(root, name, file);
    expect([outcome, snapshotOf(root)]).toMatchObject([
      { type: "needs_input", question: { text, exclusive: true, persistence } },
      before,
    ]);
  },
);

test.each([
  ["fs_create_file", "new.txt", "create_file"],
  ["fs_create_file", "a.txt", "overwrite_file"],
  ["fs_modify_file", "a.txt", "apply_changes"],
  ["fs_edit", "a.txt", "apply_changes"],
  ["fs_delete_file", "a.txt", "delete_file"],
])("%s of %s tells the model why you said no", async (name, file, id) => {
  const { root } = scene();
  const before = snapshotOf(root);
  const tool = toolIn(root, name);
  const args = argumentsFor(name, file);
  expect(await tool.ask(args)).toMatchObject({ question: { id, allowsNote: true } });
  const outcome = await tool.answer(args, false, { notes: { [id]: "Use tabs." } });
  expect([outcome, snapshotOf(root)]).toEqual([
    {
      type: "success",
      content: expect.stringMatching(/Nothing was changed. The user's note: Use tabs.$/),
    },
    before,
  ]);
});

test("a question about a file behind a link names the link and the file", async () => {
  counters("T-FILE-4");
  const { root } = scene();
  symlinkSync("folder", path.join(root, "docs"));
  symlinkSync("a.txt", path.join(root, "notes"));
  const texts: string[] = [];
  for (const [name, file] of [
    ["fs_create_file", "docs/new.txt"],
    ["fs_create_file", "notes"],
    ["fs_modify_file", "docs/b.txt"],
    ["fs_edit", "docs/b.txt"],
    ["fs_delete_file", "docs/b.txt"],
  ] as const) {
    const outcome = await ask(root, name, file);
    texts.push(outcome.type === "needs_input" ? outcome.question.text : outcome.type);
  }
  expect(texts).toEqual([
    'Create "docs/new.txt" (a link to "folder/new.txt")?',
    'Overwrite "notes" (a link to "a.txt")?',
    'Apply these changes to "docs/b.txt" (a link to "folder/b.txt")?',
    'Apply these changes to "docs/b.txt" (a link to "folder/b.txt")?',
    'Delete "docs/b.txt" (a link to "folder/b.txt")?',
  ]);
});
