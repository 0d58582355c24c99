import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import {
  findProgram,
  findSystemProgram,
  isInWorkspace,
  resolveProgram,
  resolveProgramOnce,
  searchPathOutside,
  withoutRelativeFolders,
} from "./find-program.ts";

function folderWith(name: string, mode = 0o755): string {
  const folder = temporaryFolder();
  placeProgram(path.join(folder, name), mode);
  return folder;
}

function placeProgram(file: string, mode = 0o755): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, mode);
}

function toPath(...folders: readonly string[]): string {
  return folders.join(path.delimiter);
}

test("a program is found in the first absolute folder that has it", () => {
  counters("T-PROG-1");
  const root = temporaryFolder();
  const [first, second] = [folderWith("tool"), folderWith("tool")];
  const here = path.relative(".", first);
  const searchPath = toPath("", ".", here, "relative", second, first);
  expect(findProgram("tool", { root, searchPath })).toBe(path.join(second, "tool"));
});

test.skipIf(process.platform === "win32")(
  "neither a folder nor a file that is not executable counts as a program",
  () => {
    const root = temporaryFolder();
    const [folder, file] = [temporaryFolder(), folderWith("tool", 0o644)];
    mkdirSync(path.join(folder, "tool"));
    expect(findProgram("tool", { root, searchPath: toPath(folder, file) })).toBeUndefined();
  },
);

test.skipIf(process.platform === "win32").each([undefined, "", ":", ".", ":.:bin"])(
  "the system's own folders are searched if the PATH has no absolute folder: %j",
  (searchPath) => {
    counters("T-PROG-1");
    const found = findProgram("sh", { root: temporaryFolder(), searchPath });
    expect([found, findSystemProgram("sh")]).toEqual([
      expect.stringMatching(/^\/.*\/sh$/),
      expect.stringMatching(/^\/.*\/sh$/),
    ]);
  },
);

test.skipIf(process.platform === "win32")(
  "a program of the workspace is passed over, and so is every folder that leads into it",
  () => {
    counters("T-PROG-8");
    const [root, other, outside] = [temporaryFolder(), folderWith("tool"), temporaryFolder()];
    const bin = path.join(root, ".venv", "bin");
    placeProgram(path.join(bin, "tool"));
    placeProgram(path.join(root, "tool"));
    symlinkSync(bin, path.join(outside, "to-bin"));
    const linked = path.join(outside, "linked");
    mkdirSync(linked);
    symlinkSync(path.join(bin, "tool"), path.join(linked, "tool"));
    const folders = [bin, root, path.join(root, "later"), path.join(outside, "to-bin"), linked];
    const places = { root, searchPath: toPath(...folders, other) };
    expect([findProgram("tool", places), searchPathOutside(places)]).toEqual([
      path.join(other, "tool"),
      toPath(linked, other),
    ]);
  },
);

test.skipIf(process.platform === "win32")(
  "a link in the workspace that is redirected later changes neither the program nor the PATH",
  () => {
    counters("T-PROG-8");
    const [root, other, evil] = [temporaryFolder(), folderWith("tool"), temporaryFolder()];
    const link = path.join(root, "profile");
    symlinkSync(other, link);
    const places = { root, searchPath: toPath(link) };
    const find = () => [findProgram("tool", places), searchPathOutside(places)];
    const before = find();
    rmSync(link);
    placeProgram(path.join(evil, "tool"));
    symlinkSync(evil, link);
    expect([before, find()]).toEqual([
      [path.join(other, "tool"), other],
      [path.join(other, "tool"), other],
    ]);
  },
);

test.skipIf(process.platform === "win32")(
  "the system's own folders count as outside of every workspace",
  () => {
    const searchPath = toPath("/usr/bin", "/bin");
    expect(findProgram("sh", { root: "/", searchPath })).toMatch(/^\/.*\/sh$/);
  },
);

test("a PATH without relative folders is never empty, which would mean the current folder", () => {
  expect([
    withoutRelativeFolders(":/a:.:/b/c:d"),
    withoutRelativeFolders(":."),
    withoutRelativeFolders(""),
  ]).toEqual([
    "/a:/b/c",
    expect.stringMatching(/^\/usr\/bin:/),
    expect.stringMatching(/^\/usr\/bin:/),
  ]);
});

test("a command of the user's is resolved as the system would, from the given folder", () => {
  const [cwd, other] = [folderWith("tool"), folderWith("tool")];
  const resolve = (command: string, searchPath?: string) =>
    resolveProgram(command, { cwd, searchPath });
  expect([
    resolve("tool", [".", other].join(path.delimiter)),
    resolve("tool", [other, "."].join(path.delimiter)),
    resolve("./tool"),
    resolve("tool", `/nowhere${path.delimiter}`),
    resolve("tool", ""),
    resolve("tool"),
  ]).toEqual([
    path.join(cwd, "tool"),
    path.join(other, "tool"),
    path.join(cwd, "tool"),
    path.join(cwd, "tool"),
    path.join(cwd, "tool"),
    undefined,
  ]);
});

test("a command of the user's stays the program that was found first", () => {
  counters("T-PROG-9");
  const [cwd, first, other] = [temporaryFolder(), temporaryFolder(), folderWith("tool")];
  const searchPath = toPath(first, other);
  const before = resolveProgramOnce("tool", { cwd, searchPath });
  placeProgram(path.join(first, "tool"));
  const places = { cwd, searchPath };
  expect([before, resolveProgramOnce("tool", places), resolveProgram("tool", places)]).toEqual([
    path.join(other, "tool"),
    path.join(other, "tool"),
    path.join(first, "tool"),
  ]);
});

test.skipIf(process.platform === "win32")(
  "a program is in the workspace if it, or the folder in which it was found, is",
  () => {
    const [root, outside] = [temporaryFolder(), folderWith("tool")];
    placeProgram(path.join(root, "bin", "own"));
    symlinkSync(path.join(outside, "tool"), path.join(root, "bin", "linked"));
    symlinkSync(path.join(root, "bin", "own"), path.join(outside, "own"));
    const files = [
      path.join(root, "bin", "own"),
      path.join(root, "bin", "linked"),
      path.join(outside, "own"),
      path.join(outside, "tool"),
    ];
    expect(files.map((file) => isInWorkspace(file, root))).toEqual([true, true, true, false]);
  },
);
