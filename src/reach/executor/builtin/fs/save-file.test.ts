import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../stores/temporary-workspace.fixture.ts";
import { findSnapshot, saveFiles, type FileSnapshot } from "./save-file.ts";
import { resolveTarget, type FileTarget } from "../../../files/index.ts";

const { signal } = new AbortController();
const bytes = Buffer.from("new");

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "done",
    (error: unknown) => (error instanceof Error ? error.message : "no error"),
  );
}

interface Scene {
  readonly root: string;
  readonly outside: string;
  readonly target: FileTarget;
  readonly before: FileSnapshot;
}

/** `folder/a.txt` has been checked and read. */
async function checked(): Promise<Scene> {
  const [root, outside] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(path.join(root, "folder"));
  writeFileSync(path.join(root, "folder", "a.txt"), "old");
  writeFileSync(path.join(outside, "a.txt"), "old");
  const target = await resolveTarget(root, "folder/a.txt");
  const before = await findSnapshot(target);
  if (before === undefined) throw new Error("a.txt is missing");
  return { root, outside, target, before };
}

const MOVED =
  "A folder on the path was moved or replaced in the meantime. Nothing was changed. Try again.";

describe("a file is not replaced if, after the check, it", () => {
  test("was changed", async () => {
    const { root, target, before } = await checked();
    writeFileSync(path.join(root, "folder", "a.txt"), "OLD");
    expect([
      await messageOf(saveFiles([{ target, bytes, before }], signal)),
      readFileSync(path.join(root, "folder", "a.txt"), "utf8"),
      readdirSync(path.join(root, "folder")),
    ]).toEqual([
      "folder/a.txt changed in the meantime and was left as it is. Look at it again before you retry.",
      "OLD",
      ["a.txt"],
    ]);
  });

  test("was deleted", async () => {
    const { root, target, before } = await checked();
    rmSync(path.join(root, "folder", "a.txt"));
    expect([
      await messageOf(saveFiles([{ target, bytes, before }], signal)),
      readdirSync(path.join(root, "folder")),
    ]).toEqual(["folder/a.txt was deleted in the meantime.", []]);
  });

  test("became a link", async () => {
    const { root, outside, target, before } = await checked();
    rmSync(path.join(root, "folder", "a.txt"));
    symlinkSync(path.join(outside, "a.txt"), path.join(root, "folder", "a.txt"));
    expect([
      await messageOf(saveFiles([{ target, bytes, before }], signal)),
      readFileSync(path.join(outside, "a.txt"), "utf8"),
    ]).toEqual([
      "Cannot write folder/a.txt: its path contains a symbolic link that cannot be followed.",
      "old",
    ]);
  });

  test("is in a folder that became a link", async () => {
    const { root, outside, target, before } = await checked();
    renameSync(path.join(root, "folder"), path.join(root, "moved"));
    symlinkSync(outside, path.join(root, "folder"));
    expect([
      await messageOf(saveFiles([{ target, bytes, before }], signal)),
      readFileSync(path.join(outside, "a.txt"), "utf8"),
      readdirSync(outside),
    ]).toEqual(["Cannot write folder/a.txt: part of its path is not a folder.", "old", ["a.txt"]]);
  });

  test("is in a folder below one that became a link", async () => {
    const [root, outside] = [temporaryFolder(), temporaryFolder()];
    for (const folder of [root, outside]) {
      mkdirSync(path.join(folder, "a", "b"), { recursive: true });
      writeFileSync(path.join(folder, "a", "b", "c.txt"), "old");
    }
    const target = await resolveTarget(root, "a/b/c.txt");
    const before = await findSnapshot(target);
    if (before === undefined) throw new Error("a.txt is missing");
    renameSync(path.join(root, "a"), path.join(root, "moved"));
    symlinkSync(path.join(outside, "a"), path.join(root, "a"));
    expect([
      await messageOf(saveFiles([{ target, bytes, before }], signal)),
      readFileSync(path.join(outside, "a", "b", "c.txt"), "utf8"),
    ]).toEqual([MOVED, "old"]);
  });
});

