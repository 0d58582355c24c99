import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import {
  applyUndo,
  compareWithStart,
  keepChanges,
  type KeepChangesOptions,
  planUndo,
  UndoStore,
} from "./index.ts";

const variables = { PATH: process.env["PATH"], HOME: "/nonexistent" };
const { signal } = new AbortController();
const conversation = "jp-c1";

function start({ isGit = true }: { readonly isGit?: boolean } = {}) {
  const [root, folder] = [temporaryFolder(), temporaryFolder()];
  const git = (...args: readonly string[]) => execFileSync("git", ["-C", root, ...args]);
  if (isGit) git("init", "-q");
  const store = new UndoStore({ folder, root });
  const file = (name: string) => path.join(store.root, name);
  const write = (name: string, text: string) => {
    mkdirSync(path.dirname(file(name)), { recursive: true });
    writeFileSync(file(name), text);
  };
  const keeper = (more: Partial<KeepChangesOptions> = {}) =>
    keepChanges({ folder, root, conversation, turn: () => "1", variables, ...more });
  const undo = async () => {
    const turn = store.listTurns(conversation).findLast(({ isUndone }) => !isUndone);
    if (turn === undefined) throw new Error("nothing is kept");
    await applyUndo(store, await planUndo(store, turn, { variables }));
  };
  return { root, folder, git, store, file, write, keeper, undo };
}

describe("before a command", () => {
  test("nothing is kept outside of a Git work tree, which is noted", async () => {
    const { keeper, store } = start({ isGit: false });
    const changes = keeper();
    const checked = await changes.checkFolder();
    const { reason } = await changes.keepFolder(signal);
    const [turn] = store.listTurns(conversation);
    expect([checked, reason, turn?.unkept]).toEqual(["not_git", "not_git", ["not_git"]]);
  });

  test.each([
    ["files", { files: 1, bytes: 1000 }],
    ["bytes", { files: 1000, bytes: 3 }],
  ])(
    "nothing is kept of too many %s, which is known from then on",
    async (_what, snapshotLimits) => {
      const { keeper, write } = start();
      write("a", "aa");
      write("b", "bb");
      const changes = keeper({ snapshotLimits });
      const before = await changes.checkFolder();
      const { reason } = await changes.keepFolder(signal);
      expect([before, reason, await changes.checkFolder()]).toEqual([
        undefined,
        "too_large",
        "too_large",
      ]);
    },
  );

  test("no program runs that the repository names", async () => {
    counters("T-UNDO-3");
    const { keeper, write, file, git, folder } = start();
    const evil = path.join(folder, "evil");
    writeFileSync(evil, `#!/bin/sh\ntouch ${folder}/ran\ncat\n`);
    chmodSync(evil, 0o755);
    write("a", "one");
    git("add", ".");
    write(".gitattributes", "* filter=evil diff=evil\n");
    const names = ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "core.pager"];
    for (const name of [...names, "diff.evil.textconv", "core.editor"]) git("config", name, evil);
    write(".git/hooks/post-index-change", readFileSync(evil, "utf8"));
    chmodSync(file(".git/hooks/post-index-change"), 0o755);
    const kept = await keeper().keepFolder(signal);
    write("a", "two");
    expect([await kept.done(), existsSync(path.join(folder, "ran"))]).toEqual([["a"], false]);
  });

  test("neither ignored files nor those of jp are kept, or removed when Git no longer ignores them", async () => {
    const { keeper, write, file, undo } = start();
    write(".gitignore", "secret/\n*.log\n");
    for (const name of ["secret/key", "x.log", ".jp/config.toml", "a"]) write(name, "one");
    const kept = await keeper().keepFolder(signal);
    write(".gitignore", "");
    write(".jp/config.toml", "two");
    write("x.log", "two");
    const changed = await kept.done();
    await undo();
    const contents = ["secret/key", "x.log", ".jp/config.toml", ".gitignore"].map((name) =>
      readFileSync(file(name), "utf8"),
    );
    expect({ changed, contents }).toEqual({
      changed: [".gitignore"],
      contents: ["one", "two", "two", "secret/\n*.log\n"],
    });
  });

  test("a file that Git ignores only afterwards is restored", async () => {
    const { keeper, write, file, undo } = start();
    write("x.log", "one");
    const kept = await keeper().keepFolder(signal);
    write(".gitignore", "*.log\n");
    write("x.log", "two");
    expect(await kept.done()).toEqual(expect.arrayContaining([".gitignore", "x.log"]));
    await undo();
    expect([readFileSync(file("x.log"), "utf8"), existsSync(file(".gitignore"))]).toEqual([
      "one",
      false,
    ]);
  });

  test("equal contents are kept once", async () => {
    const { keeper, write, folder } = start();
    for (let index = 0; index < 20; index += 1) write(`f${index}`, "same");
    await (await keeper().keepFolder(signal)).done();
    const [own = ""] = readdirSync(path.join(folder, "undo"));
    const contents = path.join(folder, "undo", own, "contents");
    const files = readdirSync(contents, { recursive: true, withFileTypes: true });
    expect(files.filter((entry) => entry.isFile()).length).toBe(3); // With the names and the states of the files.
  });
});

