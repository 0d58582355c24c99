/** Operations on whole conversations, in every store. */
import { describe, expect, test } from "vitest";
import {
  type ConversationId,
  conversationIdFromNumber,
  StreamEntry,
  type Timestamp,
} from "../../src/conversation/index.ts";
import type { ConversationStore, CreateOptions } from "../../src/storage/index.ts";
import {
  codeOf,
  numbered,
  numberedElement,
  loadPlain,
  plainStream,
  plainWriter,
  time,
} from "../../src/storage/record-elements.fixture.ts";
import { START_NUMBER } from "../../src/storage/temporary-workspace.fixture.ts";
import { EVERY_STORE } from "./every-store.ts";

const FIRST_ID = conversationIdFromNumber(START_NUMBER);
const CREATED_AT = "2026-01-02 03:04:05.0" as Timestamp;
const UNKNOWN = { type: "from_another_version", timestamp: time(7), nested: { "2": 1 } };

describe.each(EVERY_STORE)("a store in $name", ({ openStore }) => {
  test("a new conversation is empty and can be found", async () => {
    const { store } = openStore();
    await using writer = await store.create({
      title: "A title",
      baseConfig: { assistant: { name: "JP" } },
      labels: { kind: "test" },
    });
    const metadata = {
      title: "A title",
      lastActivatedAt: CREATED_AT,
      labels: { kind: "test" },
    };
    const stream = {
      createdAt: CREATED_AT,
      baseConfig: { assistant: { name: "JP" } },
      elements: [],
    };
    const summary = { id: FIRST_ID, metadata, isArchived: false, place: "workspace" };
    expect({
      writer: plainWriter(writer),
      found: await store.find(FIRST_ID),
      listed: await store.list(),
      loaded: await loadPlain(store, FIRST_ID),
    }).toEqual({
      writer: { id: FIRST_ID, metadata, problems: [], ...stream },
      found: summary,
      listed: [summary],
      loaded: { summary, problems: [], ...stream },
    });
  });

  test("appended events are loaded, with the time of the last one", async () => {
    const { store } = openStore();
    const id = await record(store, { title: "Talk" }, 3);
    expect(await loadPlain(store, id)).toEqual({
      summary: {
        id,
        metadata: { title: "Talk", lastActivatedAt: CREATED_AT },
        isArchived: false,
        place: "workspace",
        lastEventAt: time(2),
      },
      problems: [],
      createdAt: CREATED_AT,
      baseConfig: {},
      elements: [numberedElement(0), numberedElement(1), numberedElement(2)],
    });
  });

  test("any number of entries can be appended at once", async () => {
    await using writer = await openStore().store.create({});
    const entry = StreamEntry.fromJson(numberedElement(0));
    await writer.appendEntries(Array.from({ length: 150_000 }, () => entry));
    expect(writer.stream.entries.length).toBe(150_000);
  });

  test("the last element has the time of the last event, whatever its kind", async () => {
    const { store } = openStore();
    const writer = await store.create({});
    await writer.append(numbered(1));
    await writer.appendEntries([
      StreamEntry.fromJson({ type: "config_delta", timestamp: time(5), delta: {} }),
    ]);
    await writer.release();
    expect((await store.find(writer.id))?.lastEventAt).toEqual(time(5));
  });

  test("scanning returns the same elements as loading", async () => {
    const { store } = openStore();
    const id = await record(store, {}, 5);
    const scanned = [];
    for await (const piece of store.scan(id)) scanned.push(...piece.entries);
    expect(scanned.map(({ raw }) => raw)).toEqual((await loadPlain(store, id)).elements);
  });

  test("a loaded record does not change when more is appended", async () => {
    const { store } = openStore();
    const id = await record(store, {}, 1);
    const loaded = await store.load(id);
    await using writer = await store.open(id);
    await writer.append(numbered(1));
    expect(plainStream(loaded).elements).toEqual([numberedElement(0)]);
  });

  test("live and archived conversations are listed separately or together", async () => {
    const { store } = openStore();
    const live = await record(store, { title: "live" });
    const archived = await record(store, { title: "archived" });
    await store.archive(archived);
    const ids = async (which: "live" | "archived" | "all") =>
      (await store.list({ which })).map(({ id }) => id).toSorted();
    expect({
      unsaid: (await store.list()).map(({ id }) => id),
      live: await ids("live"),
      archived: await ids("archived"),
      all: await ids("all"),
    }).toEqual({
      unsaid: [live],
      live: [live],
      archived: [archived],
      all: [live, archived].toSorted(),
    });
  });

  test("find returns undefined for an unknown conversation, and everything else fails", async () => {
    const { store } = openStore();
    await record(store);
    const id = conversationIdFromNumber(1);
    const scan = async () => {
      for await (const { entries } of store.scan(id)) expect(entries).toEqual([]);
    };
    expect({
      find: await store.find(id),
      load: await codeOf(store.load(id)),
      scan: await codeOf(scan()),
      open: await codeOf(store.open(id)),
      fork: await codeOf(store.fork(id)),
      remove: await codeOf(store.remove(id)),
      archive: await codeOf(store.archive(id)),
      unarchive: await codeOf(store.unarchive(id)),
      setLocal: await codeOf(store.setLocal(id, true)),
    }).toEqual({
      find: undefined,
      load: "conversation_not_found",
      scan: "conversation_not_found",
      open: "conversation_not_found",
      fork: "conversation_not_found",
      remove: "conversation_not_found",
      archive: "conversation_not_found",
      unarchive: "conversation_not_found",
      setLocal: "conversation_not_found",
    });
  });

  test("conversations created at the same time get different ids", async () => {
    const { store } = openStore();
    const first = await record(store);
    const writers = await Promise.all(Array.from({ length: 4 }, () => store.create({})));
    const forks = await Promise.all([store.fork(first), store.fork(first)]);
    await Promise.all(writers.map((writer) => writer.release()));
    const ids = [first, ...writers.map(({ id }) => id), ...forks];
    expect(ids.toSorted()).toEqual(
      Array.from({ length: 7 }, (_, index) => conversationIdFromNumber(START_NUMBER + index)),
    );
  });

  test("a removed conversation is gone", async () => {
    const { store } = openStore();
    const id = await record(store);
    const kept = await record(store);
    await store.remove(id);
    expect({
      found: await store.find(id),
      load: await codeOf(store.load(id)),
      all: (await store.list({ which: "all" })).map((summary) => summary.id),
    }).toEqual({ found: undefined, load: "conversation_not_found", all: [kept] });
  });

  test("an archived conversation has a time, can be read, and cannot be opened", async () => {
    const { store, clock } = openStore();
    const id = await record(store, { title: "Old" }, 1);
    clock.advance(10_000);
    await store.archive(id);
    expect({
      loaded: await loadPlain(store, id),
      open: await codeOf(store.open(id)),
    }).toEqual({
      loaded: {
        summary: {
          id,
          metadata: {
            title: "Old",
            lastActivatedAt: CREATED_AT,
            archivedAt: "2026-01-02 03:04:15.0",
          },
          isArchived: true,
          place: "workspace",
          lastEventAt: time(0),
        },
        problems: [],
        createdAt: CREATED_AT,
        baseConfig: {},
        elements: [numberedElement(0)],
      },
      open: "conversation_archived",
    });
  });

  test("archiving an archived conversation does not change its time", async () => {
    const { store, clock } = openStore();
    const id = await record(store);
    await store.archive(id);
    clock.advance(10_000);
    await store.archive(id);
    expect((await store.find(id))?.metadata?.archivedAt).toEqual(CREATED_AT);
  });

  test("an unarchived conversation is the same as before", async () => {
    const { store } = openStore();
    const id = await record(store, { title: "Back again", isLocal: true }, 2);
    const before = await loadPlain(store, id);
    await store.archive(id);
    await store.unarchive(id);
    await using writer = await store.open(id);
    expect({ after: await loadPlain(store, id), opened: writer.id }).toEqual({
      after: before,
      opened: id,
    });
  });

  test("a conversation moves between the workspace and the user", async () => {
    const { store } = openStore();
    const id = await record(store, { title: "Mine", isLocal: true }, 2);
    const first = await loadPlain(store, id);
    await store.setLocal(id, false);
    const second = await loadPlain(store, id);
    await store.setLocal(id, true);
    const third = await loadPlain(store, id);
    expect({ place: first.summary.place, second, third }).toEqual({
      place: "local",
      second: { ...first, summary: { ...first.summary, place: "workspace" } },
      third: first,
    });
  });

  test("moving a conversation to its current place changes nothing", async () => {
    const { store } = openStore();
    const id = await record(store, {}, 1);
    const before = await loadPlain(store, id);
    await store.setLocal(id, false);
    expect(await loadPlain(store, id)).toEqual(before);
  });

  test("an archived conversation cannot be moved", async () => {
    const { store } = openStore();
    const id = await record(store);
    await store.archive(id);
    expect({
      code: await codeOf(store.setLocal(id, true)),
      place: (await store.find(id))?.place,
    }).toEqual({ code: "conversation_archived", place: "workspace" });
  });
});

