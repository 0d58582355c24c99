import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { diskFolder } from "../../../stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../../../testing/index.ts";
import { FileSearch, matchFiles } from "./file-search.ts";

const FILES = [
  "README.md",
  "src/deep/my-parser.ts",
  "src/parser/index.ts",
  "src/parser.ts",
  "test/parser.test.ts",
  "docs/Größe.md",
];

describe("a file is found", () => {
  test.each([
    ["by a part of its name", "my-par", ["src/deep/my-parser.ts"]],
    [
      "by a part of its path, names first, then shorter paths",
      "parser",
      ["src/parser.ts", "test/parser.test.ts", "src/deep/my-parser.ts", "src/parser/index.ts"],
    ],
    ["by fragments in any order", "parser/test", ["test/parser.test.ts"]],
    ["by fragments in any order and case", "TS.deep-parser", ["src/deep/my-parser.ts"]],
    ["by two fragments without anything between them", "deeppars", ["src/deep/my-parser.ts"]],
    ["by letters of any alphabet", "größe", ["docs/Größe.md"]],
    ["not without a fragment", "./", []],
    ["not by letters that are apart", "rdme", []],
  ])("%s", (_, word, found) => {
    expect(matchFiles(FILES, word)).toEqual(found);
  });
});

test("the files are listed once the first is looked for, without those that Git ignores or that hold keys", async () => {
  const root = diskFolder();
  for (const folder of ["src", "dist", "node_modules", ".git"]) mkdirSync(path.join(root, folder));
  for (const file of ["src/parser.ts", "dist/parser.js", "node_modules/parser.js", ".git/parser"])
    writeFileSync(path.join(root, file), "");
  writeFileSync(path.join(root, ".env.parser"), "KEY=1");
  writeFileSync(path.join(root, ".gitignore"), "dist\n");
  const { promise: listed, resolve: onListed } = Promise.withResolvers<void>();
  const { signal } = new AbortController();
  const folder = path.join(root, "src");
  const search = new FileSearch({ root, folder, clock: new FakeClock(), signal, onListed });
  const before = [search.find("parser"), search.isListing];
  await listed;
  expect([before, search.find("parser"), search.isListing]).toEqual([
    [[], true],
    ["parser.ts"],
    false,
  ]);
});

test("a file that is new is found after a while", async () => {
  const root = diskFolder();
  const clock = new FakeClock();
  let wake: (() => void) | undefined;
  const listing = () => new Promise<void>((resolve) => (wake = resolve));
  const { signal } = new AbortController();
  const search = new FileSearch({ root, folder: root, clock, signal, onListed: () => wake?.() });
  const first = listing();
  search.find("new");
  await first;
  writeFileSync(path.join(root, "new.ts"), "");
  const soon = search.find("new");
  clock.advance(60_000);
  const second = listing();
  search.find("new");
  await second;
  expect([soon, search.find("new")]).toEqual([[], ["new.ts"]]);
});
