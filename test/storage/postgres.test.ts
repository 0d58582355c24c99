/** What only a store in PostgreSQL does. What every store does is in `stores.test.ts`. */
import { execFile } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { at } from "../../src/record/conversation/events.fixture.ts";
import {
  type InquiryId,
  StreamEntry,
  timestampFromDate,
} from "../../src/record/conversation/index.ts";
import { createDesk } from "../../src/surfaces/desk/index.ts";
import type { Person } from "../../src/settings/people/index.ts";
import { runTurn } from "../../src/assemble/index.ts";
import { FakeClock, ScriptedModel } from "../../src/testing/index.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import type { TurnKeys } from "../../src/stores/postgres/store-options.ts";
import { publicKeyText } from "../../src/stores/postgres/turn-keys.ts";
import { migrate, SCHEMA_VERSION } from "../../src/stores/postgres/schema.ts";
import { answerBy, REST, WAITING } from "../../src/stores/open-question.fixture.ts";
import { codeOf, numbered } from "../../src/stores/record-elements.fixture.ts";
import { exportEvidence, verifyEvidence } from "../../src/proof/index.ts";
import { generateSigner } from "../../src/proof/machine-key.ts";
import { systemClock } from "../../src/util/index.ts";
import { compareCreation, copyStore } from "../../src/stores/index.ts";
import {
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import { emptyDatabase, migratedDatabase, PostgresServer } from "../support/postgres.ts";
import { Relay } from "../support/postgres-relay.ts";

/** A store, and the same one as another process would have it open. */
async function openStores() {
  const url = await migratedDatabase();
  const workspace = crypto.randomUUID();
  const options = { url, workspace, pid: process.pid };
  const [store, other] = [new PostgresStore(options), new PostgresStore(options)];
  const database = new Database(url);
  onTestFinished(async () => {
    for (const each of [store, other, database]) await each.close();
  });
  /** As if the process that has it had not been heard of for too long. */
  const expire = async () => {
    const text = `update jp.conversations c set lease_until = now() - interval '1 second'
      from jp.workspaces w where w.key = c.workspace and w.name = $1`;
    await database.query({ text, values: [workspace] });
  };
  /** Of the only conversation. */
  const select = async (columns: string) => {
    const text = `select ${columns} from jp.conversations c join jp.workspaces w on w.key = c.workspace
      left join jp.events e on e.conversation = c.key where w.name = $1 order by seq desc limit 1`;
    return (await database.query({ text, values: [workspace] }))[0];
  };
  /** Changes what only this test has. */
  const change = async (text: string) => {
    const ours = `e.conversation in (
      select c.key from jp.conversations c join jp.workspaces w on w.key = c.workspace where w.name = $1)`;
    await database.query({ text: text.replace("OURS", ours), values: [workspace] });
  };
  return { store, other, expire, select, change };
}

/** A store whose connections can be lost, with an open question that `here` has asked, and both ends of an answer to it. */
async function openLosingStores(onMessage: Parameters<typeof Relay.start>[1]) {
  const url = await migratedDatabase();
  const workspace = crypto.randomUUID();
  const relay = await Relay.start(url, onMessage);
  const here = new PostgresStore({ url, workspace, pid: process.pid });
  const losing = new PostgresStore({ url: relay.url, workspace, pid: process.pid });
  onTestFinished(async () => {
    for (const each of [here, losing]) await each.close();
    await relay[Symbol.asyncDispose]();
  });
  const conversation = await here.create({});
  await conversation.append(...WAITING);
  await conversation.release();
  return { here, losing, id: conversation.id };
}

test("an answer counts although the store's confirmation was lost, and someone has gone on with it since", async () => {
  let isLost = false;
  const { here, losing, id } = await openLosingStores(async (_message, text) => {
    if (isLost) await reopened;
    if (isLost || !text.includes("commit")) return true;
    isLost = true;
    resolve();
    return "unanswered";
  });
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const reopen = async () => {
    await lost;
    for (;;) {
      const writer = await here.open(id);
      if (writer.stream.entries.length > WAITING.length) return writer;
      await writer.release();
    }
  };
  const reopened = reopen();
  expect(await losing.answer(id, answerBy("Ada"))).toEqual({ type: "recorded" });
  await (await reopened).release();
});

test("events that wait when their conversation is released are stored by the statement that releases it", async () => {
  let sent: string[] = [];
  const { here, losing, id } = await openLosingStores((_message, text) => {
    sent.push(text);
    return true;
  });
  const writer = await losing.open(id, { only: "end" });
  sent = [];
  const soon = writer.appendSoon(numbered(1));
  await Promise.all([writer.release(), soon]);
  expect(sent.filter((text) => /jp_append|jp_release/.test(text))).toHaveLength(1);
  await using next = await here.open(id);
  expect(next.stream.entries.at(-1)?.event).toEqual(numbered(1));
});

test("events are stored although the confirmation of their release was lost, and someone has gone on since", async () => {
  let isLost = false;
  const { here, losing, id } = await openLosingStores(async (_message, text) => {
    if (isLost) await reopened;
    if (isLost || !text.includes("jp_append_release")) return true;
    isLost = true;
    resolve();
    return "unanswered";
  });
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const reopen = async () => {
    await lost;
    for (;;) {
      const writer = await here.open(id).catch(() => undefined);
      if (writer !== undefined) return writer;
    }
  };
  const reopened = reopen();
  const writer = await losing.open(id, { only: "end" });
  const soon = writer.appendSoon(numbered(1));
  await Promise.all([writer.release(), soon]);
  await using next = await reopened;
  expect(next.stream.entries.at(-1)?.event).toEqual(numbered(1));
});

test("events that wait are refused, and nothing is written, once another process has the conversation", async () => {
  const { store, other, expire } = await openStores();
  const writer = await store.create({});
  await expire();
  await using taken = await other.open(writer.id);
  const soon = writer.appendSoon(numbered(1));
  const [refused] = await Promise.all([codeOf(soon), writer.release()]);
  expect([refused, taken.stream.entries.length]).toEqual(["write_failed", 0]);
  await taken.append(numbered(2));
  expect((await other.load(writer.id)).stream.entries).toHaveLength(1);
});

test("an answer that someone else gave at the same moment, in the same words, is theirs", async () => {
  const answered = Promise.withResolvers<unknown>();
  let isLost = false;
  const { here, losing, id } = await openLosingStores(async (_message, text) => {
    if (isLost) await answered.promise;
    if (isLost || !text.includes("commit")) return true;
    isLost = true;
    return false;
  });
  const losingAnswer = losing.answer(id, answerBy("Ada"));
  answered.resolve(await here.answer(id, answerBy("Ada")));
  expect([await answered.promise, (await losingAnswer).type]).toEqual([
    { type: "recorded" },
    "taken",
  ]);
});

test("an answer that comes through the database is not noted as given on this machine", async () => {
  const url = await migratedDatabase();
  const options = { url, workspace: crypto.randomUUID(), pid: process.pid };
  const root = temporaryFolder();
  const headsFile = path.join(root, "heads.jsonl");
  const here = new PostgresStore({ ...options, headsFile, root });
  const elsewhere = new PostgresStore(options);
  onTestFinished(async () => {
    for (const each of [here, elsewhere]) await each.close();
  });
  await using writer = await here.create({});
  await writer.append(...WAITING);
  using _ = writer.onAnswer(async ({ event }) => {
    await writer.append(event);
    return { type: "recorded" };
  });
  await elsewhere.answer(writer.id, answerBy("Bo"));
  await writer.append(...REST.slice(1));
  await writer.release();
  const [noted] = readFileSync(headsFile, "utf8").trim().split("\n");
  expect(JSON.parse(noted ?? "")).toMatchObject({ folder: root, from: 1, length: 4, except: [2] });
});

test("a writer that was gone for too long is taken over, and writes nothing more", async () => {
  const { store, other, expire } = await openStores();
  await using frozen = await store.create({ title: "Before" });
  await frozen.append(numbered(0));
  await expire();
  await using next = await other.open(frozen.id);
  await next.append(numbered(1));
  const appended = codeOf(frozen.append(numbered(2)));
  const renamed = codeOf(frozen.updateMetadata((metadata) => ({ ...metadata, title: "After" })));
  expect([await appended, await renamed]).toEqual(["write_failed", "write_failed"]);
  await expect(frozen.append(numbered(3))).rejects.toThrow("another process has taken it over");
  await frozen.release();
  expect(await codeOf(store.open(next.id))).toBe("conversation_locked");
  await next.append(numbered(4));
  const { entries } = (await other.load(next.id)).stream;
  expect(entries.map(({ raw }) => raw["content"])).toEqual(["number 0", "number 1", "number 4"]);
  expect((await other.find(next.id))?.metadata?.title).toBe("Before");
});

test("a writer that was gone while an answer was recorded changes nothing more, not even a title", async () => {
  const { store, other, expire } = await openStores();
  const frozen = await store.create({ title: "Before" });
  await frozen.append(...WAITING);
  await expire();
  expect(await other.answer(frozen.id, answerBy("Ana"))).toMatchObject({ type: "recorded" });
  const renamed = frozen.updateMetadata((metadata) => ({ ...metadata, title: "After" }));
  expect(await codeOf(renamed)).toBe("write_failed");
  expect(await codeOf(frozen.append(numbered(0)))).toBe("write_failed");
  await frozen.release();
  expect((await other.find(frozen.id))?.metadata?.title).toBe("Before");
});

test("whoever answers through the database learns why the asking process does not take it, and the next answer counts", async () => {
  const { store, other } = await openStores();
  await using writer = await store.create({});
  await writer.append(...WAITING);
  const refusal = { type: "refused", code: "wrong_person", reason: "only Ada" } as const;
  using _ = writer.onAnswer(async ({ event }) => {
    if (event.type !== "inquiry_response" || event.outcome !== "answered") return refusal;
    if (event.answer === false) return refusal;
    await writer.append(event);
    return { type: "recorded" };
  });
  expect(await other.answer(writer.id, answerBy("Bo", false))).toEqual(refusal);
  expect(await other.answer(writer.id, answerBy("Bo"))).toMatchObject({ type: "recorded" });
});

test("changes of a title that are still on their way are written before the conversation is released", async () => {
  const { store, other } = await openStores();
  const writer = await store.create({ title: "Before" });
  const changes = ["One", "Two", "Three"].map((title) =>
    writer.updateMetadata((metadata) => ({ ...metadata, title })),
  );
  await writer.release();
  expect((await Promise.allSettled(changes)).map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "fulfilled",
  ]);
  expect((await other.find(writer.id))?.metadata?.title).toBe("Three");
});