describe("an undo", () => {
  test("writes through no link that has taken the place of a folder", async () => {
    counters("T-UNDO-2");
    const { keeper, write, file, undo } = start();
    const outside = temporaryFolder();
    writeFileSync(path.join(outside, "a"), "mine");
    write("d/a", "one");
    const kept = await keeper().keepFile({ file: file("d/a"), after: Buffer.from("two") });
    write("d/a", "two");
    await kept.done();
    execFileSync("rm", ["-r", file("d")]);
    symlinkSync(outside, file("d"));
    await expect(undo()).rejects.toMatchObject({ code: "undo_conflict" });
    expect(readFileSync(path.join(outside, "a"), "utf8")).toBe("mine");
  });

  test("keeps what it replaces, so that a forced one loses nothing either", async () => {
    counters("T-UNDO-1");
    const { keeper, write, file, store } = start();
    write("a", "one");
    const kept = await keeper().keepFile({ file: file("a"), after: Buffer.from("two") });
    write("a", "someone else's");
    await kept.done();
    write("a", "theirs");
    const [turn] = store.listTurns(conversation);
    if (turn === undefined) throw new Error("nothing is kept");
    const plan = await planUndo(store, turn, { variables });
    await applyUndo(store, plan, { isForced: true });
    const digests = store.contents
      .list()
      .map(({ digest }) => store.contents.get(digest).toString());
    expect(digests.toSorted()).toEqual(["one", "theirs"]);
  });

  test("puts back the first state of the turn, whoever notes it last", async () => {
    const { keeper, write, file, undo } = start();
    write("a", "one");
    const changes = keeper();
    const [first, second] = [await changes.keepFolder(signal), "two"];
    write("a", second);
    const inner = await changes.keepFolder(signal);
    write("a", "three");
    await inner.done();
    await first.done();
    await undo();
    expect(readFileSync(file("a"), "utf8")).toBe("one");
  });
});

test("a conversation is compared with its start, without turns that were undone", async () => {
  const { keeper, write, file, store, undo } = start();
  write("a", "one");
  for (const [turn, text] of [
    ["1", "two"],
    ["2", "three"],
  ] as const) {
    const kept = await keeper({ turn: () => turn }).keepFile({
      file: file("a"),
      after: Buffer.from(text),
    });
    write("a", text);
    await kept.done();
  }
  await undo();
  const turns = store.listTurns(conversation).filter(({ isUndone }) => !isUndone);
  const [step] = await compareWithStart(store, turns, { variables });
  const { before, now } = step ?? {};
  expect([before, now].map((state) => state?.kind === "file" && state.size)).toEqual([3, 3]);
});

test("the oldest turns are dropped, with what only they need", async () => {
  const { root, folder, write, file } = start();
  const limits = { turns: 3, bytes: 1000 };
  const place = { folder, root, limits };
  const store = new UndoStore(place);
  for (let turn = 0; turn < 6; turn += 1) {
    write("a", `before ${turn}`);
    const options = { ...place, conversation, turn: () => String(turn), variables };
    const kept = await keepChanges(options).keepFile({ file: file("a"), after: undefined });
    await kept.done();
  }
  expect(store.hasDropped(conversation)).toBe(false);
  store.prune(new Date(Date.now() + 24 * 60 * 60 * 1000));
  const contents = store.contents.list().map(({ digest }) => store.contents.get(digest).toString());
  expect({
    turns: store.listTurns(conversation).map(({ turn }) => turn),
    contents: contents.toSorted(),
    hasDropped: store.hasDropped(conversation),
  }).toEqual({
    turns: ["3", "4", "5"],
    contents: ["before 3", "before 4", "before 5"],
    hasDropped: true,
  });
});
