/** What a killed process has left is no conversation, and is gone when somebody next writes. */
import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { conversationIdFromNumber } from "../../src/conversation/index.ts";
import { acquireLock } from "../../src/storage/fs/lock.ts";
import { laidOut, METADATA_TEXT, numberedElements } from "../support/record-elements.ts";
import {
  placeConversation,
  temporaryFolder,
  temporaryWorkspace,
} from "../support/temporary-workspace.ts";

const EVENTS = laidOut(numberedElements(1));
const ID = conversationIdFromNumber(17_000_000_000);
const OWNER = { pid: process.pid, acquiredAt: "2026-01-02T03:04:05.000Z" };

test("a conversation is there as a whole or not at all", async () => {
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

test("a creation that was cut short is cleared away by the next one", async () => {
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

test("a creation that is under way is left alone by another one", async () => {
  const { conversations, live, locks } = temporaryWorkspace();
  const partial = path.join(live, ".17000000000.tmp");
  placeConversation(partial, { metadata: METADATA_TEXT });
  const lock = await acquireLock(locks, ID, { owner: OWNER });
  await using _ = await conversations.create({});
  lock.release();
  expect(namesIn(partial)).toEqual(["metadata.json"]);
});

test("the lock of a conversation that is there, and of no process, stays until it is wanted", async () => {
  const { conversations, live, locks } = temporaryWorkspace();
  placeConversation(path.join(live, "17000000000"), { events: EVENTS, metadata: METADATA_TEXT });
  placeLock(locks, "jp-c17000000000.lock");
  await (await conversations.create({})).release();
  const before = readdirSync(locks);
  await (await conversations.open(ID)).release();
  expect([before, readdirSync(locks)]).toEqual([["jp-c17000000000.lock"], []]);
});

test("temporary files beside a record, and a copy that was not finished, go when it is opened", async () => {
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
  "a lock whose file cannot be deleted is given back all the same",
  async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "jp-c17000000000.lock");
    const lock = await acquireLock(folder, ID, { owner: OWNER });
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

/** Looks, as often as this process lets it, whether a folder is there that is not complete. */
function watchCreation(live: string) {
  const halves: string[] = [];
  const look = () => {
    for (const name of readdirSync(live).filter((one) => /^\d/.test(one))) {
      const files = readdirSync(path.join(live, name));
      if (files.length < 3) halves.push([name, ...files].join(" "));
    }
  };
  mkdirSync(live, { recursive: true });
  const timer = setInterval(look, 0);
  return {
    halves: () => {
      clearInterval(timer);
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
