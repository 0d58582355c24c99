import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { temporaryFolder } from "../../test/support/temporary-workspace.ts";
import { findProgram, withoutRelativeFolders } from "./find-program.ts";

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
  "neither a folder nor a file without the right to run it is one",
  () => {
    const [folder, file] = [temporaryFolder(), folderWith("tool", 0o644)];
    mkdirSync(path.join(folder, "tool"));
    expect(findProgram("tool", [folder, file].join(path.delimiter))).toBeUndefined();
  },
);

test.each(["", ":", ".", ":.:bin"])("nothing is found with %j for PATH", (search) => {
  counters("T-PROG-1");
  expect(findProgram("sh", search)).toBeUndefined();
});

test.skipIf(process.platform === "win32")(
  "without a PATH, the system's own folders are searched",
  () => {
    expect(findProgram("sh")).toMatch(/^\/.*\/sh$/);
  },
);

test("a PATH without relative folders is never empty, for that would be the current one", () => {
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
