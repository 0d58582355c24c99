/** A disk that fails in the middle of an append leaves no trace of the append. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { defineTool, runTurn } from "../../src/index.ts";
import type { ConversationEvent } from "../../src/record/conversation/index.ts";
import { EventFile } from "../../src/stores/fs/event-file.ts";
import {
  codeOf,
  failureOf,
  laidOut,
  numbered,
  numberedElement,
  numberedElements,
  loadPlain,
  plainStream,
  UNHEARD,
} from "../../src/stores/record-elements.fixture.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { FailingDisk } from "../support/failing-disk.ts";
import {
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

test("a disk that fills up after any number of bytes leaves the record unchanged", async () => {
  const { disk, writer, file } = await openRecord(2);
  await using _ = writer;
  const before = readFileSync(file, "utf8");
  const length = laidOut([numberedElement(2)]).length;
  const outcomes = [];
  for (let taken = 0; taken < length; taken += 1) {
    disk.failNext("write", "ENOSPC", taken);
    const failure = await failureOf(writer.append(numbered(2)));
    outcomes.push({ ...failure, text: readFileSync(file, "utf8") });
  }
  const expected = {
    code: "write_failed",
    message: `Cannot write ${file}: the disk is full.`,
    text: before,
  };
  expect(outcomes).toEqual(outcomes.map(() => expected));
});

test("a full disk leaves an empty record empty", async () => {
  const { disk, writer, file } = await openRecord(0);
  await using _ = writer;
  const texts = [];
  for (const taken of [0, 1, 2, 3, 4, 50]) {
    disk.failNext("write", "ENOSPC", taken);
    await failureOf(writer.append(numbered(0)));
    texts.push(readFileSync(file, "utf8"));
  }
  await writer.append(numbered(0));
  expect({ texts, after: readFileSync(file, "utf8") }).toEqual({
    texts: texts.map(() => "[]\n"),
    after: laidOut(numberedElements(1)),
  });
});

test("appending continues once there is space again", async () => {
  const { disk, writer, file, conversations } = await openRecord(2);
  await using _ = writer;
  disk.failNext("write", "ENOSPC", 20);
  const refused = await codeOf(writer.append(numbered(9), numbered(9), numbered(9)));
  const stream = plainStream(writer).elements;
  await writer.append(numbered(2));
  expect({
    refused,
    stream,
    text: readFileSync(file, "utf8"),
    after: plainStream(writer).elements,
    problems: (await loadPlain(conversations, writer.id)).problems,
    names: readdirSync(path.dirname(file)).toSorted(),
  }).toEqual({
    refused: "write_failed",
    stream: numberedElements(2),
    text: laidOut(numberedElements(3)),
    after: numberedElements(3),
    problems: [],
    names: ["base_config.json", "events.json", "metadata.json"],
  });
});

test("an append fails if the sync fails", async () => {
  const { disk, writer, file } = await openRecord(2);
  await using _ = writer;
  disk.failNext("datasync", "EIO");
  const failure = await failureOf(writer.append(numbered(9)));
  const text = readFileSync(file, "utf8");
  await writer.append(numbered(2));
  expect({ failure, text, after: readFileSync(file, "utf8") }).toEqual({
    failure: {
      code: "write_failed",
      message: `Cannot write ${file}: the disk reported an error.`,
    },
    text: laidOut(numberedElements(2)),
    after: laidOut(numberedElements(3)),
  });
});

test("concurrent appends share a write and its failure, and later ones succeed", async () => {
  const { disk, writer, file } = await openRecord(1);
  await using _ = writer;
  disk.failNext("write", "ENOSPC", 10);
  const codes = await Promise.all([
    codeOf(writer.append(numbered(8))),
    codeOf(writer.append(numbered(9))),
  ]);
  await writer.append(numbered(1));
  await writer.append(numbered(2));
  expect({
    codes,
    text: readFileSync(file, "utf8"),
    stream: plainStream(writer).elements,
  }).toEqual({
    codes: ["write_failed", "write_failed"],
    text: laidOut(numberedElements(3)),
    stream: numberedElements(3),
  });
});

test("an event that is stored soon shares the write of the next one, in their order", async () => {
  const { disk, writer, file, appendSoon } = await openRecord(1);
  await using _ = writer;
  let syncs = 0;
  disk.onSync = () => {
    syncs += 1;
  };
  const soon = appendSoon(numbered(1));
  const before = plainStream(writer).elements;
  await Promise.all([soon, writer.append(numbered(2))]);
  await appendSoon(numbered(3));
  expect([before, syncs, readFileSync(file, "utf8")]).toEqual([
    numberedElements(2),
    2,
    laidOut(numberedElements(4)),
  ]);
});

test("an event that could not be stored soon is gone again, with all that were appended since", async () => {
  const { disk, writer, file, appendSoon } = await openRecord(1);
  await using _ = writer;
  disk.failNext("write", "ENOSPC", 10);
  const soon = codeOf(appendSoon(numbered(8)));
  await setImmediate(); // It is being written alone.
  const codes = await Promise.all([soon, codeOf(writer.append(numbered(9)))]);
  const left = plainStream(writer).elements;
  await setImmediate();
  await writer.append(numbered(1));
  expect([codes, left, readFileSync(file, "utf8"), plainStream(writer).elements]).toEqual([
    ["write_failed", "write_failed"],
    numberedElements(1),
    laidOut(numberedElements(2)),
    numberedElements(2),
  ]);
});

test("a call does not run if the reply that makes it cannot be stored", async () => {
  const { disk, writer, file } = await openRecord(0);
  await using _ = writer;
  disk.onSync = () => {
    disk.onSync = () => undefined;
    disk.failNext("write", "ENOSPC", 10); // After the message.
  };
  let hasRun = false;
  const tool = defineTool({
    name: "pay",
    description: "Pays.",
    parameters: { type: "object" },
    run: async () => {
      hasRun = true;
      return "Paid.";
    },
  });
  const model = new ScriptedModel({ replies: [[{ type: "tool_call", id: "a", name: "pay" }]] });
  const code = await codeOf(runTurn({ conversation: writer, model, tools: [tool] }, "Pay."));
  const types = writer.stream.entries.map(({ eventType }) => eventType);
  const stored = (JSON.parse(readFileSync(file, "utf8")) as { readonly type: string }[]).length;
  expect([code, hasRun, types, stored]).toEqual([
    "write_failed",
    false,
    ["turn_start", "chat_request"],
    2,
  ]);
});

test("an event that is to be stored soon is stored before the release", async () => {
  const { writer, file, appendSoon } = await openRecord(1);
  const soon = appendSoon(numbered(1));
  await writer.release();
  await soon;
  expect(readFileSync(file, "utf8")).toBe(laidOut(numberedElements(2)));
});

test.each([
  { name: "cannot be cut off", failing: ["write", "truncate"] as const },
  { name: "cannot be overwritten", failing: ["write", "write"] as const },
  { name: "cannot be synced", failing: ["datasync", "datasync"] as const },
])("a failed append whose bytes $name does not affect the next one", async ({ failing }) => {
  const { disk, writer, file, conversations } = await openRecord(2);
  await using _ = writer;
  const [first, second] = failing;
  disk.failNext(first, "EIO", 150);
  disk.failNext(second, "EIO");
  const refused = await codeOf(writer.append(numbered(8), numbered(9)));
  const loaded = (await loadPlain(conversations, writer.id)).elements.slice(0, 2);
  await writer.append(numbered(2));
  expect({ refused, loaded, text: readFileSync(file, "utf8") }).toEqual({
    refused: "write_failed",
    loaded: numberedElements(2),
    text: laidOut(numberedElements(3)),
  });
});

test("a crash at any step of a failed append leaves a record that can be opened", async () => {
  const { disk, writer, file } = await openRecord(2);
  disk.states.length = 0;
  disk.failNext("write", "ENOSPC", 150);
  await failureOf(writer.append(numbered(8), numbered(9)));
  await writer.release();
  const opened = [];
  for (const state of disk.states) {
    const copy = path.join(temporaryFolder(), path.basename(file));
    writeFileSync(copy, state);
    const events = new EventFile(copy, UNHEARD);
    opened.push(
      await events.open().then(
        ({ entries }) => entries.slice(0, 2).map(({ raw }) => raw),
        (error: Error) => error.message,
      ),
    );
    await events.close();
  }
  expect(opened).toEqual(disk.states.map(() => numberedElements(2)));
});

test("an error on close loses nothing, and the conversation is released", async () => {
  const { disk, writer, file, conversations } = await openRecord(2);
  disk.failNext("close", "EIO");
  const released = await codeOf(writer.release());
  await using again = await conversations.open(writer.id);
  expect({ released, text: readFileSync(file, "utf8"), again: again.id }).toEqual({
    released: undefined,
    text: laidOut(numberedElements(2)),
    again: writer.id,
  });
});

test("a file that cannot be opened for writing leaves the conversation unlocked", async () => {
  const { conversations, reopen, files, locks } = temporaryWorkspace();
  const writer = await conversations.create({});
  await writer.release();
  const broken = reopen({
    openFile: () => Promise.reject(Object.assign(new Error("EROFS"), { code: "EROFS" })),
  });
  const failure = await failureOf(broken.conversations.open(writer.id));
  const left = readdirSync(locks);
  await using again = await conversations.open(writer.id);
  expect({ failure, left, again: again.id }).toEqual({
    failure: {
      code: "write_failed",
      message: `Cannot write ${files.paths(writer.id).events}: the file system is read-only.`,
    },
    left: [],
    again: writer.id,
  });
});

test("a new conversation whose events cannot be opened is removed again", async () => {
  const { conversations, live, locks } = temporaryWorkspace({
    openFile: () => Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" })),
  });
  const code = await codeOf(conversations.create({ title: "Half" }));
  expect({ code, live: readdirSync(live), locks: readdirSync(locks) }).toEqual({
    code: "write_failed",
    live: [],
    locks: [],
  });
});

/** A conversation with this many events, on a disk that fails on demand. */
async function openRecord(events: number) {
  const disk = new FailingDisk();
  const { conversations, files } = temporaryWorkspace({ openFile: disk.openFile });
  const writer = await conversations.create({});
  for (let number = 0; number < events; number += 1) await writer.append(numbered(number));
  const appendSoon = async (event: ConversationEvent) => {
    if (writer.appendSoon === undefined) throw new Error("a writer of files can");
    await writer.appendSoon(event);
  };
  return { disk, conversations, writer, file: files.paths(writer.id).events, appendSoon };
}
