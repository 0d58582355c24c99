/** Only one process can write a conversation, and its lock ends with the process. */
import { spawnSync } from "node:child_process";
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { fileIdFromNumber, fileIdToNumber } from "../../src/stores/fs/file-id.ts";
import { acquireLock } from "../../src/stores/fs/lock.ts";
import { ChildProgram } from "../support/child-program.ts";
import { codeOf, failureOf, numbered } from "../../src/stores/record-elements.fixture.ts";
import {
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const hasFlock = process.platform === "linux" && spawnSync("flock", ["--version"]).status === 0;

test("of several processes that open a conversation at once, one succeeds", async () => {
  const { root, data, id } = await placeRecord();
  const programs = Array.from({ length: 4 }, () => holder(root, data, id));
  await Promise.all(programs.map((program) => program.nextLine()));
  for (const program of programs) program.tell("open");
  const answers = (await Promise.all(programs.map((program) => program.nextJson()))) as Answer[];
  expect(answers.map(({ type, code }) => code ?? type).toSorted()).toEqual([
    "conversation_locked",
    "conversation_locked",
    "conversation_locked",
    "opened",
  ]);
});

test("a lock is exclusive even if processes constantly take and release it", async () => {
  const folder = temporaryFolder();
  const programs = [0, 1, 2].map(() =>
    ChildProgram.alone("fight-for-lock-program.ts", folder, "200"),
  );
  await Promise.all(programs.map((program) => program.nextLine()));
  for (const program of programs) program.tell("go");
  const violations = await Promise.all(programs.map((program) => program.nextLine()));
  expect(violations).toEqual(["0", "0", "0"]);
});

describe("a lock file that its holder deletes between our open and our lock", () => {
  const id = fileIdFromNumber(1);
  const owner = { pid: process.pid, acquiredAt: "2026-01-02T03:04:05.000Z" };

  test("is not the lock: a new one is taken, by which others are locked out", async () => {
    const folder = temporaryFolder();
    const previous = await acquireLock(folder, id, owner);
    afterFirstOpen(path.join(folder, `${id}.lock`), () => previous.release());
    const lock = await acquireLock(folder, id, owner);
    const isThere = existsSync(path.join(folder, `${id}.lock`));
    const another = await codeOf(acquireLock(folder, id, owner));
    lock.release();
    expect({ isThere, another, left: readdirSync(folder) }).toEqual({
      isThere: true,
      another: "conversation_locked",
      left: [],
    });
  });

  test("is not the lock if someone else has taken a new one meanwhile", async () => {
    const folder = temporaryFolder();
    const previous = await acquireLock(folder, id, owner);
    const other = await acquireLock(folder, fileIdFromNumber(2), owner);
    const file = path.join(folder, `${id}.lock`);
    afterFirstOpen(file, () => {
      previous.release();
      renameSync(path.join(folder, "jp-c2.lock"), file); // The lock stays with the file.
    });
    expect(await codeOf(acquireLock(folder, id, owner))).toBe("conversation_locked");
    other.release();
  });
});

test("creating a conversation fails if the next hundred ids are locked", async () => {
  const { conversations, locks, id } = await placeRecord();
  const owner = { pid: process.pid, acquiredAt: "2026-01-02T03:04:05.000Z" };
  // By another path, this process does not know the locks for its own.
  const others = `${locks}-of-others`;
  symlinkSync(locks, others);
  for (let next = fileIdToNumber(id); next <= fileIdToNumber(id) + 100; next += 1) {
    const lock = await acquireLock(others, fileIdFromNumber(next), owner);
    onTestFinished(() => lock.release());
  }
  expect(await failureOf(conversations.create({}))).toEqual({
    code: "conversation_locked",
    message: "Cannot create a conversation: 100 consecutive ids are locked by other processes.",
  });
});

test("conversations that are created at once get no id that is locked, or taken under another name", async () => {
  const { conversations, root, locks, id } = await placeRecord();
  const owner = { pid: process.pid, acquiredAt: "2026-01-02T03:04:05.000Z" };
  const others = `${locks}-of-others`;
  symlinkSync(locks, others);
  const first = fileIdToNumber(id);
  const lock = await acquireLock(others, fileIdFromNumber(first + 2), owner);
  onTestFinished(() => lock.release());
  const folder = path.join(root, ".jp", "conversations");
  for (const taken of [`${first + 3}-a-title`, `.archive/${first + 5}`, `${first + 70}`]) {
    mkdirSync(path.join(folder, taken), { recursive: true });
  }
  const created = await Promise.all(Array.from({ length: 80 }, () => conversations.create({})));
  onTestFinished(async () => void (await Promise.all(created.map((each) => each.release()))));
  const found = created.map((each) => fileIdToNumber(each.id) - first).toSorted((a, b) => a - b);
  const free = Array.from({ length: 85 }, (_, more) => more).filter(
    (more) => ![0, 2, 3, 5, 70].includes(more),
  );
  expect(found).toEqual(free);
});

test("the error names the process that holds the conversation, and since when", async () => {
  const { root, data, id, conversations } = await placeRecord();
  const first = await startHolder(root, data, id);
  const second = holder(root, data, id);
  await second.nextLine();
  second.tell("open");
  const refused = {
    code: "conversation_locked",
    message: expect.stringMatching(
      new RegExp(
        `^Conversation ${id} is in use by process ${first.pid}, since \\d{4}-\\d\\d-.*Z\\.$`,
      ),
    ) as string,
  };
  expect({
    second: await second.nextJson(),
    here: await failureOf(conversations.open(id)),
    remove: await failureOf(conversations.remove(id)),
  }).toEqual({ second: { type: "refused", ...refused }, here: refused, remove: refused });
});

test("a released conversation can be opened by another process", async () => {
  const { root, data, id, locks } = await placeRecord();
  const first = await startHolder(root, data, id);
  const held = readdirSync(locks);
  first.tell("release");
  await first.nextLine();
  const released = readdirSync(locks);
  const second = await startHolder(root, data, id);
  const { pid } = JSON.parse(readFileSync(path.join(locks, `${id}.lock`), "utf8")) as Owner;
  expect({ held, released, pid }).toEqual({
    held: [`${id}.lock`],
    released: [],
    pid: second.pid,
  });
});

test("a killed process releases its conversation immediately", async () => {
  const { root, data, id, locks, conversations } = await placeRecord();
  const program = await startHolder(root, data, id);
  const refused = await codeOf(conversations.open(id));
  await program.kill();
  const left = readdirSync(locks);
  const writer = await conversations.open(id);
  await writer.append(numbered(0));
  await writer.release();
  expect({ refused, left, after: readdirSync(locks) }).toEqual({
    refused: "conversation_locked",
    left: [`${id}.lock`],
    after: [],
  });
});

test("the lock file says who holds the lock", async () => {
  const { conversations, locks, id } = await placeRecord();
  await using writer = await conversations.open(id);
  expect({
    id: writer.id,
    text: readFileSync(path.join(locks, `${id}.lock`), "utf8"),
  }).toEqual({
    id,
    text: `{"pid":${process.pid},"session":"a-test","acquired_at":"2026-01-02T03:04:05.000Z"}`,
  });
});

test.each(["", "{ no json", '{"pid":1,"acquired_at":"2020-01-01T00:00:00Z"}'])(
  "a lock file with %j that no process holds is not a lock",
  async (text) => {
    const { conversations, locks, id } = await placeRecord();
    mkdirSync(locks, { recursive: true });
    writeFileSync(path.join(locks, `${id}.lock`), text);
    const writer = await conversations.open(id);
    const { pid } = JSON.parse(readFileSync(path.join(locks, `${id}.lock`), "utf8")) as Owner;
    await writer.release();
    expect({ pid, after: readdirSync(locks) }).toEqual({ pid: process.pid, after: [] });
  },
);

test("an operation releases its lock, even if it fails", async () => {
  const { conversations, locks, id } = await placeRecord();
  await conversations.setLocal(id, true);
  await conversations.archive(id);
  await codeOf(conversations.setLocal(id, false));
  await conversations.unarchive(id);
  await conversations.fork(id);
  await conversations.remove(id);
  expect(readdirSync(locks)).toEqual([]);
});

test("a lock file that cannot be created is a failed write, not a taken lock", async () => {
  const { conversations, userFolder, locks, id } = await placeRecord();
  rmSync(locks, { recursive: true, force: true });
  mkdirSync(userFolder, { recursive: true });
  writeFileSync(locks, "a file where the folder should be");
  expect(await codeOf(conversations.open(id))).toBe("write_failed");
});

test.runIf(hasFlock)("a lock held by another program with flock(1) is respected", async () => {
  const { conversations, locks, id } = await placeRecord();
  mkdirSync(locks, { recursive: true });
  const file = path.join(locks, `${id}.lock`);
  const foreign = new ChildProgram("flock", ["-x", "-o", file, "sh", "-c", "echo held; exec cat"]);
  await foreign.nextLine();
  const refused = await failureOf(conversations.open(id));
  const isKept = existsSync(file);
  await foreign.kill();
  await using writer = await conversations.open(id);
  expect({ refused, isKept, opened: writer.id }).toEqual({
    refused: {
      code: "conversation_locked",
      message: `Conversation ${id} is in use by another process.`,
    },
    isKept: true,
    opened: id,
  });
});

test.runIf(hasFlock)("our lock is respected by programs that use flock(1)", async () => {
  const { conversations, locks, id } = await placeRecord();
  const file = path.join(locks, `${id}.lock`);
  const tryFlock = () => spawnSync("flock", ["-n", "-x", file, "true"]).status;
  const writer = await conversations.open(id);
  const held = tryFlock();
  await writer.release();
  expect({ held, released: tryFlock() }).toEqual({ held: 1, released: 0 });
});

/** Calls the function after the next synchronous open of the file. The code that opens it does not know of this. */
function afterFirstOpen(file: string, action: () => void): void {
  const { openSync } = fs;
  const replace = (open: typeof openSync) => {
    fs.openSync = open;
    syncBuiltinESMExports();
  };
  onTestFinished(() => replace(openSync));
  replace((...given) => {
    const fd = openSync(...given);
    if (given[0] === file) {
      replace(openSync);
      action();
    }
    return fd;
  });
}

interface Answer {
  readonly type: string;
  readonly code?: string;
}

interface Owner {
  readonly pid: number;
}

async function placeRecord() {
  const workspace = temporaryWorkspace();
  const writer = await workspace.conversations.create({});
  await writer.release();
  return { ...workspace, id: writer.id };
}

function holder(root: string, data: string, id: string): ChildProgram {
  return ChildProgram.ofTests("hold-conversation-program.ts", root, data, id);
}

/** A process that holds the conversation. */
async function startHolder(root: string, data: string, id: string): Promise<ChildProgram> {
  const program = holder(root, data, id);
  await program.nextLine();
  program.tell("open");
  const answer = (await program.nextJson()) as Answer;
  if (answer.type !== "opened") throw new Error(`not opened: ${JSON.stringify(answer)}`);
  return program;
}
