import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { codeOf, failureOf } from "../record-elements.fixture.ts";
import { temporaryFolder } from "../temporary-workspace.fixture.ts";
import { makeFolder, moveFolder, setAside, writeDurably, writeJson } from "./durable.ts";

test("a file is replaced atomically, without leaving temporary files", async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "a.json");
  writeFileSync(file, "before");
  const { ino } = statSync(file);
  await writeDurably(file, Buffer.from("after"));
  expect({
    text: readFileSync(file, "utf8"),
    isAnother: statSync(file).ino !== ino,
    names: readdirSync(folder),
  }).toEqual({ text: "after", isAnother: true, names: ["a.json"] });
});

test("a file that already has the content is not touched", async () => {
  const file = path.join(temporaryFolder(), "a.json");
  await writeJson(file, { a: 1 });
  const before = statSync(file, { bigint: true });
  await writeJson(file, { a: 1 });
  const after = statSync(file, { bigint: true });
  expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
});

test("a file keeps its permissions when its content changes", async () => {
  const file = path.join(temporaryFolder(), "a.json");
  writeFileSync(file, "before");
  chmodSync(file, 0o640);
  await writeDurably(file, Buffer.from("after"));
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

test("a failed write leaves nothing behind", async () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, "a.json", "full"), { recursive: true });
  writeFileSync(path.join(folder, "file"), "");
  expect({
    overFolder: await codeOf(writeDurably(path.join(folder, "a.json"), Buffer.from("text"))),
    nowhere: await codeOf(writeDurably(path.join(folder, "no", "b.json"), Buffer.from("text"))),
    folder: await codeOf(makeFolder(path.join(folder, "file", "below"))),
    move: await codeOf(moveFolder(path.join(folder, "no"), path.join(folder, "there"))),
    names: readdirSync(folder).toSorted(),
  }).toEqual({
    overFolder: "write_failed",
    nowhere: "write_failed",
    folder: "write_failed",
    move: "write_failed",
    names: ["a.json", "file"],
  });
});

test("the error names the file and the reason", async () => {
  const file = path.join(temporaryFolder(), "no", "a.json");
  expect((await failureOf(writeDurably(file, Buffer.from("text")))).message).toBe(
    `Cannot write ${file}: it does not exist.`,
  );
});

test("bytes set aside get a new file name each time", async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "events.json");
  const names = [];
  for (const text of ["one", "two", "three"]) names.push(await setAside(file, Buffer.from(text)));
  expect(names.map((name) => [path.basename(name), readFileSync(name, "utf8")])).toEqual([
    ["events.torn", "one"],
    ["events.torn-2", "two"],
    ["events.torn-3", "three"],
  ]);
});
