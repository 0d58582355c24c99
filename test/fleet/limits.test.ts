/** What a tenant may use of a database that several share. */
import { expect, onTestFinished, test } from "vitest";
import { at } from "../../src/record/conversation/events.fixture.ts";
import { describeFile } from "../../src/record/conversation/index.ts";
import { enqueueTurn, migrateStore, runTurn } from "../../src/index.ts";
import { copyStore } from "../../src/stores/index.ts";
import { answerBy, WAITING } from "../../src/stores/open-question.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { readLimits, type TenantLimits, writeLimits } from "../../src/stores/postgres/limits.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import {
  codeOf,
  numbered,
  numberedElements,
  plainStream,
} from "../../src/stores/record-elements.fixture.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { counters } from "../security/threats.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { CALL, payTool } from "./pay-tool.ts";

const START = { type: "turn_start", timestamp: at(0) } as const;

/** A tenant of its own, with two workspaces. */
async function openTenant() {
  const url = await migratedDatabase();
  const tenant = crypto.randomUUID();
  const database = new Database(url);
  const open = (workspace: string) => {
    const opened = new PostgresStore({ url, tenant, workspace, pid: process.pid });
    onTestFinished(() => opened.close());
    return opened;
  };
  onTestFinished(async () => {
    await writeLimits(database, { tenant });
    await database.close();
  });
  const limit = (limits: TenantLimits) => writeLimits(database, { tenant, ...limits });
  return { url, tenant, database, open, limit, store: open("one"), other: open("two") };
}

test("a database whose disk is full is named, and takes what is written once there is space", async () => {
  const { store, database, tenant } = await openTenant();
  const conversation = await store.create({});
  const name = `jp_test_full_${tenant.replaceAll("-", "")}`;
  await database.query({
    text: `create function ${name}() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
      create trigger ${name} before insert on jp.events for each row
      when (new.tenant = '${tenant}') execute function ${name}()`,
  });
  const full = await codeOf(conversation.append(numbered(1)));
  await database.query({ text: `drop function ${name} cascade` });
  const next = await codeOf(conversation.append(numbered(1)));
  await conversation.release();
  expect([full, next]).toEqual(["store_full", undefined]);
});

test("limits are listed, replaced and removed", async () => {
  const { database, tenant, limit } = await openTenant();
  const read = async () => (await readLimits(database)).filter((each) => each.tenant === tenant);
  const found = [await read()];
  await limit({ turns: 0, bytes: 2 ** 40, requests: 60 });
  found.push(await read());
  await limit({ bytes: 5 });
  found.push(await read());
  await limit({});
  found.push(await read());
  expect(found).toEqual([
    [],
    [{ tenant, turns: 0, bytes: 2 ** 40, requests: 60 }],
    [{ tenant, bytes: 5 }],
    [],
  ]);
});

test("a tenant cannot store more events than its limit, in all its workspaces together", async () => {
  counters("T-TENANT-3");
  const { store, other, limit } = await openTenant();
  const waiting = await other.create({});
  await waiting.append(...WAITING);
  await waiting.release();
  await using writer = await store.create({});
  await writer.append(numbered(0));
  await limit({ bytes: 10 });
  const files = temporaryWorkspace();
  const copied = await files.conversations.create({});
  await copied.append(numbered(1));
  await copied.release();
  const { problems } = await copyStore(await files.openPortable(), store);
  expect([
    await codeOf(writer.append(numbered(1))),
    await codeOf(other.answer(waiting.id, answerBy("Ana"))),
    await codeOf(store.fork(writer.id)),
    problems.map(({ error }) => ("code" in error ? error.code : error)),
    await codeOf(store.create({ entries: writer.stream.entries })),
  ]).toEqual(["store_full", "store_full", "store_full", ["store_full"], "store_full"]);
  await expect(writer.append(numbered(1))).rejects.toThrow(
    "The store is full: this tenant may keep 10 bytes of events.",
  );
  await limit({ bytes: 1_000_000 });
  await writer.append(numbered(2));
  expect(await other.answer(waiting.id, answerBy("Ana"))).toEqual({ type: "recorded" });
  const { entries } = (await store.load(writer.id)).stream;
  expect(entries.map(({ raw }) => raw["content"])).toEqual(["number 0", "number 2"]);
});

