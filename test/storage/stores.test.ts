/** What every store does, and what only the store of a workspace does. */
import { describe, expect, test } from "vitest";
import { type ConversationId, StreamEntry } from "../../src/record/conversation/index.ts";
import type { WorkspaceCreateOptions, WorkspaceStore } from "../../src/stores/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import {
  codeOf,
  loadPlain,
  numbered,
  numberedElement,
} from "../../src/stores/record-elements.fixture.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { storeTests } from "../../src/testing/index.ts";
import { EVERY_STORE } from "./every-store.ts";

describe.each(EVERY_STORE)("in $name,", ({ create }) => {
  test.each(storeTests(create))("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test("any number of entries can be appended at once", async () => {
    const { store } = await create();
    await using writer = await store.create({});
    const entry = StreamEntry.fromJson(numberedElement(0));
    await writer.appendEntries(Array.from({ length: 150_000 }, () => entry));
    expect(writer.stream.entries.length).toBe(150_000);
  });

  test("the error names this process if it has the conversation open itself", async () => {
    const { store, other = store } = await create();
    await using writer = await store.create({});
    for (const each of [store, other]) {
      await expect(each.open(writer.id)).rejects.toMatchObject({
        message: `Conversation ${writer.id} is in use by this process.`,
        hint: "Use the writer that has it open, or release that first.",
      });
    }
  });
});

describe("a conversation of a workspace", () => {
  test("moves between the workspace and the user", async () => {
    const { conversations } = temporaryWorkspace();
    const id = await record(conversations, { title: "Mine", isLocal: true }, 2);
    const first = await loadPlain(conversations, id);
    await conversations.setLocal(id, false);
    const second = await loadPlain(conversations, id);
    await conversations.setLocal(id, true);
    const third = await loadPlain(conversations, id);
    expect({ place: first.summary.place, second, third }).toEqual({
      place: "local",
      second: { ...first, summary: { ...first.summary, place: "workspace" } },
      third: first,
    });
  });

  test("does not change when it is moved to its current place", async () => {
    const { conversations } = temporaryWorkspace();
    const id = await record(conversations, {}, 1);
    const before = await loadPlain(conversations, id);
    await conversations.setLocal(id, false);
    expect(await loadPlain(conversations, id)).toEqual(before);
  });

  test("keeps its place when it is archived, unarchived and copied", async () => {
    const { conversations } = temporaryWorkspace();
    const id = await record(conversations, { isLocal: true });
    await conversations.archive(id);
    await conversations.unarchive(id);
    const copy = await conversations.fork(id);
    const listed = await conversations.list();
    expect(new Map(listed.map((each) => [each.id, each.place]))).toEqual(
      new Map([
        [id, "local"],
        [copy, "local"],
      ]),
    );
  });

  test("has its incomplete turn wherever it is", async () => {
    const { conversations } = temporaryWorkspace();
    await using writer = await conversations.create({});
    await writer.append(...WAITING);
    await writer.release();
    await conversations.setLocal(writer.id, true);
    expect((await conversations.listPending()).map(({ id }) => id)).toEqual([writer.id]);
  });

  test("cannot be moved while it is archived, open or unknown", async () => {
    const { conversations } = temporaryWorkspace();
    const id = await record(conversations);
    const writer = await conversations.open(id);
    const codes = [await codeOf(conversations.setLocal(id, true))];
    await writer.release();
    await conversations.archive(id);
    codes.push(await codeOf(conversations.setLocal(id, true)));
    const place = (await conversations.find(id))?.place;
    await conversations.remove(id);
    codes.push(await codeOf(conversations.setLocal(id, true)));
    expect({ codes, place }).toEqual({
      codes: ["conversation_locked", "conversation_archived", "conversation_not_found"],
      place: "workspace",
    });
  });
});

/** A released conversation with this many events. */
async function record(
  store: WorkspaceStore,
  options: WorkspaceCreateOptions = {},
  events = 0,
): Promise<ConversationId> {
  await using writer = await store.create(options);
  for (let number = 0; number < events; number += 1) await writer.append(numbered(number));
  return writer.id;
}
