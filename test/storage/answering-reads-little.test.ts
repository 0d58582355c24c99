/** An answer costs the same however long its conversation is, and however many others wait. */
import { readFileSync, statSync, utimesSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { chatRequest, message, turnStart } from "../../src/record/conversation/events.fixture.ts";
import { eventsOf, StreamEntry } from "../../src/record/conversation/index.ts";
import { answerInquiry } from "../../src/assemble/index.ts";
import { watchFiles } from "../../src/stores/file-access.fixture.ts";
import { answerBy, WAITING } from "../../src/stores/open-question.fixture.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";

/** Reading the last turn starts with a piece of this size. */
const PIECE = 1 << 16;

async function placeLong(turns: number) {
  const workspace = temporaryWorkspace();
  await using writer = await workspace.conversations.create({});
  const turn = [turnStart(), chatRequest("x".repeat(1000)), message("y".repeat(1000))];
  await writer.append(...Array.from({ length: turns }, () => turn).flat(), ...WAITING);
  return { ...workspace, id: writer.id };
}

/** As if another process had written it, so that nothing of it is in memory. */
async function placeLongByOther(turns: number) {
  const placed = await placeLong(turns);
  utimesSync(placed.files.paths(placed.id).events, 0, 0);
  return placed;
}

test("an answer reads the end of a long record, and appends to it", async () => {
  const { id, conversations, files } = await placeLong(500);
  const { events } = files.paths(id);
  const before = readFileSync(events, "utf8");
  expect(statSync(events).size).toBeGreaterThan(16 * PIECE);
  const { bytes } = watchFiles();
  const result = await conversations.answer(id, answerBy("Ana"));
  expect(result).toEqual({ type: "recorded" });
  expect(bytes.get("events.json")).toBeLessThanOrEqual(PIECE + 100);
  const after = readFileSync(events, "utf8");
  expect(after.startsWith(before.slice(0, -3))).toBe(true);
  const { stream } = await conversations.load(id);
  expect([...eventsOf(stream.entries)].at(-1)).toEqual(answerBy("Ana"));
});

test("a second answer is refused by the end of the record", async () => {
  const { id, conversations } = await placeLong(100);
  await conversations.answer(id, answerBy("Ana"));
  expect(await conversations.answer(id, answerBy("Ben"))).toMatchObject({ type: "taken" });
});

test("an answer for a turn that goes on here opens the whole record", async () => {
  const { id, conversations } = await placeLong(100);
  const result = await conversations.answer(id, answerBy("Ana"), { keepsOpen: true });
  if (result.type !== "recorded") throw new Error(`it is ${result.type}`);
  await using conversation = result.conversation;
  expect(conversation?.stream.entries).toHaveLength(3 * 100 + WAITING.length + 1);
});

test("an answered record that is open at its end knows its config and its turns without reading them", async () => {
  const { id, conversations } = await placeLongByOther(100);
  const result = await conversations.answer(id, answerBy("Ana"), { keepsOpen: true });
  if (result.type !== "recorded") throw new Error(`it is ${result.type}`);
  await using conversation = result.conversation;
  const delta = { kind: "config_delta", delta: { assistant: { name: "Ben" } } } as const;
  const entry = StreamEntry.fromConfigDelta(turnStart().timestamp, delta);
  await conversation?.appendEntries([entry]);
  const outline = await conversation?.stream.outline?.();
  expect(outline?.lastTurn).toBe(100);
  expect(outline?.deltas.map(({ content }) => content)).toEqual([delta]);
  expect(conversation?.stream.end).toBeDefined();
});

test("a conversation that is loaded at its end is opened there, and reads the rest when it is asked for", async () => {
  const { id, conversations, files } = await placeLongByOther(500);
  const { bytes } = watchFiles();
  const loaded = await conversations.load(id, { only: "end" });
  await using writer = await conversations.open(id, { loaded });
  expect(bytes.get("events.json")).toBeLessThanOrEqual(PIECE);
  expect(statSync(files.paths(id).events).size).toBeGreaterThan(16 * PIECE);
  expect(loaded.isOwnTurn).toBe(true);
  const lengths = [loaded, writer].map(({ stream }) => stream.entries.length);
  expect(lengths).toEqual([3 * 500 + WAITING.length, 3 * 500 + WAITING.length]);
});

test("an answer to an open turn that is the user's own leaves it the user's own", async () => {
  const { id, conversations } = await placeLong(100);
  await conversations.answer(id, answerBy("Ana"));
  expect((await conversations.load(id)).isOwnTurn).toBe(true);
});

test("an answer by id reads no metadata of the conversations that wait", async () => {
  const { id, conversations } = await placeLong(1);
  for (let count = 0; count < 3; count += 1) {
    await using other = await conversations.create({ title: "Other" });
    await other.append(turnStart(), chatRequest("Hello"));
  }
  const { opened } = watchFiles();
  expect(await answerInquiry(conversations, "a.q.1", { answer: true })).toEqual({
    type: "recorded",
  });
  const metadata = opened.filter((file) => path.basename(file) === "metadata.json");
  expect(new Set(metadata.map((file) => path.basename(path.dirname(file))))).toEqual(
    new Set([id.slice("jp-c".length)]),
  );
});

test("an answer by the whole id reads only the conversation that it names", async () => {
  const { id, conversations } = await placeLong(1);
  const other = await conversations.create({ title: "Other" });
  await other.append(...WAITING);
  await other.release();
  const { opened } = watchFiles();
  expect(await answerInquiry(conversations, `${id}/a.q.1`, { answer: true })).toEqual({
    type: "recorded",
  });
  expect(opened.filter((file) => file.includes(other.id.slice("jp-c".length)))).toEqual([]);
});
