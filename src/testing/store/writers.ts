/** Locking, appending and releasing. */
import assert from "node:assert/strict";
import { StreamEntry } from "../../record/conversation/index.ts";
import { LockedError } from "../../stores/index.ts";
import {
  codeOf,
  elementsIn,
  numbered,
  numberedElements,
  plain,
  record,
  type StoreCases,
  time,
  upTo,
} from "./records.ts";

export const WRITERS: StoreCases = {
  "a writer prevents others from changing its conversation": async ({ store, other }) => {
    await using writer = await store.create({ title: "Mine" });
    for (const each of [store, other]) {
      assert.equal(await codeOf(each.open(writer.id)), "conversation_locked");
      assert.equal(await codeOf(each.remove(writer.id)), "conversation_locked");
      assert.equal(await codeOf(each.archive(writer.id)), "conversation_locked");
      assert.equal(await codeOf(each.unarchive(writer.id)), "conversation_locked");
    }
    assert.equal((await other.find(writer.id))?.isArchived, false);
  },

  "a released conversation can be continued by another": async ({ store, other }) => {
    const first = await store.create({ baseConfig: { a: 1 } });
    await first.append(numbered(0));
    await first.release();
    await using second = await other.open(first.id);
    const { baseConfig, entries } = second.stream;
    assert.deepEqual([baseConfig, plain(entries)], [{ a: 1 }, numberedElements(0)]);
    await second.append(numbered(1));
    assert.deepEqual(plain(second.stream.entries), numberedElements(0, 1));
    assert.equal(await codeOf(store.open(first.id)), "conversation_locked");
  },

  "an open conversation is reported with its holder": async ({ store, other }) => {
    await using writer = await store.create({});
    await assert.rejects(
      other.open(writer.id),
      (error) => error instanceof LockedError && error.holder !== "",
    );
  },

  "of several that open a conversation at once, one succeeds": async ({ store, other }) => {
    const id = await record(store);
    const codes = await Promise.all(
      [store, other, store, other].map((each) => codeOf(each.open(id))),
    );
    assert.equal(codes.filter((code) => code === "conversation_locked").length, 3);
    assert.equal(codes.filter((code) => code === undefined).length, 1);
  },

  "a writer can be released twice without releasing another's lock": async ({ store, other }) => {
    const first = await store.create({});
    await first.release();
    await using second = await other.open(first.id);
    await first.release();
    assert.equal(await codeOf(store.open(second.id)), "conversation_locked");
  },

  "events that are stored soon are in the stream at once, and on record in the order of the calls":
    async ({ store, other }) => {
      await using writer = await store.create({});
      if (writer.appendSoon === undefined) return;
      const soon = writer.appendSoon(numbered(0));
      assert.deepEqual(plain(writer.stream.entries), numberedElements(0));
      await Promise.all([soon, writer.append(numbered(1))]);
      await writer.appendSoon(numbered(2));
      assert.deepEqual(plain(writer.stream.entries), numberedElements(0, 1, 2));
      assert.deepEqual(await elementsIn(other, writer.id), numberedElements(0, 1, 2));
    },

  "a writer appends several events at once, and nothing if there are none": async (opened) => {
    const { store, other } = opened;
    await using writer = await store.create({});
    await writer.append();
    await writer.append(numbered(0), numbered(1));
    await writer.append();
    assert.deepEqual(plain(writer.stream.entries), numberedElements(0, 1));
    assert.deepEqual(await elementsIn(other, writer.id), numberedElements(0, 1));
  },

  "a writer appends entries that are not events unchanged": async ({ store, other }) => {
    await using writer = await store.create({});
    const elements = [
      { type: "config_delta", timestamp: time(1), delta: { assistant: { name: "JP" } } },
      { type: "compaction", timestamp: time(2), from_turn: 0, to_turn: 1, reasoning: "strip" },
      { type: "from_another_version", timestamp: time(3), content: ["a", null, 1.5, "\u0000 é"] },
    ];
    await writer.appendEntries(elements.map((element) => StreamEntry.fromJson(element)));
    assert.deepEqual(await elementsIn(other, writer.id), elements);
  },

  "a writer keeps the order of concurrent appends": async ({ store, other }) => {
    await using writer = await store.create({});
    const resolved: number[] = [];
    await Promise.all(
      upTo(50).map(async (number) => {
        await writer.append(numbered(number));
        resolved.push(number);
      }),
    );
    const elements = numberedElements(...upTo(50));
    assert.deepEqual(resolved, upTo(50));
    assert.deepEqual(plain(writer.stream.entries), elements);
    assert.deepEqual(await elementsIn(other, writer.id), elements);
  },

  "a writer keeps the events of one append together": async ({ store, other }) => {
    await using writer = await store.create({});
    await Promise.all(
      [0, 3, 6].map((first) => writer.append(...[0, 1, 2].map((next) => numbered(first + next)))),
    );
    const elements = numberedElements(...upTo(9));
    assert.deepEqual(plain(writer.stream.entries), elements);
    assert.deepEqual(await elementsIn(other, writer.id), elements);
  },

  "a writer finishes pending appends before it releases the lock": async ({ store, other }) => {
    const writer = await store.create({});
    const appends = [writer.append(numbered(0)), writer.append(numbered(1))];
    await writer.release();
    await Promise.all(appends);
    assert.deepEqual(await elementsIn(other, writer.id), numberedElements(0, 1));
  },

  "a writer waits for those who still write before it releases the lock, if it can tell them":
    async (opened) => {
      const { store, other } = opened;
      const writer = await store.create({});
      if (writer.onRelease === undefined) return;
      const called = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      let isReleased = false;
      writer.onRelease(async () => {
        await writer.append(numbered(0));
        called.resolve();
        await goOn.promise;
        await writer.append(numbered(1));
        await writer.updateMetadata((metadata) => ({ ...metadata, title: "After" }));
      });
      const releases = [writer.release(), writer.release()].map(async (release) => {
        await release;
        isReleased = true;
      });
      await called.promise;
      assert.equal(await codeOf(other.open(writer.id)), "conversation_locked");
      assert.equal(isReleased, false);
      goOn.resolve();
      await Promise.all(releases);
      assert.deepEqual(await elementsIn(other, writer.id), numberedElements(0, 1));
      assert.equal((await other.find(writer.id))?.metadata?.title, "After");
      const next = await other.open(writer.id);
      await next.release();
    },

  "a writer tells everyone of its release, except those who have stopped listening": async ({
    store,
    other,
  }) => {
    const writer = await store.create({});
    if (writer.onRelease === undefined) return;
    const calls: string[] = [];
    const listener = (name: string) => async () => void calls.push(name);
    writer.onRelease(listener("stopped"))[Symbol.dispose]();
    writer.onRelease(listener("first"));
    writer.onRelease(async () => {
      calls.push("second");
      writer.onRelease?.(listener("third"));
      throw new Error("I failed.");
    });
    await assert.rejects(writer.release(), { message: "I failed." });
    await writer.release();
    assert.deepEqual(calls, ["first", "second", "third"]);
    const listen = async () => writer.onRelease?.(listener("late"));
    assert.equal(await codeOf(listen()), "write_failed");
    const next = await other.open(writer.id);
    await next.release();
  },

  "a writer saves changes of the metadata": async ({ store, other }) => {
    await using writer = await store.create({ title: "Before", labels: { a: "1" } });
    await writer.updateMetadata((metadata) => ({
      ...metadata,
      title: "After",
      pinnedAt: time(1),
      labels: { ...metadata.labels, b: "" },
      extra: { from_another_version: [1, 2] },
    }));
    const expected = {
      title: "After",
      lastActivatedAt: "2026-01-02 03:04:05.0",
      pinnedAt: time(1),
      labels: { a: "1", b: "" },
      extra: { from_another_version: [1, 2] },
    };
    assert.deepEqual(writer.metadata, expected);
    assert.deepEqual((await other.find(writer.id))?.metadata, expected);
  },

  "a writer applies all concurrent changes of the metadata": async ({ store, other }) => {
    await using writer = await store.create({});
    await Promise.all([
      writer.updateMetadata((metadata) => ({ ...metadata, title: "Title" })),
      writer.updateMetadata((metadata) => ({ ...metadata, pinnedAt: time(1) })),
      writer.updateMetadata((metadata) => ({ ...metadata, labels: { a: "1" } })),
    ]);
    const { title, pinnedAt, labels } = (await other.find(writer.id))?.metadata ?? {};
    assert.deepEqual([title, pinnedAt, labels], ["Title", time(1), { a: "1" }]);
  },

  "a writer appends while its conversation is renamed": async ({ store, other }) => {
    await using writer = await store.create({ title: "Title" });
    const append = async () => {
      for (const number of upTo(20)) await writer.append(numbered(number));
    };
    const rename = async () => {
      for (const number of upTo(5)) {
        await writer.updateMetadata((metadata) => ({ ...metadata, title: `Title ${number}` }));
      }
    };
    await Promise.all([append(), rename()]);
    assert.equal((await other.find(writer.id))?.metadata?.title, "Title 4");
    assert.deepEqual(await elementsIn(other, writer.id), numberedElements(...upTo(20)));
  },

  "a writer writes nothing after its release, whoever has written since": async (opened) => {
    const { store, other } = opened;
    const first = await store.create({ title: "Before" });
    await first.release();
    await using second = await other.open(first.id);
    await second.append(numbered(0));
    const rename = first.updateMetadata((metadata) => ({ ...metadata, title: "After" }));
    assert.equal(await codeOf(rename), "write_failed");
    assert.equal(await codeOf(first.append(numbered(1))), "write_failed");
    const listen = async () => first.onAnswer(async () => undefined);
    assert.equal(await codeOf(listen()), "write_failed");
    assert.equal((await other.find(first.id))?.metadata?.title, "Before");
    assert.deepEqual(await elementsIn(other, first.id), numberedElements(0));
  },
};
