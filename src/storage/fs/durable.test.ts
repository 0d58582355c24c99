import fs, {
  chmodSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { codeOf, failureOf } from "../record-elements.fixture.ts";
import { temporaryFolder } from "../temporary-workspace.fixture.ts";
import {
  makeFolder,
  moveFolder,
  renameFolder,
  setAside,
  writeDurably,
  writeJson,
} from "./durable.ts";

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

/**
 * Everything that is synced below the folder from now on, in order: by its path at that moment, and for a folder with the
 * names that it had.
 */
async function watchSyncs(root: string): Promise<readonly string[]> {
  await using handle = await open(root, "r");
  const handles = Object.getPrototypeOf(handle) as FileHandle;
  const synced: string[] = [];
  const sync = Reflect.get(handles, "sync");
  vi.spyOn(handles, "sync").mockImplementation(async function (this: FileHandle) {
    synced.push(describeSynced(root, fstatSync(this.fd).ino));
    await sync.call(this);
  });
  const { fsync } = fs;
  vi.spyOn(fs, "fsync").mockImplementation((fd, done) => {
    synced.push(describeSynced(root, fstatSync(fd).ino));
    fsync(fd, done);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  return synced;
}

function describeSynced(root: string, ino: number): string {
  const all = [".", ...readdirSync(root, { recursive: true, encoding: "utf8" })];
  const name = all.find((each) => statSync(path.join(root, each)).ino === ino);
  if (name === undefined) return "something else";
  const found = path.join(root, name);
  return statSync(found).isDirectory()
    ? `${name} with ${readdirSync(found).join(" and ") || "nothing"}`
    : name.replace(/\.[^.]+\.tmp$/, ".tmp");
}

describe.skipIf(process.platform === "win32")("after a crash of the machine", () => {
  test("a file has its new content: it is synced before its name changes, and its folder afterwards", async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, "a.json"), "before");
    const synced = await watchSyncs(folder);
    await writeDurably(path.join(folder, "a.json"), Buffer.from("after"));
    expect(synced).toEqual(["a.json.tmp", ". with a.json"]);
  });

  test("a folder is where it was moved to, and no longer where it was", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, "from", "x"), { recursive: true });
    mkdirSync(path.join(folder, "to"));
    const synced = await watchSyncs(folder);
    await moveFolder(path.join(folder, "from", "x"), path.join(folder, "to", "y"));
    expect(synced).toEqual(["to with y", "from with nothing"]);
  });

  test("a folder that was renamed in its place has its new name", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, "x"));
    const synced = await watchSyncs(folder);
    await renameFolder(path.join(folder, "x"), "y");
    expect(synced).toEqual([". with y"]);
  });

  test("a new folder is there with all its new parents", async () => {
    const folder = temporaryFolder();
    const synced = await watchSyncs(folder);
    await makeFolder(path.join(folder, "a", "b"));
    expect(synced).toEqual(["a with b", ". with a"]);
  });
});