test("a writer whose lease has run out, but that no one has taken over, goes on", async () => {
  const { store, expire } = await openStores();
  await using writer = await store.create({});
  await expire();
  await writer.append(numbered(0));
  expect(writer.stream.entries.length).toBe(1);
});

test("turns go by the clock of the store, not by that of the machine", async () => {
  const clock = new FakeClock();
  const store = new PostgresStore({
    url: await migratedDatabase(),
    workspace: crypto.randomUUID(),
    pid: 1,
    clock,
  });
  onTestFinished(() => store.close());
  await using conversation = await store.create({});
  const model = new ScriptedModel({ replies: ["Hi."] });
  const { events } = await runTurn({ conversation, model }, "Hello?");
  const now = timestampFromDate(clock.now());
  expect(events.map(({ timestamp }) => timestamp)).toEqual(events.map(() => now));
});

test("entries are stored as text, key by key as they were written", async () => {
  const { store, select } = await openStores();
  await using writer = await store.create({});
  const raw = { type: "from_another_version", b: 1, a: 1, 2: "\u0000é", 1: 1e21 };
  await writer.appendEntries([StreamEntry.fromJson(raw)]);
  expect(await select("entry")).toEqual({ entry: JSON.stringify(raw) });
});

test("what can go on is known without reading records", async () => {
  const { store, select } = await openStores();
  await using writer = await store.create({});
  const states: unknown[] = [];
  for (const event of WAITING) {
    await writer.append(event);
    states.push(await select("open_turn, ready_at is not null as is_ready"));
  }
  expect(states).toEqual([
    { open_turn: null, is_ready: false },
    { open_turn: 0, is_ready: true },
    { open_turn: 0, is_ready: true },
    { open_turn: 0, is_ready: false },
    { open_turn: 0, is_ready: false },
  ]);
});

