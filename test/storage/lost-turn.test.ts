/** A record that has lost its open turn, or part of it: reading names it, opening it for writing restores it. */
import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { chatRequest, message, turnStart } from "../../src/record/conversation/events.fixture.ts";
import { answerInquiry, listPending } from "../../src/assemble/index.ts";
import { answerBy, REST, WAITING } from "../../src/stores/open-question.fixture.ts";
import { codeOf } from "../../src/stores/record-elements.fixture.ts";
import { snapshotOf, temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";

const QUESTION = "a.q.1";
const EARLIER = [turnStart(), chatRequest("Earlier"), message("Said.")];
/** The position of the open turn's own elements in the file. */
const OPENING = '"Hello"';

/** Ways to lose part of the open turn. Each gets the bytes, and where the open turn is. */
const LOSSES = [
  { name: "an emptied file", lose: () => Buffer.alloc(0), keepsEarlier: false },
  { name: "zeros", lose: (bytes: Buffer) => Buffer.alloc(bytes.length), keepsEarlier: false },
  { name: "another text", lose: () => Buffer.from("<html>"), keepsEarlier: false },
  {
    name: "an end that was cut off before the turn's second write",
    lose: (bytes: Buffer) => bytes.subarray(0, bytes.indexOf(OPENING)),
    keepsEarlier: true,
  },
  {
    name: "a damaged event in the turn",
    lose: (bytes: Buffer) => Buffer.from(bytes.toString("utf8").replace(OPENING, '"Hello')),
    keepsEarlier: true,
  },
  {
    name: "a page of zeros in the turn",
    lose: (bytes: Buffer) =>
      Buffer.from(bytes).fill(0, bytes.indexOf(OPENING) - 90, bytes.length - 60),
    keepsEarlier: true,
  },
  {
    name: "a byte that is not UTF-8 in the turn",
    lose: (bytes: Buffer) => {
      const changed = Buffer.from(bytes);
      changed[changed.indexOf("Hello") + 1] = 0xff;
      return changed;
    },
    keepsEarlier: true,
  },
];

describe.each(LOSSES)("a record with $name", ({ lose, keepsEarlier }) => {
  test("is named by the list of what waits, together with what the user's own copy has", async () => {
    const { conversations, id, file } = await waiting(lose);
    const problems: string[] = [];
    const pending = await listPending(conversations, {
      onProblem: (problem, conversation) => problems.push(`${conversation} ${problem}`),
    });
    expect({ ids: pending.map((item) => item.id), problems }).toEqual({
      ids: [QUESTION],
      problems: [expect.stringContaining(`${id} ${file}: `) as string],
    });
  });

  test("is not changed by reading it", async () => {
    const { conversations, id, root, data } = await waiting(lose);
    const before = [snapshotOf(root), snapshotOf(data)];
    await conversations.listPending();
    await conversations.list();
    await conversations.load(id);
    expect([snapshotOf(root), snapshotOf(data)]).toEqual(before);
  });

  test("has its open turn again once it is opened for writing, and the damaged bytes beside it", async () => {
    const { conversations, id, folder, file, whole, lost } = await waiting(lose);
    const loaded = await conversations.load(id);
    await using writer = await conversations.open(id, { loaded });
    const { isOwnTurn, stream, problems = [] } = writer;
    const types = [...(keepsEarlier ? EARLIER : []), ...WAITING].map(({ type }) => type);
    const kept = readdirSync(folder).filter((name) => name.startsWith("events.torn"));
    const isNothing = lost.every((byte) => byte === 0);
    const saved = kept.map((name) => readFileSync(path.join(folder, name)));
    expect({
      isOwnTurn,
      types: stream.entries.map(({ raw }) => raw["type"]),
      isWhole: keepsEarlier ? readFileSync(file).equals(whole) : undefined,
      isReported: problems.length > 0,
      saved: saved.map((bytes) => bytes.equals(lost.subarray(-bytes.length))),
    }).toEqual({
      isOwnTurn: true,
      types,
      isWhole: keepsEarlier ? true : undefined,
      isReported: true,
      saved: isNothing ? [] : [true],
    });
  });

  test("can be answered and completed", async () => {
    const { conversations, id } = await waiting(lose);
    const { type } = await answerInquiry(conversations, QUESTION, { answer: true });
    await using writer = await conversations.open(id);
    await writer.append(...REST.slice(1));
    await writer.release();
    expect({ type, pending: await conversations.listPending() }).toEqual({
      type: "recorded",
      pending: [],
    });
  });

  test("is not copied", async () => {
    const { conversations, id } = await waiting(lose);
    expect(await codeOf(conversations.fork(id))).toBe("record_damaged");
  });
});

test("a write that was cut off is mended, and nothing is in doubt", async () => {
  const { conversations, id, folder } = await waiting((bytes) => bytes.subarray(0, -40));
  const [turn] = await conversations.listPending();
  await using writer = await conversations.open(id);
  expect({
    problem: turn?.problem,
    types: writer.stream.entries.map(({ raw }) => raw["type"]).slice(EARLIER.length),
    isOwnTurn: writer.isOwnTurn,
    names: readdirSync(folder).filter((name) => name.startsWith("events.")),
  }).toEqual({
    problem: undefined,
    types: WAITING.slice(0, -1).map(({ type }) => type),
    isOwnTurn: true,
    names: ["events.json", "events.torn"],
  });
});

test("damage before the open turn does not hide what waits, and nothing is written", async () => {
  const { conversations, id, root } = await waiting((bytes) =>
    Buffer.from(bytes.toString("utf8").replace('"Earlier"', '"Earlier')),
  );
  const before = snapshotOf(root);
  const [turn] = await conversations.listPending();
  expect({
    problem: turn?.problem,
    last: turn?.entries.at(-1)?.raw["id"],
    open: await codeOf(conversations.open(id)),
    after: snapshotOf(root),
  }).toEqual({ problem: undefined, last: QUESTION, open: "record_damaged", after: before });
});

test("an emptied record whose marker has no copy is named, and not opened for writing", async () => {
  const { conversations, id, file, userFolder } = await waiting(() => Buffer.alloc(0));
  truncateSync(path.join(userFolder, "open-turns", id), 0);
  const [turn] = await conversations.listPending();
  expect({ problem: turn?.problem, open: await codeOf(conversations.open(id)) }).toEqual({
    problem: `${file}: it is empty`,
    open: "record_damaged",
  });
});

test("a record that cannot be read is named, and its copy stays", async () => {
  const { conversations, id, file, userFolder } = await waiting((bytes) => bytes);
  const marker = path.join(userFolder, "open-turns", id);
  const copy = readFileSync(marker, "utf8");
  rmSync(file);
  mkdirSync(file);
  const [turn] = await conversations.listPending();
  expect({
    problem: turn?.problem,
    open: await codeOf(conversations.open(id)),
    isKept: readFileSync(marker, "utf8") === copy,
  }).toEqual({
    problem: `Cannot read ${file}: it is a folder.`,
    open: "read_failed",
    isKept: true,
  });
});

test("a file that is emptied while a writer has it open is restored by its next write", async () => {
  const { conversations, id, file } = await waiting((bytes) => bytes);
  await using writer = await conversations.open(id);
  truncateSync(file, 0);
  await writer.append(answerBy("Ada"));
  expect(writer.stream.entries.map(({ raw }) => raw["type"])).toEqual(
    [...WAITING, answerBy("Ada")].map(({ type }) => type),
  );
});

test("a turn with half of a surrogate pair stays the user's own", async () => {
  const { conversations } = temporaryWorkspace();
  await using writer = await conversations.create({ title: "Open" });
  await writer.append(turnStart(), chatRequest("Half: \ud83d."));
  await writer.release();
  const { isOwnTurn } = await conversations.load(writer.id);
  expect(isOwnTurn).toBe(true);
});

test("metadata that is not UTF-8 is reported, and set aside before it is replaced", async () => {
  const { conversations, id, folder } = await waiting((bytes) => bytes);
  const file = path.join(folder, "metadata.json");
  const bytes = readFileSync(file);
  bytes[bytes.indexOf("Open")] = 0xff;
  writeFileSync(file, bytes);
  const { problem } = (await conversations.find(id)) ?? {};
  await using _ = await conversations.open(id);
  expect([problem, readFileSync(path.join(folder, "metadata.torn")).equals(bytes)]).toEqual([
    "metadata.json: it is not UTF-8",
    true,
  ]);
});

/** A workspace with a conversation that waits, and has lost something since. */
async function waiting(lose: (bytes: Buffer) => Buffer) {
  const workspace = temporaryWorkspace();
  const { conversations, live } = workspace;
  await using writer = await conversations.create({ title: "Open" });
  await writer.append(...EARLIER);
  await writer.append(...WAITING.slice(0, 2));
  await writer.append(...WAITING.slice(2, -1));
  await writer.append(...WAITING.slice(-1));
  await writer.release();
  const folder = path.join(live, readdirSync(live)[0] ?? "");
  const file = path.join(folder, "events.json");
  const whole = readFileSync(file);
  const lost = lose(whole);
  writeFileSync(file, lost);
  return { ...workspace, id: writer.id, folder, file, whole, lost };
}
