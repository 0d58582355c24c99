import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { fastTemporaryFolder as temporaryFolder } from "../../../../test/support/temporary-workspace.ts";
import type { JsonObject } from "../../../util/index.ts";
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

test("all files are listed, those of a folder before those of its folders", async () => {
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

test("of one folder only its files are listed, by their paths from the root", async () => {
  const root = folderWith("a/b/c.txt", "a/d.txt", "e.txt");
  expect([await list(root, { path: "a" }), await list(root, { path: "a/d.txt" })]).toEqual([
    ["a/d.txt", "a/b/c.txt"],
    ["a/d.txt"],
  ]);
});

test("an extension is meant with or without its dot, in any case", async () => {
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
    ["[There are no such files.]"],
  ]);
});

test("what belongs to version control, the assistant and packages is left out unless named", async () => {
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

test("what the list at the root ignores is left out, and a folder that it ignores can be named", async () => {
  const root = folderWith("dist/a.js", "b.log", "keep.log", "src/dist/c.js", "src/d.ts");
  writeFileSync(path.join(root, ".gitignore"), "/dist\n*.log\n!keep.log\n");
  expect([await list(root), await list(root, { path: "dist" })]).toEqual([
    [".gitignore", "keep.log", "src/d.ts", "src/dist/c.js"],
    ["dist/a.js"],
  ]);
});

test("a list of what is ignored that is a link or a folder counts as none", async () => {
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

test("a name with a line break stays on one line", async () => {
  expect(await list(folderWith("a\nb.txt"))).toEqual(['"a\\nb.txt"']);
});

test("more than a thousand files are not listed, and this is said", async () => {
  const names = Array.from({ length: 1001 }, (_, index) => `${1000 + index}.txt`);
  const root = folderWith(...names);
  const [all, most] = [await list(root), await list(root, { path: "1000.txt" })];
  expect([all.length, all.at(-2), all.at(-1), most]).toEqual([
    1001,
    "1999.txt",
    "[Only the first 1000 files are listed. Give a path or an extension.]",
    ["1000.txt"],
  ]);
});

test("an empty folder, and one that is not there", async () => {
  const root = folderWith();
  expect([await list(root), await list(root, { path: "no" })]).toEqual([
    ["[There are no such files.]"],
    ["error: no does not exist. fs_list_files shows what is there."],
  ]);
});

test("a very deep folder is walked to its end", async () => {
  const deep = Array.from({ length: 150 }, () => "d").join("/");
  expect(await list(folderWith(`${deep}/a.txt`))).toEqual([`${deep}/a.txt`]);
});

test("a walk that is cancelled ends, and a long one is told on the way", async () => {
  const root = folderWith(...Array.from({ length: 1000 }, (_, index) => `${index}.txt`));
  const { tool } = createListFilesTool({ root });
  const controller = new AbortController();
  const told: string[] = [];
  const outcome = await tool.execute({
    arguments: { extension: "md" },
    answers: {},
    signal: controller.signal,
    onProgress: (message) => void told.push(message),
  });
  const aborted = await tool.execute({ arguments: {}, answers: {}, signal: AbortSignal.abort() });
  expect([told, outcome.type, aborted.type]).toEqual([["1000 files seen"], "success", "error"]);
});