/** The same store on three machines, each with a key of its own. The second accepts the first, and no one the third. */
async function openMachines() {
  const url = await migratedDatabase();
  const workspace = crypto.randomUUID();
  const pairs = [1, 2, 3].map(() => generateKeyPairSync("ed25519"));
  const [first] = pairs.map(({ publicKey }) => publicKeyText(publicKey));
  const [one, two, three] = pairs.map(({ privateKey }, index) => {
    const accepted = index === 1 && first !== undefined ? [first] : [];
    return new PostgresStore({
      url,
      workspace,
      pid: 1,
      keys: async () => ({ privateKey, accepted }),
    });
  });
  const database = new Database(url);
  if (one === undefined || two === undefined || three === undefined) throw new Error("none");
  onTestFinished(async () => {
    for (const each of [one, two, three, database]) await each.close();
  });
  const change = async (text: string) => database.query({ text, values: [workspace] });
  return { one, two, three, change };
}

test("a turn is the user's own on machines that accept the key of its last writer", async () => {
  const { one, two, three } = await openMachines();
  await using writer = await one.create({});
  await writer.append(...WAITING);
  const { id } = writer;
  const isOwn = () =>
    Promise.all([one, two, three].map(async (each) => (await each.load(id)).isOwnTurn));
  const found = [await isOwn()];
  await writer.release();
  await two.answer(id, answerBy("Ana"));
  found.push(await isOwn());
  await using next = await three.open(id);
  await next.append({ type: "turn_start", timestamp: at(1) });
  found.push(await isOwn());
  expect(found).toEqual([
    [true, true, false],
    [false, true, false],
    [false, false, true],
  ]);
});