describe.each(EVERY_STORE)("a fork in $name", ({ openStore }) => {
  test("copies all elements and the metadata, except archive and expiry times", async () => {
    const { store, clock } = openStore();
    const original = await store.create({
      title: "Original",
      baseConfig: { key: 1 },
      labels: { a: "1" },
      isLocal: true,
    });
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
    const id = await store.fork(original.id);
    expect(await loadPlain(store, id)).toEqual({
      summary: {
        id: conversationIdFromNumber(START_NUMBER + 600),
        metadata: {
          title: "Original",
          lastActivatedAt: "2026-01-02 03:05:05.0",
          pinnedAt: time(1),
          labels: { a: "1" },
          extra: { from_another_version: true },
        },
        isArchived: false,
        place: "local",
        lastEventAt: time(7),
      },
      problems: [],
      createdAt: "2026-01-02 03:05:05.0",
      baseConfig: { key: 1 },
      elements: [numberedElement(0), UNKNOWN],
    });
  });

  test("copies the selected elements under the given title", async () => {
    const { store } = openStore();
    const original = await store.create({ title: "Original" });
    await original.append(numbered(0), numbered(1), numbered(2));
    await original.appendEntries([StreamEntry.fromJson(UNKNOWN)]);
    await original.release();
    const id = await store.fork(original.id, {
      title: "Part",
      keep: ({ raw }) => raw["timestamp"] !== time(1),
    });
    const { summary, elements } = await loadPlain(store, id);
    expect({ title: summary.metadata?.title, elements }).toEqual({
      title: "Part",
      elements: [numberedElement(0), numberedElement(2), UNKNOWN],
    });
  });

  test("can be empty", async () => {
    const { store } = openStore();
    const id = await store.fork(await record(store, {}, 2), { keep: () => false });
    expect((await loadPlain(store, id)).elements).toEqual([]);
  });

  test("is independent of the original", async () => {
    const { store } = openStore();
    const original = await record(store, { title: "Original" }, 2);
    const before = await loadPlain(store, original);
    await using writer = await store.open(await store.fork(original));
    await writer.append(numbered(9));
    expect({
      original: await loadPlain(store, original),
      fork: (await loadPlain(store, writer.id)).elements,
    }).toEqual({
      original: before,
      fork: [numberedElement(0), numberedElement(1), numberedElement(9)],
    });
  });

  test("of an archived conversation is live", async () => {
    const { store } = openStore();
    const original = await record(store, {}, 1);
    await store.archive(original);
    const { summary, elements } = await loadPlain(store, await store.fork(original));
    expect({
      isArchived: summary.isArchived,
      archivedAt: summary.metadata?.archivedAt,
      elements,
    }).toEqual({ isArchived: false, archivedAt: undefined, elements: [numberedElement(0)] });
  });

  test("works while the original is locked", async () => {
    const { store } = openStore();
    await using original = await store.create({});
    await original.append(numbered(0));
    const id = await store.fork(original.id);
    await original.append(numbered(1));
    expect((await loadPlain(store, id)).elements).toEqual([numberedElement(0)]);
  });
});

/** A released conversation with this many events. */
async function record(
  store: ConversationStore,
  options: CreateOptions = {},
  events = 0,
): Promise<ConversationId> {
  await using writer = await store.create(options);
  for (let number = 0; number < events; number += 1) await writer.append(numbered(number));
  return writer.id;
}