test("bytes are counted as the events have them, and what is removed or replaced counts no more", async () => {
  const { store, database, tenant } = await openTenant();
  const counted = async () => {
    const text = `select (select sum(bytes) from jp.conversations where tenant = $1) as counted,
      (select sum(octet_length(entry)) from jp.events where tenant = $1) as stored`;
    const [row] = await database.query({ text, values: [tenant] });
    return row && [row["counted"] === row["stored"], Number(row["stored"]) > 0];
  };
  const writer = await store.create({});
  await writer.append({ ...numbered(0), content: "Größe" } as never, numbered(1));
  await writer.append(numbered(2));
  await writer.release();
  const copy = await store.fork(writer.id);
  const states = [await counted()];
  const text = (await store.readText(copy, "events")) ?? "";
  await store.replaceText(copy, "events", { before: text, after: `[${JSON.stringify(START)}]` });
  states.push(await counted());
  await store.remove(writer.id);
  states.push(await counted());
  await store.remove(copy);
  states.push(await counted());
  expect(states).toEqual([
    [true, true],
    [true, true],
    [true, true],
    [true, false],
  ]);
});

test("the files of models count towards the limit, also in a fork, until they are removed", async () => {
  counters("T-TENANT-3");
  const { store, limit } = await openTenant();
  const bytes = Buffer.alloc(2000, 1);
  const file = describeFile("image/png", bytes);
  await limit({ bytes: 5000 });
  const writer = await store.create({});
  await writer.saveFile(file, bytes);
  await writer.saveFile(file, bytes);
  await writer.append({ type: "reply_file", timestamp: at(0), ...file });
  const large = Buffer.alloc(4000, 2);
  const refused = await codeOf(writer.saveFile(describeFile("image/png", large), large));
  await writer.release();
  const fork = await store.fork(writer.id);
  const second = await codeOf(store.fork(writer.id));
  await store.remove(fork);
  const third = await codeOf(store.fork(writer.id));
  expect([refused, second, third]).toEqual(["store_full", "store_full", undefined]);
});

test("what a full store does not take soon is gone from memory, with what was stored since", async () => {
  const { store, limit } = await openTenant();
  await using writer = await store.create({});
  await writer.append(numbered(0));
  await limit({ bytes: 10 });
  const codes = await Promise.all([
    codeOf(writer.appendSoon(numbered(8))),
    codeOf(writer.append(numbered(9))),
  ]);
  const left = plainStream(writer).elements;
  await limit({});
  await writer.append(numbered(1));
  const { stream } = await store.load(writer.id);
  expect([codes, left, plainStream({ stream }).elements]).toEqual([
    ["store_full", "store_full"],
    numberedElements(1),
    numberedElements(2),
  ]);
});

test("a decision that a full store has refused is chained once there is room", async () => {
  const { store, limit } = await openTenant();
  const conversation = await store.create({});
  const model = new ScriptedModel({ replies: [[CALL]] });
  await runTurn({ conversation, model, tools: [payTool()], defer: true }, "Pay.");
  await limit({ bytes: 10 });
  const [event] = conversation.stream.entries.flatMap((entry) => entry.event ?? []).slice(-1);
  if (event?.type !== "inquiry_request") throw new Error("nothing was asked");
  const another = { ...event, id: "inquiry_2" } as typeof event;
  expect(await codeOf(conversation.append(another))).toBe("store_full");
  await limit({});
  await conversation.append(another);
  await conversation.release();
  const links: unknown[] = [];
  for await (const line of store.readChain(conversation.id)) {
    if ("link" in line) links.push([line.link.seq, line.link.json["type"] ?? "start"]);
    else links.push(line);
  }
  expect(links).toEqual([
    [0, "start"],
    [1, "permission_decision"],
    [2, "attempt_start"],
    [3, "inquiry_request"],
    [4, "inquiry_request"],
  ]);
});