test("a key that is accepted for other tenants signs nothing of this one, and one without tenants counts for the store's", async () => {
  counters("T-TENANT-5");
  const url = await migratedDatabase();
  const workspace = crypto.randomUUID();
  const [mine, other] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
  const key = publicKeyText(other.publicKey);
  const open = (privateKey: KeyObject, accepted: TurnKeys["accepted"] = []) => {
    const keys = async () => ({ privateKey, accepted });
    const store = new PostgresStore({ url, tenant: "acme", workspace, pid: 1, keys });
    onTestFinished(() => store.close());
    return store;
  };
  await using writer = await open(other.privateKey).create({});
  await writer.append(...WAITING);
  const found: boolean[] = [];
  for (const tenants of [undefined, ["umbrella", "acme"], ["evil", "Acme", "*"]]) {
    const store = open(mine.privateKey, [tenants === undefined ? key : { key, tenants }]);
    found.push((await store.load(writer.id)).isOwnTurn);
  }
  expect(found).toEqual([true, true, false]);
});

test("a turn that someone has changed in the database is not the user's own", async () => {
  const { one, change } = await openMachines();
  await using writer = await one.create({});
  await writer.append(...WAITING);
  const ours = `e.conversation in (
    select c.key from jp.conversations c join jp.workspaces w on w.key = c.workspace where w.name = $1)`;
  const states = [(await one.load(writer.id)).isOwnTurn];
  for (const text of [
    `update jp.events e set entry = replace(entry, 'Hello', 'Hallo') where ${ours}`,
    `update jp.events e set entry = replace(entry, 'Hallo', 'Hello') where ${ours}`,
  ]) {
    await change(text);
    states.push((await one.load(writer.id)).isOwnTurn);
  }
  expect(states).toEqual([true, false, true]);
});

test("a record that someone has damaged by hand is listed with its problem, and hides no other", async () => {
  const { store, change } = await openStores();
  await (await store.create({ title: "Fine" })).release();
  const writer = await store.create({ title: "Damaged" });
  await writer.append(...WAITING);
  await writer.release();
  const { id } = writer;
  await change("update jp.events e set entry = '{' where seq = 2 and OURS");
  const listed = (await store.list()).toSorted(compareCreation);
  expect(listed.map(({ metadata, problem }) => [metadata?.title, problem])).toEqual([
    ["Fine", undefined],
    ["Damaged", "Entry 3 of the 5 that were read is not JSON."],
  ]);
  expect((await store.listPending()).map(({ problem }) => problem)).toHaveLength(1);
  expect([
    await codeOf(store.load(id)),
    await codeOf(store.open(id)),
    await codeOf(store.open(id)),
  ]).toEqual(["read_failed", "read_failed", "read_failed"]);
  await change("delete from jp.events e where seq = 2 and OURS");
  await expect(store.load(id)).rejects.toThrow("The record has 4 entries instead of 5.");
});

