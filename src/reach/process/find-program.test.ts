import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { findProgram, resolveProgram, withoutRelativeFolders } from "./find-program.ts";

function folderWith(name: string, mode = 0o755): string {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, name), "#!/bin/sh\n");
  chmodSync(path.join(folder, name), mode);
  return folder;
}

test("a program is found in the first absolute folder that has it", () => {
  counters("T-PROG-1");
  const [first, second] = [folderWith("tool"), folderWith("tool")];
  const here = path.relative(".", first);
  const search = ["", ".", here, "relative", second, first].join(path.delimiter);
  expect(findProgram("tool", search)).toBe(path.join(second, "tool"));
});

test.skipIf(process.platform === "win32")(
  "neither a folder nor a file that is not executable counts as a program",
  () => {
    const [folder, file] = [temporaryFolder(), folderWith("tool", 0o644)];
    mkdirSync(path.join(folder, "tool"));
    expect(findProgram("tool", [folder, file].join(path.delimiter))).toBeUndefined();
  },
);

test.each(["", ":", ".", ":.:bin"])(
  "no program is found in a PATH without absolute folders: %j",
  (search) => {
    counters("T-PROG-1");
    expect(findProgram("sh", search)).toBeUndefined();
  },
);

test.skipIf(process.platform === "win32")(
  "the system's own folders are searched without a PATH",
  () => {
    expect(findProgram("sh")).toMatch(/^\/.*\/sh$/);
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