describe("a new file is not written if, after the check,", () => {
  test("it appeared, as a file or as a link to the outside", async () => {
    const [root, outside] = [temporaryFolder(), temporaryFolder()];
    const target = await resolveTarget(root, "a.txt");
    writeFileSync(path.join(root, "a.txt"), "from someone else");
    const file = await messageOf(saveFiles([{ target, bytes, before: undefined }], signal));
    rmSync(path.join(root, "a.txt"));
    symlinkSync(path.join(outside, "new.txt"), path.join(root, "a.txt"));
    const link = await messageOf(saveFiles([{ target, bytes, before: undefined }], signal));
    const expected =
      "a.txt changed in the meantime and was left as it is. Look at it again before you retry.";
    expect([file, link, readdirSync(outside), readdirSync(root)]).toEqual([
      expected,
      expected,
      [],
      ["a.txt"],
    ]);
  });

  test("a link took the place of its new folder", async () => {
    const [root, outside] = [temporaryFolder(), temporaryFolder()];
    const target = await resolveTarget(root, "a/b/c.txt");
    symlinkSync(outside, path.join(root, "a"));
    expect([
      await messageOf(saveFiles([{ target, bytes, before: undefined }], signal)),
      readdirSync(outside),
    ]).toEqual(["Cannot create a/b/c.txt: part of its path is not a folder.", []]);
  });
});

test("a new folder that was created in the meantime is used", async () => {
  const root = temporaryFolder();
  const target = await resolveTarget(root, "a/b/c.txt");
  mkdirSync(path.join(root, "a"));
  await saveFiles([{ target, bytes, before: undefined }], signal);
  expect(readFileSync(path.join(root, "a", "b", "c.txt"), "utf8")).toBe("new");
});

test("a file is replaced in one step, without leftovers", async () => {
  const { root, target, before } = await checked();
  const file = path.join(root, "folder", "a.txt");
  const { ino } = statSync(file);
  await saveFiles([{ target, bytes, before }], signal);
  expect([statSync(file).ino === ino, readdirSync(path.dirname(file))]).toEqual([false, ["a.txt"]]);
});

test.runIf(process.getuid?.() === 0)("a file keeps its owner", async () => {
  const { root, target } = await checked();
  const file = path.join(root, "folder", "a.txt");
  chownSync(file, 1234, 5678);
  const before = await findSnapshot(target);
  if (before === undefined) throw new Error("a.txt is missing");
  await saveFiles([{ target, bytes, before }], signal);
  expect([statSync(file).uid, statSync(file).gid]).toEqual([1234, 5678]);
});

/** Two files to replace and two new ones between them. `hook` runs whenever the last one is compared with what it was. */
async function severalFiles(hook: (root: string, time: number) => void) {
  const root = temporaryFolder();
  for (const name of ["a.txt", "z.txt"]) {
    writeFileSync(path.join(root, name), "old");
    chmodSync(path.join(root, name), 0o640); // Whatever the umask.
  }
  const writes = await Promise.all(
    ["a.txt", "sub/deep/b.txt", "c.txt", "z.txt"].map(async (name) => {
      const target = await resolveTarget(root, name);
      return { target, bytes, before: await findSnapshot(target) };
    }),
  );
  let times = 0;
  const last = writes.at(-1)?.before?.bytes;
  if (last === undefined) throw new Error("z.txt is missing");
  last.equals = (other) => {
    hook(root, (times += 1));
    return Buffer.compare(last, other) === 0;
  };
  const message = await messageOf(saveFiles(writes, signal));
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).toSorted();
  const contents = names.flatMap((name) =>
    statSync(path.join(root, name)).isFile()
      ? [`${name}: ${readFileSync(path.join(root, name), "utf8")}`]
      : [name],
  );
  return { root, message, contents };
}

