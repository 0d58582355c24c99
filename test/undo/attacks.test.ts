import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../security/threats.ts";
import { canMountDisk, mountDisk, unmountDisk } from "../support/small-disk.ts";
import { World } from "./world.ts";

const COMMIT = "git add -A; git -c user.name=a -c user.email=b commit -qm x";

/** With files in a folder that are committed, in the second turn. */
async function start(): Promise<World> {
  const world = new World();
  world.turn = 1;
  await world.command(`mkdir src; echo one > src/a; echo two > src/b; ${COMMIT}`);
  world.turn = 2;
  return world;
}

/** Where jp keeps its copies. */
function storeFolder({ folder }: World): string {
  const [own = ""] = readdirSync(path.join(folder, "undo"));
  return path.join(folder, "undo", own);
}

function journalsOf(world: World): readonly string[] {
  const turns = path.join(storeFolder(world), "turns");
  return readdirSync(turns).map((name) => path.join(turns, name));
}

describe("hidden files", () => {
  const HIDE = "git rm -r -q --cached src; echo src/ >> .git/info/exclude";

  test.each([
    ["all in one command", [`${HIDE}; rm -rf src`]],
    ["and deletes by the next command", [HIDE, "rm -rf src"]],
    ["after it has changed them", ["echo changed > src/a", HIDE, "rm -rf src"]],
    [
      "after it has made them",
      ["echo new > src/c", HIDE, "rm -rf src", "mkdir src; echo x > src/c"],
    ],
    ["by an empty index", ["git read-tree --empty; echo '*' > .git/info/exclude", "rm -rf src"]],
    ["by removing the repository", ["mv .git ../hidden-$$", "rm -rf src"]],
  ])("files that a command hides from Git are restored: %s", async (_how, commands) => {
    counters("T-UNDO-7");
    const world = await start();
    const before = world.state();
    for (const command of commands) await world.command(command); // Each in a new process.
    await world.undo();
    expect(world.state()).toEqual(before);
  });

  test("files that Git knew are restored if a file tool changed what Git ignores before the first command", async () => {
    counters("T-UNDO-7");
    const world = await start();
    const before = world.state();
    await world.command("git rm -r -q --cached src");
    world.turn = 3;
    await world.tool("fs_create_file", { path: ".gitignore", content: "src\n" });
    await world.command("rm -rf src");
    await world.undo();
    expect(world.state()).toEqual(before);
  });

  test("the names that Git knew are still there after the store was pruned", async () => {
    counters("T-UNDO-7");
    const world = await start();
    const before = world.state();
    await world.command(HIDE);
    world.store.prune(new Date(Date.now() + 24 * 60 * 60 * 1000));
    await world.command("rm -rf src");
    await world.undo();
    expect(world.state()).toEqual(before);
  });
});

describe("new ignored files", () => {
  test.each([
    ["by .gitignore", "echo x > made; echo made >> .gitignore"],
    [
      "by a new .gitignore in their folder",
      "mkdir new; echo x > new/made; echo '*' > new/.gitignore",
    ],
    ["by info/exclude", "mkdir -p new/deep; echo x > new/deep/made; echo new >> .git/info/exclude"],
    ["by the config", "echo x > made; git config core.excludesFile $PWD/src/a; echo made > src/a"],
    [
      "in a folder whose files are hidden too",
      "echo x > src/made; git rm -r -q --cached src; echo src >> .git/info/exclude",
    ],
  ])("files that a command makes, and has Git ignore, are removed: %s", async (_how, command) => {
    counters("T-UNDO-8");
    const world = await start();
    const before = world.state();
    await world.command(command);
    await world.command(
      "for file in made new/made new/deep/made; do [ ! -e $file ] || echo changed > $file; done",
    );
    await world.undo();
    expect(world.state()).toEqual(before);
  });

  test("files that were ignored before, or that a build makes, are not removed", async () => {
    counters("T-UNDO-8");
    const world = await start();
    await world.command("mkdir ignored; echo mine > ignored/old; echo mine > old.log");
    world.turn = 3;
    await world.command("echo x > ignored/new; echo x > new.log; echo y > src/a");
    await world.command("echo '*.tmp' >> .gitignore; echo x > ignored/more; echo mine >> old.log");
    await world.undo();
    const names = ["ignored/old", "ignored/new", "ignored/more", "old.log", "new.log"];
    expect(names.filter((name) => existsSync(path.join(world.root, name)))).toEqual(names);
  });
});

