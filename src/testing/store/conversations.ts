/** Operations on whole conversations. */
import assert from "node:assert/strict";
import {
  compareCreation,
  type ConversationCreation,
  type ConversationId,
  parseConversationId,
  StreamEntry,
} from "../../record/conversation/index.ts";
import type { ConversationStore, ListOptions } from "../../stores/index.ts";
import {
  codeOf,
  CREATED_AT,
  elementsIn,
  numbered,
  numberedElements,
  plain,
  record,
  type StoreCases,
  time,
  upTo,
} from "./records.ts";

export const CONVERSATIONS: StoreCases = {
  "a new conversation is empty and can be found": async ({ store, other }) => {
    const baseConfig = { assistant: { name: "JP" } };
    const labels = { kind: "test" };
    await using writer = await store.create({ title: "A title", baseConfig, labels });
    const metadata = { title: "A title", lastActivatedAt: CREATED_AT, labels };
    const { id } = writer;
    const { stream } = await other.load(id);
    assert.deepEqual(writer.metadata, metadata);
    for (const { createdAt, baseConfig: found, entries } of [writer.stream, stream]) {
      assert.deepEqual([createdAt, found, plain(entries)], [CREATED_AT, baseConfig, []]);
    }
    const listed = await other.list();
    assert.equal(listed.length, 1);
    for (const found of [await other.find(id), ...listed]) {
      assert.deepEqual(
        [found?.id, found?.createdAt, found?.metadata, found?.isArchived],
        [id, CREATED_AT, metadata, false],
      );
      assert.deepEqual([found?.lastEventAt, found?.problem], [undefined, undefined]);
    }
  },

  "a conversation can start with entries": async ({ store, other }) => {
    const entries = numberedElements(0, 1).map((element) => StreamEntry.fromJson(element));
    const { id } = await store.create({ entries });
    assert.deepEqual(await elementsIn(other, id), numberedElements(0, 1));
  },

  "appended events are loaded, with the time of the last one": async ({ store, other }) => {
    const id = await record(store, { title: "Talk" }, 3);
    assert.deepEqual(await elementsIn(other, id), numberedElements(0, 1, 2));
    assert.equal((await other.find(id))?.lastEventAt, time(2));
  },

  "the last entry has the time of the last event, whatever its kind": async ({ store, other }) => {
    await using writer = await store.create({});
    await writer.append(numbered(1));
    const delta = { type: "config_delta", timestamp: time(5), delta: {} };
    await writer.appendEntries([StreamEntry.fromJson(delta)]);
    assert.equal((await other.find(writer.id))?.lastEventAt, time(5));
  },

  "scanning gives the same entries as loading": async ({ store, other }) => {
    const id = await record(store, {}, 5);
    const scanned: StreamEntry[] = [];
    for await (const { entries } of other.scan(id)) scanned.push(...entries);
    assert.deepEqual(plain(scanned), numberedElements(...upTo(5)));
  },

  "a loaded record does not change when more is appended": async ({ store }) => {
    const id = await record(store, {}, 1);
    const loaded = await store.load(id);
    await using writer = await store.open(id);
    await writer.append(numbered(1));
    assert.deepEqual(plain(loaded.stream.entries), numberedElements(0));
  },

  "live and archived conversations are listed separately or together": async ({ store, other }) => {
    const live = await record(store);
    const archived = await record(store);
    await store.archive(archived);
    const ids = async (which?: "live" | "archived" | "all") =>
      (await other.list(which && { which })).map(({ id }) => id).toSorted();
    assert.deepEqual(
      [await ids(), await ids("live"), await ids("archived"), await ids("all")],
      [[live], [live], [archived], [live, archived].toSorted()],
    );
  },

  "an unknown conversation is not found": async ({ store }) => {
    await record(store);
    const id = await record(store);
    await store.remove(id);
    const scan = async () => {
      for await (const { entries } of store.scan(id)) assert.deepEqual(entries, []);
    };
    assert.equal(await store.find(id), undefined);
    assert.deepEqual(await store.listPending({ id }), []);
    for (const attempt of [
      () => store.load(id),
      scan,
      () => store.findLastTurns(id, 1),
      () => store.open(id),
      () => store.fork(id),
      () => store.remove(id),
      () => store.archive(id),
      () => store.unarchive(id),
    ]) {
      assert.equal(await codeOf(attempt()), "conversation_not_found");
    }
  },

  "any number of conversations can be created at the same time": async ({ store, other }) => {
    const writers = await Promise.all(upTo(120).map(() => store.create({})));
    assert.equal(new Set(writers.map(({ id }) => id)).size, 120);
    assert.equal((await other.list()).length, 120);
    for (const writer of writers) await writer.release();
  },

  "conversations created at the same time get different ids": async ({ store, other }) => {
    const first = await record(store);
    const writers = await Promise.all([store, other, store, other].map((each) => each.create({})));
    const forks = await Promise.all([store.fork(first), other.fork(first)]);
    await Promise.all(writers.map((writer) => writer.release()));
    const ids = [first, ...writers.map(({ id }) => id), ...forks];
    assert.equal(new Set(ids).size, 7);
    assert.deepEqual(ids.map(parseConversationId), ids);
  },

  "the id of another store is of no conversation, and leads nowhere": async ({ store }) => {
    await record(store);
    const other = parseConversationId("jp-canother-store");
    assert.equal(await store.find(other), undefined);
    assert.deepEqual(await store.listPending({ id: other }), []);
    for (const id of [other, "jp-c../../etc" as ConversationId /* It was not parsed. */]) {
      for (const attempt of [() => store.load(id), () => store.open(id), () => store.remove(id)]) {
        const code = (await codeOf(attempt())) ?? "";
        assert.ok(["conversation_not_found", "invalid_conversation_id"].includes(code), code);
      }
    }
  },

  "a removed conversation is gone": async ({ store, other }) => {
    const id = await record(store);
    const kept = await record(store);
    await store.remove(id);
    assert.equal(await other.find(id), undefined);
    assert.equal(await codeOf(other.load(id)), "conversation_not_found");
    const all = await other.list({ which: "all" });
    assert.deepEqual(
      all.map((summary) => summary.id),
      [kept],
    );
  },

  "an archived conversation has a time, can be read, and cannot be opened": async (opened) => {
    const { store, other, clock } = opened;
    const id = await record(store, { title: "Old" }, 1);
    clock.advance(10_000);
    await store.archive(id);
    const found = await other.find(id);
    assert.deepEqual(
      [found?.isArchived, found?.metadata?.archivedAt, await elementsIn(other, id)],
      [true, "2026-01-02 03:04:15.0", numberedElements(0)],
    );
    assert.equal(await codeOf(other.open(id)), "conversation_archived");
  },

  "archiving an archived conversation does not change its time": async ({ store, clock }) => {
    const id = await record(store);
    await store.archive(id);
    clock.advance(10_000);
    await store.archive(id);
    assert.equal((await store.find(id))?.metadata?.archivedAt, CREATED_AT);
  },

  "an unarchived conversation is the same as before": async ({ store, other }) => {
    const id = await record(store, { title: "Back again" }, 2);
    const before = await other.find(id);
    await store.archive(id);
    await store.unarchive(id);
    assert.deepEqual(await other.find(id), before);
    await using writer = await other.open(id);
    assert.deepEqual(plain(writer.stream.entries), numberedElements(0, 1));
  },

  "the newest conversations can be listed alone, page by page": async (opened) => {
    const { store, other, clock } = opened;
    const create = async () => {
      clock.advance(1000);
      return getCreation(other, await record(store));
    };
    const [first, second, third] = [await create(), await create(), await create()];
    const list = async (options: ListOptions) => idsOf(await other.list(options)).toSorted();
    assert.deepEqual(await list({ limit: 2 }), idsOf([second, third]).toSorted());
    assert.deepEqual(await list({ limit: 2, before: second }), [first.id]);
    assert.deepEqual(await list({ before: third }), idsOf([first, second]).toSorted());
    await store.remove(second.id);
    assert.deepEqual(await list({ limit: 2, before: second }), [first.id]);
    const elsewhere = { id: parseConversationId("jp-canother-store"), createdAt: time(0) };
    assert.deepEqual(await list({ before: elsewhere }), idsOf([first, third]).toSorted());
  },

  "conversations of one moment are listed page by page, each of them once": async (opened) => {
    const { store, other } = opened;
    const all: ConversationCreation[] = [];
    for (const _ of upTo(5)) all.push(await getCreation(other, await record(store)));
    const listed: ConversationId[] = [];
    let before: ConversationCreation | undefined;
    do {
      const page = await other.list({ limit: 2, ...(before && { before }) });
      const sorted = page.toSorted((left, right) => compareCreation(right, left));
      listed.push(...idsOf(sorted));
      before = sorted.at(-1);
    } while (before !== undefined && listed.length <= all.length);
    const expected = all.toSorted((left, right) => compareCreation(right, left));
    assert.deepEqual(listed, idsOf(expected));
  },
};

function idsOf(created: readonly ConversationCreation[]): readonly ConversationId[] {
  return created.map(({ id }) => id);
}

async function getCreation(
  store: ConversationStore,
  id: ConversationId,
): Promise<ConversationCreation> {
  const summary = await store.find(id);
  assert.ok(summary);
  return summary;
}
