/** Leftovers of a killed process are not taken for a conversation, and the next write removes them. */
import { createHook } from "node:async_hooks";
import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import { acquireLock } from "../../src/stores/fs/lock.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import {
  laidOut,
  METADATA_TEXT,
  numberedElements,
} from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const EVENTS = laidOut(numberedElements(1));
const ID = fileIdFromNumber(17_000_000_000);
const OWNER = { pid: process.pid, acquiredAt: "2026-01-02T03:04:05.000Z" };

test("a conversation appears as a whole or not at all", async () => {
  const seen: string[][] = [];
  const { conversations, live } = temporaryWorkspace({
    openFile: () => {
      seen.push(namesIn(path.join(live, "17673230450")));
      return Promise.reject(new Error("no"));
    },
  });
  const watched = watchCreation(live);
  await conversations.create({ baseConfig: {} }).catch(() => undefined);
  expect({ halves: watched.halves(), seen, left: readdirSync(live) }).toEqual({
    halves: [],
    seen: [["base_config.json", "events.json", "metadata.json"]],
    left: [],
  });
});

test("an interrupted creation is cleaned up by the next one", async () => {
  const { conversations, live, locks } = temporaryWorkspace();
  placeConversation(path.join(live, ".17000000000-half.tmp"), { metadata: METADATA_TEXT });
  placeLock(locks, "jp-c17000000000.lock");
  await using writer = await conversations.create({});
  expect({
    live: readdirSync(live),
    locks: readdirSync(locks),
    listed: (await conversations.list()).map(({ id }) => id),
  }).toEqual({
    live: ["17673230450"],
    locks: ["jp-c17673230450.lock"],
    listed: [writer.id],
  });
});

test("a turn that was killed in one clone stays pending there, whatever another clone creates", async () => {
  const one = temporaryWorkspace();
  const other = temporaryWorkspace({ data: one.data });
  const writer = await one.conversations.create({});
  await writer.append(...WAITING);
  await writer.release();
  placeLock(one.locks, "jp-c17673230450.lock");
  other.clock.advance(1000);
  await (await other.conversations.create({})).release();
  expect((await one.conversations.listPending()).map(({ id }) => id)).toEqual([writer.id]);
});

test("a creation in progress is left alone by another one", async () => {
  const { conversations, live, locks } = temporaryWorkspace();
  const partial = path.join(live, ".17000000000.tmp");
  placeConversation(partial, { metadata: METADATA_TEXT });
  const lock = await acquireLock(locks, ID, OWNER);
  await using _ = await conversations.create({});
  lock.release();
  expect(namesIn(partial)).toEqual(["metadata.json"]);
});

test("a stale lock of an existing conversation stays until the conversation is opened", async () => {
  const { conversations, live, locks } = temporaryWorkspace();
  placeConversation(path.join(live, "17000000000"), { events: EVENTS, metadata: METADATA_TEXT });
  placeLock(locks, "jp-c17000000000.lock");
  await (await conversations.create({})).release();
  const before = readdirSync(locks);
  await (await conversations.open(ID)).release();
  expect([before, readdirSync(locks)]).toEqual([["jp-c17000000000.lock"], []]);
});

test("opening a conversation removes temporary files and unfinished copies", async () => {
  const { conversations, live, local } = temporaryWorkspace();
  const folder = placeConversation(path.join(live, "17000000000-a"), {
    events: EVENTS,
    metadata: METADATA_TEXT,
    baseConfig: "{}",
  });
  for (const name of ["events.json.0a1b2c3d.tmp", "metadata.json.ffffffff.tmp", "my.tmp"]) {
    writeFileSync(path.join(folder, name), "{");
  }
  placeConversation(path.join(local, ".17000000000-a.tmp"), { events: "[" });
  placeConversation(path.join(local, ".17000000001-b.tmp"), { events: "[" });
  await using _ = await conversations.open(ID);
  expect([namesIn(folder), readdirSync(local)]).toEqual([
    ["base_config.json", "events.json", "metadata.json", "my.tmp"],
    [".17000000001-b.tmp"],
  ]);
});

test.runIf(process.platform === "linux")(
  "a lock is released even if its file cannot be deleted",
  async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "jp-c17000000000.lock");
    const lock = await acquireLock(folder, ID, OWNER);
    rmSync(file);
    mkdirSync(file);
    lock.release();
    expect(openFiles().filter((name) => name.startsWith(file))).toEqual([]);
  },
);

function placeLock(locks: string, name: string): void {
  mkdirSync(locks, { recursive: true });
  writeFileSync(path.join(locks, name), '{"pid":1}');
}

function namesIn(folder: string): string[] {
  return readdirSync(folder).toSorted();
}

/** Looks for an incomplete folder before each asynchronous file operation of this thread. */
function watchCreation(live: string) {
  const halves: string[] = [];
  const look = () => {
    for (const name of readdirSync(live).filter((one) => /^\d/.test(one))) {
      const files = readdirSync(path.join(live, name));
      if (files.length < 3) halves.push([name, ...files].join(" "));
    }
  };
  mkdirSync(live, { recursive: true });
  const hook = createHook({
    init: (_id, type) => {
      if (type === "FSREQPROMISE") look();
    },
  }).enable();
  return {
    halves: () => {
      hook.disable();
      look();
      return halves;
    },
  };
}

function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}