describe("several files", () => {
  test("are written together, with their folders", async () => {
    const { root, message, contents } = await severalFiles(() => undefined);
    expect([message, contents]).toEqual([
      "done",
      ["a.txt: new", "c.txt: new", "sub", "sub/deep", "sub/deep/b.txt: new", "z.txt: new"],
    ]);
    expect(statSync(path.join(root, "a.txt")).mode & 0o777).toBe(0o640);
  });

  test("are all left alone if one of them changed before the first was written", async () => {
    const { message, contents } = await severalFiles((root, time) => {
      if (time === 1) writeFileSync(path.join(root, "c.txt"), "from someone else");
    });
    expect([message, contents]).toEqual([
      "c.txt changed in the meantime and was left as it is. Look at it again before you retry. No file was changed.",
      ["a.txt: old", "c.txt: from someone else", "z.txt: old"],
    ]);
  });

  test("are put back if one of them cannot be written, new folders included", async () => {
    const { root, message, contents } = await severalFiles((folder, time) => {
      if (time === 2) {
        rmSync(path.join(folder, "z.txt"));
        mkdirSync(path.join(folder, "z.txt"));
      }
    });
    expect([message, contents]).toEqual([
      "Cannot write z.txt: it is a folder. No file was changed.",
      ["a.txt: old", "z.txt"],
    ]);
    expect(statSync(path.join(root, "a.txt")).mode & 0o777).toBe(0o640);
  });

  test("are named if they cannot be put back, and what others wrote is kept", async () => {
    const { message, contents } = await severalFiles((root, time) => {
      if (time !== 2) return;
      writeFileSync(path.join(root, "a.txt"), "from someone else");
      writeFileSync(path.join(root, "sub/deep/b.txt"), "from someone else");
      writeFileSync(path.join(root, "z.txt"), "from someone else");
      rmSync(path.join(root, "z.txt"));
      mkdirSync(path.join(root, "z.txt"));
    });
    expect([message, contents]).toEqual([
      "Cannot write z.txt: it is a folder. These files were already written and could not be restored: " +
        "a.txt, sub/deep/b.txt. Every other file is as it was before.",
      ["a.txt: from someone else", "sub", "sub/deep", "sub/deep/b.txt: from someone else", "z.txt"],
    ]);
  });
});

/** Writes all files again and again, with the number of the round, and says so after each. */
const WRITER = `
  const [module, files, root] = process.argv.slice(1);
  const { findSnapshot, saveFiles } = await import(module);
  const { resolveTarget } = await import(files);
  const { signal } = new AbortController();
  for (let round = 1; ; round += 1) {
    const writes = [];
    for (let file = 0; file < 8; file += 1) {
      const target = await resolveTarget(root, "folder/" + file);
      const bytes = Buffer.from((round + "\\n").repeat(20_000));
      writes.push({ target, bytes, before: await findSnapshot(target) });
    }
    await saveFiles(writes, signal);
    process.stdout.write(round + "\\n");
  }
`;

test("each file is whole after the process was killed halfway", { timeout: 60_000 }, async () => {
  const root = temporaryFolder();
  const module = path.join(import.meta.dirname, "save-file.ts");
  const files = path.join(import.meta.dirname, "../../../files/index.ts");
  for (const rounds of [1, 2, 3, 4]) {
    const child = spawn(process.execPath, [
      "--input-type=module",
      "--eval",
      WRITER,
      module,
      files,
      root,
    ]);
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.split("\n").length > rounds) child.kill("SIGKILL");
    });
    await once(child, "close");
    const names = readdirSync(path.join(root, "folder")).filter((name) => !name.endsWith(".tmp"));
    const contents = names.map((name) => readFileSync(path.join(root, "folder", name), "utf8"));
    expect([
      names.length,
      contents.every((text) => /^(?:(\d+)\n)(?:\1\n){19999}$/.test(text)),
    ]).toEqual([8, true]);
  }
});
