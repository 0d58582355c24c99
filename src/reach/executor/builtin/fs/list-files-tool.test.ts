import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../../../util/index.ts";
import { createListFilesTool } from "./list-files-tool.ts";

function folderWith(...files: readonly string[]): string {
  const root = temporaryFolder();
  for (const file of files) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), "");
  }
  return root;
}

async function list(root: string, args: JsonObject = {}): Promise<readonly string[]> {
  const { signal } = new AbortController();
  const { tool } = createListFilesTool({ root });
  const outcome = await tool.execute({ arguments: args, answers: {}, signal });
  if (outcome.type === "needs_input") throw new Error("it asks");
  return outcome.type === "success" ? outcome.content.split("\n") : [`error: ${outcome.message}`];
}

test("the files of a folder are listed before those of its subfolders", async () => {
  const root = folderWith("b.txt", "a/z.txt", "a/b/c.txt", "c/d.txt", "Ä.txt", ".hidden");
  expect(await list(root)).toEqual([
    ".hidden",
    "b.txt",
    "Ä.txt",
    "a/z.txt",
    "a/b/c.txt",
    "c/d.txt",
  ]);
});

test("the files of one folder are listed with their paths from the root", async () => {
  const root = folderWith("a/b/c.txt", "a/d.txt", "e.txt");
  expect([await list(root, { path: "a" }), await list(root, { path: "a/d.txt" })]).toEqual([
    ["a/d.txt", "a/b/c.txt"],
    ["a/d.txt"],
  ]);
});

test("an extension may have a dot, and ignores case", async () => {
  const root = folderWith("a.ts", "b.TS", "c.tsx", "ts", "d.tar.gz", "e.gz");
  expect([
    await list(root, { extension: "ts" }),
    await list(root, { extension: ".ts" }),
    await list(root, { extension: "*.ts" }),
    await list(root, { extension: "tar.gz" }),
    await list(root, { extension: "none" }),
  ]).toEqual([
    ["a.ts", "b.TS"],
    ["a.ts", "b.TS"],
    ["a.ts", "b.TS"],
    ["d.tar.gz"],
    ["[No files found.]"],
  ]);
});

test("the files of Git and jp are left out, and node_modules unless named", async () => {
  const root = folderWith(
    ".git/config",
    ".jp/config.toml",
    "a/node_modules/b/c.js",
    "a/.git",
    "a/d.js",
  );
  expect([await list(root), await list(root, { path: "a/node_modules" })]).toEqual([
    ["a/d.js"],
    ["a/node_modules/b/c.js"],
  ]);
});

test("files that .gitignore excludes are left out, unless an excluded folder is named", async () => {
  const root = folderWith("dist/a.js", "b.log", "keep.log", "src/dist/c.js", "src/d.ts");
  writeFileSync(path.join(root, ".gitignore"), "/dist\n*.log\n!keep.log\n");
  expect([await list(root), await list(root, { path: "dist" })]).toEqual([
    [".gitignore", "keep.log", "src/d.ts", "src/dist/c.js"],
    ["dist/a.js"],
  ]);
});

test("a .gitignore further down counts there, before those above it", async () => {
  const root = folderWith("a.log", "sub/a.log", "sub/b.tmp", "sub/deep/b.tmp", "sub/deep/out/c.ts");
  writeFileSync(path.join(root, ".gitignore"), "*.log\n");
  writeFileSync(path.join(root, "sub/.gitignore"), "!a.log\n/b.tmp\n");
  writeFileSync(path.join(root, "sub/deep/.gitignore"), "out/\n");
  const below = ["sub/deep/.gitignore", "sub/deep/b.tmp"];
  expect([await list(root), await list(root, { path: "sub/deep" })]).toEqual([
    [".gitignore", "sub/.gitignore", "sub/a.log", ...below],
    below,
  ]);
});

test("what a .gitignore above the listed folder excludes is left out", async () => {
  const root = folderWith("a/b/c.log", "a/b/d.ts", "a/b/e.ts");
  writeFileSync(path.join(root, "a/.gitignore"), "*.log\nb/e.ts\n");
  expect(await list(root, { path: "a/b" })).toEqual(["a/b/d.ts"]);
});

test("ignore files count together up to 64 kB", async () => {
  const root = folderWith("sub/a.log", "sub/b.tmp");
  writeFileSync(path.join(root, ".gitignore"), `*.log\n#${"x".repeat(50_000)}\n`);
  writeFileSync(path.join(root, "sub/.gitignore"), `*.tmp\n#${"x".repeat(50_000)}\n`);
  expect(await list(root)).toEqual([".gitignore", "sub/.gitignore", "sub/b.tmp"]);
});

test("a .gitignore that is a link or a folder counts as empty", async () => {
  const [linked, folder] = [folderWith("a.log"), folderWith("a.log", ".gitignore/b")];
  const outside = temporaryFolder();
  writeFileSync(path.join(outside, "rules"), "*.log\n");
  symlinkSync(path.join(outside, "rules"), path.join(linked, ".gitignore"));
  expect([await list(linked), await list(folder)]).toEqual([
    [".gitignore (symbolic link)", "a.log"],
    ["a.log", ".gitignore/b"],
  ]);
});

test("links are marked and not followed", async () => {
  const root = folderWith("a/b.txt");
  const outside = folderWith("secret.txt");
  symlinkSync(outside, path.join(root, "out"));
  symlinkSync(".", path.join(root, "a", "loop"));
  symlinkSync("b.txt", path.join(root, "a", "c.txt"));
  expect(await list(root)).toEqual([
    "out (symbolic link)",
    "a/b.txt",
    "a/c.txt (symbolic link)",
    "a/loop (symbolic link)",
  ]);
});

test("a name with a line break stays on one line, unlike any other name", async () => {
  const quoted = String.raw`"a\nb.txt"`;
  expect(await list(folderWith("a\nb.txt", quoted))).toEqual([String.raw`"\"a\\nb.txt\""`, quoted]);
});

test("only the first thousand files are listed, with a notice", async () => {
  const names = Array.from({ length: 1001 }, (_, index) => `${1000 + index}.txt`);
  const root = folderWith(...names);
  const [all, most] = [await list(root), await list(root, { path: "1000.txt" })];
  expect([all.length, all.at(-2), all.at(-1), most]).toEqual([
    1001,
    "1999.txt",
    "[Showing only the first 1000 files. Pass a path or an extension.]",
    ["1000.txt"],
  ]);
});

test("an empty folder has no files, and a missing one is an error", async () => {
  const root = folderWith();
  expect([await list(root), await list(root, { path: "no" })]).toEqual([
    ["[No files found.]"],
    ["error: no does not exist. Use fs_list_files to see which files exist."],
  ]);
});

test("very deep folders are listed", async () => {
  const deep = Array.from({ length: 150 }, () => "d").join("/");
  expect(await list(folderWith(`${deep}/a.txt`))).toEqual([`${deep}/a.txt`]);
});

test("a long walk reports progress, and a cancelled one fails", async () => {
  const root = folderWith(...Array.from({ length: 1000 }, (_, index) => `${index}.txt`));
  const { tool } = createListFilesTool({ root });
  const controller = new AbortController();
  const progress: string[] = [];
  const outcome = await tool.execute({
    arguments: { extension: "md" },
    answers: {},
    signal: controller.signal,
    onProgress: (message) => void progress.push(message),
  });
  const aborted = await tool.execute({ arguments: {}, answers: {}, signal: AbortSignal.abort() });
  expect([progress, outcome.type, aborted.type]).toEqual([["1000 files seen"], "success", "error"]);
});