test("conversations of other tenants and workspaces are not found", async () => {
  const url = await migratedDatabase();
  const names = [crypto.randomUUID(), crypto.randomUUID()];
  const stores = [
    { tenant: names[0], workspace: names[0] },
    { tenant: names[0], workspace: names[1] },
    { tenant: names[1], workspace: names[0] },
  ].map(
    (place) =>
      new PostgresStore({ url, pid: process.pid, ...place } as { url: string; pid: number }),
  );
  onTestFinished(async () => {
    for (const store of stores) await store.close();
  });
  const [own, ...others] = stores;
  await using writer = await own?.create({});
  const id = writer?.id;
  if (id === undefined) throw new Error("there is no conversation");
  for (const store of others) {
    expect([await store.find(id), await store.list(), await codeOf(store.open(id))]).toEqual([
      undefined,
      [],
      "conversation_not_found",
    ]);
  }
});

test("decisions are chained in the same statement, whoever records them, and can be proven", async () => {
  const { store, other } = await openStores();
  const writer = await store.create({});
  await writer.append(...WAITING);
  await writer.release();
  await other.answer(writer.id, answerBy("Ana"));
  await using next = await store.open(writer.id);
  await next.append(...REST.slice(1));
  const copy = await store.fork(writer.id);
  const signer = generateSigner();
  const lines: string[] = [];
  const summary = await exportEvidence(
    { store, conversations: [writer.id, copy], signer, clock: systemClock, tool: "test" },
    (line) => void lines.push(line),
  );
  const pieces = lines.map((line) => Buffer.from(line));
  const { problems } = await verifyEvidence(pieces, { expectedKey: signer.key.id });
  // The chain of a copy starts with the head of the original, which has its decisions.
  expect([summary.findings, summary.broken, problems]).toEqual([{ before_chain: 3 }, [], []]);
  const links: unknown[] = [];
  for await (const line of store.readChain(writer.id)) {
    if ("link" in line) links.push([line.link.json["type"] ?? "start", line.link.json["rebuilt"]]);
  }
  expect(links).toEqual([
    ["start", undefined],
    ["inquiry_request", undefined],
    ["inquiry_response", undefined],
    ["tool_call_response", undefined],
  ]);
});

test("a workspace that is copied to a database and back is the same, byte for byte", async () => {
  const first = temporaryWorkspace();
  const { conversations: files } = first;
  const waiting = await files.create({ title: "Größe: 1/2", labels: { a: "1" } });
  await waiting.append(...WAITING);
  await waiting.release();
  const archived = await files.create({ baseConfig: { assistant: { name: "JP" } } });
  await archived.append(...WAITING, ...REST);
  await archived.release();
  await files.archive(archived.id);
  const edited = await files.create({});
  await edited.append(numbered(1));
  await edited.release();
  const { folder, events } = first.files.paths(edited.id);
  writeFileSync(events, `[ {"type":"x","timestamp":"${at(0)}","n":1.0,"n":2} ]`);
  writeFileSync(path.join(folder, "notes.bin"), Buffer.from([0, 255, 1]));
  await files.create({ isLocal: true, title: "Mine" }).then((writer) => writer.release());

  const { store } = await openStores();
  const copied = await copyStore(await first.openPortable(), store);
  const again = await copyStore(await first.openPortable(), store);
  const second = temporaryWorkspace();
  const back = await copyStore(store, await second.openPortable());
  expect([copied, again, back]).toEqual([
    { copied: 3, same: 0, problems: [] },
    { copied: 0, same: 3, problems: [] },
    { copied: 3, same: 0, problems: [] },
  ]);
  expect(treeOf(second.root)).toEqual(treeOf(first.root));
  const [pending] = await second.conversations.listPending();
  expect(pending?.id).toBe(waiting.id);
  expect((await second.conversations.load(waiting.id)).isOwnTurn).toBe(true);

  await using writer = await store.open(edited.id);
  await writer.append(numbered(2));
  await writer.release();
  await expect(copyStore(store, await second.openPortable())).resolves.toMatchObject({
    same: 2,
    problems: [{ id: edited.id, error: { code: "conversation_exists" } }],
  });
});

