/** A disk that is really full: a small file system in memory, where the machine allows mounting one. */
import { spawnSync } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ConversationEvent } from "../../src/record/conversation/index.ts";
import {
  codeOf,
  failureOf,
  laidOut,
  numbered,
  numberedElement,
  numberedElements,
  loadPlain,
} from "../../src/stores/record-elements.fixture.ts";
import { canMountDisk, mountDisk, unmountDisk } from "../support/small-disk.ts";
import {
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const canMount = canMountDisk();

/** Too long for the rest of the file's last page. */
const LONG: ConversationEvent = { ...numbered(8), extra: { filler: "x".repeat(20_000) } };

test.runIf(canMount)("an append to a full disk fails and leaves the record complete", async () => {
  const disk = smallDisk();
  const { conversations, files } = temporaryWorkspace({ inside: disk, data: temporaryFolder() });
  await using writer = await conversations.create({});
  await writer.append(numbered(0), numbered(1));
  const { events } = files.paths(writer.id);
  const free = fill(disk);
  const refused = await failureOf(writer.append(LONG));
  const text = readFileSync(events, "utf8");
  free();
  await writer.append(numbered(2));
  expect({ refused, text, after: readFileSync(events, "utf8") }).toEqual({
    refused: { code: "write_failed", message: `Cannot write ${events}: the disk is full.` },
    text: laidOut(numberedElements(2)),
    after: laidOut(numberedElements(3)),
  });
});

test.runIf(canMount)("no partial conversation is created on a full disk", async () => {
  const disk = smallDisk();
  const { conversations, live, locks } = temporaryWorkspace({
    inside: disk,
    data: temporaryFolder(),
  });
  const original = await conversations.create({});
  await original.append(numbered(0));
  await original.release();
  const free = fill(disk);
  const created = await codeOf(conversations.create({ title: "New", baseConfig: { a: 1 } }));
  const forked = await codeOf(conversations.fork(original.id));
  const names = { live: readdirSync(live), locks: readdirSync(locks) };
  free();
  await using writer = await conversations.create({ title: "Later" });
  expect({
    created,
    forked,
    names,
    later: writer.metadata.title,
    listed: (await conversations.list()).length,
  }).toEqual({
    created: "write_failed",
    forked: "write_failed",
    names: { live: ["17673230450"], locks: [] },
    later: "Later",
    listed: 2,
  });
});

test.runIf(canMount)(
  "a full disk in the user's folder does not block the conversation later",
  async () => {
    const disk = smallDisk();
    const { conversations, live } = temporaryWorkspace({ data: disk });
    const original = await conversations.create({});
    await original.append(numbered(0));
    await original.release();
    const free = fill(disk);
    const refused = [
      await codeOf(conversations.open(original.id)),
      await codeOf(conversations.create({ title: "New" })),
    ];
    const names = readdirSync(live);
    free();
    const opened = await codeOf(releaseAfter(conversations.open(original.id)));
    expect({ refused, names, opened }).toEqual({
      refused: ["write_failed", "write_failed"],
      names: ["17673230450"],
      opened: undefined,
    });
  },
);

test.runIf(canMount)(
  "a torn record on a full disk is read, and repaired once there is space",
  async () => {
    const disk = smallDisk();
    const { conversations, files } = temporaryWorkspace({ inside: disk, data: temporaryFolder() });
    const writer = await conversations.create({});
    await writer.append(numbered(0));
    await writer.release();
    const { events } = files.paths(writer.id);
    truncateSync(events, readFileSync(events).length - 3);
    appendFileSync(events, ',\n  {\n    "content": "half');
    const free = fill(disk);
    const refused = await codeOf(conversations.open(writer.id));
    const { elements } = await loadPlain(conversations, writer.id);
    free();
    await using again = await conversations.open(writer.id);
    await again.append(numbered(1));
    expect({ refused, elements, text: readFileSync(events, "utf8") }).toEqual({
      refused: "write_failed",
      elements: [numberedElement(0)],
      text: laidOut(numberedElements(2)),
    });
  },
);

async function releaseAfter(opening: Promise<AsyncDisposable>): Promise<void> {
  await using _ = await opening;
}

/** A file system of 256 KiB, for one test. */
function smallDisk(): string {
  const folder = temporaryFolder();
  mountDisk(folder);
  onTestFinished(() => unmountDisk(folder));
  return folder;
}

/** Fills the disk, and returns a function that frees the space again. */
/** Twice, with a pause: the space of a file that was just closed may become free only later. */
function fill(disk: string): () => void {
  const filler = path.join(disk, "filler");
  fillUp(filler);
  spawnSync("sleep", ["0.1"]);
  fillUp(filler);
  return () => rmSync(filler);
}

function fillUp(filler: string): void {
  try {
    for (;;) appendFileSync(filler, "x".repeat(4096));
  } catch {
    // It is full.
  }
}
