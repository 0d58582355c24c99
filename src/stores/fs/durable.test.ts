import {
  chmodSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { codeOf, failureOf } from "../record-elements.fixture.ts";
import { temporaryFolder } from "../temporary-workspace.fixture.ts";
import {
  makeFolder,
  moveFolder,
  renameFolder,
  setAside,
  syncFolder,
  writeDurably,
  writeJson,
} from "./durable.ts";
import { DirectHandle } from "./record-handle.ts";

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

test("all who wait for the sync of a folder learn that it failed, and the next ones can succeed", async () => {
  const folder = path.join(temporaryFolder(), "later");
  const failed = await Promise.allSettled([1, 2, 3].map(() => syncFolder(folder)));
  mkdirSync(folder);
  const then = await Promise.allSettled([1, 2, 3].map(() => syncFolder(folder)));
  expect([failed, then].map((all) => all.map(({ status }) => status))).toEqual([
    ["rejected", "rejected", "rejected"],
    ["fulfilled", "fulfilled", "fulfilled"],
  ]);
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
function watchSyncs(root: string): readonly string[] {
  const synced: string[] = [];
  const sync = Reflect.get(DirectHandle.prototype, "sync");
  const spy = vi.spyOn(DirectHandle.prototype, "sync").mockImplementation(async function (
    this: DirectHandle,
  ) {
    synced.push(describeSynced(root, fstatSync(this.fd).ino));
    await sync.call(this);
  });
  onTestFinished(() => spy.mockRestore());
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
    const synced = watchSyncs(folder);
    await writeDurably(path.join(folder, "a.json"), Buffer.from("after"));
    expect(synced).toEqual(["a.json.tmp", ". with a.json"]);
  });

  test("folders that are moved at once are where they were moved to, after a sync that began later", async () => {
    const folder = temporaryFolder();
    for (const name of ["x1", "x2", "x3"]) mkdirSync(path.join(folder, name));
    const synced = watchSyncs(folder);
    const moves = ["1", "2", "3"].map((number) =>
      moveFolder(path.join(folder, `x${number}`), path.join(folder, `y${number}`)),
    );
    await Promise.all(moves);
    expect(synced).toEqual([". with x2 and x3 and y1", ". with y1 and y2 and y3"]);
  });

  test("a folder is where it was moved to, and no longer where it was", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, "from", "x"), { recursive: true });
    mkdirSync(path.join(folder, "to"));
    const synced = watchSyncs(folder);
    await moveFolder(path.join(folder, "from", "x"), path.join(folder, "to", "y"));
    expect(synced).toEqual(["to with y", "from with nothing"]);
  });

  test("a folder that was renamed in its place has its new name", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, "x"));
    const synced = watchSyncs(folder);
    await renameFolder(path.join(folder, "x"), "y");
    expect(synced).toEqual([". with y"]);
  });

  test("a new folder is there with all its new parents", async () => {
    const folder = temporaryFolder();
    const synced = watchSyncs(folder);
    await makeFolder(path.join(folder, "a", "b"));
    expect(synced).toEqual(["a with b", ". with a"]);
  });
});