test("a record with other line ends, and files in its subfolders, is copied byte for byte", async () => {
  const first = temporaryWorkspace();
  const writer = await first.conversations.create({
    title: "x",
    baseConfig: { assistant: { name: "JP" } },
  });
  await writer.append(...WAITING);
  await writer.release();
  const { folder } = first.files.paths(writer.id);
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll("\n", "\r\n"));
  }
  mkdirSync(path.join(folder, "notes", "old"), { recursive: true });
  writeFileSync(path.join(folder, "notes", "a.bin"), Buffer.from([0, 255, 1]));
  writeFileSync(path.join(folder, "notes", "old", "b.txt"), "b");
  const { store } = await openStores();
  const [second, third] = [temporaryWorkspace(), temporaryWorkspace()];
  const copies = [
    await copyStore(await first.openPortable(), store),
    await copyStore(store, await second.openPortable()),
    await copyStore(await first.openPortable(), await third.openPortable()),
    await copyStore(await third.openPortable(), store),
  ];
  expect(copies.map(({ copied, same, problems }) => [copied, same, problems])).toEqual([
    [1, 0, []],
    [1, 0, []],
    [1, 0, []],
    [0, 1, []],
  ]);
  expect([treeOf(second.root), treeOf(third.root)]).toEqual(Array(2).fill(treeOf(first.root)));
});

test("a record with something else than files is not copied, and what it is is named", async () => {
  const first = temporaryWorkspace();
  const writer = await first.conversations.create({ title: "x" });
  await writer.release();
  mkdirSync(path.join(first.files.paths(writer.id).folder, "notes"));
  symlinkSync("/etc/hosts", path.join(first.files.paths(writer.id).folder, "notes", "hosts"));
  const { store } = await openStores();
  const { copied, problems } = await copyStore(await first.openPortable(), store);
  expect([copied, problems.map(({ error }) => error.message)]).toEqual([
    0,
    [`notes/hosts of conversation ${writer.id} cannot be copied: it is not a regular file.`],
  ]);
});

/** The conversations of a workspace: every file with its bytes. */
function treeOf(root: string): Record<string, string> {
  const folder = path.join(root, ".jp", "conversations");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  const files = names.filter((name) => statSync(path.join(folder, name)).isFile());
  return Object.fromEntries(
    files.map((name) => [name, readFileSync(path.join(folder, name)).toString("base64")]),
  );
}

test("a database without tables, or with older or newer ones, is not used", async () => {
  const url = await emptyDatabase();
  const database = new Database(url);
  const store = new PostgresStore({ url, pid: process.pid });
  onTestFinished(async () => {
    for (const each of [store, database]) await each.close();
  });
  const codes = [await codeOf(store.list()), await codeOf(store.create({}))];
  expect(await migrate(database)).toEqual({ from: 0, lockedMs: 0 });
  expect(await migrate(database)).toEqual({ from: SCHEMA_VERSION, lockedMs: 0 });
  codes.push(await codeOf(store.list()));
  await database.query({ text: "update jp.schema_version set version = version + 1" });
  const newer = new PostgresStore({ url, pid: process.pid });
  onTestFinished(() => newer.close());
  codes.push(
    await codeOf(newer.list()),
    await codeOf(newer.create({})),
    await codeOf(migrate(database)),
  );
  expect(codes).toEqual([
    "store_not_migrated",
    "store_not_migrated",
    undefined,
    "store_too_new",
    "store_too_new",
    "store_too_new",
  ]);
});

test("a store that cannot be reached is named without its password", async () => {
  const url = "postgres://me:s3cret@127.0.0.1:1/jp";
  const store = new PostgresStore({ url, pid: 1, connecting: { startMs: 0 } });
  onTestFinished(() => store.close());
  await expect(store.list()).rejects.toMatchObject({
    code: "store_unreachable",
    message: expect.stringMatching(
      /^Cannot reach the store at 127\.0\.0\.1:1\/jp: (?!.*s3cret)/,
    ) as string,
  });
});

test("the first statement waits for a server that restarts, and says so once", async () => {
  using server = new PostgresServer({ JP_TEST_FSYNC: "on" });
  const url = await server.url;
  await server.tell("kill");
  const told: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const onWait = (address: string) => {
    told.push(address);
    waiting.resolve();
  };
  const database = new Database(url, { onWait });
  onTestFinished(() => database.close());
  const answers = Promise.all([1, 2].map((n) => database.query({ text: `select ${n} as n` })));
  await waiting.promise;
  await server.tell("start");
  expect([await answers, told.length]).toEqual([[[{ n: 1 }], [{ n: 2 }]], 1]);
});

