/** Copies of conversations. */
import assert from "node:assert/strict";
import { StreamEntry } from "../../record/conversation/index.ts";
import {
  elementsIn,
  numbered,
  numberedElements,
  record,
  type StoreCases,
  time,
} from "./records.ts";

const UNKNOWN = { type: "from_another_version", timestamp: time(7), nested: { "2": 1 } };

export const FORKS: StoreCases = {
  "a fork copies all entries and the metadata, except archive and expiry times": async (opened) => {
    const { store, other, clock } = opened;
    const labels = { a: "1" };
    const original = await store.create({ title: "Original", baseConfig: { key: 1 }, labels });
    await original.append(numbered(0));
    await original.appendEntries([StreamEntry.fromJson(UNKNOWN)]);
    await original.updateMetadata((metadata) => ({
      ...metadata,
      pinnedAt: time(1),
      expiresAt: time(2),
      archivedAt: time(3),
      extra: { from_another_version: true },
    }));
    await original.release();
    clock.advance(60_000);
    const id = await other.fork(original.id);
    const { stream } = await store.load(id);
    assert.deepEqual((await store.find(id))?.metadata, {
      title: "Original",
      lastActivatedAt: "2026-01-02 03:05:05.0",
      pinnedAt: time(1),
      labels,
      extra: { from_another_version: true },
    });
    assert.deepEqual(
      [stream.createdAt, stream.baseConfig, await elementsIn(store, id)],
      ["2026-01-02 03:05:05.0", { key: 1 }, [...numberedElements(0), UNKNOWN]],
    );
  },

  "a fork copies the selected entries under the given title": async ({ store }) => {
    const original = await record(store, { title: "Original" }, 3);
    const id = await store.fork(original, {
      title: "Part",
      keep: ({ raw }) => raw["timestamp"] !== time(1),
    });
    assert.equal((await store.find(id))?.metadata?.title, "Part");
    assert.deepEqual(await elementsIn(store, id), numberedElements(0, 2));
  },

  "a fork can be empty": async ({ store }) => {
    const id = await store.fork(await record(store, {}, 2), { keep: () => false });
    assert.deepEqual(await elementsIn(store, id), []);
  },

  "a fork is independent of the original": async ({ store }) => {
    const original = await record(store, {}, 2);
    await using writer = await store.open(await store.fork(original));
    await writer.append(numbered(9));
    assert.deepEqual(await elementsIn(store, original), numberedElements(0, 1));
    assert.deepEqual(await elementsIn(store, writer.id), numberedElements(0, 1, 9));
  },

  "a fork of an archived conversation is live": async ({ store }) => {
    const original = await record(store, {}, 1);
    await store.archive(original);
    const fork = await store.find(await store.fork(original));
    assert.deepEqual([fork?.isArchived, fork?.metadata?.archivedAt], [false, undefined]);
  },

  "a fork can be made while the original is open": async ({ store, other }) => {
    await using original = await store.create({});
    await original.append(numbered(0));
    const id = await other.fork(original.id);
    await original.append(numbered(1));
    assert.deepEqual(await elementsIn(other, id), numberedElements(0));
  },
};