test("names that are not UTF-8 are kept, and files and links restored under them", async () => {
  counters("T-UNDO-9");
  const world = new World();
  const list = () =>
    execFileSync(
      "sh",
      ["-c", "find . -path ./.git -prune -o -print0 | sort -z; cat d*/f* g* d*/l*"],
      {
        cwd: world.root,
        env: { ...process.env, LC_ALL: "C" },
      },
    ).toString("latin1");
  world.turn = 1;
  await world.command(
    "printf 1 > \"$(printf 'g\\351')\"; mkdir \"$(printf 'd\\377')\"; cd d*; printf 2 > \"$(printf 'f\\351')\"; ln -s \"$(printf 'f\\351')\" l",
  );
  const before = list();
  world.turn = 2;
  await world.command(
    'rm -r d*; for g in g*; do printf 3 > "$g"; done; printf 4 > "$(printf \'new\\200\')"',
  );
  const { steps } = await world.plan();
  await world.undo();
  expect(list()).toBe(before);
  expect(steps.map((step) => step.path)).toEqual([
    "d\udcff",
    "d\udcff/f\udce9",
    "d\udcff/l",
    "g\udce9",
    "new\udc80",
  ]);
});

describe("missing folders", () => {
  test("an undo says so where a folder has become a link, even if it is forced", async () => {
    counters("T-UNDO-2");
    const world = await start();
    await world.command("mkdir -p src/deep; echo 1 > src/deep/c; echo changed > src/a");
    renameSync(path.join(world.root, "src"), path.join(world.folder, "elsewhere"));
    symlinkSync(path.join(world.folder, "elsewhere"), path.join(world.root, "src"));
    await expect(world.undo(true)).rejects.toMatchObject({
      code: "undo_blocked",
      message:
        "src was a folder and is a link now, so src/a cannot be restored. Nothing was undone.",
    });
    expect(readFileSync(path.join(world.folder, "elsewhere/a"), "utf8")).toBe("changed\n");
  });

  test("a forced undo makes a deleted folder again for the files in it", async () => {
    const world = await start();
    const before = world.state();
    await world.command("echo changed > src/a; rm src/b");
    rmSync(path.join(world.root, "src"), { recursive: true });
    await world.undo(true);
    expect(world.state()).toEqual(before);
  });
});

describe("files that are not kept", () => {
  test.each([
    ["deletes a nested repository", "git init -q sub; echo x > sub/file", "rm -rf sub", ["sub"]],
    [
      "deletes everything in a nested repository",
      "git init -q sub; echo x > sub/file",
      "rm -rf sub/*",
      ["sub"],
    ],
    [
      "deletes a submodule",
      `git init -q sub; cd sub; echo x > file; ${COMMIT}; cd ..; ${COMMIT}`,
      "rm -rf sub",
      ["sub"],
    ],
    [
      "deletes an ignored folder",
      "mkdir -p ignored/deep; echo x > ignored/deep/file",
      "rm -rf ignored",
      ["ignored"],
    ],
    ["deletes an ignored file", "echo x > x.log", "rm x.log", ["x.log"]],
  ])(
    "an undo names what it cannot restore after a command: %s",
    async (_what, made, command, lost) => {
      counters("T-UNDO-10");
      const world = await start();
      execFileSync("sh", ["-c", made], { cwd: world.root, stdio: "ignore" });
      await world.command(command);
      expect((await world.plan()).lost).toEqual(lost);
    },
  );

  test("files of a nested repository are not taken for new ones once its own Git folder is gone", async () => {
    counters("T-UNDO-10");
    const world = await start();
    execFileSync("sh", ["-c", "git init -q sub; echo mine > sub/file"], { cwd: world.root });
    await world.command("rm -rf sub/.git; echo y > src/a");
    await world.undo();
    expect(readFileSync(path.join(world.root, "sub/file"), "utf8")).toBe("mine\n");
  });
});