test.each([
  ["an unknown host", { host: "db.invalid", search: "" }],
  ["an unknown database", { pathname: "/missing" }],
  ["an unknown user", { username: "stranger" }],
])("the first statement does not wait at %s", async (_what, change) => {
  const url = Object.assign(new URL(await migratedDatabase()), change);
  const waits: string[] = [];
  const database = new Database(url.href, { onWait: (address) => waits.push(address) });
  onTestFinished(() => database.close());
  const failure = await database.query({ text: "select 1" }).catch(() => "failed");
  expect([failure, waits]).toEqual(["failed", []]);
});

test("a turn goes on after the server was killed and started again", async () => {
  using server = new PostgresServer({ JP_TEST_FSYNC: "on" });
  const url = await server.url;
  const database = new Database(url);
  await migrate(database);
  const store = new PostgresStore({ url, pid: process.pid });
  onTestFinished(async () => {
    for (const each of [store, database]) await each.close();
  });
  await using writer = await store.create({});
  const appends = Array.from({ length: 100 }, async (_, number) => {
    if (number === 30) await server.tell("kill");
    if (number === 30) await server.tell("start");
    await writer.append(numbered(number));
  });
  await Promise.all(appends);
  for (let number = 100; number < 120; number += 1) await writer.append(numbered(number));
  const { entries } = (await store.load(writer.id)).stream;
  const contents = new Set(entries.map(({ raw }) => raw["content"]));
  expect([entries.length, contents.size]).toEqual([120, 120]);
});

/** Two desks, as in two processes: each with connections of its own. */
async function openDesks() {
  const url = await migratedDatabase();
  const workspace = crypto.randomUUID();
  const database = new Database(url);
  const desks = await Promise.all(
    [1, 2].map(async (pid) => {
      const store = new PostgresStore({ url, workspace, pid });
      const desk = await createDesk([{ root: "w", conversations: store }]);
      const answered: string[] = [];
      let wake: (() => void) | undefined;
      desk.subscribe((event) => {
        if (event.type === "answered") answered.push(event.data.conversation);
        wake?.();
      });
      const until = async (isSo: () => Promise<boolean>) => {
        while (!(await isSo())) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          await promise;
        }
      };
      return { store, desk, answered, until };
    }),
  );
  const [one, two] = desks;
  if (one === undefined || two === undefined) throw new Error("none");
  onTestFinished(async () => {
    for (const { desk, store } of desks) {
      await desk[Symbol.asyncDispose]();
      await store.close();
    }
    await database.close();
  });
  const ask = async () => {
    await using writer = await one.store.create({});
    await writer.append(...WAITING);
    return writer.id;
  };
  return { one, two, database, ask };
}

const ADA: Person = { name: "Ada", rights: ["see", "answer", "approve"] };

test("what is answered at one desk is told at another, also after their connections were lost", async () => {
  const { one, two, database, ask } = await openDesks();
  const listed = async ({ desk }: typeof one) => (await desk.listPending()).items.length;
  const first = await ask();
  for (const each of [one, two]) await each.until(async () => (await listed(each)) === 1);
  const id = "a.q.1" as InquiryId; // As in the fixture.
  await one.desk.answer({ conversation: first, id }, { answer: true }, ADA);
  await two.until(async () => (await listed(two)) === 0);
  await database.query({
    text: `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'jp' and pid <> pg_backend_pid()`,
  });
  const second = await ask();
  for (const each of [one, two]) await each.until(async () => (await listed(each)) === 1);
  await two.desk.answer({ conversation: second, id }, { answer: true }, ADA);
  for (const each of [one, two]) await each.until(async () => each.answered.length === 2);
  expect([one.answered, two.answered]).toEqual([
    [first, second],
    [first, second],
  ]);
});

test("a process goes on after it has closed the connection that listens, although nothing else keeps it running", async () => {
  const module = new URL("../../src/stores/postgres/channel.ts", import.meta.url);
  const program = `
    import { openConnections } from ${JSON.stringify(module.href)};
    const { channel } = openConnections(${JSON.stringify(await migratedDatabase())});
    const { promise, resolve } = Promise.withResolvers();
    const kept = setInterval(() => undefined, 1000);
    const listener = { onNotice: () => undefined, onConnected: resolve };
    channel.add(listener);
    await promise;
    clearInterval(kept);
    await channel.remove(listener);
    process.stdout.write("closed");`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--input-type=module",
    "--eval",
    program,
  ]);
  expect(stdout).toBe("closed");
});
