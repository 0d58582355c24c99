import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { CommandOutput } from "./command-output.ts";

function output(changed: { shownBytes?: number; keptBytes?: number; folder?: string } = {}) {
  const folder = changed.folder ?? path.join(temporaryFolder(), "a", "b");
  return { folder, kept: new CommandOutput({ shownBytes: 5, keptBytes: 100, ...changed, folder }) };
}

test("short output is shown whole, and no file is written", () => {
  const { kept, folder } = output();
  for (const text of ["abc", "", "defg", "hij"]) kept.add(Buffer.from(text));
  expect([kept.toText("…"), kept.totalBytes, kept.file, existsSync(folder)]).toEqual([
    "abcdefghij",
    10,
    undefined,
    false,
  ]);
});

test("of long output the beginning and the end are shown, and all of it is in a file of the user's", () => {
  const { kept } = output();
  const text = "0123456789abcdefghij";
  for (const piece of ["0123456", "789", "abcdef", "ghij"]) kept.add(Buffer.from(piece));
  kept[Symbol.dispose]();
  const file = kept.file ?? "";
  expect([kept.toText("…"), kept.totalBytes, kept.isKeptWhole]).toEqual([
    "01234\n…\nfghij",
    20,
    true,
  ]);
  expect([
    readFileSync(file, "utf8"),
    statSync(file).mode & 0o777,
    statSync(path.dirname(file)).mode & 0o777,
  ]).toEqual([text, 0o600, 0o700]);
});

test("the file has no more than the limit", () => {
  const { kept } = output({ keptBytes: 15 });
  for (let index = 0; index < 20; index += 1) kept.add(Buffer.from("0123456789"));
  expect([readFileSync(kept.file ?? "", "utf8"), kept.isKeptWhole, kept.totalBytes]).toEqual([
    "012345678901234",
    false,
    200,
  ]);
});

test("no character is cut in two, and controls are not passed on", () => {
  const { kept } = output({ shownBytes: 6 });
  kept.add(Buffer.from("ab\u{1f642}\u{1f642}xx\u{1f642}é"));
  expect(kept.toText("…")).toBe("ab\u{1f642}\n…\n\u{1f642}é");
  const { kept: other } = output({ shownBytes: 100 });
  other.add(Buffer.from("\u001b[31mred\u001b[0m\r\n10%\r20%\u0007\u009b1m\tend"));
  expect(other.toText("")).toBe("red\n10%\n20%\ufffd\tend");
});

test("output that cannot be kept is shown all the same", () => {
  const file = path.join(temporaryFolder(), "file");
  writeFileSync(file, "");
  const { kept } = output({ folder: file });
  kept.add(Buffer.from("0123456789abcdef"));
  expect([kept.file, kept.toText("…")]).toEqual([undefined, "01234\n…\nbcdef"]);
});

test("only the newest files are kept", () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, "x"));
  for (let index = 0; index < 60; index += 1)
    writeFileSync(path.join(folder, `1000${String(index).padStart(2, "0")}.log`), "");
  const { kept } = output({ folder });
  kept.add(Buffer.from("0123456789abcdef"));
  const names = readdirSync(folder).filter((name) => name.endsWith(".log"));
  expect([
    names.length,
    names.includes("100000.log"),
    names.includes("100059.log"),
    names.includes(path.basename(kept.file ?? "")),
  ]).toEqual([50, false, true, true]);
});