test("a tenant starts no more turns in a minute than its limit, and can go on with those it has", async () => {
  counters("T-TENANT-3");
  const { store, other, database, tenant, limit } = await openTenant();
  await limit({ requests: 2 });
  await using first = await store.create({});
  await using second = await other.create({});
  await first.append(START, numbered(0));
  await second.append(START);
  await expect(first.append(START)).rejects.toMatchObject({
    code: "too_many_turns",
    message: "Too many turns: this tenant may start 2 a minute.",
  });
  await first.append(numbered(1));
  await store.fork(first.id);
  await database.query({
    text: "update jp.turn_starts set started_at = started_at - interval '1 minute' where tenant = $1",
    values: [tenant],
  });
  await first.append(START);
  expect(first.stream.entries.map(({ eventType }) => eventType)).toEqual([
    "turn_start",
    "chat_request",
    "chat_request",
    "turn_start",
  ]);
});

test("turns that start at the same moment are counted one by one", async () => {
  const { open, limit } = await openTenant();
  const stores = ["a", "b", "c", "d"].map((name) => open(name));
  const creating = stores.flatMap((store) => Array.from({ length: 5 }, () => store.create({})));
  const writers = await Promise.all(creating);
  await limit({ requests: 5 });
  const codes = await Promise.all(writers.map((writer) => codeOf(writer.append(START))));
  await Promise.all(writers.map((writer) => writer.release()));
  expect(codes.filter((code) => code === undefined)).toHaveLength(5);
  expect(codes.filter((code) => code === "too_many_turns")).toHaveLength(15);
});

test("no more turns of a tenant run at once in workers than its limit, and the others follow", async () => {
  counters("T-TENANT-3");
  const { url, open, store, limit } = await openTenant();
  await migrateStore(url);
  await limit({ turns: 2 });
  const count = 8;
  for (let index = 0; index < count; index += 1) {
    const conversation = await store.create({});
    await enqueueTurn(conversation, "Hello?");
    await conversation.release();
  }
  const ended = Promise.withResolvers<void>();
  const running = new Set<string>();
  const most: number[] = [];
  let done = 0;
  const works = await Promise.all(
    ["one", "one"].map((workspace) =>
      open(workspace).work({
        queue: "default",
        concurrency: count,
        run: async (conversation) => {
          running.add(conversation.id);
          most.push(running.size);
          for (let index = 0; index < 5; index += 1) await conversation.append(numbered(index));
          await conversation.append({ type: "turn_end", timestamp: at(1), reason: "stopped" });
          running.delete(conversation.id);
          await conversation.release();
          done += 1;
          if (done === count) ended.resolve();
          return "ran";
        },
      }),
    ),
  );
  await ended.promise;
  await Promise.all(works.map((work) => work.stop()));
  expect(Math.max(...most)).toBeLessThanOrEqual(2);
});

test("a turn that is run by a command does not count as one of the workers'", async () => {
  const { url, store, limit } = await openTenant();
  await migrateStore(url);
  await limit({ turns: 1 });
  await using own = await store.create({});
  await enqueueTurn(own, "I do this one myself.");
  const conversation = await store.create({});
  await enqueueTurn(conversation, "Hello?");
  await conversation.release();
  const ran = Promise.withResolvers<string>();
  const run = async (taken: { readonly id: string; readonly release: () => Promise<void> }) => {
    await taken.release();
    ran.resolve(taken.id);
    return "ran" as const;
  };
  const work = await store.work({ queue: "default", concurrency: 1, run });
  expect(await ran.promise).toBe(conversation.id);
  await work.stop();
});
