import { expect, onTestFinished, test } from "vitest";
import { at } from "../../record/conversation/events.fixture.ts";
import type { ConversationId, InquiryId } from "../../record/conversation/index.ts";
import { WAITING } from "../../stores/open-question.fixture.ts";
import { FakeClock, MemoryConversationStore } from "../../testing/index.ts";
import { Inbox } from "./inbox.ts";
import {
  cursorBehind,
  type PendingEntry,
  parsePendingCursor,
  PendingList,
} from "./pending-list.ts";

const none = () => undefined;

function itemOf(second: number, order = 0, text?: string): PendingEntry {
  return {
    workspace: "/w",
    conversation: `jp-c${second}` as ConversationId,
    id: `q${order}` as InquiryId,
    kind: "question",
    tool: "a_tool",
    toolCallId: "a",
    askedAt: at(second),
    order,
    isLive: false,
    digest: "",
    text,
  };
}

test.each([1, 30, 500])(
  "what waits is listed in order, whatever comes and goes (%i)",
  async (count) => {
    const list = new PendingList();
    const items = Array.from({ length: count }, (_none, index) => itemOf((index * 7) % 59, index));
    const expected = items.toSorted((left, right) => {
      const isEarlier = left.askedAt < right.askedAt;
      return left.askedAt === right.askedAt ? left.order - right.order : isEarlier ? -1 : 1;
    });
    for (const item of items) list.add(item);
    expect(await list.after(undefined, count, {})).toEqual(expected);
    for (const item of items.filter(({ order }) => order % 3 === 0)) list.remove(item);
    const first = itemOf(0, -1);
    list.add(first);
    expect(await list.after(undefined, count + 1, {})).toEqual([
      first,
      ...expected.filter(({ order }) => order % 3 !== 0),
    ]);
  },
);

test("a page goes on behind an item, also if it is gone by then", async () => {
  const list = new PendingList();
  const items = [1, 2, 3, 4].map((second) => itemOf(second));
  for (const item of items) list.add(item);
  const [, second = itemOf(2)] = await list.after(undefined, 2, {});
  const place = parsePendingCursor(cursorBehind(second));
  list.remove(second);
  expect(await list.after(place, 9, {})).toEqual(items.slice(2));
});

test("JSON is kept only as far as there is room for it", () => {
  const list = new PendingList(10);
  const [first, second, third] = [itemOf(1, 1, "12345678"), itemOf(2, 2, "123"), itemOf(3, 3, "1")];
  list.add(first);
  list.add(second);
  list.remove(first);
  list.add(third);
  expect([second.text, third.text]).toEqual([undefined, "1"]);
});

test("JSON that was shown takes the place of what was shown least recently", () => {
  const list = new PendingList(4);
  const items = [1, 2, 3].map((second) => itemOf(second, second, "12"));
  const [first = itemOf(1), second = itemOf(2), third = itemOf(3)] = items;
  for (const item of items) list.add(item);
  list.use(first, "12");
  list.use(third, "12");
  expect([first.text, second.text, third.text]).toEqual(["12", undefined, "12"]);
});

test("what there was no room for is read again when it is shown", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const ids: ConversationId[] = [];
  for (let count = 0; count < 3; count += 1) {
    await using writer = await store.create({});
    await writer.append(...WAITING);
    ids.push(writer.id);
  }
  const [list, whole] = [new PendingList(0), new PendingList()];
  const read = await Promise.all(
    [list, whole].map(async (each) => {
      const listener = { emit: none, onProblem: none, onReady: none, list: each };
      const inbox = new Inbox({ root: "/w", conversations: store }, listener, new FakeClock());
      onTestFinished(() => inbox[Symbol.asyncDispose]());
      await inbox.start();
      const items = await each.after(undefined, 9, {});
      return [...(await inbox.read(items)).values()];
    }),
  );
  expect((await list.after(undefined, 9, {})).map(({ text }) => text)).toEqual(
    ids.map(() => undefined),
  );
  expect(read[0]).toEqual(read[1]);
  expect(read[0]?.map(({ conversation }) => conversation)).toEqual(ids);
});
