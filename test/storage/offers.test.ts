/** What incomplete turns and answers from elsewhere look like on disk, and what processes leave behind. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import {
  type AnswerEvent,
  type ConversationEvent,
  eventsOf,
  type OfferedAnswer,
  StreamEntry,
} from "../../src/record/conversation/index.ts";
import { knownWorkspaces } from "../../src/stores/index.ts";
import { answerBy, REST, WAITING } from "../../src/stores/open-question.fixture.ts";
import { laidOut } from "../../src/stores/record-elements.fixture.ts";
import {
  snapshotOf,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import { yieldToEventLoop } from "../../src/util/index.ts";
import { FailingDisk } from "../support/failing-disk.ts";
import { ChildProgram } from "../support/child-program.ts";

async function place(...events: readonly ConversationEvent[]) {
  const workspace = temporaryWorkspace();
  await using writer = await workspace.conversations.create({ title: "Asked" });
  await writer.append(...events);
  return { ...workspace, id: writer.id };
}

function markersIn({ userFolder }: TemporaryWorkspace): readonly string[] {
  return readdirSync(path.join(userFolder, "open-turns"));
}

function offersIn({ userFolder }: TemporaryWorkspace): string {
  const folder = path.join(userFolder, "offers");
  mkdirSync(folder, { recursive: true });
  return folder;
}

function offerText(event: AnswerEvent, { root }: TemporaryWorkspace): string {
  return JSON.stringify({ event: StreamEntry.fromEvent(event).raw, workspace: root });
}

test("only conversations with a marker are read for incomplete turns", async () => {
  const workspace = await place(...WAITING);
  const marker = path.join(workspace.userFolder, "open-turns", workspace.id);
  const listed = await workspace.conversations.listPending();
  rmSync(marker);
  expect([listed.length, await workspace.conversations.listPending()]).toEqual([1, []]);
});

test("a marker that is wrong is ignored by readers, and removed by the next writer", async () => {
  const workspace = await place(...WAITING);
  const { id, userFolder, root, data, conversations } = workspace;
  const marker = path.join(userFolder, "open-turns", id);
  const writer = await conversations.open(id);
  await writer.append(...REST);
  const left = readFileSync(marker); // As if its process was killed now.
  await writer.release();
  writeFileSync(marker, left);
  writeFileSync(path.join(userFolder, "open-turns", "jp-c1"), "\n1-deleted\n");
  const before = snapshotOf(root, data);
  const pending = await conversations.listPending();
  const [summary] = await conversations.list();
  const after = snapshotOf(root, data);
  await (await conversations.open(id)).release();
  expect({ pending, openTurn: summary?.openTurn, isUnchanged: after, left: markersIn(workspace) })
    // The other has no conversation, so no writer comes by.
    .toEqual({ pending: [], openTurn: undefined, isUnchanged: before, left: ["jp-c1"] });
});

test("markers are in a folder for the user alone", async () => {
  counters("T-USER-1");
  const { userFolder } = await place(...WAITING);
  expect(statSync(path.join(userFolder, "open-turns")).mode & 0o777).toBe(0o700);
});

test("a marker that leads elsewhere is not followed", async () => {
  const workspace = await place(...WAITING);
  const { id, userFolder, conversations } = workspace;
  writeFileSync(path.join(userFolder, "open-turns", id), `\n../../../etc/${id}\n`);
  expect((await conversations.listPending()).map((turn) => turn.id)).toEqual([id]);
});

test("a turn that someone has changed on disk is not the user's own", async () => {
  counters("T-WORK-15");
  const { id, conversations, files } = await place(...WAITING);
  const { events } = files.paths(id);
  const before = readFileSync(events, "utf8");
  const isOwn = async () => {
    const { isOwnTurn } = await conversations.load(id);
    await using writer = await conversations.open(id);
    return [isOwnTurn, writer.isOwnTurn];
  };
  const untouched = await isOwn();
  writeFileSync(events, before.replace('"Hello"', '"Hello there"'));
  const changed = await isOwn();
  await conversations.answer(id, answerBy("Ana"));
  expect({ untouched, changed, answered: await isOwn() }).toEqual({
    untouched: [true, true],
    changed: [false, false],
    answered: [false, false],
  });
});

test("a turn that someone changes while it is open is no longer the user's own", async () => {
  const { id, conversations, files } = await place(...WAITING);
  await using writer = await conversations.open(id);
  const { events } = files.paths(id);
  writeFileSync(events, readFileSync(events, "utf8").replace('"Hello"', '"Hello there"'));
  await writer.append(answerBy("Ana"));
  expect(writer.isOwnTurn).toBe(false);
});

test("a turn that was killed at any write is the user's own", async () => {
  const { id, userFolder, conversations, files } = await place(...WAITING.slice(0, 2));
  const marker = path.join(userFolder, "open-turns", id);
  const { events } = files.paths(id);
  const owned: boolean[] = [];
  const append = async (event: ConversationEvent) => {
    await using writer = await conversations.open(id);
    await writer.append(event);
  };
  for (const event of WAITING.slice(2)) {
    const before = readFileSync(events);
    await append(event);
    writeFileSync(events, before); // The marker was written, the record was not.
    owned.push((await conversations.load(id)).isOwnTurn);
    await append(event);
    owned.push((await conversations.load(id)).isOwnTurn);
  }
  rmSync(marker);
  expect([owned, (await conversations.load(id)).isOwnTurn]).toEqual([
    [true, true, true, true, true, true],
    false,
  ]);
});

test("a turn whose marker was torn by a kill is the user's own, and stays it", async () => {
  const { id, userFolder, conversations } = await place(...WAITING.slice(0, 2));
  const marker = path.join(userFolder, "open-turns", id);
  const owned: boolean[] = [];
  for (const event of WAITING.slice(2)) {
    appendFileSync(marker, '{"type":"tool_call_re');
    await using writer = await conversations.open(id);
    await writer.append(event);
    owned.push(writer.isOwnTurn, (await conversations.load(id)).isOwnTurn);
  }
  expect(owned).toEqual([true, true, true, true, true, true]);
});

test("a turn whose last write is only partly in the record is the user's own", async () => {
  const { id, conversations, files } = await place(...WAITING.slice(0, 2));
  const { events } = files.paths(id);
  const before = JSON.parse(readFileSync(events, "utf8")) as unknown[];
  const append = async (...added: readonly ConversationEvent[]) => {
    await using writer = await conversations.open(id);
    await writer.append(...added);
    return writer.isOwnTurn;
  };
  await append(...WAITING.slice(2));
  const after = JSON.parse(readFileSync(events, "utf8")) as unknown[];
  writeFileSync(events, laidOut(after.slice(0, before.length + 1)));
  const isOwn = [await append(...WAITING.slice(3)), (await conversations.load(id)).isOwnTurn];
  expect([isOwn, readdirSync(path.dirname(events)).length]).toEqual([[true, true], 4]);
});

test("a clone with the same conversation neither has the user's own turn nor removes its marker", async () => {
  counters("T-WORK-15");
  const one = await place(...WAITING);
  const { events } = one.files.paths(one.id);
  const other = temporaryWorkspace({ data: one.data });
  const copy = path.join(other.live, path.basename(path.dirname(events)));
  cpSync(path.dirname(events), copy, { recursive: true });
  writeFileSync(
    path.join(copy, "events.json"),
    readFileSync(events, "utf8").replace('"Hello"', '"Hello there"'),
  );
  await using writer = await other.conversations.open(one.id);
  const isForeign = !writer.isOwnTurn;
  await writer.append(answerBy("Ana"));
  await writer.release();
  expect([isForeign, (await one.conversations.load(one.id)).isOwnTurn]).toEqual([true, true]);
});

test("the name of a conversation's folder cannot make its turn the user's own", async () => {
  counters("T-WORK-15");
  const { id, conversations, files, userFolder } = await place(...WAITING.slice(0, 2));
  const { folder, events } = files.paths(id);
  rmSync(path.join(userFolder, "open-turns", id));
  const elements = JSON.parse(readFileSync(events, "utf8")) as { readonly type?: string }[];
  const start = elements.findLastIndex(({ type }) => type === "turn_start");
  const turn = elements.slice(start).map((element) => JSON.stringify(element));
  renameSync(folder, `${folder}\n${turn.join("\n")}\n\n`);
  await using first = await conversations.open(id);
  await first.release();
  await using second = await conversations.open(id);
  expect([second.isOwnTurn, (await conversations.listPending()).length]).toEqual([false, 1]);
});

test("an offer is a file for the user alone, and gone once it is decided", async () => {
  const workspace = await place(...WAITING);
  const folder = path.join(workspace.userFolder, "offers");
  const writer = await workspace.conversations.open(workspace.id);
  const result = workspace.conversations.answer(workspace.id, answerBy("Ana"));
  await expect.poll(() => readdirSync(folder).length).toBe(1);
  const [name = ""] = readdirSync(folder);
  const { mode } = statSync(path.join(folder, name));
  const text = readFileSync(path.join(folder, name), "utf8");
  await writer.release();
  expect({
    name,
    modes: [statSync(folder).mode & 0o777, mode & 0o777],
    text,
    result: await result,
    left: readdirSync(folder),
  }).toEqual({
    name: expect.stringMatching(
      new RegExp(`^${workspace.id}\\.[0-9a-f-]{36}\\.offered\\.json$`),
    ) as string,
    modes: [0o700, 0o600],
    text: offerText(answerBy("Ana"), workspace),
    result: { type: "recorded" },
    left: [],
  });
});

test.each(["offered", "claimed"])(
  "what killed processes left as %s is passed on to the next turn",
  async (state) => {
    const workspace = await place(...WAITING);
    const folder = offersIn(workspace);
    writeFileSync(
      path.join(folder, `${workspace.id}.x.${state}.json`),
      offerText(answerBy("Ana"), workspace),
    );
    writeFileSync(
      path.join(folder, `jp-c1.x.${state}.json`),
      offerText(answerBy("Ben"), workspace),
    );
    await using writer = await workspace.conversations.open(workspace.id);
    const { promise, resolve } = Promise.withResolvers<OfferedAnswer>();
    writer.onAnswer(async (offered) => {
      resolve(offered);
      return { type: "not_pending" };
    });
    expect(await promise).toEqual({ event: answerBy("Ana") });
    await expect.poll(() => readdirSync(folder)).toEqual([`jp-c1.x.${state}.json`]);
  },
);

test.each([
  ["no JSON", "{"],
  ["no answer", "{}"],
  [
    "another event",
    JSON.stringify({ event: { type: "turn_start", timestamp: "2026-01-02 03:04:05.0" } }),
  ],
  ["an event without its fields", JSON.stringify({ event: { type: "inquiry_response" } })],
])("a file with %s is refused, and no one hears of it", async (_, text) => {
  const workspace = await place(...WAITING);
  const folder = offersIn(workspace);
  const name = `${workspace.id}.x`;
  writeFileSync(path.join(folder, `${name}.offered.json`), text);
  await using writer = await workspace.conversations.open(workspace.id);
  const offered: unknown[] = [];
  writer.onAnswer(async (offer) => {
    offered.push(offer);
    return undefined;
  });
  await expect.poll(() => readdirSync(folder)).toEqual([`${name}.refused.json`]);
  expect([offered, readFileSync(path.join(folder, `${name}.refused.json`), "utf8")]).toEqual([
    [],
    expect.stringContaining('{"code":"unreadable","reason":"it cannot be read: '),
  ]);
});

test("a link in place of an offer is not followed", async () => {
  const workspace = await place(...WAITING);
  const folder = offersIn(workspace);
  const target = path.join(workspace.data, "private.json");
  writeFileSync(target, offerText(answerBy("Ana"), workspace));
  symlinkSync(target, path.join(folder, `${workspace.id}.x.offered.json`));
  await using writer = await workspace.conversations.open(workspace.id);
  const offered: unknown[] = [];
  writer.onAnswer(async (offer) => {
    offered.push(offer);
    return undefined;
  });
  await expect.poll(() => readdirSync(folder)).toEqual([`${workspace.id}.x.refused.json`]);
  expect([offered, existsSync(target)]).toEqual([[], true]);
});

test("refusals that no one has read are removed by a later turn", async () => {
  const workspace = await place(...WAITING);
  const folder = offersIn(workspace);
  const [old, recent] = ["old", "recent"].map((name) =>
    path.join(folder, `${workspace.id}.${name}.refused.json`),
  );
  for (const file of [old, recent]) writeFileSync(file ?? "", "{}");
  utimesSync(old ?? "", 0, 0);
  await using writer = await workspace.conversations.open(workspace.id);
  writer.onAnswer(async () => undefined);
  expect(readdirSync(folder)).toEqual([path.basename(recent ?? "")]);
});

test("an answer to a process that is killed before it decides is recorded by the one who gave it", async () => {
  const workspace = await place(...WAITING);
  const { root, data, id, conversations } = workspace;
  const program = ChildProgram.ofTests("hold-conversation-program.ts", root, data, id);
  await program.nextLine();
  program.tell("open");
  await program.nextLine();
  const [live] = await conversations.listPending();
  const result = conversations.answer(id, answerBy("Ana"));
  await expect.poll(() => readdirSync(offersIn(workspace)).length).toBe(1);
  await program.kill();
  expect([live?.isLive, await result]).toEqual([true, { type: "recorded" }]);
  const [left] = await conversations.listPending();
  expect([left?.isLive, [...eventsOf(left?.entries ?? [])].at(-1)]).toEqual([
    false,
    answerBy("Ana"),
  ]);
});

test("the user's data folder knows the workspaces in which something was stored", async () => {
  const { root, environment } = await place(...WAITING);
  const known = knownWorkspaces(environment);
  rmSync(root, { recursive: true });
  expect([known, knownWorkspaces(environment)]).toEqual([[root], []]);
});

test("an answer to a question that is not synced yet waits for that", async () => {
  const disk = new FailingDisk();
  const workspace = temporaryWorkspace({ openFile: disk.openFile });
  await using writer = await workspace.conversations.create({});
  const seen: number[] = [];
  writer.onAnswer(async ({ event }) => {
    seen.push(writer.stream.entries.length);
    await writer.append(event);
    return { type: "recorded" };
  });
  const [syncing, synced] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  disk.onSync = () => {
    syncing.resolve();
    return synced.promise;
  };
  const asking = writer.append(...WAITING);
  await syncing.promise;
  const answering = workspace.reopen().conversations.answer(writer.id, answerBy("Ana"));
  while (!readdirSync(offersIn(workspace)).some((name) => name.includes(".claimed."))) {
    await yieldToEventLoop();
  }
  synced.resolve();
  await asking;
  expect([await answering, seen]).toEqual([{ type: "recorded" }, [WAITING.length]]);
});
