/** Incomplete turns: which conversations have one, and in which state. */
import assert from "node:assert/strict";
import { type ConversationId, StreamEntry } from "../../record/conversation/index.ts";
import type { ConversationStore, ListPendingTurnsOptions } from "../../stores/index.ts";
import { place, plain, REST, type StoreCases, WAITING } from "./records.ts";

async function pendingIds(store: ConversationStore): Promise<readonly ConversationId[]> {
  return (await store.listPending()).map(({ id }) => id).toSorted();
}

const COMPLETE = [...WAITING, ...REST];

const STATES = [
  [WAITING, { type: "waiting_for_input", tool: "a_tool" }],
  [WAITING.slice(0, 2), { type: "pending_reply" }],
  [WAITING.slice(0, 3), { type: "pending_calls" }],
  [WAITING.slice(0, 4), { type: "pending_calls" }],
  [[...WAITING, ...REST.slice(0, 2)], { type: "pending_follow_up" }],
  [[...WAITING, ...REST], undefined],
  [WAITING.slice(1, 2), undefined],
] as const;

export const TURNS: StoreCases = {
  "incomplete turns are listed with their entries, and not those before": async (opened) => {
    const { store, other } = opened;
    await place(store, ...WAITING, ...REST);
    const id = await place(store, ...WAITING, ...REST, ...WAITING);
    const pending = await other.listPending();
    assert.deepEqual(
      pending.map(({ entries, version: _version, ...turn }) => ({
        ...turn,
        events: entries.map(({ event }) => event),
      })),
      [{ id, isLive: false, events: WAITING }],
    );
  },

  "the last turns, where there is a quick way to them, are those of the record": async (opened) => {
    const { store, other } = opened;
    const id = await place(store, ...COMPLETE, ...COMPLETE, ...WAITING);
    const { entries } = (await other.load(id)).stream;
    for (const count of [1, 2, 3, 4]) {
      const last = await other.findLastTurns(id, count);
      if (last === undefined) continue;
      const firstTurn = Math.max(0, 3 - count);
      const expected = entries.slice(firstTurn * COMPLETE.length);
      assert.deepEqual([last.firstTurn, plain(last.entries)], [firstTurn, plain(expected)]);
    }
  },

  "an incomplete turn is live while a writer has it open": async ({ store, other }) => {
    const writer = await store.create({});
    await writer.append(...WAITING);
    const [before] = await other.listPending();
    await writer.release();
    const [after] = await other.listPending();
    assert.deepEqual([before?.isLive, after?.isLive], [true, false]);
  },

  "incomplete turns follow their conversation": async ({ store, other }) => {
    const id = await place(store, ...WAITING);
    const copy = await store.fork(id);
    const both = [id, copy].toSorted();
    assert.deepEqual(await pendingIds(other), both);
    await store.archive(id);
    assert.deepEqual(await pendingIds(other), [copy]);
    await store.unarchive(id);
    const renamed = await store.open(id);
    await renamed.updateMetadata((metadata) => ({ ...metadata, title: "Renamed" }));
    await renamed.release();
    assert.deepEqual(await pendingIds(other), both);
    const completed = await store.open(copy);
    await completed.append(...REST);
    await completed.release();
    assert.deepEqual(await pendingIds(other), [id]);
    await store.remove(id);
    assert.deepEqual(await pendingIds(other), []);
  },

  "a fork that leaves out the calls of a turn has no incomplete turn": async ({ store, other }) => {
    const id = await place(store, ...WAITING);
    await store.fork(id, { keep: () => false });
    assert.deepEqual(await pendingIds(other), [id]);
  },

  "a turn is the user's own if it starts here, and in copies of all of it": async (opened) => {
    const { store, other } = opened;
    const id = await place(store, ...WAITING);
    const copy = await store.fork(id);
    const part = await store.fork(id, { keep: ({ eventType }) => eventType !== "inquiry_request" });
    const isOwn = async (each: ConversationId) => (await other.load(each)).isOwnTurn;
    assert.deepEqual([await isOwn(id), await isOwn(copy), await isOwn(part)], [true, true, false]);
    await using writer = await other.open(id);
    assert.equal(writer.isOwnTurn, true);
  },

  "a turn from elsewhere is not the user's own, unless the program says so": async (opened) => {
    const { store, other } = opened;
    const entries = WAITING.map((event) => StreamEntry.fromEvent(event));
    const foreign = await store.create({ entries });
    const own = await store.create({ entries, isOwnTurn: true });
    assert.deepEqual([foreign.isOwnTurn, own.isOwnTurn], [false, true]);
    await foreign.release();
    await own.release();
    await using reopened = await other.open(foreign.id);
    const loaded = await other.load(own.id);
    assert.deepEqual([reopened.isOwnTurn, loaded.isOwnTurn], [false, true]);
    await reopened.append(...REST, ...WAITING);
    assert.equal(reopened.isOwnTurn, true);
  },

  "a summary has the state of the last turn": async ({ store, other }) => {
    for (const [events, expected] of STATES) {
      const id = await place(store, ...events);
      assert.deepEqual((await other.find(id))?.openTurn, expected);
      const listed = await other.list();
      assert.deepEqual(listed.find((each) => each.id === id)?.openTurn, expected);
    }
  },

  "a turn is running while a writer has it open, unless a person is asked": async (opened) => {
    const { store, other } = opened;
    await using writer = await store.create({});
    await writer.append(...WAITING.slice(0, 4));
    assert.deepEqual((await other.find(writer.id))?.openTurn, { type: "running" });
    await writer.append(...WAITING.slice(4));
    assert.deepEqual((await other.find(writer.id))?.openTurn, {
      type: "waiting_for_input",
      tool: "a_tool",
    });
  },

  "one incomplete turn can be listed alone, with the title and labels of its conversation": async (
    opened,
  ) => {
    const { store, other } = opened;
    await place(store, ...WAITING);
    const labels = { tenant: "a" };
    await using writer = await store.create({ title: "Two", labels });
    await writer.append(...WAITING);
    const complete = await place(store, ...WAITING, ...REST);
    const list = async (options: ListPendingTurnsOptions) =>
      (await other.listPending(options)).map((turn) => [turn.id, turn.title, turn.labels]);
    const { id } = writer;
    assert.deepEqual(await list({ id, hasMetadata: true }), [[id, "Two", labels]]);
    assert.deepEqual(await list({ id }), [[id, undefined, undefined]]);
    assert.deepEqual(await list({ id: complete, hasMetadata: true }), []);
    const ids = [id, complete];
    assert.deepEqual(await list({ ids, hasMetadata: true }), [[id, "Two", labels]]);
    assert.deepEqual(await list({ ids, id: complete }), []);
    assert.deepEqual(await list({ ids: [] }), []);
  },

  "incomplete turns can be listed by all labels of their conversation": async (opened) => {
    const { store, other } = opened;
    const create = async (labels?: Readonly<Record<string, string>>) => {
      await using writer = await store.create(labels === undefined ? {} : { labels });
      await writer.append(...WAITING);
      return writer.id;
    };
    const none = await create();
    const one = await create({ tenant: "a" });
    const two = await create({ tenant: "a", user: "ana" });
    const elsewhere = await create({ tenant: "b", user: "ana" });
    const list = async (options: ListPendingTurnsOptions) =>
      (await other.listPending(options)).map(({ id }) => id).toSorted();
    assert.deepEqual(await list({ labels: {} }), [none, one, two, elsewhere].toSorted());
    assert.deepEqual(await list({ labels: { tenant: "a" } }), [one, two].toSorted());
    assert.deepEqual(await list({ labels: { tenant: "a" }, isBrief: true }), [one, two].toSorted());
    assert.deepEqual(await list({ labels: { user: "ana", tenant: "a" } }), [two]);
    assert.deepEqual(await list({ labels: { tenant: "a" }, id: elsewhere }), []);
    assert.deepEqual(await list({ labels: { constructor: "a" } }), []);
    await using writer = await store.open(one);
    await writer.updateMetadata((metadata) => ({ ...metadata, labels: { tenant: "b" } }));
    assert.deepEqual(await list({ labels: { tenant: "b" } }), [one, elsewhere].toSorted());
  },
};
