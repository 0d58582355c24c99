import { expect, test } from "vitest";
import { FakeClock } from "../testing/index.ts";
import { compareCreation, MemoryConversationStore } from "./index.ts";

const NOW = new Date("2026-01-02T03:04:05.678Z");

test("a thousand conversations of one moment were all created then, in the order of their ids", async () => {
  const store = new MemoryConversationStore(new FakeClock(NOW));
  const ids: string[] = [];
  for (let count = 0; count < 1000; count += 1) ids.push((await store.create({})).id);
  const listed = (await store.list()).toSorted(compareCreation);
  expect(listed.map(({ id }) => id)).toEqual(ids);
  expect(new Set(listed.map(({ createdAt }) => createdAt))).toEqual(
    new Set(["2026-01-02 03:04:05.678"]),
  );
});
