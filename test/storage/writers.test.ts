/** Writers in every store: locking, appending and releasing. */
import { describe, expect, test } from "vitest";
import { StreamEntry } from "../../src/conversation/index.ts";
import {
  codeOf,
  numbered,
  numberedElement,
  numberedElements,
  loadPlain,
  plainStream,
  time,
} from "../../src/storage/record-elements.fixture.ts";
import { EVERY_STORE } from "./every-store.ts";

describe.each(EVERY_STORE)("a writer in $name", ({ openStore }) => {
  test("prevents others from changing its conversation", async () => {
    const { store } = openStore();
    await using writer = await store.create({ title: "Mine" });
    const { id } = writer;
    expect({
      open: await codeOf(store.open(id)),
      remove: await codeOf(store.remove(id)),
      archive: await codeOf(store.archive(id)),
      unarchive: await codeOf(store.unarchive(id)),
      setLocal: await codeOf(store.setLocal(id, true)),
      found: (await store.find(id))?.place,
    }).toEqual({
      open: "conversation_locked",
      remove: "conversation_locked",
      archive: "conversation_locked",
      unarchive: "conversation_locked",
      setLocal: "conversation_locked",
      found: "workspace",
    });
  });

  test("releases its conversation, which another can then continue", async () => {
    const { store } = openStore();
    const first = await store.create({ baseConfig: { a: 1 } });
    await first.append(numbered(0));
    await first.release();
    await using second = await store.open(first.id);
    const opened = plainStream(second);
    await second.append(numbered(1));
    expect({
      opened,
      after: plainStream(second).elements,
      locked: await codeOf(store.open(first.id)),
    }).toEqual({
      opened: {
        createdAt: "2026-01-02 03:04:05.0",
        baseConfig: { a: 1 },
        elements: [numberedElement(0)],
      },
      after: [numberedElement(0), numberedElement(1)],
      locked: "conversation_locked",
    });
  });

  test("can be released twice without releasing another writer's lock", async () => {
    const { store } = openStore();
    const first = await store.create({});
    await first.release();
    await using second = await store.open(first.id);
    await first.release();
    expect({ id: second.id, code: await codeOf(store.open(first.id)) }).toEqual({
      id: first.id,
      code: "conversation_locked",
    });
  });

  test("appends several events at once, and nothing if there are none", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    await writer.append();
    await writer.append(numbered(0), numbered(1));
    await writer.append();
    const elements = [numberedElement(0), numberedElement(1)];
    expect({
      stream: plainStream(writer).elements,
      loaded: (await loadPlain(store, writer.id)).elements,
    }).toEqual({ stream: elements, loaded: elements });
  });

  test("appends entries that are not events unchanged", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    const elements = [
      { type: "config_delta", timestamp: time(1), delta: { assistant: { name: "JP" } } },
      { type: "compaction", timestamp: time(2), from_turn: 0, to_turn: 1, reasoning: "strip" },
      { type: "from_another_version", timestamp: time(3), content: ["a", null, 1.5] },
    ];
    await writer.appendEntries(elements.map((element) => StreamEntry.fromJson(element)));
    expect((await loadPlain(store, writer.id)).elements).toEqual(elements);
  });

  test("keeps the order of concurrent appends", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    const resolved: number[] = [];
    await Promise.all(
      Array.from({ length: 50 }, async (_, number) => {
        await writer.append(numbered(number));
        resolved.push(number);
      }),
    );
    expect({
      resolved,
      stream: plainStream(writer).elements,
      loaded: (await loadPlain(store, writer.id)).elements,
    }).toEqual({
      resolved: Array.from({ length: 50 }, (_, number) => number),
      stream: numberedElements(50),
      loaded: numberedElements(50),
    });
  });

  test("finishes pending appends before it releases the lock", async () => {
    const { store } = openStore();
    const writer = await store.create({});
    const appends = [writer.append(numbered(0)), writer.append(numbered(1))];
    await writer.release();
    await Promise.all(appends);
    expect((await loadPlain(store, writer.id)).elements).toEqual(numberedElements(2));
  });

  test("saves changes of the metadata", async () => {
    const { store } = openStore();
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
    expect({
      writer: writer.metadata,
      found: (await store.find(writer.id))?.metadata,
    }).toEqual({ writer: expected, found: expected });
  });

  test("applies all concurrent changes of the metadata", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    await Promise.all([
      writer.updateMetadata((metadata) => ({ ...metadata, title: "Title" })),
      writer.updateMetadata((metadata) => ({ ...metadata, pinnedAt: time(1) })),
      writer.updateMetadata((metadata) => ({ ...metadata, labels: { a: "1" } })),
    ]);
    const { title, pinnedAt, labels } = (await store.find(writer.id))?.metadata ?? {};
    expect({ title, pinnedAt, labels }).toEqual({
      title: "Title",
      pinnedAt: time(1),
      labels: { a: "1" },
    });
  });

  test("appends while its conversation is renamed", async () => {
    const { store } = openStore();
    await using writer = await store.create({ title: "Title" });
    await Promise.all([
      oneAfterAnother(40, (number) => writer.append(numbered(number))),
      oneAfterAnother(5, (number) =>
        writer.updateMetadata((metadata) => ({ ...metadata, title: `Title ${number}` })),
      ),
    ]);
    const { summary, elements } = await loadPlain(store, writer.id);
    expect({ title: summary.metadata?.title, elements }).toEqual({
      title: "Title 4",
      elements: numberedElements(40),
    });
  });

  test("writes nothing after release", async () => {
    const { store } = openStore();
    const writer = await store.create({ title: "Before" });
    await writer.append(numbered(0));
    await writer.release();
    expect({
      append: await codeOf(writer.append(numbered(1))),
      metadata: await codeOf(writer.updateMetadata((old) => ({ ...old, title: "After" }))),
      title: (await store.find(writer.id))?.metadata?.title,
      loaded: (await loadPlain(store, writer.id)).elements,
    }).toEqual({
      append: "write_failed",
      metadata: "write_failed",
      title: "Before",
      loaded: [numberedElement(0)],
    });
  });

  test("writes nothing after release, even if another has written since", async () => {
    const { store } = openStore();
    const first = await store.create({});
    await first.release();
    await using second = await store.open(first.id);
    await second.append(numbered(0));
    expect({
      append: await codeOf(first.append(numbered(1))),
      loaded: (await loadPlain(store, first.id)).elements,
    }).toEqual({ append: "write_failed", loaded: [numberedElement(0)] });
  });
});

async function oneAfterAnother(
  count: number,
  action: (number: number) => Promise<void>,
): Promise<void> {
  for (let number = 0; number < count; number += 1) await action(number);
}