describe("damage", () => {
  const DAMAGE = {
    damaged: "printf garbage > .git/index",
    emptied: ": > .git/index",
  };

  test.each(Object.entries(DAMAGE))(
    "damage to the index of Git is named, and the files it listed earlier in the turn are restored: %s",
    async (_how, damage) => {
      counters("T-UNDO-11");
      const world = await start();
      const before = world.state();
      await world.command(`${damage}; rm src/a`);
      await world.command("rm -rf src; echo x > made");
      const { turn } = await world.plan();
      await world.undo();
      rmSync(path.join(world.root, "made"));
      expect([turn.unkept.includes("index_damaged"), world.state()]).toEqual([true, before]);
    },
  );

  test.each(Object.entries(DAMAGE))(
    "damage to the index of Git is named if nothing of the turn was listed before: %s",
    async (_how, damage) => {
      counters("T-UNDO-11");
      const world = await start();
      execFileSync("sh", ["-c", damage], { cwd: world.root });
      await world.command("rm -rf src");
      expect((await world.plan()).turn.unkept).toEqual(["index_damaged"]);
    },
  );

  test.each(["", "garbage", "{}", "null"])(
    "the index of jp's copies is made again if it is damaged: %j",
    async (text) => {
      counters("T-UNDO-11");
      const world = await start();
      const before = world.state();
      writeFileSync(path.join(storeFolder(world), "index.json"), text);
      await world.command("rm -rf src");
      await world.undo();
      expect(world.state()).toEqual(before);
    },
  );

  test("an emptied journal is reported as damaged", async () => {
    counters("T-UNDO-11");
    const world = await start();
    await world.command("rm -rf src");
    const last = journalsOf(world).at(-1) ?? "";
    truncateSync(last);
    expect(world.store.findDamaged(world.conversation)).toEqual([last]);
  });

  test("a journal with a damaged line says so, and restores the rest", async () => {
    counters("T-UNDO-11");
    const world = await start();
    await world.command("rm src/a src/b");
    const last = journalsOf(world).at(-1) ?? "";
    const damaged = readFileSync(last, "utf8").replace('{"type":"keep","path":"src/a"', "{}");
    writeFileSync(last, damaged);
    const { turn } = await world.plan();
    await world.undo();
    const left = readdirSync(path.join(world.root, "src"));
    expect([turn.isDamaged, left]).toEqual([true, ["b"]]);
  });

  test("a line that a killed process has left half written is no damage", async () => {
    const world = await start();
    await world.command("rm src/a");
    const last = journalsOf(world).at(-1) ?? "";
    truncateSync(last, statSync(last).size - 5);
    await world.command("rm src/b");
    expect(world.kept.at(-1)).toMatchObject({ isDamaged: false });
  });
});

const canMount = canMountDisk();

/** Fills a disk but for a few bytes, and returns how to free it. */
function fill(disk: string): () => void {
  const file = path.join(disk, "filler");
  for (const size of [64 * 1024, 4096]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: "a" });
    } catch {
      // It is full.
    }
  }
  return () => rmSync(file);
}

function smallDisk(folder: string): void {
  mountDisk(folder);
  onTestFinished(() => unmountDisk(folder));
}

describe.runIf(canMount)("full disks", () => {
  test("a full disk under the workspace is named by an undo, and the next one completes it", async () => {
    counters("T-UNDO-12");
    const world = new World();
    const folder = path.join(world.root, "small");
    mkdirSync(folder);
    smallDisk(folder);
    world.turn = 1;
    const text = "x".repeat(100_000);
    for (const name of ["a", "b"]) writeFileSync(path.join(folder, name), text);
    const before = world.state();
    await world.command("rm small/a small/b");
    const free = fill(folder);
    await expect(world.undo()).rejects.toMatchObject({
      code: "undo_incomplete",
      message: "Cannot restore small/a: the disk is full.",
    });
    free();
    await world.undo();
    expect(world.state()).toEqual(before);
  });

  test("a full disk under the user's folder is named before a command, which does not run", async () => {
    counters("T-UNDO-12");
    const world = new World();
    smallDisk(world.folder);
    const free = fill(world.folder);
    await expect(world.command("rm tracked.txt")).rejects.toMatchObject({
      message: "Cannot keep a copy of the files of the workspace: the disk is full.",
    });
    free();
    expect(existsSync(path.join(world.root, "tracked.txt"))).toBe(true);
  });

  test("a full disk under the user's folder is named by an undo, and the next one completes it", async () => {
    counters("T-UNDO-12");
    const world = new World();
    smallDisk(world.folder);
    const before = world.state();
    await world.command("seq 10000 > tracked.txt");
    const free = fill(world.folder);
    await expect(world.undo()).rejects.toMatchObject({
      code: "undo_incomplete",
      message: "Cannot keep a copy of tracked.txt: the disk is full.",
    });
    free();
    await world.undo();
    expect(world.state()).toEqual(before);
  });

  test("a command that fills the disk hides none of its changes", async () => {
    counters("T-UNDO-12");
    const world = new World();
    smallDisk(world.folder);
    const before = world.state();
    await world.command(`rm tracked.txt; cat /dev/zero > ${world.folder}/filler || true`);
    const plan = await world.plan();
    rmSync(path.join(world.folder, "filler"));
    await world.undo(true);
    expect([plan.steps.map((step) => step.path), world.state()]).toEqual([["tracked.txt"], before]);
  });
});
